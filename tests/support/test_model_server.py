from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from .chat_server import Completion
from .model_server import Gate, ModelRequest, ModelServer

PATHS = {"chat": "/v1/chat/completions", "responses": "/v1/responses", "messages": "/v1/messages"}
TOOL = {
    "chat": {"type": "function", "function": {"name": "lookup"}},
    "responses": {"type": "function", "name": "lookup"},
    "messages": {"name": "lookup", "input_schema": {}},
}


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    with httpx.Client(verify=False) as client:
        yield client


def body_of(protocol: str, text: str, **more: Any) -> dict[str, Any]:
    said: Any = text if protocol == "responses" else [{"role": "user", "content": text}]
    key = "input" if protocol == "responses" else "messages"
    return {"model": "fake", key: said, "tools": [TOOL[protocol]], **more}


@pytest.mark.parametrize("protocol", PATHS)
def test_it_answers_in_each_protocol_what_was_said(client: httpx.Client, protocol: str) -> None:
    with ModelServer() as server:
        answer = client.post(
            server.url + PATHS[protocol], json=body_of(protocol, "hello"), headers={"x-key": "k"}
        )
    assert answer.status_code == 200
    assert "hello" in answer.text
    [seen] = server.requests
    assert (seen.protocol, seen.said_by("user"), seen.headers["x-key"]) == (protocol, ["hello"], "k")


@pytest.mark.parametrize("protocol", PATHS)
def test_it_streams_events_and_calls_tools(client: httpx.Client, protocol: str) -> None:
    asked = body_of(protocol, 'call lookup {"order": "7"}', stream=True)
    with ModelServer() as server:
        answer = client.post(server.url + PATHS[protocol], json=asked)
    assert answer.headers["content-type"] == "text/event-stream"
    assert "lookup" in answer.text
    assert answer.text.endswith("\n\n")


def test_a_gate_holds_events_back(client: httpx.Client) -> None:
    gate = Gate()
    with ModelServer(["one two"], gate=gate) as server:
        address = server.url + PATHS["messages"]
        with client.stream("POST", address, json=body_of("messages", "x", stream=True)) as answer:
            lines = answer.iter_lines()
            gate.release(1)
            assert next(lines) == "event: message_start"
            assert server.requests[0].sent == 1
            gate.open()
            assert [line for line in lines if line.startswith("event")][-1] == "event: message_stop"


@pytest.mark.parametrize("stream", [True, False])
def test_a_cut_answer_ends_before_its_end(client: httpx.Client, stream: bool) -> None:
    with ModelServer(faults=["cut"]) as server, pytest.raises(httpx.RemoteProtocolError):
        client.post(server.url + PATHS["chat"], json=body_of("chat", "x", stream=stream))


def test_refusals_have_the_shape_of_the_protocol(client: httpx.Client) -> None:
    with ModelServer(faults=["429:3", "500"]) as server:
        limited = client.post(server.url + PATHS["messages"], json=body_of("messages", "x"))
        failed = client.post(server.url + PATHS["chat"], json=body_of("chat", "x"))
    assert (limited.headers["retry-after"], limited.json()["error"]["type"]) == ("3", "rate_limit_error")
    assert (failed.status_code, failed.json()["error"]["message"]) == (500, "Scripted 500")


def test_answers_come_in_order_and_from_functions(client: httpx.Client) -> None:
    with ModelServer(["one", Completion(None, (("lookup", {}),))]) as server:
        address = server.url + PATHS["chat"]
        said = [client.post(address, json=body_of("chat", "x")).json()["choices"][0] for _ in range(3)]
    assert [one["message"]["content"] for one in said] == ["one", None, "x"]
    assert said[1]["message"]["tool_calls"][0]["function"]["name"] == "lookup"

    def answer(request: ModelRequest) -> str:
        raise KeyError("missing")

    with ModelServer(answer) as server:
        assert "KeyError" in client.post(server.url + PATHS["chat"], json=body_of("chat", "x")).text


def test_embeddings_and_other_paths(client: httpx.Client) -> None:
    with ModelServer() as server:
        same = client.post(f"{server.url}/v1/embeddings", json={"input": ["a", "b", "a"]}).json()["data"]
        assert client.get(f"{server.url}/v1/models").json() == {"ok": "/v1/models"}
    assert same[0]["embedding"] == same[2]["embedding"] != same[1]["embedding"]
    assert server.counts == {"embeddings": 1, "other": 1}


def test_it_runs_as_a_process(client: httpx.Client) -> None:
    command = [sys.executable, "-m", "tests.support.model_server"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]
    ) as process:
        assert process.stdout is not None
        url = process.stdout.readline().split()[1]
        client.post(url + PATHS["chat"], json=body_of("chat", "hello"))
        [seen] = client.get(f"{url}/stats").json()
        process.terminate()
    assert seen["path"] == PATHS["chat"]
