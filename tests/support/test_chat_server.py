from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from .chat_server import ChatServer, Completion

HELLO = {"model": "fake", "messages": [{"role": "user", "content": "hello"}]}


CLIENT = httpx.Client(verify=False)  # making one for each call costs more than the call


@pytest.fixture(scope="module", autouse=True)
def _closed() -> Iterator[None]:
    yield
    CLIENT.close()


def post(server: ChatServer, body: dict[str, Any] | None = None) -> httpx.Response:
    headers = {"authorization": "Bearer sk-test"}
    return CLIENT.post(f"{server.base_url}/chat/completions", json=body or HELLO, headers=headers)


def said(response: httpx.Response) -> str:
    return str(response.json()["choices"][0]["message"]["content"])


def test_default_answer_repeats_the_message(chat_server: ChatServer) -> None:
    assert said(post(chat_server)) == "Answer 1 to: hello"


def test_a_list_answers_in_order_and_then_the_rules_do() -> None:
    with ChatServer(["one", {"two": 2}]) as server:
        assert [said(post(server)) for _ in range(3)] == ["one", '{"two": 2}', "Answer 1 to: hello"]


def test_a_function_that_raises_reaches_the_client() -> None:
    def answer(body: dict[str, Any]) -> str:
        raise KeyError("missing")

    with ChatServer(answer) as server:
        assert "KeyError('missing')" in post(server).text


def test_it_records_what_came_in(chat_server: ChatServer) -> None:
    post(chat_server)
    [request] = chat_server.requests
    assert (request.body, request.headers["authorization"], request.prompt) == (
        HELLO,
        "Bearer sk-test",
        "hello",
    )
    assert request.finished is not None


def test_the_script_of_faults_is_followed() -> None:
    with ChatServer(faults=["429:3", None, "503"]) as server:
        first, second, third, fourth = (post(server) for _ in range(4))
    assert (first.status_code, first.headers["retry-after"]) == (429, "3")
    assert [r.status_code for r in (second, third, fourth)] == [200, 503, 200]
    assert server.stats()["faults"] == {"429:3": 1, "503": 1}


def test_retry_after_may_be_a_date() -> None:
    with ChatServer(faults=["429-date:60"]) as server:
        assert post(server).headers["retry-after"].endswith("GMT")


def test_faults_come_at_their_rates() -> None:
    with ChatServer(rates={"429": 0.2, "500": 0.1}, seed=3) as server:
        codes = [post(server).status_code for _ in range(200)]
    assert 20 <= codes.count(429) <= 60
    assert 8 <= codes.count(500) <= 35


def test_a_refused_parameter_is_named() -> None:
    with ChatServer(refuses=["temperature"]) as server:
        response = post(server, {**HELLO, "temperature": 0})
        assert response.status_code == 400
        assert "temperature" in response.json()["error"]["message"]
        assert post(server).status_code == 200


def test_the_key_is_echoed_by_a_401() -> None:
    with ChatServer(faults=["401"]) as server:
        assert "sk-test" in post(server).text


@pytest.mark.parametrize("name", ["close", "hang"])
def test_answers_that_break_off(name: str) -> None:
    with ChatServer(faults=[name]) as server, pytest.raises(httpx.HTTPError):
        httpx.post(f"{server.base_url}/chat/completions", json=HELLO, timeout=0.2)


def test_an_endless_answer_outlives_a_read_timeout() -> None:
    with (
        ChatServer(faults=["endless"]) as server,
        httpx.stream("POST", f"{server.base_url}/chat/completions", json=HELLO, timeout=0.2) as response,
    ):
        pieces = response.iter_raw()
        assert [next(pieces) for _ in range(20)]


def test_the_peak_counts_requests_at_once() -> None:
    with ChatServer(latency=0.2) as server, ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: post(server), range(4)))
    assert server.peak == 4


def test_tool_calls_on_demand(chat_server: ChatServer) -> None:
    tool = {"type": "function", "function": {"name": "look_up", "parameters": {}}}
    message = {"role": "user", "content": 'please call look_up {"order": 7}'}
    choice = post(chat_server, {"model": "fake", "messages": [message], "tools": [tool]}).json()["choices"][0]
    assert choice["finish_reason"] == "tool_calls"
    assert choice["message"]["tool_calls"][0]["function"] == {"name": "look_up", "arguments": '{"order": 7}'}


def test_a_completion_carries_reasoning_and_usage() -> None:
    with ChatServer([Completion("hi", reasoning="hm", completion_tokens=9)]) as server:
        body = post(server).json()
    assert body["choices"][0]["message"]["reasoning_content"] == "hm"
    assert body["usage"]["total_tokens"] == 19


def test_a_schema_is_filled_in_for_each_criterion(chat_server: ChatServer) -> None:
    item = {"type": "object", "properties": {"verdict": {"enum": ["not_met", "met", "cannot_tell"]}}}
    answers = {name: {"$ref": "#/$defs/Item"} for name in ("c1", "c2")}
    schema = {"type": "object", "properties": answers, "$defs": {"Item": item}}
    wanted = {"type": "json_schema", "json_schema": {"name": "verdict", "schema": schema}}
    message = {"role": "user", "content": "[c1] is it kind? [c2] is it short?"}
    reply = json.loads(said(post(chat_server, {"messages": [message], "response_format": wanted})))
    assert reply == {"c1": {"verdict": "met"}, "c2": {"verdict": "met"}}
