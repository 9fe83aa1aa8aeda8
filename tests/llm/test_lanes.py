"""Which models are called directly, and which through LiteLLM; each time with a reason."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from pytest_convoprobe.errors import SettingsError
from pytest_convoprobe.llm.lanes import address_of, lane_of, require_lane
from pytest_convoprobe.project_code.agent_environment import agent_environment
from pytest_convoprobe.settings.model_settings import ModelSettings

BASE = "http://127.0.0.1:9/v1"


def settings(model: str, **fields: Any) -> ModelSettings:
    return ModelSettings.model_validate({"model": model, **fields})


@pytest.fixture(autouse=True)
def _no_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_BASE_URL", "OPENAI_API_BASE", "HOSTED_VLLM_API_BASE"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("model", "fields"),
    [
        ("openai/gpt-4o-mini", {}),
        ("gpt-4o-mini", {}),
        ("openai/qwen2.5", {"api_base": BASE}),
        ("hosted_vllm/meta-llama/x", {"api_base": BASE}),
        ("lm_studio/x", {"api_base": BASE}),
        ("llamafile/x", {}),
        ("litellm_proxy/claude", {"api_base": BASE}),
        ("openai_like/x", {"api_base": BASE}),
        ("ollama/llama3", {"api_base": f"{BASE}/"}),
        ("openai/gpt-4o", {"extra_params": {"seed": 1, "top_k": 5, "extra_body": {"a": 1}}}),
        ("openai/gpt-4o", {"client": "direct"}),
    ],
)
def test_servers_that_speak_chat_completions_are_called_directly(model: str, fields: dict[str, Any]) -> None:
    lane = lane_of(settings(model, **fields))
    assert (lane.name, lane.fault) == ("direct", "")


@pytest.mark.parametrize(
    ("model", "fields", "words"),
    [
        ("anthropic/claude-sonnet-4-5", {}, "`anthropic` is a provider that LiteLLM translates for"),
        ("claude-sonnet-4-5", {}, "begins with no provider"),
        ("hosted_vllm/x", {}, "no `api_base` is set"),
        ("ollama/llama3", {}, "Ollama's own protocol"),
        ("ollama/llama3", {"api_base": "http://127.0.0.1:11434"}, "Ollama's own protocol"),
        ("ollama/llama3", {"api_base": BASE, "context_size": 8000}, "`context_size`"),
        ("openai/responses/gpt-4o", {}, "Responses API"),
        ("openai/o3-pro", {}, "the mode `responses`"),
        ("openai/gpt-3.5-turbo-instruct", {}, "the mode `completion`"),
        ("openai/gpt-4o", {"extra_params": {"fallbacks": []}}, "`extra_params.fallbacks`"),
        ("openai/gpt-4o", {"extra_params": {"aws_region_name": "x"}}, "`extra_params.aws_region_name`"),
        ("openai/gpt-4o", {"client": "litellm"}, "`client: litellm` is set"),
    ],
)
def test_all_others_go_through_litellm(model: str, fields: dict[str, Any], words: str) -> None:
    lane = lane_of(settings(model, **fields))
    assert (lane.name, lane.fault) == ("litellm", "")
    assert words in lane.reason


@pytest.mark.parametrize(
    ("model", "fields", "name"),
    [
        ("openai/gpt-5.4", {}, "litellm"),
        ("openai/gpt-5.4", {"reasoning": "none"}, "direct"),
        ("openai/gpt-5.4", {"api_base": BASE}, "direct"),
        ("openai/gpt-5.4", {"api_base": BASE, "reasoning": "low"}, "litellm"),
        ("openai/gpt-5", {}, "direct"),
        ("openai/gpt-4o", {}, "direct"),
    ],
)
def test_tools_of_models_that_take_them_elsewhere_only(model: str, fields: dict[str, Any], name: str) -> None:
    assert lane_of(settings(model, **fields), with_tools=True).name == name
    assert lane_of(settings(model, **fields)).name == "direct"


def test_a_direct_call_that_cannot_be_is_an_error_that_says_why() -> None:
    model = settings("anthropic/claude-sonnet-4-5", client="direct")
    with pytest.raises(SettingsError, match=r"judge\.client: .*`client: direct`: `anthropic` is a provider"):
        require_lane(model, "judge")
    assert lane_of(model).fault


def test_an_address_comes_from_the_settings_or_the_environment_but_never_from_the_agents(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert address_of(settings("openai/x")) == "https://api.openai.com/v1"
    with agent_environment({"OPENAI_BASE_URL": "http://127.0.0.1:1/gateway"}):
        assert address_of(settings("openai/x")) == "https://api.openai.com/v1"
    monkeypatch.setenv("OPENAI_API_BASE", "http://127.0.0.1:2/v1")
    assert address_of(settings("openai/x")) == "http://127.0.0.1:2/v1"
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:3/v1")
    assert address_of(settings("openai/x")) == "http://127.0.0.1:3/v1"
    assert address_of(settings("openai/x", api_base=BASE)) == BASE
    monkeypatch.setenv("HOSTED_VLLM_API_BASE", BASE)
    assert lane_of(settings("hosted_vllm/x")).name == "direct"


def test_a_proxy_for_all_calls_of_litellm_gets_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("USE_LITELLM_PROXY", "True")
    assert "USE_LITELLM_PROXY" in lane_of(settings("openai/gpt-4o")).reason
    monkeypatch.setenv("USE_LITELLM_PROXY", "False")
    assert lane_of(settings("openai/gpt-4o")).name == "direct"


def test_nothing_is_imported_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "litellm", None)
    assert lane_of(settings("openai/unheard-of-model")).name == "direct"
