"""What the gateway saw of an agent's own calls of models, in each report."""

from __future__ import annotations

import dataclasses
import html

import jsonschema
import pytest

from pytest_convoprobe.errors import Blame
from pytest_convoprobe.llm.ledger import Spending
from pytest_convoprobe.llm.port import Role
from pytest_convoprobe.reports.html import html_chunks
from pytest_convoprobe.reports.html.view import details
from pytest_convoprobe.reports.json_report import json_report, schema
from pytest_convoprobe.reports.junit import junit
from pytest_convoprobe.reports.markdown import markdown
from pytest_convoprobe.reports.money import without_agent
from pytest_convoprobe.reports.summary import Digest, summary_lines
from pytest_convoprobe.result import Outcome, ScenarioResult
from pytest_convoprobe.results.fingerprints import NO_PRINTS
from pytest_convoprobe.results.records import TrialRecord, from_record, to_record
from pytest_convoprobe.transcript import ModelCall, Reply, ToolCall, Transcript, Turn, Usage, WireSeen

from .results import NOT_MET, result
from .runs import run_report
from .test_failure import render

EVIL = "g\x1b[2J\n::error::x<script>"
CALLS = (
    ModelCall(EVIL, "chat_completions", Usage(100, 20), 0.25, 1.0),
    ModelCall("m", "chat_completions", Usage(1100, 5), 0.5, 0.5, replayed=True),
    ModelCall("m", "chat_completions", Usage(), 0.0, problem="status 503: busy <b>", lost=True),
    ModelCall("m", "chat_completions", Usage(), 0.0, fault="429"),
)
SEEN = WireSeen(CALLS, ("tool_calls", "usage"), "an answer can't be read", ("the target reports 3 tokens",))
TOOLS = (
    ToolCall("lookup", {"order": 1}, "sent", on_wire=True),
    ToolCall("refund", {}, unreported=("result",), on_wire=True),
)
TALK = Transcript(
    (Turn(1, "hi", Reply("ok", TOOLS, Usage(1200, 25), wire=SEEN)),),
    pending="And?",
    pending_wire=WireSeen((ModelCall("m"),)),
)
SPENDING = {Role.AGENT: Spending(4, 4, 1, Usage(1200, 25), 0.75)}
FAILED = result(
    Outcome.FAILED,
    blame=Blame.AGENT,
    criteria=(dataclasses.replace(NOT_MET, turn=1),),
    transcript=TALK,
    spending=SPENDING,
)
TRIAL = TrialRecord(FAILED)
SILENT = result(
    Outcome.PASSED, transcript=Transcript((Turn(1, "hi", Reply("ok", wire=WireSeen())),)), spending={}
)


def test_the_report_of_a_failure() -> None:
    shown = render(FAILED, width=120)
    assert (
        shown[shown.index("turn 1") : shown.index("(no reply came)")]
        == """\
turn 1
    user  │ hi
    tool  │ (seen on the wire) lookup({"order": 1})
          │ → sent
    tool  │ (seen on the wire) refund({})
          │ → (no result was seen)
    model │ 4 calls of g\\x1b[2J ::error::x<script>, m (1 of them replayed), 1,200 + 25 tokens, $0.7500, 1.5 s
    model │ call 3: failed, and no equal one was answered: status 503: busy <b>
    model │ call 4: injected: 429
    model │ there may be calls of tools that were not seen: an answer can't be read
    model │ the target reports 3 tokens
    agent │ ok
  turn 2
    user  │ And?
    model │ 1 call of m, tokens not known, price unknown, 0.0 s
    agent   """
    )
    assert (
        "  agent (seen on the wire)  4 calls (1 of them replayed), 1,200 + 25 tokens, $0.7500  [g\\x1b[2J"
        in shown
    )
    assert "\x1b" not in shown


def test_the_page() -> None:
    data = details(run_report([TRIAL]), TRIAL)
    turn = data["turns"][0]
    assert [call["about"] for call in turn["calls"]] == ["seen on the wire"] * 2
    assert [call["result"] for call in turn["calls"]] == ["sent", "(no result was seen)"]
    assert turn["models"][0].startswith("4 calls of g\\x1b[2J ::error::x<script>, m (1 of")
    assert len(turn["models"]) == 5
    assert data["turns"][-1]["models"] == ["1 call of m, tokens not known, price unknown, 0.0 s"]
    assert data["cost"][0]["role"] == "agent (seen on the wire)"
    assert "x<script>" not in "".join(html_chunks(run_report([TRIAL])))


def test_markdown() -> None:
    escaped = markdown(run_report([TRIAL]))
    text = html.unescape(escaped)
    assert "<br>_tool:_ lookup (seen on the wire)<br>_tool:_ refund (seen on the wire)" in text
    assert "<br>_model:_ call 3: failed, and no equal one was answered: status 503: busy" in text
    assert "| agent (seen on the wire) |  | 4 | 1,225 | $0.7500 |" in escaped
    assert "<script>" not in escaped


def test_junit_and_json() -> None:
    report = run_report([TRIAL])
    assert "(seen on the wire) lookup" in junit(report)
    data = json_report(report)
    jsonschema.Draft202012Validator(schema()).validate(data)
    turn = data["trials"][0]["transcript"]["turns"][0]
    assert turn["tool_calls"][0]["on_wire"] is True
    assert turn["wire"]["gives"] == ["tool_calls", "usage"]
    assert turn["wire"]["calls"][1] == {
        "model": "m",
        "usage": {"prompt_tokens": 1100, "completion_tokens": 5},
        "cost": 0.5,
        "seconds": 0.5,
        "protocol": "chat_completions",
        "replayed": True,
    }


def test_a_stored_trial_comes_back() -> None:
    assert from_record(to_record(FAILED, NO_PRINTS)).result.transcript == TALK


def test_other_trials_are_stored_as_before() -> None:
    plain = result(Outcome.PASSED)
    assert "wire" not in str(to_record(plain, NO_PRINTS))


def test_an_agent_that_made_no_call_through_its_gateway_is_named_everywhere() -> None:
    words = "the agent made no call of a model through its gateway (target.models)"
    report = run_report([TrialRecord(SILENT), TRIAL])
    assert words in " ".join(render(SILENT, width=120).split())
    assert f"Note: in 1 of 2 conversations, {words}" in html.unescape(markdown(report))
    assert f"Note: in 1 of 2 conversations, {words}" in html.unescape("".join(html_chunks(report)))
    assert dict(details(report, TrialRecord(SILENT))["facts"])["Gateway"].startswith(words)
    digests = [Digest.from_json(Digest.of(one).to_json()) for one in (SILENT, FAILED)]
    assert any(line.startswith(f"note: in 1 of 2 conversations, {words}") for line in summary_lines(digests))


def lacking(*problems: str) -> ScenarioResult:
    calls = tuple(ModelCall("m", problem=problem, unrecorded=True) for problem in problems)
    return result(
        Outcome.PASSED,
        transcript=Transcript((Turn(1, "hi", Reply("ok", wire=WireSeen(calls))),)),
        spending={},
    )


def test_calls_that_the_recording_lacks_are_named_everywhere() -> None:
    one = lacking("status 503: busy <b>")
    words = (
        "1 model call of the agent was not recorded: turn 1, status 503: busy <b>; `only` will not find it"
    )
    report = run_report([TrialRecord(one), TRIAL])
    assert words in " ".join(render(one, width=160).split())
    assert f"Note: {one.name}: {words}" in html.unescape(markdown(report))
    assert f"Note: {one.name}: {words}" in html.unescape("".join(html_chunks(report)))
    assert dict(details(report, TrialRecord(one))["facts"])["Gateway"] == words
    digests = [Digest.from_json(Digest.of(one).to_json()) for one in (one, FAILED)]
    assert f"note: {one.name}: {words}" in summary_lines(digests)


def test_of_many_calls_that_the_recording_lacks_some_are_named() -> None:
    evil = lacking("\ud800\x1b[2J\n::error::x", *["status 503"] * 4)
    (line, *others) = [
        line
        for line in summary_lines([Digest.from_json(Digest.of(evil).to_json())] * 5)
        if "recorded" in line
    ]
    assert "5 model calls of the agent were not recorded: turn 1, " in line
    assert "; 2 more; `only` will not find them" in line
    assert "\x1b" not in line
    assert others[-1] == (
        "note: model calls of the agent were not recorded in 2 more conversations; `only` will not find them"
    )


@pytest.mark.parametrize("one", [FAILED, result(Outcome.PASSED)])
def test_nothing_of_the_kind_is_said_of_others(one: ScenarioResult) -> None:
    assert not any("gateway" in line for line in summary_lines([one]))
    assert "gateway" not in markdown(run_report([TrialRecord(one)]))


def test_the_cost_of_an_agent_that_was_seen_is_part_of_the_total() -> None:
    assert without_agent([FAILED]) == ""
    assert without_agent([FAILED, result(Outcome.PASSED)]) == "without the agent in 1 of 2 conversations"
    assert without_agent([result(Outcome.PASSED)]) == "without the agent"
