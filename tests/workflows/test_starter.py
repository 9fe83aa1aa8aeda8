"""The workflow that `convoprobe init` writes, run for each kind of event."""

from __future__ import annotations

from .conftest import CAREFUL, CARELESS, Repository

NEW = """\
name: A tent
description: An order that can be returned is paid back.
synthetic_user: {persona: A customer., initial_query: "A refund for order A-1042, please.", max_turns: 1}
evaluation:
  correctness_criteria: [The assistant says that it has refunded the order.]
  tool_usage: {required_tools: [find_order, refund_order]}
"""


def results(jobs: dict[str, object]) -> dict[str, str]:
    return {name: job.result for name, job in jobs.items()}  # type: ignore[attr-defined]


def test_a_pull_request_is_replayed_and_talks_live(repository: Repository) -> None:
    repository.commit("Say more", "more", README_DOT_md="A shop.\n")
    jobs = repository.pull_request("more")
    assert results(jobs) == {"replay": "success", "live": "success", "nightly": "skipped"}, jobs["live"].text
    assert "spent: nothing" in jobs["replay"].text
    assert repository.pip == ["install -r requirements.txt pytest-convoprobe"] * 2
    for name in ("replay", "live"):
        artifact = repository.hub.folder / "artifacts" / name
        assert sorted(path.name for path in artifact.iterdir()) == ["runs", "scenarios.xml"]


def test_the_first_one_says_that_there_is_no_baseline(repository: Repository) -> None:
    """Neither green without a word, nor red for nothing."""
    repository.commit("Say more", "more")
    live = repository.pull_request("more")["live"]
    assert "gate (confirm): green. 1 scenario, 1 conversation (compared with no baseline), " in live.text
    assert "Compared with no baseline." in repository.summary


def test_the_first_one_is_red_for_a_careless_agent(repository: Repository) -> None:
    repository.commit("Be generous", "generous", agent_DOT_py=repository.agent().replace(CAREFUL, CARELESS))
    jobs = repository.pull_request("generous")
    assert results(jobs) == {"replay": "failure", "live": "failure", "nightly": "skipped"}
    assert "blame    recording" in jobs["replay"].text
    assert "blame    agent" in jobs["live"].text
    assert "2 of 2 failed: confirmed" in jobs["live"].text
    # Whether it is whole is only asked where pytest was green; what there is to look at is kept.
    assert (repository.hub.folder / "artifacts/live/scenarios.xml").exists()


def test_one_from_a_fork_needs_no_key_and_reaches_no_model(repository: Repository) -> None:
    repository.commit("Say more", "more")
    jobs = repository.pull_request("more", fork=True)
    assert results(jobs) == {"replay": "success", "live": "skipped", "nightly": "skipped"}, jobs[
        "replay"
    ].text
    assert repository.model.requests == []


def test_a_scenario_that_was_never_recorded_is_no_pass_in_a_fork(repository: Repository) -> None:
    repository.commit("Test more", "more", scenarios__tent_DOT_yaml=NEW)
    jobs = repository.pull_request("more", fork=True)
    assert results(jobs) == {"replay": "failure", "live": "skipped", "nightly": "skipped"}
    assert "this scenario was never recorded" in jobs["replay"].text
    assert "--convoprobe-replay=record" in jobs["replay"].text


def test_an_agent_that_ends_the_process_is_not_green(repository: Repository) -> None:
    ends = repository.agent().replace(
        "    def send(self, message):", "    def send(self, message):\n        os._exit(0)"
    )
    repository.commit("Hide", "hide", agent_DOT_py=ends)
    jobs = repository.pull_request("hide")
    assert results(jobs) == {"replay": "failure", "live": "failure", "nightly": "skipped"}
    assert "1 trial selected, and 0 stored" in jobs["live"].text


def test_the_first_night_makes_the_baseline_that_pull_requests_are_compared_with(
    repository: Repository,
) -> None:
    jobs = repository.night()
    assert results(jobs) == {"replay": "skipped", "live": "skipped", "nightly": "success"}, jobs[
        "nightly"
    ].text
    assert (
        repository.git("log", "-1", "--format=%s %an")
        == "Update the baseline of the scenarios github-actions[bot]"
    )
    assert "0 of 20 failed" in jobs["nightly"].text
    repository.commit("Be generous", "generous", agent_DOT_py=repository.agent().replace(CAREFUL, CARELESS))
    live = repository.pull_request("generous")["live"]
    assert live.result == "failure"
    assert "base 0 of 20: more often than before" in live.text


def test_the_next_night_adds_to_it_and_has_the_runs_of_the_first(repository: Repository) -> None:
    repository.night()
    repository.commit("Meanwhile", README_DOT_md="A shop.\n")
    jobs = repository.night()
    assert jobs["nightly"].result == "success", jobs["nightly"].text
    assert "gate (paired" in jobs["nightly"].text
    runs = list((repository.hub.folder / "artifacts/nightly/runs").iterdir())
    assert len(runs) == 2
    assert '"of": 23' in (repository.origin / "scenarios/_baseline.json").read_text()


def test_a_night_after_which_main_has_moved_still_pushes(repository: Repository) -> None:
    folder = repository.checkout("main")
    repository.commit("Meanwhile", README_DOT_md="A shop.\n")
    nightly = repository.night(folder)["nightly"]
    assert nightly.result == "success", nightly.text
    assert repository.git("log", "--format=%s").splitlines() == [
        "Update the baseline of the scenarios",
        "Meanwhile",
        "Begin",
    ]


def test_a_red_night_keeps_its_runs_too(repository: Repository) -> None:
    repository.night()
    repository.commit("Be generous", agent_DOT_py=repository.agent().replace(CAREFUL, CARELESS))
    nightly = repository.night()["nightly"]
    assert nightly.result == "failure"
    assert len(list((repository.hub.folder / "cache").iterdir())) == 2
    assert "left out" in nightly.text


def test_a_run_of_an_earlier_attempt_does_not_stand_in(repository: Repository) -> None:
    for branch in ("first", "second"):
        repository.git("branch", branch)
    assert repository.night(repository.checkout("first"))["nightly"].result == "success"
    # Whatever ends pytest with 0 before it has begun: the restored run is of the same commit.
    repository.program("pytest", "exit 0")
    nightly = repository.night(repository.checkout("second"))["nightly"]
    assert nightly.result == "failure"
    assert "nothing is stored since then" in nightly.text
