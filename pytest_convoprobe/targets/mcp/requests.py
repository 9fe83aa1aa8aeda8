"""What servers ask for in the middle of a call: words of the user (elicitation), or of a model (sampling)."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from ...llm.port import Message
from ...settings.mcp_settings import McpServer
from ...transcript import PendingRequest

Sample = Callable[[Mapping[str, Any]], Awaitable[str]]
"""From the parameters of a request for sampling to the text that a model wrote."""

_DECLINED = "reject"
_WHY = "declined, as the settings of the server don't say otherwise"


@dataclass
class RequestLog:
    """What the servers of one conversation have asked for, and its model, which may write for them."""

    sample: Sample
    requests: list[PendingRequest] = field(default_factory=list)

    def taken(self) -> tuple[PendingRequest, ...]:
        """What was asked for since the last time."""
        found, self.requests = tuple(self.requests), []
        return found


@dataclass(frozen=True)
class _Caller:
    asked: RequestLog
    tool: str
    arguments: Mapping[str, Any]


class ServerRequests:
    """Answers the requests of one server as its settings say, and records them with whoever called it.

    The protocol doesn't say which call a request belongs to. With several calls at once, those of other
    conversations included, each of their conversations has it recorded.
    """

    def __init__(self, name: str, settings: McpServer) -> None:
        self._name = name
        self._settings = settings
        self._callers: list[_Caller] = []
        self._early: list[PendingRequest] = []
        self._numbers = count(1)

    @contextmanager
    def during(self, asked: RequestLog, tool: str, arguments: Mapping[str, Any]) -> Iterator[None]:
        """Until the block ends, requests may come from this call."""
        caller = _Caller(asked, tool, arguments)
        asked.requests += self._early
        self._early = []
        self._callers.append(caller)
        try:
            yield
        finally:
            self._callers.remove(caller)

    async def elicitation(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to a question to the user."""
        wanted = self._settings.elicitation
        text = str(params.get("message") or "")
        if params.get("url"):
            text = f"{text} ({params['url']})".strip()
        if isinstance(wanted, str):
            self._record("question", text, params, _DECLINED, _WHY)
            return {"action": wanted}
        self._record("question", text, params, json.dumps(wanted, ensure_ascii=False), "")
        return {"action": "accept", "content": dict(wanted)}

    async def sampling(self, params: Mapping[str, Any]) -> dict[str, Any] | None:
        """The answer to a request for a text; None declines it."""
        text = f"the MCP server `{self._name}` asks for a text of a model: {_last_words(params)}"
        caller = self._callers[0] if self._callers else None
        if self._settings.sampling == "decline" or caller is None:
            self._record("approval", text, params, _DECLINED, _WHY)
            return None
        self._record("approval", text, params, "approve", "")
        said = await caller.asked.sample(params)
        content = {"type": "text", "text": said}
        return {"role": "assistant", "content": content, "model": "target", "stopReason": "endTurn"}

    def _record(self, kind: Any, text: str, params: Mapping[str, Any], answer: str, reason: str) -> None:
        tools = {caller.tool for caller in self._callers}
        request = PendingRequest(
            id=f"{self._name}-{next(self._numbers)}",
            kind=kind,
            text=text,
            tool=tools.pop() if len(tools) == 1 else "",
            arguments=self._callers[0].arguments if len(self._callers) == 1 else {},
            answer=answer,
            reason=reason,
        )
        for asked in {id(caller.asked): caller.asked for caller in self._callers}.values():
            asked.requests.append(request)
        if not self._callers:
            self._early.append(request)


def sampling_messages(params: Mapping[str, Any]) -> tuple[Message, ...]:
    """The messages that a server wants a model to answer; of content that is no text, nothing."""
    system = [Message("system", str(params["systemPrompt"]))] if params.get("systemPrompt") else []
    said = [(_text_of(one), one.get("role")) for one in params.get("messages") or ()]
    others = [Message("assistant" if role == "assistant" else "user", text) for text, role in said]
    return (*system, *others)


def _last_words(params: Mapping[str, Any]) -> str:
    messages = params.get("messages") or [{}]
    return _text_of(messages[-1])


def _text_of(message: Mapping[str, Any]) -> str:
    content = message.get("content") or {}
    parts = content if isinstance(content, list) else [content]
    return "\n".join(str(part.get("text", "")) for part in parts)
