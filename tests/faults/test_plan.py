"""The faults of one conversation: which calls get them, whatever runs beside them, and what comes of it."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import Any

import pytest

from pytest_convoprobe.errors import ScenarioError
from pytest_convoprobe.faults.plan import FaultPlan
from pytest_convoprobe.faults.rules import FaultRule
from pytest_convoprobe.faults.spoiling import ToolFailed
from pytest_convoprobe.faults.stored import require_injected
from pytest_convoprobe.transcript import Reply, ToolCall, Transcript, Turn

REPORT = {"city": "Oslo", "celsius": 21, "rows": [1, 2]}


def rule(kind: str = "error", **keys: Any) -> FaultRule:
    return FaultRule.model_validate({"tool": "find", "kind": kind, **keys})


def plan(*rules: FaultRule, scenario: str = "a", trial: int = 1) -> FaultPlan:
    return FaultPlan(rules, scenario, trial)


def called(faults: FaultPlan, tool: str = "find", result: Any = "all of it", call_id: str = "") -> Any:
    """What the agent gets, or the text of its error."""
    try:
        return faults.around_sync(tool, lambda: result, call_id=call_id)
    except ToolFailed as error:
        return f"error: {error}"


@pytest.mark.parametrize(
    ("fault", "result", "given"),
    [
        (rule("error", message="out of paper"), REPORT, "error: out of paper"),
        (rule("timeout"), REPORT, "error: the request timed out"),
        (rule("rate_limit"), REPORT, "error: 429 Too Many Requests: the rate limit is exceeded"),
        (rule("result", result={"celsius": -40}), REPORT, {"celsius": -40}),
        (rule("empty"), REPORT, {}),
        (rule("empty"), ["a"], []),
        (rule("empty"), "text", ""),
        (rule("truncated", length=8), REPORT, '{"city":'),
        (rule("truncated"), "abcdef", "abc"),
        (rule("delay", seconds=0.001), REPORT, REPORT),
    ],
    ids=lambda value: value.kind if isinstance(value, FaultRule) else "",
)
def test_each_kind_gives_the_agent_something_else(fault: FaultRule, result: Any, given: Any) -> None:
    assert called(plan(fault), result=result) == given

    async def asynchronous() -> Any:
        async def call() -> Any:
            return result

        try:
            return await plan(fault).around("find", call)
        except ToolFailed as error:
            return f"error: {error}"

    assert asyncio.run(asynchronous()) == given


def test_of_a_corrupted_result_no_number_can_be_read() -> None:
    given = called(plan(rule("corrupted")), result="It is 21.5 degrees in Oslo")
    assert len(given) == len("It is 21.5 degrees in Oslo")
    assert not any(letter.isdigit() for letter in given)
    assert "Oslo" not in given


def test_a_tool_that_fails_is_not_carried_out() -> None:
    carried_out: list[str] = []
    for kind in ("error", "timeout", "rate_limit", "result"):
        called_with = plan(rule(kind, **({"result": 1} if kind == "result" else {})))
        with pytest.raises(ToolFailed) if kind != "result" else _nothing():
            called_with.around_sync("find", lambda: carried_out.append("find"))
    assert carried_out == []


@pytest.mark.parametrize(
    ("fault", "result"),
    [(rule("empty"), []), (rule("truncated", length=99), REPORT), (rule("corrupted"), "…")],
)
def test_a_result_that_stays_as_it_is_has_no_fault(fault: FaultRule, result: Any) -> None:
    faults = plan(fault)
    assert called(faults, result=result) == result
    with pytest.raises(ScenarioError, match="call 1 of `find` had no result that the fault could change"):
        faults.require_reached()


def test_a_thread_that_waits_is_let_go_when_the_conversation_is_over() -> None:
    faults = plan(rule("delay", seconds=3600))
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(called, faults)
        faults.end()
        assert waiting.result() == "error: the conversation is over"


def test_a_timeout_is_caught_as_one() -> None:
    with pytest.raises(TimeoutError):
        plan(rule("timeout")).around_sync("find", lambda: "")


def test_calls_are_counted_for_each_tool_and_the_first_rule_counts() -> None:
    faults = plan(rule(call=[2, 3]), FaultRule(tool="*", kind="empty", call=(2,)))
    got = [called(faults, tool) for tool in ("find", "other", "find", "other", "find", "find")]
    assert got == [
        "all of it",
        "all of it",
        "error: internal error",
        "",
        "error: internal error",
        "all of it",
    ]


def test_a_chance_is_the_same_in_every_run_and_another_in_each_trial_and_scenario() -> None:
    def hits(**keys: Any) -> list[int]:
        seed = keys.pop("seed", 0)
        faults = plan(rule(chance=0.3, seed=seed), **keys)
        return [at for at in range(100) if called(faults) != "all of it"]

    assert hits() == hits()
    assert 15 < len(hits()) < 45
    assert len({tuple(one) for one in (hits(), hits(seed=1), hits(trial=2), hits(scenario="b"))}) == 4


@pytest.mark.parametrize("keys", [{"call": 2}, {"chance": 0.5}], ids=["call", "chance"])
def test_calls_that_begin_in_any_order_get_the_faults_of_the_order_they_were_asked_in(keys: Any) -> None:
    ids = [f"id{number}" for number in range(8)]

    def faulty(order: list[str]) -> set[str]:
        faults = plan(rule(**keys))
        faults.asked(("find", one) for one in ids)
        with ThreadPoolExecutor(4) as pool:
            given = pool.map(lambda one: (one, called(faults, call_id=one)), order)
            return {one for one, result in given if result != "all of it"}

    found = faulty(ids)
    assert found == {"id1"} if "call" in keys else found
    assert found == faulty(ids[::-1]) == faulty(Random(4).sample(ids, 8))


def test_a_second_attempt_at_a_call_is_the_next_call() -> None:
    faults = plan(rule(call=1))
    faults.asked([("find", "x")])
    assert [called(faults, call_id="x") for _ in "ab"] == ["error: internal error", "all of it"]


class GraphInterrupt(Exception):
    pass


def test_a_call_that_waits_for_a_person_is_the_same_call_when_it_begins_again() -> None:
    faults = plan(rule("empty", call=1))

    def waiting() -> str:
        raise GraphInterrupt

    with pytest.raises(GraphInterrupt):
        faults.around_sync("find", waiting, call_id="x")
    assert [called(faults, call_id=one) for one in "xy"] == ["", "all of it"]


def test_a_tool_that_fails_by_itself_has_no_fault() -> None:
    faults = plan(rule("truncated"))

    def broken() -> str:
        raise ValueError("no such order")

    with pytest.raises(ValueError, match="no such order"):
        faults.around_sync("find", broken)
    assert faults.marked(talk((ToolCall("find", error="no such order"),))).tool_calls[0][1].fault == ""
    with pytest.raises(ScenarioError, match="has not reached"):
        faults.require_reached()


def talk(*turns: tuple[ToolCall, ...], pending: tuple[ToolCall, ...] = ()) -> Transcript:
    made = (Turn(at, "Hi", Reply("Hello", calls)) for at, calls in enumerate(turns, start=1))
    return Transcript(tuple(made), pending_calls=pending)


def test_the_calls_that_got_a_fault_say_so_in_the_transcript() -> None:
    faults = plan(rule(call=[2, 3]), FaultRule(tool="other", kind="empty"))
    for tool in ("find", "other", "find", "find"):
        called(faults, tool)
    marked = faults.marked(
        talk((ToolCall("find"), ToolCall("other")), (ToolCall("find"),), pending=(ToolCall("find"),))
    )
    assert [call.fault for _, call in marked.tool_calls] == ["", "empty result", "error: internal error"]
    assert [call.fault for call in marked.pending_calls] == ["error: internal error"]


def test_ids_say_which_call_it_was_also_where_each_turn_has_the_same() -> None:
    faults = plan(rule(call=[2, 4]))
    for ids in (["a", "b"], ["b", "a"]):
        faults.asked(("find", one) for one in ids)
        for one in reversed(ids):
            called(faults, call_id=one)
    turns = [tuple(ToolCall("find", id=one) for one in ids) for ids in (["a", "b"], ["b", "a"])]
    marked = faults.marked(talk(*turns))
    assert [bool(call.fault) for _, call in marked.tool_calls] == [False, True, False, True]


def test_a_fault_for_which_there_was_no_call_is_an_error_of_the_scenario() -> None:
    faults = plan(rule(call=2), rule(call=1), FaultRule(tool="other", kind="empty", optional=True))
    called(faults)
    with pytest.raises(ScenarioError) as raised:
        faults.require_reached()
    assert "has not reached call 2 of `find` (error: internal error)" in str(raised.value)
    assert "the agent called `find` 1 time" in str(raised.value)
    called(faults)
    faults.require_reached()


def test_of_a_chance_one_call_is_enough() -> None:
    faults = plan(rule(chance=1e-9))
    with pytest.raises(ScenarioError, match="a call of `find`"):
        faults.require_reached()
    called(faults)
    faults.require_reached()


def test_a_stored_conversation_without_the_fault_is_another_conversation() -> None:
    require_injected([rule()], talk((ToolCall("find", fault="error: internal error"),)))
    with pytest.raises(ScenarioError, match="run the scenario again"):
        require_injected([rule()], talk((ToolCall("find"),)))
    with pytest.raises(ScenarioError, match="did not get the fault"):
        require_injected([rule()], talk((ToolCall("find", fault="empty result"),)))


class _nothing:
    def __enter__(self) -> None: ...
    def __exit__(self, *_: object) -> None: ...
