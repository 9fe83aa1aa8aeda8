"""The date of a conversation: both sides are told it, and a replay has the recorded one."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from pytest_convoprobe.errors import Blame, SettingsError
from pytest_convoprobe.llm.port import Role
from pytest_convoprobe.reports.failure import render_failure
from pytest_convoprobe.result import Outcome, ScenarioResult
from pytest_convoprobe.results.fingerprints import NO_PRINTS
from pytest_convoprobe.results.records import from_record, to_record
from tests.support.scripted_llm import FakeLLM

from .test_trial import answers, run

FIRST = "2026-11-28T14:30:00+01:00"
WORDS = "Saturday, 28 November 2026, 14:30 (UTC+01:00)"


def prompts(llm: FakeLLM, role: Role) -> str:
    asked = [request for request in llm.requests if request.context.role is role]
    return "\n".join(message.content for message in asked[0].messages)


def recorded(tmp_path: Path) -> dict[str, Any]:
    (path,) = tmp_path.rglob("_recordings/**/*.json")
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def with_now(tmp_path: Path, mode: str, now: str | None = None, llm: Any = None) -> ScenarioResult:
    overrides = {"run.replay": mode, **({"run.now": now} if now else {})}
    return run(tmp_path, llm=llm or FakeLLM(answers()), overrides=overrides)


def test_the_user_and_the_judge_are_told_the_date(tmp_path: Path) -> None:
    llm = FakeLLM(answers())
    result = run(tmp_path, llm=llm, overrides={"run.now": FIRST})
    assert WORDS in prompts(llm, Role.SYNTHETIC_USER)
    assert WORDS in prompts(llm, Role.JUDGE)
    assert result.transcript.now is not None
    assert result.transcript.now.isoformat() == FIRST


def test_without_a_setting_it_is_the_present(tmp_path: Path) -> None:
    llm = FakeLLM(answers())
    run(tmp_path, llm=llm)
    assert re.search(
        r"began it was \w+day, \d+ \w+ 20\d\d, \d\d:\d\d \(UTC", prompts(llm, Role.SYNTHETIC_USER)
    )


def test_a_replay_has_the_recorded_date(tmp_path: Path) -> None:
    with_now(tmp_path, "record", FIRST)
    assert recorded(tmp_path)["now"] == {"1": FIRST}
    replayed = with_now(tmp_path, "only", llm=FakeLLM([]))
    assert (replayed.outcome, str(replayed.transcript.now)) == (Outcome.PASSED, "2026-11-28 14:30:00+01:00")


def test_another_date_does_not_fit_the_recording(tmp_path: Path) -> None:
    with_now(tmp_path, "record", FIRST)
    result = with_now(tmp_path, "only", "2027-01-01T00:00:00Z")
    assert (result.outcome, result.blame) == (Outcome.ERROR, Blame.RECORDING)


def test_a_recording_of_an_earlier_release_replays_without_a_date(tmp_path: Path) -> None:
    first = FakeLLM(answers())
    with_now(tmp_path, "record", FIRST, first)
    (path,) = tmp_path.rglob("_recordings/**/*.json")
    data = recorded(tmp_path)
    del data["now"]
    path.write_text(json.dumps(data), encoding="utf-8")
    llm = FakeLLM(answers())
    result = with_now(tmp_path, "auto", llm=llm)
    assert result.transcript.now is None
    assert "28 November" not in prompts(llm, Role.SYNTHETIC_USER)
    assert "now" not in recorded(tmp_path)


@pytest.mark.parametrize("wrong", ["2026-11-28", "2026-11-28T10:00:00", "next week"])
def test_a_date_without_time_or_zone_is_refused(tmp_path: Path, wrong: str) -> None:
    with pytest.raises(SettingsError, match="must be a date and a time with their zone"):
        run(tmp_path, overrides={"run.now": wrong})


def test_the_date_is_stored_and_shown(tmp_path: Path) -> None:
    result = run(tmp_path, llm=answers("not_met"), overrides={"run.now": FIRST})
    assert (
        from_record(json.loads(json.dumps(to_record(result, NO_PRINTS)))).result.transcript
        == result.transcript
    )
    shown = render_failure(result, verbosity=0, width=100, rerun_command="pytest", ascii_only=True)
    assert WORDS in shown
