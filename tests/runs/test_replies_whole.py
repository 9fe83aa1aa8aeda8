"""Checks of replies in a whole run of pytest: what is nobody's fault is an error, with its remedy."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from pytest_convoprobe.results.store import list_runs
from tests.support.warm_process import run

ROOT = Path(__file__).parents[2]
ECHO = """
from pytest_convoprobe import Reply

def answer(message):
    return Reply(message, ended=message == "Goodbye", tool_calls=[])
"""
NO_LINGUA = "import sys\nsys.modules['lingua'] = None\n"


class Echo:
    """A project whose agent says what it was told, in turns that a script has."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "agent.py").write_text(ECHO, encoding="utf-8")
        self.settings("")

    def settings(self, more: str) -> None:
        text = f"target: {{type: python, object: agent.py:answer}}\n{more}"
        (self.folder / "convoprobe.yaml").write_text(text, encoding="utf-8")

    def run(self, replies: list[dict[str, object]], *messages: str, turns: int = 5) -> pytest.RunResult:
        first, *others = messages
        user = {"persona": "Somebody", "initial_query": first, "script": others, "max_turns": turns}
        if not others:
            user = {"persona": "Somebody", "initial_query": first, "max_turns": 1}
        document = {
            "name": "Echo",
            "description": "The agent says what it was told.",
            "synthetic_user": user,
            "evaluation": {"replies": replies},
        }
        text = yaml.safe_dump(document, allow_unicode=True, sort_keys=False)
        (self.folder / "echo.scenario.yaml").write_text(text, encoding="utf-8")
        root = f"--rootdir={self.folder}"
        reports = ("--convoprobe-html=page.html", "--junitxml=junit.xml", "--convoprobe-gate=each")
        done = run("pytest", "-c", "/dev/null", root, *reports, cwd=self.folder)
        return pytest.RunResult(done.returncode, " ".join(done.stdout.split()).splitlines(), [], 0.0)

    @property
    def stored(self) -> tuple[str, str | None, list[str]]:
        """The outcome, the blame and the names of the checks of the newest trial."""
        (trial,) = list_runs(self.folder / ".convoprobe")[0].open().trials()
        result = trial.result
        return result.outcome.value, result.blame and result.blame.value, [one.name for one in result.checks]


@pytest.fixture
def echo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Echo:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    return Echo(tmp_path)


def test_they_are_stored_and_in_every_report(echo: Echo) -> None:
    hostile = "<script>alert(1)</script>"
    echo.run([{"contains": "Oslo"}, {"not_contains": hostile}], f"Oslo, {hostile}")
    outcome, blame, names = echo.stored
    assert (outcome, blame) == ("failed", "agent")
    assert names == ['a reply contains "Oslo"', f'every reply doesn\'t contain "{hostile}"']
    texts = [(echo.folder / name).read_text(encoding="utf-8") for name in ("page.html", "junit.xml")]
    texts.append(run("pytest_convoprobe.cli", "report", "latest", "--md", cwd=echo.folder).stdout)
    for text in texts:
        assert "every reply doesn" in text
        assert hostile not in text


GERMAN = "Ihre Bestellung ist schon unterwegs und kommt am Montag an."


@pytest.mark.parametrize(
    ("replies", "messages", "words"),
    [
        ([{"contains": "a", "turn": 3}], ["Hello", "Goodbye", "Never said"], "failed agent"),
        ([{"not_contains": "a", "turn": 3}], ["Hello", "Goodbye", "Never said"], "error scenario"),
        ([{"language": "en"}], ["OK"], "error scenario"),
        ([{"language": "en"}, {"contains": "x"}], ["OK"], "failed agent"),
        ([{"language": "en"}], [GERMAN], "failed agent"),
        ([{"language": "de"}], [GERMAN], "passed None"),
        ([{"length": {"words": {"at_most": 5}}}], ["ご注文は発送済みです。"], "error scenario"),
    ],
)
def test_outcomes(echo: Echo, replies: list[dict[str, object]], messages: list[str], words: str) -> None:
    echo.run(replies, *messages)
    outcome, blame, _ = echo.stored
    assert f"{outcome} {blame}" == words


def test_a_reply_that_was_cut_names_the_setting_and_the_option(echo: Echo) -> None:
    echo.settings("run: {max_text: 1000}\n")
    result = echo.run([{"not_contains": "password"}], "word " * 400)
    assert echo.stored[:2] == ("error", "scenario")
    result.stdout.fnmatch_lines(["*the reply in turn 1 is longer than `run.max_text`*Raise the setting*"])


def test_a_missing_package_is_known_before_anything_is_said(echo: Echo) -> None:
    (echo.folder / "conftest.py").write_text(NO_LINGUA, encoding="utf-8")
    result = echo.run([{"language": "en"}], "Hello")
    outcome, blame, _ = echo.stored
    assert (outcome, blame) == ("error", "infrastructure")
    result.stdout.fnmatch_lines(["*pip install 'pytest-convoprobe[[]language]'*"])
    (trial,) = list_runs(echo.folder / ".convoprobe")[0].open().trials()
    assert trial.result.transcript.turns == ()
    # Other checks need no package.
    assert echo.run([{"contains": "Hello"}], "Hello").ret == 0
