"""What passes through the gateway: a request of the agent's, the answer to it, and both as one call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from ..llm.protocols import ModelRequest, read_request


@dataclass(frozen=True)
class Asked:
    """A request as the agent's client sent it, without its headers: these hold keys.

    `path` is what follows the conversation's URL, without a leading slash and without a query, such as
    `chat/completions` or `v1/messages`.
    """

    method: str
    path: str
    body: bytes = b""

    @cached_property
    def request(self) -> ModelRequest:
        """What is asked, as data. A body may be large, and several parts of the gateway need it."""
        return read_request(self.path, self.body)


@dataclass(frozen=True)
class Answered:
    """An answer as the agent's client gets it. `body` is unpacked, and whole also where it came as a stream.

    `headers` are the few that clients act on (`retry-after`, `content-type`), with names in lower case.
    """

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def content_type(self) -> str:
        """The media type alone, in lower case; empty if there is none."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()


@dataclass(frozen=True)
class WireCall:
    """One call of the agent to a model, as the gateway saw it.

    `turn` is the turn of the conversation that was being answered, from 1. `answered` is None while no answer
    has come, or if none came; `problem` then says why. `seconds` is the time until the answer's last byte.
    `fault` says in words which fault was injected, and `replaced` that it came in place of a model's answer.
    `broken_off` says that the agent, or a fault, cut the answer off before its end. `unsent` says that the
    gateway refused the call itself, so that no provider was asked. `unrecorded` says, after the conversation,
    that the call was made and is not in the recording, so that no replay finds it.
    """

    turn: int
    asked: Asked
    answered: Answered | None = None
    seconds: float = 0.0
    replayed: bool = False
    fault: str = ""
    problem: str = ""
    broken_off: bool = False
    replaced: bool = False
    unsent: bool = False
    unrecorded: bool = False

    @property
    def costs_nothing(self) -> bool:
        """Whether neither a provider nor a recording answered."""
        return self.unsent or self.replaced
