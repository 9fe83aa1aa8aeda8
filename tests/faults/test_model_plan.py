"""The faults in an agent's calls of models: which call gets one, and faults that have no call."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_convoprobe.errors import ScenarioError
from pytest_convoprobe.faults.model_plan import ModelFaultPlan
from pytest_convoprobe.faults.rules import FaultRule


def plan(*rules: dict[str, Any], trial: int = 1) -> ModelFaultPlan:
    return ModelFaultPlan((FaultRule.model_validate({"kind": "error", **one}) for one in rules), "a", trial)


def faults_of(faults: ModelFaultPlan, *models: str) -> list[str]:
    """The kind of fault that each call gets; empty for none."""
    return [rule.kind if (rule := faults.next_call(model)) else "" for model in models]


def test_each_model_has_its_own_numbers_of_calls() -> None:
    found = faults_of(
        plan({"model": "gpt-*", "call": 2}), "gpt-a", "gpt-b", "gpt-a", "other", "gpt-b", "gpt-a"
    )
    assert found == ["", "", "error", "", "error", ""]


def test_the_first_rule_for_a_call_counts() -> None:
    faults = plan({"model": "gpt", "call": 1, "kind": "empty"}, {"model": "*"})
    assert faults_of(faults, "gpt", "gpt", "other") == ["empty", "error", "error"]


def test_a_chance_hits_the_same_calls_in_every_run_and_others_in_another_trial() -> None:
    def hits(trial: int) -> list[str]:
        return faults_of(plan({"model": "*", "chance": 0.5}, trial=trial), *["gpt"] * 40)

    assert hits(1) == hits(1)
    assert hits(1) != hits(2)
    assert 5 < hits(1).count("error") < 35


def test_a_fault_without_a_call_is_an_error_of_the_scenario() -> None:
    faults = plan({"model": "gpt-*", "call": 2}, {"model": "other", "optional": True})
    faults_of(faults, "gpt-a", "small")
    with pytest.raises(ScenarioError) as raised:
        faults.require_reached()
    assert "not reached call 2 of the model `gpt-*` (error 500" in str(raised.value)
    assert "the agent called `gpt-a` 1 time, `small` 1 time" in str(raised.value)
    faults_of(faults, "gpt-a")
    faults.require_reached()


def test_nothing_through_the_gateway_is_said_to_be_so() -> None:
    with pytest.raises(ScenarioError, match=r"the agent called no model through `target\.models`"):
        plan({"model": "*"}).require_reached()
