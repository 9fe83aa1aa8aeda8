"""What makes two calls to a model the same call, in parts, so that a difference has a name."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from ..redaction import Redactor
from .port import LLMRequest, Message

# One changed message usually changes all that follow; the first few show where it began.
_SHOWN = 3

# Extra parameters that say where and how to call. They do not change what the model is asked.
_VOLATILE = frozenset(
    "api_base api_key api_version base_url extra_headers headers input_cost_per_token max_retries "
    "metadata num_retries organization output_cost_per_token request_timeout stream_timeout timeout".split()
)
_VOLATILE_PREFIXES = ("aws_", "azure_", "vertex_")


@dataclass(frozen=True)
class Fingerprint:
    """A request without the parts that may differ between machines.

    `parameters` are in plain text. Each of `messages` is `role digest`. `tools` and `schema` are digests,
    empty if the request has none.
    """

    model: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    messages: tuple[str, ...] = ()
    tools: str = ""
    schema: str = ""

    @cached_property
    def digest(self) -> str:
        """Equal for two requests if they are the same call."""
        return _digest([self.model, self.parameters, self.messages, self.tools, self.schema])


class Fingerprints:
    """Computes fingerprints for one conversation. Its calls repeat most messages, so digests are cached.

    Secrets are masked first, because a replayed conversation never contains them.
    """

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._seen: dict[Message, str] = {}

    def of(self, request: LLMRequest) -> Fingerprint:
        """The fingerprint of one request."""
        tools = [[tool.name, tool.description, bare_schema(tool.parameters)] for tool in request.tools]
        return Fingerprint(
            model=request.model.model or "",
            parameters=self._parameters(request),
            messages=tuple(self._message(message) for message in _with_positions(request.messages)),
            tools=_digest(self._redactor.data(tools)) if tools else "",
            schema=_digest(bare_schema(request.schema)) if request.schema is not None else "",
        )

    def _parameters(self, request: LLMRequest) -> dict[str, Any]:
        model = request.model
        limit = model.max_tokens if request.max_tokens is None else request.max_tokens
        own = {
            "temperature": model.temperature,
            "max_tokens": limit,
            "reasoning": model.reasoning,
            "top_tokens": request.top_tokens or None,
        }
        extra = {name: value for name, value in model.extra_params.items() if not _is_volatile(name)}
        found = {name: value for name, value in {**extra, **own}.items() if value is not None}
        # Through JSON and back, as the recording will have it: tuples and lists must not differ.
        plain: dict[str, Any] = json.loads(_canonical(self._redactor.data(found)))
        return plain

    def _message(self, message: Message) -> str:
        if message not in self._seen:
            requests = [[asked.id, asked.name, asked.arguments] for asked in message.tool_requests]
            parts = self._redactor.data([message.content, requests, message.tool_call_id])
            self._seen[message] = f"{message.role} {_digest(parts)}"
        return self._seen[message]


def differences(
    now: Fingerprint, then: Fingerprint, sources: Mapping[str, str] | None = None
) -> tuple[str, ...]:
    """What changed between a recorded call and the present one, in words.

    `sources` says, by the role of a message, what its text comes from in calls like this one. A digest only
    shows that a message changed; the source shows the reader what to look at.
    """
    found = [] if now.model == then.model else [_changed("the model", now.model, then.model)]
    found += _parameter_differences(now.parameters, then.parameters)
    found += _whole("tools", now.tools, then.tools)
    found += _whole("reply schema", now.schema, then.schema)
    return (*found, *_message_differences(now.messages, then.messages, sources or {}))


def distance(now: Fingerprint, then: Fingerprint) -> int:
    """How many parts differ, counting each message. It finds the recorded call that is most similar."""
    (prompt, rest), (old_prompt, old_rest) = _parted(now.messages), _parted(then.messages)
    pairs = (now.model, then.model), (now.tools, then.tools), (now.schema, then.schema), (prompt, old_prompt)
    whole = sum(one != other for one, other in pairs)
    changed = len(_changed_places(rest, old_rest)) + abs(len(rest) - len(old_rest))
    return whole + len(_parameter_differences(now.parameters, then.parameters)) + changed


def _changed(what: str, now: str, then: str) -> str:
    """A change of a part whose value is shown; an empty value means that it is not set."""
    if not now:
        return f"{what} is not set now, recorded with {then}"
    return f"{what} is now {now}, recorded {f'with {then}' if then else 'without one'}"


def _whole(what: str, now: str, then: str) -> list[str]:
    """A change of a part that is known by its digest; an empty digest means that there is none."""
    if now == then:
        return []
    if now and then:
        return [f"the {what} changed"]
    are, some, a = ("are", "some", "") if what.endswith("s") else ("is", "one", "a ")
    return [
        f"there {are} {a}{what} now, recorded without"
        if now
        else f"there {are} no {what} now, recorded with {some}"
    ]


def _parameter_differences(now: Mapping[str, Any], then: Mapping[str, Any]) -> list[str]:
    """Changed parameters. They are compared as JSON text, in which 1 and 1.0 differ."""
    old, new = ({name: _shown(value) for name, value in those.items()} for those in (then, now))
    return [
        _changed(name, new.get(name, ""), old.get(name, ""))
        for name in sorted({*new, *old})
        if new.get(name) != old.get(name)
    ]


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _parted(messages: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """The system prompt, empty if there is none, and the other messages."""
    has_prompt = bool(messages) and _role(messages[0]) == "system"
    return (messages[0], messages[1:]) if has_prompt else ("", messages)


def _message_differences(
    now: tuple[str, ...], then: tuple[str, ...], sources: Mapping[str, str]
) -> list[str]:
    """Changed messages. Each is compared with the one at its position, not counting the system prompt."""
    (prompt, rest), (old_prompt, old_rest) = _parted(now), _parted(then)
    found = _whole("system prompt", prompt, old_prompt)
    if prompt and old_prompt:
        found = [said + _source("system", sources) for said in found]
    places = _changed_places(rest, old_rest)
    first = len(now) - len(rest) + 1
    found += [_message(place + first, rest[place], old_rest[place], sources) for place in places[:_SHOWN]]
    if len(places) > _SHOWN:
        found.append(f"and {len(places) - _SHOWN} more messages changed")
    if len(rest) != len(old_rest):
        one_sided = bool(prompt) != bool(old_prompt)
        counts = (len(rest), len(old_rest)) if one_sided else (len(now), len(then))
        beside = " beside the system prompt" if one_sided else ""
        found.append(f"the number of messages{beside} is now {counts[0]}, recorded with {counts[1]}")
    return found


def _changed_places(now: tuple[str, ...], then: tuple[str, ...]) -> list[int]:
    return [place for place, (one, other) in enumerate(zip(now, then, strict=False)) if one != other]


def _message(number: int, now: str, then: str, sources: Mapping[str, str]) -> str:
    if _role(now) == _role(then):
        return f"message {number} ({_role(now)}) changed{_source(_role(now), sources)}"
    return f"message {number} is now of the role {_role(now)}, recorded with {_role(then)}"


def _source(role: str, sources: Mapping[str, str]) -> str:
    return f": {sources[role]}" if role in sources else ""


def _role(message: str) -> str:
    return message.partition(" ")[0]


def _with_positions(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """The messages with generated ids of tool calls replaced by numbers, as every run has other ids."""
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


def bare_schema(schema: Any, *, names: bool = False) -> Any:
    """A JSON Schema without titles and line breaks, which differ between releases of pydantic.

    `names`: the keys of this mapping are property names, not keywords of JSON Schema.
    """
    if isinstance(schema, Mapping):
        return {
            key: " ".join(value.split())
            if key == "description" and isinstance(value, str)
            else bare_schema(value, names=not names and key in ("properties", "$defs"))
            for key, value in schema.items()
            if names or key != "title"
        }
    if isinstance(schema, (list, tuple)):
        return [bare_schema(item) for item in schema]
    return schema


def _is_volatile(name: str) -> bool:
    return name in _VOLATILE or name.startswith(_VOLATILE_PREFIXES)


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), default=str)


def _digest(value: Any) -> str:
    # 64 bits are plenty for the few thousand calls of a recording, and keep its file readable.
    return hashlib.sha256(_canonical(value).encode("utf-8", "surrogatepass")).hexdigest()[:16]
