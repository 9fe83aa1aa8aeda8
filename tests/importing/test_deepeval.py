from __future__ import annotations

from pathlib import Path

from pytest_convoprobe.importing.notes import Fate

from .reading import SAMPLES, from_data, imported, kinds, only, scenario_of


def test_a_golden() -> None:
    test = only(imported("deepeval", SAMPLES / "deepeval" / "goldens.json"))
    found = scenario_of(test)
    assert found["name"] == "Where is it"
    assert found["synthetic_user"]["initial_query"] == "Where is order A-1001?"
    assert found["evaluation"]["correctness_criteria"][0].endswith("It arrives on Monday.")
    assert found["evaluation"]["tool_usage"] == {
        "tool_call_criteria": [
            {"tool": "find_order", "assertions": [{"args": {"order_id": {"equals": "A-1001"}}}]}
        ],
        "required_tools": ["find_*"],
    }
    assert found["metadata"]["additional_metadata"] == {"team": "orders"}
    assert found["metadata"]["context"] == ["Order A-1001 arrives on Monday."]
    assert (test.taken, test.changed, test.lost) == (1, 2, 0)
    assert kinds(test, Fate.LEFT_OUT).keys() == {
        "`actual_output`",
        "`tools_called`",
        "`context`",
        "`output` of an expected tool",
        "`description` of an expected tool",
        "unknown key",
    }


def test_conversations() -> None:
    suite = imported("deepeval", SAMPLES / "deepeval" / "talks.json")
    cancel, goes_on = (scenario_of(test) for test in suite.tests)
    assert cancel["synthetic_user"]["persona"] == (
        "Kim, who is in a hurry.\n\nThe user wants to cancel order A-1002."
    )
    assert cancel["evaluation"]["correctness_criteria"] == [
        "This is how the conversation comes out: The order is cancelled."
    ]
    assert goes_on["synthetic_user"]["history"] == [{"user": "Hello"}, {"agent": "How can I help?"}]
    assert goes_on["synthetic_user"]["initial_query"] == "When does A-1001 arrive?"
    assert "name: Kim" in goes_on["synthetic_user"]["persona"]
    assert "metrics" in kinds(suite, Fate.LEFT_OUT)


def test_a_table() -> None:
    found = scenario_of(only(imported("deepeval", SAMPLES / "deepeval" / "goldens.csv")))
    assert found["metadata"]["context"] == ["The toaster", "arrives on Thursday"]
    assert found["evaluation"]["tool_usage"] == {"required_tools": ["find_order"]}


def test_goldens_as_turns_are_a_script(tmp_path: Path) -> None:
    turns = [{"input": "Hi", "expected_output": "Hello"}, {"input": "Bye"}]
    test = only(from_data("deepeval", tmp_path, {"conversationalGoldens": [{"goldens": turns}]}))
    user = scenario_of(test)["synthetic_user"]
    assert (user["initial_query"], user["script"], user["max_turns"]) == ("Hi", ["Bye"], 2)
    assert "“Hi”" in scenario_of(test)["evaluation"]["correctness_criteria"][0]


def test_lines_of_json(tmp_path: Path) -> None:
    path = tmp_path / "goldens.jsonl"
    path.write_text('{"input": "Hi", "expected_output": "Ho"}\n\n{"input": "Bye", "expectedOutput": "Bye"}\n')
    suite = imported("deepeval", path)
    assert [scenario_of(test)["synthetic_user"]["initial_query"] for test in suite.tests] == ["Hi", "Bye"]
    assert all(test.changed == 1 for test in suite.tests)
