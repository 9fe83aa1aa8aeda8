"""The documented workflow that comments on a pull request: who gets a comment."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import Repository
from .test_files import ROOT

FILE = ROOT / "docs/examples/pull-request-comment.yml"


@pytest.fixture
def commented(repository: Repository, tmp_path: Path) -> Path:
    """The calls of `gh`, once there are any."""
    repository.program("gh", f'echo "$*" >> {tmp_path}/gh')
    repository.commit("Say more", "more")
    return tmp_path / "gh"


def test_one_of_the_same_repository(repository: Repository, commented: Path) -> None:
    job = repository.pull_request("more", workflow=FILE)["scenarios"]
    assert job.result == "success", job.text
    assert "--method POST repos/acme/shop/issues/7/comments" in commented.read_text()
    assert (repository.hub.folder / "artifacts/conversations/report.html").is_file()


@pytest.mark.parametrize(("fork", "actor"), [(True, "stranger"), (False, "dependabot[bot]")])
def test_one_that_may_not_comment_is_not_red_for_it(
    repository: Repository, commented: Path, fork: bool, actor: str
) -> None:
    job = repository.pull_request("more", fork=fork, actor=actor, workflow=FILE)["scenarios"]
    assert job.result == "success", job.text
    assert not commented.exists()
    assert "Conversations: all 1 passed" in repository.summary
