"""The plug-in's options, in one table.

An option comes from the command line, else from pytest's ini file (if it has an ini name), else from
convoprobe's own settings.
"""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
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
}


class Option(NamedTuple):
    """One option.

    `settings` are the dotted settings that it overrides, `ini` says whether an ini file may set it.
    """

    # Not a dataclass: creating one costs time at the start of every suite, with or without scenarios.

    name: str
    help: str
    settings: tuple[str, ...] = ()
    parse: Callable[[str], Any] = str
    choices: tuple[str, ...] = ()
    metavar: str | None = None
    ini: bool = False

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
    Option("user_model", "The synthetic user's model.", ("synthetic_user.model",), metavar="MODEL", ini=True),
    Option("html", "Write an HTML report on this run into one file.", metavar="PATH", ini=True),
    Option(
        "baseline",
        "Compare with this stored run: its id, `latest`, its folder, or a git branch, tag or commit.",
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
)


def add_options(parser: pytest.Parser) -> None:
    """Declare all options in one group."""
    group = parser.getgroup("convoprobe", "simulated conversations (convoprobe)")
    for option in OPTIONS:
        _add(parser, group, option)
    group.addoption(
        "--convoprobe-show-config",
        action="store_true",
        default=False,
        help="Print the settings of a run and the source of each, then exit.",
    )
    group.addoption(
        "--convoprobe-no-results",
        action="store_true",
        default=False,
        help="Don't store this run (default: it is stored in .convoprobe).",
    )
    parser.addini(
        "convoprobe_files",
        "Globs of scenario files, relative to the rootdir (default: *.yaml and *.yml below a folder "
        "named scenarios, and *.scenario.yaml anywhere).",
        type="args",
        default=[],
    )


def _add(parser: pytest.Parser, group: pytest.OptionGroup, option: Option) -> None:
    words: dict[str, Any] = {"choices": option.choices} if option.choices else {"metavar": option.metavar}
    if option.parse is not str:
        words["type"] = option.parse
    elif option.choices:
        words["type"] = partial(one_of, option.choices)
    group.addoption(option.flag, dest=option.key, default=None, help=option.help, **words)
    if option.ini:
        parser.addini(option.key, f"Default of {option.flag}.", type=option.ini_type, default=None)


def _option(name: str) -> Option:
    return next(option for option in OPTIONS if option.name == name)


def value_of(config: pytest.Config, name: str) -> Any:
    """An option's value from the command line, else from the ini file, else None.

    An empty text switches off what the ini file sets. Raises `pytest.UsageError` for an invalid value in the
    ini file.
    """
    option = _option(name)
    given = config.getoption(option.key, None)
    if given is None and option.ini:
        given = _from_ini(config, option)
    return None if given == "" else given


def is_from_ini(config: pytest.Config, name: str) -> bool:
    """Whether only the ini file can give the value: it is written for the project, not for this run."""
    return config.getoption(_option(name).key, None) is None


def path_of(config: pytest.Config, name: str) -> Path | None:
    """The path that an option names: as seen from where pytest was started, or from the ini file's folder."""
    value: str | None = value_of(config, name)
    if value is None:
        return None
    if config.getoption(_option(name).key, None) is not None:
        return config.invocation_params.dir / value
    # As pytest takes its own paths: the suite may be started anywhere.
    return (config.inipath.parent if config.inipath else config.rootpath) / value


def check_ini(config: pytest.Config) -> None:
    """Raise `pytest.UsageError` for an invalid value in the ini file, before anything is collected."""
    for option in OPTIONS:
        if option.ini:
            _from_ini(config, option)


def _from_ini(config: pytest.Config, option: Option) -> Any:
    try:
        value = _written(config, option)
        if value in (None, ""):
            return None
        return one_of(option.choices, value) if option.choices else option.parse(str(value))
    except ValueError as error:
        raise pytest.UsageError(f"{option.key} in {_place_of_ini(config, option)}: {error}") from None


def _written(config: pytest.Config, option: Option) -> Any:
    """The value as pytest reads it. Raises ValueError, in our words, for one of another type."""
    try:
        return config.getini(option.key)
    except (pytest.UsageError, TypeError, ValueError) as error:
        # pytest's words differ from version to version, but the value comes last in all of them.
        text = str(error).rpartition(": ")[2]
    if text == "''":
        return None
    try:
        option.parse(f"not {text}")
    except ValueError as error:
        expected = str(error).partition(", got ")[0]
    else:
        expected = "expected a text"
    raise BadValue(f"{expected}, got {text}")


def _place_of_ini(config: pytest.Config, option: Option) -> str:
    overridden: list[str] = config.getoption("override_ini", None) or []
    if any(one.startswith(f"{option.key}=") for one in overridden) or config.inipath is None:
        return "`--override-ini`"
    return os.path.relpath(config.inipath, config.invocation_params.dir)


def any_given(config: pytest.Config) -> bool:
    """Whether the command line or the ini file sets anything of ours: then the project knows of us."""
    inis = ("convoprobe_files", *(option.key for option in OPTIONS if option.ini))
    given = (value for name, value in vars(config.option).items() if name.startswith("convoprobe_"))
    return any(given) or any(map(config.getini, inis))


def overrides(config: pytest.Config) -> dict[str, Any]:
    """What the options change in the settings, by dotted path.

    The command line comes before the ini file, also where it has the more general option. Within each, the
    later in the table wins.
    """
    found: dict[str, Any] = {}
    for ours in (False, True):
        for option in OPTIONS:
            on_command_line = config.getoption(option.key, None) is not None
            value = value_of(config, option.name) if on_command_line is ours else None
            if value is not None:
                found |= dict.fromkeys(option.settings, value)
    return found


def places_in_ini(config: pytest.Config) -> dict[str, str]:
    """The settings, by dotted path, that pytest's ini file sets and no option does; with that file's name."""
    on_command_line = [one for one in OPTIONS if config.getoption(one.key, None) is not None]
    stronger = {path for option in on_command_line for path in option.settings}
    inis = [one for one in OPTIONS if one.ini and _from_ini(config, one) is not None]
    found = {path: _place_of_ini(config, option) for option in inis for path in option.settings}
    return {path: place for path, place in found.items() if path not in stronger}


# Options on which the outcome of a scenario may depend. Others (limits, reports) concern the whole run.
_DECIDING = ("config", "replay", "inconclusive", "model", "judge_model", "user_model")


def deciding_words(config: pytest.Config) -> list[str]:
    """The options of this command line that a command for one scenario has to repeat."""
    given = {option: config.getoption(option.key, None) for option in OPTIONS if option.name in _DECIDING}
    # `record` is left out: the command is for looking at one scenario, not for paying for a new recording.
    return [f"{option.flag}={value}" for option, value in given.items() if value not in (None, "record")]


def is_guarded(config: pytest.Config) -> bool:
    """Whether something is asked for that makes a run which looks at too little red."""
    return bool(value_of(config, "min_scenarios") or config.getini("convoprobe_files"))


def wants_reports(config: pytest.Config) -> bool:
    """Whether the run writes a report: an HTML page, or a summary for GitHub."""
    return bool(value_of(config, "html") or os.environ.get("GITHUB_STEP_SUMMARY") or on_github())


def on_github() -> bool:
    """Whether this is a job of GitHub Actions."""
    return os.environ.get("GITHUB_ACTIONS") == "true"


def trials(config: pytest.Config) -> int:
    """How many trials each scenario has; pytest-repeat's `--count` multiplies them."""
    # Named after its entry point when pytest found it by itself, after its module when `-p` asked for it.
    repeats = any(map(config.pluginmanager.hasplugin, ("repeat", "pytest_repeat")))
    counts = config.getoption("count", 1) if repeats else 1
    return int(value_of(config, "trials") or 1) * int(counts or 1)
