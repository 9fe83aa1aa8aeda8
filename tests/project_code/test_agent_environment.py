"""Variables for the agent's code, and what they were before."""

from __future__ import annotations

import os

import pytest

from pytest_convoprobe.project_code.agent_environment import agent_environment, own_environment, own_variable

_NAME = "CONVOPROBE_TEST_BASE_URL"


@pytest.fixture(autouse=True)
def _unset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(_NAME, raising=False)


@pytest.mark.parametrize("before", [None, "https://before.test"])
def test_the_agent_gets_the_new_value_and_we_keep_the_old(
    before: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if before is not None:
        monkeypatch.setenv(_NAME, before)
    with agent_environment({_NAME: "http://127.0.0.1:1/x"}):
        assert os.environ[_NAME] == "http://127.0.0.1:1/x"
        assert own_variable(_NAME) == before
    assert os.environ.get(_NAME) == own_variable(_NAME) == before


def test_what_the_agent_sets_itself_stays() -> None:
    with agent_environment({_NAME: "http://127.0.0.1:1/x"}):
        os.environ[_NAME] = "of the agent"
    assert os.environ.pop(_NAME) == "of the agent"


def test_an_inner_block_changes_nothing() -> None:
    with agent_environment({_NAME: "outer"}):
        with agent_environment({_NAME: "inner"}):
            assert os.environ[_NAME] == "outer"
        assert (os.environ[_NAME], own_variable(_NAME)) == ("outer", None)
    assert _NAME not in os.environ


def test_the_whole_environment_as_it_was_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OURS", "ours")
    monkeypatch.delenv("NEW", raising=False)
    before = own_environment()
    with agent_environment({"OURS": "the agent's", "NEW": "x"}):
        assert own_environment() == before
        assert before["OURS"] == "ours"
