"""The documented workflow: one comment, edited in place."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

import pytest_convoprobe
from pytest_convoprobe.reports.markdown import MARK

WORKFLOW = Path(__file__).parents[2] / "docs/examples/pull-request-comment.yml"

# Notes how it is called; a listing of comments answers with the ids in the file `ids`.
GH = """#!/bin/sh
echo "$@" >> calls
case "$*" in *--paginate*) cat ids;; esac
"""


@pytest.fixture
def job(tmp_path: Path) -> Path:
    """A folder with stand-ins for the commands that the step calls."""
    if shutil.which("bash") is None or os.name == "nt":
        pytest.skip("the step is for bash")
    for name, text in (("gh", GH), ("convoprobe", '#!/bin/sh\necho body > "$4"\n')):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    return tmp_path


def comment(job: Path, ids: str) -> list[str]:
    """Run the step as GitHub does, and what it asked of `gh`."""
    steps = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))["jobs"]["scenarios"]["steps"]
    script = next(step["run"] for step in steps if step.get("name") == "Comment")
    (job / "ids").write_text(ids)
    environment = {"PATH": f"{job}:{os.environ['PATH']}", "REPOSITORY": "acme/desk", "NUMBER": "412"}
    subprocess.run(["bash", "-eo", "pipefail", "-c", script], cwd=job, env=environment, check=True)
    return (job / "calls").read_text().splitlines()


def test_the_first_push_makes_the_comment(job: Path) -> None:
    listing, writing = comment(job, "")
    assert "repos/acme/desk/issues/412/comments" in listing
    assert f'startswith("{MARK}")' in listing
    assert (
        writing == "api --silent --method POST repos/acme/desk/issues/412/comments --field body=@comment.md"
    )


def test_the_next_push_edits_it(job: Path) -> None:
    assert comment(job, "71\n72\n")[1] == (
        "api --silent --method PATCH repos/acme/desk/issues/comments/72 --field body=@comment.md"
    )


# The package may be installed elsewhere than beside the tests.
NIGHTLY = [
    Path(__file__).parents[2] / "docs/examples/github-actions.yml",
    Path(pytest_convoprobe.__file__).parent / "cli/starter/workflow.yml",
]


@pytest.mark.parametrize("workflow", NIGHTLY, ids=["documented", "starter"])
def test_the_nightly_job_commits_what_changed_in_the_baseline(job: Path, workflow: Path) -> None:
    text = workflow.read_text(encoding="utf-8")
    nightly = yaml.safe_load(text)["jobs"]["nightly"]
    (script,) = [step["run"] for step in nightly["steps"] if step.get("name") == "Update the baseline"]
    repository = job / "main"
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]

    def run(*command: str) -> str:
        environment = {**os.environ, "PATH": f"{job}:{os.environ['PATH']}"}
        done = subprocess.run(
            command, cwd=repository, env=environment, capture_output=True, text=True, check=True
        )
        return done.stdout

    (repository / "scenarios").mkdir(parents=True)
    run("git", "init", "-q", "-b", "main")
    run(*git, "commit", "-q", "--allow-empty", "-m", "first")
    run("git", "clone", "-q", "--bare", ".", str(job / "remote"))
    run("git", "remote", "add", "origin", str(job / "remote"))
    run("git", "push", "-q", "-u", "origin", "main")
    (job / "convoprobe").write_text('#!/bin/sh\necho "$@" >> ../calls\n')
    run("bash", "-eo", "pipefail", "-c", script)  # no conversation counts, and there is no file
    for _ in range(2):
        (job / "convoprobe").write_text("#!/bin/sh\nmkdir -p scenarios; echo 1 > scenarios/_baseline.json\n")
        run("bash", "-eo", "pipefail", "-c", script)
    assert run("git", "log", "--format=%s", "origin/main").splitlines() == [
        "Update the baseline of the scenarios",
        "first",
    ]
    assert (job / "calls").read_text() == "baseline update\n"
