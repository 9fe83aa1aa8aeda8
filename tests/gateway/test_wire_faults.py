"""What faults do to an agent's calls of models: the answers that come instead, in each protocol."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_convoprobe.faults.model_plan import ModelFaultPlan
from pytest_convoprobe.faults.rules import FaultRule
from pytest_convoprobe.gateway.exchange import Answered, Asked
from pytest_convoprobe.gateway.port import Injection
from pytest_convoprobe.gateway.wire_faults import PlannedFaults
from pytest_convoprobe.llm.protocols.reading import protocol_of, read_answer

PATHS = ("v1/chat/completions", "chat/completions", "responses", "v1/messages", "embeddings")


def faults(*rules: dict[str, Any]) -> PlannedFaults:
    return PlannedFaults(ModelFaultPlan(map(FaultRule.model_validate, rules), "a", 1))


def struck(path: str, kind: str, *, stream: bool = False, **keys: Any) -> Injection:
    body = json.dumps({"model": "gpt", "stream": stream}).encode()
    injection = faults({"model": "gpt", "kind": kind, **keys}).strike(Asked("POST", path, body))
    assert injection is not None
    return injection


def answer(injection: Injection) -> Answered:
    assert injection.answer is not None
    return injection.answer


@pytest.mark.parametrize("path", PATHS)
def test_a_refusal_has_the_status_and_the_shape_of_the_protocol(path: str) -> None:
    limited = answer(struck(path, "rate_limit", seconds=1.2))
    assert (limited.status, limited.headers["retry-after"]) == (429, "2")
    failed = answer(struck(path, "error", message="out of order"))
    assert (failed.status, "retry-after" in failed.headers) == (500, False)
    for given, words in ((limited, "Rate limit reached for requests"), (failed, "out of order")):
        data = json.loads(given.body)
        assert data["error"]["message"] == words
        assert (data.get("type") == "error") is path.endswith("messages")


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("path", PATHS)
def test_an_empty_answer_is_a_whole_one_that_says_nothing(path: str, stream: bool) -> None:
    given = answer(struck(path, "empty", stream=stream))
    read = read_answer(protocol_of(path), given.content_type, given.body)
    assert (given.status, read.complete, read.text, read.tool_requests, read.error) == (
        200,
        True,
        "",
        (),
        None,
    )
    assert (given.content_type == "text/event-stream") is (stream and path != "embeddings")


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("path", PATHS)
def test_a_corrupted_answer_cannot_be_read(path: str, stream: bool) -> None:
    given = answer(struck(path, "corrupted", stream=stream))
    assert given.status == 200
    text = given.body.decode().rpartition("data: ")[2] if stream else given.body.decode()
    with pytest.raises(json.JSONDecodeError):
        json.loads(text)


@pytest.mark.parametrize(
    ("kind", "keys", "expected"),
    [
        ("timeout", {}, {"closes": True}),
        ("timeout", {"seconds": 2}, {"closes": True, "delay": 2}),
        ("delay", {"seconds": 3}, {"delay": 3}),
        ("truncated", {}, {"cut": True}),
    ],
)
def test_other_kinds_change_how_the_answer_comes(
    kind: str, keys: dict[str, Any], expected: dict[str, Any]
) -> None:
    injection = struck("responses", kind, **keys)
    assert injection == Injection(injection.words, **expected)
    assert injection.words in ("no answer", "delayed by 3 s", "answer cut off")


def test_only_what_a_model_answers_is_a_call() -> None:
    one = faults({"model": "*", "kind": "error", "call": 1})
    body = b'{"model": "gpt"}'
    for asked in (Asked("GET", "models"), Asked("POST", "v1/messages/count_tokens", body)):
        assert one.strike(asked) is None
    assert one.strike(Asked("POST", "v1/messages", body)) is not None
    assert one.strike(Asked("POST", "v1/messages", body)) is None


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"model": 7}', b"\xff"])
def test_a_body_that_cannot_be_read_is_of_no_named_model(body: bytes) -> None:
    rules = {"model": "gpt*", "kind": "error"}, {"model": "*", "kind": "empty"}
    assert (faults(*rules).strike(Asked("POST", "chat/completions", body)) or Injection("")).words != ""
    assert faults(rules[0]).strike(Asked("POST", "chat/completions", body)) is None
