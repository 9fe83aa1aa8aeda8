from __future__ import annotations

import pytest

from pytest_convoprobe.judging.facts import never_said, was_said


@pytest.mark.parametrize(
    ("fact", "message", "said"),
    [
        ("The order number is 4711", "It's 4711.", True),
        ("The order number is 4711", "It's 47112.", False),
        ("Arrival on 12 December", "On the 12th, please", True),
        ("The room is Blue", "The blue one", True),
        ("The room is Blue", "I want a room", False),
        ("Das Zimmer ist Edelweiss", "Ein Zimmer bitte", False),
        ("Name: Anna Schmidt", "I am Anna", True),
        ("Wants a window seat", "Any seat is fine", True),
        ("部屋は青です", "予約したい", None),
        ("ok", "no", None),
    ],
)
def test_whether_a_fact_was_said(fact: str, message: str, said: bool | None) -> None:
    assert was_said(fact, [message]) is said


def test_what_code_cannot_tell_is_not_listed() -> None:
    facts = ["部屋は青です", "The day is Friday", "The room is Blue"]
    assert never_said(facts, ["On Friday"]) == ("The room is Blue",)
