"""`structured_output: auto`: the first call with a schema shows whether schemas are taken and obeyed."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from pydantic import BaseModel

from pytest_convoprobe.errors import LLMRejected, LLMUnavailable
from pytest_convoprobe.llm.port import LLMReply, LLMRequest
from pytest_convoprobe.llm.schema import strict_schema
from pytest_convoprobe.llm.schema_probe import SchemaUse, use_shown_by
from pytest_convoprobe.llm.structured import ask
from pytest_convoprobe.redaction import Redactor
from tests.support.chat_server import ChatServer, Fault

from .adapters import LANES, Adapter
from .requests import request, settings


class Word(BaseModel):
    word: str
    count: int | None = None


SCHEMA = strict_schema(Word)
GOOD = '{"word": "ready", "count": null}'


@pytest.fixture(params=LANES.values(), ids=list(LANES))
async def llm(request: pytest.FixtureRequest) -> AsyncIterator[Adapter]:
    adapter = request.param(Redactor(environ={}))
    yield adapter
    await adapter.aclose()


def to(server: ChatServer, **fields: Any) -> LLMRequest:
    return request(model=settings(api_base=server.base_url, **fields), schema=SCHEMA)


def with_schema(server: ChatServer) -> list[bool]:
    return ["response_format" in body for body in server.bodies]


def bad_request(words: str, status: int = 400) -> Fault:
    return Fault("bad", status=status, body=json.dumps({"error": {"message": words}}))


@pytest.mark.parametrize("model", ["openai/fake", "hosted_vllm/fake"])
async def test_a_schema_that_is_obeyed_is_sent_each_time(llm: Adapter, model: str) -> None:
    with ChatServer(lambda _: GOOD) as server:
        for _ in range(3):
            await llm.complete(to(server, model=model))
    assert with_schema(server) == [True, True, True]
    assert llm.schema_use(to(server, model=model).model) is SchemaUse.OBEYED


async def test_a_schema_that_is_ignored_is_sent_once(llm: Adapter) -> None:
    with ChatServer(["Well, ready I am.", "It is ready: " + GOOD, GOOD]) as server:
        first = await ask(llm, to(server), Word)
        second = await ask(llm, to(server), Word)
    assert (first.word, second.word) == ("ready", "ready")
    assert with_schema(server) == [True, False, False]


@pytest.mark.parametrize(
    "refusal",
    [
        bad_request("Unsupported parameter: 'response_format' is not supported with this model."),
        bad_request("Extra inputs are not permitted"),  # no word of the parameter
        bad_request("No endpoints found that can handle the requested parameters.", status=404),
        bad_request("failed to parse grammar", status=500),
    ],
    ids=["named", "unnamed", "router", "grammar"],
)
async def test_a_schema_that_is_refused_is_sent_once(llm: Adapter, refusal: Fault) -> None:
    with ChatServer(lambda body: refusal if "response_format" in body else GOOD) as server:
        replies = [await llm.complete(to(server)) for _ in range(2)]
    assert [reply.attempts for reply in replies] == [2, 1]
    assert with_schema(server) == [True, False, False]
    assert llm.schema_use(to(server).model) is SchemaUse.REFUSED


async def test_another_fault_of_the_call_says_nothing_about_schemas(llm: Adapter) -> None:
    with ChatServer(faults=["400", "400"], answers=[GOOD]) as server:
        with pytest.raises(LLMRejected, match="Scripted 400"):
            await llm.complete(to(server))
        assert llm.schema_use(to(server).model) is None
        await llm.complete(to(server))
    assert with_schema(server) == [True, False, True]
    assert llm.schema_use(to(server).model) is SchemaUse.OBEYED


@pytest.mark.parametrize("fault", ["500", "429", "garbage", "hang", "length"])
async def test_a_fault_on_the_way_is_no_answer(llm: Adapter, fault: str) -> None:
    with ChatServer(faults=[fault], answers=[GOOD]) as server:
        with contextlib.suppress(LLMUnavailable):
            # Long enough to reach the server: otherwise the fault is that of the next call.
            await llm.complete(to(server, timeout=1 if fault == "hang" else 20))
        assert llm.schema_use(to(server).model) is None
        await llm.complete(to(server))
    assert with_schema(server) == [True, True]


async def test_calls_at_once_share_one_probe(llm: Adapter) -> None:
    with ChatServer(lambda _: GOOD, refuses=["response_format"], latency=0.02) as server:
        replies = await asyncio.gather(*(llm.complete(to(server)) for _ in range(8)))
    assert sorted(reply.attempts for reply in replies) == [1] * 7 + [2]
    assert with_schema(server).count(True) == 1


async def test_calls_that_wait_for_a_lost_probe_go_on_together(llm: Adapter) -> None:
    with ChatServer(lambda _: GOOD, faults=["500"], latency=0.3) as server:
        outcomes = await asyncio.gather(*(llm.complete(to(server)) for _ in range(4)), return_exceptions=True)
    assert sum(isinstance(outcome, LLMUnavailable) for outcome in outcomes) == 1
    assert (server.peak, with_schema(server)) == (3, [True] * 4)


async def test_a_cancelled_probe_keeps_nobody_waiting(llm: Adapter) -> None:
    with ChatServer(lambda _: GOOD, faults=["hang"]) as server:
        first = asyncio.create_task(llm.complete(to(server)))
        while not server.requests:
            await asyncio.sleep(0.01)
        second = asyncio.create_task(llm.complete(to(server)))
        await asyncio.sleep(0)
        first.cancel()
        assert (await second).text == GOOD


async def test_each_model_and_each_server_has_its_own_probe(llm: Adapter) -> None:
    with (
        ChatServer(lambda _: GOOD, refuses=["response_format"]) as old,
        ChatServer(lambda _: GOOD) as new,
    ):
        for server, model in ((old, "openai/a"), (new, "openai/a"), (old, "openai/b"), (new, "openai/a")):
            await llm.complete(to(server, model=model))
    assert with_schema(old) == [True, False, True, False]
    assert with_schema(new) == [True, True]


async def test_a_promise_of_the_settings_is_not_taken_back_by_a_probe(llm: Adapter) -> None:
    with ChatServer(lambda _: GOOD, refuses=["response_format"]) as server:
        await llm.complete(to(server))
        with pytest.raises(LLMRejected, match="response_format"):
            await llm.complete(to(server, structured_output="schema"))


@pytest.mark.parametrize(
    ("text", "use"),
    [
        (GOOD, SchemaUse.OBEYED),
        ("<think>An object.</think>" + GOOD, SchemaUse.OBEYED),
        (f"```json\n{GOOD}\n```", SchemaUse.IGNORED),
        ('{"word": "ready"}', SchemaUse.IGNORED),
        ('{"word": "ready", "count": true}', SchemaUse.IGNORED),
        ('{"word": "ready", "count": 1, "why": "so"}', SchemaUse.IGNORED),
        ("[]", SchemaUse.IGNORED),
        ("", SchemaUse.IGNORED),
    ],
)
def test_what_a_reply_shows(text: str, use: SchemaUse) -> None:
    assert use_shown_by(LLMReply(text), SCHEMA) is use


def test_what_schemas_of_replies_contain_is_understood() -> None:
    answer = {"type": "object", "properties": {"verdict": {"enum": ["met", "not_met"]}}}
    schema = {
        "type": "object",
        "$defs": {"Answer": {**answer, "required": ["verdict"]}},
        "properties": {
            "c1": {"$ref": "#/$defs/Answer"},
            "turns": {"type": "array", "items": {"type": "integer"}},
        },
    }
    good = {"c1": {"verdict": "met"}, "turns": [1, 2]}
    assert use_shown_by(LLMReply(json.dumps(good)), schema) is SchemaUse.OBEYED
    for bad in ({"c1": {"verdict": "yes"}}, {"c1": {}}, {**good, "turns": ["1"]}):
        assert use_shown_by(LLMReply(json.dumps(bad)), schema) is SchemaUse.IGNORED
