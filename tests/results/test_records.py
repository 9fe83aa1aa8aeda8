from __future__ import annotations

import dataclasses
import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convoprobe.errors import Blame, ResultsError
from pytest_convoprobe.judging.types import CheckResult, Criterion, CriterionKind, CriterionResult, UserReview
from pytest_convoprobe.llm.ledger import Spending
from pytest_convoprobe.llm.port import Role
from pytest_convoprobe.result import Outcome, ScenarioResult
from pytest_convoprobe.results.fingerprints import NO_PRINTS, Prints
from pytest_convoprobe.results.records import TrialRecord, from_record, plain, to_record
from pytest_convoprobe.results.talk_records import read_transcript, transcript_record
from pytest_convoprobe.transcript import (
    CallKind,
    ModelCall,
    Origin,
    PendingRequest,
    Reply,
    Termination,
    ToolCall,
    Transcript,
    Turn,
    Usage,
    WireSeen,
)

from .support import trial

# Lone surrogates and NUL included. Two of them side by side may be a pair, which JSON reads as one character.
TEXT = st.one_of(st.text(), st.sampled_from(["\ud800", "a\0b", "\u2028", "😀", "\x1b[2J", '"\\'])).map(str)
NUMBER = st.floats(allow_nan=False)
COUNT = st.integers(0, 10**9)
MAYBE = st.none() | NUMBER
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
USAGE = st.builds(Usage, COUNT, COUNT)
CALL = st.builds(
    ToolCall,
    *(TEXT, st.dictionaries(TEXT, JSON, max_size=3), JSON, st.none() | TEXT, MAYBE),
    on_wire=st.booleans(),
)
MODEL_CALL = st.builds(
    ModelCall,
    *(TEXT, TEXT, st.none() | USAGE, MAYBE, NUMBER),
    replayed=st.booleans(),
    fault=TEXT,
    problem=TEXT,
    lost=st.booleans(),
    unrecorded=st.booleans(),
)
WIRE = st.builds(
    WireSeen,
    st.lists(MODEL_CALL, max_size=2).map(tuple),
    st.lists(TEXT, max_size=2).map(tuple),
    TEXT,
    st.lists(TEXT, max_size=2).map(tuple),
)
REPLY = st.builds(
    Reply,
    *(TEXT, st.none() | st.lists(CALL, max_size=2).map(tuple), st.none() | USAGE),
    thoughts=TEXT,
    wire=st.none() | WIRE,
)
TURN = st.builds(Turn, COUNT, TEXT, REPLY, st.sampled_from(Origin), NUMBER)
TRANSCRIPT = st.builds(
    Transcript,
    st.lists(TURN, max_size=3).map(tuple),
    st.none() | st.sampled_from(Termination),
    st.none() | TEXT,
    pending_wire=st.none() | WIRE,
)
CRITERION = st.builds(Criterion, TEXT, st.sampled_from(CriterionKind), TEXT, st.none() | TEXT)
HOLDS = st.sampled_from([True, False, None])
FOUND = st.builds(CriterionResult, CRITERION, TEXT, HOLDS, TEXT, st.none() | TEXT, st.none() | COUNT)
CHECK = st.builds(CheckResult, TEXT, st.booleans(), TEXT, TEXT, st.none() | COUNT)
SPENT = st.builds(Spending, COUNT, COUNT, COUNT, USAGE, MAYBE)
REVIEW = st.builds(UserReview, TEXT, TEXT, st.lists(TEXT, max_size=2).map(tuple))
RESULT = st.builds(
    ScenarioResult,
    name=TEXT,
    scenario_id=TEXT,
    file=TEXT,
    line=COUNT,
    outcome=st.sampled_from(Outcome),
    reason=TEXT,
    blame=st.none() | st.sampled_from(Blame),
    trace=TEXT,
    score=MAYBE,
    transcript=TRANSCRIPT,
    criteria=st.lists(FOUND, max_size=2).map(tuple),
    checks=st.lists(CHECK, max_size=2).map(tuple),
    spending=st.dictionaries(st.sampled_from(Role), SPENT),
    trial=COUNT,
    started=NUMBER,
    duration=NUMBER,
    target=TEXT,
    models=st.dictionaries(st.sampled_from(Role), TEXT),
    review=st.none() | REVIEW,
    tags=st.lists(TEXT, max_size=2).map(tuple),
    target_name=TEXT,
)
DIGEST = st.none() | st.text("0123456789abcdef", min_size=16, max_size=16)
PRINTS = st.builds(Prints, DIGEST, DIGEST, DIGEST, DIGEST)


def through_json(data: Any) -> Any:
    line = json.dumps(data, allow_nan=False)
    assert "\n" not in line
    assert line.isascii()
    return json.loads(line)


@given(RESULT, PRINTS)
def test_whatever_a_result_holds_comes_back_from_a_line(result: ScenarioResult, prints: Prints) -> None:
    record = to_record(result, prints, worker="gw3")
    assert from_record(through_json(record)) == TrialRecord(result, prints, "gw3")


def test_numbers_that_json_has_not_come_back_as_well() -> None:
    record = through_json(to_record(trial(score=math.nan, duration=-math.inf), NO_PRINTS))
    read = from_record(record).result
    assert math.isnan(read.score or 0)
    assert read.duration == -math.inf


def test_what_json_cannot_hold_becomes_text() -> None:
    deep: Any = []
    for _ in range(2000):
        deep = [deep]
    call = ToolCall("t", {"n": math.inf, "object": object, 3: {1}}, result=deep)
    reply = Reply("ok", (call,))
    record = to_record(trial(transcript=Transcript((Turn(1, "hi", reply),))), NO_PRINTS)
    ((_, read),) = from_record(through_json(record)).result.transcript.tool_calls
    assert read.arguments == {"n": "Infinity", "object": "<class 'object'>", "3": [1]}
    assert "nested too deeply to be stored" in json.dumps(read.result)


def test_a_number_of_many_digits_does_not_stop_the_writer() -> None:
    assert json.dumps(plain(10**6000)).startswith('"0x')


def test_what_an_older_release_wrote_gets_defaults() -> None:
    read = from_record({"name": "n", "scenario_id": "f::n", "outcome": "passed"})
    assert read == TrialRecord(ScenarioResult("n", "f::n", "", 0, Outcome.PASSED), NO_PRINTS, "main")


def test_keys_that_are_not_known_are_ignored() -> None:
    record = {**to_record(trial(), Prints("aa")), "mood": "good"}
    record["prints"]["weather"] = "cc"
    assert from_record(record) == TrialRecord(trial(), Prints("aa"))


def test_a_later_version_is_refused_with_words() -> None:
    with pytest.raises(ResultsError, match="it has version 2 of the format, this release reads up to 1"):
        from_record({**to_record(trial(), NO_PRINTS), "version": 2})


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": 5},
        {"scenario_id": None},
        {"file": None},
        {"trial": "1"},
        {"started": "then"},
        {"tags": [None]},
    ],
)
def test_values_of_another_kind_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ResultsError, match="not a stored trial"):
        from_record({**to_record(trial(), NO_PRINTS), **wrong})


@pytest.mark.parametrize("data", [{}, {"version": "x"}, [], "text", {"outcome": "great"}, {"name": 1}])
def test_what_is_no_trial_is_refused(data: Any) -> None:
    with pytest.raises(ResultsError, match="not a stored trial"):
        from_record(data)


def test_what_frameworks_report_comes_back_and_is_left_out_where_there_is_nothing() -> None:
    call = ToolCall(
        "ask", id="1", parent="0", agent="shop", group="g", kind=CallKind.SUB_AGENT, fault="an error"
    )
    asked = PendingRequest("7", "question", "Which?", "ask", {"a": 1}, ("x",), "x", "so", 1)
    said = Turn(1, "hi", Reply("ok", (call,), pending=(asked,), startup=1.5))
    talk = Transcript(
        (said,),
        pending="and?",
        pending_calls=(call,),
        pending_usage=Usage(1, 2),
        pending_requests=(asked,),
    )
    back = read_transcript(through_json(transcript_record(talk)))
    (found,) = back.turns[0].reply.tool_calls or ()
    assert (
        dataclasses.astuple(found) == dataclasses.astuple(call) == dataclasses.astuple(back.pending_calls[0])
    )
    assert dataclasses.astuple(back.turns[0].reply.pending[0]) == dataclasses.astuple(asked)
    assert dataclasses.astuple(back.pending_requests[0]) == dataclasses.astuple(asked)
    assert (back.turns[0].reply.startup, back.pending_usage) == (1.5, Usage(1, 2))
    plain_talk = Transcript((Turn(1, "hi", Reply("ok", (ToolCall("ask"),))),))
    (turn,) = transcript_record(plain_talk)["turns"]
    assert set(turn) == {"number", "origin", "user", "reply", "latency", "usage", "tool_calls"}
    assert set(turn["tool_calls"][0]) == {"name", "arguments", "result", "error", "latency"}
