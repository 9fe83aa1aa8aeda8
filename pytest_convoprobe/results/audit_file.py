"""`audit.json` in the folder of stored runs: how often the gate of this suite is wrong, as measured.

`convoprobe audit` writes it. Reports show it with its age, and a scenario whose verdicts flip blocks nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from .fingerprints import NO_PRINTS, Prints, changed_inputs
from .kept_json import read_kept, replace_kept

FILE = "audit.json"
VERSION = 1

MOST_AGE = 30 * 86_400.0
"""In seconds. Models, agents and suites have changed since an older audit."""

MOST_FLIPS = 0.1
"""A scenario with a larger share of verdicts that flip blocks nothing."""

# One flip of three conversations is no share of a third that anybody should act on.
LEAST_REJUDGED = 5


@dataclass(frozen=True)
class GateFigures:
    """What became of gates that were drawn from stored conversations.

    `red` of `gates` were red though nothing had changed, and `red_at_most` is the upper bound of that share
    at 95 %. `talks` is the mean number of conversations a scenario, `talks_95` that of the dearest gate but
    one in twenty. `undecided` is the share of scenarios without a decision. `missed` is the share of broken
    suites that were not red, by what was broken (`always`, `half`, `a third`) and in how many of the
    scenarios (`one`, `a tenth`, `all`); empty where nobody knows what the scenarios can notice. `cost` is in
    US dollars a scenario; None where a price isn't known.
    """

    gates: int
    red: int
    red_at_most: float
    undecided: float
    talks: float
    talks_95: float
    missed: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    cost: float | None = None

    def missed_of(self, part: str, extent: str) -> float | None:
        """One of the shares; None where it isn't known."""
        return self.missed.get(part, {}).get(extent)


@dataclass(frozen=True)
class FlipFigures:
    """Stored conversations that were judged again in another order.

    `asked` had a verdict both times, and `flipped` of them another one. `lost` had none the second time.
    """

    asked: int = 0
    flipped: int = 0
    lost: int = 0

    @property
    def share(self) -> float | None:
        return self.flipped / self.asked if self.asked else None


@dataclass(frozen=True)
class ScenarioAudit:
    """What was found of one scenario.

    `failed` of its stored `talks` failed. `red` counts the gates without a change that it made red.
    `per_gate` is the mean number of conversations of one gate. `sees` is the share of mutants that it
    notices, None where that is unknown; `blind` are its criteria that let one through. `flips` are of its
    verdicts, and `flipping` the criteria that flipped, with how often.
    """

    scenario_id: str
    talks: int
    failed: int
    red: int = 0
    per_gate: float = 0.0
    sees: float | None = None
    blind: tuple[str, ...] = ()
    flips: FlipFigures = FlipFigures()
    flipping: Mapping[str, int] = field(default_factory=dict)
    prints: Prints = NO_PRINTS

    @property
    def is_unsteady(self) -> bool:
        """Whether its verdicts flip too often for it to block anything."""
        enough = self.flips.asked >= LEAST_REJUDGED
        return enough and (self.flips.share or 0.0) > MOST_FLIPS

    def is_about(self, prints: Prints) -> bool:
        """Whether it still holds for a trial with these fingerprints: same scenario, prompts and judge."""
        return not changed_inputs(self.prints, prints)


@dataclass(frozen=True)
class LiveFigures:
    """Whole gates that were run with the agent as it is: `red` of `gates`, and their conversations."""

    gates: int
    red: int
    talks: float


@dataclass(frozen=True)
class Audit:
    """How often the gate of a suite is wrong.

    `at` is when it was measured, in seconds since 1970, on the stored `runs`. `policy` and `alpha` are the
    gate's. `votes` counts second votes in the stored conversations and `overruled` those that took a finding
    back. `broken` has the promises that don't hold, in words, and `advice` what to change; `unknown` says
    what could not be measured.
    """

    at: float
    runs: tuple[str, ...]
    policy: str
    alpha: float
    judge: str
    gate: GateFigures
    scenarios: tuple[ScenarioAudit, ...] = ()
    flips: FlipFigures = FlipFigures()
    votes: int = 0
    overruled: int = 0
    live: LiveFigures | None = None
    broken: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()

    def of(self, scenario_id: str) -> ScenarioAudit | None:
        """What was found of a scenario."""
        return next((one for one in self.scenarios if one.scenario_id == scenario_id), None)

    def is_old(self, now: float) -> bool:
        """Whether it no longer says much about the suite of today."""
        return now - self.at > MOST_AGE

    def changed_since(self, prints: Mapping[str, Prints]) -> int:
        """How many scenarios rest on other fingerprints now, or were not measured."""
        known = {one.scenario_id: one for one in self.scenarios}
        return sum(name not in known or not known[name].is_about(now) for name, now in prints.items())

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        scenarios = [{**asdict(one), "prints": one.prints.to_json()} for one in self.scenarios]
        return {**asdict(self), "scenarios": scenarios}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Audit:
        """What `to_json` gave. Raises `LookupError`, `TypeError` or `ValueError` for anything else."""
        live = data["live"]
        return cls(
            **{
                **data,
                "runs": tuple(data["runs"]),
                "gate": GateFigures(**data["gate"]),
                "scenarios": tuple(map(_scenario, data["scenarios"])),
                "flips": FlipFigures(**data["flips"]),
                "live": None if live is None else LiveFigures(**live),
                "broken": tuple(data["broken"]),
                "unknown": tuple(data["unknown"]),
                "advice": tuple(data["advice"]),
            }
        )


def _scenario(data: Mapping[str, Any]) -> ScenarioAudit:
    return ScenarioAudit(
        **{
            **data,
            "blind": tuple(data["blind"]),
            "flips": FlipFigures(**data["flips"]),
            "prints": Prints.from_json(data["prints"]),
        }
    )


def read_audit(results: Path) -> Audit | None:
    """The last audit; None without one, or if a later release wrote it.

    Raises `ResultsError` for a file that can't be read.
    """
    return read_kept(results / FILE, _audit, writer="convoprobe audit")


def _audit(data: Any) -> Audit | None:
    return Audit.from_json(data["audit"]) if data["version"] <= VERSION else None


def write_audit(results: Path, audit: Audit) -> None:
    """Keep it, in place of the last one. Raises `ResultsError` where that is refused."""
    replace_kept(results, results / FILE, lambda: {"version": VERSION, "audit": audit.to_json()})
