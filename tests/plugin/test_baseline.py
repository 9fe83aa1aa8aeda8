"""`--convoprobe-baseline` and `--convoprobe-fail-on`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .suite import Suite

SECTION = "*convoprobe: compared with a baseline*"


def runs(suite: Suite) -> list[Path]:
    return sorted((suite.path / ".convoprobe" / "runs").iterdir())


@pytest.fixture
def green(suite: Suite) -> Suite:
    """A project with a stored run in which both scenarios passed."""
    suite.scenario("one")
    suite.scenario("two")
    suite.run().assert_outcomes(passed=2)
    return suite


def change(suite: Suite, name: str, **metadata: object) -> None:
    (suite.path / f"scenarios/{name}.yaml").unlink()
    suite.scenario(name, **metadata)


def test_nothing_is_worse(green: Suite) -> None:
    result = green.run("--convoprobe-baseline=latest")
    assert result.ret == 0
    base = runs(green)[0].name
    result.stdout.fnmatch_lines([SECTION, f"{base}* → this run: 2 the same", "gate (regression): open"])


def test_a_new_failure_is_told(green: Suite) -> None:
    change(green, "one", outcome="failed", reason="it never answers")
    result = green.run("--convoprobe-baseline=latest")
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            SECTION,
            "* → this run: 1 new failure, 1 the same",
            "  new failure: scenarios/one.yaml::one",
            "      passed 1 of 1 → 0 of 1, score 1.00 → 0.00*",
            "      agent: it never answers",
            "gate (regression): closed by 1 new failure",
        ]
    )


XFAIL = """
def pytest_collection_modifyitems(items):
    for item in items:
        item.add_marker(pytest.mark.xfail(reason="known"))
"""


@pytest.mark.parametrize(
    ("fail_on", "status"), [(None, 1), ("regression", 1), ("new-failure", 1), ("none", 0)]
)
def test_the_gate_closes_although_pytest_passed(green: Suite, fail_on: str | None, status: int) -> None:
    change(green, "one", outcome="failed")
    green.conftest(XFAIL)
    gate = [f"--convoprobe-fail-on={fail_on}"] if fail_on else []
    result = green.run("--convoprobe-baseline=latest", *gate)
    result.assert_outcomes(xfailed=1, xpassed=1)
    assert result.ret == status
    assert json.loads((runs(green)[-1] / "run.json").read_text())["exit_status"] == status


def test_a_regression_is_no_new_failure(suite: Suite) -> None:
    suite.conftest(XFAIL)
    suite.scenario("one", outcome="failed", score=0.9)
    suite.run()
    change(suite, "one", outcome="failed", score=0.1)
    assert suite.run("--convoprobe-baseline=latest", "--convoprobe-fail-on=new-failure").ret == 0
    assert suite.run("--convoprobe-baseline=latest~1", "--convoprobe-fail-on=regression").ret == 1


def test_pytests_own_status_stays(green: Suite) -> None:
    change(green, "one", outcome="failed")
    assert green.run("--convoprobe-baseline=latest", "--convoprobe-fail-on=none").ret == 1


def test_a_baseline_that_broke_off_is_told(green: Suite) -> None:
    info = runs(green)[0] / "run.json"
    info.write_text(json.dumps({**json.loads(info.read_text()), "state": "interrupted"}))
    result = green.run("--convoprobe-baseline=latest")
    result.stdout.fnmatch_lines(
        ["gate (regression): open", f"note: {info.parent.name} did not come to its end (interrupted): *"]
    )


def test_a_folder_as_a_baseline(green: Suite) -> None:
    result = green.run(f"--convoprobe-baseline={runs(green)[0]}")
    result.stdout.fnmatch_lines(["* → this run: 2 the same"])


def test_a_baseline_that_is_not_there_stops_before_any_work(green: Suite) -> None:
    before = len(green.log)
    result = green.run("--convoprobe-baseline=nowhere")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: --convoprobe-baseline: nowhere is not a stored run in *"])
    assert len(green.log) == before


def test_a_gate_without_a_baseline(suite: Suite) -> None:
    suite.scenario("one")
    result = suite.run("--convoprobe-fail-on=regression")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: --convoprobe-fail-on needs --convoprobe-baseline*"])


def test_a_baseline_without_results(green: Suite) -> None:
    result = green.run("--convoprobe-baseline=latest", "--convoprobe-no-results")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*leave out --convoprobe-no-results, or add `--convoprobe-baseline=` *"])


def test_a_run_that_cannot_be_stored_does_not_pass_the_gate(green: Suite) -> None:
    base = green.path / "base"
    runs(green)[0].rename(base)
    runs(green)
    (green.path / ".convoprobe" / "runs").rmdir()
    (green.path / ".convoprobe" / "runs").write_text("no folder")
    result = green.run(f"--convoprobe-baseline={base}")
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["* → this run: 2 the same", "gate (regression): closed by 2 trials of this run not stored"]
    )


@pytest.mark.parametrize("workers", [[], ["-n2"]], ids=["alone", "xdist"])
def test_a_run_that_cannot_be_stored_is_compared_by_what_is_known(
    green: Suite, workers: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is called removed, and the page and the job's summary count all."""
    base, summary = green.path / "base", green.path / "summary.md"
    runs(green)[0].rename(base)
    (green.path / ".convoprobe" / "runs").rmdir()
    (green.path / ".convoprobe" / "runs").write_text("no folder")
    for name in ("one", "two"):
        change(green, name, outcome="failed")
    green.conftest(XFAIL)
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    more = [f"--convoprobe-baseline={base}", "--convoprobe-html=page.html", *workers]
    result = green.run_process(*more, plugins=["xdist"] if workers else [])
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["* → this run: 2 new failures", "*closed by 2 new failures, 2 trials of this run not stored"]
    )
    assert "<h1>0 of 2 passed</h1>" in (green.path / "page.html").read_text(encoding="utf-8")
    text = summary.read_text(encoding="utf-8")
    assert "0 of 2 passed" in text
    assert "closed by 2 new failures, 2 trials of this run not stored" in text


def test_results_that_vanish_meanwhile_are_missing(green: Suite) -> None:
    green.conftest("""
        import shutil

        @pytest.fixture(scope="session", autouse=True)
        def vanish(request):
            yield
            from pytest_convoprobe.plugin.storing import recorder_of
            for file in recorder_of(request.config).folder.glob("*.jsonl"):
                file.unlink()
        """)
    result = green.run("--convoprobe-baseline=latest")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["* → this run: 2 missing"])
    result.stdout.no_fnmatch_line("*removed*")


@pytest.mark.parametrize(("fail_on", "status"), [("regression", 1), ("new-failure", 1), ("none", 0)])
def test_a_run_without_scenarios_does_not_pass_the_gate(green: Suite, fail_on: str, status: int) -> None:
    (green.path / "scenarios").rename(green.path / "talks")
    green.write("test_plain.py", "def test_plain(): pass")
    result = green.run(".", "--convoprobe-baseline=latest", f"--convoprobe-fail-on={fail_on}")
    assert result.ret == status
    result.stdout.fnmatch_lines([SECTION, "no comparison with *: no scenario ran*"])


def test_a_run_without_any_test_does_not_pass_the_gate(green: Suite) -> None:
    """Many a pipeline takes pytest's status 5, "no tests collected", for fine."""
    assert green.run("-k", "nothing", "--convoprobe-baseline=latest").ret == 1


def test_the_fullest_run_is_the_baseline(green: Suite) -> None:
    """The newest has one scenario only: what it lacks must not look as if it were added."""
    green.run("scenarios/one.yaml").assert_outcomes(passed=1)
    whole, part = (path.name for path in runs(green))
    change(green, "two", outcome="failed")
    green.conftest(XFAIL)
    result = green.run("--convoprobe-baseline=latest", "--convoprobe-fail-on=new-failure")
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            f"{whole}* → this run: 1 new failure, 1 the same",
            "the baseline knows 2 of 2 scenarios",
            f"note: {whole} is the baseline, because newer runs are partial*{part}",
        ]
    )
    result = green.run(f"--convoprobe-baseline={part}", "--convoprobe-fail-on=new-failure")
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "  fails, and the baseline has no verdict on it: scenarios/two.yaml::two",
            "the baseline knows 1 of 2 scenarios",
            "gate (new-failure): closed by 1 failing without a verdict before",
            f"note: {part} selected only 1 of 2 scenarios (*scenarios/one.yaml)",
        ]
    )


def test_what_was_not_selected_was_not_removed(green: Suite) -> None:
    result = green.run("scenarios/one.yaml", "--convoprobe-baseline=latest")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["* → this run: 1 not run, 1 the same", "  not run: scenarios/two.yaml::two"])


def test_an_earlier_run_without_verdicts_leaves_the_gate_closed(suite: Suite) -> None:
    suite.scenario("one", outcome="error")
    suite.run()
    change(suite, "one", outcome="failed")
    suite.conftest(XFAIL)
    result = suite.run("--convoprobe-baseline=latest", "--convoprobe-fail-on=new-failure")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["the baseline knows 0 of 1 scenario"])


def test_collecting_needs_no_baseline(green: Suite) -> None:
    assert green.run("--collect-only", "--convoprobe-baseline=nowhere").ret == 0


def test_under_xdist(green: Suite) -> None:
    change(green, "one", outcome="failed")
    green.conftest(XFAIL)
    result = green.run_process("-n2", "--convoprobe-baseline=latest", plugins=["xdist"])
    assert result.ret == 1
    result.stdout.fnmatch_lines([SECTION, "* → this run: 1 new failure, 1 the same"])


def test_another_judge_is_named_where_nothing_flipped(suite: Suite) -> None:
    suite.write("convoprobe.yaml", "llm: {model: openai/a}")
    suite.scenario("one")
    suite.run()
    result = suite.run("--convoprobe-baseline=latest", "--convoprobe-judge-model=openai/b")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "* → this run: 1 the same",
            "changed between the runs: judge's model openai/a → openai/b (1 scenario)",
        ]
    )
