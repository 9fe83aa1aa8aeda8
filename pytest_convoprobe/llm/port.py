"""The port to language models: what a call is, what comes back, and who may answer it.

Nothing here knows a provider, LiteLLM included. An implementation is anything with
`complete` and `aclose`; layers (replay, retry, limits, budget) have the same two methods
and wrap another implementation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Literal, Protocol

from ..settings.models import ModelSettings
from ..transcript import Usage


class Role(str, Enum):
    """On whose behalf a call is made; costs and recordings are kept by role."""

    SYNTHETIC_USER = "synthetic_user"
    TARGET = "target"
    JUDGE = "judge"
    GENERATOR = "generator"
    EVALUATOR = "evaluator"


@dataclass(frozen=True)
class ToolRequest:
    """A model asks for a tool; `arguments` is the JSON text as the model wrote it."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True)
class ToolSpec:
    """A tool that a model may ask for; `parameters` is a JSON Schema of type object."""

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
    """Whose call this is: the recording's key and the words of an error message.

    `scenario` is the scenario's id within the run, `turn` the turn being prepared
    (0 for the judge), `trial` counts from 1.
    """

    role: Role
    scenario: str = ""
    trial: int = 1
    turn: int = 0


@dataclass(frozen=True)
class LLMRequest:
    """One call. `schema` is a JSON Schema that the reply's text should follow.

    `top_tokens` is how many of the likeliest first tokens the reply should tell the chances of.
    """

    model: ModelSettings
    messages: tuple[Message, ...]
    context: CallContext
    tools: tuple[ToolSpec, ...] = ()
    schema: Mapping[str, Any] | None = None
    schema_name: str = "reply"
    max_tokens: int | None = None
    top_tokens: int = 0


@dataclass(frozen=True)
class LLMReply:
    """What came back.

    `cost` is in US dollars, None when the model's price is not known; `finish_reason` is
    `stop`, `length`, `tool_calls` or the provider's own word; `attempts` counts every
    attempt made for this reply, the failed ones included. `top_tokens` has the natural logarithm of the
    probability of what the text might have begun with, where the request asked for it and the provider tells.
    """

    text: str
    tool_requests: tuple[ToolRequest, ...] = ()
    usage: Usage = field(default_factory=Usage)
    cost: float | None = None
    finish_reason: str = "stop"
    attempts: int = 1
    replayed: bool = False
    top_tokens: Mapping[str, float] = field(default_factory=dict)


class LLM(Protocol):
    """Answers calls.

    Raises `LLMError`, `BudgetExceeded`, `ReplayMiss`, or `SettingsError` where the settings allow no
    call (no model, a limit on money without a price), nothing else.
    """

    async def complete(self, request: LLMRequest) -> LLMReply: ...

    async def aclose(self) -> None: ...
