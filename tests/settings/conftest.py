from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from pytest_convoprobe.errors import SettingsError
from pytest_convoprobe.settings.loading import LoadedSettings, load_settings

Load = Callable[..., LoadedSettings]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The root of a project under version control, which ends the search; also the working directory."""
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def load(folder: Path) -> Load:
    """`load(text, name=..., overrides=..., environ=...)`: the settings from a file with this text."""

    def _load(
        text: str = "",
        *,
        name: str = "convoprobe.yaml",
        overrides: dict[str, Any] | None = None,
        environ: dict[str, str] | None = None,
    ) -> LoadedSettings:
        (folder / name).write_text(dedent(text), encoding="utf-8")
        return load_settings(folder, overrides=overrides, environ=environ or {})

    return _load


@pytest.fixture
def refuse(load: Load) -> Callable[..., str]:
    """Like `load` for settings that can't be used: the words that the user sees."""

    def _refuse(text: str = "", **options: Any) -> str:
        with pytest.raises(SettingsError) as caught:
            load(text, **options)
        return str(caught.value)

    return _refuse
