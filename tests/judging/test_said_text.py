"""Replies as their readers see them."""

from __future__ import annotations

import pytest

from pytest_convoprobe.judging.said_text import as_seen, code_blocks, comparable, pattern_as_seen, prose


def test_what_nobody_sees_makes_no_difference() -> None:
    assert (
        as_seen("It\u2019s \u201cA\u20111001\u201d\u00a0\u2013 cafe\u0301\u00ad\ufeff\r\n")
        == 'It\'s "A-1001" \u2013 caf\u00e9\n'
    )


def test_joiners_of_emoji_and_scripts_stay() -> None:
    for text in ("\U0001f469\u200d\U0001f4bb", "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"):
        assert as_seen(text) == text


def test_ranges_in_patterns_stay_ranges() -> None:
    assert pattern_as_seen("[\u2010-\u2015]isn\u2019t") == "[\u2010-\u2015]isn't"


@pytest.mark.parametrize(
    ("pattern", "plain"),
    [
        ("pass\u2011word", r"pass\-word"),
        ("a\\\u2010b", r"a\-b"),
        ("a\\\\\u2010b", r"a\\\-b"),
        ("[]\u2011]\u2011", "[]\u2011]" + r"\-"),
        (r"[\]" + "\u2011]", r"[\]" + "\u2011]"),
    ],
)
def test_hyphens_in_patterns_are_plain_outside_of_sets(pattern: str, plain: str) -> None:
    assert pattern_as_seen(pattern) == plain


def test_one_line_in_one_case() -> None:
    assert comparable(" A \n\t B\u3000C ", ignore_case=False) == "A B C"
    assert comparable("STRASSE", ignore_case=True) == comparable("straße", ignore_case=True)


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        ("a\n```json\n{}\n```\nb\n  ~~~\n1\n2\n  ~~~", ["{}", "1\n2"]),
        ("````\n```\n{}\n```\n````", ["```\n{}\n```"]),
        ("```\n~~~\n```", ["~~~"]),
        ("```\nno end", []),
        ("`inline`", []),
        ("```\r\n[1]\r\n```\r\n", ["[1]"]),
    ],
)
def test_blocks_of_code(text: str, blocks: list[str]) -> None:
    assert code_blocks(text) == blocks


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("See https://example.com/a and www.example.com, or mail a.b@example.com!", "See and or mail"),
        ("Order A-1001 of 12.5.2024: $54.00", "Order of"),
        ("ご注文A-1001は", "ご注文 は"),
        ("Run `pip install x` now", "Run now"),
        ("Before\n```\nthe code\n```\nafter", "Before after"),
        ("Für Sie: Größe", "Für Sie: Größe"),
        ("```\nthat never ends", "` that never ends"),
    ],
)
def test_what_is_in_a_language(text: str, words: str) -> None:
    assert prose(text).split() == words.split()


@pytest.mark.parametrize(
    "text", ["a" * 10**6, "```a\n" * 2 * 10**5, "`" * 10**6, "<" * 10**6, "a@" * 5 * 10**5]
)
def test_a_hostile_megabyte_takes_no_quadratic_time(text: str) -> None:
    prose(text)
    code_blocks(text)
