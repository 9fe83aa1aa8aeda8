"""The criteria of an ADK suite: `test_config.json`, or what ADK takes without one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..sources import ForeignFile, load, refused
from .cases import rubrics_in, snake

FILE = "test_config.json"
_MATCH_TYPES = {0: "EXACT", 1: "IN_ORDER", 2: "ANY_ORDER"}


@dataclass(frozen=True)
class AdkCriterion:
    """One criterion: a threshold alone, or with settings of its metric."""

    name: str
    threshold: float | None
    settings: Mapping[str, Any] = field(default_factory=dict)
    custom: bool = False

    @property
    def match_type(self) -> str:
        """How calls are compared: EXACT, IN_ORDER or ANY_ORDER."""
        found = self.settings.get("match_type", 0)
        return _MATCH_TYPES.get(found, "") if isinstance(found, int) else str(found).upper()

    @property
    def ignores_args(self) -> bool:
        """Whether the names of the tools alone are compared."""
        return bool(self.settings.get("ignore_args"))

    @property
    def rubrics(self) -> list[str]:
        """The sentences that it has itself."""
        return rubrics_in(self.settings.get("rubrics"))

    @property
    def is_partial(self) -> bool:
        """Whether a part of the turns, or of a score, was enough."""
        return self.threshold is not None and 0 < self.threshold < 1

    @property
    def never_failed(self) -> bool:
        """Whether any score was enough."""
        return self.threshold is not None and self.threshold <= 0


DEFAULT = (AdkCriterion("tool_trajectory_avg_score", 1.0), AdkCriterion("response_match_score", 0.8))
"""What ADK takes without a file."""


@dataclass(frozen=True)
class AdkCriteria:
    """All criteria. `source` is None for those that ADK takes by default; `others` are other keys."""

    each: tuple[AdkCriterion, ...]
    source: ForeignFile | None = None
    others: Mapping[str, Any] = field(default_factory=dict)

    @property
    def max_turns(self) -> int:
        """How many messages ADK's simulated user sends at most."""
        found = snake(self.others.get("user_simulator_config")).get("max_allowed_invocations")
        return found if isinstance(found, int) and found > 0 else 20


def criteria_for(eval_set: Path, given: Path | None) -> AdkCriteria:
    """Those of the given file, or of `test_config.json` beside the eval set, or ADK's own.

    Raises `ScenarioFileError`.
    """
    path = given or eval_set.with_name(FILE)
    if given is None and not path.is_file():
        return AdkCriteria(DEFAULT)
    source = load(path)
    top = snake(source.data)
    found = top.pop("criteria", None)
    if not isinstance(found, Mapping):
        raise refused("a file with criteria has a mapping `criteria`, and there is none here", source.name)
    custom = top.get("custom_metrics") if isinstance(top.get("custom_metrics"), Mapping) else {}
    each = tuple(_criterion(str(name), value, name in (custom or {})) for name, value in found.items())
    return AdkCriteria(each, source, top)


def _criterion(name: str, value: Any, custom: bool) -> AdkCriterion:
    settings = snake(value)
    threshold = settings.get("threshold") if settings else value
    is_number = isinstance(threshold, (int, float)) and not isinstance(threshold, bool)
    return AdkCriterion(name, threshold if is_number else None, settings, custom)
