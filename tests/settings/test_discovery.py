from __future__ import annotations

from pathlib import Path

import pytest

from pytest_convoprobe.errors import SettingsError
from pytest_convoprobe.settings.loading import load_settings

MODEL = "llm: {model: openai/here}\n"


def model_found(rootdir: Path, **options: object) -> str | None:
    return load_settings(rootdir, environ={}, **options).settings.llm.model


def test_nothing_found_is_fine(folder: Path) -> None:
    loaded = load_settings(folder, environ={})
    assert (loaded.file, loaded.settings.target, loaded.settings.llm.model) == (None, None, None)


@pytest.mark.parametrize("name", ["convoprobe.yaml", ".convoprobe.yaml", "convoprobe.yml", "mcprobe.yaml"])
def test_files_that_are_found(folder: Path, name: str) -> None:
    (folder / name).write_text(MODEL)
    assert model_found(folder) == "openai/here"


def test_a_table_in_pyproject_is_found(folder: Path) -> None:
    (folder / "pyproject.toml").write_text('[tool.convoprobe.llm]\nmodel = "openai/here"\n')
    loaded = load_settings(folder, environ={})
    assert loaded.origins["llm.model"] == "llm section, pyproject.toml:2"


def test_a_pyproject_without_our_table_is_passed_by(folder: Path) -> None:
    below = folder / "below"
    below.mkdir()
    (below / "pyproject.toml").write_text('[project]\ndependencies = ["pytest-convoprobe"]\n')
    (folder / "convoprobe.yaml").write_text(MODEL)
    assert model_found(below) == "openai/here"


def test_the_search_goes_upwards_and_the_nearest_wins(folder: Path) -> None:
    below = folder / "a" / "b"
    below.mkdir(parents=True)
    (folder / "convoprobe.yaml").write_text("llm: {model: openai/far}")
    (folder / "a" / ".convoprobe.yaml").write_text(MODEL)
    assert model_found(below) == "openai/here"


def test_the_search_ends_at_the_top_of_the_repository(folder: Path) -> None:
    inner = folder / "inner"
    (inner / ".git").mkdir(parents=True)
    (folder / "convoprobe.yaml").write_text(MODEL)
    assert model_found(inner) is None


def test_two_files_in_one_folder_are_an_error(folder: Path) -> None:
    (folder / "convoprobe.yaml").write_text(MODEL)
    (folder / "pyproject.toml").write_text("[tool.convoprobe.run]\nconcurrency = 3\n")
    with pytest.raises(
        SettingsError, match=r"convoprobe.yaml and pyproject.toml \(\[tool.convoprobe\]\) both"
    ):
        load_settings(folder, environ={})


def test_an_old_file_next_to_one_of_ours_is_not_read(folder: Path) -> None:
    (folder / "mcprobe.yaml").write_text("llm: {model: openai/old}")
    (folder / "convoprobe.yaml").write_text(MODEL)
    loaded = load_settings(folder, environ={})
    assert loaded.settings.llm.model == "openai/here"
    assert loaded.notices == ("mcprobe.yaml is not read, since there is convoprobe.yaml",)


def test_an_old_file_that_is_nearer_than_one_of_ours_is_read(folder: Path) -> None:
    below = folder / "below"
    below.mkdir()
    (below / "mcprobe.yaml").write_text(MODEL)
    (folder / "convoprobe.yaml").write_text("llm: {model: openai/far}")
    assert model_found(below) == "openai/here"


def test_a_given_file_replaces_the_search(folder: Path) -> None:
    (folder / "convoprobe.yaml").write_text("llm: {model: openai/other}")
    (folder / "mine.yaml").write_text(MODEL)
    assert model_found(folder, config_file=folder / "mine.yaml") == "openai/here"


def test_a_given_toml_file_may_hold_settings_alone(folder: Path) -> None:
    (folder / "mine.toml").write_text('[llm]\nmodel = "openai/here"\n')
    assert model_found(folder, config_file=folder / "mine.toml") == "openai/here"


def test_a_given_file_that_is_not_there(folder: Path) -> None:
    with pytest.raises(SettingsError, match=r"nowhere.yaml: the settings file does not exist"):
        load_settings(folder, config_file=folder / "nowhere.yaml")
