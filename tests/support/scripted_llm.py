"""A fake model whose script has to say only what the judge decides."""

from __future__ import annotations

from pytest_convoprobe.llm import fake
from pytest_convoprobe.llm.port import LLMReply, LLMRequest

from .judge_routine import JudgeRoutine


class FakeLLM(fake.FakeLLM):
    """`FakeLLM` with the judge's routine; `requests` has only what the script answered, `routine` the
    rest."""

    def __init__(
        self, answer: fake.AnswerFunction | list[fake.Answer] | list[str], shows: str = "absence"
    ) -> None:
        super().__init__(answer)
        self.routine: list[LLMRequest] = []
        self._routine = JudgeRoutine(shows)

    async def complete(self, request: LLMRequest) -> LLMReply:
        contents = [message.content for message in request.messages]
        text = self._routine.answer(contents)
        if text is not None:
            self.routine.append(request)
            return LLMReply(text, cost=0.0)
        reply = await super().complete(request)
        self._routine.heard(contents, reply.text)
        return reply
