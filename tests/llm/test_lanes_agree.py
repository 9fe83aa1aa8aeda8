"""What a server answers is the same reply, or the same error, in both lanes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_convoprobe import Outcome, run_scenario
from pytest_convoprobe.errors import LLMError
from pytest_convoprobe.llm.port import LLMReply
from pytest_convoprobe.llm.price_list import listed_cost, listed_price
from pytest_convoprobe.redaction import Redactor
from pytest_convoprobe.transcript import Usage
from tests.cli.live import project
from tests.support.chat_server import ChatServer, Fault

from .adapters import LANES, Adapter
from .requests import request, settings

SAID = {"role": "assistant", "content": "hi"}
CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}


def body(**fields: Any) -> str:
    choice = {"index": 0, "message": SAID, "finish_reason": "stop"}
    usage = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
    head = {"id": "x", "object": "chat.completion", "created": 1, "model": "fake"}
    return json.dumps({**head, "choices": [choice], "usage": usage, **fields})


def said(message: Any = None, **fields: Any) -> str:
    return body(choices=[{"index": 0, "message": message or SAID, "finish_reason": "stop", **fields}])


def content(text: Any, **fields: Any) -> str:
    return said({"role": "assistant", "content": text, **fields})


def called(call: Any) -> str:
    return said({"role": "assistant", "content": None, "tool_calls": [call]})


def error(**fields: Any) -> str:
    return json.dumps({"error": fields})


ANSWERS: dict[str, str] = {
    "plain": body(),
    "no text": content(None),
    "a thought in the text": content("<think>so</think>hi"),
    "a thought beside": content("hi", reasoning_content="so"),
    "a thought under another name": content("hi", reasoning="so"),
    "a refusal": content(None, refusal="I cannot"),
    "a tool call": called(CALL),
    "a tool call without an id": called({**CALL, "id": None}),
    "a tool call without arguments": called({**CALL, "function": {"name": "f", "arguments": ""}}),
    "a tool call with data": called({**CALL, "function": {"name": "f", "arguments": {"a": 1}}}),
    "no tool calls": content("hi", tool_calls=[]),
    "tool calls as text": content("hi", tool_calls="f()"),
    "a tool call without a function": called({"id": "c1", "type": "function", "function": None}),
    "cut": said(finish_reason="length"),
    "another word for cut": said(finish_reason="max_tokens"),
    "another word for the end": said(finish_reason="eos"),
    "no word for the end": said(finish_reason=None),
    "log-probabilities without tokens": said(logprobs={"content": None}),
    "several choices": body(choices=[json.loads(body())["choices"][0]] * 2),
    "no usage": body(usage=None),
    "an empty usage": body(usage={}),
    "half a usage": body(usage={"prompt_tokens": 3}),
    "a usage in texts": body(usage={"prompt_tokens": "3", "completion_tokens": 2}),
    "a usage in floats": body(usage={"prompt_tokens": 3.0, "completion_tokens": 2}),
    "a negative usage": body(usage={"prompt_tokens": -3, "completion_tokens": 2}),
    "a huge usage": body(usage={"prompt_tokens": 10**30, "completion_tokens": 2}),
    "a usage in words": body(usage={"prompt_tokens": "three", "completion_tokens": 2}),
    "half a token": body(usage={"prompt_tokens": 1.5, "completion_tokens": 2}),
    "a usage of another form": body(usage=[1, 2]),
    "an empty error beside the reply": body(error={"message": "", "code": None}),
    "an error with a status": error(message="Slow down", code=429),
    "an error with a name": error(message="Broken", code="server_error"),
    "an error with words only": error(message="Broken"),
    "no choices": body(choices=[]),
    "null for choices": body(choices=None),
    "choices of another form": body(choices={"a": 1}),
    "a choice of another form": body(choices=["hi"]),
    "no choice": body(choices=[None]),
    "no message": body(choices=[{"index": 0}]),
    "a message of another form": said("hi"),
    "a number for a text": content(5),
    "data for a text": content({"a": 1}),
    "nothing": "",
    "null": "null",
    "a list": "[]",
    "a text": '"hi"',
    "an empty object": "{}",
    "too deep": "[" * 100_000,
    "half a character": body().replace('"hi"', '"a\\ud83d"'),
}
REFUSALS: dict[str, Fault] = {
    name: Fault(name, status=status, body=text, headers=headers)
    for name, status, text, headers in (
        ("detail", 400, '{"detail": "no"}', {}),
        ("details", 422, '{"detail": [{"loc": ["body"], "msg": "no"}]}', {}),
        ("a message of its own", 400, '{"object": "error", "message": "no", "code": 400}', {}),
        ("plain text", 400, "no", {}),
        ("nothing", 400, "", {}),
        ("a page", 500, "<html>oops</html>", {}),
        ("no quota", 429, error(message="You exceeded your current quota", code="insufficient_quota"), {}),
        ("a full context by its code", 400, error(message="Too long", code="context_length_exceeded"), {}),
        ("a retry in a while", 503, error(message="busy"), {"Retry-After": "4"}),
        ("too much", 413, error(message="too much"), {}),
        ("too early", 425, error(message="early"), {}),
        ("a gateway without an answer", 504, "", {}),
        ("not implemented", 501, "", {}),
        ("an unheard-of status", 599, "", {}),
        ("not modified", 304, "", {}),
        ("moved to nowhere", 301, "", {}),
        ("no content", 204, "", {}),
        ("not packed", 200, "no gzip", {"Content-Encoding": "gzip"}),
        ("packed in a way nobody asked for", 200, "xx", {"Content-Encoding": "br"}),
        ("a stream", 200, "data: {}\n\n", {}),
    )
}


async def outcome(lane: type[Adapter], answer: Fault) -> Any:
    """The reply, or what of the error decides how a run goes on."""
    adapter = lane(Redactor(environ={}))
    try:
        with ChatServer(lambda _: answer) as server:
            model = settings(api_base=server.base_url, timeout=10)
            reply: LLMReply = await adapter.complete(request(model=model))
    except LLMError as found:
        words = found.message.partition(":")[0].partition(" (")[0]
        return type(found).__name__, found.retry_after, words[:40]
    finally:
        await adapter.aclose()
    ids = {asked.id: f"id {number}" for number, asked in enumerate(reply.tool_requests) if len(asked.id) > 9}
    asked = tuple(replace(one, id=ids.get(one.id, one.id)) for one in reply.tool_requests)
    return replace(reply, tool_requests=asked)


@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")  # LiteLLM's, about the odd answers
@pytest.mark.parametrize("name", ANSWERS)
async def test_an_answer(name: str) -> None:
    answer = Fault(name, body=ANSWERS[name])
    through_litellm, direct = [await outcome(lane, answer) for lane in LANES.values()]
    if isinstance(through_litellm, LLMReply):
        assert direct == through_litellm
    else:
        assert direct[:2] == through_litellm[:2]


@pytest.mark.parametrize("name", REFUSALS)
async def test_a_refusal(name: str) -> None:
    through_litellm, direct = [await outcome(lane, REFUSALS[name]) for lane in LANES.values()]
    assert direct[:2] == through_litellm[:2]
    # Words too, where the server's own decide; LiteLLM has words of its own for what it can't read.
    if REFUSALS[name].status >= 400:
        assert direct[2] == through_litellm[2]


MODELS = (
    "openai/gpt-4o-mini gpt-4o-mini openai/GPT-4o litellm_proxy/gpt-4o-mini hosted_vllm/gpt-4o-mini "
    "openai/ft:gpt-4o-mini-2024-07-18:acme::abc openai/gpt-5 openai/gpt-5.4 openai/o3 openai/fake "
    "anthropic/claude-sonnet-4-5 claude-sonnet-4-5 openai/claude-sonnet-4-5"
).split()


@pytest.mark.parametrize("model", MODELS)
async def test_prices_are_those_of_litellm(model: str) -> None:
    litellm = LANES["litellm"]()
    try:
        assert listed_price(model) == await litellm.price_of(settings(model=model))
    finally:
        await litellm.aclose()


def cost_by_litellm(model: str, usage: dict[str, Any], tier: str | None) -> float:
    import litellm

    response = litellm.ModelResponse(model=model, choices=[{"message": SAID}], usage=litellm.Usage(**usage))
    return float(litellm.completion_cost(response, model=model, service_tier=tier))


# LiteLLM's own, when its classes are used for the first time.
@pytest.mark.filterwarnings("ignore:.*ReadOnly:UserWarning")
@pytest.mark.parametrize("model", ["gpt-4o-mini", "gpt-5", "gpt-5.4", "o3", "claude-sonnet-4-5"])
@pytest.mark.parametrize("prompt", [1000, 250_000, 300_000])
@pytest.mark.parametrize("tier", [None, "flex", "priority", "default"])
def test_costs_are_those_of_litellm(model: str, prompt: int, tier: str | None) -> None:
    """Of cached tokens, of very long prompts, and of classes of service."""
    for cached in (0, 400):
        usage = {"prompt_tokens": prompt, "completion_tokens": 50, "total_tokens": prompt + 50}
        details = {"prompt_tokens_details": {"cached_tokens": cached}}
        cost = listed_cost(model, Usage(prompt, 50), cached=cached, tier=tier)
        assert cost == pytest.approx(cost_by_litellm(model, {**usage, **details}, tier), rel=1e-9)


async def test_the_cost_of_a_reply_is_the_same() -> None:
    usage = {"prompt_tokens": 900, "completion_tokens": 50, "total_tokens": 950}
    answer = Fault("x", body=body(usage={**usage, "prompt_tokens_details": {"cached_tokens": 512}}))
    costs = []
    for lane in LANES.values():
        adapter = lane()
        with ChatServer(lambda _: answer) as server:
            model = settings(model="openai/gpt-4o-mini", api_base=server.base_url)
            costs.append((await adapter.complete(request(model=model))).cost)
        await adapter.aclose()
    assert costs == [pytest.approx(388 * 1.5e-7 + 512 * 7.5e-8 + 50 * 6e-7)] * 2


@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")  # LiteLLM's, about a cost of parts
@pytest.mark.parametrize(
    ("said", "header", "cost"),
    [
        (0.5, "", 0.5),
        (0, "", 0.0),
        ({"total_cost": 0.1}, "", 0.1),
        (0.5, "0.25", 0.25),
        (None, "0.25", 0.25),
        ("0.5", "much", None),
        (-1, "-1", None),
        (True, "nan", None),
    ],
)
async def test_a_cost_that_the_server_reports_is_the_cost(said: Any, header: str, cost: float | None) -> None:
    usage = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3, "cost": said}
    answer = Fault("x", body=body(usage=usage), headers={"x-litellm-response-cost": header} if header else {})
    for lane in LANES.values():
        assert (await outcome(lane, answer)).cost == cost


def test_a_recording_of_one_lane_is_that_of_the_other(tmp_path: Path) -> None:
    """Byte for byte, and each is replayed in the other lane with no server."""
    texts, fixed = [], {"run.now": "2030-01-01T12:00:00+00:00"}
    for lane, other in (("litellm", "direct"), ("direct", "litellm")):
        (tmp_path / lane).mkdir()
        with ChatServer() as server:
            file = project(tmp_path / lane, server.base_url)
            recorded = run_scenario(file, settings={**fixed, "run.replay": "record", "llm.client": lane})
        [recording] = (tmp_path / lane / "scenarios" / "_recordings").rglob("*.json")
        texts.append(recording.read_bytes())
        replayed = run_scenario(file, settings={**fixed, "run.replay": "only", "llm.client": other})
        assert (recorded.outcome, replayed.outcome) == (Outcome.PASSED, Outcome.PASSED)
        assert replayed.transcript.turns[-1].user == recorded.transcript.turns[-1].user
    assert texts[0] == texts[1]
