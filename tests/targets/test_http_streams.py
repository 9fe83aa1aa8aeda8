"""Answers that come as a stream, from a real server on loopback."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from typing import Any

import pytest

from pytest_convoprobe.errors import SettingsError, TargetUnavailable
from pytest_convoprobe.settings.http_settings import HttpTarget
from pytest_convoprobe.targets.http import HttpAgent
from pytest_convoprobe.targets.http.stream_events import PARSERS
from pytest_convoprobe.targets.port import ConversationContext
from pytest_convoprobe.transcript import Reply, ToolCall, Usage
from tests.support.agent_server import AgentServer, Answer, sse, streamed

CHAT: dict[str, Any] = {
    "stream": "sse",
    "text": "choices[0].delta.content",
    "tool_calls": "choices[0].delta.tool_calls",
    "usage": "usage",
}


def chat(**delta: Any) -> dict[str, Any]:
    return {"choices": [{"delta": delta}]}


@pytest.fixture
def talk(context: Callable[..., ConversationContext]) -> Callable[..., Any]:
    async def talk(*answers: Answer, most: int = 1_000_000, **settings: Any) -> tuple[list[Reply], Any]:
        """The replies to as many messages as there are answers, and the conversation."""
        waiting = list(answers)
        with AgentServer(lambda request: waiting.pop(0)) as server:
            target = HttpAgent(HttpTarget(url=f"{server.url}/chat", **settings))
            made = ConversationContext(**{**vars(context()), "max_text": most})
            conversation = await target.start(made)
            replies: list[Reply] = []
            error: TargetUnavailable | None = None
            try:
                for _ in answers:
                    replies.append(await conversation.send("hi"))
            except TargetUnavailable as found:
                error = found
            finally:
                await target.aclose()
        return (replies, conversation) if error is None else (replies, (error, conversation))

    return talk


Talk = Callable[..., Any]


# Bytes as events


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_events_may_be_cut_anywhere(size: int, end: str) -> None:
    lines = [
        "\ufeff: hello", "", "data: grüß 👋", "", ": keep-alive", "",
        "event: named", "id: 7", "data: one", "data:two", "data", "", "", "data:last",
    ]  # fmt: skip
    raw = end.join(lines).encode()
    parser = PARSERS["sse"](1000)
    pieces = [raw[start : start + size] for start in range(0, len(raw), size)]
    events = [event for piece in pieces for event in parser.feed(piece)]
    events += parser.feed(b"", last=True)
    assert [(event.name, event.data) for event in events] == [
        ("message", "grüß 👋"),
        ("named", "one\ntwo\n"),
        ("message", "last"),
    ]


def test_lines_of_json_may_be_cut_anywhere_and_empty_ones_say_nothing() -> None:
    parser, raw = PARSERS["ndjson"](1000), '{"a": "é"}\r\n\n{"a": 2}'.encode()
    events = [event for number in range(len(raw)) for event in parser.feed(raw[number : number + 1])]
    events += parser.feed(b"", last=True)
    assert [event.value()["a"] for event in events] == ["é", 2]


@pytest.mark.parametrize("raw", [b"data: " + b"x" * 2000, b"data: xxxxxxxxxx\n" * 200])
def test_an_event_without_end_is_given_up(raw: bytes) -> None:
    with pytest.raises(ValueError, match="longer than 1000 characters"):
        list(PARSERS["sse"](1000).feed(raw))


def test_what_is_not_an_object_is_under_data_with_the_name_of_the_event() -> None:
    (first, second, third) = PARSERS["sse"](1000).feed(
        b'event: m\ndata: [1]\n\ndata: plain\n\nevent: m\ndata: {"event": "own", "a": 1}\n\n'
    )
    assert first.value() == {"event": "m", "data": [1]}
    assert second.value() == {"event": "message", "data": "plain"}
    assert third.value() == {"event": "own", "a": 1}


# A reply


async def test_texts_calls_and_usage_of_all_events_are_one_reply(talk: Talk) -> None:
    call = {"index": 0, "id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"nu'}}
    more = {"index": 0, "function": {"arguments": 'mber": 7}'}}
    answer = streamed(
        sse(chat(role="assistant", content="")),
        sse(chat(tool_calls=[call])) + sse(chat(tool_calls=[more]))[:9],
        sse(chat(tool_calls=[more]))[9:] + b": keep-alive\n\n",
        *(bytes([byte]) for byte in sse(chat(content="Grüße "), chat(content="👋"))),
        sse({"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 4}}, "[DONE]"),
        sse("never read"),
        hang=True,
    )
    (reply,), _ = await talk(answer, **CHAT)
    assert reply == Reply("Grüße 👋", (ToolCall("find", {"number": 7}),), Usage(3, 4))
    assert (reply.tool_calls or ())[0].id == "c1"


async def test_calls_of_one_answer_are_kept_apart(talk: Talk) -> None:
    def asked(index: int | None, identity: str | None, name: str | None, arguments: str) -> dict[str, Any]:
        function = {"name": name, "arguments": arguments}
        return {
            "index": index,
            "id": identity,
            "function": {k: v for k, v in function.items() if v is not None},
        }

    pieces = [
        asked(0, "a", "f", "{"), asked(1, "b", "g", '{"x": 1'),
        asked(0, None, None, "}"), asked(1, None, None, "}"),
        # Some services number every call 0.
        asked(0, "c", "h", '{"y": 2}'),
    ]  # fmt: skip
    (reply,), _ = await talk(streamed(sse(*(chat(tool_calls=[one]) for one in pieces))), **CHAT)
    calls = reply.tool_calls
    assert [(call.name, dict(call.arguments)) for call in calls] == [
        ("f", {}),
        ("g", {"x": 1}),
        ("h", {"y": 2}),
    ]
    # Nobody has carried them out: they were asked for, and the agent said nothing after that.
    assert [call.executed for call in calls] == [False, False, False]


async def test_pieces_without_a_number_belong_to_their_id_or_to_the_call_before(talk: Talk) -> None:
    events = [
        {"call": {"id": "1", "name": "f"}},
        {"call": {"arguments": '{"a":'}},
        {"call": {"arguments": " 1}"}},
        {"call": {"id": "2", "name": "g", "arguments": {"b": 2}}},
        {"call": {"id": "1", "result": "one"}},
        {"call": {"id": "2", "error": "no"}},
        {"text": "done"},
    ]
    (reply,), _ = await talk(streamed(sse(*events)), stream="sse", tool_calls="call", error="oops")
    assert reply.tool_calls == (ToolCall("f", {"a": 1}, "one"), ToolCall("g", {"b": 2}, error="no"))


async def test_lines_of_json_are_a_stream_too(talk: Talk) -> None:
    lines = b'{"text": "a"}\n\n{"text": "b", "over": true}\n'
    answer = Answer(pieces=(lines[:5], lines[5:]), content_type="application/x-ndjson")
    (reply,), _ = await talk(answer, stream="ndjson", ended="over")
    assert (reply.text, reply.ended) == ("ab", True)


async def test_an_event_may_have_the_whole_answer(talk: Talk) -> None:
    values = [{"messages": []}, {"messages": [], "text": "old"}, {"text": "new", "calls": [{"name": "f"}]}]
    answer = streamed(sse(*values, name="values"), sse("{}", name="end"))
    settings = {"stream": {"format": "sse", "answer": "event == 'values' && @"}, "tool_calls": "calls"}
    (reply,), _ = await talk(answer, **settings)
    assert (reply.text, reply.tool_calls) == ("new", (ToolCall("f"),))


async def test_texts_of_different_messages_are_paragraphs(talk: Talk) -> None:
    said = [{"id": "1", "delta": "Let me "}, {"id": "1", "delta": "look."}, {"id": "2", "delta": "Found."}]
    (reply,), _ = await talk(streamed(sse(*said)), stream="sse", text="{id: id, text: delta}")
    assert reply.text == "Let me look.\n\nFound."


async def test_a_packed_stream_is_unpacked_as_it_comes(talk: Talk) -> None:
    packed = gzip.compress(sse(chat(content="a" * 300_000), chat(content="b")))
    answer = streamed(packed[:50], packed[50:], headers=(("content-encoding", "gzip"),))
    (reply,), _ = await talk(answer, **CHAT)
    assert len(reply.text) == 300_001


async def test_a_letter_that_is_cut_in_two_events_is_one(talk: Talk) -> None:
    halves = (b'{"text": "\\ud83d"}', b'{"text": "\\ude00!"}')
    replies, _ = await talk(streamed(*(b"data: " + half + b"\n\n" for half in halves)), stream="sse")
    assert replies[0].text == "\N{GRINNING FACE}!"


async def test_a_long_stream_is_cut_and_says_so(talk: Talk) -> None:
    arguments = {"index": 0, "id": "c", "function": {"name": "f", "arguments": "x" * 90}}
    answer = streamed(
        *(sse(chat(content="a" * 90)) for _ in range(50)),
        *(sse(chat(tool_calls=[arguments])) for _ in range(50)),
    )
    (reply,), _ = await talk(answer, most=1000, **CHAT)
    (call,) = reply.tool_calls
    assert reply.text.startswith("a" * 900)
    assert len(reply.text) < 1100
    assert (reply.cut, call.cut) == (("text",), ("arguments",))


# What is missing


async def test_a_stream_that_reports_no_calls_says_nothing_of_tools(talk: Talk) -> None:
    replies, _ = await talk(streamed(sse(chat(content="a"))), **CHAT)
    assert replies[0].tool_calls is None
    assert "finds nothing in the events" in replies[0].gaps["tool_calls"]
    replies, _ = await talk(streamed(sse(chat(content="a"))), **CHAT, tool_calls_optional=True)
    assert replies[0].tool_calls == ()


@pytest.mark.parametrize(
    ("answer", "settings", "words"),
    [
        (streamed(sse({"a": {"b": "x"}})), {}, "`text: text` finds nothing in the 1 events of the"),
        (streamed(), {}, "the answer has no events of the format `sse`"),
        (Answer(json.dumps({"text": "hi"})), {}, "the answer has no events of the format `sse`"),
        (Answer("<html>"), {"stream": "ndjson"}, "a line of the stream is not JSON"),
        (Answer(b"busy", status=429), {}, "status 429: Too Many Requests"),
        (Answer(b"down", status=503), {}, "status 503: Service Unavailable"),
        (streamed(sse({"text": "a"}), drop=True), {}, "the stream broke off after 1 events: Remote"),
        (streamed(sse({"text": "a"}), b'data: {"text": "b'), {}, "the stream broke off within an event"),
        (streamed(sse({"text": "a"}), hang=True), {"timeout": 0.3}, "the stream did not end within 0.3 s"),
        (
            streamed(sse({"text": "a"})),
            {"stream": {"format": "sse", "done": "type == 'end'"}},
            "the stream broke off: it ended after 1 events",
        ),
        (
            streamed(sse({"text": "a"})),
            {"stream": {"format": "sse", "answer": "whole"}},
            "the stream broke off: `stream.answer` finds nothing",
        ),
        (streamed(sse({"message": "too busy"}, name="error")), {}, "the service reports an error: too busy"),
        (streamed(sse({"type": "error", "error": {"message": "overloaded"}})), {}, "error: overloaded"),
        (streamed(sse({"error": {"message": "rate limit"}})), {}, "the service reports an error: rate limit"),
        (streamed(sse({"oops": "no"})), {"error": "oops"}, "the service reports an error: no"),
        (streamed(sse({"text": 3})), {}, "`text: text` finds a number"),
        (streamed(sse({"text": "", "c": "f"})), {"tool_calls": "c"}, "`tool_calls` finds a str in an event"),
    ],
)  # fmt: skip
async def test_what_is_wrong_with_a_stream_is_an_error(
    talk: Talk, answer: Answer, settings: dict[str, Any], words: str
) -> None:
    _, (error, _) = await talk(answer, **{"stream": "sse", **settings})
    assert words in str(error)


async def test_a_stream_that_breaks_off_keeps_its_calls_and_usage(talk: Talk) -> None:
    call = {"index": 0, "id": "c", "function": {"name": "pay", "arguments": "{}"}}
    usage = {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 4}}
    _, (_, conversation) = await talk(streamed(sse(chat(tool_calls=[call]), usage), drop=True), **CHAT)
    assert conversation.calls_so_far() == (ToolCall("pay", {}),)
    assert conversation.usage_so_far() == Usage(3, 4)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"stream": {"answer": "a["}}, "target.stream.answer: `a[` is not a JMESPath expression"),
        ({"stream": {"done": "a["}}, "target.stream.done: "),
        ({"error": "a["}, "target.error: "),
        ({"carry": {"x": "a["}}, "target.carry.x: "),
    ],
)
def test_paths_that_cannot_be_read(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(SettingsError) as caught:
        HttpAgent(HttpTarget(url="http://host/chat", **settings))
    assert words in str(caught.value)
