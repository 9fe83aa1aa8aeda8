"""The commands of a page of the documentation, run as a reader would, and what they print according to it."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from . import warm_process

_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
# What is another one in each run.
_VARYING = re.compile(r"\d+(\.\d+)? m?s\b|\b\d{8}T\d{6}Z-\w+|\b[0-9a-f]{7,12}\b|(?<=in )\d+\.\d+s|=+")
LEFT_OUT = "…"
MODULES = {"pytest": "pytest", "convoprobe": "pytest_convoprobe.cli"}


def as_modules(words: list[str]) -> list[str]:
    """A command, with Python's programs run by this interpreter."""
    return [sys.executable, "-m", MODULES[words[0]], *words[1:]] if words[0] in MODULES else words


@dataclass(frozen=True)
class Block:
    """A block of code of a page: its language and its text."""

    language: str
    text: str

    def commands(self) -> Iterator[tuple[str, list[str]]]:
        """Of a `console` block: each command, and the lines that it prints according to the page."""
        for part in re.split(r"^\$ ", self.text, flags=re.MULTILINE)[1:]:
            command, *lines = part.splitlines()
            yield command, lines


def blocks_of(page: Path) -> list[Block]:
    return [Block(*found) for found in _BLOCK.findall(page.read_text(encoding="utf-8"))]


@dataclass
class Shell:
    """A terminal: a folder and an environment that `cd` and `export` change.

    `warm` saves time where all that pytest loads is installed (see `warm_process`).
    """

    folder: Path
    environment: dict[str, str]
    warm: bool = True

    def run(self, command: str) -> str:
        """What the command prints, on both streams; its exit status is in `status`."""
        words = shlex.split(command)
        self.status = 0
        if words[0] == "cd":
            self.folder /= words[1]
            return ""
        if words[0] == "export":
            self.environment |= dict(word.split("=", 1) for word in words[1:])
            return ""
        done = self._process(words)
        self.status = done.returncode
        return done.stdout + done.stderr

    def _process(self, words: list[str]) -> subprocess.CompletedProcess[str]:
        environment = dict(self.environment)
        if words[:2] == ["env", "-u"]:
            environment.pop(words[2], None)
            words = words[3:]
        if words[0] in MODULES and self.warm:
            return warm_process.run(MODULES[words[0]], *words[1:], cwd=self.folder, env=environment)
        return subprocess.run(
            as_modules(words),
            cwd=self.folder,
            env=environment,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )


def environment_of_a_reader(home: Path) -> dict[str, str]:
    """Python's own programs and git, no plug-ins of pytest but ours, nothing of whoever runs the tests."""
    names = ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL")
    return {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "HOME": str(home),
        "XDG_RUNTIME_DIR": str(home),
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTEST_ADDOPTS": "-p convoprobe",
        "GIT_CONFIG_NOSYSTEM": "1",
        **dict.fromkeys(names, "reader@example.org"),
    }


def missing_line(expected: list[str], output: str) -> str | None:
    """The first line of the page that the output doesn't have in its place; None if it has all of them.

    Lines follow each other as on the page, other than at a line `…`, where the page leaves some out.
    """
    lines = [_plain(line) for line in output.splitlines()]
    position, anywhere = 0, False
    for line in map(_plain, expected):
        if line == LEFT_OUT:
            anywhere = True
            continue
        if anywhere:
            position = next((at for at in range(position, len(lines)) if lines[at] == line), len(lines))
        if position >= len(lines) or lines[position] != line:
            return line
        position, anywhere = position + 1, False
    return None if anywhere or position == len(lines) else f"(nothing; the output goes on: {lines[position]})"


def _plain(line: str) -> str:
    return _VARYING.sub("#", line).rstrip()
