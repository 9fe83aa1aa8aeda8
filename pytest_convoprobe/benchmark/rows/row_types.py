"""The rows of the files that the stages write, and their ids.

Names of files and fields are those of the format (see docs/benchmarks/files.md). `key` is ours: the digest
of what a row was made of. A row without one came from somewhere else, and is taken as it is.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from ...errors import ResultsError
from ...targets.coerce_reply import as_tool_call, plain
from ...transcript import ToolCall

if TYPE_CHECKING:
    from ..format.models import MetricType

ID = re.compile(r"(?P<metric>.+)_s(?P<scenario>\d+)_v(?P<variant>\d+)")


def scenario_id(metric_id: str, scenario: int, variant: int) -> str:
    """`m01_s002_v01`: metric, scenario and variant, the numbers counted from 1."""
    return f"{metric_id}_s{scenario:03d}_v{variant:02d}"


def digest(*parts: Any) -> str:
    """32 hex digits of plain data: equal for equal data, whatever the order of keys."""
    text = json.dumps(parts, sort_keys=True, ensure_ascii=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:32]


@dataclass(frozen=True)
class Landmark:
    """What the user is to do in a turn; turns count from 1."""

    turn: int
    instruction: str


@dataclass(frozen=True)
class ScenarioRow:
    """A line of `scenarios.json`: one scenario of a metric in one demographic variant.

    `draft` is ours, as `key` is: the digest of what all variants of the scenario were rewritten from.
    """

    id: str
    metric_id: str
    persona: str
    user_goal: str
    latent_adversarial_goal: str
    landmarks: tuple[Landmark, ...] = ()
    demographic: Mapping[str, str] = field(default_factory=dict)
    target_system_prompt: str | None = None
    draft: str = ""
    key: str = ""

    @property
    def base(self) -> str:
        """The scenario without its variant, `m01_s002`: what variants of one situation have in common."""
        found = ID.fullmatch(self.id)
        return f"{found['metric']}_s{found['scenario']}" if found else self.id

    @property
    def variant(self) -> str:
        """`v01`; empty where the id does not tell it."""
        found = ID.fullmatch(self.id)
        return f"v{found['variant']}" if found else ""

    def to_json(self) -> dict[str, Any]:
        data: dict[str, Any] = {
            "id": self.id,
            "metric_id": self.metric_id,
            "persona": self.persona,
            "user_goal": self.user_goal,
            "latent_adversarial_goal": self.latent_adversarial_goal,
            "landmarks": [{"turn": mark.turn, "instruction": mark.instruction} for mark in self.landmarks],
            "demographic": dict(self.demographic),
        }
        if self.target_system_prompt is not None:
            data["target_system_prompt"] = self.target_system_prompt
        if self.draft:
            data["draft"] = self.draft
        return {**data, "key": self.key} if self.key else data

    @classmethod
    def from_json(cls, data: Any) -> ScenarioRow:
        """Raises `ResultsError` naming what is missing or of the wrong kind."""
        row = _Reader(data, "scenario")
        row_id = row.text("id")
        found = ID.fullmatch(row_id)
        return cls(
            id=row_id,
            metric_id=row.text("metric_id", found["metric"] if found else None),
            persona=row.text("persona", ""),
            user_goal=row.text("user_goal", ""),
            latent_adversarial_goal=row.text("latent_adversarial_goal", ""),
            landmarks=tuple(map(_landmark, row.items("landmarks"))),
            demographic={
                str(name): str(value)
                for name, value in row.mapping("demographic").items()
                if value is not None
            },
            target_system_prompt=row.text("target_system_prompt", "") or None,
            draft=row.text("draft", ""),
            key=row.text("key", ""),
        )


@dataclass(frozen=True)
class Said:
    """One message of a conversation; `tool_calls` are those that the assistant made before it said this.

    They hold plain JSON, and no latency.
    """

    role: Literal["user", "assistant"]
    content: str
    tool_calls: tuple[ToolCall, ...] = ()

    def to_json(self) -> dict[str, Any]:
        said = {"role": self.role, "content": self.content}
        return {**said, "tool_calls": [*map(_call_to_json, self.tool_calls)]} if self.tool_calls else said


CALLED = "tools-"
"""What the digest of a conversation begins with in which tools were called."""


@dataclass(frozen=True)
class ConversationRow:
    """A line of `runs/<target>/conversations.json`; `sample` counts from 1.

    `termination` is a value of `transcript.Termination`, or empty where the file does not say it.
    """

    id: str
    sample: int
    messages: tuple[Said, ...]
    metric_id: str = ""
    target: str = ""
    termination: str = ""
    key: str = ""

    @property
    def digest(self) -> str:
        """Of what was said and done: what a score is a score of. With tool calls, it begins with `CALLED`."""
        made = digest([list(said.to_json().values()) for said in self.messages])
        return CALLED + made if any(said.tool_calls for said in self.messages) else made

    def to_json(self) -> dict[str, Any]:
        data: dict[str, Any] = {
            "id": self.id,
            "metric_id": self.metric_id,
            "sample": self.sample,
            "target": self.target,
            "conversation": [said.to_json() for said in self.messages],
            "termination": self.termination,
        }
        return {**data, "key": self.key} if self.key else data

    @classmethod
    def from_json(cls, data: Any) -> ConversationRow:
        """Takes the messages under any of the usual names. Raises `ResultsError`."""
        row = _Reader(data, "conversation")
        name = next((name for name in _MESSAGES if name in row.data), _MESSAGES[0])
        row_id = row.text("id", None, "scenario_id")
        found = ID.fullmatch(row_id)
        items = row.items(name)
        results = _results(items)
        return cls(
            id=row_id,
            sample=row.number("sample", 1),
            messages=tuple(said for item in items for said in _said(item, results)),
            metric_id=row.text("metric_id", found["metric"] if found else ""),
            target=row.text("target", ""),
            termination=row.text("termination", ""),
            key=row.text("key", ""),
        )


@dataclass(frozen=True)
class ScoreRow:
    """A line of `runs/<target>/scores.json`: whether one conversation shows one behaviour.

    `present`, `passed` and `score` (1.0 or 0.0) are None where the evaluator gave no readable answer.
    """

    id: str
    metric_id: str
    sample: int
    present: bool | None
    passed: bool | None
    justification: str = ""
    key: str = ""

    @property
    def score(self) -> float | None:
        return None if self.passed is None else float(self.passed)

    def counts_as(self, kind: MetricType) -> bool | None:
        """Whether it passes for a metric of this type: by what was present, where that is known.

        The type may have been changed after the score was written; what was present still is.
        """
        return self.passed if self.present is None else kind.passes(self.present)

    def to_json(self) -> dict[str, Any]:
        data: dict[str, Any] = {
            "id": self.id,
            "metric_id": self.metric_id,
            "sample": self.sample,
            "present": self.present,
            "passed": self.passed,
            "score": self.score,
            "justification": self.justification,
        }
        return {**data, "key": self.key} if self.key else data

    @classmethod
    def from_json(cls, data: Any) -> ScoreRow:
        """Raises `ResultsError`."""
        row = _Reader(data, "score")
        row_id = row.text("id", None, "scenario_id")
        found = ID.fullmatch(row_id)
        return cls(
            id=row_id,
            metric_id=row.text("metric_id", found["metric"] if found else None),
            sample=row.number("sample", 1),
            present=row.truth("present"),
            passed=row.truth("passed"),
            justification=row.text("justification", ""),
            key=row.text("key", ""),
        )


_MESSAGES = ("conversation", "messages", "transcript", "turns")
_TEXTS = ("content", "text", "message")
_ROLES = {"user": "user", "human": "user", "assistant": "assistant", "target": "assistant", "ai": "assistant"}


def _landmark(item: Any) -> Landmark:
    row = _Reader(item, "landmark")
    return Landmark(row.number("turn", 1), row.text("instruction"))


def _said(item: Any, results: Mapping[str, Any]) -> tuple[Said, ...]:
    """A message, or a turn that holds both sides; what is neither side's (a system prompt) is left out."""
    row = _Reader(item, "message")
    if "role" not in row.data and {"user", "assistant"} & row.data.keys():
        user = [Said("user", row.text("user", ""))] if "user" in row.data else []
        calls = _calls(row, results)
        replied = "assistant" in row.data or calls
        return (*user, Said("assistant", row.text("assistant", ""), calls)) if replied else (*user,)
    role = _ROLES.get(row.text("role").lower())
    # Where the text is null, nothing was said: a reply that was filtered, or that only called a tool.
    text = row.text("content", "" if row.data.keys() & {*_TEXTS, "tool_calls"} else None, *_TEXTS)
    if role == "user":
        return (Said("user", text),)
    return (Said("assistant", text, _calls(row, results)),) if role else ()


def _calls(row: _Reader, results: Mapping[str, Any]) -> tuple[ToolCall, ...]:
    """The tool calls of a message, in our form or in that of a provider; none where it is in neither.

    Another system's field of this name is left alone, as its other fields are.
    """
    given = row.data.get("tool_calls")
    try:
        return tuple(_call(item, results) for item in given) if isinstance(given, list) else ()
    except ValueError:
        return ()


def _call(item: Any, results: Mapping[str, Any]) -> ToolCall:
    call = replace(as_tool_call(item), latency=None)
    told = results.get(str(item.get("id"))) if isinstance(item, Mapping) else None
    return replace(call, result=told) if call.result is None else call


def _results(items: Iterable[Any]) -> dict[str, Any]:
    """What tools gave back where that is a message of its own, by the id of its call."""
    told = [item for item in items if isinstance(item, Mapping) and item.get("role") == "tool"]
    return {
        str(item["tool_call_id"]): plain(item.get("content")) for item in told if item.get("tool_call_id")
    }


def _call_to_json(call: ToolCall) -> dict[str, Any]:
    return {
        "name": call.name,
        "arguments": dict(call.arguments),
        "result": call.result,
        "error": call.error,
    }


class _Reader:
    """Takes values of known kinds out of a row that somebody else may have written."""

    def __init__(self, data: Any, what: str) -> None:
        if not isinstance(data, Mapping):
            raise ResultsError(f"a {what} should be an object, but is {json.dumps(data, default=str)[:60]}")
        self.data = data
        self._what = what

    def text(self, name: str, default: str | None = None, *aliases: str) -> str:
        value = self.data.get(name)
        if value is None:
            value = next((self.data[key] for key in aliases if self.data.get(key) is not None), default)
        if not isinstance(value, str):
            raise self.wrong(name, "a text")
        return value

    def number(self, name: str, default: int) -> int:
        value = self.data.get(name)
        value = default if value is None else value
        if not isinstance(value, int) or isinstance(value, bool):
            raise self.wrong(name, "a whole number")
        return value

    def truth(self, name: str) -> bool | None:
        value = self.data.get(name)
        if value is not None and not isinstance(value, bool):
            raise self.wrong(name, "true, false or null")
        return value

    def items(self, name: str) -> list[Any]:
        value = self.data.get(name) or []
        if not isinstance(value, list):
            raise self.wrong(name, "a list")
        return value

    def mapping(self, name: str) -> Mapping[Any, Any]:
        value = self.data.get(name) or {}
        if not isinstance(value, Mapping):
            raise self.wrong(name, "an object")
        return value

    def wrong(self, name: str, expected: str) -> ResultsError:
        """What to raise for a value that is missing or of another kind than is expected."""
        which = f" {self.data['id']}" if isinstance(self.data.get("id"), str) else ""
        found = json.dumps(self.data[name], default=str)[:60] if name in self.data else "missing"
        return ResultsError(f"the {self._what}{which}: `{name}` should be {expected}, but is {found}")
