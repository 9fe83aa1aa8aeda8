from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import jsonschema

from pytest_convoprobe.judging.types import (
    About,
    Criterion,
    CriterionKind,
    CriterionResult,
    Severity,
    Shows,
    Suggestion,
    ToolSuggestions,
    UserReview,
    Vote,
)
from pytest_convoprobe.reports.json_report import json_report, schema
from pytest_convoprobe.reports.run_report import BaselineComparison, RunReport, read_report
from pytest_convoprobe.result import Outcome
from pytest_convoprobe.results.compare import compare
from pytest_convoprobe.results.run_info import Selection
from pytest_convoprobe.results.store import list_runs, open_run
from pytest_convoprobe.transcript import (
    CallKind,
    PendingRequest,
    Reply,
    ToolCall,
    Transcript,
    Turn,
    Usage,
)

from ..cli.stored import failed, store
from .runs import TRIALS, past, rows_of, run_report, trial, with_past


def checked(report: RunReport) -> dict[str, object]:
    """The report, after a trip through text, and after the schema had its say."""
    data: dict[str, object] = json.loads(json.dumps(json_report(report), allow_nan=False))
    jsonschema.Draft202012Validator(schema()).validate(data)
    return data


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(schema())


def test_a_run_of_every_kind_of_trial_follows_the_schema() -> None:
    data = checked(with_past())
    assert data["trials"][0]["name"] == "Refund after the return window"
    assert data["totals"]["outcomes"] == {"passed": 5, "failed": 2, "error": 2, "skipped": 1}
    assert data["totals"]["blames"] == {"agent": 2, "judge": 1, "infrastructure": 1}
    assert data["totals"]["spent"]["judge"]["calls"] == 8


def test_what_a_run_selected_and_knew_of_its_judges_follows_the_schema() -> None:
    line = "judge openai/gpt-4o: 23 of 24 canaries (2026-11-28)"
    report = run_report()
    for chosen in (Selection(2, 3, 2), Selection(2, 3, 2, 1)):
        data = checked(replace(report, info=replace(report.info, selection=chosen, judges=(line,))))
        assert data["run"]["judges"] == [line]


def test_says_what_is_new_and_what_changed() -> None:
    first = checked(with_past())["trials"][0]
    assert first["newly"] == "not passing"
    assert first["changed"] == ["target's system prompt", "target's tools"]


def test_a_baseline_follows_the_schema() -> None:
    comparison = compare(past({one.result.name: "p" for one in TRIALS[:4]}), rows_of(TRIALS))
    data = checked(run_report(baseline=BaselineComparison("base", comparison)))
    assert data["baseline"]["changes"][0]["kind"] == "new failure"


def test_odd_values_follow_the_schema() -> None:
    call = ToolCall("t", {"a": math.inf, "b": {1, 2}}, result=object(), latency=math.nan)
    transcript = Transcript((Turn(1, "lone \ud800 \x00", Reply("", (call,)), latency=math.inf),), pending="")
    checked(run_report([trial(transcript=transcript, score=math.nan, duration=math.inf)]))


def test_all_that_is_known_of_a_criterion_follows_the_schema() -> None:
    asked = Criterion("c1", CriterionKind.CORRECTNESS, "A", None, About.AGENT, Shows.PRESENCE, "Not A")
    votes = Vote("not_met", False, "No."), Vote("not_met", False, "No.", "Hi", 1, "openai/x", "opposite")
    known = CriterionResult(asked, "not_met", False, "No.", votes=votes, score=-1.5)
    user = UserReview(hindered="It left", note="Not asked", never_said=("Oslo",))
    data = checked(
        run_report(
            [
                trial(
                    criteria=(known,),
                    review=user,
                    attempts=2,
                    unmatched_tools=("no_such_tool",),
                    suggestions=ToolSuggestions(
                        (Suggestion("name", "get", "It says little.", "Say what.", Severity.LOW),), "more"
                    ),
                )
            ]
        )
    )
    (shown,) = data["trials"][0]["criteria"]
    assert [vote["asked"] for vote in shown["votes"]] == ["statement", "opposite"]


def test_all_that_is_known_of_a_conversation_follows_the_schema() -> None:
    call = ToolCall(
        "ask",
        executed=False,
        unreported=("result",),
        cut=("arguments",),
        id="1",
        parent="0",
        agent="shop",
        group="g",
        kind=CallKind.HANDOFF,
        fault="an error",
    )
    asked = PendingRequest("1", "question", "Which?", "ask", {"a": 1}, ("x",), "x", "so", 1)
    reply = Reply("Hi", (call,), Usage(1, 2), True, "hm", cut=("text",), pending=(asked,), startup=1.5)
    talk = Transcript((Turn(1, "Hi", reply),), None, "?", 0, None, (call,), Usage(1, 2), (asked,))
    (found,) = checked(run_report([trial("a", Outcome.ERROR, transcript=talk)]))["trials"]  # type: ignore[misc]
    assert found["transcript"]["turns"][0]["requests"][0]["answer"] == "x"


def test_an_empty_run_follows_the_schema() -> None:
    assert checked(run_report([]))["trials"] == []


def test_a_stored_run_follows_the_schema(tmp_path: Path) -> None:
    store(tmp_path, 1, [failed("a")], commit="abc", ended=False)
    runs = list_runs(tmp_path / ".convoprobe")
    data = checked(read_report(open_run(runs[0].path), runs))
    assert data["run"]["state"] == "broken off"
    assert data["trials"][0]["outcome"] == Outcome.FAILED.value


def test_a_misspelt_key_does_not_follow_it() -> None:
    data = json_report(run_report())
    data["trials"][0]["outcom"] = "passed"
    assert not jsonschema.Draft202012Validator(schema()).is_valid(json.loads(json.dumps(data)))
