from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convoprobe.judging.evidence import Located, NotFound, Sources, is_trivial


def locate(quote: str | None, turn: int | None, texts: dict[int, tuple[str, ...]]) -> Located | NotFound:
    return Sources(texts).locate(quote, turn)


TEXTS = {
    1: ("What's the weather?", "Which city do you mean — Oslo, or Bergen?"),
    2: (
        "Oslo, please",
        'get_weather({"city": "Oslo", "units": "metric"})\n{"celsius": -4.5}',
        "It is **-4.5 °C** in Oslo.\nI'm unable to book a trip. Take care of yourself, and dress “warmly”.",
    ),
    3: ("Thanks", "You're welcome. Which city do you mean next?"),
}


@pytest.mark.parametrize(
    ("quote", "turn"),
    [
        ("Which city do you mean — Oslo, or Bergen?", 1),
        ("which CITY do you mean", 1),
        ('"Which city do you mean - Oslo"', 1),
        ("“What\u2019s the weather?”", 1),
        ("It is -4.5 °C in Oslo", 2),
        ("It  is\n**-4.5\u00a0°C** in Oslo", 2),
        ("It is ... Oslo", 2),
        ("It is […] dress 'warmly'", 2),
        ("It is … in Oslo…", 2),
        ("in Oslo. I'm unable to book", 2),
        ("...dress warmly...", 2),
        ('get_weather({"city": "Oslo"', 2),
        (r"{\"celsius\": -4.5}", 2),
        ("agent: It is -4.5 °C in Oslo", 2),
        ("| It is -4.5 °C in Oslo.\n  | I'm unable to book a trip", 2),
        ("Thanks", 3),
    ],
)
def test_a_loosely_copied_quote_is_found(quote: str, turn: int) -> None:
    found = locate(quote, turn, TEXTS)
    assert isinstance(found, Located)
    assert found.turn == turn


@pytest.mark.parametrize(
    ("quote", "turn"),
    [
        ("Which town do you mean?", 1),
        ("able to book a trip", 2),
        ("It is -4", 2),
        ("4 °C", 2),
        ("4.5 °C in Os", 2),
        ("warmly ... It is", 2),
        ("It is ... Bergen", 2),
    ],
)
def test_other_words_are_no_evidence(quote: str, turn: int) -> None:
    found = locate(quote, turn, TEXTS)
    assert isinstance(found, NotFound)
    assert "is not in turn" in found.why
    assert "copy it word for word" in found.why


@pytest.mark.parametrize(
    ("quote", "text", "found"),
    [
        ("5 cars", "1.5 cars or 5 cars", True),
        ("5 cars", "1.5 cars or 2,5 cars", False),
        ("book 3", "book 3.5 or book 3", True),
        ("book 3", "book 3.5 or book 31", False),
        ("able men", "unable men, able men", True),
        ("able men", "unable men, able mention", False),
        ("\u4e1c\u4eac\u5854", "\u770b\u4e1c\u4eac\u5854\u597d", True),
        ("\u20ac 12", "only_\u20ac 12, not more", True),
        ("a a b", "a a a b", True),
    ],
)
def test_a_quote_is_looked_for_on_until_it_is_found_as_whole_words(
    quote: str, text: str, found: bool
) -> None:
    assert isinstance(locate(quote, 1, {1: (text,)}), Located) is found


@pytest.mark.parametrize("turn", [1, 3, 17, None])
def test_a_wrong_turn_is_corrected_when_only_one_fits(turn: int | None) -> None:
    assert locate("I'm unable to book a trip", turn, TEXTS) == Located("I'm unable to book a trip", 2)


def test_a_quote_of_several_turns_has_to_say_which() -> None:
    found = locate("Which city do you mean", 2, TEXTS)
    assert isinstance(found, NotFound)
    assert "is in turns 1 and 3: name the one that you mean" in found.why


def test_a_quote_of_several_turns_counts_in_the_turn_that_it_names() -> None:
    assert locate("Which city do you mean", 3, TEXTS) == Located("Which city do you mean", 3)


@pytest.mark.parametrize(
    "quote",
    [
        None,
        "",
        "  ",
        '""',
        "...",
        "the",
        "It",
        "user",
        "assistant:",
        "Agent",
        "Turn 2",
        "a",
        "… the …",
        "—",
        "null",
        "N/A",
        "(no quote)",
        "Not applicable.",
    ],
)
def test_a_quote_that_says_nothing_is_no_evidence(quote: str | None) -> None:
    assert is_trivial(quote)
    assert isinstance(locate(quote, 2, TEXTS), NotFound)


@pytest.mark.parametrize("quote", ["Yes", "no", "42", "7", "Oslo", "It is", "好"])
def test_a_short_quote_may_say_something(quote: str) -> None:
    assert not is_trivial(quote)


def test_no_quote_is_said_as_such() -> None:
    assert locate(None, None, TEXTS) == NotFound("there is no quote")


def test_scripts_without_spaces_are_found_inside_a_sentence() -> None:
    texts = {1: ("今日の天気は\uff1f", "東京の天気は晴れです。")}
    assert locate("天気は晴れ", 1, texts) == Located("天気は晴れ", 1)


def test_compatibility_forms_are_the_same() -> None:
    assert isinstance(locate("\uff2f\uff53\uff4c\uff4f, please", 2, TEXTS), Located)


def test_control_characters_may_be_copied_as_the_judge_saw_them() -> None:
    texts = {1: ("hi", "all \x1b[31mred\u200b text")}
    assert isinstance(locate(r"all \x1b[31mred\u200b text", 1, texts), Located)
    assert isinstance(locate("red text", 1, texts), Located)


def test_underscores_around_a_name_do_not_hide_it() -> None:
    assert isinstance(locate("__init__", 1, {1: ("see __init__ and _private_",)}), Located)
    assert isinstance(locate("_private_", 1, {1: ("see __init__ and _private_",)}), Located)


@given(st.text(max_size=60), st.text(min_size=1, max_size=40), st.text(max_size=60))
def test_whatever_stands_there_between_spaces_is_found(before: str, quote: str, after: str) -> None:
    found = locate(quote, 1, {1: (f"{before} \n {quote} \n {after}",)})
    assert isinstance(found, Located) or is_trivial(quote)


@given(st.text(max_size=80), st.text(max_size=80))
def test_any_text_can_be_looked_up(quote: str, text: str) -> None:
    assert isinstance(locate(quote, 1, {1: (text,)}), (Located, NotFound))
