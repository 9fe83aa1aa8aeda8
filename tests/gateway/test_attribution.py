from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from pytest_convoprobe.errors import ModelCallRefused
from pytest_convoprobe.gateway.attribution import SeenTexts, TurnInFlight, claim_of
from pytest_convoprobe.gateway.exchange import Answered, Asked
from pytest_convoprobe.gateway.server import Gateway
from pytest_convoprobe.gateway.texts import RequestTexts
from tests.support.chat_server import Completion
from tests.support.model_server import ModelServer

from .talking import chat, post, talking, to


@dataclass
class Talk:
    in_flight: TurnInFlight | None
    seen: SeenTexts = field(default_factory=SeenTexts)


def talk(message: str, *earlier: tuple[str, str]) -> Talk:
    return Talk(TurnInFlight(len(earlier) + 1, message, earlier))


def owner(body: Any, talks: Sequence[Talk]) -> int | None:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    request = RequestTexts(Asked("POST", "chat/completions", raw))
    found, back = claim_of(request, talks), claim_of(request, talks[::-1])
    # The order in which conversations began changes nothing.
    assert back == (None if found is None else (len(talks) - 1 - found[0], found[1]))
    return None if found is None else found[0]


def messages(*pairs: tuple[str, str]) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": role, "content": text} for role, text in pairs]}


SAID = 'Where is "my" order\n  No. 7, ä?'


@pytest.mark.parametrize(
    "body",
    [
        messages(("user", SAID)),
        messages(("system", "be nice"), ("user", f"<question>{SAID}</question> Answer in JSON.")),
        {"input": SAID},
        {"input": [{"role": "user", "content": [{"type": "input_text", "text": SAID}]}]},
        {"system": "x", "messages": [{"role": "user", "content": [{"type": "text", "text": f" {SAID} "}]}]},
        {"input": [SAID], "model": "embedding"},
        messages(("user", json.dumps({"question": SAID}))),
        messages(("user", json.dumps({"question": SAID}, ensure_ascii=False))),
        messages(("user", json.dumps([json.dumps({"question": SAID})]))),
        messages(("user", repr({"question": SAID}))),
        messages(("user", 'Where is "my" order No. 7, ä?')),
        {"contents": [{"role": "user", "parts": [{"text": SAID}]}]},
        f"prompt={SAID}".encode(),
    ],
)
def test_the_message_is_found_however_an_agent_writes_it(body: Any) -> None:
    assert owner(body, [talk("another one"), talk(SAID)]) == 1


@pytest.mark.parametrize(
    "body",
    [
        messages(("user", "summarise the day")),
        messages(("system", "yes"), ("user", "nothing of it")),
        {"model": SAID, "messages": []},
        {"messages": [], "tools": [{"function": {"name": "f", "description": SAID}}]},
        b"",
        b"\xff\xfe",
        b"[" * 100_000,
        messages(("user", "Where is my order")),
    ],
)
def test_without_the_message_nobody_is_guessed(body: Any) -> None:
    assert owner(body, [talk(SAID)]) is None


def test_a_conversation_between_two_turns_has_no_calls() -> None:
    assert owner(messages(("user", SAID)), [Talk(None)]) is None


def test_of_two_messages_the_whole_one_counts() -> None:
    talks = [talk("refund"), talk("I want a refund")]
    assert owner(messages(("user", "I want a refund")), talks) == 1
    assert owner(messages(("user", "refund")), talks) == 0
    assert owner(messages(("system", "Handle each refund well"), ("user", "Q: I want a refund")), talks) == 1


@pytest.mark.parametrize("asked", [False, True])
def test_an_earlier_message_of_one_is_the_present_one_of_another(asked: bool) -> None:
    """Trials of one scenario open alike, and are at different turns."""
    first, second = talk("I want a refund"), talk("yes", ("I want a refund", "Of order 7?"))
    history = [("user", "I want a refund"), ("assistant", "Of order 7?"), ("user", "yes")]
    later = messages(*history) if asked else messages(("user", json.dumps(history)))
    assert owner(later, [first, second]) == 1
    system = ("system", "Answer yes or no.")
    assert owner(messages(system, ("user", "I want a refund")), [first, second]) == 0


def test_a_short_message_is_no_part_of_a_word() -> None:
    talks = [talk("no"), talk("I know nothing of the north")]
    assert owner(messages(("user", "I know nothing of the north")), talks) == 1
    assert owner(messages(("user", "another thing, nothing known")), talks) is None


def answered(*, text: str = "", call: str = "", arguments: str = "{}", stream: bool = False) -> Answered:
    if not stream:
        asked = {"id": call, "function": {"name": "f", "arguments": arguments}}
        message = {"content": text, "tool_calls": [asked]}
        body = json.dumps({"id": "chatcmpl-1", "choices": [{"message": message}]}).encode()
        return Answered(200, body, {"content-type": "application/json"})
    pieces = [text[at : at + 3] for at in range(0, len(text), 3)]
    events = [{"choices": [{"index": 0, "delta": {"content": piece}}]} for piece in pieces]
    lines = [f"data: {json.dumps(event)}\n\n".encode() for event in events]
    return Answered(200, b"".join([*lines, b"data: [DONE]\n\n"]), {"content-type": "text/event-stream"})


def test_ids_count_more_than_a_message_that_happens_to_be_there() -> None:
    talks = [talk("fine"), talk("weather in Rome please")]
    talks[1].seen.learn(answered(call="call_0123456789"))
    follow_up = {"input": [{"type": "function_call_output", "call_id": "call_0123456789", "output": "fine"}]}
    assert owner(follow_up, talks) == 1


def test_ids_that_several_have_seen_say_nothing() -> None:
    talks = [talk("one"), talk("two")]
    for one in talks:
        one.seen.learn(answered(call="call_0123456789"))
    follow_up = {"input": [{"type": "function_call_output", "call_id": "call_0123456789", "output": ""}]}
    assert owner(follow_up, talks) is None


def test_ids_of_orders_are_no_ids_of_calls() -> None:
    talks = [talk("one"), talk("where is order 0123456789ABC")]
    talks[0].seen.learn(answered(call="x", arguments='{"id": "0123456789ABC"}'))
    assert owner(messages(("user", "where is order 0123456789ABC")), talks) == 1


@pytest.mark.parametrize("stream", [False, True])
def test_an_agent_goes_on_with_what_its_model_has_written(stream: bool) -> None:
    talks = [talk("hm"), talk("and there?")]
    talks[1].seen.learn(answered(text="weather in Rome on Sunday", stream=stream))
    assert owner({"input": "weather in Rome on Sunday"}, talks) == 1


def test_the_input_of_an_agent_that_is_a_tool() -> None:
    talks = [talk("hm"), talk("and there?")]
    talks[1].seen.learn(answered(arguments='{"task": "look up the weather in Rome"}'))
    assert owner(messages(("user", "look up the weather in Rome")), talks) == 1


def test_what_a_model_wrote_in_an_earlier_turn_is_forgotten() -> None:
    seen = SeenTexts()
    seen.learn(answered(text="weather in Rome on Sunday"))
    seen.new_turn()
    talks = [Talk(TurnInFlight(2, "thanks"), seen), talk("and there?")]
    talks[1].seen.learn(answered(text="weather in Rome on Sunday"))
    assert owner({"input": "weather in Rome on Sunday"}, talks) == 1


# At the gateway


async def test_equal_messages_are_answered_one_after_another(gateway: Gateway, provider: ModelServer) -> None:
    """Sixteen trials of one scenario at once: each gets its own calls, without an address of its own."""
    under_way: list[int] = []

    async def trial(number: int) -> list[bytes]:
        async with gateway.conversation(to(provider)) as conversation:
            async with gateway.turn(conversation, TurnInFlight(1, "hello \n there")):
                under_way.append(number)
                _, _, answer = await post(
                    f"{gateway.url}/chat/completions", chat("hello there", user=f"{number}")
                )
                assert under_way[-1] == number
            earlier = (("hello \n there", answer["choices"][0]["message"]["content"]),)
            async with gateway.turn(conversation, TurnInFlight(2, f"more {number}", earlier)):
                await post(f"{gateway.url}/chat/completions", chat(f"more {number}", user=f"{number}"))
            return [json.loads(call.asked.body)["user"] for call in conversation.calls]

    found = await asyncio.gather(*map(trial, range(16)))
    assert found == [[f"{number}"] * 2 for number in range(16)]
    assert under_way == list(range(16))  # in the order in which they came


async def test_with_addresses_of_their_own_they_are_answered_at_once(
    gateway: Gateway, provider: ModelServer
) -> None:
    both = asyncio.Barrier(2) if hasattr(asyncio, "Barrier") else None

    async def trial(number: int) -> None:
        async with talking(gateway, to(provider), "hello") as conversation:
            if both is not None:
                await both.wait()  # never ends where one waits for the other
            await post(f"{conversation.url}/chat/completions", chat("hello", user=f"{number}"))
            assert [json.loads(call.asked.body)["user"] for call in conversation.calls] == [f"{number}"]

    await asyncio.wait_for(asyncio.gather(trial(1), trial(2)), 10)


async def test_equal_messages_with_own_addresses_are_not_guessed(
    gateway: Gateway, provider: ModelServer
) -> None:
    async with talking(gateway, to(provider)) as one, talking(gateway, to(provider)) as two:
        status, _, _ = await post(f"{gateway.url}/chat/completions", chat("hello"))
    assert status == 400
    assert one.calls == two.calls == ()


@pytest.mark.parametrize("path", ["chat/completions", "v1/messages", "models"])
async def test_a_call_of_nobody_is_refused_and_ends_every_conversation_as_an_error(
    gateway: Gateway, provider: ModelServer, path: str
) -> None:
    async with (
        talking(gateway, to(provider), "one", own=False) as one,
        talking(gateway, to(provider), "two") as two,
    ):
        status, headers, answer = await post(f"{gateway.url}/{path}", chat("summarise the day"))
    assert (status, headers["x-should-retry"]) == (400, "false")
    assert "belongs to no conversation" in answer["error"]["message"]
    assert "context.model_url" in answer["error"]["message"]
    for conversation in (one, two):
        assert isinstance(conversation.problem, ModelCallRefused)
        assert f"`POST {path}`" in str(conversation.problem)
        assert conversation.calls == ()
    assert one.problem is not two.problem  # each has a traceback of its own
    assert not provider.requests


async def test_a_call_before_any_conversation_is_not_lost(gateway: Gateway, provider: ModelServer) -> None:
    status, _, _ = await post(f"{gateway.url}/chat/completions", chat("at import"))
    assert status == 400
    for _ in range(2):  # the agent may be another one for good
        async with talking(gateway, to(provider)) as conversation:
            assert "belongs to no conversation" in str(conversation.problem)


async def test_a_follow_up_with_ids_alone(gateway: Gateway) -> None:
    with ModelServer([Completion(None, (("lookup", {"order": "7"}),)), "on its way"]) as provider:
        async with (
            talking(gateway, to(provider), "where is it?", own=False) as conversation,
            talking(gateway, to(provider), "another", own=False) as other,
        ):
            tools = [{"type": "function", "function": {"name": "lookup", "parameters": {"type": "object"}}}]
            _, _, answer = await post(f"{gateway.url}/chat/completions", chat("where is it?", tools=tools))
            message = answer["choices"][0]["message"]
            result = {"role": "tool", "tool_call_id": message["tool_calls"][0]["id"], "content": "another"}
            await post(f"{gateway.url}/chat/completions", {"model": "m", "messages": [message, result]})
    assert len(conversation.calls) == 2
    assert other.calls == ()


async def test_a_large_request_is_attributed_too(gateway: Gateway, provider: ModelServer) -> None:
    async with talking(gateway, to(provider), "what is in it?", own=False) as conversation:
        await post(f"{gateway.url}/chat/completions", chat("x " * 300_000 + "what is in it?"))
    assert len(conversation.calls) == 1


def greeting(*before: str) -> Talk:
    return Talk(TurnInFlight(0, "", tuple((text, "") for text in before)))


def test_a_greeting_has_the_call_without_a_message_of_the_user() -> None:
    assert owner(messages(("system", "You greet.")), [talk("hello there"), greeting()]) == 1
    assert owner({"instructions": "You greet.", "input": []}, [greeting()]) == 0
    said = messages(("system", "You greet."), ("user", "Where is it?"))
    assert owner(said, [greeting("Where is it?")]) == 0


@pytest.mark.parametrize(
    "body",
    [
        messages(("user", "summarise the day")),
        b"",
        b"\xff\xfe",
        {"messages": [{"role": "user", "content": "x"}]},
    ],
)
def test_what_somebody_else_asks_is_no_greeting(body: Any) -> None:
    assert owner(body, [greeting("Where is it?")]) is None


def test_a_message_counts_before_a_greeting() -> None:
    assert (
        owner(messages(("system", "Answer: where is my order")), [greeting(), talk("where is my order")]) == 1
    )


async def test_nobody_else_is_in_flight_while_an_agent_greets(
    gateway: Gateway, provider: ModelServer
) -> None:
    order: list[str] = []

    async def turn(number: int, message: str) -> None:
        async with (
            gateway.conversation(to(provider)) as opened,
            gateway.turn(opened, TurnInFlight(number, message)),
        ):
            order.append(f"{message or 'greeting'} begins")
            await asyncio.sleep(0.01)
            order.append(f"{message or 'greeting'} ends")

    await asyncio.gather(turn(1, "a"), turn(1, "b"), turn(0, ""), turn(1, "c"), turn(0, ""))
    for place, step in enumerate(order):
        if step == "greeting begins":
            began = [one.partition(" ")[0] for one in order[:place] if one.endswith("begins")]
            ended = [one.partition(" ")[0] for one in order[:place] if one.endswith("ends")]
            assert sorted(began) == sorted(ended)
            assert order[place + 1] == "greeting ends"
    assert len(order) == 10


async def test_who_is_cancelled_while_waiting_to_greet_keeps_nobody_back(
    gateway: Gateway, provider: ModelServer
) -> None:
    async def turn(number: int, message: str, holds: float = 0.0) -> None:
        async with (
            gateway.conversation(to(provider)) as opened,
            gateway.turn(opened, TurnInFlight(number, message)),
        ):
            await asyncio.sleep(holds)

    first = asyncio.ensure_future(turn(1, "a", holds=0.1))
    await asyncio.sleep(0.02)
    waiting = asyncio.ensure_future(turn(0, ""))
    await asyncio.sleep(0.02)
    waiting.cancel()
    await asyncio.wait_for(turn(1, "b"), timeout=5)
    await first
