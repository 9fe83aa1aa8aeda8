"""Personal data in a conversation: who gets it, and what is kept of it."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_convoprobe.errors import Blame
from pytest_convoprobe.judging.types import CheckResult
from pytest_convoprobe.llm.port import LLMReply, LLMRequest, Role
from pytest_convoprobe.result import Outcome, ScenarioResult
from pytest_convoprobe.results.fingerprints import NO_PRINTS
from pytest_convoprobe.results.records import from_record, to_record
from pytest_convoprobe.runs.session import Session
from pytest_convoprobe.scenario.loading import parse_scenarios
from pytest_convoprobe.settings.loading import load_settings
from pytest_convoprobe.targets.fake import FakeTarget
from pytest_convoprobe.transcript import Reply, ToolCall
from tests.support.scripted_llm import FakeLLM

BOB, ZOE, SHOP = "bob@example.com", "zoe@example.com", "shop@example.com"
SCENARIO = f"""\
name: An address
description: Somebody whose address is {BOB}
synthetic_user: {{persona: Somebody, initial_query: I am {BOB}, max_turns: 2}}
evaluation:
  correctness_criteria: [The agent writes to {BOB}]
  tool_usage:
    tool_call_criteria: [{{tool: mail, assertions: [{{args: {{to: {{equals: {BOB}}}}}}}]}}]
"""
SETTINGS = "llm: {model: openai/fake}\nresults: {mask: [email]}\nrun: {now: 2026-01-02T03:04:05Z}\n"


@dataclass
class Talk:
    """A conversation in which each side uses an address; `asked` is what models got, `heard` the agent."""

    folder: Path
    settings: str = SETTINGS
    says: str = ""
    asked: list[LLMRequest] = field(default_factory=list)
    heard: list[str] = field(default_factory=list)

    def answer(self, request: LLMRequest) -> LLMReply:
        self.asked.append(request)
        if request.context.role is Role.JUDGE:
            found = {"finding": f"to {BOB}", "quote": "to [email 1]", "turn": 1, "absence": False}
            return LLMReply(json.dumps({"answers": [{"id": "c1", **found, "verdict": "met"}]}))
        return LLMReply(json.dumps({"message": f"And {ZOE}, also {BOB}?", "status": "continue"}))

    def reply(self, message: str, turn: int) -> Reply:
        self.heard.append(message)
        mail = ToolCall("mail", {"to": BOB}, result=[SHOP])
        return Reply(self.says or f"I write to {BOB} from {SHOP}. You said: {message}", (mail,))

    def run(self, replay: str = "off", **job: Any) -> ScenarioResult:
        (self.folder / "convoprobe.yaml").write_text(self.settings)
        loaded = load_settings(self.folder, overrides={"run.replay": replay})
        (scenario,) = parse_scenarios(SCENARIO, str(self.folder / "address.yaml"))
        with Session.of(loaded, self.folder, llm=FakeLLM(self.answer)) as session:
            made = session.job(scenario, "address.yaml::An address", FakeTarget(self.reply), **job)
            return session.run(made)

    @property
    def judged(self) -> list[LLMRequest]:
        return [one for one in self.asked if one.context.role is Role.JUDGE]

    @property
    def recording(self) -> str:
        (file,) = self.folder.rglob("_recordings/**/*.json")
        return file.read_text()


def shown(result: ScenarioResult) -> str:
    return json.dumps(to_record(result, NO_PRINTS))


def test_the_talk_has_the_data_and_what_is_kept_of_it_has_not(tmp_path: Path) -> None:
    talk = Talk(tmp_path)
    result = talk.run("record")
    assert (result.outcome, result.reason) == (Outcome.PASSED, "")
    assert talk.heard == [f"I am {BOB}", f"And {ZOE}, also {BOB}?"]
    assert "example.com" not in shown(result) + talk.recording
    assert result.transcript.turns[1].user == "And [email 3], also [email 1]?"
    # Checks by code have seen the original, the judge the same placeholders as the report.
    assert [check.holds for check in result.checks] == [True]
    question = talk.judged[0].messages[-1].content
    assert "example.com" not in question
    assert "The agent writes to [email 1]" in question
    assert result.criteria[0].quote == "to [email 1]"
    assert result.criteria[0].finding == "to [email 1]"


def test_a_masked_recording_replays_with_known_addresses_put_back(tmp_path: Path) -> None:
    first = Talk(tmp_path).run("record")
    again = Talk(tmp_path)
    result = again.run("only")
    assert again.asked == []
    assert again.heard == [f"I am {BOB}", f"And [email 3], also {BOB}?"]
    assert result.outcome is Outcome.PASSED
    assert [turn.reply for turn in result.transcript.turns] == [turn.reply for turn in first.transcript.turns]
    assert [turn.user for turn in result.transcript.turns] == [turn.user for turn in first.transcript.turns]


def test_a_stored_conversation_is_judged_again_by_the_same_placeholders(tmp_path: Path) -> None:
    stored = from_record(json.loads(shown(Talk(tmp_path).run()))).result
    again = Talk(tmp_path)
    result = again.run(held=stored.transcript)
    assert result.outcome is Outcome.PASSED
    assert [check.holds for check in result.checks] == [True]
    assert "example.com" not in shown(result)


def test_without_masks_nothing_changes(tmp_path: Path) -> None:
    talk = Talk(tmp_path, SETTINGS.replace("mask: [email]", "dir: x"))
    result = talk.run()
    assert result.transcript.turns[0].user == f"I am {BOB}"
    assert BOB in talk.judged[0].messages[-1].content


def test_an_unmasked_recording_still_replays_up_to_the_judge(tmp_path: Path) -> None:
    Talk(tmp_path, SETTINGS.replace("mask: [email]", "dir: x")).run("record")
    result = Talk(tmp_path).run("only")
    assert (result.outcome, result.blame) == (Outcome.ERROR, Blame.RECORDING)
    assert "the judge's call" in result.reason
    assert len(result.transcript.turns) == 2


def test_the_projects_own_masking_is_used_too(tmp_path: Path) -> None:
    result = Talk(tmp_path).run(mask=lambda text: text.replace("write", "[verb]"))
    assert result.transcript.turns[0].reply.text.startswith("I [verb] to [email 1]")


def test_a_check_of_the_project_has_the_original(tmp_path: Path) -> None:
    seen = []

    def check(scenario: Any, transcript: Any) -> list[CheckResult]:
        seen.append(transcript.turns[0].user)
        return [CheckResult("own", False, BOB, ZOE)]

    result = Talk(tmp_path).run(extra_checks=check)
    assert seen == [f"I am {BOB}"]
    assert (result.checks[-1].expected, result.checks[-1].found) == ("[email 1]", "[email 3]")
    assert "example.com" not in result.reason


def test_what_cannot_be_masked_is_an_error_and_nothing_of_it_is_kept(tmp_path: Path) -> None:
    settings = SETTINGS.replace("[email]", "['(a|aa)+$']")
    talk = Talk(tmp_path, settings)
    talk.says = "a" * 60 + "!"
    result = talk.run("record")
    assert (result.outcome, result.blame) == (Outcome.ERROR, Blame.SCENARIO)
    assert "convoprobe.yaml:2 (results): results.mask: the pattern /(a|aa)+$/" in result.reason
    assert "aaaa" not in shown(result)
    assert list(tmp_path.rglob("_recordings")) == []


class LongTalk(Talk):
    """One whose agent notes the event loop that others share."""

    def reply(self, message: str, turn: int) -> Reply:
        self.loop = asyncio.get_running_loop()
        return super().reply(message, turn)


def test_a_long_conversation_is_masked_while_others_talk(tmp_path: Path) -> None:
    talk, long = LongTalk(tmp_path), []

    def mask(text: str) -> None:
        if len(text) > 100_000:
            asyncio.run_coroutine_threadsafe(asyncio.sleep(0), talk.loop).result(4)
            long.append(text)

    talk.says = f"I write to {BOB}. " * 10_000
    result = talk.run(mask=mask)
    assert (result.outcome, result.reason) == (Outcome.PASSED, "")
    assert result.transcript.turns[0].reply.text == "I write to [email 1]. " * 10_000
    assert set(long) == {talk.says}
