from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.importing.reading import SAMPLES

from .conftest import Convoprobe


def suite(folder: Path, *assertions: dict[str, Any], name: str = "promptfooconfig.yaml") -> Path:
    """A suite of promptfoo with one test, which has these assertions."""
    config = {
        "prompts": ["{{question}}"],
        "tests": [{"vars": {"question": "Hi"}, "assert": list(assertions)}],
    }
    (folder / name).write_text(yaml.safe_dump(config))
    return folder / name


KEPT = {"type": "contains", "value": "Oslo"}
LOST = {"type": "cost", "threshold": 0.1}
CHANGED = {"type": "similar", "value": "Oslo"}


def test_what_is_taken_over_whole_is_status_0(folder: Path, convoprobe: Convoprobe) -> None:
    suite(folder, KEPT)
    result = convoprobe("import", "promptfoo", "promptfooconfig.yaml", "-o", "scenarios")
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines() == [
        "scenarios/promptfooconfig.yaml: 1 scenario",
        "1 test → 1 scenario; 1 of 1 check taken over",
    ]
    assert convoprobe("validate", "scenarios").exit_code == 0


def test_what_is_lost_is_status_1_and_named_with_the_remedy(folder: Path, convoprobe: Convoprobe) -> None:
    suite(folder, KEPT, LOST, LOST, CHANGED)
    result = convoprobe("import", "promptfoo", "promptfooconfig.yaml", "-o", "scenarios")
    assert result.exit_code == 1
    assert "no longer checked (2):\n  2x cost: there is no limit of costs for one scenario\n" in result.stdout
    assert "to do: limit those of a run: `run.max_cost`" in result.stdout
    assert re.search(r"at tests\[0\]\.assert\[1\] \(line \d+\), tests\[0\]\.assert\[2\]", result.stdout)
    last = result.stdout.splitlines()[-1]
    assert last == (
        "1 test → 1 scenario; 1 of 4 checks taken over, 1 checked in another way, 2 no longer checked"
    )
    text = (folder / "scenarios" / "promptfooconfig.yaml").read_text()
    assert text.startswith("# Imported by convoprobe ")
    assert "# No longer checked:\n# - tests[0].assert[1] (line " in text


@pytest.mark.parametrize(("assertion", "status"), [(KEPT, 0), (CHANGED, 1), ({**KEPT, "metric": "m"}, 1)])
def test_strict_minds_everything(
    folder: Path, convoprobe: Convoprobe, assertion: dict[str, Any], status: int
) -> None:
    suite(folder, assertion)
    arguments = ("import", "promptfoo", "promptfooconfig.yaml", "-o", "scenarios")
    assert convoprobe(*arguments).exit_code == 0
    assert convoprobe(*arguments, "--strict").exit_code == status


def test_no_file_is_overwritten(folder: Path, convoprobe: Convoprobe) -> None:
    arguments = ("import", "promptfoo", "promptfooconfig.yaml", "-o", "scenarios")
    suite(folder, KEPT)
    convoprobe(*arguments)
    own = folder / "scenarios" / "promptfooconfig.yaml"
    first = own.read_text()
    assert "was there already, the same" in convoprobe(*arguments).stdout
    assert [path.name for path in own.parent.iterdir()] == [own.name]
    suite(folder, KEPT, KEPT, LOST)
    result = convoprobe(*arguments)
    assert "scenarios/promptfooconfig-2.yaml: 1 scenario" in result.stdout
    assert own.read_text() == first


def test_a_file_for_each_test(folder: Path, convoprobe: Convoprobe) -> None:
    shutil.copytree(SAMPLES / "deepeval", folder / "suite")
    result = convoprobe(
        "import", "deepeval", "suite/goldens.json", "suite/talks.json", "-o", "scenarios", "--split"
    )
    assert result.exit_code == 0, result.output
    written = sorted(
        path.relative_to(folder / "scenarios").as_posix() for path in folder.rglob("scenarios/**/*.yaml")
    )
    assert written == [
        "goldens/where-is-it.yaml",
        "talks/conversationalgoldens-0.yaml",
        "talks/conversationalgoldens-1.yaml",
    ]
    assert "suite/goldens.json: 1 test → 1 scenario" in result.stdout
    assert "3 tests → 3 scenarios" in result.stdout.splitlines()[-1]


@pytest.mark.parametrize("name", ["convoprobe.yaml", "benchmark.yaml", "_x/../….yaml", "mcprobe.yml"])
def test_names_that_mean_something_else_are_avoided(folder: Path, convoprobe: Convoprobe, name: str) -> None:
    source = folder / "suite"
    source.mkdir()
    (source / "_x").mkdir()
    path = suite(source, KEPT, name=name)
    result = convoprobe("import", "promptfoo", str(path), "-o", "scenarios")
    assert result.exit_code == 0, result.output
    (written,) = (folder / "scenarios").iterdir()
    assert written.stem not in ("convoprobe", "benchmark", "mcprobe")
    assert convoprobe("validate", "scenarios").exit_code == 0


def test_large_suites_are_several_files_that_can_be_loaded(folder: Path, convoprobe: Convoprobe) -> None:
    goldens = [{"input": f"Question {number}", "expected_output": "x" * 2000} for number in range(900)]
    (folder / "big.json").write_text(json.dumps(goldens))
    result = convoprobe("import", "deepeval", "big.json", "-o", "scenarios")
    assert result.exit_code == 0, result.output
    names = sorted(path.name for path in (folder / "scenarios").iterdir())
    assert len(names) > 1
    assert names[0] == "big-2.yaml"
    assert convoprobe("validate", "scenarios").exit_code == 0


def test_as_json_each_place_is_there(folder: Path, convoprobe: Convoprobe) -> None:
    suite(folder, KEPT, LOST)
    result = convoprobe("import", "promptfoo", "promptfooconfig.yaml", "-o", "scenarios", "--json")
    assert result.exit_code == 1
    data = json.loads(result.stdout)
    assert data["exit_status"] == 1
    assert data["account"] == {"tests": 1, "scenarios": 1, "taken": 1, "changed": 0, "lost": 1, "left_out": 0}
    (one,) = data["suites"]
    assert one["format"] == "promptfoo"
    assert one["written"] == [{"path": "scenarios/promptfooconfig.yaml", "scenarios": 1, "kept": False}]
    (test,) = one["tests"]
    assert test["imported"] is True
    assert test["notes"][0]["fate"] == "lost"
    assert test["notes"][0]["place"] == "tests[0].assert[1] (line 7)"


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["promptfo", "promptfooconfig.yaml"], "did you mean `promptfoo`?"),
        (["adk", "promptfooconfig.yaml"], "convoprobe import promptfoo promptfooconfig.yaml"),
        (["adk", "nowhere.json"], "does not exist"),
        (
            ["promptfoo", "promptfooconfig.yaml", "--criteria", "promptfooconfig.yaml"],
            "--criteria is for adk",
        ),
        (["adk", "promptfooconfig.yaml", "--message", "x"], "--message is for promptfoo"),
        (["promptfoo", "promptfooconfig.yaml", "--first-message", " "], "it is empty"),
        (["promptfoo"], "Missing argument"),
    ],
)
def test_wrong_words_are_status_2(
    folder: Path, convoprobe: Convoprobe, words: list[str], complaint: str
) -> None:
    suite(folder, KEPT)
    result = convoprobe("import", *words, "-o", "scenarios")
    assert result.exit_code == 2
    assert complaint in result.output
    assert not (folder / "scenarios").exists()


def test_of_several_files_a_broken_one_leaves_nothing_half_done(folder: Path, convoprobe: Convoprobe) -> None:
    suite(folder, KEPT)
    (folder / "broken.yaml").write_text("tests: [")
    result = convoprobe("import", "promptfoo", "promptfooconfig.yaml", "broken.yaml", "-o", "scenarios")
    assert result.exit_code == 2
    assert "broken.yaml:1" in result.stderr
    assert not (folder / "scenarios").exists()


def test_a_folder_that_cannot_be_written_is_status_3(folder: Path, convoprobe: Convoprobe) -> None:
    suite(folder, KEPT)
    (folder / "file").touch()
    result = convoprobe("import", "promptfoo", "promptfooconfig.yaml", "-o", "file/below")
    assert result.exit_code == 3


def test_a_folder_that_pytest_passes_by_is_said(folder: Path, convoprobe: Convoprobe) -> None:
    suite(folder, KEPT)
    result = convoprobe("import", "promptfoo", "promptfooconfig.yaml", "-o", "made")
    assert "pytest doesn't take the files in made for scenarios" in result.stderr


def test_words_of_a_suite_command_no_terminal(folder: Path, convoprobe: Convoprobe) -> None:
    suite(folder, KEPT, {"type": "no\x1b[2J\n::error::x", "value": "##vso[task]"})
    result = convoprobe("import", "promptfoo", "promptfooconfig.yaml", "-o", "scenarios")
    assert "unknown assertion" in result.stdout
    assert "\x1b" not in result.output
    assert "\n::error" not in result.output
    as_json = convoprobe("import", "promptfoo", "promptfooconfig.yaml", "-o", "scenarios", "--json")
    assert "\x1b" not in as_json.output
    assert "##vso" not in as_json.output
    written = (folder / "scenarios" / "promptfooconfig.yaml").read_text()
    assert "\x1b" not in written


def test_the_name_of_the_command(
    folder: Path, convoprobe: Convoprobe, on_terminal: Callable[..., str]
) -> None:
    assert "import_" not in convoprobe("--help").output
    assert "Make scenarios of another tool's tests." in convoprobe("--help").output
    suite(folder, KEPT)
    shown = on_terminal("import", "promptfoo", "promptfooconfig.yaml", "-o", "scenarios")
    assert "1 of 1 check taken over" in shown
