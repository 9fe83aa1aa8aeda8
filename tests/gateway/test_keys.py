"""Agents are made and replayed where there is no key; our own models never get the one in its place."""

from __future__ import annotations

import os
import sys

import pytest

from pytest_convoprobe.errors import SettingsError
from pytest_convoprobe.gateway.variables import NO_KEY, AgentVariables
from pytest_convoprobe.llm.known_models import check_model
from pytest_convoprobe.llm.port import Role
from pytest_convoprobe.project_code.agent_environment import own_variable
from pytest_convoprobe.settings.model_settings import ModelSettings

KEY, OTHER = "OPENAI_API_KEY", "ANTHROPIC_API_KEY"


@pytest.fixture
def variables(monkeypatch: pytest.MonkeyPatch) -> AgentVariables:
    for name in (KEY, OTHER):
        monkeypatch.delenv(name, raising=False)
    return AgentVariables("http://127.0.0.1:1/secret")


@pytest.mark.parametrize("before", [None, ""])
def test_where_there_is_no_key_clients_find_one_for_that_time(
    variables: AgentVariables, before: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if before is not None:
        monkeypatch.setenv(KEY, before)
    with variables.needed(["openai"], keyless=True):
        with variables.needed(["openai"], keyless=True):
            pass
        assert os.environ[KEY] == NO_KEY
        assert OTHER not in os.environ
        assert not own_variable(KEY)
    assert os.environ.get(KEY) == before


def test_a_key_that_is_there_stays(variables: AgentVariables, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY, "sk-own")
    with variables.needed(["openai", "anthropic"], keyless=True):
        assert (os.environ[KEY], os.environ[OTHER]) == ("sk-own", NO_KEY)
    assert (os.environ[KEY], os.environ.get(OTHER)) == ("sk-own", None)


def test_a_live_run_gets_none(variables: AgentVariables) -> None:
    with variables.needed(["openai"]):
        assert KEY not in os.environ


def test_our_own_models_still_lack_theirs(variables: AgentVariables, monkeypatch: pytest.MonkeyPatch) -> None:
    # Where it is imported, a key may have been set in code.
    monkeypatch.delitem(sys.modules, "litellm", raising=False)
    with (
        variables.needed(["openai"], keyless=True),
        pytest.raises(SettingsError, match="OPENAI_API_KEY"),
    ):
        check_model(ModelSettings(model="openai/gpt-4o-mini"), Role.JUDGE)


def test_every_variable_that_clients_of_anthropic_read_leads_to_the_gateway(
    variables: AgentVariables,
) -> None:
    with variables.needed(["anthropic"]):
        # LangChain reads the last of these first.
        for name in ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_BASE", "ANTHROPIC_API_URL"):
            assert os.environ[name] == "http://127.0.0.1:1/secret"
