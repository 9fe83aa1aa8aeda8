"""The text of a recording: JSON that people can review and version control can compare."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from pydantic import Field, ValidationError, model_validator

from ..errors import Problem
from ..outside_json import read_json
from ..settings.field_types import Time
from ..transcript import Usage
from ..yaml_source import Document, parse
from ..yaml_source.explain import explain
from .fingerprint import Fingerprint
from .port import LLMReply, Role, ToolRequest
from .recorded_answer import RecordedAnswer, StoredAnswer, loaded_answer, stored_answer
from .recorded_text import StoredJson, StoredPart, exact_text, stored_text
from .recording_digests import DIGEST, SignOfEdit, first_edit, of_file, with_digests

VERSION = 2
_WITHOUT_AGENT = 1
"""What a recording has as its version if no call in it is an agent's: earlier releases read it too."""

# Characters that an editor or a review page hides or acts on: C1 controls, zero-width and direction marks,
# line separators, and lone surrogates (which UTF-8 cannot encode).
_UNSEEN = re.compile("[\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")


class FormatError(ValueError):
    """A text that is not a recording; the message says why, and `place` is `:line:column` if it is known."""

    def __init__(self, message: str, place: str = "") -> None:
        self.place = place
        super().__init__(message)


class LaterVersion(FormatError):
    """A recording that a later release wrote."""


@dataclass(frozen=True)
class RecordedCall:
    """A call and its reply. `ordinal` counts the calls of the role in the turn, from 1.

    A call that the agent made itself has an `answer` instead of a reply.
    """

    trial: int
    role: Role
    turn: int
    ordinal: int
    request: Fingerprint
    reply: LLMReply = field(default_factory=lambda: LLMReply(""))
    answer: RecordedAnswer | None = None

    @property
    def place(self) -> tuple[int, str, int, int, str]:
        """What recordings are sorted by."""
        return self.trial, self.role.value, self.turn, self.ordinal, self.request.digest


class _Request(StoredPart):
    model: str
    parameters: dict[str, Any] = Field(default_factory=dict)
    tools: str = ""
    schema_: str = Field(default="", alias="schema")
    messages: tuple[str, ...] = ()


class _ToolRequest(StoredPart):
    name: str
    arguments: str
    cut: bool = False


class _Usage(StoredPart):
    prompt_tokens: int = 0
    completion_tokens: int = 0


class _Call(StoredPart):
    trial: int = Field(ge=1)
    role: Role
    turn: int = Field(ge=0)
    ordinal: int = Field(ge=1)
    text: str | tuple[str, ...] | None = None
    json_: StoredJson | None = Field(default=None, alias="json")
    tool_requests: tuple[_ToolRequest, ...] = ()
    top_tokens: dict[str, float] = Field(default_factory=dict)
    finish_reason: str = "stop"
    thoughts: str | None = None
    cut: tuple[str, ...] = ()
    usage: _Usage = _Usage()
    cost: float | None = None
    answer: StoredAnswer | None = None
    request: _Request
    digest: str = ""

    @model_validator(mode="after")
    def _fits_the_role(self) -> _Call:
        if (self.answer is not None) is not (self.role is Role.AGENT):
            raise ValueError("must have an `answer` if its role is `agent`, and none otherwise")
        return self


class _File(StoredPart):
    version: int
    recorded: str
    now: dict[int, Time] = Field(default_factory=dict)
    models: dict[str, str]
    calls: tuple[_Call, ...]
    digest: str = ""


@dataclass(frozen=True)
class Contents:
    """What a recording has: its calls, and when the conversation of each trial began.

    A trial that was recorded by an earlier release has no such time.
    """

    calls: tuple[RecordedCall, ...] = ()
    now: Mapping[int, datetime] = field(default_factory=dict)


def dumps(calls: Iterable[RecordedCall], *, recorded: str, now: Mapping[int, datetime] | None = None) -> str:
    """The text of a recording; `recorded` is the date of its last change, `now` as in `Contents`."""
    ordered = sorted(calls, key=lambda call: call.place)
    starts = {str(trial): time.isoformat() for trial, time in sorted((now or {}).items())}
    written = with_digests(map(_call, ordered))
    data = {
        "version": VERSION if any(call.answer for call in ordered) else _WITHOUT_AGENT,
        "recorded": recorded,
        **({"now": starts} if starts else {}),
        "models": _models(ordered),
        "calls": written,
        DIGEST: of_file(written),
    }
    text = json.dumps(data, indent=2, ensure_ascii=False)
    return _UNSEEN.sub(lambda match: f"\\u{ord(match[0]):04x}", text) + "\n"


def loads(text: str | bytes) -> Contents:
    """The contents of a recording. Raises `FormatError`."""
    try:
        data = read_json(text)
    except ValueError as error:
        raise FormatError(f"it is not whole JSON ({error})") from None
    version = data.get("version") if isinstance(data, dict) else None
    if isinstance(version, int) and version > VERSION:
        raise LaterVersion(f"it has version {version} of the format, this release reads up to {VERSION}")
    try:
        file = _File.model_validate(data)
    except ValidationError as error:
        raise _first_problem(error, text, data) from None
    if edit := first_edit(data):
        raise _edited(edit, text, data)
    return Contents(tuple(map(_loaded, file.calls)), file.now)


def _first_problem(error: ValidationError, text: str | bytes, data: Any) -> FormatError:
    """The first mistake in the words that all files have, with its place where that is found."""
    return _placed(explain(error, _document(text, data), _File)[0])


def _edited(edit: SignOfEdit, text: str | bytes, data: Any) -> FormatError:
    where = () if edit.call is None else ("calls", edit.call)
    return _placed(_document(text, data).problem(where, edit.message))


def _document(text: str | bytes, data: Any) -> Document:
    parsed = parse(text).documents  # JSON is YAML, whose reader knows the places
    return parsed[0] if len(parsed) == 1 else Document(data)


def _placed(problem: Problem) -> FormatError:
    place = f":{problem.line}:{problem.column}" if problem.line else ""
    return FormatError(f"{problem.path or 'the top'}: {problem.message}", place)


def _models(calls: Iterable[RecordedCall]) -> dict[str, str]:
    """Which model (or models) answered for each role."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for call in calls:
        found[call.role.value].add(call.request.model)
    return {role: ", ".join(sorted(filter(None, models))) for role, models in sorted(found.items())}


def _call(call: RecordedCall) -> dict[str, Any]:
    request = call.request
    said = _said(call.reply) if call.answer is None else {"answer": stored_answer(call.answer)}
    whole = {
        "trial": call.trial,
        "role": call.role.value,
        "turn": call.turn,
        "ordinal": call.ordinal,
        **said,
        "request": {
            "model": request.model,
            "parameters": dict(request.parameters),
            "tools": request.tools,
            "schema": request.schema,
            "messages": list(request.messages),
        },
    }
    whole["request"] = {key: value for key, value in whole["request"].items() if value or key == "model"}
    return {key: value for key, value in whole.items() if value is not None and value != []}


def _said(reply: LLMReply) -> dict[str, Any]:
    return {
        **stored_text(reply.text),
        "tool_requests": [
            {"name": asked.name, "arguments": asked.arguments, **({"cut": True} if asked.cut else {})}
            for asked in reply.tool_requests
        ],
        "top_tokens": dict(sorted(reply.top_tokens.items(), key=lambda pair: (-pair[1], pair[0]))) or None,
        "finish_reason": reply.finish_reason,
        "thoughts": reply.thoughts or None,
        "cut": list(reply.cut),
        "usage": asdict(reply.usage),
        "cost": reply.cost,
    }


def _loaded(call: _Call) -> RecordedCall:
    request = call.request
    fingerprint = Fingerprint(
        request.model, request.parameters, request.messages, request.tools, request.schema_
    )
    place = call.trial, call.role, call.turn, call.ordinal
    if call.answer is not None:
        return RecordedCall(*place, fingerprint, answer=loaded_answer(call.answer))
    return RecordedCall(*place, fingerprint, _reply(call))


def _reply(call: _Call) -> LLMReply:
    """The replayed reply. It took no attempt, and its tool calls get new ids."""
    return LLMReply(
        text=exact_text(call.json_, call.text),
        tool_requests=tuple(
            ToolRequest(f"call_{call.turn}_{call.ordinal}_{number}", asked.name, asked.arguments, asked.cut)
            for number, asked in enumerate(call.tool_requests, start=1)
        ),
        usage=Usage(call.usage.prompt_tokens, call.usage.completion_tokens),
        cost=call.cost,
        finish_reason=call.finish_reason,
        attempts=0,
        replayed=True,
        top_tokens=call.top_tokens,
        thoughts=call.thoughts or "",
        cut=call.cut,
    )
