from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_convoprobe.errors import BudgetExceeded, LLMUnavailable
from pytest_convoprobe.generate.known import KnownScenarios
from pytest_convoprobe.generate.making import Dropped, Made, Writer, described, from_tools
from pytest_convoprobe.generate.wishes import COMPLEXITIES, KINDS, Wish, wishes
from pytest_convoprobe.llm.fake import FakeLLM
from pytest_convoprobe.llm.port import LLMRequest, ToolSpec
from pytest_convoprobe.scenario.loading import parse_scenarios
from pytest_convoprobe.scenario.new_files import file_name, write_new
from pytest_convoprobe.settings.model_settings import ModelSettings

TOOLS = (
    ToolSpec("get_order", "Looks up an order.", {"type": "object", "properties": {"id": {"type": "string"}}}),
    ToolSpec("cancel_order", "Cancels an order.", {"type": "object", "properties": {}}),
)
DRAFT: dict[str, Any] = {
    "name": "Where is my kettle?",
    "description": "The agent looks up an order.",
    "persona": "A customer who waits for a kettle",
    "initial_query": "Where is my order KT-204?",
    "required_tools": ["get_order"],
    "correctness_criteria": ["The agent names the day on which the order arrives"],
    "failure_criteria": ["The agent asks for a password"],
}
SIMPLE = Wish("happy-path", "simple")


def draft(**changes: Any) -> str:
    return json.dumps({**DRAFT, **changes})


async def made_of(
    replies: Any, wanted: list[Wish] | None = None, known: KnownScenarios | None = None
) -> tuple[list[Made], list[Dropped], FakeLLM]:
    llm = FakeLLM(replies)
    kept: list[Made] = []
    model = ModelSettings(model="openai/small")
    writer = Writer(llm, model, known or KnownScenarios(), "2 tools of x", "0.1", kept.append)
    made, dropped = await from_tools(writer, TOOLS, wanted or [SIMPLE])
    assert kept == made
    return made, dropped, llm


async def test_a_scenario_is_loaded_and_says_what_it_was_made_from() -> None:
    (one,), dropped, llm = await made_of([draft()])
    assert dropped == []
    assert one.text.startswith(
        "# Written by the model openai/small with convoprobe generate 0.1: happy-path, simple,\n"
        "# from 2 tools of x.\n"
        "# Read it before you trust it.\n"
    )
    (loaded,) = parse_scenarios(one.text)
    assert loaded.tags == ("generated", "happy-path")
    assert loaded.scenario is not None
    assert loaded.scenario.metadata["generated"] == {
        "kind": "happy-path",
        "complexity": "simple",
        "from": "2 tools of x",
    }
    prompt = llm.requests[0].messages[0].content
    assert '- get_order: Looks up an order. Parameters: {"id": {"type": "string"}}' in prompt


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ({"required_tools": ["fetch_order"]}, "no tool `fetch_order`"),
        ({"prohibited_tools": ["delete_all"]}, "no tool `delete_all`"),
        ({"correctness_criteria": []}, "evaluation.correctness_criteria"),
        ({"initial_query": " "}, "synthetic_user.initial_query"),
        ({"max_turns": 1000}, "synthetic_user.max_turns"),
        ({"correctness_criteria": ["The agent is helpful"]}, "evaluation.correctness_criteria"),
    ],
)
async def test_what_is_wrong_is_asked_for_again(wrong: dict[str, Any], complaint: str) -> None:
    (one,), dropped, llm = await made_of([draft(**wrong), draft()])
    assert (one.name, dropped) == ("Where is my kettle?", [])
    assert complaint in llm.requests[1].messages[-1].content


@pytest.mark.parametrize(
    ("kind", "wrong", "right", "complaint"),
    [
        ("clarification", {}, {"known_facts": ["The number is KT-204"]}, "known_facts: put what"),
        (
            "clarification",
            {"known_facts": ["It is KT-204"], "max_turns": 1},
            {"known_facts": ["It is KT-204"]},
            "at least 2 turns",
        ),
        ("adversarial", {"failure_criteria": []}, {}, "say what the agent must not do"),
        ("efficiency", {}, {"max_tool_calls": 1}, "the least number of calls"),
    ],
)
async def test_a_scenario_is_of_its_kind(
    kind: str, wrong: dict[str, Any], right: dict[str, Any], complaint: str
) -> None:
    (one,), dropped, llm = await made_of([draft(**wrong), draft(**right)], [Wish(kind, "simple")])
    assert (one.what, dropped) == (f"{kind}, simple", [])
    assert complaint in llm.requests[1].messages[-1].content


async def test_only_efficiency_has_a_limit_of_calls() -> None:
    (one,), _, _ = await made_of([draft(max_tool_calls=1)])
    assert "max_tool_calls" not in one.text


async def test_what_stays_wrong_is_dropped_with_the_reason() -> None:
    made, (dropped,), llm = await made_of([draft(required_tools=["fly"])] * 3)
    assert made == []
    assert dropped.what == "happy-path, simple"
    assert "no tool `fly`" in dropped.reasons[0]
    assert len(llm.requests) == 3


async def test_a_warning_that_stays_is_kept_and_shown() -> None:
    (one,), dropped, _ = await made_of([draft(correctness_criteria=["The agent is helpful"])] * 3)
    assert dropped == []
    assert len(one.warnings) == 1


@pytest.mark.parametrize(
    "opening", ["where is my order kt-204", "Where is my order KT-204, please?"], ids=["same", "nearly"]
)
async def test_nothing_is_repeated(tmp_path: Path, opening: str) -> None:
    (first,), _, _ = await made_of([draft()])
    write_new(tmp_path, "a", first.text)
    (tmp_path / "broken.yaml").write_text("name: [")
    known = KnownScenarios.in_folder(tmp_path)
    other = draft(name="Other", initial_query="Is the lamp there?")
    (one,), dropped, llm = await made_of([draft(initial_query=opening), other], known=known)
    assert (one.name, dropped) == ("Other", [])
    assert "begins like this already" in llm.requests[1].messages[-1].content
    assert "- Where is my order KT-204?" in llm.requests[0].messages[0].content


async def test_a_model_that_fails_ends_its_kind_alone() -> None:
    def answer(request: LLMRequest) -> Any:
        if KINDS["adversarial"] in request.messages[0].content:
            raise LLMUnavailable("the provider is down")
        return draft()

    made, dropped, _ = await made_of(answer, [SIMPLE, Wish("adversarial", "simple")])
    assert [one.what for one in made] == ["happy-path, simple"]
    assert [(one.what, one.reasons) for one in dropped] == [
        ("adversarial, simple", ("the provider is down",))
    ]


async def test_without_a_budget_the_rest_is_dropped() -> None:
    def answer(request: LLMRequest) -> Any:
        raise BudgetExceeded("the budget is used up")

    made, dropped, llm = await made_of(answer, [SIMPLE] * 4)
    assert made == []
    assert len(dropped) == 4
    assert len(llm.requests) <= 1


def test_kinds_come_in_turn_and_then_with_the_next_complexity() -> None:
    found = list(wishes(["happy-path", "efficiency"], ["simple", "complex"], 5))
    assert [one.name for one in found] == [
        "happy-path, simple",
        "efficiency, simple",
        "happy-path, complex",
        "efficiency, complex",
        "happy-path, simple",
    ]
    assert all(Wish(kind, level).words for kind in KINDS for level in COMPLEXITIES)


def test_no_file_is_overwritten(tmp_path: Path) -> None:
    assert file_name("Where is my kettle?") == "where-is-my-kettle"
    assert file_name("…/../") == "scenario"
    paths = [write_new(tmp_path / "new", "a", text) for text in ("first", "second")]
    assert [path.name for path in paths] == ["a.yaml", "a-2.yaml"]
    assert paths[0].read_text() == "first"


def test_of_many_tools_only_the_first_fit() -> None:
    many = [ToolSpec(f"tool{number}", "x" * 1_000, {}) for number in range(100)]
    text = described(many)
    assert len(text) < 26_000
    assert text.endswith("- … and 100 tools in all")
