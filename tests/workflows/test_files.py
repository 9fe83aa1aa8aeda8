"""The files of workflows and of the action, as they are written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

import pytest_convoprobe

ROOT = Path(__file__).parents[2]
STARTER = Path(pytest_convoprobe.__file__).parent / "cli/starter/workflow.yml"
DOCUMENTED = sorted((ROOT / "docs/examples").glob("*.yml"))
ACTION = ROOT / ".github/actions/scenarios/action.yml"
STEPS = [STARTER, *DOCUMENTED, ACTION]


def read(file: Path) -> dict[str, Any]:
    document = yaml.safe_load(file.read_text(encoding="utf-8"))
    assert isinstance(document, dict)
    return document


def steps_of(file: Path) -> list[dict[str, Any]]:
    document = read(file)
    if "runs" in document:
        return list(document["runs"]["steps"])
    return [step for job in document["jobs"].values() for step in job["steps"]]


def test_the_documented_workflow_is_the_one_that_init_writes() -> None:
    assert (ROOT / "docs/examples/github-actions.yml").read_bytes() == STARTER.read_bytes()


@pytest.mark.parametrize("file", STEPS, ids=lambda file: file.name)
def test_no_expression_is_within_a_script(file: Path) -> None:
    """What replaces it, such as the title of a pull request, would be run as a part of the script."""
    assert [step["run"] for step in steps_of(file) if "${{" in step.get("run", "")] == []


@pytest.mark.parametrize("file", [STARTER, *DOCUMENTED], ids=lambda file: file.name)
def test_a_workflow_may_only_read_unless_a_job_says_why(file: Path) -> None:
    workflow = read(file)
    assert workflow["permissions"]["contents"] == "read"
    writing = {name for name, job in workflow["jobs"].items() if "permissions" in job}
    assert writing <= {"nightly"}
    # Code of a fork with the repository's secrets: never.
    assert "pull_request_target" not in file.read_text(encoding="utf-8")


@pytest.mark.parametrize("file", [STARTER, *DOCUMENTED], ids=lambda file: file.name)
def test_each_job_has_a_time_limit(file: Path) -> None:
    assert all("timeout-minutes" in job for job in read(file)["jobs"].values())


@pytest.mark.parametrize("file", STEPS, ids=lambda file: file.name)
def test_nothing_asks_for_a_package_of_the_project_itself(file: Path) -> None:
    """`cache: pip` fails without requirements.txt or pyproject.toml, and `-e .` without packaging."""
    text = file.read_text(encoding="utf-8")
    assert "cache: pip" not in text
    assert "-e ." not in text


@pytest.mark.parametrize("file", STEPS, ids=lambda file: file.name)
def test_what_is_kept_is_kept_after_a_red_run_too(file: Path) -> None:
    uses = ("actions/cache/save", "actions/upload")
    keeping = [step for step in steps_of(file) if step.get("uses", "").startswith(uses)]
    assert all(str(step["if"]).startswith(("always()", "${{ !cancelled() }}")) for step in keeping)


def test_each_input_of_the_action_is_used_and_described() -> None:
    action = read(ACTION)
    text = ACTION.read_text(encoding="utf-8")
    for name, one in action["inputs"].items():
        assert isinstance(one["default"], str), name
        assert one["description"].endswith("."), name
        assert f"inputs.{name}" in text, name
    for step in action["runs"]["steps"]:
        assert "uses" in step or step["shell"] == "bash"
