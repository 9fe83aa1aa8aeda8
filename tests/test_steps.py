"""The order and the nesting in which reports show what an agent did."""

from __future__ import annotations

from pytest_convoprobe.steps import answer_of, nested, steps_of
from pytest_convoprobe.transcript import PendingRequest, Reply, ToolCall


def shown(*calls: ToolCall) -> list[tuple[str, int]]:
    return [(step.what.name, step.depth) for step in nested(calls) if isinstance(step.what, ToolCall)]


def test_calls_without_ids_stay_in_their_order() -> None:
    assert shown(ToolCall("a"), ToolCall("b", parent="?"), ToolCall("a")) == [("a", 0), ("b", 0), ("a", 0)]


def test_calls_come_behind_the_one_inside_which_they_were_made() -> None:
    calls = (
        ToolCall("ask_weather", id="1"),
        ToolCall("ask_shop", id="2"),
        ToolCall("wind", id="3", parent="1"),
        ToolCall("stock", id="4", parent="2"),
        ToolCall("gusts", id="5", parent="3"),
    )
    assert shown(*calls) == [("ask_weather", 0), ("wind", 1), ("gusts", 2), ("ask_shop", 0), ("stock", 1)]


def test_ids_that_make_no_tree_do_no_harm() -> None:
    calls = [
        ToolCall("a", id="1", parent="1"),
        ToolCall("b", id="2", parent="3"),
        ToolCall("c", id="3", parent="2"),
    ]
    assert shown(*calls) == [("a", 0), ("b", 0), ("c", 1)]
    chain = [ToolCall("t", id=str(number), parent=str(number - 1)) for number in range(3000)]
    assert shown(*chain)[-1] == ("t", 6)


def test_requests_come_between_the_calls_before_and_after_them() -> None:
    waited = PendingRequest("x", tool="b", answer="approve", after=1)
    reply = Reply("", (ToolCall("a"), ToolCall("b")), pending=(waited, PendingRequest("y", after=2)))
    names = [getattr(step.what, "name", None) or step.what.id for step in steps_of(reply)]
    assert names == ["a", "x", "b", "y"]


def test_an_answer_in_words() -> None:
    assert answer_of(PendingRequest("1", answer="reject", reason="too much")) == "rejected (too much)"
    assert answer_of(PendingRequest("1", "question", answer="approve")) == "answered: approve"
    assert answer_of(PendingRequest("1")) == "not answered"
