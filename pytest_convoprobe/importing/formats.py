"""The formats that can be read, and what a file in another one is refused with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from . import deepeval, tau2
from .adk import reading as adk
from .notes import ImportedSuite
from .options import ImportOptions
from .promptfoo import reading as promptfoo
from .sources import ForeignFile, load, looks_like, refused


@dataclass(frozen=True)
class SuiteFormat:
    """One format: its title, what a file of it has, and its reader."""

    title: str
    has: str
    read: Callable[[ForeignFile, ImportOptions], ImportedSuite]


FORMATS: Mapping[str, SuiteFormat] = {
    "promptfoo": SuiteFormat(
        "a promptfoo configuration", "`prompts` and `tests`, or a list of tests with `vars`", promptfoo.read
    ),
    "adk": SuiteFormat("an ADK eval set", "`eval_cases`, or a list with `query`", adk.read),
    "tau2": SuiteFormat("tasks of τ²-bench", "a list of tasks with a `user_scenario`", tau2.read),
    "deepeval": SuiteFormat(
        "a dataset of deepeval", "a list of goldens with `input` or `scenario`", deepeval.read
    ),
}

_NO_SUITE = {
    "scenario": "this is a scenario of this tool already; nothing has to be imported",
    "adk config": (
        "these look like the criteria of an ADK suite; give the eval set, and this file with --criteria"
    ),
    "promptfoo results": "this looks like results of promptfoo; give the configuration that they come from",
}


def read_suite(name: str, path: Path, options: ImportOptions) -> ImportedSuite:
    """The suite in a file. Raises `ScenarioFileError` for what isn't one in this format."""
    source = load(path)
    looks = looks_like(source.data)
    if looks != name:
        raise refused(_complaint(name, looks, source), source.name)
    suite = FORMATS[name].read(source, options)
    if not suite.tests and not suite.notes:
        raise refused("there is no test in this file", source.name)
    return suite


def _complaint(name: str, looks: str, source: ForeignFile) -> str:
    if looks in _NO_SUITE:
        return _NO_SUITE[looks]
    wanted = FORMATS[name]
    if looks:
        other = FORMATS[looks]
        return (
            f"this looks like {other.title}, not like {wanted.title}: convoprobe import {looks} {source.name}"
        )
    return f"this doesn't look like {wanted.title}, which has {wanted.has}"
