"""Exports as other programs write them, and what is replaced in their texts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_convoprobe.generate.exported import read_transcripts
from pytest_convoprobe.generate.known import KnownScenarios
from pytest_convoprobe.generate.replacing import Replacements, _Personal

ASKED = {"role": "user", "content": "Where is order 7?"}
SENT = {"role": "assistant", "content": "It was sent."}
ITEMS = [
    {"type": "reasoning", "id": "r", "summary": []},
    {"type": "function_call", "call_id": "c", "name": "find", "arguments": '{"id": 7}'},
    {"type": "function_call_output", "call_id": "c", "output": "sent"},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "It was sent."}]},
]
USE = {"type": "tool_use", "id": "t", "name": "find", "input": {"id": 7}}
RESULT = {"type": "tool_result", "tool_use_id": "t", "content": "sent"}


def run(asked: list[Any], answered: Any) -> dict[str, Any]:
    return {"trace_id": "1", "run_type": "llm", "inputs": {"messages": [asked]}, "outputs": answered}


CALL = {"name": "find", "args": {"id": 7}, "id": "c"}
ASKS = {"type": "ai", "content": "", "tool_calls": [CALL]}
FOUND = {"type": "tool", "content": "sent", "tool_call_id": "c"}


def read(tmp_path: Path, value: Any) -> list[list[tuple[str, str, list[Any]]]]:
    file = tmp_path / "talk.json"
    file.write_text(json.dumps(value))
    return [
        [
            (turn.user, turn.reply.text, [call.result for call in turn.reply.tool_calls or ()])
            for turn in one.turns
        ]
        for one in read_transcripts(file)
    ]


@pytest.mark.parametrize(
    "value",
    [
        [ASKED, *ITEMS],
        {"object": "response", "input": "Where is order 7?", "output": ITEMS},
        {
            "messages": [
                ASKED,
                {"role": "assistant", "content": [USE]},
                {"role": "user", "content": [RESULT]},
                SENT,
            ]
        },
        # Each call of the model is a run of its own.
        [
            run([ASKED], {"generations": [[{"message": ASKS}]]}),
            run([ASKED, ASKS, FOUND], {"generations": [[{"message": SENT}]]}),
        ],
    ],
    ids=["responses", "response", "anthropic", "langsmith"],
)
def test_calls_of_tools_are_read_with_their_results(tmp_path: Path, value: Any) -> None:
    assert read(tmp_path, value) == [[("Where is order 7?", "It was sent.", ["sent"])]]


TEXTS = {"input": "Where is order 7?", "output": "It was sent."}


@pytest.mark.parametrize(
    "value",
    [
        {
            "trace": {"id": "t", **TEXTS},
            "observations": [{"type": "GENERATION", "input": [ASKED], "output": SENT}],
        },
        {"trace": {"id": "t", **TEXTS}, "observations": []},
        {"data": [{"traceId": "t", "input": {"messages": [ASKED]}, "output": SENT}], "meta": {}},
    ],
    ids=["downloaded", "texts", "api"],
)
def test_traces_of_langfuse(tmp_path: Path, value: Any) -> None:
    assert read(tmp_path, value) == [[("Where is order 7?", "It was sent.", [])]]


def test_a_session_of_langfuse_is_one_conversation(tmp_path: Path) -> None:
    later = {"timestamp": "2026-01-02", "input": {"text": "Thanks"}, "output": "Bye"}
    session = {"id": "s", "traces": [later, {"timestamp": "2026-01-01", **TEXTS}]}
    assert read(tmp_path, session) == [[("Where is order 7?", "It was sent.", []), ("Thanks", "Bye", [])]]


def replaced(text: str, *names: str) -> str:
    found = Replacements()
    found.learn_people([_Personal(text=name, kind="name") for name in names], text)
    found.learn_forms(found.text(text))
    return found.text(text)


def test_names_in_every_spelling_and_not_inside_words() -> None:
    text = "Ann Lee's annual plan for Ann, ANN LEE and user_ann_lee; ann said Leeds"
    assert replaced(text, "Ann Lee") == (
        "Robin Fields's annual plan for Robin, ROBIN FIELDS and user_robin_fields; ann said Leeds"
    )
    assert replaced("\u738b\u5c0f\u660e\u5148\u751f", "\u738b\u5c0f\u660e") == "Robin\u5148\u751f"


@pytest.mark.parametrize(
    "kept",
    [
        "It costs $1299 or 1,299 EUR, and 1299.50 later",
        "on 2026-03-14, 14.03.2026, 3/14/2026, 2026-03-14T10:00:00Z",
        "{'price': 1299, 'total': 2598}, 250 ml, 250ml",
    ],
)
def test_amounts_and_dates_are_kept(kept: str) -> None:
    assert replaced(kept) == kept


def test_no_two_numbers_become_one() -> None:
    orders = [f"order {number}" for number in range(100, 400)]
    others = replaced("; ".join(orders)).split("; ")
    assert len(set(others)) == len(orders)
    assert not set(others) & set(orders)
    mails = replaced(" ".join(f"p{number}@shop.se" for number in range(120))).split()
    assert len(set(mails)) == 120
    assert replaced("x@shop.se X@SHOP.SE").casefold().split()[0] == replaced("x@shop.se")


def test_scenarios_in_folders_of_the_folder_are_known(tmp_path: Path) -> None:
    (tmp_path / "orders").mkdir()
    (tmp_path / "orders" / "a.yaml").write_text(
        "name: a\ndescription: d\nsynthetic_user: {persona: p, initial_query: Hi}\n"
        "evaluation: {correctness_criteria: [It says hi]}\n"
    )
    assert KnownScenarios.in_folder(tmp_path).openings == ["Hi"]
