"""Which settings a scenario's file has, where a repository holds several projects."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_convoprobe.errors import SettingsError
from pytest_convoprobe.settings.effective import LoadedSettings
from pytest_convoprobe.settings.nearest import ProjectSettings, within_run


def write(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def of(root: Path, file: str, **options: Any) -> LoadedSettings:
    return ProjectSettings(root, environ={}, **options).of(str(root / file))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("convoprobe.yaml", "llm: {model: openai/bank}"),
        (".convoprobe.yml", "llm: {model: openai/bank}"),
        ("pyproject.toml", '[tool.convoprobe.llm]\nmodel = "openai/bank"'),
    ],
)
def test_the_nearest_file_counts(folder: Path, name: str, text: str) -> None:
    write(folder / "convoprobe.yaml", "llm: {model: openai/shop}")
    write(folder / "packages/bank" / name, text)
    assert of(folder, "packages/bank/scenarios/deep/x.yaml").settings.judge.model == "openai/bank"
    assert of(folder, "scenarios/x.yaml").settings.judge.model == "openai/shop"
    assert of(folder, "packages/other/x.yaml").settings.judge.model == "openai/shop"


def test_nothing_is_inherited_from_the_root(folder: Path) -> None:
    write(folder / "convoprobe.yaml", "target: {type: python, object: 'shop.py:reply'}")
    write(folder / "bank/convoprobe.yaml", "llm: {model: openai/bank}")
    assert of(folder, "bank/x.yaml").settings.target is None


def test_an_old_file_counts_where_it_is_the_nearest(folder: Path) -> None:
    write(folder / "convoprobe.yaml", "llm: {model: openai/shop}")
    write(folder / "bank/mcprobe.yaml", "llm: {model: openai/bank}")
    assert of(folder, "bank/x.yaml").settings.judge.model == "openai/bank"
    write(folder / "bank/convoprobe.yaml", "llm: {model: openai/new}")
    loaded = of(folder, "bank/x.yaml")
    assert loaded.settings.judge.model == "openai/new"
    assert loaded.notices == ("bank/mcprobe.yaml is not read, since there is bank/convoprobe.yaml",)


def test_a_file_that_is_given_counts_for_all(folder: Path) -> None:
    write(folder / "bank/convoprobe.yaml", "llm: {model: openai/bank}")
    given = write(folder / "other.yaml", "llm: {model: openai/given}")
    assert of(folder, "bank/x.yaml", config_file=given).settings.judge.model == "openai/given"


def test_the_command_line_counts_above_all(folder: Path) -> None:
    write(folder / "bank/convoprobe.yaml", "llm: {model: openai/bank}")
    loaded = of(folder, "bank/x.yaml", overrides={"judge.model": "openai/option"})
    assert (loaded.settings.judge.model, loaded.settings.synthetic_user.model) == (
        "openai/option",
        "openai/bank",
    )


def test_a_file_outside_of_the_root_has_its_own_project_s(folder: Path) -> None:
    write(folder / "ci/pytest.ini", "[pytest]")
    write(folder / "bank/convoprobe.yaml", "llm: {model: openai/bank}")
    source = ProjectSettings(folder / "ci", environ={})
    assert source.of(str(folder / "bank/x.yaml")).settings.judge.model == "openai/bank"
    assert source.of("<mapping>").settings.judge.model is None


def test_a_link_to_a_shared_folder_belongs_to_the_project_that_has_it(folder: Path) -> None:
    write(folder / "shared/x.yaml", "")
    write(folder / "bank/convoprobe.yaml", "llm: {model: openai/bank}")
    (folder / "bank/scenarios").symlink_to("../shared")
    assert of(folder, "bank/scenarios/x.yaml").settings.judge.model == "openai/bank"


def test_files_of_one_project_share_one_object(folder: Path) -> None:
    write(folder / "convoprobe.yaml", "")
    write(folder / "bank/convoprobe.yaml", "")
    source = ProjectSettings(folder, environ={})
    assert source.of(str(folder / "bank/a.yaml")) is source.of(str(folder / "bank/deep/b.yaml"))
    assert source.of(str(folder / "a/b.yaml")) is source.main


def test_a_broken_root_does_not_concern_others(folder: Path) -> None:
    write(folder / "convoprobe.yaml", "nonsense: 1")
    write(folder / "bank/convoprobe.yaml", "llm: {model: openai/bank}")
    assert of(folder, "bank/x.yaml").settings.judge.model == "openai/bank"
    with pytest.raises(SettingsError, match="nonsense"):
        of(folder, "x.yaml")


def test_what_a_run_has_once_is_the_root_s_and_a_difference_is_said(folder: Path) -> None:
    write(folder / "convoprobe.yaml", "run: {max_cost: 5, concurrency: 2}")
    write(folder / "bank/convoprobe.yaml", "run: {max_cost: 1, concurrency: 2, turn_timeout: 7}")
    source = ProjectSettings(folder, environ={})
    loaded = within_run(source.of(str(folder / "bank/x.yaml")), source.main)
    assert loaded.settings.run.turn_timeout == 7
    (notice,) = loaded.notices
    assert notice == (
        "bank/convoprobe.yaml: `run.max_cost: 1.0` does not count in this run. "
        "The run as a whole has `5.0` (convoprobe.yaml:1 (run))"
    )


def test_a_limit_on_what_is_spent_is_never_dropped(folder: Path) -> None:
    write(folder / "bank/convoprobe.yaml", "run: {max_tokens: 1000}")
    source = ProjectSettings(folder, environ={})
    with pytest.raises(SettingsError) as raised:
        within_run(source.of(str(folder / "bank/x.yaml")), source.main)
    assert "bank/convoprobe.yaml: run.max_tokens: `run.max_tokens: 1000` cannot limit" in str(raised.value)
    # A door adds its own option in a line below: the sentence does not announce it.
    assert str(raised.value).endswith("Set `run.max_tokens` in a settings file in the root directory")
    assert raised.value.remedies == ("run.max_tokens",)
