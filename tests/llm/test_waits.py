"""What is said of calls that are waited for."""

from __future__ import annotations

import asyncio

from pytest_convoprobe.errors import LLMUnavailable
from pytest_convoprobe.llm.port import CallContext, LLMReply, LLMRequest, Message, Role
from pytest_convoprobe.llm.retry import Retrying
from pytest_convoprobe.llm.waits import WAITS, Waits
from pytest_convoprobe.settings.model_settings import ModelSettings


class FailsTwice:
    """Looks what is said at each try."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.said_of_long: list[str] = []

    async def complete(self, request: LLMRequest) -> LLMReply:
        self.look()
        if len(self.said) < 5:
            raise LLMUnavailable("HTTP 503:\n overloaded", status=503)
        return LLMReply("ok")

    async def sleep(self, seconds: float) -> None:
        self.look()

    def look(self) -> None:
        waits = WAITS.get()
        assert waits is not None
        self.said.append(waits.words())
        self.said_of_long.append(waits.words(least=60.0))

    async def aclose(self) -> None:
        """Nothing is open."""


def test_a_call_says_its_model_its_try_and_the_last_error() -> None:
    inner, waits = FailsTwice(), Waits()
    WAITS.set(waits)
    request = LLMRequest(
        ModelSettings(model="openai/fake", max_attempts=6, timeout=5),
        (Message("user", "Hi"),),
        CallContext(Role.GENERATOR, "m01"),
    )
    asyncio.run(Retrying(inner, sleep=inner.sleep).complete(request))
    first, wait, second, *_ = inner.said
    assert first.startswith("waiting for openai/fake for ")
    assert first.endswith(", try 1 of 6 (each at most 5 s)")
    assert ", try 2 of 6 in " in wait
    assert wait.endswith("; the last error: HTTP 503: overloaded")
    assert ", try 2 of 6 (each at most 5 s); the last error: " in second
    # A call that has just begun is no reason for anybody to wait; one that has failed is.
    assert inner.said_of_long[0] == ""
    assert inner.said_of_long[1].endswith("; the last error: HTTP 503: overloaded")
    assert waits.words() == ""
