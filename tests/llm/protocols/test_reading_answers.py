"""What is read of the answers of each protocol, plain and streamed."""

from __future__ import annotations

import pytest

from pytest_convoprobe.llm.port import ToolRequest
from pytest_convoprobe.llm.protocols import AnswerError, ModelAnswer, ModelProtocol, TokenCounts, read_answer

from .bodies import body, chunk, sse

CHAT, RESPONSES, MESSAGES = ModelProtocol.CHAT, ModelProtocol.RESPONSES, ModelProtocol.MESSAGES
CHAT_USAGE = {
    "prompt_tokens": 9,
    "completion_tokens": 4,
    "prompt_tokens_details": {"cached_tokens": 3},
    "completion_tokens_details": {"reasoning_tokens": 2},
}


def streamed(protocol: ModelProtocol, given: bytes) -> ModelAnswer:
    return read_answer(protocol, "text/event-stream; charset=utf-8", given)


def plain(protocol: ModelProtocol, data: object) -> ModelAnswer:
    return read_answer(protocol, "application/json", body(data))


def test_a_chat_completion() -> None:
    call = {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": '{"id": 7}'}}
    message = {"role": "assistant", "content": "I look.", "tool_calls": [call]}
    read = plain(
        CHAT,
        {
            "id": "chatcmpl-1",
            "model": "gpt-x",
            "choices": [{"message": message, "finish_reason": "tool_calls"}],
            "usage": CHAT_USAGE,
        },
    )

    assert read == ModelAnswer(
        "I look.",
        (ToolRequest("call_1", "look", '{"id": 7}'),),
        TokenCounts(9, 4, cached=3, reasoning=2),
        "tool_calls",
        "gpt-x",
        response_id="chatcmpl-1",
    )


def test_a_streamed_chat_with_parallel_calls_and_its_usage_at_the_end() -> None:
    def call(index: int, arguments: str, **more: str) -> dict[str, object]:
        function = {"arguments": arguments, **({"name": more["name"]} if "name" in more else {})}
        return {"index": index, "function": function, **({"id": more["id"]} if "id" in more else {})}

    read = streamed(
        CHAT,
        sse(
            chunk({"role": "assistant", "content": "I "}),
            chunk({"content": "look."}),
            chunk({"tool_calls": [call(0, "", id="c1", name="look")]}),
            chunk({"tool_calls": [call(1, '{"b"', id="c2", name="send")]}),
            chunk({"tool_calls": [call(0, '{"a": 1}'), call(1, ": 2}")]}),
            chunk({}, "tool_calls"),
            {"id": "chatcmpl-1", "choices": [], "usage": CHAT_USAGE},
            done=True,
        ),
    )

    assert read.text == "I look."
    assert read.finish_reason == "tool_calls"
    assert read.complete
    assert read.tool_requests == (
        ToolRequest("c1", "look", '{"a": 1}'),
        ToolRequest("c2", "send", '{"b": 2}'),
    )
    assert read.usage == TokenCounts(9, 4, cached=3, reasoning=2)


def test_a_stream_without_its_end_is_incomplete() -> None:
    read = streamed(CHAT, sse(chunk({"content": "I "})))

    assert read.text == "I "
    assert not read.complete
    assert read.usage is None


def test_a_refusal_is_the_text() -> None:
    read = plain(CHAT, {"choices": [{"message": {"content": None, "refusal": "I can't."}}]})

    assert read.text == read.refusal == "I can't."


ITEMS = [
    {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}]},
    {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "look", "arguments": "{}"},
    {"type": "message", "content": [{"type": "output_text", "text": "I look."}]},
]
RESPONSE = {
    "id": "resp_1",
    "model": "gpt-x",
    "status": "completed",
    "output": ITEMS,
    "usage": {
        "input_tokens": 9,
        "output_tokens": 4,
        "input_tokens_details": {"cached_tokens": 3},
        "output_tokens_details": {"reasoning_tokens": 2},
    },
}
READ_RESPONSE = ModelAnswer(
    "I look.",
    (ToolRequest("c1", "look", "{}"),),
    TokenCounts(9, 4, cached=3, reasoning=2),
    "completed",
    "gpt-x",
    response_id="resp_1",
    thoughts="hm",
)


def test_a_response() -> None:
    assert plain(RESPONSES, RESPONSE) == READ_RESPONSE


@pytest.mark.parametrize("last", [RESPONSE, {**RESPONSE, "output": []}])
def test_a_streamed_response(last: dict[str, object]) -> None:
    done = [{"type": "response.output_item.done", "item": item} for item in ITEMS]
    delta = {"type": "response.output_text.delta", "delta": "I look."}
    events = sse({"type": "response.created"}, delta, *done, {"type": "response.completed", "response": last})

    assert streamed(RESPONSES, events) == READ_RESPONSE


def test_a_response_that_broke_off() -> None:
    begun = {"type": "response.created", "response": {"id": "resp_1", "status": "in_progress"}}
    read = streamed(RESPONSES, sse(begun, {"type": "response.output_text.delta", "delta": "I lo"}))

    assert read.text == "I lo"
    assert read.response_id == "resp_1"
    assert not read.complete


BLOCKS = [
    {"type": "thinking", "thinking": "hm"},
    {"type": "text", "text": "I look."},
    {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"id": 7}},
]
MESSAGE_USAGE = {
    "input_tokens": 4,
    "cache_read_input_tokens": 3,
    "cache_creation_input_tokens": 2,
    "output_tokens": 5,
}
READ_MESSAGE = ModelAnswer(
    "I look.",
    (ToolRequest("toolu_1", "look", '{"id": 7}'),),
    TokenCounts(9, 5, cached=3, cache_written=2),
    "tool_use",
    "claude-x",
    response_id="msg_1",
    thoughts="hm",
)


def test_a_message_counts_what_its_cache_had_to_the_prompt() -> None:
    message = {"id": "msg_1", "model": "claude-x", "stop_reason": "tool_use"}

    assert plain(MESSAGES, {**message, "content": BLOCKS, "usage": MESSAGE_USAGE}) == READ_MESSAGE


def test_a_streamed_message() -> None:
    def block(index: int, start: dict[str, object], *deltas: dict[str, str]) -> list[dict[str, object]]:
        return [
            {"type": "content_block_start", "index": index, "content_block": start},
            *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
            {"type": "content_block_stop", "index": index},
        ]

    begun = {"id": "msg_1", "model": "claude-x", "usage": {**MESSAGE_USAGE, "output_tokens": 1}}
    call = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}
    read = streamed(
        MESSAGES,
        sse(
            {"type": "message_start", "message": begun},
            *block(0, {"type": "thinking", "thinking": ""}, {"type": "thinking_delta", "thinking": "hm"}),
            {"type": "ping"},
            *block(1, {"type": "text", "text": ""}, {"text": "I "}, {"text": "look."}),
            *block(2, call, {"partial_json": '{"id"'}, {"partial_json": ": 7}"}),
            {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 5}},
            {"type": "message_stop"},
        ),
    )

    assert read == READ_MESSAGE


@pytest.mark.parametrize(
    "protocol", [CHAT, RESPONSES, MESSAGES, ModelProtocol.EMBEDDINGS, ModelProtocol.UNKNOWN]
)
def test_an_error_is_read_in_every_protocol(protocol: ModelProtocol) -> None:
    read = plain(protocol, {"error": {"message": "too many", "type": "rate_limit", "code": 429}})

    assert read.error == AnswerError("too many", "rate_limit", "429")


def test_an_error_in_the_middle_of_a_stream() -> None:
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}

    assert streamed(MESSAGES, sse(error)).error == AnswerError("busy", "overloaded_error")
    assert streamed(CHAT, sse(chunk({"content": "a"}), {"error": {"message": "busy"}})).error == AnswerError(
        "busy"
    )
    assert streamed(RESPONSES, sse({"type": "error", "code": "x", "message": "busy"})).error == AnswerError(
        "busy", "", "x"
    )


@pytest.mark.parametrize("count", [-1, 10**12, "9", 1.5, True])
def test_an_impossible_count_is_no_usage(count: object) -> None:
    usage = {"prompt_tokens": count, "completion_tokens": 4, "input_tokens": count, "output_tokens": 4}

    assert plain(CHAT, {"choices": [], "usage": usage}).usage is None
    assert plain(RESPONSES, {"output": [], "usage": usage}).usage is None
    assert plain(MESSAGES, {"content": [], "usage": usage}).usage is None


def test_embeddings_have_usage_and_no_text() -> None:
    usage = {"prompt_tokens": 9, "total_tokens": 9}
    read = plain(ModelProtocol.EMBEDDINGS, {"model": "e", "data": [{"embedding": [0.1]}], "usage": usage})

    assert read == ModelAnswer(usage=TokenCounts(9), model="e")


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_a_stream_may_end_its_lines_in_other_ways(end: str) -> None:
    given = sse(chunk({"content": "I look."}, "stop"), done=True).decode().replace("\n", end).encode()

    assert streamed(CHAT, given).text == "I look."


def test_comments_of_a_stream_are_left_out() -> None:
    assert streamed(CHAT, b": wait\n\n" + sse(chunk({"content": "Yes"}, "stop"))).text == "Yes"
