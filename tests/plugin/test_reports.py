"""`--convoprobe-html`, GitHub's job summary and annotations."""

from __future__ import annotations

from pathlib import Path

import pytest

from .suite import Suite


@pytest.fixture
def project(suite: Suite) -> Suite:
    suite.scenario("good", file="scenarios/all.yaml")
    suite.scenario("bad", file="scenarios/all.yaml", outcome="failed", reason="it promised a refund")
    return suite


@pytest.fixture
def summary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(path))
    return path


def test_a_page_is_written_and_named(project: Suite) -> None:
    result = project.run("--convoprobe-html=out/report.html")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*convoprobe*", "report: out/report.html"])
    page = (project.path / "out/report.html").read_text(encoding="utf-8")
    assert "<h1>1 of 2 passed</h1>" in page
    assert "it promised a refund" in page
    assert page.index("<strong>bad</strong>") < page.index("<strong>good</strong>")


def test_without_it_nothing_is_written(project: Suite) -> None:
    result = project.run()
    result.stdout.no_fnmatch_line("report: *")
    assert not list(project.path.glob("**/*.html"))


def test_the_page_has_the_trials_of_all_workers(project: Suite) -> None:
    project.run_process("-n2", "--convoprobe-html=report.html", plugins=["xdist"]).assert_outcomes(
        passed=1, failed=1
    )
    page = (project.path / "report.html").read_text(encoding="utf-8")
    assert "<strong>bad</strong>" in page
    assert "<strong>good</strong>" in page


def test_it_comes_without_a_terminal_too(project: Suite) -> None:
    project.run("-p", "no:terminal", "--convoprobe-html=report.html")
    assert "<h1>1 of 2 passed</h1>" in (project.path / "report.html").read_text(encoding="utf-8")


def test_a_page_that_cannot_be_written_changes_no_verdict(project: Suite) -> None:
    (project.path / "taken").write_text("")
    result = project.run("--convoprobe-html=taken/report.html")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["a report could not be written: *taken*"])


def test_a_page_of_a_run_that_is_not_stored_is_refused(project: Suite) -> None:
    result = project.run("--convoprobe-html=report.html", "--convoprobe-no-results")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        ["*--convoprobe-html shows the stored run; leave out --convoprobe-no-results, or add `*"]
    )


def test_no_page_where_no_scenario_ran(suite: Suite) -> None:
    suite.write("test_plain.py", "def test_it(): pass")
    suite.run("--convoprobe-html=report.html").assert_outcomes(passed=1)
    assert not (suite.path / "report.html").exists()


def test_the_summary_of_a_job_is_added_to(project: Suite, summary: Path) -> None:
    summary.write_text("before\n")
    project.run()
    text = summary.read_text(encoding="utf-8")
    assert text.startswith("before\n<!-- convoprobe -->\n### ❌ Conversations: 1 of 2 passed")
    assert "it promised a refund" in text


def test_the_summary_is_written_once_under_xdist(project: Suite, summary: Path) -> None:
    project.run_process("-n2", plugins=["xdist"])
    assert summary.read_text(encoding="utf-8").count("<!-- convoprobe -->") == 1


def test_the_summary_stays_within_what_github_takes(project: Suite, summary: Path) -> None:
    summary.write_text("x" * (1024 * 1024 - 100))
    project.run()
    assert summary.stat().st_size == 1024 * 1024 - 100


def test_the_summary_compares_with_the_baseline(project: Suite, summary: Path) -> None:
    (project.path / "scenarios/all.yaml").unlink()
    project.scenario("bad", file="scenarios/all.yaml")
    project.run()
    (project.path / "scenarios/all.yaml").unlink()
    project.scenario("bad", file="scenarios/all.yaml", outcome="failed")
    project.run("--convoprobe-baseline=latest")
    assert "- new failure: **bad** (passed 1 of 1 → 0 of 1" in summary.read_text(encoding="utf-8")


def test_annotations_on_github(project: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(project.path))
    result = project.run()
    result.stdout.fnmatch_lines(
        ["::error file=scenarios/all.yaml,line=*,title=bad::agent: it promised a refund"]
    )
    (line,) = [line for line in result.outlines if line.startswith("::error")]
    number = int(line.split("line=")[1].split(",")[0])
    assert (project.path / "scenarios/all.yaml").read_text().splitlines()[number - 1] == "name: bad"


def test_annotations_need_no_stored_run(project: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    result = project.run("--convoprobe-no-results")
    result.stdout.fnmatch_lines(["::error *title=bad::agent: it promised a refund"])


def test_no_annotations_elsewhere(project: Suite) -> None:
    project.run().stdout.no_fnmatch_line("::error*")
