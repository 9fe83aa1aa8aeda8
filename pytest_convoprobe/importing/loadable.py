"""Imported tests that can be loaded: what can't be a part of a scenario is taken out, and noted."""

from __future__ import annotations

import copy
import re
from dataclasses import replace
from typing import Any

from ..errors import Problem, ScenarioFileError
from ..scenario.loading import parse_scenarios
from ..scenario.new_files import as_yaml
from .building import NO_CHECK, OWN_CHECK, nothing_checked
from .notes import Fate, ImportedTest
from .noting import note

_CHECK = re.compile(
    r"evaluation\.(?:(?P<section>tool_usage|efficiency)\.)?(?P<key>\w+)(?:\[(?P<index>\d+)\])?(?=[.\[]|\Z)"
)
_MOST_ROUNDS = 50


def loadable(test: ImportedTest) -> tuple[ImportedTest, str]:
    """The test with a scenario that can be loaded, and its text; or with none, and no text."""
    for _ in range(_MOST_ROUNDS):
        if test.scenario is None:
            return test, ""
        text = as_yaml(test.scenario, [])
        try:
            parse_scenarios(text)
        except ScenarioFileError as error:
            test = _without(test, error.problems[0])
        else:
            return test, text
    return _refused(test, "too much of it can't be a scenario"), ""


def _without(test: ImportedTest, problem: Problem) -> ImportedTest:
    """The test without the check that a problem is about; refused if it is about something else."""
    scenario = copy.deepcopy(test.scenario or {})
    if not _taken_out(scenario.get("evaluation", {}), problem.path):
        return _refused(test, f"{problem.path}: {problem.message}")
    why = f"no check could be made of it: {problem.message}"
    lost = note(Fate.LOST, test.place, "check that can't be loaded", why, OWN_CHECK)
    scenario["evaluation"] = _filled(scenario["evaluation"])
    if not scenario["evaluation"]:
        scenario["skip"] = NO_CHECK
    return replace(test, scenario=scenario, taken=max(0, test.taken - 1), notes=(*test.notes, lost))


def _taken_out(evaluation: dict[str, Any], path: str) -> bool:
    """Take the check at a path out of an evaluation; False if there is none."""
    match = _CHECK.match(path)
    above: Any = evaluation.get(match["section"], {}) if match and match["section"] else evaluation
    if match is None or match["key"] not in above:
        return False
    found = above[match["key"]]
    if match["index"] is None or not isinstance(found, list):
        del above[match["key"]]
    elif int(match["index"]) < len(found):
        del found[int(match["index"])]
    return True


def _filled(evaluation: dict[str, Any]) -> dict[str, Any]:
    """Without empty parts."""
    sections = ("tool_usage", "efficiency")
    inner = {key: {k: v for k, v in evaluation.get(key, {}).items() if v not in ([], {})} for key in sections}
    return {key: value for key, value in {**evaluation, **inner}.items() if value not in ([], {})}


def _refused(test: ImportedTest, why: str) -> ImportedTest:
    checks = test.taken + test.changed + test.lost
    words = f"no scenario could be made of this test: {why}"
    return replace(test, scenario=None, taken=0, notes=nothing_checked(test.place, words, checks, test.notes))
