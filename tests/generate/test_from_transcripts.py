from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_convoprobe.generate.exported import read_transcripts
from pytest_convoprobe.generate.known import KnownScenarios
from pytest_convoprobe.generate.making import Made, Writer
from pytest_convoprobe.generate.reproducing import from_transcripts
from pytest_convoprobe.llm.fake import FakeLLM
from pytest_convoprobe.redaction import Redactor
from pytest_convoprobe.results.fingerprints import NO_PRINTS
from pytest_convoprobe.results.records import to_record
from pytest_convoprobe.scenario.loading import parse_scenarios
from pytest_convoprobe.settings.model_settings import ModelSettings
from pytest_convoprobe.transcript import Transcript
from tests.cli.stored import passed

CALL = {"id": "c1", "type": "function", "function": {"name": "get_order", "arguments": '{"id": "KT-2044"}'}}
MESSAGES: list[dict[str, Any]] = [
    {"role": "system", "content": "You help."},
    {"role": "user", "content": "I am Greta Olsson, greta@shop.se. Where is KT-2044?"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "to Elm Street 9, Lund, on 4 May"},
    {"role": "assistant", "content": "Greta, it goes to Elm Street 9, Lund, on 4 May."},
    {"role": "user", "content": "Cancel it. My key is sk-live-abcdefghijklmnop1234"},
    {"role": "assistant", "content": "I can't cancel KT-2044."},
]


def langchain(kind: str, content: str) -> dict[str, Any]:
    return {
        "lc": 1,
        "type": "constructor",
        "id": ["langchain", f"{kind}Message"],
        "kwargs": {"content": content},
    }


def read(tmp_path: Path, value: Any) -> list[Transcript]:
    file = tmp_path / "talk.json"
    file.write_text(value if isinstance(value, str) else json.dumps(value))
    return read_transcripts(file)


def said(transcript: Transcript) -> list[tuple[str, str, list[str]]]:
    return [
        (turn.user, turn.reply.text, [call.name for call in turn.reply.tool_calls or ()])
        for turn in transcript.turns
    ]


WHOLE = [
    (MESSAGES[1]["content"], MESSAGES[4]["content"], ["get_order"]),
    (MESSAGES[5]["content"], MESSAGES[6]["content"], []),
]
ASKED, ANSWERED = MESSAGES[:-1], MESSAGES[-1]


@pytest.mark.parametrize(
    "value",
    [
        MESSAGES,
        {"messages": MESSAGES},
        "\n".join(json.dumps({"messages": MESSAGES}) for _ in range(1)),
        {"run_type": "llm", "inputs": {"messages": [ASKED]}, "outputs": {"choices": [{"message": ANSWERED}]}},
        {"run_type": "chain", "inputs": {"messages": MESSAGES[:2]}, "outputs": {"messages": MESSAGES}},
        {
            "inputs": {"x": 1},
            "child_runs": [{"inputs": {"messages": ASKED}, "outputs": {"output": ANSWERED}}],
        },
        {"id": "trace", "observations": [{"input": MESSAGES[:2]}, {"input": ASKED, "output": ANSWERED}]},
        {"id": "trace", "input": json.dumps(ASKED), "output": json.dumps(ANSWERED)},
    ],
    ids=[
        "messages",
        "object",
        "jsonl",
        "langsmith",
        "langsmith-state",
        "langsmith-child",
        "langfuse",
        "texts",
    ],
)
def test_each_form_is_read(tmp_path: Path, value: Any) -> None:
    (transcript,) = read(tmp_path, value)
    assert said(transcript) == WHOLE
    assert transcript.turns[0].reply.tool_calls is not None
    assert transcript.turns[0].reply.tool_calls[0].result == MESSAGES[3]["content"]


def test_langchains_own_form_and_several_conversations(tmp_path: Path) -> None:
    run = {
        "inputs": {"messages": [[langchain("Human", "Hi")]]},
        "outputs": {"messages": [langchain("AI", "Yes?")]},
    }
    found = read(tmp_path, "\n".join(map(json.dumps, [run, {"messages": MESSAGES}])))
    assert [said(one) for one in found] == [[("Hi", "Yes?", [])], WHOLE]


def test_our_own_runs(tmp_path: Path) -> None:
    record = to_record(passed("a"), NO_PRINTS)
    for value in (record, {"trials": [record]}):
        (transcript,) = read(tmp_path, value)
        assert said(transcript) == said(passed("a").transcript)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("", "no message of a user"),
        ("nothing", "not JSON"),
        ('{"messages": []}\n{', ":2: it is not JSON"),
        ([], "no message of a user"),
        ({"messages": [{"role": "assistant", "content": "Hello"}]}, "no message of a user"),
        ({"transcript": {"turns": 3}}, "not a stored trial"),
    ],
)
def test_other_files_are_refused_with_a_reason(tmp_path: Path, value: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        read(tmp_path, value)


PEOPLE = {
    "found": [
        {"text": "Greta Olsson", "kind": "name"},
        {"text": "Elm Street 9, Lund", "kind": "address"},
        {"text": "Nobody There", "kind": "name"},
    ]
}
DRAFT = {
    "name": "Cancelling too late",
    "description": "The agent can't cancel.",
    "persona": "Somebody who waits for an order",
    "initial_query": "something else",
    "required_tools": ["get_order", "invented_tool"],
    "correctness_criteria": ["The agent says on which day the order arrives"],
    "failure_criteria": ["The agent claims to have cancelled the order"],
}


async def reproduced(
    tmp_path: Path, *drafts: dict[str, Any], messages: list[dict[str, Any]] = MESSAGES
) -> tuple[Made | None, list[str]]:
    llm = FakeLLM([json.dumps(PEOPLE), *map(json.dumps, drafts)])
    writer = Writer(llm, ModelSettings(model="openai/m"), KnownScenarios(), "bug.json", "0.1", bool)
    made, _ = await from_transcripts(writer, read(tmp_path, messages), Redactor())
    return (made[0] if made else None), ["\n".join(m.content for m in one.messages) for one in llm.requests]


async def test_a_scenario_reproduces_it_without_personal_data(tmp_path: Path) -> None:
    made, prompts = await reproduced(tmp_path, DRAFT)
    assert made is not None
    for personal in ("Greta", "Olsson", "greta@shop.se", "Elm Street", "Lund", "KT-2044", "sk-live-abc"):
        assert personal not in made.text
        assert personal not in prompts[1]
    assert "sk-live-abc" not in prompts[0]
    (loaded,) = parse_scenarios(made.text)
    assert loaded.scenario is not None
    user = loaded.scenario.synthetic_user
    first, (second,) = user.initial_query, user.script
    assert first.startswith("I am Robin Fields, person")
    assert str(second).startswith("Cancel it. My key is ")
    assert user.max_turns == 2
    assert loaded.scenario.evaluation.tool_usage.required_tools == ("get_order",)
    # The same number is the same everywhere.
    number = first.rstrip("?").rsplit(" ", 1)[1]
    assert number.startswith("KT-")
    assert f"I can't cancel {number}." in prompts[1]


async def test_a_draft_that_brings_personal_data_back_is_asked_for_again(tmp_path: Path) -> None:
    made, prompts = await reproduced(tmp_path, {**DRAFT, "persona": "Greta Olsson from Lund"}, DRAFT)
    assert made is not None
    assert "'Greta Olsson', which must be replaced" in prompts[2]


async def test_a_conversation_that_the_agent_began(tmp_path: Path) -> None:
    greeted = [MESSAGES[0], {"role": "assistant", "content": "Welcome to the shop!"}, *MESSAGES[1:]]
    made, prompts = await reproduced(tmp_path, DRAFT, messages=greeted)
    assert made is not None
    (loaded,) = parse_scenarios(made.text)
    assert loaded.scenario is not None
    user = loaded.scenario.synthetic_user
    assert user.first == "agent"
    assert user.initial_query.startswith("I am ")
    assert "(The agent speaks first.)" in prompts[-1]
    assert "Welcome to the shop!" in prompts[0]
