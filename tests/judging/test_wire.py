"""Checks and the judge's view where calls of tools and tokens were seen on the wire."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_convoprobe.errors import Blame, ScenarioError
from pytest_convoprobe.judging.checks import run_checks
from pytest_convoprobe.judging.transcript_view import view_of
from pytest_convoprobe.judging.types import NO_SUCH_TOOL, CheckResult
from pytest_convoprobe.transcript import ModelCall, Reply, ToolCall, Transcript, Usage, WireSeen

from .support import evaluation, talk

SENT = ToolCall("send_email", {"to": "me"}, "sent", on_wire=True)
ASKED = ToolCall("send_email", {"to": "me"}, unreported=("result",), on_wire=True)


def seen(*calls: ToolCall, unclear: str = "", usage: Usage | None = None) -> Transcript:
    gives = ("tool_calls", "usage") if usage else ("tool_calls",)
    wire = WireSeen((ModelCall("gpt-4o", usage=usage),), gives, unclear)
    return talk(("Mail me", Reply("Done", tuple(calls), usage, wire=wire)))


def check(transcript: Transcript, tools: tuple[str, ...] | None = None, **tool_usage: Any) -> CheckResult:
    (result,) = run_checks(evaluation(tool_usage=tool_usage), transcript, tools)
    return result


def check_all(transcript: Transcript, **sections: Any) -> tuple[CheckResult, ...]:
    return run_checks(evaluation(**sections), transcript)


def test_a_finding_on_what_was_seen_says_so() -> None:
    assert check(seen(SENT), required_tools=["send_email"]) == CheckResult(
        "required tool send_email", True, "at least 1 call", "1 call (seen on the wire)", 1
    )
    assert check(seen(), prohibited_tools=["send_email"]).found == "no call (seen on the wire)"
    assert check(seen(), ("look",), prohibited_tools=["send_email"]).found == NO_SUCH_TOOL
    (limit,) = run_checks(evaluation(efficiency={"max_tool_calls": 1}), seen(SENT))
    assert limit.found == "1 (seen on the wire)"


def test_a_targets_own_report_is_not_marked() -> None:
    own = talk(("Mail me", Reply("Done", (ToolCall("send_email"),), wire=WireSeen((ModelCall("m"),)))))
    assert check(own, required_tools=["send_email"]).found == "1 call"


@pytest.mark.parametrize(
    "usage",
    [
        {"required_tools": ["send_email"]},
        {"tool_call_criteria": [{"tool": "send_email", "assertions": [{"times": 1}]}]},
        {"tool_call_criteria": [{"tool": "send_email", "assertions": [{"args": {"to": "me"}}]}]},
    ],
)
def test_what_rests_on_a_call_without_a_result_is_not_decided(usage: dict[str, Any]) -> None:
    with pytest.raises(ScenarioError, match="no later request has its result") as caught:
        check(seen(ASKED), **usage)
    assert caught.value.blame is Blame.SCENARIO
    assert check(seen(SENT), **usage).holds
    assert check(seen(SENT, ASKED), required_tools=["send_email"]).holds


ANSWER = ToolCall("final_result", {"text": "Done"}, unreported=("result",), on_wire=True)


def test_an_answer_in_the_form_of_a_call_is_not_taken_for_a_tool_too_many() -> None:
    listed: dict[str, Any] = {"only_listed": True, "required_tools": ["send_email"]}
    with pytest.raises(ScenarioError, match="whether final_result, for which a model asked"):
        check_all(seen(SENT, ANSWER), tool_usage=listed)
    with pytest.raises(ScenarioError, match="tool calls cannot be checked"):
        check_all(seen(SENT, ANSWER), efficiency={"max_tool_calls": 1})
    named = {**listed, "optional_tools": ["final_result"]}
    assert all(one.holds for one in check_all(seen(SENT, ANSWER), tool_usage=named))
    assert all(one.holds for one in check_all(seen(SENT, ANSWER), efficiency={"max_tool_calls": 2}))
    # With a result, it was a tool.
    assert not all(one.holds for one in check_all(seen(SENT, SENT), efficiency={"max_tool_calls": 1}))


def test_a_prohibition_is_broken_by_the_attempt_alone() -> None:
    assert not check(seen(ASKED), prohibited_tools=["send_email"]).holds


def test_what_may_not_have_been_seen_can_not_be_checked() -> None:
    with pytest.raises(ScenarioError) as caught:
        check(seen(SENT, unclear="an answer of `m` can't be read"), prohibited_tools=["other"])
    assert (
        "in any turn. What its gateway saw is not enough: an answer of `m` can't be read. Have it report"
        in str(caught.value)
    )


def test_without_a_gateway_the_words_are_as_ever() -> None:
    with pytest.raises(ScenarioError, match=r"in any turn\. Have it report them"):
        check(talk(("Hi", "Hello")), required_tools=["send_email"])


def test_tokens_that_were_seen_count_and_missing_ones_are_named() -> None:
    limited = evaluation(efficiency={"max_llm_tokens": 100})
    assert [one.found for one in run_checks(limited, seen(usage=Usage(80, 10)))] == ["90 (seen on the wire)"]
    assert [one.holds for one in run_checks(limited, seen(usage=Usage(80, 21)))] == [False]
    with pytest.raises(ScenarioError, match="an answer of `gpt-4o` does not say its tokens"):
        run_checks(limited, seen())
    with pytest.raises(ScenarioError, match="no call of a model came through it"):
        run_checks(limited, talk(("Hi", Reply("Hello", wire=WireSeen()))))


# The view


def test_a_call_that_was_seen_is_shown_like_one_that_was_reported() -> None:
    reported = talk(("Mail me", Reply("Done", (ToolCall("send_email", {"to": "me"}, "sent"),))))
    assert view_of(seen(SENT)) == view_of(reported)
    assert "does not report its tool calls" not in view_of(seen(SENT)).text


def test_nobody_is_told_that_a_call_without_a_result_was_carried_out() -> None:
    text = view_of(seen(ASKED)).text
    assert "(nobody saw a result: it isn't known whether the call was carried out)" in text
    assert "tool returns" not in text


def test_a_turn_that_is_not_clear_says_that_more_may_have_happened() -> None:
    assert (
        "(The agent may have called other tools in this turn, which nobody saw.)"
        in view_of(seen(SENT, unclear="?")).text
    )
