"""How far a judge agrees with labels: pure functions over answers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass

from ..stats import Interval, clustered, clustered_kappa_interval, cohen_kappa

_UNDECIDED = "undecided"


@dataclass(frozen=True)
class LabelAnswer:
    """What the truth and the judge say of one criterion of one conversation.

    Both are about the agent: True speaks for it, False against it. `judged` is None where the judge could not
    tell, or gave no usable reply. `why` is the judge's finding, or what was wrong with its reply. `score` is
    what a judge by log-odds measured; it is about the sentence itself, and `truth` says whether that is true.
    """

    conversation: str
    criterion: str
    holds: bool
    judged: bool | None
    kind: str = ""
    why: str = ""
    score: float | None = None
    truth: bool | None = None

    @property
    def agrees(self) -> bool:
        """Whether the judge said what is true. An undecided answer is never agreement."""
        return self.judged is self.holds


@dataclass(frozen=True)
class Share:
    """A share of labels with its interval at 95 %, in which labels of one conversation resemble each other.

    `interval` is None where there are no labels to say it of.
    """

    part: int
    whole: int
    interval: Interval | None = None

    @property
    def value(self) -> float | None:
        return self.part / self.whole if self.whole else None


@dataclass(frozen=True)
class JudgeFigures:
    """The figures of a judge on labels.

    `sensitivity` is the share of the faults that the judge finds, `specificity` the share of what is in order
    that it accepts. What it could not tell counts as neither found nor accepted: an undecided answer is no
    agreement, and leaving it out would let a judge choose its labels. In `kappa` it is a third answer.
    """

    labels: int
    conversations: int
    agreed: Share
    sensitivity: Share
    specificity: Share
    undecided: int
    kappa: float | None
    kappa_interval: Interval | None = None


def figures_of(answers: Iterable[LabelAnswer]) -> JudgeFigures:
    """The figures over all answers; without any, of nothing."""
    every = list(answers)
    clusters = _by_conversation(every)
    pairs = [[_pair(one) for one in cluster] for cluster in clusters]
    return JudgeFigures(
        labels=len(every),
        conversations=len(clusters),
        agreed=_share(clusters, lambda _: True),
        sensitivity=_share(clusters, lambda one: not one.holds),
        specificity=_share(clusters, lambda one: one.holds),
        undecided=sum(one.judged is None for one in every),
        kappa=cohen_kappa(pair for cluster in pairs for pair in cluster),
        kappa_interval=clustered_kappa_interval(pairs),
    )


def _by_conversation(answers: Iterable[LabelAnswer]) -> list[list[LabelAnswer]]:
    """In a fixed order: the bootstrap draws by position, and a figure must not depend on who was first."""
    found: defaultdict[str, list[LabelAnswer]] = defaultdict(list)
    for one in answers:
        found[one.conversation].append(one)
    return [found[name] for name in sorted(found)]


def _share(clusters: Sequence[Sequence[LabelAnswer]], of: Callable[[LabelAnswer], bool]) -> Share:
    agreed = [[one.agrees for one in cluster if of(one)] for cluster in clusters]
    whole = sum(map(len, agreed))
    interval = clustered(cluster for cluster in agreed if cluster) if whole else None
    return Share(sum(map(sum, agreed)), whole, interval)


def _pair(one: LabelAnswer) -> tuple[Hashable, Hashable]:
    return one.holds, _UNDECIDED if one.judged is None else one.judged
