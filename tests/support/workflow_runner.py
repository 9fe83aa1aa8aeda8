"""Runs the jobs of a workflow for GitHub here, as far as the documented ones go: their scripts, with bash.

What `uses` names is one of a few known actions: a checkout is what the test has made, setting up Python is
nothing to do, the cache and the artifacts are folders. An action of this project is run with its own steps.
Expressions are evaluated by rules that suffice for these workflows; anything else is an error.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

_EXPRESSION = re.compile(r"\$\{\{(.*?)\}\}", re.DOTALL)
_TOKEN = re.compile(r"\s*('(?:[^']|'')*'|[\w.-]+(?:\(\))?|==|!=|&&|\|\||[!()])")
_OPERATORS = {"&&": " and ", "||": " or ", "!": " not ", "==": "==", "!=": "!=", "(": "(", ")": ")"}
_STATUS = ("always()", "cancelled()", "failure()", "success()")


@dataclass
class Github:
    """The event, the secrets, and what is kept between jobs. `folder` has the cache and the artifacts."""

    folder: Path
    environment: dict[str, str]
    github: dict[str, Any]
    secrets: dict[str, str] = field(default_factory=dict)
    actions: dict[str, Path] = field(default_factory=dict)
    """By the words of `uses`, the folder of an action."""


@dataclass
class Job:
    """How a job ended: `success`, `failure` or `skipped`; its outputs; what its scripts printed, by step."""

    result: str
    outputs: dict[str, str] = field(default_factory=dict)
    log: list[tuple[str, str]] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "\n".join(f"### {name}\n{printed}" for name, printed in self.log)


def run_workflow(file: Path, checkout: Path, hub: Github) -> dict[str, Job]:
    """Run all jobs of the file in their order, each in a copy of the checkout."""
    workflow = yaml.safe_load(file.read_text(encoding="utf-8"))
    jobs: dict[str, Job] = {}
    for name, job in workflow["jobs"].items():
        copy = hub.folder / "jobs" / str(len(list(hub.folder.glob("jobs/*")))) / name
        shutil.copytree(checkout, copy, symlinks=True)
        needs = {one: {"outputs": jobs[one].outputs} for one in jobs}
        failed = any(jobs[one].result != "success" for one in _listed(job.get("needs")))
        contexts = {"github": hub.github, "secrets": hub.secrets, "needs": needs, "env": {}}
        runner = _Runner(hub, copy, contexts, failed)
        jobs[name] = runner.job({**job, "env": {**workflow.get("env", {}), **job.get("env", {})}})
    return jobs


def _listed(value: str | list[str] | None) -> list[str]:
    return [value] if isinstance(value, str) else list(value or ())


class _Runner:
    """One job, or the steps of an action within it."""

    def __init__(self, hub: Github, folder: Path, contexts: Mapping[str, Any], failed: bool = False) -> None:
        self._hub = hub
        self._folder = folder
        self._contexts: dict[str, Any] = {**contexts, "steps": {}}
        self.failed = failed
        self.log: list[tuple[str, str]] = []

    def job(self, job: Mapping[str, Any]) -> Job:
        if not self._holds(job.get("if")):
            return Job("skipped")
        self.failed = False
        self._contexts["env"] = self._filled(job["env"])
        self.steps(job["steps"])
        outputs = self._filled(job.get("outputs", {}))
        return Job("failure" if self.failed else "success", outputs, self.log)

    def steps(self, steps: list[dict[str, Any]]) -> None:
        for number, step in enumerate(steps):
            record = self._contexts["steps"].setdefault(step.get("id", f"step {number}"), {"outputs": {}})
            record["outcome"] = "skipped"
            if self._holds(step.get("if")):
                record["outcome"] = "success" if self._step(step, record["outputs"]) else "failure"
                self.failed |= record["outcome"] == "failure"

    def _step(self, step: Mapping[str, Any], outputs: dict[str, str]) -> bool:
        if "run" in step:
            return self._script(step, outputs)
        given = self._filled(step.get("with", {}))
        name = step["uses"].partition("@")[0]
        if name in self._hub.actions:
            return self._action(self._hub.actions[name], given, outputs)
        return _KNOWN[name](self._hub.folder, self._folder, given)

    def _script(self, step: Mapping[str, Any], outputs: dict[str, str]) -> bool:
        assert "${{" not in step["run"], "an expression in a script is run as a part of it"
        written, variables = self._hub.folder / "output", self._hub.folder / "variables"
        for file in (written, variables):
            file.write_text("")
        environment = {
            **self._hub.environment,
            **self._contexts["env"],
            **self._filled(step.get("env", {})),
            "GITHUB_OUTPUT": str(written),
            "GITHUB_ENV": str(variables),
            "GITHUB_ACTION_PATH": str(self._contexts.get("action_path", "")),
        }
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=self._folder / self._text(step.get("working-directory", ".")),
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            check=False,
        )
        self.log.append((step.get("name", step["run"]), done.stdout))
        outputs |= dict(line.split("=", 1) for line in written.read_text().splitlines())
        self._contexts["env"] |= dict(line.split("=", 1) for line in variables.read_text().splitlines())
        return done.returncode == 0

    def _action(self, folder: Path, given: dict[str, str], outputs: dict[str, str]) -> bool:
        action = yaml.safe_load((folder / "action.yml").read_text(encoding="utf-8"))
        assert set(given) <= set(action["inputs"])
        inputs = {name: one["default"] for name, one in action["inputs"].items()} | given
        inner = _Runner(self._hub, self._folder, {**self._contexts, "inputs": inputs, "action_path": folder})
        inner.log = self.log
        inner.steps(action["runs"]["steps"])
        outputs |= {name: inner._text(one["value"]) for name, one in action["outputs"].items()}
        return not inner.failed

    def _holds(self, condition: str | None) -> bool:
        text = str(condition or "success()").strip().removeprefix("${{").removesuffix("}}")
        asks = any(word in text for word in _STATUS)
        return bool(self._value(text)) and (asks or not self.failed)

    def _filled(self, values: Mapping[str, Any]) -> dict[str, str]:
        return {name: self._text(value) for name, value in values.items()}

    def _text(self, value: object) -> str:
        if isinstance(value, bool):
            return str(value).lower()
        return _EXPRESSION.sub(lambda found: _shown(self._value(found[1])), str(value))

    def _value(self, expression: str) -> Any:
        python = "".join(self._translated(expression.strip()))
        return eval(python, {"__builtins__": {}}, {"value": self._looked_up})

    def _translated(self, expression: str) -> Iterator[str]:
        position = 0
        while position < len(expression):
            found = _TOKEN.match(expression, position)
            assert found is not None, f"unknown expression: {expression}"
            token, position = found[1], found.end()
            yield _OPERATORS.get(token) or (token if token[0] == "'" else f"value({token!r})")

    def _looked_up(self, name: str) -> Any:
        known = {
            "always()": True,
            "cancelled()": False,
            "failure()": self.failed,
            "success()": not self.failed,
        }
        if name in known:
            return known[name]
        value: Any = self._contexts
        for part in name.split("."):
            value = value.get(part, "") if isinstance(value, Mapping) else ""
        return value


def _shown(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _nothing(_hub: Path, _folder: Path, _given: Mapping[str, str]) -> bool:
    return True


def _restore(hub: Path, folder: Path, given: Mapping[str, str]) -> bool:
    """The newest entry whose key begins as asked."""
    prefix = given.get("restore-keys", given["key"]).strip()
    found = sorted(hub.glob(f"cache/{prefix}*"), key=lambda one: one.stat().st_mtime_ns)
    if found:
        shutil.copytree(found[-1], folder / given["path"], dirs_exist_ok=True)
    return True


def _save(hub: Path, folder: Path, given: Mapping[str, str]) -> bool:
    entry = hub / "cache" / given["key"]
    assert not entry.exists(), "a key of the cache can be written once"
    if (folder / given["path"]).exists():  # otherwise the real one warns
        shutil.copytree(folder / given["path"], entry)
    return True


def _upload(hub: Path, folder: Path, given: Mapping[str, str]) -> bool:
    """Copies what is there, in a folder that no other artifact of the run has."""
    artifact = hub / "artifacts" / given["name"]
    assert not artifact.exists(), "the name of an artifact can be used once in a run"
    artifact.mkdir(parents=True)
    for path in given["path"].split():
        source = folder / path
        if source.is_dir():
            shutil.copytree(source, artifact / source.name)
        elif source.exists():
            shutil.copy(source, artifact)
    return True


_KNOWN = {
    "actions/checkout": _nothing,
    "actions/setup-python": _nothing,
    "actions/cache/restore": _restore,
    "actions/cache/save": _save,
    "actions/upload-artifact": _upload,
}
