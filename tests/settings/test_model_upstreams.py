from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from pytest_convoprobe.errors import SettingsError
from pytest_convoprobe.project_code.agent_environment import agent_environment
from pytest_convoprobe.settings.loading import load_settings
from pytest_convoprobe.settings.merge import scenario_settings
from pytest_convoprobe.settings.model_upstreams import ModelUpstreams
from pytest_convoprobe.settings.models import AdkTarget, HttpTarget, ModelTarget, PythonTarget

OPENAI = "https://api.openai.com/v1"


def test_the_addresses_are_known_by_their_protocol() -> None:
    both = ModelUpstreams(openai=f"{OPENAI}/", anthropic="http://localhost:8000")
    assert both.addresses == {"openai": OPENAI, "anthropic": "http://localhost:8000"}
    assert ModelUpstreams(openai=OPENAI).addresses == {"openai": OPENAI}


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({}, "names no provider"),
        ({"openai": None}, "names no provider"),
        ({"openai": "api.openai.com"}, "begins with http:// or https://"),
        ({"openai": "https://"}, "an address with a host"),
        ({"openai": "https://user:s3cret@host/v1"}, "without user, password"),
        ({"openai": "https://host/v1?key=s3cret"}, "without user, password, query"),
        ({"openai": "https://host/v1#x"}, "fragment"),
        ({"openai": "https://host:port/v1"}, "can't be read as an address"),
        ({"openai": "http://[x"}, "can't be read as an address"),
        ({"gemini": "https://host"}, "gemini"),
    ],
)
def test_what_is_no_address_of_a_provider(values: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError) as caught:
        ModelUpstreams(**values)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    "target",
    [
        PythonTarget(object="a:b", models={"openai": OPENAI}),
        AdkTarget(factory="a.py", models={"openai": OPENAI}),
        HttpTarget(url="http://host/", models={"openai": OPENAI}),
    ],
)
def test_agents_that_call_models_have_them(target: Any) -> None:
    assert target.models.addresses == {"openai": OPENAI}
    # Addresses are no part of what answers depend on, as with our own models.
    assert "models" not in target.answer_fields


@pytest.mark.parametrize("more", ["  model: openai/x\n", "  mcp_servers: {shop: {command: shop}}\n"])
def test_a_model_as_the_target_is_refused_with_the_reason(tmp_path: Path, more: str) -> None:
    text = f"target:\n  type: model\n{more}  models: {{openai: {OPENAI}}}\n"
    (tmp_path / "convoprobe.yaml").write_text(text)
    with pytest.raises(SettingsError, match="recorded and counted anyway") as caught:
        load_settings(tmp_path)
    assert "target.models" in str(caught.value)
    assert ModelTarget(model="openai/x").models is None


def test_a_scenario_gets_those_of_its_target(tmp_path: Path) -> None:
    more = f"models: {{openai: {OPENAI}}}, model_volatile: {{fields: [a.b]}}"
    (tmp_path / "convoprobe.yaml").write_text(f"target: {{type: python, object: 'a:b', {more}}}\n")
    found = scenario_settings(load_settings(tmp_path))
    assert found.models == ModelUpstreams(openai=OPENAI)
    assert found.model_volatile is not None
    assert found.model_volatile.fields == ("a.b",)


def test_variables_are_read_as_they_were_before_agents_got_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the gateway would be its own upstream."""
    monkeypatch.setenv("OPENAI_BASE_URL", OPENAI)
    monkeypatch.delenv("ANTHROPIC_BASE_URL", raising=False)
    models = "{openai: '${OPENAI_BASE_URL}', anthropic: '${ANTHROPIC_BASE_URL:-http://default}'}"
    (tmp_path / "convoprobe.yaml").write_text(f"target: {{type: python, object: 'a:b', models: {models}}}\n")
    ours = {"OPENAI_BASE_URL": "http://127.0.0.1:1/x", "ANTHROPIC_BASE_URL": "http://127.0.0.1:1/x"}
    with agent_environment(ours):
        target = load_settings(tmp_path).settings.target
    assert target is not None
    assert target.models is not None
    assert target.models.addresses == {"openai": OPENAI, "anthropic": "http://default"}
