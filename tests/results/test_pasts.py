from __future__ import annotations

import subprocess
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_convoprobe.errors import Blame, ResultsError
from pytest_convoprobe.formatting import moment
from pytest_convoprobe.gate.types import Decision, Past, Word
from pytest_convoprobe.llm.ledger import Spending
from pytest_convoprobe.llm.port import Role
from pytest_convoprobe.result import Outcome, ScenarioResult
from pytest_convoprobe.results.audit_file import Audit, FlipFigures, GateFigures, ScenarioAudit, write_audit
from pytest_convoprobe.results.baseline_file import Accepted, KeptPast, write_baseline
from pytest_convoprobe.results.fingerprints import Prints
from pytest_convoprobe.results.pasts import pasts_of
from pytest_convoprobe.results.run_info import Git, RunInfo, RunState, Selection

from .support import trial, writer

PRINTS = Prints(
    scenario="a" * 16, prompts="b" * 16, own_prompts="c" * 16, judge="d" * 16, judge_model="openai/j",
    user="e" * 16, user_model="openai/u",
)  # fmt: skip
ID = "scenarios/all.yaml::greeting"
NOW = time.time()


def outcomes(marks: str, **values: object) -> list[ScenarioResult]:
    """A trial for each character: `.` passed, `x` failed, `e` an error."""
    kinds = {
        "x": (Outcome.FAILED, Blame.AGENT),
        "e": (Outcome.ERROR, Blame.JUDGE),
        ".": (Outcome.PASSED, None),
    }
    return [
        trial(outcome=kinds[mark][0], blame=kinds[mark][1], trial=number, started=float(number), **values)
        for number, mark in enumerate(marks, start=1)
    ]


def stored(
    folder: Path,
    day: int,
    trials: Iterable[ScenarioResult],
    *,
    prints: Prints = PRINTS,
    git: Git | None = None,
    state: RunState = RunState.FINISHED,
    decision: Decision | None = None,
    decisions: Iterable[Decision] = (),
    selection: Selection | None = None,
) -> str:
    run = f"202611{day:02}T120000Z-{day:06x}"
    out = writer(folder / ".convoprobe", run)
    for one in trials:
        out.add(one, prints)
    for one in (decision, *decisions):
        if one:
            out.add_decision(one)
    out.write_info(RunInfo(run, 1.0, state=state, ended=2.0, git=git, selection=selection))
    out.close()
    return run


def of(folder: Path, named: str, prints: Prints = PRINTS, **more: str) -> Past | None:
    return pasts_of(folder, folder / ".convoprobe", named, **more).of(ID, prints)


class TestStoredRuns:
    def test_only_verdicts_on_the_agent_count(self, tmp_path: Path) -> None:
        undecided = trial(outcome=Outcome.FAILED, blame=Blame.JUDGE, trial=99)
        run = stored(tmp_path, 1, [*outcomes(".....x..ee"), undecided])
        assert of(tmp_path, run) == Past(1, 8, f"run {run}")
        assert pasts_of(tmp_path, tmp_path / ".convoprobe", run).notes == (
            "3 conversations left out: they have no verdict on the agent",
        )

    def test_attempts_that_a_rerun_replaced_count_too(self, tmp_path: Path) -> None:
        again = trial(trial=8, started=50.0)
        run = stored(tmp_path, 1, [*outcomes(".......x"), again])
        assert of(tmp_path, run) == Past(1, 9, f"run {run}")

    def test_replays_repeat_what_is_known(self, tmp_path: Path) -> None:
        replayed = {"spending": {Role.JUDGE: Spending(calls=2, replayed=2)}}
        run = stored(tmp_path, 1, outcomes("." * 20, **replayed))
        assert of(tmp_path, run) is None

    @pytest.mark.parametrize(
        ("change", "named"),
        [
            ({"scenario": "0" * 16}, "scenario"),
            ({"own_prompts": "0" * 16}, "prompts"),
            ({"judge_model": "openai/k"}, "judge's model openai/j → openai/k"),
            ({"user": "0" * 16}, "synthetic user's settings"),
        ],
    )
    def test_what_changed_is_named_and_decided_by_confirm(
        self, tmp_path: Path, change: dict[str, str], named: str
    ) -> None:
        run = stored(tmp_path, 1, outcomes("." * 20))
        found = pasts_of(tmp_path, tmp_path / ".convoprobe", run).find(ID, replace(PRINTS, **change))
        assert found.past is None
        assert found.note == f"changed since run {run}: {named}; decided by confirm"

    def test_the_target_is_what_is_tested(self, tmp_path: Path) -> None:
        run = stored(tmp_path, 1, outcomes("." * 20), prints=replace(PRINTS, target_prompt="1" * 16))
        assert of(tmp_path, run) == Past(0, 20, f"run {run}")

    def test_seven_are_too_few(self, tmp_path: Path) -> None:
        run = stored(tmp_path, 1, outcomes("......."))
        found = pasts_of(tmp_path, tmp_path / ".convoprobe", run).find(ID, PRINTS)
        assert found.past is None
        assert "only 7 conversations" in found.note
        assert "decided by confirm" in found.note

    def test_what_fails_more_often_than_not_blocks_nothing(self, tmp_path: Path) -> None:
        run = stored(tmp_path, 1, outcomes("xxxxx..."))
        found = pasts_of(tmp_path, tmp_path / ".convoprobe", run).find(ID, PRINTS)
        assert (found.past, found.may_block) == (Past(5, 8, f"run {run}"), False)
        assert "only reported" in found.note

    def test_latest_is_the_newest_runs_and_not_the_one_that_begins(self, tmp_path: Path) -> None:
        stored(tmp_path, 1, outcomes("....x"))
        stored(tmp_path, 2, outcomes("....."))
        own = stored(tmp_path, 3, outcomes("xxxxxxx"))
        assert of(tmp_path, "latest", before=own) == Past(1, 10, "2 runs of latest")

    def test_the_newest_fifty_count(self, tmp_path: Path) -> None:
        stored(tmp_path, 1, outcomes("x" * 20))
        stored(tmp_path, 2, outcomes("." * 45))
        assert of(tmp_path, "latest") == Past(5, 50, "2 runs of latest")

    def test_a_run_that_stopped_early_and_a_red_scenario_are_left_out(self, tmp_path: Path) -> None:
        stored(tmp_path, 1, outcomes("." * 8))
        stored(tmp_path, 2, outcomes("x"), state=RunState.STOPPED)
        red = Decision(ID, "paired", Word.RED, 5, 5, Past(0, 8))
        stored(tmp_path, 3, outcomes("xxxxx"), decision=red)
        stored(tmp_path, 4, outcomes("x"), decision=replace(red, policy="confirm", past=None))
        pasts = pasts_of(tmp_path, tmp_path / ".convoprobe", "latest")
        assert pasts.of(ID, PRINTS) == Past(1, 9, "4 runs of latest")
        assert len(pasts.notes) == 2

    def test_a_scenario_that_the_gate_could_not_decide_is_left_out(self, tmp_path: Path) -> None:
        """Or one that is broken, and uses up the budget each night, would be as before some day."""
        stored(tmp_path, 1, outcomes("." * 8))
        broken_off = [*outcomes("x"), trial(outcome=Outcome.ERROR, blame=Blame.BUDGET, trial=2)]
        other = Decision("scenarios/all.yaml::other", "paired", Word.GREEN, 0, 1, Past(0, 8))
        stored(tmp_path, 2, [*broken_off, trial("other")], decision=other)
        stored(tmp_path, 3, broken_off, selection=Selection(1, 2, 1, 1))
        pasts = pasts_of(tmp_path, tmp_path / ".convoprobe", "latest")
        assert pasts.of(ID, PRINTS) == Past(0, 8, "3 runs of latest")
        assert sum("decided nothing on scenarios/all.yaml::greeting" in note for note in pasts.notes) == 2
        stored(tmp_path, 4, broken_off, selection=Selection(1, 2, 2, 1))
        assert of(tmp_path, "latest") == Past(1, 9, "4 runs of latest")

    def test_a_run_that_was_red_as_a_whole_is_left_out(self, tmp_path: Path) -> None:
        stored(tmp_path, 1, outcomes("." * 8))
        names = [f"scenario {number}" for number in range(30)]
        failed = [trial(name, Outcome.FAILED, blame=Blame.AGENT) for name in names]
        undecided = [Decision(one.scenario_id, "paired", Word.UNDECIDED, 1, 1, Past(0, 20)) for one in failed]
        stored(tmp_path, 2, [*failed, *outcomes("x")], decisions=undecided)
        pasts = pasts_of(tmp_path, tmp_path / ".convoprobe", "latest")
        assert pasts.of(ID, PRINTS) == Past(0, 8, "2 runs of latest")
        assert "together failed more often than before" in pasts.notes[0]

    def test_a_branch_means_its_whole_history(self, tmp_path: Path) -> None:
        first, second = commits(tmp_path, 2)
        stored(tmp_path, 1, outcomes("....x"), git=Git(first))
        stored(tmp_path, 2, outcomes("....."), git=Git(second))
        stored(tmp_path, 3, outcomes("xxxxx"), git=Git(second, dirty=True))
        stored(tmp_path, 4, outcomes("xxxxx"), git=Git("f" * 40))
        assert of(tmp_path, "main") == Past(1, 10, "2 runs of main")
        with pytest.raises(ResultsError, match="is not a stored run"):
            of(tmp_path, "elsewhere")


class TestFiles:
    def write(self, folder: Path, name: str = "all.yaml::greeting", talks: str = "....x....", **more) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        entry = KeptPast(talks, "20261128T120000Z-000001", PRINTS, **more)
        write_baseline(folder / "_baseline.json", {name: entry})

    def test_the_file_beside_the_scenarios_is_the_default(self, tmp_path: Path) -> None:
        self.write(tmp_path / "scenarios")
        assert pasts_of(tmp_path).of(ID, PRINTS) == Past(1, 9, "scenarios/_baseline.json of 2026-11-28")
        assert pasts_of(tmp_path).of("elsewhere/all.yaml::greeting", PRINTS) is None

    def test_the_nearest_one_counts(self, tmp_path: Path) -> None:
        self.write(tmp_path, "scenarios/all.yaml::greeting", "." * 20)
        self.write(tmp_path / "scenarios")
        found = pasts_of(tmp_path).of(ID, PRINTS)
        assert found is not None
        assert (found.failed, found.talks) == (1, 9)

    def test_a_file_may_be_named(self, tmp_path: Path) -> None:
        self.write(tmp_path / "scenarios")
        self.write(tmp_path / "other", "../scenarios/all.yaml::greeting", "." * 30)
        found = pasts_of(tmp_path, None, "other/_baseline.json").of(ID, PRINTS)
        assert found is not None
        assert found.talks == 30

    def test_an_accepted_change_is_said(self, tmp_path: Path) -> None:
        self.write(tmp_path / "scenarios", accepted=Accepted("2026-11-20", "shorter answers, #12"))
        found = pasts_of(tmp_path).find(ID, PRINTS)
        assert found.note == "a change was accepted on 2026-11-20: shorter answers, #12"
        assert found.past is not None

    def test_an_accepted_change_blocks_nothing_while_its_past_is_short(self, tmp_path: Path) -> None:
        self.write(tmp_path / "scenarios", talks="xx", accepted=Accepted("2026-11-20", "#12"))
        found = pasts_of(tmp_path).find(ID, PRINTS)
        assert (found.past, found.may_block) == (None, False)
        assert found.note == (
            "a change was accepted on 2026-11-20: #12; 2 conversations since then, so it is only reported "
            "until there are 8"
        )

    def test_a_broken_file_is_not_taken_for_none(self, tmp_path: Path) -> None:
        self.write(tmp_path / "scenarios")
        path = tmp_path / "scenarios" / "_baseline.json"
        path.write_text(path.read_text()[:200])
        with pytest.raises(ResultsError, match=r"_baseline\.json:\d+:\d+: it is not whole JSON"):
            pasts_of(tmp_path).of(ID, PRINTS)


def commits(folder: Path, count: int) -> list[str]:
    def git(*words: str) -> str:
        identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
        done = subprocess.run(
            ["git", *identity, *words], cwd=folder, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    git("init", "-q", "-b", "main")
    made = []
    for number in range(count):
        git("commit", "-q", "--allow-empty", "-m", str(number))
        made.append(git("rev-parse", "HEAD"))
    return made


def audited(flipped: int, asked: int, prints: Prints = PRINTS, at: float = NOW) -> Audit:
    one = ScenarioAudit(ID, 20, 0, flips=FlipFigures(asked, flipped), prints=prints)
    return Audit(at, (), "paired", 0.05, "openai/j", GateFigures(300, 0, 0.01, 0.0, 1.7, 2.0), (one,))


@pytest.mark.parametrize(
    ("audit", "blocks"),
    [
        (audited(1, 5), False),
        (audited(1, 10), True),  # one in ten is allowed
        (audited(1, 4), True),  # of four, one flip is no rate
        (audited(3, 5, replace(PRINTS, scenario="f" * 16)), True),  # it was another scenario
        (audited(3, 5, at=NOW - 31 * 86_400), True),  # and long ago
    ],
)
def test_a_scenario_whose_verdicts_flip_blocks_nothing(tmp_path: Path, audit: Audit, blocks: bool) -> None:
    for day in range(1, 11):
        stored(tmp_path, day, outcomes("."))
    write_audit(tmp_path / ".convoprobe", audit)
    found = pasts_of(tmp_path, tmp_path / ".convoprobe", "latest").find(ID, PRINTS)
    assert found.may_block is blocks
    assert (
        f"verdicts flipped in the audit of {moment(NOW)[:10]}, so it is only reported" in found.note
    ) is not blocks
