from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from pytest_convoprobe.errors import ResultsError
from pytest_convoprobe.result import Outcome
from pytest_convoprobe.results.fingerprints import Prints
from pytest_convoprobe.results.store import (
    Git,
    RunInfo,
    RunState,
    StoredRun,
    final,
    list_runs,
    new_run_id,
    open_run,
    resolve_run,
)
from pytest_convoprobe.transcript import Reply, ToolCall, Transcript, Turn
from tests.reports.results import CALLED, MET, NOT_MET, SPENDING, TURNS, UNTOLD, result

from .support import RUN, trial, writer

FAILED = result(
    Outcome.FAILED, reason="it never\ntells", criteria=(MET, NOT_MET, UNTOLD), checks=(CALLED, CALLED)
)


def stored(folder: Path, *names: str) -> StoredRun:
    """A run of these trials, whole but for its description."""
    part = writer(folder)
    for name in names:
        part.add(trial(name), Prints("aa"))
    part.close()
    return open_run(part.folder)


def lines(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


def names(run: StoredRun) -> list[str]:
    return [row.name for row in run.rows()]


def test_what_was_added_is_read_back(tmp_path: Path) -> None:
    part = writer(tmp_path)
    part.add(trial(), Prints("aa"))
    part.add(FAILED, Prints("bb", "cc"))
    part.close()
    records = list(open_run(part.folder).trials())
    assert [record.result for record in records] == [trial(), FAILED]
    assert [record.prints for record in records] == [Prints("aa"), Prints("bb", "cc")]


def test_a_row_has_what_lists_and_trends_need(tmp_path: Path) -> None:
    part = writer(tmp_path, RUN, "gw1")
    part.add(FAILED, Prints("bb"))
    part.write_info(RunInfo(RUN, 1.0, git=Git("c0ffee")))
    (row,) = open_run(part.folder).rows()
    assert (row.run, row.worker, row.commit) == (RUN, "gw1", "c0ffee")
    assert (row.outcome, row.reason, row.turns) == (Outcome.FAILED, "it never tells", len(TURNS))
    assert (row.tokens, row.cost) == (4530, None)
    assert row.holds == {
        "c1": True,
        "c2": False,
        "t1": None,
        "required tool get_weather": True,
        "required tool get_weather (2)": True,
    }


def test_the_row_of_the_index_is_the_row_of_the_trial(tmp_path: Path) -> None:
    part = writer(tmp_path)
    part.add(FAILED, Prints("bb"))
    part.close()
    indexed = list(open_run(part.folder).rows())
    (part.folder / "index-main.jsonl").unlink()
    assert list(open_run(part.folder).rows()) == indexed


def test_replayed_is_a_trial_that_called_no_model(tmp_path: Path) -> None:
    part = writer(tmp_path)
    spending = {role: type(spent)(2, 0, 2, spent.usage, 0.1) for role, spent in SPENDING.items()}
    part.add(trial(spending=spending))
    part.add(trial())
    assert [row.replayed for row in open_run(part.folder).rows()] == [True, False]


def test_nothing_is_written_before_there_is_something_to_store(tmp_path: Path) -> None:
    writer(tmp_path / "results").close()
    assert not (tmp_path / "results").exists()


def test_the_folder_keeps_itself_out_of_version_control(tmp_path: Path) -> None:
    stored(tmp_path / "results", "a")
    assert (tmp_path / "results/.gitignore").read_text().splitlines()[-1] == "*"


def test_a_trial_is_on_the_disk_as_soon_as_it_is_added(tmp_path: Path) -> None:
    part = writer(tmp_path)
    part.add(trial("a"))
    assert names(open_run(part.folder)) == ["a"]


def test_a_torn_last_line_is_skipped_with_a_note(tmp_path: Path) -> None:
    run = stored(tmp_path, "a", "b")
    path = run.path / "trials-main.jsonl"
    os.truncate(path, path.stat().st_size - 20)
    os.truncate(run.path / "index-main.jsonl", 0)
    run = open_run(run.path)
    assert names(run) == ["a"]
    assert "a torn last line in trials-main.jsonl was skipped" in run.notes


@pytest.mark.parametrize("kept", [[], [0], [1], [2], [0, 2], [0, 1], [1, 2]])
def test_what_the_index_lacks_comes_from_the_trials(tmp_path: Path, kept: list[int]) -> None:
    run = stored(tmp_path, "a", "b", "c")
    index = run.path / "index-main.jsonl"
    whole = lines(index)
    index.write_bytes(b"".join(line if at in kept else b"{torn\n" for at, line in enumerate(whole)))
    run = open_run(run.path)
    assert names(run) == ["a", "b", "c"]
    assert [run.trial(row).result.name for row in run.rows()] == ["a", "b", "c"]


def test_a_broken_line_in_the_middle_takes_no_other_with_it(tmp_path: Path) -> None:
    run = stored(tmp_path, "a", "b", "c")
    path = run.path / "trials-main.jsonl"
    first, second, third = lines(path)
    path.write_bytes(first + b"\xff{" + second[2:] + third)
    (run.path / "index-main.jsonl").unlink()
    run = open_run(run.path)
    assert names(run) == ["a", "c"]
    assert "a line that is not JSON in trials-main.jsonl was skipped" in run.notes


def test_a_trial_of_a_later_release_is_skipped_with_a_note(tmp_path: Path) -> None:
    run = stored(tmp_path, "a", "b")
    path = run.path / "trials-main.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"version":1', b'"version":7', 1))
    (run.path / "index-main.jsonl").unlink()
    run = open_run(run.path)
    assert names(run) == ["b"]
    assert any("it has version 7 of the format" in note for note in run.notes)


def test_history_outlives_the_conversations(tmp_path: Path) -> None:
    run = stored(tmp_path, "a")
    (run.path / "trials-main.jsonl").unlink()
    run.path.joinpath("run.json").write_text(json.dumps(RunInfo(RUN, 1.0).to_json()))
    (row,) = open_run(run.path).rows()
    with pytest.raises(ResultsError, match=r"the trial of scenarios/all.yaml::a cannot be read"):
        run.trial(row)


def test_workers_have_files_of_their_own(tmp_path: Path) -> None:
    for worker in ("gw10", "gw2", "main"):
        part = writer(tmp_path, RUN, worker)
        part.add(trial(worker))
        part.close()
    run = open_run(part.folder)
    assert names(run) == ["gw2", "gw10", "main"]
    assert sorted(path.name for path in run.path.glob("trials-*")) == [
        "trials-gw10.jsonl",
        "trials-gw2.jsonl",
        "trials-main.jsonl",
    ]


def test_of_a_trial_that_was_run_again_the_last_counts(tmp_path: Path) -> None:
    part = writer(tmp_path)
    part.add(trial("a", Outcome.FAILED, started=1.0))
    part.add(trial("a", Outcome.PASSED, started=2.0))
    part.add(trial("a", Outcome.FAILED, started=1.5, trial=2))
    run = open_run(part.folder)
    assert run.counts == {"passed": 1, "failed": 1}
    assert len(list(run.rows())) == 3
    assert {row.started for row in final(run.rows())} == {2.0, 1.5}


def test_secrets_never_reach_the_disk(tmp_path: Path) -> None:
    part = writer(tmp_path, RUN, "main", "hunter2-is-my-key")
    call = ToolCall(
        "login", {"password": "abc", "note": "hunter2-is-my-key"}, {"Authorization": "Basic eA=="}
    )
    turn = Turn(1, "my key is hunter2-is-my-key", Reply("Bearer abcdef123456789", (call,)))
    part.add(trial(transcript=Transcript((turn,)), reason="hunter2-is-my-key", trace="sk-abcdefghijklmnop1"))
    part.write_info(RunInfo(RUN, 1.0, command=("pytest", "--key=hunter2-is-my-key")))
    written = "".join(path.read_text() for path in part.folder.iterdir())
    for secret in ("hunter2", "abcdef123456789", '"abc"', "eA==", "sk-abc"):
        assert secret not in written
    assert "my key is ****" in written


def test_a_full_disk_is_told_and_raises_nothing(tmp_path: Path) -> None:
    part = writer(tmp_path)
    part.folder.mkdir(parents=True)
    (part.folder / "trials-main.jsonl").symlink_to("/dev/full")
    part.add(trial())
    part.add(trial())
    assert part.problem == f"this run is not stored whole in {part.folder}: No space left on device"


def test_after_a_failed_write_the_next_trial_stands_alone(tmp_path: Path) -> None:
    """A limit on the size of files fails a write in its middle, as a full disk does."""
    code = f"""
        import resource, signal
        from pathlib import Path
        from tests.results.support import trial, writer
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        part = writer(Path({str(tmp_path)!r}))
        part.add(trial("a"))
        size = (part.folder / "trials-main.jsonl").stat().st_size
        _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 100, most))
        part.add(trial("b"))
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
        part.add(trial("c"))
        print(part.problem)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "File too large" in done.stdout
    run = open_run(tmp_path / "runs" / RUN)
    assert names(run) == ["a", "c"]
    assert [record.result.name for record in run.trials()] == ["a", "c"]


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "results").write_text("a file is in the way")
    part = writer(tmp_path / "results")
    part.add(trial())
    part.write_info(RunInfo(RUN, 1.0))
    assert part.problem is not None
    assert "this run is not stored whole" in part.problem


def test_a_description_comes_back(tmp_path: Path) -> None:
    part = writer(tmp_path)
    info = RunInfo(
        RUN,
        1.5,
        RunState.STOPPED,
        ended=2.5,
        exit_status=1,
        command=("pytest", "-x"),
        settings={"run": {"concurrency": 4}},
        git=Git("c0ffee", "main", True),
        counts={"failed": 1},
    )
    part.write_info(info)
    assert open_run(part.folder).info == info


def test_a_run_without_an_end_goes_on_or_broke_off(tmp_path: Path) -> None:
    part = writer(tmp_path)
    part.write_info(RunInfo(RUN, 1.0))
    assert open_run(part.folder).info.state is RunState.RUNNING
    part.close()
    assert open_run(part.folder).info.state is RunState.BROKEN_OFF


def test_a_run_goes_on_from_its_first_trial_described_or_not(tmp_path: Path) -> None:
    part = writer(tmp_path)
    part.add(trial("a"))
    run = open_run(part.folder)
    assert run.info.state is RunState.RUNNING
    assert run.notes == ("run.json is missing: the run has only just begun",)
    part.close()


def test_a_run_without_a_description_is_read_all_the_same(tmp_path: Path) -> None:
    run = stored(tmp_path, "a")
    assert names(run) == ["a"]
    assert (run.id, run.info.state) == (RUN, RunState.BROKEN_OFF)
    assert run.info.started == 1795817700.0
    assert run.notes == ("run.json is missing: the run broke off before it was written",)


BROKEN = [
    "{torn",
    "[]",
    '{"version": 9}',
    '{"version": 1}',
    '{"id": "a", "started": 1, "state": "?"}',
    '{"id": "a", "started": "then"}',
    '{"id": "a", "started": 1, "ended": "later"}',
    '{"id": "a", "started": 1, "models": 5}',
    '{"id": "a", "started": 1, "git": "main"}',
]


@pytest.mark.parametrize("text", BROKEN)
def test_a_description_that_cannot_be_read_is_told(tmp_path: Path, text: str) -> None:
    run = stored(tmp_path, "a")
    (run.path / "run.json").write_text(text)
    run = open_run(run.path)
    assert names(run) == ["a"]
    assert run.notes[0].startswith("run.json cannot be read: ")


def test_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match="holds no stored run"):
        open_run(tmp_path)


@pytest.mark.parametrize(("dirty", "commit"), [(False, "c0ffee"), (True, None)])
def test_uncommitted_changes_belong_to_no_commit(tmp_path: Path, dirty: bool, commit: str | None) -> None:
    part = writer(tmp_path)
    part.add(trial())
    part.write_info(RunInfo(RUN, 1.0, git=Git("c0ffee", dirty=dirty)))
    part.close()
    assert [row.commit for row in open_run(part.folder).rows()] == [commit]


def test_ids_sort_by_time() -> None:
    ids = [new_run_id(second) for second in (0, 59, 61, 10**9, 10**9 + 0.25, 10**9 + 0.75)]
    assert ids == sorted(ids)
    assert ids[0].startswith("19700101T000000Z-")


def _git(folder: Path, *arguments: str) -> str:
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments]
    return subprocess.check_output(command, cwd=folder, text=True).strip()


class TestFinding:
    @pytest.fixture
    def results(self, tmp_path: Path) -> Path:
        """Three runs in a checkout: two of the commit `v1`, then one of `main`."""
        _git(tmp_path, "init", "-qb", "main")
        _git(tmp_path, "commit", "-qm1", "--allow-empty")
        _git(tmp_path, "tag", "v1")
        _git(tmp_path, "commit", "-qm2", "--allow-empty")
        commits = [_git(tmp_path, "rev-parse", name) for name in ("v1", "v1", "main")]
        results = tmp_path / ".convoprobe"
        for day, commit in enumerate(commits, start=1):
            run = f"2026112{day}T000000Z-00000{day}"
            part = writer(results, run)
            part.add(trial())
            part.write_info(RunInfo(run, float(day), git=Git(commit)))
            part.close()
        return results

    def test_the_newest_comes_first(self, results: Path) -> None:
        assert [run.id[7] for run in list_runs(results)] == ["3", "2", "1"]
        assert [run.open().id[7] for run in list_runs(results)] == ["3", "2", "1"]

    def test_no_folder_is_no_runs(self, tmp_path: Path) -> None:
        assert list_runs(tmp_path / "none") == []

    @pytest.mark.parametrize(
        ("text", "day"),
        [
            ("latest", "3"),
            ("latest~1", "2"),
            ("latest~2", "1"),
            ("20261122T000000Z-000002", "2"),
            ("20261122", "2"),
            ("v1", "2"),
            ("main", "3"),
            ("HEAD", "3"),
            ("HEAD~1", "2"),
        ],
    )
    def test_a_text_means_a_run(self, results: Path, text: str, day: str) -> None:
        assert resolve_run(results, text).id[7] == day

    def test_a_path_means_the_run_there(self, results: Path, tmp_path: Path) -> None:
        here = results / "runs/20261121T000000Z-000001"
        assert resolve_run(tmp_path / "elsewhere", str(here)).path == here

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("latest~3", "latest~3: there are only 3 stored runs"),
            ("2026", "2026 is the beginning of 3 runs: 20261123T000000Z-000003, "),
            ("nothing", "nothing is not a stored run in .*`latest` is the newest"),
            ("--output=x", "--output=x is not a stored run"),
            ("", "is not a stored run"),
        ],
    )
    def test_what_means_none_or_several_is_told(self, results: Path, text: str, words: str) -> None:
        with pytest.raises(ResultsError, match=words):
            resolve_run(results, text)

    def test_one_run_is_not_several(self, tmp_path: Path) -> None:
        part = writer(tmp_path, "20261121T000000Z-000001")
        part.add(trial())
        part.close()
        with pytest.raises(ResultsError, match=r"latest~1: there is only 1 stored run$"):
            resolve_run(tmp_path, "latest~1")

    def test_a_commit_without_a_run_is_told(self, results: Path, tmp_path: Path) -> None:
        _git(tmp_path, "commit", "-qm3", "--allow-empty")
        with pytest.raises(ResultsError, match=r"main is commit .*, of which no run is stored"):
            resolve_run(results, "main")

    @pytest.mark.parametrize(
        ("dirty", "state", "day"),
        [
            (False, RunState.FINISHED, "4"),
            (True, RunState.FINISHED, "3"),
            (False, RunState.INTERRUPTED, "3"),
        ],
    )
    def test_a_commit_means_a_whole_run_of_it_alone(
        self, results: Path, tmp_path: Path, dirty: bool, state: RunState, day: str
    ) -> None:
        git = Git(_git(tmp_path, "rev-parse", "main"), dirty=dirty)
        for name, info in (
            ("20261123T000000Z-000003", {"git": Git(git.commit), "state": RunState.FINISHED}),
            ("20261124T000000Z-000004", {"git": git, "state": state}),
        ):
            part = writer(results, name)
            part.write_info(RunInfo(name, 1.0, **info))
            part.close()
        assert resolve_run(results, "main").id[7] == day

    def test_no_runs_at_all_are_told(self, tmp_path: Path) -> None:
        with pytest.raises(ResultsError, match="run pytest on some scenarios first"):
            resolve_run(tmp_path, "nothing")
