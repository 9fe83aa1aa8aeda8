from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from pytest_convoprobe.results import provenance
from pytest_convoprobe.results.store import Ci, Git


def git(folder: Path, *arguments: str) -> str:
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments]
    return subprocess.check_output(command, cwd=folder, text=True).strip()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-qb", "topic")
    (tmp_path / "file").write_text("1")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm1")
    return tmp_path


def test_commit_and_branch(checkout: Path) -> None:
    assert provenance.git_facts(checkout) == Git(git(checkout, "rev-parse", "HEAD"), "topic", False)


def test_changes_make_it_dirty_and_new_files_do_not(checkout: Path) -> None:
    (checkout / "new").write_text("2")
    assert provenance.git_facts(checkout).dirty is False
    (checkout / "file").write_text("2")
    assert provenance.git_facts(checkout).dirty is True


def test_a_detached_head_is_on_no_branch(checkout: Path) -> None:
    git(checkout, "checkout", "-q", "--detach")
    assert provenance.git_facts(checkout).branch is None


def test_outside_of_a_checkout_there_is_nothing(tmp_path: Path) -> None:
    assert provenance.git_facts(tmp_path) is None


def test_without_git_there_is_nothing(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(checkout))
    assert provenance.git_facts(checkout) is None


def test_a_git_that_hangs_is_not_waited_for(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = checkout / "git"
    fake.write_text("#!/bin/sh\nexec sleep 60\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{checkout}:/usr/bin:/bin")
    monkeypatch.setattr(provenance, "_GIT_SECONDS", 0.1)
    assert provenance.git_facts(checkout) is None


def test_versions_are_read_without_an_import() -> None:
    assert {"python", "pytest", "litellm", "pytest-convoprobe"} <= provenance.versions().keys()


GITHUB = {
    "GITHUB_ACTIONS": "true",
    "GITHUB_SERVER_URL": "https://github.com",
    "GITHUB_REPOSITORY": "a/b",
    "GITHUB_RUN_ID": "7",
}


@pytest.mark.parametrize(
    ("environ", "found"),
    [
        ({}, None),
        ({"CI": "false"}, None),
        ({"CI": "true"}, Ci("unknown")),
        (GITHUB, Ci("GitHub Actions", "https://github.com/a/b/actions/runs/7")),
        (
            {**GITHUB, "GITHUB_REF": "refs/pull/12/merge"},
            Ci("GitHub Actions", "https://github.com/a/b/actions/runs/7", "12"),
        ),
        (
            {"GITLAB_CI": "true", "CI_JOB_URL": "https://gitlab/j/1", "CI_MERGE_REQUEST_IID": "3"},
            Ci("GitLab CI", "https://gitlab/j/1", "3"),
        ),
        ({"BUILDKITE": "true", "BUILDKITE_PULL_REQUEST": "false"}, Ci("Buildkite")),
        (
            {"CIRCLECI": "true", "CIRCLE_PULL_REQUEST": "https://github.com/a/b/pull/5"},
            Ci("CircleCI", None, "5"),
        ),
        ({"JENKINS_URL": "https://j", "BUILD_URL": "https://j/1"}, Ci("Jenkins", "https://j/1")),
        (
            {
                "TF_BUILD": "True",
                "SYSTEM_TEAMFOUNDATIONCOLLECTIONURI": "https://dev.azure.com/o/",
                "SYSTEM_TEAMPROJECT": "p",
                "BUILD_BUILDID": "9",
            },
            Ci("Azure Pipelines", "https://dev.azure.com/o/p/_build/results?buildId=9"),
        ),
    ],
)
def test_the_job_of_ci(environ: dict[str, str], found: Ci | None) -> None:
    assert provenance.ci_facts(environ) == found
