"""A call of the agent to a model, read: what it asked for, what it got, what that used, what went wrong."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from ..llm.port import ToolRequest
from ..llm.protocols import (
    ModelAnswer,
    ModelProtocol,
    ModelRequest,
    ToolOutput,
    read_answer,
)
from ..llm.protocols.failing import KEY_REFUSED, is_providers_failure
from ..text import one_line, shorten
from ..transcript import ModelCall, Usage
from .exchange import WireCall
from .prices import Prices, cost_of

_PROTOCOLS = {
    ModelProtocol.CHAT: "chat_completions",
    ModelProtocol.RESPONSES: "responses",
    ModelProtocol.MESSAGES: "messages",
    ModelProtocol.EMBEDDINGS: "embeddings",
}
# Calls that ask no model for anything: lists, files, counts, checks of texts.
_HOUSEKEEPING = frozenset(
    {"models", "files", "uploads", "moderations", "vector_stores", "count_tokens", "input_tokens", "cancel"}
)
_FIRST_ERROR = 400
_MESSAGE = 200


@dataclass(frozen=True)
class ReadCall:
    """A call with its request and its answer as data. `place` is its place among all calls.

    `answer` is None while none has come. `key` is the same for equal requests.
    """

    place: int
    seen: WireCall
    request: ModelRequest
    answer: ModelAnswer | None
    key: str

    @property
    def turn(self) -> int:
        """The turn in which it began, from 1."""
        return self.seen.turn

    @property
    def model(self) -> str:
        """The model that the agent asked for."""
        return self.request.model or (self.answer.model if self.answer else "")

    @property
    def status(self) -> int:
        """The HTTP status; 0 without an answer."""
        return self.seen.answered.status if self.seen.answered else 0

    @property
    def is_under_way(self) -> bool:
        """Whether it had not ended when this was read."""
        seen = self.seen
        return seen.answered is None and not (seen.problem or seen.broken_off or seen.replaced)

    @property
    def was_refused(self) -> bool:
        """Whether the answer is an error from its start."""
        return self.status >= _FIRST_ERROR

    @property
    def worked(self) -> bool:
        """Whether the agent got a whole answer of a model."""
        answer = self.answer
        good = answer is not None and answer.complete and answer.error is None
        return good and not self.was_refused and not self.seen.broken_off and not self.seen.problem

    @cached_property
    def asked_tools(self) -> tuple[ToolRequest, ...]:
        """The calls of tools that the model asks for in the answer."""
        return self.answer.tool_requests if self.answer is not None and not self.was_refused else ()

    @cached_property
    def results(self) -> Mapping[str, Sequence[ToolOutput]]:
        """The results of tools in the request, by the id of their call."""
        found: dict[str, list[ToolOutput]] = {}
        for one in self.request.tool_results:
            found.setdefault(one.id, []).append(one)
        return found

    @cached_property
    def names(self) -> Mapping[str, set[str]]:
        """The names of the tools of which the request has calls, by the id of the call."""
        found: dict[str, set[str]] = {}
        for one in (one for message in self.request.messages for one in message.tool_requests):
            found.setdefault(one.id, set()).add(one.name)
        return found

    def mentions(self, identifier: str) -> bool:
        """Whether the request has this call of a tool, or its result."""
        return identifier in self.results or identifier in self.names

    @property
    def is_spoiled(self) -> bool:
        """Whether a fault kept the model's answer from the agent, or a part of it. A delay doesn't."""
        return self.seen.replaced or (bool(self.seen.fault) and self.seen.broken_off)

    @property
    def is_providers_failure(self) -> bool:
        """Whether the provider gave no answer, or was busy, broken, or did not accept the agent's key."""
        if self.is_spoiled or self.is_under_way:
            return False
        if self.seen.answered is None or self.seen.problem:
            return not self.seen.broken_off
        if self.was_refused:
            return is_providers_failure(self.status)
        return self.answer is not None and self.answer.error is not None

    @property
    def problem(self) -> str:
        """Why the agent got no usable answer, in words; empty if it got one."""
        seen = self.seen
        if self.worked:
            return "the fault came in its place" if self.is_spoiled else ""
        if self.is_under_way:
            return "it had not ended when the agent replied"
        if seen.problem:
            return seen.problem
        if seen.answered is None:
            return "the agent did not wait for the answer" if seen.broken_off else "no answer came"
        if self.was_refused:
            return f"status {self.status}{self._said_by_provider}"
        if self.answer is not None and self.answer.error is not None:
            return f"an error in the answer{self._said_by_provider}"
        return "the answer was cut off" if seen.broken_off else _unread(self.request)

    @property
    def usage(self) -> Usage | None:
        """The tokens; None if nobody knows."""
        if self.answer is not None and self.answer.usage is not None:
            return self.answer.usage.usage
        return Usage() if self._is_free else None

    def cost(self, prices: Prices) -> float | None:
        """US dollars, of a replayed call too; None if the price isn't known."""
        answer = self.answer
        if answer is None or answer.usage is None:
            return 0.0 if self._is_free else None
        counts, names = answer.usage, filter(None, (self.model, answer.model))
        costs = (cost_of(name, counts, prices) for name in names)
        return next((cost for cost in costs if cost is not None), None)

    def as_model_call(self, prices: Prices, *, lost: bool = False) -> ModelCall:
        """The call as transcripts have it."""
        return ModelCall(
            *(self.model, _PROTOCOLS.get(self.request.protocol, ""), self.usage, self.cost(prices)),
            seconds=self.seen.seconds,
            replayed=self.seen.replayed,
            fault=self.seen.fault,
            problem=self.problem,
            lost=lost,
            unrecorded=self.seen.unrecorded,
        )

    @property
    def _is_free(self) -> bool:
        """Whether no model has worked for it: it was refused, never arrived, or a fault took its place."""
        if self.seen.answered is None:
            return not self.is_under_way and not self.seen.broken_off
        return self.was_refused or self.seen.replaced

    @property
    def _said_by_provider(self) -> str:
        """What the provider says about the error. Nothing of it where it refused a key: some repeat that."""
        error = self.answer.error if self.answer else None
        if error is None:
            return ""
        if self.status in KEY_REFUSED:
            return f" ({error.code or error.kind})" if error.code or error.kind else ""
        return f": {shorten(one_line(error.message), _MESSAGE)}"


def read_call(place: int, seen: WireCall) -> ReadCall | None:
    """The call as data; None for one that asks no model for anything."""
    asked, answered = seen.asked, seen.answered
    request = asked.request
    if request.protocol is ModelProtocol.UNKNOWN and _is_housekeeping(asked.method, asked.path):
        return None
    answer = None
    if answered is not None:
        answer = read_answer(request.protocol, answered.content_type, answered.body)
    key = hashlib.sha256(b"\n".join((asked.path.encode("utf-8", "replace"), asked.body))).hexdigest()
    return ReadCall(place, seen, request, answer, key)


def _is_housekeeping(method: str, path: str) -> bool:
    return method.upper() != "POST" or bool(_HOUSEKEEPING & set(path.split("/")))


def _unread(request: ModelRequest) -> str:
    return "" if request.protocol is ModelProtocol.UNKNOWN else "the answer can't be read"
