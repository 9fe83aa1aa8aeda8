from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convoprobe.text import (
    cell_width,
    fold,
    harmless,
    one_line,
    shorten,
    to_ascii,
    visible,
    without_commands,
)

# Any code point, lone surrogates included, with the dangerous ones more often.
hostile = st.text(
    st.one_of(
        st.characters(codec=None, exclude_categories=()),
        st.sampled_from("\x1b\r\n\t\x00\x7f\x9b\u202e\u2066\u200b\u200d\ufeff\ud800\u2028\u3164 :#[]ab漢"),
    ),
    max_size=80,
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m"),
        ("\x9b31m", r"\x9b31m"),
        ("passed\rfailed", r"passed\rfailed"),
        ("one\r\ntwo", "one\ntwo"),
        ("user\u202egnp.exe", r"user\u202egnp.exe"),
        ("pass\u200bword", r"pass\u200bword"),
        ("a\u2028b\x0bc\x85d", r"a\u2028b\x0bc\x85d"),
        ("\ud83d", r"\ud83d"),
        ("\u3164", r"\u3164"),
        ("bell\x07 null\x00", r"bell\x07 null\x00"),
        ("a\tb", "a    b"),
        ("10\u00a0km", "10 km"),
        ("Grüße, 世界 🎉 ❤\ufe0f", "Grüße, 世界 🎉 ❤\ufe0f"),
        (r"C:\new", r"C:\new"),
    ],
)
def test_what_cannot_be_seen_is_written_as_an_escape(text: str, shown: str) -> None:
    assert visible(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("::error::all is lost", r"\::error::all is lost"),
        ("fine\n  ::set-output name=x::y", "fine\n  \\::set-output name=x::y"),
        ("##[group]hidden", r"#\#[group]hidden"),
        ("see ##vso[task.complete] here", r"see #\#vso[task.complete] here"),
        ("##teamcity[testFailed]", r"#\#teamcity[testFailed]"),
        ("std::vector", "std::vector"),
        ("## Heading", "## Heading"),
    ],
)
def test_commands_of_ci_systems_are_broken(text: str, shown: str) -> None:
    assert harmless(text) == shown


@given(hostile)
def test_harmless_text_is_printable_and_encodable(text: str) -> None:
    shown = harmless(text)
    assert shown.replace("\n", "").isprintable()
    shown.encode("utf-8")


@given(hostile)
def test_harmless_text_holds_no_command(text: str) -> None:
    shown = harmless(text)
    assert not re.search(r"^\s*::", shown, re.MULTILINE)
    assert not re.search(r"##\w*\[", shown)


@given(hostile)
def test_making_harmless_twice_changes_nothing(text: str) -> None:
    assert harmless(harmless(text)) == harmless(text)
    assert without_commands(harmless(text)) == harmless(text)


@given(hostile)
def test_ascii_is_ascii_and_keeps_ascii(text: str) -> None:
    shown = to_ascii(harmless(text))
    assert shown.isascii()
    assert to_ascii(shown) == shown


@given(hostile, st.integers(20, 120))
def test_folded_lines_keep_the_width(text: str, width: int) -> None:
    # A backslash may come on top, where a cut would have put a command at the start of a line.
    lines = fold(harmless(text), width, "> ", "  ")
    assert all(cell_width(line) <= width + 1 for line in lines)


@given(hostile, st.integers(20, 120))
def test_folding_loses_nothing_but_spaces(text: str, width: int) -> None:
    shown = harmless(text)
    joined = "".join(fold(shown, width))
    assert re.sub(r"[\s\\]", "", joined) == re.sub(r"[\s\\]", "", shown)


@given(hostile, st.integers(20, 120))
def test_folding_never_makes_a_command(text: str, width: int) -> None:
    assert not any(line.lstrip().startswith("::") for line in fold(harmless(text), width))


def test_folds_at_spaces_and_indents() -> None:
    assert fold("the agent asks for the city first", 20, "- ", "  ") == [
        "- the agent asks for",
        "  the city first",
    ]


def test_folding_a_long_word_cuts_it() -> None:
    assert fold("x" * 25, 12, "> ") == ["> " + "x" * 10, "  " + "x" * 10, "  " + "x" * 5]


def test_wide_characters_take_two_columns() -> None:
    assert fold("天気予報天気予報", 10) == ["天気予報天", "気予報"]


def test_a_combining_mark_takes_no_column() -> None:
    assert cell_width("e\u0301") == 1


def test_lines_of_the_text_stay_lines() -> None:
    assert fold("a\n\n  b", 40, "| ", "| ") == ["| a", "|", "|   b"]


def test_a_cut_does_not_put_a_command_at_the_start_of_a_line() -> None:
    assert fold("abcdefgh ::error::no", 12)[1].startswith(r"\::")


@given(hostile, st.integers(0, 60))
def test_a_shortened_text_keeps_its_start_and_counts_the_rest(text: str, limit: int) -> None:
    shown = shorten(text, limit)
    if len(text) <= limit:
        assert shown == text
    else:
        assert shown.startswith(text[:limit].rstrip())
        assert f"({len(text) - limit} more" in shown


def test_one_line_joins_white_space() -> None:
    assert one_line("  a\n\n b\tc ") == "a b c"
