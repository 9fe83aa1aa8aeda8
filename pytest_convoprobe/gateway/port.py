"""What the gateway asks of others for one conversation: a recording of its agent's calls, and faults."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from ..llm.port import Price
from .exchange import Answered, Asked, WireCall


class Tape(Protocol):
    """The recording of the model calls that the agent makes in one conversation.

    All methods are called on the event loop of the conversation's host, and must return soon.
    """

    def recorded(self, asked: Asked, turn: int, said: Sequence[str]) -> Answered | None:
        """The recorded answer; None if the call is to be made.

        `said` are the user's messages until now, that of the turn last: a date in them isn't a clock.
        It is called once for each request, in the order in which they come, before anything is awaited:
        equal requests may be counted here. Raises `ReplayMiss` where no call may be made, or `SettingsError`.
        """

    def keep(self, asked: Asked, answered: Answered, turn: int, seconds: float) -> None:
        """Record a call that was made. `asked` is the very object that `recorded` got.

        It gets every whole answer of an upstream, whatever its status. An answer for which the agent
        did not wait comes whole too, up to the end of the conversation. It is never called for one that the
        provider or the connection cut off, that a fault replaced, or that was replayed.
        """

    def lacks(self, asked: Asked) -> bool:
        """Whether this call was made, and neither its answer nor that of an equal later call is recorded."""

    def none_came(self) -> None:
        """No call came in the whole conversation. Raises `ReplayMiss` if some had to come."""


@dataclass(frozen=True)
class Injection:
    """What a fault does to one call. `words` name the fault, for `WireCall.fault`.

    First, `delay` seconds pass. Then `closes` ends the connection without an answer, or `answer` comes
    instead of the model's: in both cases the model isn't called, and nothing is recorded or replayed. With
    neither, the call is made (or replayed) as usual. `cut` then passes only about half of the answer's body
    on, and ends the connection; the whole answer is what is recorded.
    """

    words: str
    delay: float = 0.0
    answer: Answered | None = None
    closes: bool = False
    cut: bool = False


class WireFaults(Protocol):
    """The faults that are injected into the model calls of one conversation."""

    def strike(self, asked: Asked) -> Injection | None:
        """What happens to this request; None for nothing.

        It is called once for each request, in the order in which they come, before the recording is asked.
        """


class WireLedger(Protocol):
    """Takes down what the model calls of one conversation cost. Both methods must return soon."""

    def before(self, asked: Asked) -> None:
        """A call is about to be made: no recording and no fault answers it.

        Raises a `ConvoprobeError` if it must not be made.
        """

    def after(self, call: WireCall) -> None:
        """A call has ended, in whatever way."""


@dataclass(frozen=True)
class Wire:
    """How the model calls of one conversation's agent go on from the gateway.

    `upstreams` are the addresses of the providers by the name of their protocol: `openai`, `anthropic`.
    Without a `tape`, all calls are made, and none is recorded. With `keyless`, a recording may answer all
    calls: then clients that find no key in the environment get one that no provider accepts, since most
    refuse to be made without. `hide` is called with what is secret of the address that the agent gets.
    `prices` are those of models, by name or pattern, that LiteLLM's list doesn't have or has otherwise.
    `first_turn` is 0 where the agent speaks first.
    """

    upstreams: Mapping[str, str] = field(repr=False)
    tape: Tape | None = None
    faults: WireFaults | None = None
    ledger: WireLedger | None = None
    hide: Callable[[Sequence[str]], object] | None = None
    prices: Mapping[str, Price] = field(default_factory=dict)
    keyless: bool = False
    first_turn: int = 1
