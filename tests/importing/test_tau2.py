from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_convoprobe.importing.notes import Fate
from pytest_convoprobe.importing.options import GREETING, ImportOptions

from .reading import SAMPLES, from_data, imported, kinds, only, scenario_of


def task(**criteria: Any) -> dict[str, Any]:
    return {"id": "t", "user_scenario": {"instructions": "You want it."}, "evaluation_criteria": criteria}


def test_the_sample() -> None:
    cancel, reported = imported("tau2", SAMPLES / "tau2" / "tasks.json").tests
    found = scenario_of(cancel)
    user, evaluation = found["synthetic_user"], found["evaluation"]
    assert found["name"].startswith("Task cancel-1: The agent cancels an order")
    assert found["description"].endswith("Policy: Orders in the warehouse can be cancelled.")
    assert user["persona"] == (
        "You are in a hurry.\n\nYou want to cancel order A-1002.\n\nSay thanks once it is cancelled."
    )
    assert user["clarification_behavior"] == {
        "known_facts": ["You are Kim.", "Your order is A-1002."],
        "unknown_facts": ["You don't know what it has cost."],
    }
    assert user["initial_query"] == GREETING
    assert [one["tool"] for one in evaluation["tool_usage"]["tool_call_criteria"]] == [
        "find_order",
        "cancel_order",
    ]
    assert evaluation["tool_usage"]["tool_call_criteria"][1]["assertions"] == [
        {"args": {"order_id": {"equals": "A-1002"}}}
    ]
    assert [one["contains"] for one in evaluation["replies"]] == ["A-1002", "cancelled"]
    assert 'cancel_order(order_id="A-1002"' in evaluation["correctness_criteria"][0]
    assert "toggle_airplane_mode" not in str(evaluation)
    assert found["metadata"]["initial_state"]["initialization_data"]["agent_data"]
    assert len(found["metadata"]["reference_actions"]) == 3
    assert kinds(cancel, Fate.LOST) == {
        "action of the user": 1,
        "end state of the user's side": 1,
        "env_assertion": 1,
        "unknown reward": 1,
    }
    assert kinds(cancel, Fate.CHANGED) == {"end state (DB)": 1, "action: other arguments": 1}
    assert cancel.taken == 4
    assert {"initial state", "unknown key", "first message"} == kinds(cancel, Fate.LEFT_OUT).keys()

    second = scenario_of(reported)
    assert second["synthetic_user"][
        "persona"
    ] == "You want to know whether {% raw %}{{today}}{% endraw %} is a holiday." or (
        "{{today}}" in second["synthetic_user"]["persona"]
    )
    assert second["synthetic_user"]["history"] == [
        {"user": "Is order A-1001 shipped?"},
        {"tool_calls": [{"name": "find_order", "arguments": {"order_id": "A-1001"}, "result": "shipped"}]},
        {"agent": "It is."},
    ]
    assert kinds(reported, Fate.CHANGED) == {"end state (DB)": 1, "reported nl_assertion": 1}
    assert kinds(reported, Fate.LEFT_OUT).keys() == {
        "first message",
        "`user_tools`",
        "reported env_assertion",
    }


def test_commas_in_numbers_do_not_matter() -> None:
    import re

    _, reported = imported("tau2", SAMPLES / "tau2" / "tasks.json").tests
    (check,) = scenario_of(reported)["evaluation"]["replies"]
    for said in ("It is $1,234.50.", "It is 1234.50"):
        assert re.search(check["matches"], said)
    assert not re.search(check["matches"], "It is 1234,50")


def test_what_is_not_in_the_basis_could_not_fail(tmp_path: Path) -> None:
    data = [
        task(
            reward_basis=["NL_ASSERTION"],
            nl_assertions=["It is done"],
            communicate_info=["7"],
            actions=[{"name": "a"}],
        )
    ]
    test = only(from_data("tau2", tmp_path, data))
    assert (test.taken, test.changed, test.lost) == (1, 0, 0)
    assert kinds(test, Fate.LEFT_OUT).keys() == {
        "first message",
        "reported communicate_info",
        "reported actions",
    }


def test_an_empty_end_state_is_one_without_changes(tmp_path: Path) -> None:
    test = only(from_data("tau2", tmp_path, {"tasks": [task(actions=[], reward_basis=["DB"])]}))
    (criterion,) = scenario_of(test)["evaluation"]["correctness_criteria"]
    assert criterion.startswith("The agent makes no call that creates")


@pytest.mark.parametrize("data", [task(nl_assertions=["x"]), {"tasks": [task(nl_assertions=["x"])]}])
def test_one_task_and_a_mapping_of_tasks(tmp_path: Path, data: Any) -> None:
    assert only(from_data("tau2", tmp_path, data)).source_id == "t"


def test_the_first_message_can_be_given(tmp_path: Path) -> None:
    suite = from_data("tau2", tmp_path, [task(nl_assertions=["x"])], ImportOptions(first_message="Hey"))
    assert scenario_of(only(suite))["synthetic_user"]["initial_query"] == "Hey"


def test_the_word_for_the_end_is_not_said(tmp_path: Path) -> None:
    data = [task(nl_assertions=["x"]) | {"user_scenario": {"instructions": 'Say: "Bye." ###STOP###'}}]
    test = only(from_data("tau2", tmp_path, data))
    assert scenario_of(test)["synthetic_user"]["persona"] == 'Say: "Bye."'
    assert "word for the end" in kinds(test, Fate.LEFT_OUT)


def test_an_agent_that_greets_comes_first(tmp_path: Path) -> None:
    suite = from_data("tau2", tmp_path, [task(nl_assertions=["x"])], ImportOptions(agent_first=True))
    test = only(suite)
    user = scenario_of(test)["synthetic_user"]
    assert user["first"] == "agent"
    assert "initial_query" not in user
    assert "first message" not in kinds(test, Fate.LEFT_OUT)


@pytest.mark.parametrize("broken", [{"id": 1, "evaluation_criteria": {}}, {"id": 1, "user_scenario": {}}, 7])
def test_tasks_without_a_user_are_refused_with_the_reason(tmp_path: Path, broken: Any) -> None:
    data = [task(nl_assertions=["x"]), broken]
    test = from_data("tau2", tmp_path, data).tests[1]
    assert test.scenario is None
    assert "it has no `user_scenario`" in str(test.notes)
