"""Nested calls, hand-offs, injected faults and requests to a person, in each report that shows turns."""

from __future__ import annotations

import dataclasses
import html

from pytest_convoprobe.errors import Blame
from pytest_convoprobe.reports.html.view import details
from pytest_convoprobe.reports.markdown import markdown
from pytest_convoprobe.result import Outcome
from pytest_convoprobe.results.records import TrialRecord
from pytest_convoprobe.transcript import CallKind, PendingRequest, Reply, ToolCall, Transcript, Turn, Usage

from .results import NOT_MET, result
from .runs import run_report
from .test_failure import render

EVIL = "stock\x1b[2J\n::error::x<script>"
CALLS = (
    ToolCall("transfer_to_billing", {}, "ok", agent="triage", kind=CallKind.HANDOFF),
    ToolCall("ask_stock", {"q": 1}, "3 left", id="1", agent="billing", kind=CallKind.SUB_AGENT),
    ToolCall("count", {}, 3, parent="1", agent=EVIL, fault="an error"),
    ToolCall("refund", {"sum": 3}, executed=False, agent="billing"),
)
ASKED = PendingRequest("r", tool="refund", arguments={"sum": 3}, answer="reject", reason=EVIL, after=3)
TALK = Transcript(
    (Turn(1, "hi", Reply("ok", CALLS, pending=(ASKED,))),),
    pending="And?",
    pending_calls=(ToolCall("look"),),
    pending_usage=Usage(1000, 200),
    pending_requests=(PendingRequest("s", tool="wipe", answer="approve", after=1),),
)


FAILED = result(
    Outcome.FAILED, blame=Blame.AGENT, criteria=(dataclasses.replace(NOT_MET, turn=1),), transcript=TALK
)
TRIAL = TrialRecord(FAILED)


def test_the_report_of_a_failure() -> None:
    shown = render(FAILED, width=200)
    conversation = shown[shown.index("turn 1") :]
    assert conversation.startswith("""\
turn 1
    user  │ hi
    tool  │ triage: (hand-off) transfer_to_billing({})
          │ → ok
    tool  │ billing: (sub-agent) ask_stock({"q": 1})
          │ → 3 left
    tool  │   stock\\x1b[2J ::error::x<script>: count({})
          │   → 3
          │   (injected: an error)
    wait  │ asks for a permission: refund({"sum": 3})
          │ → rejected (stock\\x1b[2J
""")
    assert "    tool  │ look({})\n" in conversation
    assert "    wait  │ asks for a permission: wipe({})\n          │ → approved\n" in conversation
    assert "(1,200 tokens were used for it)" in conversation


def test_the_page() -> None:
    data = details(run_report([TRIAL]), TRIAL)
    turn = data["turns"][0]
    seen = [(call["name"], call["about"], call["depth"]) for call in turn["calls"]]
    assert seen == [
        ("transfer_to_billing", "hand-off · by triage", 0),
        ("ask_stock", "sub-agent · by billing", 0),
        ("count", "by stock\\x1b[2J ::error::x<script> · injected: an error", 1),
        ("waits for a permission", "", 0),
        ("refund", "by billing", 0),
    ]
    assert turn["calls"][3]["args"] == 'refund({"sum": 3})'
    assert data["turns"][-1]["used"] == "1,200 tokens were used for it"


def test_markdown() -> None:
    escaped = markdown(run_report([TRIAL]))
    text = html.unescape(escaped)
    assert "<br>_hand-off:_ transfer_to_billing<br>_sub-agent:_ ask_stock" in text
    assert "<br>↳ _tool:_ count (injected: an error)" in text
    assert '_waits:_ refund({"sum": 3}) → rejected (stock' in text
    assert "<script>" not in escaped
