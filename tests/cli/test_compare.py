from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from pytest_convoprobe.errors import Blame
from pytest_convoprobe.result import Outcome, ScenarioResult
from pytest_convoprobe.results.run_info import Selection

from .conftest import Convoprobe
from .stored import errored, failed, passed, store

COMMIT = ["commit", "-q", "--allow-empty", "-m", "one"]


@pytest.fixture
def worse(folder: Path) -> Path:
    """Two runs: `one` breaks, `two` was red and is redder, `three` is mended."""
    store(folder, 1, [passed("one"), failed("two"), failed("three"), passed("four")])
    store(folder, 2, [failed("one"), failed("two", score=0.25), passed("three"), passed("four")])
    return folder


def test_what_changed(worse: Path, convoprobe: Convoprobe) -> None:
    result = convoprobe("compare", "latest~1", "latest")
    lines = result.output.splitlines()
    assert result.exit_code == 1
    assert lines[0] == (
        "20261101T120000Z-000001 → 20261102T120000Z-000002: 1 new failure, 1 worse, 1 fixed, 1 the same"
    )
    assert lines[1] == "  new failure: scenarios/one.yaml::one"
    assert lines[2].startswith("      passed 1 of 1 → 0 of 1, score 1.00 → 0.50")
    assert "      agent: The agent tells the wind" in lines
    assert "  worse: scenarios/two.yaml::two" in lines
    assert "  fixed: scenarios/three.yaml::three" in lines
    assert "four.yaml" not in result.output
    assert lines[-1] == "gate (regression): closed by 1 new failure, 1 worse"


def test_a_side_without_a_verdict_is_named_so(folder: Path, convoprobe: Convoprobe) -> None:
    lost = [errored(name, Blame.RECORDING) for name in ("new", "lost")]
    store(folder, 1, [passed("lost")])
    store(folder, 2, lost)
    lines = convoprobe("compare", "latest~1", "latest").output.splitlines()
    after = {line.strip(): lines[place + 1].strip() for place, line in enumerate(lines[:-1])}
    assert after["no verdict: scenarios/lost.yaml::lost"].startswith("passed 1 of 1 → no verdict")
    assert after["no verdict: scenarios/new.yaml::new"].startswith("recording: ")


def test_the_statistics(worse: Path, convoprobe: Convoprobe) -> None:
    output = convoprobe("compare", "latest~1").output
    assert "of 4 paired trials, 1 passed only before and 1 only now (exact McNemar: p = 1.00)" in output
    assert "pass rate: no change on average (95 % interval by scenario: -100 to +100)" in output


@pytest.mark.parametrize(
    ("head", "fail_on", "status"),
    [
        ([failed("one"), failed("two")], "new-failure", 1),
        ([failed("one"), failed("two")], "none", 0),
        ([passed("one"), failed("two", score=0.1)], "new-failure", 0),
        ([passed("one"), failed("two", score=0.1)], "regression", 1),
        ([passed("one"), passed("two")], "regression", 0),
        ([passed("one"), failed("two")], "regression", 0),
    ],
)
def test_the_gate(
    folder: Path, convoprobe: Convoprobe, head: list[ScenarioResult], fail_on: str, status: int
) -> None:
    store(folder, 1, [passed("one"), failed("two")])
    store(folder, 2, head)
    assert convoprobe("compare", "latest~1", "latest", "--fail-on", fail_on).exit_code == status


def test_by_git_branches(folder: Path, convoprobe: Convoprobe) -> None:
    def git(*words: str) -> str:
        alone = ["-c", "user.name=a", "-c", "user.email=a@b.example", "-c", "commit.gpgsign=false"]
        command = ["git", *alone, *words]
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout.strip()

    git("init", "-q", "-b", "main")
    git("commit", "-q", "--allow-empty", "-m", "one")
    store(folder, 1, [passed("one")], commit=git("rev-parse", "HEAD"))
    git("checkout", "-q", "-b", "change")
    git("commit", "-q", "--allow-empty", "-m", "two")
    store(folder, 2, [failed("one")], commit=git("rev-parse", "HEAD"))
    result = convoprobe("compare", "main", "change")
    assert result.exit_code == 1
    assert "new failure: scenarios/one.yaml::one" in result.output


def test_added_and_removed_close_no_gate(folder: Path, convoprobe: Convoprobe) -> None:
    store(folder, 1, [passed("one"), passed("old")])
    store(folder, 2, [passed("one"), passed("new")])
    result = convoprobe("compare", "latest~1")
    assert result.exit_code == 0
    assert "  added: scenarios/new.yaml::new" in result.output
    assert "  removed: scenarios/old.yaml::old" in result.output


def test_a_run_that_broke_off_does_not_pass_the_gate(folder: Path, convoprobe: Convoprobe) -> None:
    store(folder, 1, [passed("one"), passed("two")])
    run = store(folder, 2, [passed("one")], ended=False)
    result = convoprobe("compare", "latest~1", "--fail-on", "new-failure")
    assert result.exit_code == 1
    assert "  no verdict: scenarios/two.yaml::two" in result.output
    assert f"note: {run} did not come to its end (broken off)" in result.output


def test_what_fails_without_a_verdict_before_closes_the_gate(folder: Path, convoprobe: Convoprobe) -> None:
    no_verdict = passed("two", criteria=(), outcome=Outcome.ERROR, blame=Blame.INFRASTRUCTURE)
    store(folder, 1, [passed("one"), no_verdict])
    store(folder, 2, [passed("one"), failed("two"), failed("new")])
    result = convoprobe("compare", "latest~1", "--fail-on", "new-failure")
    assert result.exit_code == 1
    assert "  fails, and the baseline has no verdict on it: scenarios/two.yaml::two" in result.output
    assert "the baseline knows 1 of 3 scenarios" in result.output
    assert "closed by 2 failing without a verdict before" in result.output
    assert "how many of the scenarios 20261101T120000Z-000001 selected is not known" in result.output


def test_a_part_of_main_is_not_chosen_silently(folder: Path, convoprobe: Convoprobe) -> None:
    whole = store(folder, 1, [passed("one"), passed("two")], selection=Selection(2, 2, 2))
    part = store(folder, 2, [passed("one")], selection=Selection(1, 2, 1), command=("pytest", "one.yaml"))
    store(folder, 3, [passed("one"), failed("two")], selection=Selection(2, 2, 2))
    head = "20261103T120000Z-000003"
    by_latest = convoprobe("compare", "latest", head)
    assert by_latest.output.startswith(f"{whole} → {head}: 1 new failure, 1 the same")
    assert f"note: {whole} is the baseline, because newer runs are partial" in by_latest.output
    by_name = convoprobe("compare", part, head)
    assert by_name.exit_code == 1
    assert f"note: {part} selected only 1 of 2 scenarios (pytest one.yaml)" in by_name.output


def test_of_earlier_releases_the_run_with_most_scenarios_is_the_fullest(
    folder: Path, convoprobe: Convoprobe
) -> None:
    whole = store(folder, 1, [passed("one"), passed("two")])
    store(folder, 2, [passed("one")])
    head = store(folder, 3, [passed("one"), failed("two")])
    assert convoprobe("compare", "latest", head).output.startswith(f"{whole} → ")


def test_of_parts_the_one_that_knows_these_scenarios_is_the_baseline(
    folder: Path, convoprobe: Convoprobe
) -> None:
    """A store that several packages share: each of their runs selects only its own scenarios."""
    ours = store(folder, 1, [passed("one")], selection=Selection(1, 4, 1))
    store(folder, 2, [passed("two"), passed("three"), passed("four")], selection=Selection(3, 4, 3))
    head = store(folder, 3, [failed("one")], selection=Selection(1, 4, 1))
    result = convoprobe("compare", "latest", head)
    assert result.output.startswith(f"{ours} → {head}: 1 new failure")


def test_lost_trials_are_missing_and_close_the_gate(folder: Path, convoprobe: Convoprobe) -> None:
    base = store(folder, 1, [passed("one"), passed("two")])
    store(folder, 2, [passed("one"), passed("two")])
    runs = folder / ".convoprobe" / "runs"
    for file in (runs / base).glob("*.jsonl"):
        file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[:1]))
    result = convoprobe("compare", "latest~1", "--fail-on", "new-failure")
    assert result.exit_code == 1
    assert "  missing: scenarios/two.yaml::two" in result.output
    assert "closed by 1 missing, 1 trial missing from the stored results of the baseline" in result.output
    for file in (runs / base).glob("*.jsonl"):
        file.unlink()
    result = convoprobe("compare", "latest~1")
    assert result.exit_code == 2
    assert f"{base} can't be a baseline: none of its 2 trials can be read" in result.output


def test_a_later_release_is_missing_too(folder: Path, convoprobe: Convoprobe) -> None:
    store(folder, 1, [passed("one")])
    head = store(folder, 2, [passed("one"), passed("two")])
    run = folder / ".convoprobe" / "runs" / head
    (run / "index-main.jsonl").unlink()
    trials = run / "trials-main.jsonl"
    trials.write_text(trials.read_text().replace('"version":1', '"version":99'))
    result = convoprobe("compare", "latest~1")
    assert result.exit_code == 1
    assert "  missing: scenarios/one.yaml::one" in result.output


def test_a_shallow_clone_says_how_to_fetch(folder: Path, convoprobe: Convoprobe) -> None:
    store(folder, 1, [passed("one")])
    for command in (["init", "-q"], ["-c", "user.name=a", "-c", "user.email=a@b", *COMMIT]):
        subprocess.run(["git", *command], cwd=folder, check=True)
    (folder / ".git" / "shallow").write_text("0" * 40)
    result = convoprobe("compare", "origin/main")
    assert result.exit_code == 2
    assert "`fetch-depth: 0`" in result.output


def test_what_changed_between_the_runs_is_named(folder: Path, convoprobe: Convoprobe) -> None:
    store(folder, 1, [passed("one")], models={"judge": "openai/a"})
    store(folder, 2, [passed("one")], models={"judge": "openai/b"})
    result = convoprobe("compare", "latest~1")
    assert result.exit_code == 0
    assert "changed between the runs: judge's model openai/a → openai/b" in result.output


def test_a_run_is_not_compared_with_itself(worse: Path, convoprobe: Convoprobe) -> None:
    result = convoprobe("compare", "latest")
    assert result.exit_code == 2
    assert "latest and latest are the same run, 20261102T120000Z-000002" in result.output


def test_folders(worse: Path, convoprobe: Convoprobe) -> None:
    runs = worse / ".convoprobe" / "runs"
    arguments = [str(path) for path in sorted(runs.iterdir())]
    assert "1 new failure" in convoprobe("compare", *arguments, "--results", "elsewhere").output


def test_an_unknown_run(worse: Path, convoprobe: Convoprobe) -> None:
    assert convoprobe("compare", "nowhere").exit_code == 2


def test_json(worse: Path, convoprobe: Convoprobe) -> None:
    result = convoprobe("compare", "latest~1", "--json")
    found = json.loads(result.stdout)
    assert (result.exit_code, found["fails"]) == (1, True)
    assert (found["base"], found["head"]) == ("20261101T120000Z-000001", "20261102T120000Z-000002")
    assert found["gate"] == "gate (regression): closed by 1 new failure, 1 worse"
    assert (found["known"], found["ran"]) == (4, 4)
    assert found["head_facts"] == {"ended": True, "partial": None, "missing": 0, "unstored": 0}
    assert found["changes"][0]["kind"] == "new failure"
    assert found["changes"][0]["head"]["example"]["blame"] == "agent"


def test_of_one_commit_the_fullest_run_is_the_baseline(folder: Path, convoprobe: Convoprobe) -> None:
    """A part ran last, then one that met an outage, then one with changes that no commit has."""
    for command in (["init", "-q", "-b", "main"], ["-c", "user.name=a", "-c", "user.email=a@b", *COMMIT]):
        subprocess.run(["git", *command], cwd=folder, check=True)
    done = subprocess.run(
        ["git", "rev-parse", "main"], cwd=folder, capture_output=True, text=True, check=True
    )
    commit, all_of_it = done.stdout.strip(), Selection(2, 2, 2)
    whole = store(folder, 1, [passed("one"), passed("two")], commit=commit, selection=all_of_it)
    store(folder, 2, [passed("one")], commit=commit, selection=Selection(1, 2, 1))
    outage = passed("two", criteria=(), outcome=Outcome.ERROR, blame=Blame.INFRASTRUCTURE)
    store(folder, 3, [passed("one"), outage], commit=commit, selection=all_of_it)
    store(folder, 4, [passed("one"), failed("two")], selection=all_of_it)
    result = convoprobe("compare", "main", "latest", "--fail-on", "new-failure")
    assert result.exit_code == 1
    assert result.output.startswith(f"{whole} (main {commit[:8]}) → ")
    assert "1 new failure, 1 the same" in result.output


def test_a_page_shows_both_conversations(worse: Path, convoprobe: Convoprobe) -> None:
    result = convoprobe("compare", "latest~1", "latest", "--html", "-o", "pages/two.html")
    assert result.exit_code == 1  # the gate is the same
    assert "wrote pages/two.html" in result.output
    page = (worse / "pages" / "two.html").read_text(encoding="utf-8")
    assert "1 new failure, 1 worse, 1 fixed, 1 the same</h1>" in page
    for name in ("one", "two", "three"):
        assert f"<strong>{name}</strong>" in page
    assert "<strong>four</strong>" not in page
    # Each scenario's conversation, which is the same in both runs, is there once.
    assert page.count("Which city do you mean?</div>") == 3


def test_of_several_trials_the_first_that_came_out_differently_is_shown(
    folder: Path, convoprobe: Convoprobe
) -> None:
    store(folder, 1, [passed("one", trial=1), passed("one", trial=2)])
    store(folder, 2, [passed("one", trial=1), failed("one", trial=2)])
    convoprobe("compare", "latest~1", "latest", "--html")
    page = (folder / "convoprobe-compare.html").read_text(encoding="utf-8")
    assert page.count("<small data-label>trial 2</small>") == 2
    assert "trial 1" not in page


def test_a_file_without_a_page_is_refused(worse: Path, convoprobe: Convoprobe) -> None:
    result = convoprobe("compare", "latest~1", "latest", "-o", "two.html")
    assert result.exit_code == 2
    assert "-o is for the page: add --html" in result.output
    assert not (worse / "two.html").exists()
