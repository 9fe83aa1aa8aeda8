"""Permalinks: the ids of trials, turns and findings on a page, which are the same in each run.

They are made of the scenario's id and numbers, never of a place in the list. They have only lower-case
letters of ASCII, digits and hyphens, so that they are the same in an address, in HTML and in a script.
"""

from __future__ import annotations

import hashlib
import re

from ...result import ScenarioResult

_READABLE = 48
_NO_PART_OF_AN_ID = re.compile(r"[^a-z0-9]+")


def anchor(result: ScenarioResult) -> str:
    """`refund-after-a-month-1f3a9c7be2`, of its second trial `refund-after-a-month-1f3a9c7be2-trial-2`."""
    scenario = scenario_anchor(result.scenario_id)
    return scenario if result.trial == 1 else f"{scenario}-trial-{result.trial}"


def scenario_anchor(scenario_id: str) -> str:
    """The end of the scenario's id for people, and a digest of the whole: similar names differ by it."""
    name = _slug(scenario_id.rpartition("::")[2])[:_READABLE].strip("-")
    digest = hashlib.sha256(scenario_id.encode("utf-8", "surrogatepass")).hexdigest()[:10]
    return f"{name}-{digest}" if name else f"s-{digest}"


def turn_anchor(trial: str, number: int) -> str:
    """Of a turn, in the trial with this anchor."""
    return finding_anchor(trial, f"turn-{number}")


def finding_anchor(trial: str, name: str) -> str:
    """Of a criterion by its id (`f1`), or of a check by `check-` and its number."""
    return f"{trial}-{_slug(name)}"


def _slug(text: str) -> str:
    return _NO_PART_OF_AN_ID.sub("-", text.lower()).strip("-")
