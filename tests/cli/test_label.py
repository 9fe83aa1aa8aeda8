from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from pytest_convoprobe.calibration.as_job import transcript_of
from pytest_convoprobe.calibration.labelling import append_labels
from pytest_convoprobe.calibration.labels_file import load_labels
from pytest_convoprobe.cli.console import Console
from pytest_convoprobe.cli.labelling import Labelling
from pytest_convoprobe.errors import Blame, ScenarioFileError
from pytest_convoprobe.results.store import StoredRun, final, open_run, resolve_run
from pytest_convoprobe.scenario.loading import parse_scenarios
from pytest_convoprobe.transcript import Reply, ToolCall, Transcript, Turn
from tests.scenario.examples import MINIMAL

from .conftest import Convoprobe
from .stored import errored, failed, passed, store

TALK = Transcript(
    (
        Turn(
            1, "Hello \x1b[2Jthere", Reply("Sunny, 12 degrees.", (ToolCall("get", {"city": "Oslo"}, "12"),))
        ),
        Turn(2, "And my mail a@example.com?", Reply("", None, thoughts="secret thoughts")),
    )
)


def stored(folder: Path) -> StoredRun:
    store(folder, 1, [failed("weather", transcript=TALK), passed("trains", transcript=TALK)])
    return open_run(resolve_run(folder / ".convoprobe", "latest").path)


def typed(*lines: str | BaseException) -> Callable[[str], str | None]:
    left = iter(lines)

    def ask(question: str) -> str | None:
        line = next(left, None)
        if isinstance(line, BaseException):
            raise line
        return line

    return ask


def sit(run: StoredRun, file: Path, lines: Iterable[str | BaseException], **more: object) -> Labelling:
    sitting = Labelling(run, file, Console(), typed(*lines), **more)  # type: ignore[arg-type]
    sitting.go_through(sorted(final(run.rows()), key=lambda row: row.scenario_id))
    return sitting


def test_what_was_answered_is_a_labels_file_of_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "it.labels.yaml"
    sitting = sit(stored(tmp_path), file, ["y", "maybe", "no", "s"])
    assert sitting.labels == 2
    trains, weather = load_labels(file).conversations
    assert [criterion.truth for criterion in trains.conversation.criteria] == [True]
    assert [criterion.truth for criterion in weather.conversation.criteria] == [False]
    assert trains.id == f"scenarios/trains.yaml::trains of {sitting.run.id}"
    # Whoever checks out the file has no stored runs.
    told = transcript_of(trains.conversation, tmp_path / "nowhere")
    assert [turn.reply.tool_calls for turn in told.turns] == [TALK.turns[0].reply.tool_calls, None]
    assert "Please answer y, n, s or q." in capsys.readouterr().out


def test_the_judges_word_is_hidden_until_the_person_has_answered(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = stored(tmp_path)
    found = run.trial(next(iter(run.rows()))).result.criteria[0]
    seen: list[str] = []

    def ask(question: str) -> str | None:
        seen.append(capsys.readouterr().out)
        return "y" if len(seen) == 1 else None

    Labelling(run, tmp_path / "it.labels.yaml", Console(), ask).go_through(list(run.rows()))
    shown = seen[0]
    assert found.criterion.text in shown
    assert "Sunny, 12 degrees." in shown
    assert found.finding not in shown
    assert "\x1b" not in shown
    assert "secret thoughts" not in shown
    assert f"the judge says, as you do, met: {found.finding}" in seen[1]


def test_ctrl_c_keeps_what_was_answered_and_the_next_sitting_asks_the_rest(tmp_path: Path) -> None:
    run, file = stored(tmp_path), tmp_path / "it.labels.yaml"
    with pytest.raises(KeyboardInterrupt):
        sit(run, file, ["y", "y", KeyboardInterrupt()])
    assert load_labels(file).labels == 2
    assert sit(run, file, ["n", "never asked"]).labels == 1
    assert load_labels(file).labels == 3
    assert [one.id.rpartition(" ")[2] for one in load_labels(file).conversations][-1] == "(2)"
    assert sit(run, file, []).labels == 0


def test_what_is_in_the_file_already_stays_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "it.labels.yaml"
    own = "# By hand\nid: own\nturns: [{user: Hi, agent: Hi}]\ncriteria: [{text: It greets, truth: true}]\n"
    file.write_text(own)
    sit(stored(tmp_path), file, ["y", "q"])
    assert file.read_text().startswith(own)
    assert len(load_labels(file).conversations) == 2
    before = file.read_text()
    with pytest.raises(ScenarioFileError):
        append_labels(file, {"id": "own", "turns": [], "criteria": []})
    assert file.read_text() == before


def test_what_the_judge_could_not_decide_is_worth_a_label(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store(tmp_path, 1, [errored("weather", Blame.JUDGE, transcript=TALK, criteria=())])
    run, file = open_run(resolve_run(tmp_path / ".convoprobe", "latest").path), tmp_path / "it.labels.yaml"
    assert sit(run, file, []).labels == 0
    (loaded,) = parse_scenarios(MINIMAL)
    assert sit(run, file, ["n"], scenario_of=lambda _: loaded).labels == 1
    assert "the judge says, otherwise than you, cannot tell: it gave no verdict" in capsys.readouterr().out
    (one,) = load_labels(file).conversations
    assert one.conversation.description == loaded.description


def test_what_nobody_may_see_is_masked(tmp_path: Path) -> None:
    file = tmp_path / "it.labels.yaml"
    sit(stored(tmp_path), file, ["y", "q"], mask=lambda text: text.replace("a@example.com", "[email]"))
    assert "[email]" in file.read_text()
    assert "example.com" not in file.read_text()


def test_without_a_terminal_nobody_can_answer(folder: Path, convoprobe: Convoprobe) -> None:
    store(folder, 1, [failed("weather", transcript=TALK)])
    result = convoprobe("label", "latest")
    assert result.exit_code == 2
    assert "`convoprobe label` asks a person, so it needs a terminal" in result.output
    result = convoprobe("label", "latest", "-o", "labels.yaml")
    assert result.exit_code == 2
    assert "the name of a labels file ends in .labels.yaml; got labels.yaml" in result.output


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_a_person_at_a_terminal(tmp_path: Path) -> None:
    import pty

    store(tmp_path, 1, [failed("weather", transcript=TALK), passed("trains", transcript=TALK)])
    (tmp_path / "convoprobe.yaml").write_text("{results: {mask: [email]}}")
    mine, theirs = pty.openpty()
    command = [sys.executable, "-m", "pytest_convoprobe.cli", "label", "latest", "--failed"]
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "TERM": "dumb"}
    process = subprocess.Popen(command, cwd=tmp_path, env=env, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    watch = threading.Timer(60, process.kill)
    watch.start()
    os.write(mine, b"y\nn\n")
    shown = b""
    try:
        while piece := os.read(mine, 10_000):
            shown += piece
    except OSError:  # the end of a pseudo-terminal
        pass
    finally:
        watch.cancel()
        os.close(mine)
    assert process.wait() == 0, shown
    assert "2 new labels in judge.labels.yaml" in shown.decode()
    (one,) = load_labels(tmp_path / "judge.labels.yaml").conversations
    assert [criterion.truth for criterion in one.conversation.criteria] == [True, False]
    assert one.conversation.turns is not None
    assert one.conversation.turns[1].user == "And my mail [email]?"
