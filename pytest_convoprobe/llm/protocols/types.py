"""A call of the agent's to a model, and the answer to it, whatever protocol they came in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from ...transcript import Usage
from ..port import ToolRequest


class ModelProtocol(str, Enum):
    """How a client speaks with a model. `UNKNOWN` is anything else that goes to the same address."""

    CHAT = "chat completions"
    RESPONSES = "responses"
    MESSAGES = "messages"
    EMBEDDINGS = "embeddings"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class ToolOutput:
    """What a tool returned, as the agent reports it to the model. `id` is that of the call."""

    id: str
    text: str
    is_error: bool = False


@dataclass(frozen=True)
class WireMessage:
    """One message of a request: `role` in the words of the protocol, `content` its text.

    Images, sounds and files are in the text by their kind and a digest, such as `[image 3f2a…]`. `data` is
    the message as it came.
    """

    role: str
    content: str = ""
    tool_requests: tuple[ToolRequest, ...] = ()
    tool_results: tuple[ToolOutput, ...] = ()
    data: Any = field(default=None, repr=False)


@dataclass(frozen=True)
class ModelRequest:
    """What the agent asked a model for.

    `tools` and `schema` are as they came, `parameters` are all other fields of the body. `previous_id` is the
    id of the answer that this request continues, where the protocol has that. `texts` are all texts that the
    request contains, from the first to the last, uncut. `unread` says why a body could not be read; it
    is then only known by its digest.
    """

    protocol: ModelProtocol
    model: str = ""
    messages: tuple[WireMessage, ...] = ()
    tools: tuple[Any, ...] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    schema: Any = None
    stream: bool = False
    previous_id: str = ""
    texts: tuple[str, ...] = ()
    unread: str = ""

    @property
    def tool_results(self) -> tuple[ToolOutput, ...]:
        """All results of tools in the request; those of earlier turns are repeated in each request."""
        return tuple(result for message in self.messages for result in message.tool_results)


@dataclass(frozen=True)
class TokenCounts:
    """The tokens of one answer. The prompt's include those that a cache had, or got."""

    prompt: int = 0
    completion: int = 0
    cached: int = 0
    cache_written: int = 0
    reasoning: int = 0

    @property
    def usage(self) -> Usage:
        """The same for the ledger."""
        return Usage(self.prompt, self.completion)


@dataclass(frozen=True)
class AnswerError:
    """An error that a provider sent instead of an answer, or in the middle of one."""

    message: str
    kind: str = ""
    code: str = ""


@dataclass(frozen=True)
class ModelAnswer:
    """What a model answered, whole also where it came as a stream.

    `usage` is None where the answer has none. `refusal` is the text of a refusal in a field of its own.
    `complete` is False for a stream that ended too early, and for what can't be read.
    """

    text: str = ""
    tool_requests: tuple[ToolRequest, ...] = ()
    usage: TokenCounts | None = None
    finish_reason: str = ""
    model: str = ""
    error: AnswerError | None = None
    response_id: str = ""
    thoughts: str = ""
    refusal: str = ""
    complete: bool = True
