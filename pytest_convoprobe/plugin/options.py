"""The plug-in's options: where their values come from, and what they change.

An option comes from the command line, else from pytest's ini file (if it has an ini name), else from
convoprobe's own settings.
"""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from .option_table import OPTIONS, BadValue, Option, one_of


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
    group.addoption(
        "--convoprobe-lint",
        action="store_true",
        default=False,
        help="Add a test to each scenario file: what convoprobe lint finds in it.",
    )
    group.addoption(
        "--convoprobe-stream",
        action="store_true",
        default=False,
        help="Print each conversation while it runs, turn by turn (default: with -s).",
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
    if option.several:
        words["action"] = "append"
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
_DECIDING = ("config", "replay", "inconclusive", "model", "judge_model", "judge_panel", "user_model", "gate")


def deciding_words(config: pytest.Config) -> list[str]:
    """The options of this command line that a command for one scenario has to repeat."""
    given = {option: config.getoption(option.key, None) for option in OPTIONS if option.name in _DECIDING}
    # `record` is left out: the command is for looking at one scenario, not for paying for a new recording.
    return [f"{option.flag}={value}" for option, value in given.items() if value not in (None, "record")]


def chosen_targets(config: pytest.Config) -> tuple[str, ...]:
    """The names of the targets that are asked for; none for all."""
    given: list[tuple[str, ...]] = config.getoption("convoprobe_target", None) or []
    return tuple(name for names in given for name in names)


def is_guarded(config: pytest.Config) -> bool:
    """Whether something is asked for that makes a run which looks at too little red."""
    return bool(value_of(config, "min_scenarios") or config.getini("convoprobe_files"))


def wants_reports(config: pytest.Config) -> bool:
    """Whether the run writes a report: an HTML page, or a summary for GitHub."""
    return bool(value_of(config, "html") or os.environ.get("GITHUB_STEP_SUMMARY") or on_github())


def on_github() -> bool:
    """Whether this is a job of GitHub Actions."""
    return os.environ.get("GITHUB_ACTIONS") == "true"


RAW_GATES = ("regression", "new-failure")
"""What `--convoprobe-fail-on` may name that compares trial by trial."""


def check_gate(config: pytest.Config) -> None:
    """Raise `pytest.UsageError` for options that contradict what the gate is asked to be."""
    policy = value_of(config, "gate")
    if policy not in ("paired", "confirm"):
        return
    given = "--convoprobe-trials" if config.getoption("convoprobe_trials", None) else ""
    given = given or ("--count" if _repeats(config) > 1 else "")
    if given and config.getoption("convoprobe_gate", None):
        raise pytest.UsageError(
            f"{given} makes an item of each trial, and --convoprobe-gate={policy} decides about "
            "the trials of a scenario together: leave out one of them. The first conversations of the paired "
            "gate are --convoprobe-first"
        )
    if compares_raw(config):
        raise pytest.UsageError(raw_gate_words(config, policy))


def raw_gate_words(config: pytest.Config, policy: str) -> str:
    """That a comparison trial by trial and a policy don't go together."""
    given = f"--convoprobe-fail-on={value_of(config, 'fail_on')}"
    return (
        f"{given} compares trial by trial, and the gate is {policy}, which decides about a scenario's "
        "conversations together: leave out --convoprobe-fail-on, or add --convoprobe-gate=each"
    )


def compares_raw(config: pytest.Config) -> bool:
    """Whether somebody asked for the comparison trial by trial."""
    return value_of(config, "fail_on") in RAW_GATES and value_of(config, "baseline") is not None


def are_trials_on_command_line(config: pytest.Config) -> bool:
    """Whether this run is asked for a number of trials, and for no policy."""
    given = config.getoption("convoprobe_trials", None) is not None or _repeats(config) > 1
    return given and config.getoption("convoprobe_gate", None) is None


def are_trials_asked(config: pytest.Config) -> bool:
    """Whether anybody asked for a number of trials."""
    return value_of(config, "trials") is not None or _repeats(config) > 1


def trials(config: pytest.Config) -> int:
    """How many trials each scenario has; pytest-repeat's `--count` multiplies them."""
    return int(value_of(config, "trials") or 1) * _repeats(config)


def _repeats(config: pytest.Config) -> int:
    # Named after its entry point when pytest found it by itself, after its module when `-p` asked for it.
    repeats = any(map(config.pluginmanager.hasplugin, ("repeat", "pytest_repeat")))
    return int(config.getoption("count", 1) or 1) if repeats else 1
