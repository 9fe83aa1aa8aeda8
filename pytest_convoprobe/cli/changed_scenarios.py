"""Which scenarios somebody has just changed: by what they say, not by when their file was written."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import ScenarioFileError
from .scenario_files import scenario_files

if TYPE_CHECKING:
    from ..scenario.loading import LoadedScenario

_SCENARIOS = (".yaml", ".yml")
_CODE = (*_SCENARIOS, ".py", ".toml")
_DATA = (".json", ".jinja", ".j2", ".md", ".txt")
_SETTINGS = ("convoprobe.", "mcprobe.")
_NOT_THE_PROJECTS = frozenset(("node_modules", "venv", "build", "dist", "site", "_recordings", "__pycache__"))

Stamps = dict[Path, tuple[int, int, int]]
"""What differs when a file was written or replaced, by file: its time, its size, its number."""


def stamps(folders: Iterable[Path]) -> Stamps:
    """The state of each file of the project that a run may depend on, without recordings and stored runs."""
    return {path: stamp for folder in folders for path, stamp in _stamps(folder)}


def _stamps(folder: Path) -> Iterator[tuple[Path, tuple[int, int, int]]]:
    if folder.is_file():
        yield from _stamped(folder)
        return
    for here, folders, files in os.walk(folder):
        folders[:] = [one for one in folders if not one.startswith(".") and one not in _NOT_THE_PROJECTS]
        for name in files:
            if name.endswith((*_CODE, *_DATA)) and not name.startswith("."):
                yield from _stamped(Path(here, name))


def _stamped(path: Path) -> Iterator[tuple[Path, tuple[int, int, int]]]:
    try:
        found = path.stat()
    except OSError:
        return  # an editor has taken it away, to put the new one in its place
    yield path, (found.st_mtime_ns, found.st_size, found.st_ino)


def after_run(before: Stamps, now: Stamps) -> Stamps:
    """The state from which the next change is one: without what the run itself wrote.

    An agent may write data, and must not start the next run by that, for ever. It doesn't write code.
    """
    return {path: stamp for path, stamp in before.items() if path.suffix in _CODE} | {
        path: stamp for path, stamp in now.items() if path.suffix not in _CODE
    }


def may_be_scenario(name: str) -> bool:
    """Whether a file of that name may have scenarios, or parts of them, and no settings."""
    return name.endswith(_SCENARIOS) and not name.lstrip(".").startswith(_SETTINGS)


@dataclass(frozen=True)
class Written:
    """The scenarios as they are now, by file, then by id; `problems` are those of files nobody can read."""

    scenarios: Mapping[Path, Mapping[str, LoadedScenario]] = field(default_factory=dict)
    problems: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        return sum(map(len, self.scenarios.values()))

    @property
    def files(self) -> set[Path]:
        """Their own files, and those that they take parts from: some may be in other folders, by a link."""
        loaded = (one for found in self.scenarios.values() for one in found.values())
        return {*self.scenarios, *(Path(file) for one in loaded for file in one.included)}

    def node_ids(self) -> list[str]:
        """All of them, as pytest takes them on its command line."""
        return [f"{file}::{name}" for file, found in self.scenarios.items() for name in found]

    def words_for_pytest(self, node_ids: Sequence[str], root: Path) -> list[str]:
        """What pytest takes on its command line, which mustn't be too long: all are named by their files."""
        if len(node_ids) == self.count:
            return list(map(str, self.scenarios))
        return selecting_words(node_ids, self.node_ids(), root)

    def changed_since(self, earlier: Written) -> list[str]:
        """The node ids of those that are new, or say something else than before."""
        return [
            f"{file}::{name}"
            for file, found in self.scenarios.items()
            for name, scenario in found.items()
            if not _says_the_same(scenario, earlier.scenarios.get(file, {}).get(name))
        ]


def selecting_words(chosen: Sequence[str], found: Sequence[str], root: Path) -> list[str]:
    """What pytest takes on its command line to run these ids, out of all that were found.

    pytest takes an id with brackets only as a whole, and targets and fixtures add more of them. So it gets
    the names without brackets, and the others of these names are deselected, by how their ids begin.
    """
    names = dict.fromkeys(map(_without_brackets, chosen))
    others = (one for one in found if _without_brackets(one) in names and not _begins_one_of(one, chosen))
    return [*names, *(f"--deselect={_below(root, one)}" for one in others if _has_brackets(one))]


def _without_brackets(node_id: str) -> str:
    """The file, and the name up to its first bracket; the file alone, if nothing is left of the name."""
    file, _, name = node_id.partition("::")
    bare = name.partition("[")[0]
    return f"{file}::{bare}" if bare else file


def _has_brackets(node_id: str) -> bool:
    return "[" in node_id.partition("::")[2]


def _begins_one_of(beginning: str, node_ids: Sequence[str]) -> bool:
    return any(one.startswith(beginning) for one in node_ids)


def _below(root: Path, node_id: str) -> str:
    """The id as pytest writes it: relative to its root directory."""
    file, _, name = node_id.partition("::")
    with suppress(ValueError):
        file = Path(file).resolve().relative_to(root.resolve()).as_posix()
    return f"{file}::{name}"


def _says_the_same(scenario: LoadedScenario, earlier: LoadedScenario | None) -> bool:
    # Where it is written doesn't matter: another one may be before it now, or a part of it in another file.
    return earlier is not None and _content(scenario) == _content(earlier)


def _content(scenario: LoadedScenario) -> LoadedScenario:
    return replace(scenario, line=0, included=())


def written(paths: Sequence[Path], earlier: Written | None = None) -> Written:
    """The scenarios of files and folders. What was in a file that is broken now counts as unchanged."""
    from ..scenario.loading import load_scenarios

    found: dict[Path, Mapping[str, LoadedScenario]] = {}
    problems: list[str] = []
    for file in _files(paths):
        try:
            found[file] = {one.id: one for one in load_scenarios(file)}
        except ScenarioFileError as error:
            problems += map(str, error.problems)
            if earlier is not None and file in earlier.scenarios:
                found[file] = earlier.scenarios[file]
    return Written(found, tuple(problems))


def _files(paths: Sequence[Path]) -> Iterator[Path]:
    for path in paths:
        if path.exists():
            yield from (file for file, fault in scenario_files(path, ()) if not fault.reason)
