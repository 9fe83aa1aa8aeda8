"""Facts about the surroundings of a run: versions, git, CI."""

from __future__ import annotations

import platform
import re
import secrets
import subprocess
import time
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path

from .run_info import Ci, Git

_PACKAGES = ("pytest-convoprobe", "pytest", "pytest-xdist", "litellm", "pydantic")
_GIT_SECONDS = 5.0
_PULL = re.compile(r"refs/pull/(\d+)/")


def new_run_id(now: float | None = None) -> str:
    """An id that sorts by time, such as `20261127T221500Z-ab12cd`.

    Of the digits behind the second, the first four go on with the time and only the last two are
    random, so that short runs one after the other are in order too.
    """
    began = time.time() if now is None else now
    fraction = int(began % 1 * 0x10000)
    second = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(began))
    return f"{second}-{fraction:04x}{secrets.token_hex(1)}"


def versions() -> dict[str, str]:
    """Of Python and the packages that matter, as far as they are installed; nothing is imported."""
    found = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def git_facts(folder: Path) -> Git | None:
    """The commit and branch of the checkout around the folder; None outside of one, or without git."""
    commit = _git(folder, "rev-parse", "--verify", "HEAD")
    if not commit:
        return None
    branch = _git(folder, "symbolic-ref", "--short", "-q", "HEAD")
    # New files are often notes and data, and listing them takes long in a large checkout.
    changed = _git(folder, "status", "--porcelain", "--untracked-files=no")
    return Git(commit, branch or None, bool(changed))


def commit_of(text: str, folder: Path) -> str | None:
    """The commit that a branch, a tag or a part of a hash means there."""
    if not text or text.startswith("-"):  # git would take it for an option of its own
        return None
    return _git(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{text}^{{commit}}") or None


_OLDEST = 5_000
"""How many commits of a history are looked at: older runs say nothing about the agent of today."""


def history_of(text: str, folder: Path) -> frozenset[str]:
    """The commit that a branch, a tag or a part of a hash means there, and those before it."""
    commit = commit_of(text, folder)
    listed = _git(folder, "rev-list", f"--max-count={_OLDEST}", commit) if commit else None
    return frozenset((listed or "").split())


def is_shallow(folder: Path) -> bool:
    """Whether the checkout lacks the older part of its history, as in CI."""
    return _git(folder, "rev-parse", "--is-shallow-repository") == "true"


def _git(folder: Path, *arguments: str) -> str | None:
    """What git says, None if it fails. Nothing that it finds in the checkout is run or changed."""
    command = ["git", "--no-optional-locks", "-c", "core.fsmonitor=false", *arguments]
    try:
        done = subprocess.run(  # noqa: S603
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_GIT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    return done.stdout.decode("utf-8", "replace").strip() if done.returncode == 0 else None


def ci_facts(environ: Mapping[str, str]) -> Ci | None:
    """The CI job that the variables of the environment speak of."""
    for provider, variable, reader in _PROVIDERS:
        if environ.get(variable):
            url, pull_request = reader(environ)
            return Ci(provider, url or None, pull_request or None)
    return Ci("unknown") if environ.get("CI", "").lower() in ("1", "true") else None


def _github(environ: Mapping[str, str]) -> tuple[str | None, str | None]:
    get = environ.get
    server, repository, run = (get(f"GITHUB_{name}") for name in ("SERVER_URL", "REPOSITORY", "RUN_ID"))
    url = f"{server}/{repository}/actions/runs/{run}" if server and repository and run else None
    pull = _PULL.match(get("GITHUB_REF", ""))
    return url, pull[1] if pull else None


def _gitlab(environ: Mapping[str, str]) -> tuple[str | None, str | None]:
    return environ.get("CI_JOB_URL"), environ.get("CI_MERGE_REQUEST_IID")


def _buildkite(environ: Mapping[str, str]) -> tuple[str | None, str | None]:
    number = environ.get("BUILDKITE_PULL_REQUEST", "")
    return environ.get("BUILDKITE_BUILD_URL"), number if number.isdigit() else None


def _circle(environ: Mapping[str, str]) -> tuple[str | None, str | None]:
    pull = environ.get("CIRCLE_PULL_REQUEST", "")
    return environ.get("CIRCLE_BUILD_URL"), pull.rpartition("/")[2]


def _azure(environ: Mapping[str, str]) -> tuple[str | None, str | None]:
    get = environ.get
    server, project = get("SYSTEM_TEAMFOUNDATIONCOLLECTIONURI", ""), get("SYSTEM_TEAMPROJECT", "")
    build = get("BUILD_BUILDID")
    url = f"{server}{project}/_build/results?buildId={build}" if server and project and build else None
    return url, get("SYSTEM_PULLREQUEST_PULLREQUESTNUMBER") or get("SYSTEM_PULLREQUEST_PULLREQUESTID")


def _jenkins(environ: Mapping[str, str]) -> tuple[str | None, str | None]:
    return environ.get("BUILD_URL"), environ.get("CHANGE_ID")


_PROVIDERS = (
    ("GitHub Actions", "GITHUB_ACTIONS", _github),
    ("GitLab CI", "GITLAB_CI", _gitlab),
    ("Buildkite", "BUILDKITE", _buildkite),
    ("CircleCI", "CIRCLECI", _circle),
    ("Azure Pipelines", "TF_BUILD", _azure),
    ("Jenkins", "JENKINS_URL", _jenkins),
)
