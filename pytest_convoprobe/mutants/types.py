"""What a mutant is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from ..transcript import Transcript


class MutantKind(str, Enum):
    """How a conversation was changed."""

    REFUSAL = "refusal"
    EMPTY_REPLY = "empty_reply"
    NUMBER = "number"
    CLAIM_WITHOUT_CALL = "claim_without_call"
    CONTRADICTION = "contradiction"
    FORBIDDEN_WORDS = "forbidden_words"
    DROPPED_TURN = "dropped_turn"
    WRONG_ARGUMENT = "wrong_argument"
    PROHIBITED_CALL = "prohibited_call"
    ORDER_TO_JUDGE = "order_to_judge"
    PARAPHRASE = "paraphrase"

    @property
    def words(self) -> str:
        """The kind as people write it: `claim without call`."""
        return self.value.replace("_", " ")


@dataclass(frozen=True)
class ChangedTalk:
    """A changed conversation, before code has looked at it.

    `claims` are the criteria that it breaks for certain, by id, each with the reason. `sentence` is what was
    put in or what was left, and `turn` where that is.
    """

    kind: MutantKind
    transcript: Transcript
    claims: Mapping[str, str]
    sentence: str
    turn: int


@dataclass(frozen=True)
class Mutant:
    """A conversation that must fail, or, as a control, one that must still pass.

    `must_fail` are the ids of criteria (`c1`) and the names of checks that must not hold for it. `by_code`
    are those among them that are checks: it is certain already that they fail, so no judge need be asked.
    A control has `must_hold` instead: the ids of the criteria that held before and must hold still. `why`
    says why it must fail. `sentence` is the place that was changed, in turn `turn`.
    """

    kind: MutantKind
    transcript: Transcript
    must_fail: tuple[str, ...]
    why: str
    sentence: str
    turn: int
    by_code: tuple[str, ...] = ()
    must_hold: tuple[str, ...] = field(default=())

    @property
    def is_control(self) -> bool:
        return self.kind is MutantKind.PARAPHRASE

    @property
    def criteria(self) -> tuple[str, ...]:
        """The ids of the criteria that a judge has to find broken, or in a control to hold."""
        return self.must_hold or tuple(one for one in self.must_fail if one not in self.by_code)
