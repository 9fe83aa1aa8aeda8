"""`convoprobe watch`: a real process, in which files change."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pytest_convoprobe.cli.changed_scenarios import after_run, selecting_words, stamps, written

SCENARIO = """\
name: {name}
description: d
synthetic_user: {{persona: p, initial_query: {says}, max_turns: 1}}
evaluation:
  correctness_criteria: [It answers]
"""
CONFTEST = """
import pathlib, pytest

@pytest.fixture(scope="session")
def convoprobe_target():
    def agent(message):
        pathlib.Path("orders.json").write_text(message)
        return "{says} " + message
    return agent
"""


class Watching:
    """A process that watches; `lines` is what it has written so far."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.lines: list[str] = []
        self._more = threading.Condition()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with self._more:
                self.lines.append(line.rstrip())
                self._more.notify_all()

    def until(self, text: str, times: int = 1) -> list[str]:
        """Wait until a text was written so often; all lines until then."""
        with self._more:
            seen = self._more.wait_for(lambda: sum(text in line for line in self.lines) >= times, 60)
            assert seen, self.lines
            return list(self.lines)


def write(folder: Path, name: str, text: str) -> None:
    """As editors do: another file takes the place of the old one."""
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    new = path.with_name(f".{path.name}.new")
    new.write_text(text)
    new.replace(path)


@contextmanager
def watching(folder: Path, *words: str) -> Iterator[Watching]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONUNBUFFERED": "1"}
    environment["PYTEST_ADDOPTS"] = "-p no:sugar -p no:cacheprovider"
    command = [sys.executable, "-m", "pytest_convoprobe.cli", "watch", *words]
    process = subprocess.Popen(
        command, cwd=folder, env=environment, stdout=-1, stderr=subprocess.STDOUT, text=True
    )
    try:
        yield Watching(process)
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


@pytest.fixture
def project(folder: Path) -> Path:
    write(folder, "conftest.py", CONFTEST.format(says="I heard"))
    # Nobody is there: what matters is which conversations are begun.
    write(
        folder,
        "convoprobe.yaml",
        "llm: {model: openai/x, api_base: 'http://127.0.0.1:9', api_key: k, max_attempts: 1}",
    )
    for name in "ab":
        write(folder, f"scenarios/{name}.yaml", SCENARIO.format(name=name, says=f"Hello {name}"))
    return folder


def test_what_changed_runs_and_is_shown(project: Path) -> None:
    with watching(project) as watch:
        watch.until("watching 2 scenarios; Ctrl-C ends it")
        time.sleep(0.5)
        write(project, "scenarios/a.yaml", "# a comment\n" + SCENARIO.format(name="a", says="Hello a"))
        watch.until("nothing to run: no scenario says anything else than before")
        write(project, "scenarios/b.yaml", SCENARIO.format(name="b", says="Good day"))
        lines = watch.until("waiting for changes; the last run had 1 scenario")
        assert "    user  │ Good day" in lines
        assert "    agent │ I heard Good day" in lines
        assert not any("user  │ Hello a" in line for line in lines)
        write(project, "scenarios/c.yaml", "name: c\nsynthetic_usr: {}\n")
        lines = watch.until(
            "scenarios/c.yaml:2:1: synthetic_usr: unknown key; did you mean `synthetic_user`?"
        )
        write(project, "conftest.py", CONFTEST.format(says="I see"))
        lines = watch.until("waiting for changes; the last run had 2 scenarios")
        assert {"    agent │ I see Good day", "    agent │ I see Hello a"} <= set(lines)
        watch.process.send_signal(signal.SIGINT)
        assert watch.process.wait(30) == 0


def test_a_run_does_not_start_the_next_one(project: Path) -> None:
    """Its agent writes data."""
    with watching(project, "scenarios/a.yaml", "--now", "--option=-x") as watch:
        watch.until("waiting for changes; the last run had 1 scenario")
        assert (project / "orders.json").read_text() == "Hello a"
        write(project, "scenarios/a.yaml", SCENARIO.format(name="a", says="Once more"))
        watch.until("waiting for changes; the last run had 1 scenario", times=2)
        time.sleep(1.5)
        assert sum("test session starts" in line for line in watch.lines) == 2


def test_nothing_to_watch_is_a_mistake(folder: Path) -> None:
    (folder / "empty").mkdir()
    with watching(folder, "empty") as watch:
        assert "empty: no scenario files here" in "".join(watch.until("no scenario files"))
        assert watch.process.wait(30) == 2


def test_a_file_that_breaks_and_comes_back_has_not_changed(project: Path) -> None:
    before = written([project])
    good = (project / "scenarios/a.yaml").read_text()
    write(project, "scenarios/a.yaml", "name: [")
    broken = written([project], before)
    assert broken.problems
    assert broken.changed_since(before) == []
    write(project, "scenarios/a.yaml", good)
    assert written([project], broken).changed_since(broken) == []


def test_files_in_folders_that_are_linked(project: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    write(elsewhere, "far.yaml", SCENARIO.format(name="far", says="Hello"))
    (project / "scenarios/linked").symlink_to(elsewhere, target_is_directory=True)
    with watching(project) as watch:
        watch.until("watching 3 scenarios; Ctrl-C ends it")
        time.sleep(0.5)
        write(elsewhere, "far.yaml", SCENARIO.format(name="far", says="Good day"))
        assert "    user  │ Good day" in watch.until("waiting for changes; the last run had 1 scenario")


def test_all_scenarios_make_a_short_command_line(project: Path) -> None:
    many = "---\n".join(SCENARIO.format(name=f"a scenario with number {n}", says="Hi") for n in range(200))
    write(project, "scenarios/many.yaml", many)
    found = written([project])
    assert found.count == 202
    arguments = found.words_for_pytest(found.node_ids(), project)
    assert sorted(Path(one).name for one in arguments) == ["a.yaml", "b.yaml", "many.yaml"]
    assert found.words_for_pytest(found.node_ids()[:2], project) == found.node_ids()[:2]


def test_code_that_changes_while_a_run_goes_on_starts_another(project: Path) -> None:
    before = stamps([project])
    write(project, "conftest.py", CONFTEST.format(says="I see"))
    write(project, "orders.json", "{}")
    now = stamps([project])
    assert {path.name for path, _ in now.items() ^ after_run(before, now).items()} == {"conftest.py"}


PARAMETERS = """\
name: Order ${number}
description: d
synthetic_user: {persona: p, initial_query: "Where is ${number}?", max_turns: 1}
evaluation:
  replies: [{contains: "${number}"}]
parameters: [{number: "1"}, {number: "12"}]
"""


def test_scenarios_with_parameters_and_several_targets(folder: Path) -> None:
    """Of which pytest makes items with longer ids."""
    write(folder, "agents.py", "def first(message):\n    return message\n\n\nsecond = first\n")
    targets = (
        "target: {type: python}\ntargets: {a: {object: 'agents.py:first'}, b: {object: 'agents.py:second'}}"
    )
    write(folder, "convoprobe.yaml", targets)
    write(folder, "scenarios/orders.yaml", PARAMETERS)
    write(folder, "scenarios/fixed.yaml", PARAMETERS.replace("Order ${number}", "Order"))
    with watching(folder, "--now") as watch:
        lines = watch.until("waiting for changes; the last run had 4 scenarios")
        assert "8 scenarios: 8 passed" in lines
        time.sleep(0.5)
        write(
            folder,
            "scenarios/fixed.yaml",
            PARAMETERS.replace("Order ${number}", "Order").replace('"12"', '"13"'),
        )
        lines = watch.until("waiting for changes; the last run had 1 scenario")
        assert "2 scenarios: 2 passed" in lines
        assert sum("user  │ Where is 13?" in line for line in lines) == 2


FOUND = ("f::A[1]", "f::A[12]", "f::B", "f::B[2]", "f::[x] y")


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        (["f::B"], ["f::B", "--deselect=f::B[2]"]),
        (["f::A[1]"], ["f::A", "--deselect=f::A[12]"]),
        (["f::A[1]", "f::A[12]"], ["f::A"]),
        (["f::A[12]", "f::B[2]"], ["f::A", "f::B", "--deselect=f::A[1]"]),
        (["f::[x] y"], ["f"]),
        ([*FOUND], ["f::A", "f::B", "f"]),
    ],
)
def test_what_pytest_is_given(chosen: list[str], words: list[str], folder: Path) -> None:
    assert selecting_words(chosen, FOUND, folder) == words
