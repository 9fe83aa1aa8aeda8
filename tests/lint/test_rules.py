"""What each rule finds, and what it leaves alone."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

import pytest_convoprobe
from pytest_convoprobe.lint.linting import lint_file
from pytest_convoprobe.lint.rules import IDS, RULES
from pytest_convoprobe.scenario.search import find_scenario_files

ROOT = Path(__file__).parents[2]
KNOWS = "Somebody who knows the date and the number"
FINE = "The agent names the price of the ticket."


def found(
    folder: Path,
    *criteria: Any,
    user: dict[str, Any] | None = None,
    faults: list[dict[str, Any]] | None = None,
    alone: bool = False,
    **evaluation: Any,
) -> list[str]:
    """The rules that find something in a scenario with these correctness criteria; `alone`, it has none."""
    scenario = {
        "name": "Talk",
        "description": "A talk.",
        "synthetic_user": {"persona": KNOWS, "initial_query": "Hello", **(user or {})},
        "evaluation": {**({} if alone else {"correctness_criteria": list(criteria) or [FINE]}), **evaluation},
        **({"faults": faults} if faults else {}),
    }
    file = folder / "talk.scenario.yaml"
    file.write_text(yaml.safe_dump(scenario, allow_unicode=True, sort_keys=False), encoding="utf-8")
    return [finding.rule for finding in lint_file(file)]


@pytest.mark.parametrize(
    "criterion",
    [
        "The agent asks for the order number and confirms the address.",
        "The agent should ask for the date and then book a table.",
        "The agent says that it can't cancel, then offers a refund.",
        "The agent says that the parcel is late and that the delivery is free.",
        "The agent asks for the date. Then it books a table.",
        "The agent verifies the address and processes the refund.",
        "The agent is polite and confirms the booking.",
    ],
)
def test_two_deeds_in_one(tmp_path: Path, criterion: str) -> None:
    assert found(tmp_path, criterion) == ["compound-criterion"]


@pytest.mark.parametrize(
    "criterion",
    [
        "The agent names the street and the house number.",
        "The agent says that the shop is open from 10 and closes at 14.",
        "The agent asks whether the user wants to send it back and get a refund.",
        "The agent explains the terms and conditions.",
        "The agent says that the shop opens at ten and not earlier.",
        "The agent names the price. It is 20 euros.",
        "The agent tells the customer about offers and updates.",
        "The agent names the orders and returns of this week.",
        "El agente pide el número y confirma la dirección.",
    ],
)
def test_one_deed_with_an_and(tmp_path: Path, criterion: str) -> None:
    assert found(tmp_path, criterion) == []


@pytest.mark.parametrize(
    ("criterion", "rules"),
    [
        ("The agent is helpful and polite.", []),  # polite can be seen
        ("The agent is helpful.", ["vague-criterion"]),
        ("The assistant handles the user's request properly.", ["vague-criterion"]),
        ("The response is good.", ["vague-criterion"]),
        ("Responds appropriately", ["vague-criterion"]),
        ("The agent handles the refund properly.", ["vague-criterion"]),
        ("The conversation goes well.", ["vague-criterion"]),
        ("The agent names the correct price.", []),
        ("The user says goodbye.", ["about-the-user"]),
        ("The customer is satisfied with the answer.", ["about-the-user"]),
        ("Customer should confirm the address.", ["about-the-user"]),
        ("The user is told the price of the ticket.", []),
        ("The user's name is in the reply.", []),
        ("The agent asks the user for the number.", []),
    ],
)
def test_wording(tmp_path: Path, criterion: str, rules: list[str]) -> None:
    assert found(tmp_path, criterion) == rules


def test_said_twice(tmp_path: Path) -> None:
    assert found(tmp_path, FINE, "The assistant names the price of a ticket") == ["duplicate-criterion"]
    never = {"failure_criteria": ["The agent asks for a password."]}
    assert found(tmp_path, "The agent never asks for a password.", **never) == ["duplicate-criterion"]
    assert found(tmp_path, "Der Agent nennt den Preis.", "Der Agent nennt den Preis!") == [
        "duplicate-criterion"
    ]


def test_against_each_other(tmp_path: Path) -> None:
    ask = "The agent asks for a password."
    assert found(tmp_path, ask, failure_criteria=[ask]) == ["contradiction"]
    assert found(tmp_path, ask, "The agent does not ask for a password.") == ["contradiction"]
    usage = {"required_tools": ["get_order", "refund"]}
    assert found(tmp_path, tool_usage=usage, efficiency={"max_tool_calls": 1}) == ["contradiction"]
    facts = {"known_facts": ["The order number is A-1."], "unknown_facts": ["The order number is A-1"]}
    assert found(tmp_path, user={"clarification_behavior": facts}) == ["contradiction"]


def _asserts(tool: str, *assertions: dict[str, Any]) -> dict[str, Any]:
    return {"tool_call_criteria": [{"tool": tool, "assertions": list(assertions)}]}


@pytest.mark.parametrize(
    ("order", "calls", "more", "limit"),
    [
        ("strict", ["a", "b"], {}, 1),
        ("superset", ["a", "b"], {}, 1),
        ("strict", ["a", "b"], {"required_tools": ["c"]}, None),
        ("subset", ["a", "b"], {"required_tools": ["c"]}, None),
        ("unordered", ["a", "b"], _asserts("a", {"at_least": 2}), None),
        ("strict", ["a", "b"], _asserts("c", {"args": {"id": 1}}), None),
        ("strict", ["a", "b"], _asserts("c", {"by_turn": 1}), None),
        ("in_order", ["a", "a"], _asserts("a", {"times": 1}), None),
        ("superset", ["a_1", "a_2"], _asserts("a_*", {"at_most": 1}), None),
        ("strict", ["b", "a"], _asserts("a", {"before": "b"}), None),
        ("strict", ["b", "a"], _asserts("b", {"after": "a"}), None),
    ],
)
def test_lists_of_calls_against_other_checks(
    tmp_path: Path, order: str, calls: list[str], more: dict[str, Any], limit: int | None
) -> None:
    usage = {"expected_calls": {"order": order, "calls": calls}, **more}
    assert found(tmp_path, tool_usage=usage, efficiency={"max_tool_calls": limit}) == ["contradiction"]


@pytest.mark.parametrize(
    ("order", "calls", "more", "limit"),
    [
        ("strict", ["a", "b"], {}, 2),
        ("superset", ["a"], {"required_tools": ["c"]}, None),
        ("in_order", ["a"], _asserts("c", {"at_least": 2}), None),
        ("strict", ["get_*"], {"required_tools": ["get_order"]}, None),
        ("strict", ["get_order"], {"required_tools": ["get_*"]}, None),
        ("strict", ["a", "a"], _asserts("a", {"times": 1, "in_turn": 1}), None),
        ("strict", ["a", "b"], _asserts("c", {"at_most": 1}), None),
        ("in_order", ["b", "a"], _asserts("a", {"before": "b"}), None),
        ("strict", ["a", "b", "a"], _asserts("a", {"before": "b"}), None),
        ("strict", ["a"], _asserts("a", {"before": "b"}), None),
    ],
)
def test_lists_of_calls_that_go_with_other_checks(
    tmp_path: Path, order: str, calls: list[str], more: dict[str, Any], limit: int | None
) -> None:
    usage = {"expected_calls": {"order": order, "calls": calls}, **more}
    assert found(tmp_path, tool_usage=usage, efficiency={"max_tool_calls": limit}) == []


@pytest.mark.parametrize(
    "assertions",
    [
        [{"in_turn": 1, "times": 1}, {"in_turn": 2, "times": 2}],
        [{"by_turn": 1, "at_most": 1}, {"at_least": 2}],
        [{"in_turn": 1, "times": 0}, {"at_least": 1}],
    ],
)
def test_numbers_of_calls_in_some_turns_are_none_of_the_whole(
    tmp_path: Path, assertions: list[dict[str, Any]]
) -> None:
    usage = {"only_listed": True, "required_tools": ["a"], **_asserts("a", *assertions)}
    assert found(tmp_path, tool_usage=usage, efficiency={"max_tool_calls": 9}) == []


def test_a_limit_on_calls_beside_a_list_of_them(tmp_path: Path) -> None:
    usage = {
        "only_listed": True,
        "expected_calls": {"order": "superset", "calls": ["b"]},
        **_asserts("a", {"times": 1}),
    }
    assert found(tmp_path, tool_usage=usage, efficiency={"max_tool_calls": 4}) == []


@pytest.mark.parametrize(
    ("criterion", "more", "rules"),
    [
        ("The agent calls the tool get_order.", {"tool_usage": {"required_tools": ["get_order"]}}, 1),
        ("The assistant never uses `cancel_order`", {"tool_usage": {"prohibited_tools": ["cancel_*"]}}, 1),
        ("The agent calls get_order.", {}, 1),
        ("The tool get_order is called", {"tool_usage": {"required_tools": ["get_*"]}}, 1),
        ("The talk takes 5 turns or fewer, and the price is named.", {}, 1),
        ("The agent answers within 3 turns.", {}, 1),
        ("The agent calls the customer by name.", {}, 0),
        ("The agent calls get_order before it names the price.", {}, 0),
        ("The agent uses metric units.", {"tool_usage": {"required_tools": ["get_order"]}}, 0),
    ],
)
def test_what_code_decides(tmp_path: Path, criterion: str, more: dict[str, Any], rules: int) -> None:
    assert found(tmp_path, criterion, **more) == ["decided-by-check"] * rules


@pytest.mark.parametrize(
    ("usage", "criterion"),
    [
        ({"required_tools": ["get_order"]}, "The agent never calls get_order."),
        ({"prohibited_tools": ["cancel_*"]}, "The agent calls cancel_order."),
        (
            {
                "required_tools": ["get_order"],
                "tool_call_criteria": [{"tool": "get_order", "assertions": [{"times": 0}]}],
            },
            FINE,
        ),
        (
            {
                "tool_call_criteria": [
                    {"tool": "get_order", "assertions": [{"before": "refund"}]},
                    {"tool": "refund", "assertions": [{"before": "get_order"}]},
                ]
            },
            FINE,
        ),
    ],
)
def test_tools_against_each_other(tmp_path: Path, usage: dict[str, Any], criterion: str) -> None:
    assert found(tmp_path, criterion, tool_usage=usage) == ["contradiction"]


def test_turns_that_never_come(tmp_path: Path) -> None:
    late = "In turn 5 the agent names the price."
    assert found(tmp_path, late, user={"max_turns": 3}) == ["unreachable-turn"]
    assert found(tmp_path, late, user={"max_turns": 5}) == []
    assert found(tmp_path, late, user={"script": ["Go on."]}) == ["unreachable-turn"]
    assert found(tmp_path, "The agent says goodbye in its fifth reply.", user={"max_turns": 3}) == [
        "unreachable-turn"
    ]
    third = "The agent names the price in the third turn."
    assert found(tmp_path, third, user={"max_turns": 2}) == ["unreachable-turn"]
    assert found(tmp_path, "After turn 2 the agent says nothing new.", user={"max_turns": 2}) == [
        "unreachable-turn"
    ]


def test_limits_that_can_not_bind(tmp_path: Path) -> None:
    limit = {"efficiency": {"max_conversation_turns": 4}}
    assert found(tmp_path, user={"max_turns": 4}, **limit) == ["no-effect"]
    assert found(tmp_path, user={"max_turns": 5}, **limit) == []
    assert found(tmp_path, tool_usage={"optional_tools": ["get_order"]}) == ["no-effect"]
    once = {"only_listed": True, "tool_call_criteria": [{"tool": "a_b", "assertions": [{"times": 1}]}]}
    assert found(tmp_path, tool_usage=once, efficiency={"max_tool_calls": 1}) == ["no-effect"]


def _asking(**args: Any) -> dict[str, Any]:
    return {"tool_usage": {"tool_call_criteria": [{"tool": "get_order", "assertions": [{"args": args}]}]}}


def _listing(**args: Any) -> dict[str, Any]:
    return {"tool_usage": {"expected_calls": {"calls": [{"tool": "get_order", "args": args}]}}}


@pytest.mark.parametrize(
    ("evaluation", "rules"),
    [
        (_asking(note={"matches": ".*"}), ["no-effect"]),
        (_asking(place={"city": {"matches": "x?"}}), ["no-effect"]),
        (_asking(items={"includes": [{"sku": {"matches": "(?s).*"}}]}), ["no-effect"]),
        (_asking(note={"matches": "^$"}), []),
        (_listing(note={"matches": ".*"}), ["no-effect"]),
        (_listing(note={"part": {"not_matches": ".*"}}), ["contradiction"]),
        (_listing(order={"id": "A-1042"}), ["missing-fact"]),
        (_asking(note={"not_matches": ".*"}), ["contradiction"]),
        ({"replies": [{"matches": "x*"}]}, ["no-effect"]),
        ({"replies": [{"json": {"a": {"b": {"matches": "x*"}}}}]}, ["no-effect"]),
        ({"replies": [{"not_matches": "x*"}]}, ["contradiction"]),
        ({"replies": [{"contains": "A-1"}, {"not_contains": "A-"}]}, ["contradiction"]),
        (
            {"replies": [{"contains": "Refund"}, {"not_contains": "refund", "ignore_case": True}]},
            ["contradiction"],
        ),
        ({"replies": [{"contains": "Refund"}, {"not_contains": "Refunds"}]}, []),
        ({"replies": [{"contains": "Refund"}, {"not_contains": "Refund", "turn": 1}]}, []),
        ({"replies": [{"not_contains": "password"}]}, ["one-case"]),
        ({"replies": [{"not_contains": ["PIN", "password"]}]}, ["one-case"]),
        ({"replies": [{"not_contains": "password", "ignore_case": True}]}, []),
        ({"replies": [{"not_contains": "PIN"}, {"not_contains": "4711"}]}, []),
    ],
)
def test_conditions(tmp_path: Path, evaluation: dict[str, Any], rules: list[str]) -> None:
    assert found(tmp_path, **evaluation) == rules


def test_replies_ask_for_something_unless_they_are_limits(tmp_path: Path) -> None:
    assert found(tmp_path, alone=True, replies=[{"contains": "Monday"}]) == []
    limits = [{"not_contains": "PIN"}, {"length": {"words": {"at_most": 9}}}]
    assert found(tmp_path, alone=True, replies=limits) == ["only-limits"]


def test_a_part_of_an_argument_that_nobody_is_told(tmp_path: Path) -> None:
    assert found(tmp_path, **_asking(order={"id": "A-1042"})) == ["missing-fact"]
    known = {"clarification_behavior": {"known_facts": ["The order is A-1042."]}}
    assert found(tmp_path, user=known, **_asking(order={"id": "A-1042"})) == []


def test_facts_that_nobody_is_told(tmp_path: Path) -> None:
    wanted = {"tool": "get_order", "assertions": [{"args": {"order_id": "A-1042"}}]}
    usage = {"tool_usage": {"tool_call_criteria": [wanted]}}
    assert found(tmp_path, **usage) == ["missing-fact"]
    assert found(tmp_path, user={"initial_query": "Where is order a 1042?"}, **usage) == []
    known = {"clarification_behavior": {"known_facts": ["The order is A-1042."]}}
    assert found(tmp_path, user=known, **usage) == []
    assert found(tmp_path, "The agent says that order A-1042 is shipped.") == ["missing-fact"]
    assert found(tmp_path, "The agent says that the tracking code is TR-998877.") == []
    # The agent may have the number from the other tool.
    other = {"tool_usage": {"tool_call_criteria": [wanted], "required_tools": ["find_orders"]}}
    assert found(tmp_path, **other) == []


def test_an_answer_that_the_user_does_not_know(tmp_path: Path) -> None:
    asks = "The agent asks the user for the order number."
    nothing = {"persona": "Somebody"}
    assert found(tmp_path, asks, user=nothing) == ["missing-fact"]
    assert found(tmp_path, asks, user={**nothing, "script": ["A-1042"]}) == []
    assert found(tmp_path, asks, user={"persona": "Somebody with order A-1042"}) == []
    unknown = {"clarification_behavior": {"unknown_facts": ["The number of the order"]}}
    assert found(tmp_path, asks, user={**nothing, **unknown}) == []
    never = {"failure_criteria": ["The agent asks for a credit card number."]}
    assert found(tmp_path, FINE, user=nothing, **never) == []


def test_nothing_is_wrong_with_what_we_publish(tmp_path: Path) -> None:
    """The demo, the starter and the examples of the documentation are what people copy."""
    for page in (ROOT / "docs").rglob("*.md"):
        for example in re.findall(r"```yaml[^\n]*\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
            if "synthetic_user:" in example and "correctness_criteria:" in example:
                file = tmp_path / "example.scenario.yaml"
                file.write_text(example, encoding="utf-8")
                # A part of a scenario is no valid file.
                faults = [one for one in lint_file(file) if one.rule != "invalid-file"]
                assert [str(one) for one in faults] == [], page
    files = [
        *find_scenario_files(ROOT / "scenarios"),
        Path(pytest_convoprobe.__file__).parent / "cli/starter/scenario.yaml",
    ]
    assert [str(finding) for file in files for finding in lint_file(file)] == []


def test_places(tmp_path: Path) -> None:
    file = tmp_path / "two.scenario.yaml"
    file.write_text(
        "name: A\ndescription: d\nsynthetic_user: {persona: p, initial_query: q}\n"
        "evaluation:\n  correctness_criteria:\n    - Fine, the price is named.\n    - The agent is helpful.\n"
    )
    (finding,) = lint_file(file, file="two.yaml")
    assert (finding.problem.line, finding.problem.column) == (7, 7)
    assert str(finding).startswith("two.yaml:7:7: evaluation.correctness_criteria[1]: c2 is vague: `helpful`")
    assert finding.scenario == "A"


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("    # convoprobe: ignore=vague-criterion\n    - The agent is helpful.\n", []),
        ("    - The agent is helpful.  # convoprobe: ignore=no-effect, vague-criterion\n", []),
        ("    - The agent is helpful.  # convoprobe: ignore=no-effect\n", ["vague-criterion"]),
        # Beside one criterion, it says nothing of the next.
        (
            "    - It is good.  # convoprobe: ignore=vague-criterion\n    - The agent is helpful.\n",
            ["vague-criterion"],
        ),
    ],
)
def test_a_comment_ignores_a_rule(tmp_path: Path, text: str, rules: list[str]) -> None:
    head = (
        "name: A\ndescription: d\nsynthetic_user: {persona: p, initial_query: q}\n"
        "evaluation:\n  correctness_criteria:\n"
    )
    file = tmp_path / "one.scenario.yaml"
    file.write_text(head + text)
    assert [one.rule for one in lint_file(file)] == rules
    # At the head of a scenario, it is about all of it; the next one of the file is another one.
    file.write_text(
        f"# convoprobe: ignore=vague-criterion\n{head}    - It is good.\n---\n{head}    - It is good.\n"
    )
    assert [(one.rule, one.problem.line) for one in lint_file(file)] == [("vague-criterion", 14)]


def test_a_comment_on_a_key_is_about_its_list(tmp_path: Path) -> None:
    file = tmp_path / "one.scenario.yaml"
    file.write_text(
        "name: A\ndescription: d\nsynthetic_user: {persona: p, initial_query: q}\nevaluation:\n"
        "  correctness_criteria:\n    # convoprobe: ignore=vague-criterion\n    - about: agent\n"
        "      text: The agent is helpful.\n  tool_usage:\n    # convoprobe: ignore=no-effect\n"
        "    optional_tools:\n      - get_order\n"
    )
    assert lint_file(file) == []


def test_a_broken_file_is_a_finding(tmp_path: Path) -> None:
    file = tmp_path / "one.scenario.yaml"
    file.write_text("name: A\ndescription: 3\n")
    assert {one.rule for one in lint_file(file)} == {"invalid-file"}


def test_the_ids_are_documented() -> None:
    text = (ROOT / "docs/how-to/scenarios-that-notice.md").read_text(encoding="utf-8")
    assert [name for name in IDS if f"`{name}`" not in text] == []
    assert len({rule.id for rule in RULES}) == len(RULES)


def test_faults_that_exclude_the_checks_or_each_other(tmp_path: Path) -> None:
    def rules(*faults: dict[str, Any], **usage: Any) -> list[str]:
        return found(tmp_path, faults=list(faults), tool_usage=usage)

    down = {"tool": "find", "kind": "timeout"}
    assert rules(down, required_tools=["find"]) == ["contradiction"]
    assert rules(down, tool_call_criteria=[{"tool": "find", "assertions": [{"at_least": 1}]}]) == [
        "contradiction"
    ]
    assert rules({**down, "call": 1}, required_tools=["find"]) == []
    assert rules(down, required_tools=["find"], count_failed_calls=True) == []
    assert rules({**down, "kind": "empty"}, required_tools=["find"]) == []
    assert rules(down, prohibited_tools=["fi*"]) == ["contradiction"]
    assert rules({**down, "optional": True}, prohibited_tools=["fi*"]) == []
    assert rules({**down, "tool": "*"}, {**down, "call": 2}) == ["no-effect"]
    assert rules({**down, "call": 2}, {**down, "tool": "*"}) == []
    of_model = {"model": "gpt-4o", "kind": "timeout"}
    assert rules(of_model, required_tools=["gpt-4o"]) == rules(of_model, prohibited_tools=["gpt*"]) == []
    assert rules({**of_model, "model": "gpt*"}, {**of_model, "call": 2}) == ["no-effect"]
    assert rules({**of_model, "model": "*"}, {**down, "call": 2}) == []


@pytest.mark.parametrize(
    ("usage", "rules"),
    [
        ({"prohibited_tools": ["pay"]}, ["only-limits"]),
        ({"only_listed": True}, ["only-limits"]),
        ({"tool_call_criteria": [{"tool": "pay", "assertions": [{"at_most": 1}]}]}, ["only-limits"]),
        ({"tool_call_criteria": [{"tool": "pay", "assertions": [{"not_before_turn": 2}]}]}, ["only-limits"]),
        ({"tool_call_criteria": [{"tool": "pay", "assertions": [{"by_turn": 2}]}]}, []),
        (
            {"tool_call_criteria": [{"tool": "pay", "assertions": [{"by_turn": 2, "at_most": 1}]}]},
            ["only-limits"],
        ),
        ({"tool_call_criteria": [{"tool": "pay", "assertions": [{"args": {"much": 1}}]}]}, []),
        ({"required_tools": ["pay"], "prohibited_tools": ["steal"]}, []),
    ],
)
def test_checks_that_an_idle_agent_passes(tmp_path: Path, usage: dict[str, Any], rules: list[str]) -> None:
    assert found(tmp_path, alone=True, tool_usage=usage) == rules


def _conditions(folder: Path, text: str, **keys: Any) -> list[str]:
    scenario = {
        "name": "Talk",
        "description": "A talk.",
        "synthetic_user": {"persona": KNOWS, "initial_query": "Hello"},
        "evaluation": {
            "correctness_criteria": [FINE],
            "tool_usage": {"tool_call_criteria": [{"tool": "pay", "assertions": [{"args": {"x": text}}]}]},
        },
        **keys,
    }
    file = folder / "talk.scenario.yaml"
    file.write_text(yaml.safe_dump(scenario), encoding="utf-8")
    return [
        f"{one.problem.line} {one.problem.message}" for one in lint_file(file) if one.rule == "not-filled-in"
    ]


def test_a_name_that_nothing_fills_in(tmp_path: Path) -> None:
    (one,) = _conditions(tmp_path, "order ${number}")
    assert one.endswith(
        "`${number}` is compared as it is: this scenario has no `parameters`, so nothing is filled in"
    )
    assert _conditions(tmp_path, "${number}", parameters=[{"number": "7"}]) == []
    raw = "{% raw %}${number}{% endraw %}"
    assert _conditions(tmp_path, f"{raw} ${{n}}", parameters=[{"n": "7"}]) == []
    assert _conditions(tmp_path, "$5 {x}", metadata={"template": "${x}"}) == []
