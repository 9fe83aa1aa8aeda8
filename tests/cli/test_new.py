"""`convoprobe new`: questions, answers, and the file that they become."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from pytest_convoprobe.cli import main
from pytest_convoprobe.cli.interview import BadAnswer, ScenarioAnswers, as_mapping
from pytest_convoprobe.scenario.loading import load_scenarios, parse_scenarios
from pytest_convoprobe.scenario.models import Scenario
from pytest_convoprobe.scenario.new_files import as_yaml

from .conftest import Convoprobe

GIVEN = ("--persona", "Has waited", "--says", "Where is it?", "--must", "The agent asks for the number")


def answered(lines: str, *words: str) -> Result:
    return CliRunner().invoke(main, ["new", *words], input=lines)


def only(folder: Path) -> Scenario:
    (file,) = folder.glob("scenarios/*.yaml")
    (loaded,) = load_scenarios(file)
    assert loaded.scenario is not None
    return loaded.scenario


def nothing_in(folder: Path) -> bool:
    return not [path for path in folder.rglob("*") if path.name != "pytest.ini"]


def test_five_questions_make_a_scenario(folder: Path) -> None:
    user = 'A customer: in a hurry\nIt\'s #1 - "broken"\n'
    agent = "The agent says: sorry\nThe agent helps\n\nThe agent lies\n\n"
    result = answered(f"{user}{agent}find_order, pay\nrefund_*\nLate order!\n")
    assert result.exit_code == 0, result.output
    assert "wrote scenarios/late-order.yaml" in result.stdout
    assert "1. Who is the user" in result.stderr
    one = only(folder)
    assert (one.name, one.description) == ("Late order!", "The agent says: sorry")
    assert (one.synthetic_user.persona, one.synthetic_user.initial_query) == (
        "A customer: in a hurry",
        'It\'s #1 - "broken"',
    )
    evaluation = one.evaluation
    assert evaluation.correctness_criteria == ("The agent says: sorry", "The agent helps")
    assert evaluation.failure_criteria == ("The agent lies",)
    assert evaluation.tool_usage.required_tools == ("find_order", "pay")
    assert evaluation.tool_usage.prohibited_tools == ("refund_*",)


def test_options_answer_everything(folder: Path, convoprobe: Convoprobe) -> None:
    result = convoprobe(
        "new",
        "Late order",
        *GIVEN,
        "--never",
        "It lies",
        "--tool",
        "find",
        "--no-tool",
        "pay",
        "--tag",
        "smoke",
    )
    assert (result.exit_code, result.stderr) == (0, "")
    one = only(folder)
    assert (one.name, one.tags, one.evaluation.failure_criteria) == ("Late order", ("smoke",), ("It lies",))
    assert one.evaluation.tool_usage.prohibited_tools == ("pay",)


def test_what_an_option_answers_is_not_asked(folder: Path) -> None:
    result = answered("Hello\n\nfind\n\n\n", "--persona", "p", "--must", "It helps")
    assert result.exit_code == 0, result.output
    assert "1." not in result.stderr
    assert "3." not in result.stderr
    assert only(folder).name == "Hello"


def test_tools_alone_are_enough(folder: Path, convoprobe: Convoprobe) -> None:
    assert convoprobe("new", "--persona", "p", "--says", "s", "--tool", "find").exit_code == 0
    one = only(folder)
    assert (one.evaluation.correctness_criteria, one.description) == ((), "The agent calls find.")


def test_an_answer_that_cannot_be_used_is_asked_again(folder: Path) -> None:
    result = answered("\n  \np\ns\n\n...\nIt helps\n\n\nfind\nfind\npay\n\n")
    assert result.exit_code == 0, result.output
    assert result.stderr.count("This must not be empty.") == 3
    assert "This must say something in words" in result.stderr
    assert "It must call find, as you said above." in result.stderr
    assert only(folder).evaluation.tool_usage.required_tools == ("find",)


@pytest.mark.parametrize("lines", ["", "p\n", "p\ns\nIt helps\n", "p\ns\nIt helps\n\n\nfind\n"])
def test_the_end_of_the_input_leaves_nothing_behind(folder: Path, lines: str) -> None:
    result = answered(lines)
    assert result.exit_code == 2
    assert "the input ended before the last question, so nothing was written" in result.stderr
    assert nothing_in(folder)


def test_no_file_is_overwritten(folder: Path, convoprobe: Convoprobe) -> None:
    for _ in range(3):
        assert convoprobe("new", "Late order", *GIVEN).exit_code == 0
    assert sorted(path.name for path in (folder / "scenarios").iterdir()) == [
        "late-order-2.yaml",
        "late-order-3.yaml",
        "late-order.yaml",
    ]


def test_json_is_alone_on_stdout(folder: Path) -> None:
    result = answered("p\ns\nIt helps\n\n\n\n\n\n", "--json")
    found = json.loads(result.stdout)
    assert found["file"] == os.path.join("scenarios", "s.yaml")
    assert isinstance(found["findings"], list)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--persona", " "), "--persona must not be empty"),
        (("--must", "..."), "--must must say something in words"),
        (("--tool", "\u200b"), "--tool must have visible characters"),
        (("--tool", "pay", "--no-tool", "pay"), "`pay` is both prohibited and required"),
        (("-o", "pytest.ini"), "pytest.ini"),
    ],
)
def test_wrong_options_are_named(
    folder: Path, convoprobe: Convoprobe, words: tuple[str, ...], message: str
) -> None:
    result = convoprobe("new", *GIVEN, *words)
    assert result.exit_code in (2, 3)
    assert message in result.stderr
    assert nothing_in(folder)


def test_a_folder_that_cannot_be_written_to(folder: Path, convoprobe: Convoprobe) -> None:
    (folder / "file").write_text("")
    result = convoprobe("new", *GIVEN, "-o", "file/scenarios")
    assert result.exit_code == 3
    assert "cannot write" in result.stderr


def test_a_folder_that_pytest_passes_by_is_noted(folder: Path, convoprobe: Convoprobe) -> None:
    result = convoprobe("new", *GIVEN, "-o", "elsewhere")
    assert result.exit_code == 0
    assert "pytest doesn't take the files in elsewhere for scenarios" in result.stderr


def test_what_lint_says_is_shown(folder: Path, convoprobe: Convoprobe) -> None:
    result = convoprobe("new", "--persona", "p", "--says", "s", "--must", "The agent is helpful")
    assert result.exit_code == 0
    assert "evaluation.correctness_criteria[0]: " in result.stdout


@given(st.text(), st.text(), st.lists(st.text(), min_size=1, max_size=3), st.lists(st.text(), max_size=2))
def test_whatever_is_typed_becomes_a_valid_file(
    persona: str, says: str, must: list[str], tools: list[str]
) -> None:
    try:
        answers = ScenarioAnswers(persona, says, tuple(must), (), tuple(tools), ()).checked()
    except BadAnswer:
        return
    (loaded,) = parse_scenarios(as_yaml(as_mapping(answers), ()))
    assert loaded.scenario is not None
    assert loaded.scenario.synthetic_user.persona == persona.strip()
    assert loaded.scenario.synthetic_user.initial_query == says.strip()


def test_placeholders_are_meant_as_they_are(folder: Path, convoprobe: Convoprobe) -> None:
    words = ("--persona", "p", "--says", "What is ${HOME} and {{ today }}?", "--must", "It says ${HOME}")
    assert convoprobe("new", *words).exit_code == 0
    one = only(folder)
    assert one.synthetic_user.initial_query == one.name == "What is ${HOME} and {{ today }}?"
    assert one.evaluation.correctness_criteria == ("It says ${HOME}",)


def test_on_a_terminal(folder: Path, on_terminal: Callable[..., str]) -> None:
    output = on_terminal("new", "Late", *GIVEN)
    assert "wrote scenarios/late.yaml" in output


@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends no SIGINT to a single process")
def test_ctrl_c_leaves_nothing_behind(folder: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest_convoprobe.cli", "new"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stderr is not None
    assert "1." in process.stderr.readline()
    process.stdin.write("p\n")
    process.stdin.flush()
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 130
    process.stdin.close()
    process.stderr.close()
    assert nothing_in(folder)
