"""The table of the plug-in's options: their names, their values, and the settings that they change."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import pytest


class BadValue(argparse.ArgumentTypeError, ValueError):
    """An invalid value; argparse shows the message."""


N = TypeVar("N", int, float)


def _checked(text: str, kind: Callable[[str], N], fits: Callable[[N], bool], expected: str) -> N:
    try:
        number = kind(text)
    except ValueError:
        raise BadValue(f"expected {expected}, got {text!r}") from None
    if not fits(number):
        raise BadValue(f"expected {expected}, got {text!r}")
    return number


HTML = "--convoprobe-html"


def at_least_one(text: str) -> int:
    """A whole number from 1."""
    return _checked(text, int, lambda number: number >= 1, "a whole number from 1")


def not_negative(text: str) -> float:
    """A number from 0; neither `nan` nor `inf` is one."""
    return _checked(text, float, lambda number: 0 <= number < math.inf, "a number from 0")


def whole(text: str) -> int:
    """A whole number from 0."""
    return _checked(text, int, lambda number: number >= 0, "a whole number from 0")


def positive(text: str) -> float:
    """A number above 0."""
    return _checked(text, float, lambda number: 0 < number < math.inf, "a number above 0")


def share(text: str) -> float:
    """A number between 0 and 1."""
    return _checked(text, float, lambda number: 0 < number < 1, "a number between 0 and 1")


def names(text: str) -> tuple[str, ...]:
    """Names with commas between them, one at least."""
    found = tuple(dict.fromkeys(name for one in text.split(",") if (name := one.strip())))
    if not found:
        raise BadValue(f"expected names with commas between them, got {text!r}")
    return found


def one_of(choices: tuple[str, ...], text: str) -> str:
    """A word of a choice; for any other the nearest one is named."""
    if text in choices:
        return text
    from ..suggest import did_you_mean

    raise BadValue(f"expected one of {', '.join(choices)}, got {text!r}{did_you_mean(text, choices)}")


# pytest 8.4 is the first to know numbers.
_HAS_NUMBERS = pytest.version_tuple[:2] >= (8, 4)
_INI_TYPES: dict[Callable[[str], Any], str] = {
    at_least_one: "int",
    whole: "int",
    not_negative: "float",
    positive: "float",
    share: "float",
}


class Option(NamedTuple):
    """One option.

    `settings` are the dotted settings that it overrides, `ini` says whether an ini file may set it, `several`
    whether it may be given several times.
    """

    # Not a dataclass: creating one costs time at the start of every suite, with or without scenarios.

    name: str
    help: str
    settings: tuple[str, ...] = ()
    parse: Callable[[str], Any] = str
    choices: tuple[str, ...] = ()
    metavar: str | None = None
    ini: bool = False
    several: bool = False

    @property
    def flag(self) -> str:
        return "--" + self.key.replace("_", "-")

    @property
    def ini_type(self) -> Any:
        """What pytest is to read in its ini file: in `[tool.pytest]` of TOML, a number is one."""
        return _INI_TYPES.get(self.parse, "string") if _HAS_NUMBERS else "string"

    @property
    def key(self) -> str:
        """The name in the ini file and on `config.option`."""
        return "convoprobe_" + self.name


OPTIONS = (
    Option(
        "config",
        "Read convoprobe's settings from this file (default: convoprobe.yaml, .convoprobe.yaml or "
        "[tool.convoprobe] in pyproject.toml, found upwards from the rootdir).",
        metavar="FILE",
        ini=True,
    ),
    Option(
        "concurrency",
        "Run up to N conversations concurrently (default: 16).",
        ("run.concurrency",),
        at_least_one,
        metavar="N",
        ini=True,
    ),
    Option(
        "trials",
        "Run each scenario N times, with an item for each trial (default: 1).",
        (),
        at_least_one,
        metavar="N",
        ini=True,
    ),
    Option(
        "min_scenarios",
        "Fail the run if fewer than N scenarios ran; skipped ones don't count (default: 0).",
        (),
        whole,
        metavar="N",
        ini=True,
    ),
    Option(
        "replay",
        "Answer model calls from recordings: off, auto (record what is missing), only (never call "
        "a model), record (record everything again). Default: off.",
        ("run.replay",),
        choices=("off", "auto", "only", "record"),
        ini=True,
    ),
    Option(
        "inconclusive",
        "The outcome of a scenario that the judge cannot decide (default: error).",
        ("run.inconclusive",),
        choices=("error", "fail", "skip"),
        ini=True,
    ),
    Option(
        "stored_rows",
        "Which stored conversations of earlier sessions the gate of a benchmark uses: known (those with a "
        "target that settings and a reported version describe wholly), allow (all that fit), refuse (none). "
        "Default: gate.stored_rows of benchmark.yaml, else known.",
        choices=("known", "allow", "refuse"),
        ini=True,
    ),
    Option(
        "max_cost",
        "Stop calling models once the run has spent this many US dollars.",
        ("run.max_cost",),
        not_negative,
        metavar="USD",
        ini=True,
    ),
    Option(
        "max_tokens",
        "Stop calling models once the run has used this many tokens.",
        ("run.max_tokens",),
        whole,
        metavar="N",
        ini=True,
    ),
    Option(
        "scenario_timeout",
        "Stop a scenario after this many seconds (default: 900).",
        ("run.scenario_timeout",),
        positive,
        metavar="SECONDS",
        ini=True,
    ),
    Option(
        "turn_timeout",
        "Stop a scenario if a turn takes more than this many seconds (default: 120).",
        ("run.turn_timeout",),
        positive,
        metavar="SECONDS",
        ini=True,
    ),
    Option(
        "model",
        "The model of the synthetic user and of the judge; the target doesn't change.",
        ("synthetic_user.model", "judge.model"),
        metavar="MODEL",
        ini=True,
    ),
    Option("judge_model", "The judge's model.", ("judge.model",), metavar="MODEL", ini=True),
    Option(
        "judge_panel",
        "More models that vote on each conversation beside the judge's: names with commas between them. The "
        "majority decides, or all with judge.agreement: unanimous.",
        ("judge.panel",),
        metavar="MODEL,…",
        ini=True,
    ),
    Option(
        "target",
        "Only these targets, by their names in the settings' `targets`: with commas between them, or given "
        "several times (default: all of them).",
        parse=names,
        metavar="NAME,…",
        several=True,
    ),
    Option("user_model", "The synthetic user's model.", ("synthetic_user.model",), metavar="MODEL", ini=True),
    Option("html", "Write an HTML report on this run into one file.", metavar="PATH", ini=True),
    Option(
        "baseline",
        "Compare with this stored run: its id, `latest`, its folder, or a git branch, tag or commit; or with "
        "the file of a baseline (default: `_baseline.json` beside the scenarios).",
        metavar="RUN",
        ini=True,
    ),
    Option(
        "fail_on",
        "With a baseline: the changes that make the exit status 1 even if pytest itself passed "
        "(default: regression).",
        choices=("regression", "new-failure", "none"),
        ini=True,
    ),
    Option(
        "gate",
        "What makes a scenario fail: auto, paired (more often than before), confirm (two of at most three "
        "conversations), each (every trial is an item). Default: auto.",
        ("gate.policy",),
        choices=("auto", "paired", "confirm", "each"),
        ini=True,
    ),
    Option(
        "alpha",
        "The share of runs that the paired gate may fail on an unchanged agent (default: 0.05).",
        ("gate.alpha",),
        share,
        metavar="SHARE",
        ini=True,
    ),
    Option(
        "first",
        "Conversations of each scenario before the paired gate decides anything (default: 1; nightly: 3).",
        ("gate.first",),
        at_least_one,
        metavar="N",
        ini=True,
    ),
    Option(
        "most",
        "Maximum number of conversations of a scenario with the paired gate (default: 20).",
        ("gate.most",),
        at_least_one,
        metavar="N",
        ini=True,
    ),
    Option(
        "gate_budget",
        "Maximum number of conversations that the gate may add to the first ones of all scenarios. They have "
        "equal shares of it; those that would need more are undecided.",
        ("gate.max_talks",),
        whole,
        metavar="TALKS",
        ini=True,
    ),
)
