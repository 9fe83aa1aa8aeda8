"""`results.mask` in a benchmark: conversations, their recordings, and what the evaluator is asked."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_convoprobe.benchmark.engines.worker import Worker
from pytest_convoprobe.benchmark.rows.messages import Said
from pytest_convoprobe.benchmark.rows.row_types import ConversationRow
from pytest_convoprobe.benchmark.rows.work import Item, RowResult
from pytest_convoprobe.llm.fake import FakeLLM
from pytest_convoprobe.llm.port import LLMRequest, Role
from pytest_convoprobe.pseudonyms import Masking
from pytest_convoprobe.settings.mask_rules import patterns_of
from pytest_convoprobe.settings.models import ResultsSettings, RunSettings
from tests.conversation.doubles import says

from ..parts import config, conversation, evaluation, found, simulation, task

BOB, ZOE = "bob@example.com", "zoe@example.com"


def masking(*rules: Any) -> Masking:
    return Masking(patterns_of(ResultsSettings(mask=rules).mask))


async def done(
    stage: str, item: Item, llm: FakeLLM, folder: Path, rule: str = "email", replay: str = "record"
) -> RowResult:
    settings = config(run=RunSettings(replay=replay))
    made = replace(task(stage, settings), folder=folder, masking=masking(rule))
    worker = Worker(pickle.loads(pickle.dumps(made)), llm)
    try:
        return await worker.do(item)
    finally:
        await worker.aclose()


def answer(request: LLMRequest) -> str:
    if request.context.role is Role.TARGET:
        return f"I write to {BOB} and {ZOE}."
    return says(f"My address is {BOB} ({request.context.turn}).")


def said(result: RowResult) -> list[str]:
    assert result.row is not None, result.failure
    return [one.content for one in ConversationRow.from_json(result.row).messages]


async def test_a_conversation_and_its_recording_have_placeholders(tmp_path: Path) -> None:
    llm = FakeLLM(answer)
    result = await done("simulate", simulation(), llm, tmp_path)
    assert said(result)[:2] == ["My address is [email 1] (1).", "I write to [email 1] and [email 2]."]
    assert any(BOB in message.content for one in llm.requests for message in one.messages)
    (recording,) = tmp_path.rglob("_recordings/**/*.json")
    assert "example.com" not in recording.read_text()
    again = await done("simulate", simulation(), FakeLLM([]), tmp_path, replay="only")
    assert said(again) == said(result)


async def test_the_evaluator_gets_placeholders_of_an_unmasked_conversation_too(tmp_path: Path) -> None:
    row = replace(conversation(), messages=(Said("user", f"I am {BOB}"), Said("assistant", f"Hello {BOB}")))
    llm = FakeLLM([found(True, "it greets [email 1]")])
    result = await done("evaluate", evaluation(row), llm, tmp_path)
    question = llm.requests[0].messages[-1].content
    assert "example.com" not in question + json.dumps(result.row)
    assert "Hello [email 1]" in question
    assert "it greets [email 1]" in json.dumps(result.row)


async def test_a_pattern_without_an_end_makes_no_row(tmp_path: Path) -> None:
    llm = FakeLLM(lambda request: says("a" * 60 + "!") if request.context.role is not Role.TARGET else "ok")
    result = await done("simulate", simulation(), llm, tmp_path, "(a|aa)+$")
    assert (result.row, result.rejected) == (None, True)
    assert "results.mask: the pattern /(a|aa)+$/" in result.failure
    assert list(tmp_path.rglob("_recordings")) == []
