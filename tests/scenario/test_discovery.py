from __future__ import annotations

from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convoprobe.scenario.discovery import (
    SETTINGS_FILES,
    is_scenario_file,
    matches,
    project_root,
)
from pytest_convoprobe.scenario.search import find_scenario_files
from pytest_convoprobe.settings.discovery import OLD_NAMES, YAML_NAMES


def _tree(root: Path, *names: str) -> None:
    for name in names:
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("")


def _found(folder: Path, root: Path | None = None) -> list[str]:
    return [path.relative_to(folder).as_posix() for path in find_scenario_files(folder, root)]


@pytest.mark.parametrize(
    "path",
    [
        "scenarios/a.yaml",
        "scenarios/a.yml",
        "tests/scenarios/orders/deep/a.yaml",
        "refund.scenario.yaml",
        "src/agent/refund.scenario.yml",
        "scenarios/SHOUTED.YAML",
        "refund.scenario.Yml",
    ],
)
def test_a_scenario_file_by_its_path(path: str) -> None:
    assert matches(PurePosixPath(path))


@pytest.mark.parametrize(
    "path",
    [
        "a.yaml",
        "scenarios.yaml",
        "my-scenarios/a.yaml",
        "scenarios/_draft.yaml",
        "scenarios/_shared/a.yaml",
        "_scenarios/scenarios/a.yaml",
        "_old.scenario.yaml",
        "scenarios/a.json",
        "scenarios/a.yaml.bak",
        ".github/scenarios/a.yaml",
        "scenarios/.hidden.yaml",
        "node_modules/x/scenarios/a.yaml",
        "scenario.yaml",
    ],
)
def test_not_a_scenario_file_by_its_path(path: str) -> None:
    assert not matches(PurePosixPath(path))


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("*.probe.yaml", "deep/down/a.probe.yaml", True),
        ("probes/*.yaml", "probes/a.yaml", True),
        ("probes/*.yaml", "probes/deep/a.yaml", False),
        ("probes/*.yaml", "tests/probes/a.yaml", False),
        ("./probes/**/*.yaml", "probes/a.yaml", True),
        ("probes/**", "probes/deep/a.yaml", True),
        ("a?.yaml", "ab.yaml", True),
        ("a?.yaml", "a/.yaml", False),
        ("a+(b).yaml", "a+(b).yaml", True),
    ],
)
def test_patterns(pattern: str, path: str, expected: bool) -> None:
    assert matches(PurePosixPath(path), [pattern]) is expected


@given(st.text(max_size=20))
def test_any_text_is_a_pattern(pattern: str) -> None:
    assert matches(PurePosixPath("some/file.yaml"), [pattern]) in (True, False)


def test_folders_above_the_root_do_not_count(tmp_path: Path) -> None:
    checkout = tmp_path / "scenarios" / "shop"
    _tree(checkout, "compose.yaml", "scenarios/a.yaml")
    assert _found(checkout, checkout) == ["scenarios/a.yaml"]
    assert not is_scenario_file(checkout / "compose.yaml", checkout)


def test_the_root_may_be_the_scenarios_folder(tmp_path: Path) -> None:
    root = tmp_path / "scenarios"
    _tree(root, "a.yaml", "deep/b.yaml", "_c.yaml")
    assert _found(root, root) == ["a.yaml", "deep/b.yaml"]


def test_what_a_clone_is_called_does_not_count(tmp_path: Path) -> None:
    root = tmp_path / "scenarios"
    _tree(root, "compose.yaml", ".git/config", "scenarios/a.yaml")
    assert _found(root) == ["scenarios/a.yaml"]


def test_a_file_outside_of_the_root_is_none(tmp_path: Path) -> None:
    assert not is_scenario_file(tmp_path / "scenarios" / "a.yaml", tmp_path / "other")


def test_a_benchmarks_folder_holds_no_scenarios(tmp_path: Path) -> None:
    _tree(tmp_path, "scenarios/a.yaml", "scenarios/bench/benchmark.yaml", "scenarios/bench/runs/b.yaml")
    (tmp_path / "scenarios/bench/benchmark.yaml").write_text("name: b\ndescription: d\n")
    assert _found(tmp_path, tmp_path) == ["scenarios/a.yaml"]
    assert not is_scenario_file(tmp_path / "scenarios/bench/runs/b.yaml", tmp_path)


def test_a_stray_benchmark_that_looks_real_hides_no_scenario(tmp_path: Path) -> None:
    _tree(tmp_path, "scenarios/benchmark.yaml", "scenarios/deep/one.yaml", "scenarios/config.yaml")
    (tmp_path / "scenarios/benchmark.yaml").write_text("name: load\ndescription: d\n")
    (tmp_path / "scenarios/deep/one.yaml").write_text("name: One\nsynthetic_user:\n  persona: Someone\n")
    (tmp_path / "scenarios/config.yaml").write_text("evaluation: {method: log_odds}\n")
    assert _found(tmp_path, tmp_path) == ["scenarios/deep/one.yaml"]


def test_settings_next_to_scenarios_are_no_scenarios(tmp_path: Path) -> None:
    _tree(tmp_path, "scenarios/a.yaml", "scenarios/convoprobe.yaml", "scenarios/b/mcprobe.yml")
    (tmp_path / "scenarios/convoprobe.yaml").write_text("synthetic_user: {model: openai/gpt-4o}\n")
    assert _found(tmp_path, tmp_path) == ["scenarios/a.yaml"]
    (tmp_path / "scenarios/b/mcprobe.yml").write_text("name: One\nevaluation: {}\nsynthetic_user: {}\n")
    assert _found(tmp_path, tmp_path) == ["scenarios/a.yaml", "scenarios/b/mcprobe.yml"]


def test_the_names_of_settings_files_are_those_that_are_searched() -> None:
    assert set(SETTINGS_FILES) == {*YAML_NAMES, *OLD_NAMES}


def test_a_scenario_that_is_called_benchmark_takes_nothing_out(tmp_path: Path) -> None:
    _tree(tmp_path, "scenarios/a.yaml", "scenarios/benchmark.yaml")
    (tmp_path / "scenarios/benchmark.yaml").write_text("name: Speed\nsynthetic_user:\n  persona: Someone\n")
    assert _found(tmp_path, tmp_path) == ["scenarios/a.yaml", "scenarios/benchmark.yaml"]
    assert is_scenario_file(tmp_path / "scenarios/a.yaml", tmp_path)


def test_a_folder_below_scenarios_can_be_searched(tmp_path: Path) -> None:
    _tree(tmp_path, "pyproject.toml", "scenarios/orders/a.yaml")
    assert _found(tmp_path / "scenarios" / "orders") == ["a.yaml"]


def test_virtual_environments_and_hidden_folders_are_left_out(tmp_path: Path) -> None:
    _tree(
        tmp_path,
        "scenarios/a.yaml",
        "env/pyvenv.cfg",
        "env/lib/scenarios/b.yaml",
        ".tox/scenarios/c.yaml",
        "node_modules/scenarios/d.yaml",
    )
    assert _found(tmp_path, tmp_path) == ["scenarios/a.yaml"]


def test_a_folder_with_the_name_of_a_file_is_none(tmp_path: Path) -> None:
    (tmp_path / "scenarios" / "a.yaml").mkdir(parents=True)
    assert _found(tmp_path, tmp_path) == []


def test_files_are_found_in_order(tmp_path: Path) -> None:
    _tree(tmp_path, "scenarios/b.yaml", "scenarios/a.yaml", "scenarios/c/a.yaml", "a.scenario.yaml")
    assert _found(tmp_path, tmp_path) == [
        "a.scenario.yaml",
        "scenarios/a.yaml",
        "scenarios/b.yaml",
        "scenarios/c/a.yaml",
    ]


def test_a_relative_folder_stays_relative(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _tree(tmp_path, "pyproject.toml", "scenarios/a.yaml")
    monkeypatch.chdir(tmp_path)
    assert find_scenario_files(Path("scenarios")) == (Path("scenarios/a.yaml"),)


def test_the_projects_root_is_the_nearest(tmp_path: Path) -> None:
    _tree(tmp_path, "pyproject.toml", "sub/pytest.ini", "sub/scenarios/a.yaml")
    assert project_root(tmp_path / "sub" / "scenarios") == tmp_path / "sub"
