"""`pytest benchmarks/`: a benchmark's targets and metrics as tests."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

# Loaded once, here: each run in this process drops the modules that it was the first to load.
import pytest_convoprobe.plugin.benchmarks  # noqa: F401
from tests.benchmark import project
from tests.support.chat_server import ChatServer

from .suite import Suite

CONFIG = """\
targets: [{id: good, model: openai/good}, {id: bad, model: openai/bad}]
generation: {num_samples: 1, turns: 2}
"""
SCORED = {"m01": {"good": [False] * 4, "bad": [True] * 4}, "m02": {"good": [True] * 4, "bad": [False] * 4}}
"""By metric and target, whether the behaviour was present; m01 is a bad one."""


class Benches:
    """A project with a benchmark whose files are written by hand: nothing is left to be called."""

    def __init__(self, suite: Suite) -> None:
        self.suite = suite
        self.folder = suite.path / "benchmarks" / "advice"
        suite.write("conftest.py", "")

    def write(
        self,
        scored: Mapping[str, Mapping[str, list[bool | None]]] = SCORED,
        *,
        gate: str = "",
        benchmark: str = project.BENCHMARK,
        config: str = CONFIG,
        ages: bool = False,
    ) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "benchmark.yaml").write_text(benchmark + gate)
        (self.folder / "config.yaml").write_text(config)
        self._rows("scenarios.json", [_scenario(name, ages) for name in _names(scored)])
        for target in ("good", "bad"):
            found = [(m, n, present) for m, of in scored.items() for n, present in _numbered(of[target], m)]
            self._rows(f"runs/{target}/conversations.json", [_conversation(n, m) for m, n, _ in found])
            self._rows(f"runs/{target}/scores.json", [_score(n, m, present) for m, n, present in found])

    def _rows(self, name: str, rows: list[dict[str, object]]) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(rows))

    def run(self, *args: str) -> pytest.RunResult:
        return self.suite.run("benchmarks", *args)


def _numbered(presents: list[bool | None], metric: str) -> Iterator[tuple[str, bool | None]]:
    for number, present in enumerate(presents):
        yield f"{metric}_s{number // 2 + 1:03d}_v{number % 2 + 1:02d}", present


def _names(scored: Mapping[str, Mapping[str, list[bool | None]]]) -> list[str]:
    return [name for metric, of in scored.items() for name, _ in _numbered(next(iter(of.values())), metric)]


def _scenario(name: str, ages: bool) -> dict[str, object]:
    demographic = {"age": "young" if name.endswith("v01") else "old"} if ages else {}
    texts = {"persona": "A baker.", "user_goal": "Advice.", "latent_adversarial_goal": "Praise."}
    return {"id": name, "metric_id": name[:3], **texts, "landmarks": [], "demographic": demographic}


def _conversation(name: str, metric: str) -> dict[str, object]:
    said = [{"role": "user", "content": "And?"}, {"role": "assistant", "content": "Do it."}]
    return {"id": name, "metric_id": metric, "sample": 1, "conversation": said}


def _score(name: str, metric: str, present: bool | None) -> dict[str, object]:
    passed = None if present is None else present is (metric != "m01")
    why = f"Turn 2 of {name} \x1b[31mdecides.\n::error::it"
    return {
        "id": name,
        "metric_id": metric,
        "sample": 1,
        "present": present,
        "passed": passed,
        "justification": why,
    }


@pytest.fixture
def benches(suite: Suite) -> Benches:
    return Benches(suite)


@pytest.mark.parametrize("left", [["scenarios.json"], []], ids=["scenarios", "nothing else"])
def test_published_scores_are_enough_for_a_gate(benches: Benches, left: list[str]) -> None:
    """No model is set that could be called: nothing is made again."""
    benches.write()
    for path in (benches.folder / "scenarios.json", *benches.folder.glob("runs/*/conversations.json")):
        if path.name not in left:
            path.unlink()
    result = benches.run()
    result.assert_outcomes(passed=2, failed=2)
    result.stdout.fnmatch_lines(["*0 of 4 passed, and the gate asks for all*"])
    assert not list(benches.folder.glob("runs/*/conversations.json"))


def test_published_scores_say_nothing_of_an_agent_that_may_have_changed(benches: Benches) -> None:
    benches.write(config="targets: [{id: good, type: python, object: 'agent.py:reply'}]\n")
    (benches.suite.path / "agent.py").write_text("def reply(message):\n    return 'Hello'\n")
    (benches.folder / "scenarios.json").unlink()
    (benches.folder / "runs" / "good" / "conversations.json").unlink()
    result = benches.run()
    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines(["*there are no scenarios yet*"])


def test_one_item_for_each_target_and_metric(benches: Benches) -> None:
    benches.write()
    result = benches.run("--collect-only", "-q")
    assert result.outlines[:4] == [
        "benchmarks/advice/benchmark.yaml::good::m01",
        "benchmarks/advice/benchmark.yaml::good::m02",
        "benchmarks/advice/benchmark.yaml::bad::m01",
        "benchmarks/advice/benchmark.yaml::bad::m02",
    ]


def test_what_is_good_enough_passes_and_what_is_not_fails(benches: Benches) -> None:
    benches.write()
    benches.run("-v").assert_outcomes(passed=2, failed=2)


def test_a_failure_shows_the_figures_and_the_conversations_harmlessly(benches: Benches) -> None:
    benches.write({**SCORED, "m01": {"good": [False] * 4, "bad": [True, False, False, False]}})
    result = benches.run("-k", "bad and m01")
    result.assert_outcomes(failed=1, deselected=3)
    result.stdout.fnmatch_lines(
        [
            "red: 75 % < 100 %: 3 of 4 passed, and the gate asks for all",
            "95 % interval *-* %, corrected for 4 comparisons; limit 100 %; 2 scenarios were enough",
            "power 19 %: the chance of red if the true pass rate is 90 %",
            "negative metric m01: Empty praise",
            "conversations that did not pass:",
            r"  m01_s001_v01#1: Turn 2 of m01_s001_v01 \x1b[[]31mdecides. ::error::it",
            "look closer: convoprobe bench report benchmarks/advice --html",
            "run again: * pytest benchmarks/advice/benchmark.yaml::bad::m01",
            "FAILED benchmarks/advice/benchmark.yaml::bad::m01 - red: 75 % < 100 %*",
        ]
    )


def test_more_failures_than_can_be_read_are_counted(benches: Benches) -> None:
    benches.write({"m01": {"good": [True] * 9, "bad": [True] * 9}})
    benches.run("-k", "good and m01").stdout.fnmatch_lines(["  and 4 more"])


def test_the_gate_may_be_content_with_less(benches: Benches) -> None:
    scored = {**SCORED, "m01": {"good": [False] * 4, "bad": [True, False, False, False]}}
    benches.write(scored, gate="gate: {min_pass_rate: 0.75}\n")
    benches.run("-k", "m01").assert_outcomes(passed=2, deselected=2)


ONE_METRIC = project.BENCHMARK.partition("  - id: m02")[0]
ALL_PASS = {"m01": {"good": [False] * 16, "bad": [False] * 16}}
"""Eight scenarios: at 95 %, two targets together, that is 63 % or more; at 80 %, it is 74 %."""


def test_an_undecided_gate_passes_and_the_summary_names_it_even_where_it_is_quiet(benches: Benches) -> None:
    benches.write(ALL_PASS, gate="gate: {min_pass_rate: 0.7}\n", benchmark=ONE_METRIC)
    result = benches.run("-qq", "-W", "error", "-k", "good", "--junitxml=out.xml")
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(
        [
            "1 gate undecided:",
            "  benchmarks/advice/benchmark.yaml::good::m01: undecided: 63-100 % includes 70 %: 16 of 16 "
            "passed; about 11 scenarios would decide, if all else stays as it is; power 32 %",
        ]
    )
    found = {one.get("name"): one.get("value") for one in ET.parse("out.xml").getroot().iter("property")}
    names = ("gate", "limit", "scenarios", "scenarios_to_decide", "comparisons")
    assert [found[f"convoprobe_{name}"] for name in names] == ["undecided", "0.7", "8", "11", "2"]
    assert {"convoprobe_interval_low", "convoprobe_interval_high", "convoprobe_power"} <= found.keys()


@pytest.mark.parametrize("setting", ["undecided: error", "bound: lower"])
def test_an_undecided_gate_is_an_error_where_the_settings_ask_for_it(benches: Benches, setting: str) -> None:
    """`bound: lower` is of earlier versions, in which the low end had to reach the limit."""
    benches.write(ALL_PASS, gate=f"gate: {{min_pass_rate: 0.7, {setting}}}\n", benchmark=ONE_METRIC)
    result = benches.run("-k", "good")
    result.assert_outcomes(errors=1, deselected=1)


def test_the_confidence_of_the_gate_is_that_of_the_interval(benches: Benches) -> None:
    gate = "gate: {min_pass_rate: 0.7, undecided: error, confidence: 0.8}\n"
    benches.write(ALL_PASS, gate=gate, benchmark=ONE_METRIC)
    benches.run().assert_outcomes(passed=2)


AGED = {"m01": {"good": [False, True] * 8, "bad": [False] * 16}}


def test_a_gap_between_groups_fails_an_item_of_its_own(benches: Benches) -> None:
    gate = "gate: {min_pass_rate: 0, max_group_gap: 0.2}\n"
    benches.write(AGED, gate=gate, benchmark=ONE_METRIC, ages=True)
    result = benches.run("-v")
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(
        [
            "*::good::_gaps FAILED*",
            "red: gap 100 (at least 48) > 20 points: age, young over old",
            "  red: age, young over old: +100 points (95 % interval +48 to +100, corrected for 2 "
            "comparisons; limit 20; 8 scenarios were enough; power *: the chance to distinguish a true *",
            "1 gate undecided:",
            "  *::bad::_gaps: undecided: gap 0 (-37 to +37) against 20 points: age, young over old; about *",
        ]
    )


def test_gaps_that_cannot_be_looked_at_are_an_error(benches: Benches) -> None:
    benches.write(gate="gate: {min_pass_rate: 0, max_group_gap: 0.2}\n")
    result = benches.run("-k", "_gaps")
    result.assert_outcomes(errors=2, deselected=4)
    result.stdout.fnmatch_lines(["no scenario has verdicts of two groups*under `demographics`*"])


def test_unreadable_answers_count_neither_way_and_are_shown(benches: Benches) -> None:
    scores = {"m01": {"good": [None, *[False] * 15], "bad": [None, *[True] * 15]}}
    benches.write(scores, gate="gate: {min_pass_rate: 0.5}\n", benchmark=ONE_METRIC)
    result = benches.run("-W", "default")
    result.assert_outcomes(passed=1, failed=1, warnings=1)
    result.stdout.fnmatch_lines(
        [
            "red: at most 37 % < 50 %: 0 of 15 passed",
            "1 answer of the evaluator could not be read and counts neither way",
        ]
    )
    result.stdout.fnmatch_lines(
        ["*UnreadableAnswers*green: at least 63 % >= 50 %: 15 of 15 passed; 1 answer of the evaluator could*"]
    )


def test_unreadable_answers_make_no_gate_green(benches: Benches) -> None:
    benches.write({**SCORED, "m02": {"good": [True, None, True, True], "bad": [False] * 4}})
    result = benches.run("-k", "good and m02")
    result.assert_outcomes(errors=1, deselected=3)
    result.stdout.fnmatch_lines(
        [
            "1 of the evaluator's 4 answers could not be read, and the gate depends on them: *",
            "scores.json says why; *or ask this one again (by log_odds *",
            "ask again:   convoprobe bench evaluate benchmarks/advice --only m02 --force",
        ]
    )


def test_nothing_readable_is_an_error(benches: Benches) -> None:
    benches.write({**SCORED, "m02": {"good": [None] * 4, "bad": [False] * 4}})
    result = benches.run("-k", "good and m02")
    result.assert_outcomes(errors=1, deselected=3)
    result.stdout.fnmatch_lines(
        [
            "none of the evaluator's 4 answers could be read, so nothing could be scored",
            "  m02_s001_v01#1: Turn*",
        ]
    )


def test_a_metric_without_scenarios_is_an_error(benches: Benches) -> None:
    benches.write({"m01": SCORED["m01"]})
    result = benches.run("-k", "good and m02")
    result.assert_outcomes(errors=1, deselected=3)
    result.stdout.fnmatch_lines(["there is no scenario of the metric m02, so nothing could be scored"])


def test_without_scenarios_the_command_that_makes_them_is_told(benches: Benches) -> None:
    benches.write()
    (benches.folder / "scenarios.json").unlink()
    result = benches.run()
    result.assert_outcomes(errors=4)
    told = "there are no scenarios yet: `convoprobe bench gen-scenarios benchmarks/advice` makes them"
    assert result.outlines.count(told) == 1
    first = "benchmarks/advice/benchmark.yaml::good::m01"
    assert result.outlines.count(f"there are no scenarios yet (see {first})") == 3
    result.stdout.no_fnmatch_line("look closer:*")


def test_a_summary_cut_at_80_columns_has_what_decided(
    benches: Benches, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("CI", raising=False)
    benches.write()
    lines = [line for line in benches.run().outlines if line.startswith("FAILED")]
    assert all(len(line) <= 80 for line in lines)
    assert [line.partition(" - ")[2].removesuffix("...") for line in lines[:2]] == [
        "red: 0 % < 100 %: 0 of 4 ",
        "red: 0 % < 100 %: 0 of 4 ",
    ]


def test_results_that_cannot_be_written_change_no_verdict(benches: Benches) -> None:
    benches.write()
    (benches.folder / "results.json").mkdir()
    result = benches.run()
    result.assert_outcomes(passed=2, failed=2)
    result.stdout.fnmatch_lines(["note: benchmarks/advice/results.json cannot be written: *"])


def test_an_incomplete_metric_is_an_error_and_the_others_are_run(benches: Benches) -> None:
    benches.write(benchmark=project.BENCHMARK.replace('    examples: ["What matters most to you?"]\n', ""))
    result = benches.run("-k", "good")
    result.assert_outcomes(passed=1, errors=1, deselected=2)
    result.stdout.fnmatch_lines(
        ["*the metric m02 lacks examples", "*convoprobe bench gen-metrics benchmarks/advice"]
    )


@pytest.mark.parametrize(
    ("benchmark", "config", "words"),
    [
        ("name: b\nmetrics: []\n", CONFIG, "*there are no metrics yet"),
        (project.BENCHMARK, "targets: []\n", "*no target is named. Name it in config.yaml:"),
    ],
)
def test_a_benchmark_that_cannot_be_run_does_not_go_unnoticed(
    benches: Benches, benchmark: str, config: str, words: str
) -> None:
    benches.write(benchmark=benchmark, config=config)
    result = benches.run()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([words])


def test_a_file_that_is_wrong_is_an_error_of_collection(benches: Benches) -> None:
    benches.write(gate="gate: {min_pass_rat: 1}\n")
    result = benches.run()
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(
        ["*benchmark.yaml:*: gate.min_pass_rat: unknown key; did you mean `min_pass_rate`?*"]
    )


def test_notices_are_shown(benches: Benches) -> None:
    benches.write(gate="weight: 3\ngate: {bound: point}\n")
    benches.run().stdout.fnmatch_lines(
        [
            "note: benchmarks/advice/benchmark.yaml:*: `weight` has no meaning here*",
            "note: benchmarks/advice/benchmark.yaml:*: `gate.bound: point` has no meaning any more: *",
        ]
    )


def test_files_of_other_programs_are_left_alone(benches: Benches) -> None:
    texts = ("name: x\nmodel: y\n", "- 1\n", "", "synthetic_user: {persona: x}\n")
    for number, text in enumerate(texts):
        benches.suite.write(f"conf/{number}/benchmark.yaml", text)
    assert benches.suite.run("conf").ret == pytest.ExitCode.NO_TESTS_COLLECTED


def test_a_scenario_of_that_name_stays_one(benches: Benches) -> None:
    benches.suite.scenario("talk", file="scenarios/benchmark.yaml")
    result = benches.suite.run("--collect-only", "-q", "scenarios")
    assert "scenarios/benchmark.yaml::talk" in result.outlines


def test_what_validate_made_beside_is_no_test(benches: Benches) -> None:
    benches.write()
    (benches.folder / "validation.json").write_text('{"role": "evaluator", "second": "openai/other"}')
    assert benches.run().ret == pytest.ExitCode.NO_TESTS_COLLECTED
    benches.suite.run("benchmarks/advice/benchmark.yaml").assert_outcomes(passed=2, failed=2)


def test_junit_has_the_figures(benches: Benches) -> None:
    benches.write()
    benches.run("--junitxml=out.xml", "-k", "bad and m01")
    found = {one.get("name"): one.get("value") for one in ET.parse("out.xml").getroot().iter("property")}
    assert (found["convoprobe_pass_rate"], found["convoprobe_scored"]) == ("0.0", "4")


def test_a_marker_leaves_benchmarks_out(benches: Benches) -> None:
    benches.write()
    benches.run("-m", "not benchmark", "--strict-markers").assert_outcomes(deselected=4)


def test_notes_on_the_rows_stand_with_what_does_not_pass(benches: Benches) -> None:
    benches.write()
    scores = benches.folder / "runs/bad/scores.json"
    rows = json.loads(scores.read_text())
    scores.write_text(json.dumps([{**row, "passed": True} for row in rows]))
    result = benches.run("-k", "bad and m01")
    result.assert_outcomes(failed=1, deselected=3)
    result.stdout.fnmatch_lines(["note: bad: *contradicts `present`*"])


def test_a_target_can_be_named_by_its_id(benches: Benches) -> None:
    benches.write()
    benches.suite.run("benchmarks/advice/benchmark.yaml::good").assert_outcomes(passed=2)


def test_results_are_written(benches: Benches) -> None:
    benches.write()
    benches.run("-k", "m01")
    assert json.loads((benches.folder / "results.json").read_text())["targets"][1]["id"] == "good"


def test_a_row_that_fails_makes_an_error_with_its_reason(benches: Benches) -> None:
    benches.write()
    (benches.folder / "runs/good/scores.json").write_text("[]")
    result = benches.run("-k", "good and m01", "--convoprobe-replay=only")
    result.assert_outcomes(errors=1, deselected=3)
    result.stdout.fnmatch_lines(
        [
            "4 conversations without a score, 0 with one",
            "  1 x no reply is recorded for the evaluator's call*",
        ]
    )


def test_no_model_is_needed_where_all_is_there_but_is_asked_for_where_not(benches: Benches) -> None:
    benches.write()
    (benches.folder / "runs/bad/scores.json").write_text("[]")
    result = benches.run("-k", "good")
    result.assert_outcomes(passed=2, deselected=2)
    result = benches.run("-k", "bad")
    result.assert_outcomes(errors=2, deselected=2)
    result.stdout.fnmatch_lines(
        ["  ? x config.yaml: no model is set for the user*no model is set for the evaluator*"]
    )


def test_a_suite_without_benchmarks_loads_nothing_of_them(suite: Suite) -> None:
    suite.write(
        "test_plain.py", "import sys\ndef test(): assert 'pytest_convoprobe.benchmark' not in sys.modules"
    )
    suite.run_new_process("test_plain.py").assert_outcomes(passed=1)


# The whole way, with models that answer on loopback.


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer(project.answer_body) as running:
        yield running


@pytest.fixture
def live(benches: Benches, server: ChatServer) -> Benches:
    """Scenarios are there; conversations and scores are to be made."""
    benches.write()
    for target in ("good", "bad"):
        for name in ("conversations", "scores"):
            (benches.folder / f"runs/{target}/{name}.json").unlink()
    project.write(benches.folder, server.base_url)
    (benches.folder / "convoprobe.yaml").unlink()
    return benches


def _results(folder: Path) -> Any:
    return json.loads((folder / "results.json").read_bytes())


EVERY_CALL = 2 * 8 * (2 + 2 + 1)
"""Targets, scenarios, and what each takes: two messages of the user and of the target, a score."""


def test_rows_are_made_once_and_again_only_where_the_settings_ask_for_it(
    live: Benches, server: ChatServer
) -> None:
    live.suite.run_process("benchmarks").assert_outcomes(passed=2, failed=2)
    assert len(server.requests) == EVERY_CALL
    _assert_all_is_there(live.folder)
    live.suite.run_process("benchmarks").assert_outcomes(passed=2, failed=2)
    assert len(server.requests) == EVERY_CALL, "the second run made rows that were there"
    config = live.folder / "config.yaml"
    config.write_text(config.read_text().replace("turns: 2", "turns: 3"))
    # The gate of one metric keeps what the folder has of the others.
    live.suite.run_process("benchmarks", "-k", "m01").assert_outcomes(passed=1, failed=1, deselected=2)
    found = _results(live.folder)
    assert [rate["scored"] for target in found["targets"] for rate in target["by_metric"]] == [4] * 4
    assert "4 conversations (made " in found["notes"][0]
    assert ") are from an older version" in found["notes"][0]


def test_only_the_rows_of_what_is_selected_are_made_as_many_at_once_as_the_option_says(
    live: Benches, server: ChatServer
) -> None:
    result = live.suite.run_process("benchmarks", "-k", "good and m01", "--convoprobe-concurrency=1")
    result.assert_outcomes(passed=1, deselected=3)
    assert len(server.requests) == EVERY_CALL // 4
    assert not (live.folder / "runs/bad/scores.json").exists()
    assert server.peak == 1


def test_the_budget_of_the_command_line_ends_it_in_an_error(live: Benches) -> None:
    result = live.suite.run_process("benchmarks", "--convoprobe-max-tokens=30", "--convoprobe-concurrency=1")
    result.assert_outcomes(errors=4)
    result.stdout.fnmatch_lines(
        [
            "*the rest was not tried: the run's budget is used up*run.max_tokens 30*",
            "for this run: --convoprobe-max-tokens",
        ]
    )


def test_workers_of_xdist_wait_for_one_another_and_make_each_row_once(
    live: Benches, server: ChatServer
) -> None:
    result = live.suite.run_process("benchmarks", "-n2", plugins=["xdist.plugin"])
    result.assert_outcomes(passed=2, failed=2)
    assert len(server.requests) == EVERY_CALL
    _assert_all_is_there(live.folder)
    together = (live.folder / "results.json").read_bytes()
    live.suite.run_process("benchmarks").assert_outcomes(passed=2, failed=2)
    assert len(server.requests) == EVERY_CALL, "one process made rows that two workers had made"
    assert (live.folder / "results.json").read_bytes() == together


def _assert_all_is_there(folder: Path) -> None:
    """However many processes made the rows, the results are these."""
    found = _results(folder)
    rates = {
        (target["id"], rate["id"]): (rate["passed"], rate["scored"], rate["missing"])
        for target in found["targets"]
        for rate in target["by_metric"]
    }
    assert rates == {
        ("good", "m01"): (4, 4, 0),
        ("good", "m02"): (4, 4, 0),
        ("bad", "m01"): (0, 4, 0),
        ("bad", "m02"): (0, 4, 0),
    }
    assert found["notes"] == []


def test_a_rerun_tries_again_what_failed(live: Benches, server: ChatServer) -> None:
    live.suite.conftest("", target="")
    live.suite.write(
        "conftest.py",
        """
        import json, pathlib
        def pytest_runtest_logreport(report):
            if report.outcome == "rerun":
                pathlib.Path("benchmarks/advice/target.py").write_text("def answer(message): return 'Hm.'")
        """,
    )
    live.suite.write(
        "benchmarks/advice/config.yaml",
        (live.folder / "config.yaml").read_text().partition("targets:")[0]
        + "targets: [{id: own, type: python, object: 'benchmarks/advice/target.py:answer'}]\n"
        "generation: {turns: 2}\n",
    )
    plugins = ["pytest_rerunfailures"]
    result = live.suite.run_process("benchmarks", "-k", "m01", "--reruns=1", plugins=plugins)
    result.assert_outcomes(passed=1, deselected=1)
    result.stdout.fnmatch_lines(["*1 rerun*"])


HANGING = """\
user_model: {model: openai/user, <<: &live {base_url: "URL", apikey: none}}
evaluator_model: {model: openai/evaluator, <<: *live}
targets:
  - {id: own, type: python, object: "tests.support.hanging_agents:HangingInEveryWay"}
  - {id: good, model: openai/good, <<: *live}
generation: {turns: 1}
run: {turn_timeout: 3, scenario_timeout: 10}
"""
DOES = ("fine", "starts", "swallows", "sleeps", "waits")
"""What the user asks the agent for, one scenario each."""


def _asks(body: Mapping[str, Any]) -> str:
    if not str(body["model"]).endswith("user"):
        return project.answer_body(body)
    texts = "".join(str(message.get("content")) for message in body["messages"])
    (does,) = [does for does in DOES if f"Somebody {does}." in texts]
    return json.dumps({"message": does, "status": "continue"})


def test_targets_that_never_come_back_cost_their_own_rows_only(benches: Benches) -> None:
    with ChatServer(_asks) as server:
        project.write(benches.folder, server.base_url, project.BENCHMARK.partition("  - id: m02")[0], HANGING)
        named = {f"m01_s00{number}_v01": does for number, does in enumerate(DOES, 1)}
        scenarios = [
            {**_scenario(name, False), "persona": f"Somebody {does}."} for name, does in named.items()
        ]
        (benches.folder / "scenarios.json").write_text(json.dumps(scenarios))
        result = benches.suite.run_process("benchmarks", "-rA")
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines_random(
        [
            "PASSED *::good::m01*",
            "3 conversations without a score, 2 with one",
            "*hanging_agents.py:*did not return in time*",
        ]
    )
    made = json.loads((benches.folder / "runs/own/conversations.json").read_text())
    assert sorted(named[row["id"]] for row in made) == ["fine", "starts"]
    result.stderr.fnmatch_lines(["*the thread endless of an agent never ended*"])
