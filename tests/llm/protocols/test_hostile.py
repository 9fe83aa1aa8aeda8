"""Whatever a body is, reading it gives an answer and no exception."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convoprobe.llm.protocols import ModelProtocol, empty_answer, error_body, read_answer, read_request

PATHS = ["chat/completions", "v1/responses", "v1/messages", "embeddings", "v1/other"]
NAMES = (
    "model messages role content type text tools tool_calls function name arguments id call_id index choices "
    "delta finish_reason usage prompt_tokens input_tokens output input instructions error message code item "
    "response status content_block system stop_reason partial_json functions response_format stream data "
    "function_call_output tool_use tool_result tool_use_id text_delta image_url user assistant tool summary "
    "message_start content_block_start content_block_delta message_delta response.completed embedding"
).split()
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(NAMES)
DATA = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=6),
    max_leaves=30,
)


@given(path=st.sampled_from(PATHS), data=DATA)
def test_no_data_stops_the_reader_of_requests(path: str, data: Any) -> None:
    read = read_request(path, json.dumps(data).encode())

    assert all(isinstance(text, str) for text in read.texts)


@given(protocol=st.sampled_from(ModelProtocol), data=DATA)
def test_no_data_stops_the_reader_of_answers(protocol: ModelProtocol, data: Any) -> None:
    assert isinstance(read_answer(protocol, "application/json", json.dumps(data).encode()).text, str)


@given(protocol=st.sampled_from(ModelProtocol), events=st.lists(DATA, max_size=8))
def test_no_event_stops_the_reader_of_streams(protocol: ModelProtocol, events: list[Any]) -> None:
    stream = "".join(f"data: {json.dumps(event)}\n\n" for event in events).encode()

    assert isinstance(read_answer(protocol, "text/event-stream", stream).text, str)


@given(path=st.sampled_from(PATHS), body=st.binary())
def test_no_bytes_stop_a_reader(path: str, body: bytes) -> None:
    read_request(path, body)
    for kind in ("application/json", "text/event-stream", ""):
        read_answer(read_request(path, body).protocol, kind, body)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "body",
    [
        b"[" * 1_000_000,
        b'{"messages":' + b"[" * 900 + b"]" * 900 + b"}",
        b'{"messages":[' + b'{"role":"user","content":"a"},' * 30_000 + b'{"role":"user"}]}',
        b'{"model": NaN, "messages": [Infinity], "input": -Infinity}',
        b'{"usage": {"prompt_tokens": ' + b"9" * 10_000 + b"}}",
        b'{"messages": [{"role": "user", "content": "\\ud800"}], "input": "\\udfff"}',
        b"\x00" * 1000,
    ],
    ids=["brackets", "deep", "many", "nan", "digits", "surrogates", "zeros"],
)
def test_huge_deep_and_odd_bodies_are_read(path: str, body: bytes) -> None:
    read = read_request(path, body)

    assert read_answer(read.protocol, "application/json", body).usage is None


@pytest.mark.parametrize("protocol", list(ModelProtocol))
@pytest.mark.parametrize("stream", [False, True])
def test_an_empty_answer_is_a_whole_one_without_text(protocol: ModelProtocol, stream: bool) -> None:
    kind, body = empty_answer(protocol, stream=stream, model="m")
    read = read_answer(protocol, kind, body)

    assert read.complete
    assert not read.error
    assert not read.text
    assert not read.tool_requests


@pytest.mark.parametrize("protocol", list(ModelProtocol))
def test_a_written_error_is_read_again(protocol: ModelProtocol) -> None:
    error = read_answer(
        protocol, "application/json", error_body(protocol, "too many", "rate_limit_error")
    ).error

    assert error is not None
    assert (error.message, error.kind) == ("too many", "rate_limit_error")
