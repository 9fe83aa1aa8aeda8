"""Each preset talks with a service that answers as the real ones of its kind do."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import SecretStr, ValidationError

from pytest_convoprobe.errors import TargetStartError, TargetUnavailable
from pytest_convoprobe.settings.http_presets import PRESETS
from pytest_convoprobe.settings.http_settings import HttpTarget
from pytest_convoprobe.settings.loading import load_settings
from pytest_convoprobe.settings.show import show
from pytest_convoprobe.targets.http import HttpAgent
from pytest_convoprobe.targets.port import ConversationContext
from pytest_convoprobe.transcript import Reply, SaidBefore, ToolCall, Usage
from tests.support.agent_server import AgentServer, Answer, Request, sse, streamed

Talk = Callable[..., Any]
FOUND = ToolCall("find", {"n": 1}, "found")


@pytest.fixture
def talk(context: Callable[..., ConversationContext]) -> Talk:
    """The replies of a service to "one", "two"…, and the requests it got."""

    async def talk(
        preset: str, answer: Callable[[Request], Any], turns: int = 2, path: str = "", **settings: Any
    ) -> tuple[list[Reply], list[Request]]:
        with AgentServer(answer) as server:
            target = HttpAgent(HttpTarget(preset=preset, url=f"{server.url}{path}", **settings))
            conversation = await target.start(context())
            try:
                replies = [await conversation.send(word) for word in ("one", "two", "three")[:turns]]
            finally:
                await conversation.aclose()
                await target.aclose()
            return replies, server.requests

    return talk


# OpenAI's chat completions

CALL = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"n": 1}'}}
TOKENS = {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}


async def test_openai_chat(talk: Talk) -> None:
    def answer(request: Request) -> Any:
        message = {"role": "assistant", "content": f"{len(request.json['messages'])}", "refusal": None}
        return {"object": "chat.completion", "choices": [{"index": 0, "message": message}], "usage": TOKENS}

    key = {"Authorization": SecretStr("Bearer key-123456789")}
    replies, requests = await talk("openai-chat", answer, path="/v1", body={"model": "shop"}, headers=key)
    assert replies == [Reply("1", (), Usage(3, 4)), Reply("3", (), Usage(3, 4))]
    assert requests[1].path == "/v1/chat/completions"
    assert requests[1].headers["authorization"] == "Bearer key-123456789"
    assert requests[1].json["model"] == "shop"


async def test_openai_chat_that_only_asks_for_a_tool(talk: Talk) -> None:
    message = {"role": "assistant", "content": None, "tool_calls": [CALL]}
    (reply,), _ = await talk("openai-chat", lambda _: {"choices": [{"message": message}]}, 1)
    assert (reply.text, [(call.name, call.executed) for call in reply.tool_calls]) == ("", [("find", False)])


async def test_a_refusal_is_what_the_agent_says(talk: Talk) -> None:
    refusal = {"role": "assistant", "content": None, "refusal": "I can't."}
    chunk = {"choices": [{"delta": {"content": None, "refusal": "I can't."}}]}
    block = {"type": "refusal", "refusal": "I can't."}
    item = {"type": "message", "role": "assistant", "content": [block]}
    replies = [
        *(await talk("openai-chat", lambda _: {"choices": [{"message": refusal}]}, 1))[0],
        *(await talk("openai-chat", lambda _: streamed(sse(chunk, "[DONE]")), 1, stream="sse"))[0],
        *(await talk("openai-responses", lambda _: response(1, output=[item]), 1))[0],
    ]
    assert [reply.text for reply in replies] == ["I can't."] * 3


async def test_openai_chat_as_a_stream(talk: Talk) -> None:
    def chunk(**delta: Any) -> dict[str, Any]:
        return {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta}], "usage": None}

    last = {"object": "chat.completion.chunk", "choices": [], "usage": TOKENS}
    events = [chunk(role="assistant", content=""), chunk(content="Hel"), chunk(content="lo"), last, "[DONE]"]
    (reply,), (request,) = await talk("openai-chat", lambda _: streamed(sse(*events)), 1, stream="sse")
    assert reply == Reply("Hello", (), Usage(3, 4))
    assert (request.json["stream"], request.json["stream_options"]) == (True, {"include_usage": True})
    with pytest.raises(TargetUnavailable, match="the stream broke off"):
        await talk("openai-chat", lambda _: streamed(sse(*events[:-1])), 1, stream="sse")


# OpenAI's Responses


def response(number: int, **more: Any) -> dict[str, Any]:
    text = {"type": "output_text", "text": f"answer {number}", "annotations": []}
    return {
        "id": f"resp_{number}", "object": "response", "status": "completed", "error": None,
        "output": [
            {"type": "reasoning", "id": "rs", "summary": []},
            {"type": "function_call", "id": "fc", "call_id": "c1", "name": "find", "arguments": '{"n": 1}'},
            {"type": "function_call_output", "id": "fo", "call_id": "c1", "output": "found"},
            {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [text]},
        ],
        "usage": {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7},
        **more,
    }  # fmt: skip


async def test_openai_responses(talk: Talk) -> None:
    numbers = iter((1, 2))
    replies, (first, second) = await talk("openai-responses", lambda _: response(next(numbers)), path="/v1")
    assert replies == [Reply(f"answer {number}", (FOUND,), Usage(3, 4)) for number in (1, 2)]
    assert first.json == {"input": "one"}
    assert second.json == {"input": "two", "previous_response_id": "resp_1"}
    assert second.path == "/v1/responses"


async def test_openai_responses_as_a_stream(talk: Talk) -> None:
    def event(kind: str, **more: Any) -> bytes:
        return sse({"type": kind, "sequence_number": 1, **more}, name=kind)

    def answer(request: Request) -> Answer:
        return streamed(
            event("response.created", response=response(1, status="in_progress", output=[])),
            event("response.output_text.delta", item_id="m", output_index=3, content_index=0, delta="ans"),
            event("response.completed", response=response(1)),
        )

    replies, (_, second) = await talk("openai-responses", answer, stream="sse")
    assert replies[0] == Reply("answer 1", (FOUND,), Usage(3, 4))
    assert (second.json["stream"], second.json["previous_response_id"]) == (True, "resp_1")
    failed = response(1, status="failed", error={"code": "server_error", "message": "no model"})
    with pytest.raises(TargetUnavailable, match="the service reports an error: no model"):
        await talk(
            "openai-responses",
            lambda _: streamed(event("response.failed", response=failed)),
            1,
            stream="sse",
        )


# LangGraph's server


class Graph:
    """A thread whose state has all messages, and which asks once, in its third run."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []
        self.runs = 0

    def state(self, request: Request) -> dict[str, Any]:
        self.runs += 1
        if "input" in request.json:
            self.messages += [{"type": "human", "content": request.json["input"]["messages"][0]["content"]}]
            if self.runs == 2:
                call = {"name": "pay", "args": {}, "id": "p", "type": "tool_call"}
                self.messages += [{"type": "ai", "content": "", "tool_calls": [call]}]
                return {"messages": self.messages, "__interrupt__": [{"value": "Sure?", "id": "i1"}]}
            return self.ran(self.runs)
        self.messages += [{"type": "tool", "content": "paid", "tool_call_id": "p"}]
        return self.ran(self.runs)

    def ran(self, number: int) -> dict[str, Any]:
        call = {"name": "find", "args": {"n": 1}, "id": f"c{number}", "type": "tool_call"}
        tokens = {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7}
        self.messages += [
            {"type": "ai", "content": "", "tool_calls": [call], "usage_metadata": tokens},
            {"type": "tool", "content": "found", "tool_call_id": call["id"], "status": "success"},
            {"type": "ai", "content": f"run {number}", "tool_calls": [], "usage_metadata": tokens},
        ]
        return {"messages": self.messages}

    def __call__(self, request: Request) -> Any:
        if request.path == "/threads":
            return {"thread_id": "t-1", "status": "idle"}
        state = self.state(request)
        if request.path.endswith("/stream"):
            metadata, states = (
                sse({"run_id": "r"}, name="metadata"),
                sse({"messages": []}, state, name="values"),
            )
            return streamed(metadata + b": heartbeat\n\n", states)
        return state


@pytest.mark.parametrize("stream", ["none", "sse"])
async def test_langgraph(talk: Talk, stream: str) -> None:
    replies, (start, *runs) = await talk("langgraph", Graph(), 3, stream=stream)
    assert replies[0] == Reply("run 1", (FOUND,), Usage(6, 8))
    # What it asks is its reply, and the next message answers it.
    assert (replies[1].text, [call.executed for call in replies[1].tool_calls or ()]) == ("Sure?", [False])
    assert replies[2] == Reply("run 3", (ToolCall("pay", {}, "paid"), FOUND), Usage(6, 8))
    assert (start.path, start.json) == ("/threads", {})
    assert runs[0].path == f"/threads/t-1/runs/{'stream' if stream == 'sse' else 'wait'}"
    assert runs[1].json["input"] == {"messages": [{"role": "user", "content": "two"}]}
    assert runs[2].json["command"] == {"resume": "three"}
    assert "input" not in runs[2].json
    assert runs[0].json["assistant_id"] == "agent"


async def test_an_error_of_a_graph(talk: Talk) -> None:
    def answer(request: Request) -> Any:
        if request.path == "/threads":
            return {"thread_id": "t-1"}
        if request.path.endswith("/stream"):
            return streamed(sse({"error": "ValueError", "message": "no such tool"}, name="error"))
        return {"__error__": {"error": "ValueError", "message": "no such tool"}}

    for stream in ("none", "sse"):
        with pytest.raises(TargetUnavailable, match="reports an error: no such tool"):
            await talk("langgraph", answer, 1, stream=stream)


# LangServe


@pytest.mark.parametrize("output", ["hi", {"content": "hi", "type": "ai"}, {"output": "hi", "input": "one"}])
async def test_langserve(talk: Talk, output: Any) -> None:
    replies, requests = await talk(
        "langserve", lambda _: {"output": output, "metadata": {"run_id": "r"}}, path="/agent"
    )
    assert [reply.text for reply in replies] == ["hi", "hi"]
    assert requests[0].path == "/agent/invoke"
    assert requests[0].json["input"] == {"input": "one"}
    ids = {request.json["config"]["configurable"]["session_id"] for request in requests}
    assert len(ids) == 1


@pytest.mark.parametrize("chunks", [("h", "i"), ({"content": "h"}, {"content": "i"})])
async def test_langserve_as_a_stream(talk: Talk, chunks: tuple[Any, ...]) -> None:
    data = sse({"run_id": "r"}, name="metadata") + sse(*map(json.dumps, chunks), name="data")
    (reply,), (request,) = await talk(
        "langserve", lambda _: streamed(data + b": ping\r\n\r\nevent: end\r\n\r\n"), 1, stream="sse"
    )
    assert (reply.text, request.path) == ("hi", "/stream")


# A2A, as the servers of its SDK answer


def task(version: str, state: str, text: str) -> dict[str, Any]:
    asks, is_new = state == "input-required", version == "a2a-v1"
    part = {"text": text} if is_new else {"kind": "text", "text": text}
    named = f"TASK_STATE_{state.upper().replace('-', '_')}" if is_new else state
    status = {"state": named, **({"message": {"role": "agent", "parts": [part]}} if asks else {})}
    made = {"id": "task-1", "contextId": "ctx-1", "status": status}
    if not asks:
        made["artifacts"] = [{"artifactId": "a", "parts": [part]}]
    return {"jsonrpc": "2.0", "id": "1", "result": {"task": made} if is_new else {"kind": "task", **made}}


@pytest.mark.parametrize("version", ["a2a", "a2a-v1"])
async def test_a2a(talk: Talk, version: str) -> None:
    answers = iter([
        task(version, "input-required", "Which order?"),
        task(version, "completed", "It was sent."),
        {"jsonrpc": "2.0", "id": "1", "result": (
            {"message": {"contextId": "ctx-1", "parts": [{"text": "Bye."}]}} if version == "a2a-v1"
            else {"kind": "message", "contextId": "ctx-1", "parts": [{"kind": "text", "text": "Bye."}]}
        )},
    ])  # fmt: skip
    replies, requests = await talk(version, lambda _: next(answers), 3)
    assert [reply.text for reply in replies] == ["Which order?", "It was sent.", "Bye."]
    # A2A reports no tools: that is not the same as none.
    assert [reply.tool_calls for reply in replies] == [None, None, None]
    messages = [request.json["params"]["message"] for request in requests]
    assert [message.get("contextId") for message in messages] == [None, "ctx-1", "ctx-1"]
    assert [message.get("taskId") for message in messages] == [None, "task-1", None]
    assert len({message["messageId"] for message in messages}) == 3
    assert requests[0].json["method"] == ("SendMessage" if version == "a2a-v1" else "message/send")
    assert requests[0].headers.get("a2a-version") == ("1.0" if version == "a2a-v1" else None)


@pytest.mark.parametrize(
    ("state", "words"),
    [("failed", "reports an error: out of stock"), ("working", "the answer came before the task was over")],
)
@pytest.mark.parametrize("version", ["a2a", "a2a-v1"])
async def test_a_task_that_failed_or_goes_on_is_not_an_answer(
    talk: Talk, version: str, state: str, words: str
) -> None:
    answer = task(version, state, "half of it")
    made = answer["result"].get("task", answer["result"])
    made["status"]["message"] = {"role": "agent", "parts": [{"text": "out of stock"}]}
    with pytest.raises(TargetUnavailable, match=words):
        await talk(version, lambda _: answer, 1)


async def test_an_error_of_json_rpc(talk: Talk) -> None:
    error = {"jsonrpc": "2.0", "id": "1", "error": {"code": -32601, "message": "Method not found"}}
    with pytest.raises(TargetUnavailable, match="the service reports an error: Method not found"):
        await talk("a2a", lambda _: error, 1)
    with pytest.raises(TargetUnavailable, match="finds nothing in the answer"):
        await talk("a2a", lambda _: task("a2a-v1", "completed", "hi"), 1)


# AG-UI and Vercel's AI SDK


async def test_agui(talk: Talk) -> None:
    events = [
        {"type": "RUN_STARTED", "threadId": "t", "runId": "r"},
        {"type": "TEXT_MESSAGE_START", "messageId": "m1", "role": "assistant"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m1", "delta": "Let me look."},
        {"type": "TEXT_MESSAGE_END", "messageId": "m1"},
        {"type": "TOOL_CALL_START", "toolCallId": "c1", "toolCallName": "find", "parentMessageId": "m1"},
        {"type": "TOOL_CALL_START", "toolCallId": "c2", "toolCallName": "now"},
        {"type": "TOOL_CALL_ARGS", "toolCallId": "c1", "delta": '{"n":'},
        {"type": "TOOL_CALL_ARGS", "toolCallId": "c1", "delta": " 1}"},
        {"type": "TOOL_CALL_END", "toolCallId": "c1"},
        {"type": "TOOL_CALL_END", "toolCallId": "c2"},
        {"type": "TOOL_CALL_RESULT", "messageId": "m2", "toolCallId": "c1", "content": "found"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m3", "delta": "Found."},
        {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"},
    ]
    replies, (first, second) = await talk("agui", lambda _: streamed(sse(*events)))
    assert replies[0].text == "Let me look.\n\nFound."
    assert replies[0].tool_calls == (FOUND, ToolCall("now"))
    assert replies[0].tool_calls[1].unreported == ("result",)
    assert {"threadId", "runId", "messages", "state", "tools", "context", "forwardedProps"} == set(first.json)
    assert first.json["threadId"] == second.json["threadId"]
    assert first.json["runId"] != second.json["runId"]
    said = second.json["messages"]
    assert [message["role"] for message in said] == ["user", "assistant", "user"]
    assert said[0]["id"] == first.json["messages"][0]["id"] != said[2]["id"]
    with pytest.raises(TargetUnavailable, match="the stream broke off"):
        await talk("agui", lambda _: streamed(sse(*events[:-1])), 1)
    with pytest.raises(TargetUnavailable, match="reports an error: quota"):
        await talk("agui", lambda _: streamed(sse({"type": "RUN_ERROR", "message": "quota"})), 1)


async def test_a_call_that_waits_for_an_approval_was_not_carried_out(talk: Talk) -> None:
    events = [
        {"type": "tool-input-available", "toolCallId": "c1", "toolName": "pay", "input": {}},
        {"type": "tool-approval-request", "approvalId": "a1", "toolCallId": "c1"},
        "[DONE]",
    ]
    (reply,), _ = await talk("vercel-ai", lambda _: streamed(sse(*events)), 1)
    assert [(call.name, call.executed) for call in reply.tool_calls] == [("pay", False)]


async def test_vercel_ai(talk: Talk) -> None:
    events = [
        {"type": "start", "messageId": "m"},
        {"type": "start-step"},
        {"type": "reasoning-delta", "id": "r", "delta": "hm"},
        {"type": "tool-input-start", "toolCallId": "c1", "toolName": "find"},
        {"type": "tool-input-delta", "toolCallId": "c1", "inputTextDelta": '{"n": '},
        {"type": "tool-input-available", "toolCallId": "c1", "toolName": "find", "input": {"n": 1}},
        {"type": "tool-output-available", "toolCallId": "c1", "output": "found"},
        {"type": "tool-input-available", "toolCallId": "c2", "toolName": "pay", "input": {}},
        {"type": "tool-output-error", "toolCallId": "c2", "errorText": "declined"},
        {"type": "finish-step"},
        {"type": "text-start", "id": "t"},
        {"type": "text-delta", "id": "t", "delta": "Fo"},
        {"type": "text-delta", "id": "t", "delta": "und."},
        {"type": "text-end", "id": "t"},
        {"type": "finish"},
        "[DONE]",
    ]
    replies, (_, second) = await talk("vercel-ai", lambda _: streamed(sse(*events)), path="/api/chat")
    assert replies[0] == Reply("Found.", (FOUND, ToolCall("pay", {}, error="declined")))
    assert second.path == "/api/chat"
    assert second.json["messages"][1]["parts"] == [{"type": "text", "text": "Found."}]
    assert (second.json["messages"][0]["role"], second.json["trigger"]) == ("user", "submit-message")
    with pytest.raises(TargetUnavailable, match="reports an error: rate limit"):
        await talk("vercel-ai", lambda _: streamed(sse({"type": "error", "errorText": "rate limit"})), 1)


# What a preset is


async def test_an_overloaded_service_is_no_verdict_whatever_the_preset(talk: Talk) -> None:
    for preset in PRESETS:
        with pytest.raises(TargetUnavailable, match="status 429: Too Many Requests"):
            await talk(preset, lambda _: Answer(b"slow down", status=429), 1)


@pytest.mark.parametrize(
    ("url", "whole"),
    [
        ("http://h/v1", "http://h/v1/chat/completions"),
        ("http://h/v1/", "http://h/v1/chat/completions"),
        ("http://h/v1/chat/completions", "http://h/v1/chat/completions"),
        ("http://h/v1?api-version=3", "http://h/v1/chat/completions?api-version=3"),
    ],
)
def test_the_base_address_is_enough(url: str, whole: str) -> None:
    assert HttpTarget(preset="openai-chat", url=url).url == whole


def test_what_is_given_takes_precedence() -> None:
    settings = HttpTarget(
        preset="langgraph",
        url="http://h:2024",
        text="messages[-1].content",
        body={"assistant_id": "shop", "command": None, "config": {"tags": ["{{ metadata.user }}"]}},
    )  # fmt: skip
    assert settings.text == "messages[-1].content"
    assert set(settings.body) == {"assistant_id", "input", "config"}
    assert settings.body["assistant_id"] == "shop"
    assert settings.start is not None
    assert settings.start.url == "http://h:2024/threads"
    own = HttpTarget(preset="langgraph", url="http://h", start={"body": {"metadata": {"a": 1}}})
    assert own.start is not None
    assert (own.start.url, own.start.body) == ("http://h/threads", {"metadata": {"a": 1}})


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"preset": "a2a", "stream": "sse"}, "the preset `a2a` has no stream"),
        ({"preset": "langgraph", "stream": "ndjson"}, "the preset `langgraph` streams `sse`"),
        ({"preset": "openai"}, "Input should be 'openai-chat'"),
        ({"preset": "openai-chat", "stream": "xml"}, "Input should be 'sse' or 'ndjson'"),
    ],
)
def test_a_preset_that_does_not_fit(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError) as caught:
        HttpTarget(url="http://h", **settings)
    assert words in str(caught.value)


def test_the_settings_that_a_preset_gives_are_shown(tmp_path: Path) -> None:
    target = {"type": "http", "preset": "openai-responses", "url": "http://h/v1", "body": {"model": "shop"}}
    (tmp_path / "convoprobe.yaml").write_text(yaml.safe_dump({"target": target}))
    lines = {line.split()[0]: line for line in show(load_settings(tmp_path)).splitlines() if line.strip()}
    assert "http://h/v1/responses" in lines["url"]
    assert lines["tool_calls"].split() == ["tool_calls", "output", "preset", "openai-responses"]
    assert '"model": "shop"' in lines["body"]
    assert lines["body"].endswith("convoprobe.yaml:2 (target), preset openai-responses")
    assert lines["timeout"].endswith("default")


# What was said before

BEFORE = (
    SaidBefore("Where is it?"),
    SaidBefore(
        "On its way.", by_agent=True, tool_calls=(ToolCall("find", {"n": 1}, {"at": 2}, id="earlier_1"),)
    ),
)


async def first_messages(context: Callable[..., ConversationContext], preset: str, *events: Any) -> Any:
    """The messages of the first request of a conversation that begins with a history."""
    with AgentServer(lambda _: streamed(*map(sse, events))) as server:
        target = HttpAgent(HttpTarget(preset=preset, url=server.url))
        conversation = await target.start(replace(context(), history=BEFORE))
        await conversation.send("And now?")
        await conversation.aclose()
        await target.aclose()
        return [
            {key: value for key, value in message.items() if key != "id"}
            for message in server.requests[0].json["messages"]
        ]


async def test_agui_gets_the_history_with_its_own_names(context: Callable[..., ConversationContext]) -> None:
    said = {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "Here."}
    found = await first_messages(context, "agui", said, {"type": "RUN_FINISHED"})
    function = {"name": "find", "arguments": '{"n": 1}'}
    assert found == [
        {"role": "user", "content": "Where is it?"},
        {
            "role": "assistant",
            "content": "",
            "toolCalls": [{"id": "earlier_1", "type": "function", "function": function}],
        },
        {"role": "tool", "toolCallId": "earlier_1", "content": '{"at": 2}'},
        {"role": "assistant", "content": "On its way."},
        {"role": "user", "content": "And now?"},
    ]


async def test_vercels_ai_sdk_gets_calls_as_parts(context: Callable[..., ConversationContext]) -> None:
    said = {"type": "text-delta", "id": "t", "delta": "Here."}
    found = await first_messages(context, "vercel-ai", said, "[DONE]")
    call = {
        "type": "tool-find",
        "toolCallId": "earlier_1",
        "state": "output-available",
        "input": {"n": 1},
        "output": '{"at": 2}',
    }
    assert [(one["role"], one["parts"]) for one in found] == [
        ("user", [{"type": "text", "text": "Where is it?"}]),
        ("assistant", [call]),
        ("assistant", [{"type": "text", "text": "On its way."}]),
        ("user", [{"type": "text", "text": "And now?"}]),
    ]


@pytest.mark.parametrize("preset", sorted(PRESETS))
async def test_a_preset_sends_the_history_or_refuses_it(
    context: Callable[..., ConversationContext], preset: str
) -> None:
    target = HttpAgent(HttpTarget(preset=preset, url="http://127.0.0.1:9"))
    if preset in ("openai-chat", "agui", "vercel-ai"):
        await target.start(replace(context(), history=BEFORE))
    else:
        with pytest.raises(TargetStartError, match="no place for that"):
            await target.start(replace(context(), history=BEFORE))
    await target.aclose()
