"""`mutations.json` in the folder of stored runs: which criteria noticed that a conversation was changed.

`convoprobe mutate` writes it, a part for each scenario. The audit reads it, and so does whoever asks which
criteria aren't fit to gate.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ..errors import ResultsError
from .fingerprints import Prints, changes
from .kept_json import read_kept, replace_kept

FILE = "mutations.json"
VERSION = 1


@dataclass(frozen=True)
class CriterionScore:
    """How many mutants that must fail a criterion did: `caught`. `survived` are those that it held for.

    `undecided` are those of which the judge could not tell. A criterion that none is about has three zeros:
    nobody knows whether it can fail.
    """

    id: str
    text: str
    caught: int = 0
    survived: int = 0
    undecided: int = 0

    @property
    def score(self) -> float | None:
        """The share of the decided mutants that were caught, from 0 to 1; None without any."""
        decided = self.caught + self.survived
        return self.caught / decided if decided else None


@dataclass(frozen=True)
class Remark:
    """A mutant that a criterion let through, or a control that it failed. `sentence` is what was changed."""

    kind: str
    criterion: str
    text: str
    turn: int
    sentence: str
    why: str


@dataclass(frozen=True)
class ScenarioMutations:
    """What came of the mutants of one scenario.

    `run` is the stored run with the conversation, `at` when its mutants were judged (seconds since 1970), and
    `judge` the model. `by_code` counts the mutants that checks decide. `caught`, `survived` and `undecided`
    count whole mutants, of which a scenario lets one through if none of its criteria and checks fails.
    `verdicts` are the judge's on each mutant, by its digest: whether each criterion holds, by id.
    """

    scenario_id: str
    run: str
    at: float
    judge: str
    prints: Prints
    by_code: int
    caught: int
    survived: int
    undecided: int
    criteria: tuple[CriterionScore, ...] = ()
    survivors: tuple[Remark, ...] = ()
    failed_controls: tuple[Remark, ...] = ()
    verdicts: Mapping[str, Mapping[str, bool | None]] = field(default_factory=dict)

    @property
    def score(self) -> float | None:
        """The share of mutants that the scenario notices, from 0 to 1; None without any."""
        decided = self.caught + self.survived
        return self.caught / decided if decided else None

    @property
    def blind(self) -> tuple[str, ...]:
        """The texts of the criteria that let a mutant through: they aren't fit to gate."""
        return tuple(one.text for one in self.criteria if one.survived)

    def is_about(self, prints: Prints) -> bool:
        """Whether it still holds for a trial with these fingerprints: same scenario, prompts and judge."""
        return not changes(self.prints, prints)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {**asdict(self), "prints": self.prints.to_json()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ScenarioMutations:
        """What `to_json` gave. Raises `LookupError`, `TypeError` or `ValueError` for anything else."""
        return cls(
            **{
                **data,
                "prints": Prints.from_json(data["prints"]),
                "criteria": tuple(CriterionScore(**one) for one in data["criteria"]),
                "survivors": tuple(Remark(**one) for one in data["survivors"]),
                "failed_controls": tuple(Remark(**one) for one in data["failed_controls"]),
            }
        )


def read_mutations(results: Path) -> dict[str, ScenarioMutations]:
    """What is known, by scenario id; empty without a file. What a later release wrote is left out.

    Raises `ResultsError` for a file that can't be read.
    """
    return read_kept(results / FILE, _scenarios, writer="convoprobe mutate") or {}


def _scenarios(data: Any) -> dict[str, ScenarioMutations]:
    stored = data["scenarios"] if data["version"] <= VERSION else {}
    return {name: ScenarioMutations.from_json(one) for name, one in stored.items()}


def add_mutations(results: Path, found: Iterable[ScenarioMutations]) -> None:
    """Put scenarios in, in place of what was known of them. Raises `ResultsError` where that is refused."""

    def content() -> dict[str, Any]:
        known = _known(results) | {one.scenario_id: one for one in found}
        return {"version": VERSION, "scenarios": {name: known[name].to_json() for name in sorted(known)}}

    replace_kept(results, results / FILE, content)


def check_mutations_can_be_kept(results: Path) -> None:
    """Write what is known once more: a folder that refuses it is found out before anything is paid for.

    Raises `ResultsError`.
    """
    add_mutations(results, ())


def _known(results: Path) -> dict[str, ScenarioMutations]:
    try:
        return read_mutations(results)
    except ResultsError:
        return {}  # a broken file is no reason to lose what was just paid for
