from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_convoprobe.importing.notes import Fate
from pytest_convoprobe.importing.options import ImportOptions

from .reading import SAMPLES, from_data, imported, kinds, only, scenario_of


def case(*turns: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"eval_set_id": "s", "eval_cases": [{"eval_id": "c", "conversation": list(turns), **more}]}


def turn(asked: str, answer: str = "", calls: Any = (), **more: Any) -> dict[str, Any]:
    return {
        "user_content": {"parts": [{"text": asked}]},
        "final_response": {"parts": [{"text": answer}]},
        "intermediate_data": {"tool_uses": list(calls)},
        **more,
    }


def with_criteria(folder: Path, **criteria: Any) -> ImportOptions:
    path = folder / "criteria.json"
    path.write_text(json.dumps({"criteria": criteria}))
    return ImportOptions(criteria=path)


CALL = {"name": "find", "args": {"id": 7}}


def test_the_sample() -> None:
    suite = imported("adk", SAMPLES / "adk" / "shop.evalset.json")
    talk, simulated = suite.tests
    found = scenario_of(talk)
    assert found["synthetic_user"]["initial_query"] == "Where is my parcel?"
    assert found["synthetic_user"]["script"] == ["It is A-1001."]
    assert found["synthetic_user"]["max_turns"] == 2
    assert found["metadata"]["session_state"] == {"tier": "gold", "api_key": "****"}
    calls = found["evaluation"]["tool_usage"]["expected_calls"]["calls"]
    assert [call["tool"] for call in calls] == ["find_order"]
    assert found["evaluation"]["tool_usage"]["tool_call_criteria"] == [
        {"tool": "find_order", "assertions": [{"in_turn": 2, "args": {"order_id": {"equals": "A-1001"}}}]}
    ]
    criteria = found["evaluation"]["correctness_criteria"]
    assert any("“It is A-1001.”" in one and one.endswith("It arrives on Monday.") for one in criteria)
    assert "The agent names the day of arrival." in criteria
    assert kinds(talk, Fate.LOST) == {
        "final session state": 1,
        "response_evaluation_score": 1,
        "unknown metric": 1,
        "custom metric": 1,
    }
    left = kinds(talk, Fate.LEFT_OUT)
    assert {"session state", "secret", "results of tools", "unknown key"} <= left.keys()
    user = scenario_of(simulated)["synthetic_user"]
    assert user["initial_query"] == "Please cancel order A-1002."
    assert user["persona"].startswith("You want to cancel the order.")
    assert user["clarification_behavior"] == {"traits": {"expertise": "novice"}}
    assert user["max_turns"] == 4
    assert kinds(simulated, Fate.LEFT_OUT)["tool_trajectory_avg_score"] == 1


@pytest.mark.parametrize("name", ["old.test.json", "sets.evalset.json"])
def test_old_forms(name: str) -> None:
    suite = imported("adk", SAMPLES / "adk" / "old" / name)
    assert "default criteria" in kinds(suite, Fate.LEFT_OUT)
    found = scenario_of(only(suite))
    if name == "old.test.json":
        assert found["synthetic_user"]["initial_query"] == "Where is order A-1002?"
        assert kinds(suite, Fate.LEFT_OUT)["results of tools"] == 1
    else:
        assert found["evaluation"]["efficiency"] == {"max_tool_calls": 0}


def test_keys_in_camel_case_are_the_same(tmp_path: Path) -> None:
    data = {
        "evalSetId": "s",
        "evalCases": [
            {
                "evalId": "c",
                "conversation": [
                    {
                        "userContent": {"parts": [{"text": "Hi"}]},
                        "intermediateData": {"toolUses": [CALL]},
                    }
                ],
                "sessionInput": {"appName": "a", "userId": "u", "state": {"someKey": 1}},
            }
        ],
    }
    found = scenario_of(only(from_data("adk", tmp_path, data)))
    assert found["metadata"]["session_state"] == {"someKey": 1}
    assert found["metadata"]["app_name"] == "a"
    assert found["evaluation"]["tool_usage"]["expected_calls"]["calls"][0]["tool"] == "find"


def test_calls_in_events_of_newer_releases(tmp_path: Path) -> None:
    events = [{"author": "a", "content": {"parts": [{"text": "…"}, {"function_call": CALL}]}}]
    one = turn("Hi") | {"intermediate_data": {"invocation_events": events}}
    found = scenario_of(only(from_data("adk", tmp_path, case(one))))
    assert found["evaluation"]["tool_usage"]["expected_calls"]["calls"][0]["tool"] == "find"


@pytest.mark.parametrize(
    ("criterion", "fate"),
    [
        (1.0, "changed"),
        ({"threshold": 1.0, "match_type": "ANY_ORDER"}, "changed"),
        ({"threshold": 1.0, "match_type": 1, "ignore_args": True}, "taken"),
        (0.5, "changed"),
        ({"threshold": 1.0, "match_type": "SIDEWAYS"}, "lost"),
    ],
)
def test_trajectories(tmp_path: Path, criterion: Any, fate: str) -> None:
    options = with_criteria(tmp_path, tool_trajectory_avg_score=criterion)
    test = from_data("adk", tmp_path, case(turn("Hi", calls=[CALL])), options).tests[0]
    assert getattr(test, fate) == 1
    assert test.taken + test.changed + test.lost == 1


def test_arguments_can_be_ignored(tmp_path: Path) -> None:
    options = with_criteria(tmp_path, tool_trajectory_avg_score={"threshold": 1, "ignore_args": True})
    test = only(from_data("adk", tmp_path, case(turn("Hi", calls=[CALL])), options))
    assert scenario_of(test)["evaluation"]["tool_usage"]["expected_calls"]["calls"] == [{"tool": "find"}]


def test_what_could_not_fail_is_no_check(tmp_path: Path) -> None:
    options = with_criteria(tmp_path, response_match_score=0, tool_trajectory_avg_score=1.0)
    test = only(from_data("adk", tmp_path, case(turn("Hi", "Ho", [CALL])), options))
    assert (test.taken, test.changed, test.lost) == (0, 1, 0)
    assert "response_match_score with threshold 0" in kinds(test, Fate.LEFT_OUT)


@pytest.mark.parametrize(
    ("turns", "why"),
    [
        ([], "neither a `conversation`"),
        ([turn("")], "message 1 of the user has no text"),
        ([{"user_content": {"parts": [{"inline_data": {"data": "x"}}]}}], "has no text"),
        ([turn("Hi")] * 101, "101 turns"),
    ],
)
def test_no_scenario_is_said_with_the_reason(tmp_path: Path, turns: list[Any], why: str) -> None:
    (test,) = from_data("adk", tmp_path, case(*turns)).tests
    assert test.scenario is None
    assert why in next(note.why for note in test.notes if note.fate is Fate.LOST)


def test_files_in_messages_are_named(tmp_path: Path) -> None:
    parts = {"parts": [{"text": "What is this?"}, {"inline_data": {"data": "aGk="}}]}
    test = only(from_data("adk", tmp_path, case(turn("x", calls=[CALL]) | {"user_content": parts})))
    assert "files in a message" in kinds(test, Fate.LEFT_OUT)


def test_the_text_of_a_thought_is_not_an_answer(tmp_path: Path) -> None:
    answer = {"parts": [{"text": "hm", "thought": True}, {"text": "It is blue"}]}
    test = only(from_data("adk", tmp_path, case(turn("x") | {"final_response": answer})))
    assert "hm" not in str(scenario_of(test)["evaluation"])
