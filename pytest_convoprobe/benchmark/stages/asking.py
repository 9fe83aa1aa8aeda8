"""Asking a generator for things of which code can say what is wrong, until they are right."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

from ...errors import StructuredReplyError
from ...llm.masking import TextRedactor
from ...llm.port import LLM, CallContext, LLMRequest, Message, Role
from ...llm.structured import ask
from ...settings.model_settings import ModelSettings
from ..rows.work import Place, Row

T = TypeVar("T")
R = TypeVar("R", bound=BaseModel)

REPAIRS = 2
"""How often what is wrong is asked for again."""


@dataclass(frozen=True)
class Sifted(Generic[T]):
    """What of a reply is good, and what is wrong with the rest, a line each; after so many tries."""

    good: tuple[T, ...] = ()
    problems: tuple[str, ...] = ()
    tries: int = 1


@dataclass(frozen=True)
class Asker:
    """The generator in one unit: its model, the instructions of every call, and where the calls belong."""

    llm: LLM
    model: ModelSettings
    place: Place
    system: str
    redactor: TextRedactor

    async def ask(
        self,
        question: str,
        reply_type: type[R],
        sift: Callable[[R, tuple[T, ...], bool], Sifted[T]],
        again: Callable[[Sifted[T]], str],
        *,
        chunk: int = 1,
    ) -> Sifted[T]:
        """What is good of the replies, together; `problems` is what is still wrong after the last.

        `sift` gets a reply, what was good in earlier ones, and whether this is the last; `again` words
        the next question from all that is good so far and from what is wrong. Replies that have not
        the right shape at all are a problem, too. Raises what the model's port raises.
        """
        first = self._request(question, chunk)
        current, good, problems = first, tuple[T, ...](), tuple[str, ...]()
        for attempt in range(REPAIRS + 1):
            try:
                reply = await ask(self.llm, current, reply_type, redactor=self.redactor)
            except StructuredReplyError as error:
                return Sifted(good, (str(error),), attempt + 1)
            sifted = sift(reply, good, attempt == REPAIRS)
            good, problems = (*good, *sifted.good), sifted.problems
            if not problems:
                break
            current = _follow_up(first, reply, again(Sifted(good, problems)))
        return Sifted(good, problems, attempt + 1)

    def _request(self, question: str, chunk: int) -> LLMRequest:
        context = CallContext(Role.GENERATOR, self.place.id, self.place.sample, chunk)
        messages = (Message("system", self.system), Message("user", question))
        return LLMRequest(self.model, messages, context, schema_name="generated")


def _follow_up(first: LLMRequest, reply: BaseModel, question: str) -> LLMRequest:
    said = Message("assistant", json.dumps(reply.model_dump(mode="json"), ensure_ascii=False))
    return replace(first, messages=(*first.messages, said, Message("user", question)))


def chunks(wanted: int, most: int) -> int:
    """In how many calls so many things are asked for, `most` at a time."""
    return -(-wanted // most)


async def collect(
    wanted: int, most: int, ask_for: Callable[[int, int, tuple[T, ...]], Awaitable[Sifted[T]]]
) -> Sifted[T]:
    """`wanted` things, asked for in chunks. What is missing in one is asked for in the next, if there is one.

    `ask_for` gets the number of the chunk, how many are to be in it, and all that are there.
    """
    good, last = tuple[T, ...](), Sifted[T]()
    for chunk in range(1, chunks(wanted, most) + 1):
        last = await ask_for(chunk, min(most, wanted - len(good)), good)
        good = (*good, *last.good)
    return Sifted(good, last.problems if len(good) < wanted else (), last.tries)


def shortfalls(rows: Iterable[Row]) -> tuple[str, ...]:
    """What rows could not be made of all that was asked for, in words."""
    return tuple(row["problem"] for row in rows if row.get("problem"))


def as_data(value: Any) -> str:
    """Data for a prompt as JSON in which nothing can be taken for a tag of the prompt."""
    return json.dumps(value, ensure_ascii=False, indent=1).replace("<", "\\u003c")
