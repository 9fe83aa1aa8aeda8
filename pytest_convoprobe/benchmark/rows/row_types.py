"""The rows of the files that the stages write: what they contain, where they belong, what counts as a change.

Names of files and fields are those of the format (see docs/benchmarks/files.md). `key` is ours: the digest
of what a row was made of. A row without one came from somewhere else, and is taken as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator, TypeAdapter

from ...errors import ResultsError
from .messages import Said, read_messages
from .other_names import in_our_words
from .reading import Number, Text, Truth, read_object, wrong_value
from .row_keys import digest
from .scenario_ids import parts_of
from .work import Place, Row

if TYPE_CHECKING:
    from ..format.models import MetricType


@dataclass(frozen=True)
class LandmarkTurn:
    """What the user is to do in a turn; turns count from 1."""

    turn: Number
    instruction: Text


def _in_first_turn(data: Any) -> Any:
    """A landmark without a turn is one for the first: others leave it out."""
    return {**data, "turn": 1} if isinstance(data, Mapping) and data.get("turn") is None else data


def _known_texts(data: Any) -> Any:
    if not isinstance(data, Mapping):
        return data
    return {str(name): str(value) for name, value in data.items() if value is not None}


@dataclass(frozen=True)
class ScenarioRow:
    """A line of `scenarios.json`: one scenario of a metric in one demographic variant.

    `draft` is ours, as `key` is: the digest of what all variants of the scenario were rewritten from.
    """

    id: Text
    metric_id: Text
    persona: Text = ""
    user_goal: Text = ""
    latent_adversarial_goal: Text = ""
    landmarks: tuple[Annotated[LandmarkTurn, BeforeValidator(_in_first_turn)], ...] = ()
    demographic: Annotated[Mapping[str, str], BeforeValidator(_known_texts)] = field(default_factory=dict)
    target_system_prompt: Annotated[Text | None, BeforeValidator(lambda text: text or None)] = None
    draft: Text = ""
    key: Text = ""

    @property
    def base(self) -> str:
        """The scenario without its variant, `m01_s002`: what variants of one situation have in common."""
        return parts_of(self.id).base

    @property
    def variant(self) -> str:
        """`v01`; empty where the id does not have one."""
        return parts_of(self.id).variant

    def to_json(self) -> dict[str, Any]:
        return _without_empty(
            _SCENARIO.dump_python(self, mode="json"), "target_system_prompt", "draft", "key"
        )

    @classmethod
    def from_json(cls, data: Any) -> ScenarioRow:
        """Raises `ResultsError` naming what is missing or of the wrong kind."""
        return read_object(_SCENARIO, in_our_words(data), "scenario")


CALLED = "tools-"
"""What the digest of a conversation begins with in which tools were called."""


@dataclass(frozen=True)
class ConversationRow:
    """A line of `runs/<target>/conversations.json`; our own samples count from 1, those of others from 0.

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
            "transcript": [said.to_json() for said in self.messages],
            "termination": self.termination,
            "key": self.key,
        }
        return _without_empty(data, "key")

    @classmethod
    def from_json(cls, data: Any) -> ConversationRow:
        """Takes the messages under any of the usual names. Raises `ResultsError`."""
        read = read_object(_CONVERSATION, in_our_words(data), "conversation")
        name = next((name for name in _MESSAGES if name in data), _MESSAGES[0])
        items = data.get(name) or []
        if not isinstance(items, list):
            raise wrong_value(data, "conversation", name, "a list")
        said = read_messages(items)
        return cls(read.id, read.sample, said, read.metric_id, read.target, read.termination, read.key)


# Ours were called `conversation` before.
_MESSAGES = ("transcript", "conversation", "messages", "turns")


@dataclass(frozen=True)
class _AboutConversation:
    """All of a conversation but its messages, of which there are several forms."""

    id: Text
    sample: Number = 1
    metric_id: Text = ""
    target: Text = ""
    termination: Text = ""
    key: Text = ""


@dataclass(frozen=True)
class ScoreRow:
    """A line of `runs/<target>/scores.json`: whether one conversation shows one behaviour.

    `present`, `passed` and `score` (1.0 or 0.0) are None where the evaluator gave no readable answer.
    """

    id: Text
    metric_id: Text
    sample: Number = 1
    present: Truth | None = None
    passed: Truth | None = None
    justification: Text = ""
    key: Text = ""

    @property
    def score(self) -> float | None:
        return None if self.passed is None else float(self.passed)

    @property
    def unreadable(self) -> bool:
        """Whether the evaluator's answer could not be read. Others may write `passed` alone."""
        return self.present is None and self.passed is None

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
            "key": self.key,
        }
        return _without_empty(data, "key")

    @classmethod
    def from_json(cls, data: Any) -> ScoreRow:
        """Raises `ResultsError`."""
        return read_object(_SCORE, _with_verdict(in_our_words(data)), "score")


_SCENARIO = TypeAdapter(ScenarioRow)
_CONVERSATION = TypeAdapter(_AboutConversation)
_SCORE = TypeAdapter(ScoreRow)


def _with_verdict(data: Any) -> Any:
    """Where others give a score of 0 or 1 alone, it says whether the conversation passed."""
    if not isinstance(data, Mapping) or not (data.get("passed") is data.get("present") is None):
        return data
    # True and False equal 1 and 0.
    return {**data, "passed": bool(data["score"])} if data.get("score") in (0, 1) else data


def _without_empty(data: dict[str, Any], *optional: str) -> dict[str, Any]:
    return {name: value for name, value in data.items() if value or name not in optional}


@dataclass(frozen=True)
class RowKind:
    """A kind of rows as a table needs to know it.

    `places` are those that a row of a file may have, the likeliest first; it raises `ResultsError`.
    `digest` is of all that a later stage makes of the row. A `dated` row says on which day it was made. Rows
    that are `kept_by_hand` are somebody's own work if they were written or edited by hand: they are
    not made again, even where all others are.
    """

    places: Callable[[Any, str], tuple[Place, ...]]
    digest: Callable[[Row], str]
    dated: bool = False
    kept_by_hand: bool = False


def _content(row: Row) -> str:
    return digest({name: value for name, value in row.items() if name not in ("key", "draft")})


def _of_scenario(row: Any, target: str) -> tuple[Place, ...]:
    return (Place(ScenarioRow.from_json(row).id),)


def _of_conversation(row: Any, target: str) -> tuple[Place, ...]:
    read = ConversationRow.from_json(row)
    return (Place(read.id, read.sample, target=target),)


def _of_score(row: Any, target: str) -> tuple[Place, ...]:
    """A place without a metric is that of the scenario's own metric. Not every id says which that is."""
    read = ScoreRow.from_json(row)
    made_for = parts_of(read.id).metric
    other = Place(read.id, read.sample, read.metric_id, target)
    if made_for and made_for != read.metric_id:
        return (other,)
    own = Place(read.id, read.sample, target=target)
    return (own,) if made_for else (own, other)


def _of_none(row: Any, target: str) -> tuple[Place, ...]:
    raise ResultsError("rows of this kind are not kept in a file for people")


SCENARIOS = RowKind(_of_scenario, _content, kept_by_hand=True)
CONVERSATIONS = RowKind(_of_conversation, lambda row: ConversationRow.from_json(row).digest, dated=True)
SCORES = RowKind(_of_score, _content)
INTERNAL = RowKind(_of_none, _content)
