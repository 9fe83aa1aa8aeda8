"""Whatever a settings file holds, it is settings or a `SettingsError`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_convoprobe.errors import SettingsError
from pytest_convoprobe.settings.environment import expand
from pytest_convoprobe.settings.loading import LoadedSettings, load_settings
from pytest_convoprobe.settings.show import show
from pytest_convoprobe.yaml_source import Document

WORDS = st.sampled_from(
    "llm judge synthetic_user target run results agent type model python http object url headers provider "
    "source api_base base_url api_key extra_headers extra_params tools concurrency replay temperature 0.5 "
    "${X} ${Y:-1} $$ ${ openai/x".split()
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 50)
    | st.floats(allow_nan=False)
    | WORDS
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=12,
)
IN_ONE_FOLDER = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


def loads_or_says_why(file: Path) -> None:
    try:
        loaded = load_settings(file.parent, config_file=file, environ={"X": "value-of-x"})
    except SettingsError:
        return
    assert isinstance(loaded, LoadedSettings)
    assert show(loaded)


@pytest.mark.parametrize("name", ["convoprobe.yaml", "mcprobe.yaml"])
@IN_ONE_FOLDER
@given(content=st.dictionaries(WORDS, VALUES, max_size=4))
def test_any_structure(folder: Path, name: str, content: dict[str, Any]) -> None:
    (folder / name).write_text(json.dumps(content), encoding="utf-8")
    loads_or_says_why(folder / name)


@pytest.mark.parametrize("name", ["convoprobe.yaml", "settings.toml"])
@IN_ONE_FOLDER
@given(
    content=st.text(max_size=60)
    | st.lists(WORDS | st.sampled_from(":=[]{}\n -#&*!'\""), max_size=30).map("".join)
)
def test_any_text(folder: Path, name: str, content: str) -> None:
    (folder / name).write_bytes(content.encode("utf-8", "surrogatepass"))
    loads_or_says_why(folder / name)


@given(st.text(max_size=30))
def test_dollars_written_twice_come_out_as_they_were(text: str) -> None:
    document = Document({"a": text.replace("$", "$$")})
    assert expand(document, {}).problems == []
    assert document.value == {"a": text}
