"""Labels files in pytest: which are ours, and what a judge has to reach before it may gate."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pytest_convoprobe.results.lookup import list_runs
from tests.calibration.judges import AGENT as SAID
from tests.calibration.judges import answers, labelled
from tests.support import warm_process
from tests.support.chat_server import ChatServer

from .suite import Suite

SCENARIO = """\
name: Talk
description: Opening hours.
synthetic_user: {persona: Somebody, initial_query: "When?", max_turns: 1}
evaluation: {correctness_criteria: [The agent says when the shop opens]}
"""
AGENT = "def answer(message): return 'On Sunday we open at ten.'\n"


class Project:
    """A project whose judge is a server on loopback."""

    def __init__(self, folder: Path, server: ChatServer) -> None:
        self.folder = folder
        self.server = server
        (folder / "agent.py").write_text(AGENT)
        (folder / "scenarios").mkdir()
        (folder / "scenarios" / "talk.yaml").write_text(SCENARIO)

    def settings(self, **judge: Any) -> None:
        llm = {"model": "openai/fake", "api_base": self.server.base_url, "api_key": "k", "max_attempts": 1}
        target = {"type": "python", "object": "agent.py:answer"}
        judge = {"second_vote": False, **judge}
        text = json.dumps({"llm": llm, "target": target, "judge": judge})
        (self.folder / "convoprobe.yaml").write_text(text)

    def labels(self, name: str, *conversations: str) -> None:
        (self.folder / name).write_text("\n---\n".join(conversations))

    def run(self, *words: str) -> tuple[int, str]:
        env = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        done = warm_process.run("pytest", "-p", "convoprobe", *words, cwd=self.folder, env=env)
        return done.returncode, done.stdout + done.stderr


Judge = Callable[[dict[str, Any]], str]


@contextmanager
def project(folder: Path, wrong: Sequence[str] = ()) -> Iterator[Project]:
    def judge(body: dict[str, Any]) -> str:
        return answers("\n".join(str(one["content"]) for one in body["messages"]), wrong=wrong)

    with ChatServer(judge) as server:
        yield Project(folder, server)


TEN = [labelled(f"t{n}x", says=n >= 4) for n in range(10)]
FAULTS = tuple(f"opens t{n}x" for n in range(4))


def test_a_labels_file_is_one_item_with_the_figures(tmp_path: Path) -> None:
    with project(tmp_path, wrong=FAULTS[:3]) as made:
        made.settings()
        made.labels("hours.labels.yaml", *TEN)
        status, shown = made.run("-rP", "hours.labels.yaml", "-m", "labels", "--junitxml=junit.xml")
        assert status == 0, shown
        assert "hours.labels.yaml: judge openai/fake agrees with 9 of 10 labels (90 %" in shown
        assert "faults that it finds (sensitivity): 3 of 4 (75 %" in shown
        assert '"The agent says when the shop opens t3x" is a fault, and the judge accepts it' in shown
        junit = (tmp_path / "junit.xml").read_text()
        assert re.search(r'name="convoprobe_sensitivity" value="0.75"', junit)
        assert len(made.server.requests) == 10


def test_a_judge_that_has_reached_too_little_gates_nothing(tmp_path: Path) -> None:
    with project(tmp_path, wrong=FAULTS[:2]) as made:
        made.settings(require={"labels": 10, "kappa": 0.9})
        status, shown = made.run("scenarios")
        assert status == pytest.ExitCode.USAGE_ERROR
        assert "the judge openai/fake may not gate: 0 labels of at least 10" in shown
        assert made.server.requests == []
        made.labels("hours.labels.yaml", *TEN)
        status, shown = made.run()
        assert status == 1
        assert "kappa is 0.545 on 10 labels, and judge.require wants 0.90" in shown
        assert "1 failed, 1 passed" in shown
        status, shown = made.run("-x")  # the judge is measured before it is relied on
        assert "1 failed in" in shown, shown
        status, shown = made.run("scenarios")  # what was measured is stored
        assert status == pytest.ExitCode.USAGE_ERROR
        assert "may not gate: kappa is 0.545 on 10 labels" in shown


def test_labels_files_prove_a_judge_together_and_once(tmp_path: Path) -> None:
    with project(tmp_path, wrong=FAULTS) as made:
        made.settings(require={"labels": 10, "kappa": 0.9})
        made.labels("a.labels.yaml", *TEN[::2])
        status, shown = made.run()
        assert status == 1, shown
        assert "2 passed" in shown
        assert "the judge openai/fake may not gate: 5 labels of at least 10: the run fails" in shown
        made.labels("b.labels.yaml", *TEN[1::2])
        status, shown = made.run("-n", "2", "-p", "xdist")
        assert status == 0, shown
        asked = len(made.server.requests)
        status, shown = made.run("scenarios")
        assert status == 0, shown
        line = "judge openai/fake: canaries not run; run `convoprobe doctor --judge`"
        assert line in shown
        assert list_runs(tmp_path / ".convoprobe")[0].open().info.judges == (line,)
        assert len(made.server.requests) == asked + 1


def test_a_test_that_runs_a_scenario_needs_a_fit_judge_too(tmp_path: Path) -> None:
    """Whatever an earlier one needed whose settings name the same judge."""
    with project(tmp_path) as made:
        made.settings(require={"labels": 10})
        shutil.copytree(tmp_path / "scenarios", tmp_path / "strict")
        shutil.move(tmp_path / "convoprobe.yaml", tmp_path / "strict")
        made.settings()
        (tmp_path / "test_it.py").write_text(
            "import pytest\n"
            "@pytest.mark.parametrize('folder', ['scenarios', 'strict'])\n"
            "def test_it(convoprobe, folder):\n"
            f"    convoprobe.run(folder + '/talk.yaml', target=lambda _: {SAID!r}).assert_passed()\n"
        )
        status, shown = made.run("test_it.py")
        assert status == 1
        assert "the judge openai/fake may not gate: 0 labels of at least 10" in shown
        assert "1 failed, 1 passed" in shown
        assert "FAILED test_it.py::test_it[strict]" in shown


def test_an_outage_is_an_error_and_not_a_failure(tmp_path: Path) -> None:
    with ChatServer(faults=["500"] * 20) as server:
        made = Project(tmp_path, server)
        made.settings()
        made.labels("hours.labels.yaml", *TEN[:2])
        status, shown = made.run("hours.labels.yaml")
    assert status == 1
    assert "1 error" in shown
    assert "failed" not in shown.splitlines()[-1]
    assert "2 conversations could not be judged" in shown


def test_files_of_others_are_left_alone(suite: Suite) -> None:
    suite.scenario("good")
    for name in ("deploy.labels.yaml", "scenarios/deploy.labels.yml"):
        suite.write(name, "app: shop\ntier: web\n")
    suite.write("turns.labels.yaml", "turns: 3\n")
    result = suite.run("--collect-only", "-q")
    assert [line for line in result.outlines if "::" in line] == ["scenarios/good.yaml::good"]


def test_a_labels_file_among_scenarios_is_no_scenario_and_the_other_way_round(suite: Suite) -> None:
    suite.scenario("good", "scenarios/good.labels.yaml")
    suite.write("scenarios/hours.labels.yaml", labelled("a"))
    suite.write("convoprobe.yaml", "llm: {model: openai/fake}\n")
    suite.write("scenarios/wrong.labels.jsonl", '{"id": "a", "turns": [], "criterions": []}\n')
    result = suite.run("--collect-only", "-q", "--continue-on-collection-errors")
    assert [line for line in result.outlines if ".yaml::" in line] == [
        "scenarios/hours.labels.yaml::judge",
        "scenarios/good.labels.yaml::good",
    ]
    result.stdout.fnmatch_lines(["*wrong.labels.jsonl:1:*criterions: unknown key; did you mean `criteria`?*"])
