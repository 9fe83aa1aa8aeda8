from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from pytest_convoprobe.gateway.evidence import WireEvidence
from pytest_convoprobe.gateway.exchange import Answered, Asked, WireCall
from pytest_convoprobe.transcript import CallKind, Reply, ToolCall, Transcript, Turn, Usage, WireSeen

from .wire import STREAM, answered, asked, asking, call, posted, refused, result, said

USER = said("user", "Is order 1234 on its way?")
LOOKUP = ("call_1", "lookup", {"order": 1234})
TOOL_TURN = (
    call(asked(USER), answered(asking(LOOKUP))),
    call(asked(USER, asking(LOOKUP), result("call_1", "on its way")), answered("Yes.", tokens=(150, 5))),
)


def talk(*replies: Reply | str, pending: str | None = None) -> Transcript:
    said_by_agent = [Reply(reply) if isinstance(reply, str) else reply for reply in replies]
    turns = tuple(Turn(number, "Hi", reply) for number, reply in enumerate(said_by_agent, start=1))
    return Transcript(turns, pending=pending)


def completed(
    calls: Sequence[WireCall], transcript: Transcript | None = None, max_text: int = 10_000
) -> Transcript:
    return WireEvidence(lambda: calls, max_text).completed(transcript or talk("Yes."))


def reply_of(calls: Sequence[WireCall], reply: Reply | str = "Yes.") -> Reply:
    return completed(calls, talk(reply)).turns[0].reply


def wire_of(calls: Sequence[WireCall], reply: Reply | str = "Yes.") -> WireSeen:
    wire = reply_of(calls, reply).wire
    assert wire is not None
    return wire


# What takes the place of what the target does not report


def test_a_call_that_the_model_asked_for_has_its_result_from_the_next_request() -> None:
    reply = reply_of(TOOL_TURN)
    assert reply.tool_calls == (ToolCall("lookup", {"order": 1234}, "on its way", on_wire=True),)
    assert reply.tool_calls[0].id == "call_1"
    assert reply.usage == Usage(250, 25)
    assert wire_of(TOOL_TURN).gives == ("tool_calls", "usage")
    assert reply.knows_calls


def test_the_calls_of_the_agent_have_model_protocol_tokens_price_and_time() -> None:
    first, second = wire_of(TOOL_TURN).calls
    assert (first.model, first.protocol, first.usage, first.seconds) == (
        "gpt-4o",
        "chat_completions",
        Usage(100, 20),
        0.5,
    )
    assert first.cost is not None
    assert first.cost == pytest.approx(100 * 2.5e-6 + 20 * 1e-5)
    assert wire_of(TOOL_TURN).cost == pytest.approx(first.cost + (second.cost or 0))
    assert wire_of(TOOL_TURN).models == ("gpt-4o",)


def test_prices_of_the_project_come_before_those_of_the_list() -> None:
    prices = {"gpt-4*": (1.0, 2.0), "gpt-4o": (9.0, 9.0)}
    done = WireEvidence(lambda: TOOL_TURN, prices=prices).completed(talk("Yes."))
    wire = done.turns[0].reply.wire
    assert wire is not None
    assert [one.cost for one in wire.calls] == [140.0, 160.0]


def test_the_targets_own_report_counts_and_what_differs_is_said() -> None:
    own = Reply("Yes.", (ToolCall("search", {}),), Usage(10, 1))
    reply = reply_of(TOOL_TURN, own)
    assert reply.tool_calls == own.tool_calls
    assert reply.usage == own.usage
    assert reply.wire is not None
    assert reply.wire.gives == ()
    assert reply.wire.remarks == (
        "the model asked for `lookup`, which the target does not report",
        "the target reports `search`, which no model was seen to ask for",
        "the target reports 11 tokens, but 275 tokens were seen",
    )


def test_a_report_that_agrees_has_no_remark() -> None:
    assert wire_of(TOOL_TURN, Reply("Yes.", (ToolCall("lookup", {}),), Usage(250, 25))).remarks == ()


# Nothing seen is not nothing done


def test_without_a_call_in_a_turn_nothing_is_known() -> None:
    reply = reply_of(())
    assert (reply.tool_calls, reply.usage) == (None, None)
    assert reply.wire == WireSeen(unclear="no call of a model came through it in this turn")


def test_a_model_that_had_tools_and_asked_for_none_called_none() -> None:
    reply = reply_of([call(asked(USER), answered("Hello."))])
    assert reply.tool_calls == ()
    assert reply.knows_calls


def test_tools_that_are_named_in_another_turn_count_too() -> None:
    calls = [call(asked(USER, tools=()), answered("Hello.")), call(asked(USER), answered("Again."), turn=2)]
    replies = [turn.reply.tool_calls for turn in completed(calls, talk("Hello.", "Again.")).turns]
    assert replies == [(), ()]


def test_a_model_without_tools_may_have_asked_in_words() -> None:
    reply = reply_of([call(asked(USER, tools=()), answered("Action: lookup(1234)"))])
    assert reply.tool_calls is None
    assert reply.wire is not None
    assert "in plain words" in reply.wire.unclear


@pytest.mark.parametrize(
    ("one", "words"),
    [
        (call(asked(USER), None), "had not ended"),
        (call(asked(USER), Answered(200, b"<html>", {"content-type": "text/html"})), "can't be read"),
        (call(asked(USER, n=2), answered("Hello.")), "several answers"),
        (call(asked(USER, web_search_options={"x": 1}), answered("Hello.")), "provider carries out"),
        (posted("v1/completions", {"model": "m", "prompt": "x"}, {"choices": []}), "can't be read"),
        (posted("v1/threads/t/runs", {"model": "m"}, {"id": "run"}), "can't be read"),
        (
            posted(
                "responses",
                {"model": "gpt-4o", "input": "x", "tools": [{"type": "web_search"}]},
                {"output": [], "status": "completed"},
            ),
            "(web_search)",
        ),
        (
            posted(
                "v1/messages",
                {"model": "c", "messages": [USER], "tools": [{"type": "web_search_20250305", "name": "w"}]},
                {"content": [], "stop_reason": "end_turn"},
            ),
            "(web_search_20250305)",
        ),
    ],
)
def test_what_is_not_read_to_its_end_proves_no_absence(one: WireCall, words: str) -> None:
    reply = reply_of([one, call(asked(USER, said("user", "And?")), answered("Hello."))])
    assert reply.tool_calls is None
    assert reply.wire is not None
    assert words in reply.wire.unclear


def test_calls_beside_an_unclear_one_are_kept_but_are_not_all() -> None:
    page = Answered(200, b"<html>", {"content-type": "text/html"})
    reply = reply_of([*TOOL_TURN, call(asked(said("user", "Other")), page)])
    assert [one.name for one in reply.tool_calls or ()] == ["lookup"]
    assert not reply.knows_calls


@pytest.mark.parametrize(
    "one",
    [
        WireCall(1, Asked("GET", "v1/models"), Answered(200, b'{"data": []}', {})),
        posted("v1/moderations", {"model": "m", "input": "x"}, {"results": []}),
        posted("v1/messages/count_tokens", {"model": "c", "messages": [USER]}, {"input_tokens": 3}),
    ],
)
def test_what_asks_no_model_is_no_call_of_one(one: WireCall) -> None:
    wire = wire_of([one, *TOOL_TURN])
    assert len(wire.calls) == 2
    assert (wire.unclear, wire.usage) == ("", Usage(250, 25))


def test_embeddings_use_tokens_and_ask_for_no_tools() -> None:
    counted = {"data": [], "model": "text-embedding-3-small", "usage": {"prompt_tokens": 8}}
    one = posted("embeddings", {"model": "text-embedding-3-small", "input": "x"}, counted)
    reply = reply_of([one, *TOOL_TURN])
    assert reply.usage == Usage(258, 25)
    assert reply.knows_calls
    assert reply_of([one]).tool_calls is None


def test_an_answer_without_usage_leaves_the_tokens_of_the_turn_unknown() -> None:
    reply = reply_of([TOOL_TURN[0], call(asked(USER, result("call_1", "x")), answered("Yes.", tokens=None))])
    assert reply.usage is None
    assert wire_of([]).usage is None


def test_a_refused_call_and_an_injected_fault_use_nothing() -> None:
    faulty = call(asked(USER), refused(429), fault="429 (rate limit)", replaced=True)
    wire = wire_of([call(asked(USER), refused(503)), faulty, *TOOL_TURN])
    assert wire.usage == Usage(250, 25)
    assert [one.cost for one in wire.calls[:2]] == [0.0, 0.0]
    assert [one.problem for one in wire.calls] == ["status 503: busy", "status 429: busy", "", ""]
    assert wire.calls[1].fault == "429 (rate limit)"


def test_the_provider_may_repeat_a_refused_key_which_is_not_kept() -> None:
    wire = wire_of([call(asked(USER), refused(401, "Received sk-very-secret", "invalid_api_key"))])
    assert wire.calls[0].problem == "status 401 (invalid_api_key)"


# Which result belongs to which call


def test_parallel_calls_share_a_group_and_each_has_its_own_result() -> None:
    other = ("call_2", "stock", {"sku": 9})
    both = asking(LOOKUP, other)
    calls = (
        call(asked(USER), answered(both)),
        call(asked(USER, both, result("call_2", "none"), result("call_1", "sent")), answered("Yes.")),
    )
    found = reply_of(calls).tool_calls or ()
    assert [(one.name, one.result) for one in found] == [("lookup", "sent"), ("stock", "none")]
    assert found[0].group == found[1].group != ""


def test_a_call_whose_result_never_came_is_unanswered() -> None:
    (found,) = reply_of(TOOL_TURN[:1]).tool_calls or ()
    assert found.unreported == ("result",)
    assert found.is_unanswered


def test_a_result_that_comes_in_the_next_turn_is_that_of_the_call() -> None:
    later = call(asked(USER, asking(LOOKUP), result("call_1", "late"), USER), answered("Yes."), turn=2)
    first, second = completed([TOOL_TURN[0], later], talk("One moment.", "Yes.")).turns
    assert [one.result for one in first.reply.tool_calls or ()] == ["late"]
    assert second.reply.tool_calls == ()


def test_a_model_that_gives_the_same_id_again_and_again_gets_each_result_once() -> None:
    history = [USER, asking(LOOKUP), result("call_1", "first"), said("assistant", "Yes."), USER]
    again = ("call_1", "lookup", {"order": 5})
    calls = [
        *TOOL_TURN[:1],
        call(asked(*history[:3]), answered("Yes.")),
        call(asked(*history), answered(asking(again)), turn=2),
        call(asked(*history, asking(again), result("call_1", "second")), answered("Yes."), turn=2),
    ]
    first, second = completed(calls, talk("Yes.", "Yes.")).turns
    assert [one.result for one in first.reply.tool_calls or ()] == ["first"]
    assert [one.result for one in second.reply.tool_calls or ()] == ["second"]


def test_a_result_under_an_old_id_is_not_taken_for_that_of_a_new_call() -> None:
    history = [USER, asking(LOOKUP), result("call_1", "first"), USER]
    again = ("call_1", "lookup", {"order": 5})
    calls = [*TOOL_TURN, call(asked(*history), answered(asking(again)), turn=2)]
    calls += [call(asked(*history), answered("Yes."), turn=3)]
    second = completed(calls, talk("Yes.", "Hm.", "Yes.")).turns[1]
    assert [one.is_unanswered for one in second.reply.tool_calls or ()] == [True]


def test_messages_of_anthropic_with_an_error_of_the_tool() -> None:
    asks = {"type": "tool_use", "id": "toolu_1", "name": "lookup", "input": {"order": 1234}}
    back = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "no such order", "is_error": True}
    body = {
        "model": "claude-sonnet-4-5",
        "messages": [USER],
        "tools": [{"name": "lookup", "input_schema": {}}],
    }
    reply = {"role": "assistant", "content": [asks], "stop_reason": "tool_use"}
    reply["usage"] = {"input_tokens": 10, "output_tokens": 4, "cache_read_input_tokens": 90}  # type: ignore[assignment]
    again = {**body, "messages": [USER, said("assistant", "x"), {"role": "user", "content": [back]}]}
    calls = [
        posted("v1/messages", body, reply),
        posted("v1/messages", again, {"content": [], "stop_reason": "end_turn"}),
    ]
    (found,) = reply_of(calls).tool_calls or ()
    assert (found.result, found.error, found.failed) == (None, "no such order", True)
    assert wire_of(calls).calls[0].usage == Usage(100, 4)
    assert wire_of(calls).calls[0].protocol == "messages"


def test_a_chain_of_responses_has_only_the_new_result_in_each_request() -> None:
    asks = {"type": "function_call", "call_id": "c1", "name": "lookup", "arguments": '{"order": 1}'}
    tools = [{"type": "function", "name": "lookup", "parameters": {}}]

    def output(text: str) -> list[dict[str, Any]]:
        return [{"type": "function_call_output", "call_id": "c1", "output": text}]

    def step(before: str, given: Any, name: str, items: list[Any]) -> WireCall:
        body = {"model": "gpt-4o", "input": given, "tools": tools, "previous_response_id": before}
        return posted("v1/responses", body, {"id": name, "output": items, "status": "completed"})

    calls = [step("", "Hi", "r1", [asks]), step("r1", output("one"), "r2", [asks])]
    calls += [step("r2", output("two"), "r3", [])]
    assert [one.result for one in reply_of(calls).tool_calls or ()] == ["one", "two"]


# Retries and what was thrown away


def test_a_request_that_an_sdk_sends_again_has_its_tools_once() -> None:
    first, second = TOOL_TURN
    lost = call(asked(USER), answered(asking(("call_0", "lookup", {"order": 1234}))), broken_off=True)
    wire = reply_of([lost, first, second])
    assert [one.id for one in wire.tool_calls or ()] == ["call_1"]
    assert wire.knows_calls
    assert len(wire_of([lost, first, second]).calls) == 3


def test_an_answer_that_was_sampled_and_thrown_away_counts_in_tokens_alone() -> None:
    other = call(asked(USER), answered(asking(("call_9", "refund", {"order": 1234}))))
    reply = reply_of([other, *TOOL_TURN])
    assert [one.name for one in reply.tool_calls or ()] == ["lookup"]
    assert reply.usage == Usage(350, 45)


def test_the_last_of_equal_requests_counts_where_nothing_comes_back() -> None:
    other = call(asked(USER), answered(asking(("call_9", "refund", {"order": 1234}))))
    assert [one.name for one in reply_of([TOOL_TURN[0], other]).tool_calls or ()] == ["refund"]


def test_equal_questions_of_two_agents_at_once_both_count() -> None:
    other = ("call_9", "stock", {"sku": 9})
    calls = [
        call(asked(USER), answered(asking(LOOKUP))),
        call(asked(USER), answered(asking(other))),
        call(asked(USER, asking(LOOKUP), result("call_1", "sent")), answered("Yes.")),
        call(asked(USER, asking(other), result("call_9", "none")), answered("No.")),
    ]
    assert [(one.name, one.result) for one in reply_of(calls).tool_calls or ()] == [
        ("lookup", "sent"),
        ("stock", "none"),
    ]


def test_an_answer_that_broke_off_in_a_call_of_a_tool_leaves_the_turn_unclear() -> None:
    piece = {"tool_calls": [{"index": 0, "id": "call_1", "function": {"name": "lookup", "arguments": "{"}}]}
    body = b"data: " + json.dumps({"choices": [{"index": 0, "delta": piece}]}).encode() + b"\n\n"
    broken = call(asked(USER), Answered(200, body, STREAM), broken_off=True)
    reply = reply_of([broken])
    assert reply.tool_calls is None
    assert reply.wire is not None
    assert "broke off while it asked for a tool" in reply.wire.unclear
    assert reply.usage is None
    assert reply_of([broken, *TOOL_TURN]).knows_calls


# Agents inside of calls


def test_the_calls_of_an_agent_inside_a_call_are_inside_it() -> None:
    ask = ("call_1", "research", {"input": "every order of March"})
    inner = ("call_7", "search", {"q": "March"})
    task = said("user", "every order of March")
    calls = [
        call(asked(USER), answered(asking(ask))),
        call(asked(task), answered(asking(inner))),
        call(asked(task, asking(inner), result("call_7", "three")), answered("Three.")),
        call(asked(USER, asking(ask), result("call_1", "Three.")), answered("There are three.")),
    ]
    outer, nested = reply_of(calls).tool_calls or ()
    assert (outer.kind, outer.result, outer.parent) == (CallKind.SUB_AGENT, "Three.", "")
    assert (nested.parent, nested.result) == ("call_1", "three")


# A turn that failed, hostile content, lengths


def test_what_was_done_for_a_message_without_a_reply_is_kept() -> None:
    found = completed(TOOL_TURN, talk(pending="Is it on its way?"))
    assert [one.result for one in found.pending_calls] == ["on its way"]
    assert found.pending_usage == Usage(250, 25)
    assert found.pending_wire is not None
    assert (len(found.pending_wire.calls), found.pending_wire.gives) == (2, ("tool_calls", "usage"))


def test_the_turn_of_a_message_without_a_reply_comes_after_the_others() -> None:
    late = [call(one.asked, one.answered, turn=2) for one in TOOL_TURN]
    found = completed(late, talk("Hello.", pending="And now?"))
    assert found.turns[0].reply.tool_calls is None
    assert [number for number, _ in found.wire] == [1, 2]
    assert len(found.pending_calls) == 1


@pytest.mark.parametrize(
    "body",
    [b"", b"null", b"[" * 5000, b'{"choices": 3}', b'{"choices": [{"message": {"tool_calls": [7, {}]}}]}'],
)
def test_no_answer_breaks_the_reading(body: bytes) -> None:
    completed([call(asked(USER), Answered(200, body, {"content-type": "application/json"}))])
    completed([call(Asked("POST", "chat/completions", body), answered("Yes."))])


def test_long_arguments_and_results_are_cut_and_say_so() -> None:
    long = ("call_1", "lookup", {"text": "x" * 5000})
    calls = [
        call(asked(USER), answered(asking(long))),
        call(asked(USER, asking(long), result("call_1", "y" * 5000)), answered("Yes.")),
    ]
    (found,) = completed(calls, max_text=1000).turns[0].reply.tool_calls or ()
    assert set(found.cut) == {"arguments", "result"}
    assert len(found.result) <= 1000


def test_a_call_without_a_name_and_arguments_that_are_no_json_are_an_attempt() -> None:
    torn = {"id": "call_1", "function": {"arguments": '{"order": 12'}}
    (found,) = (
        reply_of([call(asked(USER), answered({"role": "assistant", "tool_calls": [torn]}))]).tool_calls or ()
    )
    assert (found.name, found.arguments, found.executed) == (
        "(without a name)",
        {"_raw": '{"order": 12'},
        False,
    )


# Failures of the provider


@pytest.mark.parametrize("status", [401, 403, 407, 408, 409, 425, 429, 500, 503, 529])
def test_a_failure_of_the_provider_after_which_nothing_came_is_lost(status: int) -> None:
    wire = wire_of([call(asked(USER), refused(status)), call(asked(USER), refused(status))])
    assert [one.lost for one in wire.calls] == [False, True]


def test_no_answer_at_all_is_a_failure_and_the_agents_own_impatience_is_none() -> None:
    gone, left = (
        call(asked(USER), None, problem="connection refused"),
        call(asked(USER), None, broken_off=True),
    )
    assert [one.lost for one in wire_of([gone]).calls] == [True]
    assert [one.lost for one in wire_of([left]).calls] == [False]


@pytest.mark.parametrize("status", [400, 404, 422])
def test_what_the_agent_asked_wrongly_is_its_own(status: int) -> None:
    assert not wire_of([call(asked(USER), refused(status))]).calls[0].lost


def test_an_injected_fault_is_no_failure_of_the_provider() -> None:
    assert not wire_of([call(asked(USER), refused(503), fault="503", replaced=True)]).calls[0].lost
    assert not wire_of([call(asked(USER), None, fault="timeout", replaced=True)]).calls[0].lost
    assert not wire_of([call(asked(USER), answered("Yes."), fault="cut", broken_off=True)]).calls[0].lost


def test_a_provider_that_fails_after_an_injected_delay_has_failed_by_itself() -> None:
    (found,) = wire_of([call(asked(USER), refused(503), fault="a delay of 1 s")]).calls
    assert (found.lost, found.problem) == (True, "status 503: busy")
    assert wire_of([call(asked(USER), answered("Yes."), fault="a delay of 1 s")]).calls[0].problem == ""


def test_an_empty_answer_in_the_place_of_a_models_is_a_problem_of_the_call() -> None:
    (found,) = wire_of([call(asked(USER), answered("", tokens=None), fault="empty", replaced=True)]).calls
    assert (found.problem, found.usage, found.cost) == ("the fault came in its place", Usage(), 0.0)


def test_an_agent_that_tries_again_has_recovered_also_with_another_model_and_protocol() -> None:
    failed = call(asked(said("system", "Be short."), USER), refused(503))
    same = call(asked(said("system", "Be short."), USER), answered("Yes."))
    body = {"model": "claude", "system": "Else.", "messages": [USER]}
    other = posted(
        "v1/messages", body, {"content": [{"type": "text", "text": "Yes."}], "stop_reason": "end_turn"}
    )
    assert not any(one.lost for one in wire_of([failed, same]).calls)
    assert not any(one.lost for one in wire_of([failed, other]).calls)
    assert any(
        one.lost for one in wire_of([failed, call(asked(said("user", "Else")), answered("Hm."))]).calls
    )


def test_an_error_in_the_middle_of_a_stream_is_a_failure() -> None:
    error = {"type": "overloaded_error", "message": "Overloaded"}
    body = b"event: error\ndata: " + json.dumps({"type": "error", "error": error}).encode() + b"\n\n"
    one = call(Asked("POST", "v1/messages", b'{"model": "c", "messages": []}'), Answered(200, body, STREAM))
    (found,) = wire_of([one]).calls
    assert (found.lost, found.problem) == (True, "an error in the answer: Overloaded")


def test_an_answer_that_the_provider_broke_off_is_a_failure_with_unknown_tokens() -> None:
    half = Answered(200, b'data: {"choices": [{"index": 0, "delta": {"content": "Ye"}}]}\n\n', STREAM)
    (found,) = wire_of([call(asked(USER), half, problem="the connection was lost")]).calls
    assert (found.lost, found.problem, found.usage) == (True, "the connection was lost", None)
