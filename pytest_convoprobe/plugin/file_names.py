"""Which YAML files concern the plug-in, by their names alone.

Every YAML file of every suite comes by here, so this is light: what reads files is loaded only for a file
that is likely to be ours.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ..scenario.discovery import BENCHMARK_FILE, DEFAULT_PATTERNS, is_scenario_file


def is_yaml(path: Path) -> bool:
    """Whether the file is looked at at all."""
    return path.suffix.lower() in (".yaml", ".yml")


def may_be_benchmark(path: Path) -> bool:
    """Whether it has a benchmark's name. Other programs have files of that name too."""
    return path.name == BENCHMARK_FILE


def is_scenarios(path: Path, parent: pytest.Collector, *, taken: bool) -> bool:
    """Whether a YAML file holds scenarios.

    A file named on the command line is ours even if no pattern says so, unless another plug-in has
    `taken` it.
    """
    config = parent.config
    patterns = tuple(config.getini("convoprobe_files")) or DEFAULT_PATTERNS
    if is_scenario_file(path, _root(config, path), patterns):
        return True
    return not taken and is_asked_for(parent.session, path)


def is_asked_for(session: pytest.Session, path: Path) -> bool:
    """Whether the command line names the file; pytest forgets it if it also names a folder above."""
    return session.isinitpath(path) or path in _asked(session.config)


def _asked(config: pytest.Config) -> list[Path]:
    """The files and folders of the command line; `..` is taken out of them, links stay."""
    names = (argument.partition("::")[0] for argument in config.args)
    return [Path(os.path.abspath(config.invocation_params.dir / name)) for name in names]


def _root(config: pytest.Config, path: Path) -> Path:
    """The folder below which names of folders count: the rootdir, or else what was asked for."""
    roots = [config.rootpath, config.invocation_params.dir, *_asked(config)]
    return next((root for root in roots if root in path.parents), path.parent)
