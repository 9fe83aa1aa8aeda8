"""A fake language model with prepared answers, for tests."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Iterator

from .port import LLMReply, LLMRequest

Answer = LLMReply | str | Exception
"""A whole reply, the text of one, or an exception to raise."""

AnswerFunction = Callable[[LLMRequest], Answer | Awaitable[Answer]]


class FakeLLM:
    """Answers by a function (plain or async) or, in order, with the items of a list.

    `requests` has every request in the order of arrival. A call after the end of the list is a mistake in
    the test and raises AssertionError.
    """

    def __init__(self, answer: AnswerFunction | Iterable[Answer]) -> None:
        self.requests: list[LLMRequest] = []
        self.closed = False
        self._answer = answer if callable(answer) else _in_order(iter(answer))

    async def complete(self, request: LLMRequest) -> LLMReply:
        self.requests.append(request)
        answer = self._answer(request)
        if inspect.isawaitable(answer):
            answer = await answer
        if isinstance(answer, Exception):
            raise answer
        return LLMReply(text=answer) if isinstance(answer, str) else answer

    async def aclose(self) -> None:
        self.closed = True


def _in_order(answers: Iterator[Answer]) -> AnswerFunction:
    def answer(request: LLMRequest) -> Answer:
        try:
            return next(answers)
        except StopIteration:
            role = request.context.role.value
            raise AssertionError(f"FakeLLM has no answer left for this call of the {role}") from None

    return answer
