from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pytest_convoprobe.conversation.repetition import goes_in_circles, normalised
from pytest_convoprobe.transcript import Origin, Reply, Turn


def talk(*exchanges: tuple[str, str], origin: Origin = Origin.SIMULATED) -> list[Turn]:
    return [Turn(number, user, Reply(reply), origin) for number, (user, reply) in enumerate(exchanges, 1)]


A, B, C = ("again", "no"), ("please", "sorry"), ("why", "because")


def test_the_same_exchange_three_times_in_a_row() -> None:
    assert goes_in_circles(talk(C, A, A, A))


def test_twice_is_no_loop() -> None:
    assert not goes_in_circles(talk(C, A, A))


def test_three_times_but_not_in_a_row() -> None:
    assert not goes_in_circles(talk(A, C, A, B, A))


def test_two_exchanges_in_turn() -> None:
    assert goes_in_circles(talk(C, A, B, A, B))


def test_half_of_the_second_round_is_no_loop() -> None:
    assert not goes_in_circles(talk(C, A, B, A))


def test_case_spaces_and_punctuation_make_no_difference() -> None:
    assert goes_in_circles(talk(("Again!", "No."), ("again", "NO"), (" again? ", "no…")))


def test_the_same_question_with_other_replies_goes_on() -> None:
    assert not goes_in_circles(talk(("next", "1"), ("next", "2"), ("next", "3")))


def test_empty_replies_repeat_as_well() -> None:
    assert goes_in_circles(talk(("hello?", ""), ("hello?", ""), ("hello?", "")))


def test_what_the_script_repeats_on_purpose_is_no_loop() -> None:
    assert not goes_in_circles(talk(A, A, A, origin=Origin.SCRIPT))


def test_texts_without_words_are_compared_as_they_are() -> None:
    assert not goes_in_circles(talk(("?", "!"), ("??", "!"), ("👍", "!")))


@given(st.lists(st.sampled_from([A, B, C]), max_size=6))
def test_a_talk_that_moved_on_is_no_loop(exchanges: list[tuple[str, str]]) -> None:
    assert not goes_in_circles(talk(*exchanges, ("new", "words")))


@given(st.text())
def test_normalising_twice_changes_nothing(text: str) -> None:
    once = normalised(text)
    assert normalised(once) == once
