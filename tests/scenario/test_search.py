"""Our own walk through a project: everything that is there, and what nobody can look into."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from pytest_convoprobe.scenario.discovery import is_benchmark, looks_like_scenario
from pytest_convoprobe.scenario.search import find_scenario_files, passed_by, search

SCENARIO = "name: a\nsynthetic_user: {}\n"
BENCHMARK = "name: b\ndescription: d\nmetrics: []\n"


def write(root: Path, name: str, text: str = SCENARIO) -> Path:
    file = root / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def found(root: Path) -> list[str]:
    return [path.relative_to(root).as_posix() for path in find_scenario_files(root, root)]


@pytest.mark.parametrize("folder", ["build", "dist", "venv", "x.egg", "CVS"])
def test_folders_that_pytest_passes_by_are_searched(tmp_path: Path, folder: str) -> None:
    file = write(tmp_path, f"scenarios/{folder}/a.yaml")
    assert found(tmp_path) == [f"scenarios/{folder}/a.yaml"]
    passed = passed_by(file, tmp_path)
    assert passed is not None
    assert passed[0] == file.parent
    assert passed_by(file, file.parent) is None, "asked for by name, it is not passed by"


@pytest.mark.parametrize(
    ("name", "counts"), [("a.yaml", True), ("folder", True), ("a.txt", False), ("_a.yaml", False)]
)
def test_a_link_that_leads_nowhere(tmp_path: Path, name: str, counts: bool) -> None:
    (tmp_path / "scenarios").mkdir()
    (tmp_path / "scenarios" / name).symlink_to("../gone")
    (tmp_path / "elsewhere").symlink_to("gone")
    unreadable = search(tmp_path, tmp_path).unreadable
    assert [one.path.name for one in unreadable] == [name] * counts
    assert all("the link leads nowhere (../gone)" in one.reason for one in unreadable)


def test_a_link_to_a_folder_is_followed_and_a_loop_is_not(tmp_path: Path) -> None:
    write(tmp_path, "shared/a.yaml")
    (tmp_path / "scenarios").mkdir()
    (tmp_path / "scenarios" / "more").symlink_to("../shared")
    (tmp_path / "scenarios" / "loop").symlink_to("..")
    (tmp_path / "scenarios" / "self.yaml").symlink_to("self.yaml")
    assert found(tmp_path) == ["scenarios/more/a.yaml"]
    assert [one.path.name for one in search(tmp_path, tmp_path).unreadable] == ["self.yaml"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_a_folder_that_cannot_be_read(tmp_path: Path) -> None:
    folder = write(tmp_path, "scenarios/closed/a.yaml").parent
    folder.chmod(0)
    (unreadable,) = search(tmp_path, tmp_path).unreadable
    folder.chmod(0o700)
    assert (unreadable.path, "cannot be read" in unreadable.reason) == (folder, True)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (BENCHMARK, True),
        ("name: b\ndescription: d\n", True),
        ('{"name": "b", "metrics": []}', True),
        ('{\n  "name": "b",\n  "gate": {}\n}', True),
        ("foo: 1", False),
        ("", False),
        ("name: b\nsteps: []\n", False),
        ("metrics: [cpu]\n", False),
        (SCENARIO + "description: d\n", False),
        ("name: unfinished\ndescription: d\nskip: true\n", False),
        ("talk:\n  name: b\n  metrics: []\n", False),
    ],
)
def test_only_a_benchmark_takes_its_folder_out(tmp_path: Path, text: str, expected: bool) -> None:
    write(tmp_path, "scenarios/sub/y.yaml")
    write(tmp_path, "scenarios/sub/other.yaml", "targets: []\n")
    assert is_benchmark(write(tmp_path, "scenarios/sub/benchmark.yaml", text)) is expected
    assert ("scenarios/sub/other.yaml" in found(tmp_path)) is not expected
    assert "scenarios/sub/y.yaml" in found(tmp_path), "what is a scenario is one in a benchmark's folder too"
    assert bool(search(tmp_path, tmp_path).benchmarks) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (SCENARIO, True),
        ("name: broken\nevaluation: [\n", True),
        ('{"name": "a", "synthetic_user": {}}', True),
        ("\ufeffsynthetic_user: {}", True),
        ("users: [bob]", False),
        ("load:\n  evaluation: 1\n", False),
    ],
)
def test_what_looks_like_a_scenario(tmp_path: Path, text: str, expected: bool) -> None:
    assert looks_like_scenario(write(tmp_path, "a.yaml", text)) is expected


@pytest.mark.skipif(sys.platform == "win32", reason="pipes are POSIX's")
def test_pipes_and_devices_with_the_name_of_a_scenario_are_named(tmp_path: Path) -> None:
    (tmp_path / "scenarios").mkdir()
    os.mkfifo(tmp_path / "scenarios" / "a.yaml")
    (tmp_path / "scenarios" / "b.yaml").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "scenarios" / "notes.txt")
    found = search(tmp_path)
    assert not found.scenarios
    assert [(one.path.name, one.reason) for one in found.unreadable] == [
        ("a.yaml", "it is a named pipe, not a file"),
        ("b.yaml", "it is a device, not a file"),
    ]
