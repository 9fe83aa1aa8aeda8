"""What makes two calls to a model the same call, part by part, so that a difference has a name."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from ..redaction import Redactor
from .port import LLMRequest, Message

_SHOWN = 3

# Extra parameters that say where and how to call, not what is asked.
_VOLATILE = frozenset(
    "api_base api_key api_version base_url extra_headers headers input_cost_per_token max_retries "
    "metadata num_retries organization output_cost_per_token request_timeout stream_timeout timeout".split()
)
_VOLATILE_PREFIXES = ("aws_", "azure_", "vertex_")


@dataclass(frozen=True)
class Fingerprint:
    """A request without what may differ from machine to machine.

    `parameters` are in clear; `messages` are `role digest` each; `tools` and `schema` are digests,
    empty where the request has none.
    """

    model: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    messages: tuple[str, ...] = ()
    tools: str = ""
    schema: str = ""

    @cached_property
    def digest(self) -> str:
        """Equal for two requests that are the same call."""
        return _digest([self.model, self.parameters, self.messages, self.tools, self.schema])


class Fingerprints:
    """Takes fingerprints for one conversation, whose calls repeat most of their messages.

    They are taken of the text without its secrets, as a replayed conversation never holds them.
    """

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._seen: dict[Message, str] = {}

    def of(self, request: LLMRequest) -> Fingerprint:
        """The fingerprint of one request."""
        tools = [[tool.name, tool.description, _bare(tool.parameters)] for tool in request.tools]
        return Fingerprint(
            model=request.model.model or "",
            parameters=self._parameters(request),
            messages=tuple(self._message(message) for message in _with_positions(request.messages)),
            tools=_digest(self._redactor.data(tools)) if tools else "",
            schema=_digest(_bare(request.schema)) if request.schema is not None else "",
        )

    def _parameters(self, request: LLMRequest) -> dict[str, Any]:
        model = request.model
        limit = model.max_tokens if request.max_tokens is None else request.max_tokens
        own = {"temperature": model.temperature, "max_tokens": limit, "reasoning": model.reasoning}
        extra = {name: value for name, value in model.extra_params.items() if not _is_volatile(name)}
        found = {name: value for name, value in {**extra, **own}.items() if value is not None}
        plain: dict[str, Any] = json.loads(_canonical(self._redactor.data(found)))
        return plain

    def _message(self, message: Message) -> str:
        if message not in self._seen:
            requests = [[asked.id, asked.name, asked.arguments] for asked in message.tool_requests]
            parts = self._redactor.data([message.content, requests, message.tool_call_id])
            self._seen[message] = f"{message.role} {_digest(parts)}"
        return self._seen[message]


def differences(now: Fingerprint, then: Fingerprint) -> tuple[str, ...]:
    """What changed between a recorded call and the present one, in words."""
    found = []
    if now.model != then.model:
        found.append(f"the model is now {now.model or 'not set'}, recorded with {then.model or 'none'}")
    found += _parameter_differences(now.parameters, then.parameters)
    if now.tools != then.tools:
        found.append("the tools changed")
    if now.schema != then.schema:
        found.append("the reply schema changed")
    return (*found, *_message_differences(now.messages, then.messages))


def distance(now: Fingerprint, then: Fingerprint) -> int:
    """How many parts differ, each message counted: for finding the recorded call that is nearest."""
    whole = sum((now.model != then.model, now.tools != then.tools, now.schema != then.schema))
    changed = sum(a != b for a, b in zip(now.messages, then.messages, strict=False))
    longer = abs(len(now.messages) - len(then.messages))
    return whole + len(_parameter_differences(now.parameters, then.parameters)) + changed + longer


def _parameter_differences(now: Mapping[str, Any], then: Mapping[str, Any]) -> list[str]:
    def shown(parameters: Mapping[str, Any], name: str) -> str:
        return json.dumps(parameters[name], ensure_ascii=False) if name in parameters else "not set"

    return [
        f"{name} is now {shown(now, name)}, recorded with {shown(then, name)}"
        for name in sorted({*now, *then})
        if now.get(name) != then.get(name)
    ]


def _message_differences(now: tuple[str, ...], then: tuple[str, ...]) -> list[str]:
    changed = [
        number for number, pair in enumerate(zip(now, then, strict=False), start=1) if pair[0] != pair[1]
    ]
    found = [_changed(number, now[number - 1].split()[0]) for number in changed[:_SHOWN]]
    if len(changed) > _SHOWN:
        found.append(f"and {len(changed) - _SHOWN} more messages changed")
    if len(now) != len(then):
        found.append(f"the number of messages is now {len(now)}, recorded with {len(then)}")
    return found


def _changed(number: int, role: str) -> str:
    return "the system prompt changed" if role == "system" else f"message {number} ({role}) changed"


def _with_positions(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """The same messages, each generated id of a tool call replaced by its position."""
    if not any(message.tool_requests or message.tool_call_id for message in messages):
        return messages
    known: dict[str, str] = {}

    def position(identifier: str) -> str:
        return known.setdefault(identifier, f"call {len(known) + 1}")

    return tuple(
        replace(
            message,
            tool_requests=tuple(replace(asked, id=position(asked.id)) for asked in message.tool_requests),
            tool_call_id=message.tool_call_id and position(message.tool_call_id),
        )
        for message in messages
    )


def _bare(schema: Any, *, names: bool = False) -> Any:
    """A JSON Schema without titles and line breaks, which differ between releases of its generator.

    `names` says that the keys of this mapping are names of properties, not words of the schema.
    """
    if isinstance(schema, Mapping):
        return {
            key: " ".join(value.split())
            if key == "description" and isinstance(value, str)
            else _bare(value, names=not names and key in ("properties", "$defs"))
            for key, value in schema.items()
            if names or key != "title"
        }
    if isinstance(schema, (list, tuple)):
        return [_bare(item) for item in schema]
    return schema


def _is_volatile(name: str) -> bool:
    return name in _VOLATILE or name.startswith(_VOLATILE_PREFIXES)


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), default=str)


def _digest(value: Any) -> str:
    return hashlib.sha256(_canonical(value).encode("utf-8", "surrogatepass")).hexdigest()[:16]
