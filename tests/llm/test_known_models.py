"""What is known to be wrong with a model before it is called."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_convoprobe import run_scenario
from pytest_convoprobe.errors import Blame, SettingsError
from pytest_convoprobe.llm import known_models
from pytest_convoprobe.llm.known_models import check_model
from pytest_convoprobe.result import Outcome
from pytest_convoprobe.settings.judge_settings import JudgeSettings
from pytest_convoprobe.settings.model_settings import ModelSettings
from tests.cli.live import project
from tests.support.chat_server import ChatServer


def words(model: str, **settings: Any) -> str:
    """What is said of a model, without its place."""
    try:
        check_model(ModelSettings(model=model, **settings), "judge")
    except SettingsError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("model", ["openai/fake", "llamafile/x", "ollama/llama3", "gpt-4o"])
def test_names_that_can_be_called(model: str) -> None:
    assert words(model, api_key="a-key") == ""


@pytest.mark.parametrize("provider", ["hosted_vllm", "lm_studio", "litellm_proxy", "openai_like"])
def test_a_server_without_an_address_is_not_taken_for_openai(
    provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LiteLLM would send the conversation to OpenAI."""
    variable = f"{provider.upper()}_API_BASE"
    for name in ("OPENAI_BASE_URL", "OPENAI_API_BASE", variable):
        monkeypatch.delenv(name, raising=False)
    model, base = f"{provider}/x", "http://localhost:1/v1"
    assert words(model, api_key="k") == (
        f"judge.model: no address for {model}: set api_base in the settings to that of your server, or the "
        f"environment variable {variable}"
    )
    assert words(model, api_key="k", api_base=base) == ""
    monkeypatch.setenv(variable, base)
    assert words(model, api_key="k") == ""


def test_the_models_of_a_panel_are_looked_at_too() -> None:
    judge = JudgeSettings(model="openai/fake", api_key="a-key", panel=("openai/b", "antropic/c"))
    with pytest.raises(SettingsError, match=r"judge.panel: `antropic/c`.* did you mean `anthropic`"):
        check_model(judge, "judge")


def test_a_direct_call_that_cannot_be() -> None:
    said = words("anthropic/claude-sonnet-4-5", api_key="k", client="direct")
    assert "judge.model: `anthropic/claude-sonnet-4-5` cannot be called with `client: direct`" in said
    assert "`anthropic` is a provider that LiteLLM translates for" in said


def test_nothing_of_litellm_is_imported_for_models_that_are_called_directly(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(known_models, "imported", pytest.fail)
    assert words("gpt-4o-mini", api_key="k") == ""
    assert words("openai/unheard-of", api_key="k") == ""


def test_a_bare_name_that_nobody_knows() -> None:
    assert words("my-local-judge", api_base="http://localhost:1/v1") == (
        "judge.model: `my-local-judge` names no provider, and LiteLLM knows no model of this name. Write "
        "`openai/my-local-judge` for the server at http://localhost:1/v1, or the provider's own prefix, such "
        "as `ollama/my-local-judge`"
    )
    assert words("my-local-judge", extra_params={"custom_llm_provider": "openai"}) == ""


def test_a_misspelt_provider() -> None:
    assert "`opnai` is not a provider that LiteLLM knows; did you mean `openai`?" in words("opnai/gpt-4o")
    assert "Write `openai/meta-llama/x` for a server" in words("meta-llama/x")


def test_a_provider_without_a_model() -> None:
    assert "`openai/` names a provider and no model: write `openai/NAME`" in words("openai/", api_key="k")


def test_a_key_that_is_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "litellm", raising=False)
    monkeypatch.delenv("MISTRAL_API_KEY", raising=False)
    assert "no API key for mistral/x: set api_key in the settings" in words("mistral/x")
    monkeypatch.setenv("MISTRAL_API_KEY", "a-key")
    assert words("mistral/x") == ""


def test_a_judge_without_a_provider_is_known_before_the_talk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chat_server: ChatServer
) -> None:
    monkeypatch.chdir(tmp_path)
    file = project(tmp_path, chat_server.base_url, judge={"model": "my-local-judge"})
    result = run_scenario(file, rootdir=tmp_path)
    assert (result.outcome, result.blame) == (Outcome.ERROR, Blame.SCENARIO)
    assert "judge.model: `my-local-judge` names no provider" in result.reason
    assert result.transcript.turns == ()
    assert chat_server.requests == []


def test_a_judge_that_cannot_be_called_directly_is_known_before_the_talk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chat_server: ChatServer
) -> None:
    monkeypatch.chdir(tmp_path)
    judge = {"model": "anthropic/claude-sonnet-4-5", "api_key": "k", "client": "direct"}
    result = run_scenario(project(tmp_path, chat_server.base_url, judge=judge), rootdir=tmp_path)
    assert (result.outcome, result.blame) == (Outcome.ERROR, Blame.SCENARIO)
    assert "cannot be called with `client: direct`: `anthropic` is a provider" in result.reason
    assert chat_server.requests == []
