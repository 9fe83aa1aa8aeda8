"""The port to language models: what a call is, what comes back, and who may answer it.

Nothing here knows a provider, LiteLLM included. An implementation is anything with
`complete` and `aclose`; layers (replay, retry, limits, budget) have the same two methods
and wrap another implementation.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Literal, Protocol

from ..settings.model_settings import ModelSettings
from ..transcript import Usage
from .budget import Spent


class Role(str, Enum):
    """Who makes a call. Costs and recordings are grouped by role.

    The guard asks the model of the synthetic user, the reviewer of the user's side that of the judge.
    `AGENT` is the target's own code: it calls its models itself, and the gateway sees that.
    """

    SYNTHETIC_USER = "synthetic_user"
    TARGET = "target"
    AGENT = "agent"
    GUARD = "guard"
    JUDGE = "judge"
    REVIEWER = "reviewer"
    GENERATOR = "generator"
    EVALUATOR = "evaluator"


@dataclass(frozen=True)
class ToolRequest:
    """A tool call that a model asks for. `arguments` is the JSON text as the model wrote it.

    `cut` says that only a part of the arguments was kept.
    """

    id: str
    name: str
    arguments: str
    cut: bool = False


@dataclass(frozen=True)
class ToolSpec:
    """A tool that a model may call. `parameters` is a JSON Schema of type object."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True)
class Message:
    """One message of a chat."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    tool_requests: tuple[ToolRequest, ...] = ()
    tool_call_id: str | None = None


@dataclass(frozen=True)
class CallContext:
    """Where a call belongs: part of its key in a recording, and of error messages.

    `scenario` is the scenario's id within the run. `turn` is the turn being prepared (0 for the judge).
    `trial` counts from 1.
    """

    role: Role
    scenario: str = ""
    trial: int = 1
    turn: int = 0


@dataclass(frozen=True)
class LLMRequest:
    """One call. `schema` is a JSON Schema that the reply's text should follow.

    `top_tokens` is the number of most likely first tokens whose probabilities are requested. `on_send` is
    called with each attempt that is sent to a provider, and with an estimate of what it may use. A `shared`
    call is one whose answer serves all equal calls of a session.
    """

    model: ModelSettings
    messages: tuple[Message, ...]
    context: CallContext
    tools: tuple[ToolSpec, ...] = ()
    schema: Mapping[str, Any] | None = None
    schema_name: str = "reply"
    max_tokens: int | None = None
    top_tokens: int = 0
    shared: bool = False
    on_send: Callable[[Spent], object] = field(default=bool, compare=False, repr=False)


@dataclass(frozen=True)
class LLMReply:
    """What came back.

    `cost` is in US dollars, or None if the model's price is unknown. `finish_reason` is `stop`, `length`,
    `tool_calls` or the provider's own word. `attempts` counts every attempt made for this reply, including
    failed ones. `top_tokens` maps possible first tokens to the natural logarithm of their probability; it is
    empty if they were not requested or the provider does not report them. `thoughts` is the reasoning that
    came in a field of its own. `cut` names the parts, `"text"` and `"thoughts"`, of which only a part was
    kept, since they are longer than `run.max_text`. `waited` is how many seconds went by before
    the attempt that was answered: in a queue of ours, or with failed attempts.
    """

    text: str
    tool_requests: tuple[ToolRequest, ...] = ()
    usage: Usage = field(default_factory=Usage)
    cost: float | None = None
    finish_reason: str = "stop"
    attempts: int = 1
    replayed: bool = False
    top_tokens: Mapping[str, float] = field(default_factory=dict)
    thoughts: str = ""
    cut: tuple[str, ...] = ()
    waited: float = field(default=0.0, compare=False)


Price = tuple[float, float]
"""US dollars for a prompt token and for a completion token."""

PriceOf = Callable[[ModelSettings], Awaitable[Price | None]]
"""The price of a model; None where that is not known."""


class LLM(Protocol):
    """Answers calls.

    Raises only `LLMError`, `BudgetExceeded`, `ReplayMiss`, or `SettingsError` (no model is set, or there
    is a limit on money and the price is unknown).
    """

    async def complete(self, request: LLMRequest) -> LLMReply: ...

    async def aclose(self) -> None: ...
