"""Somebody who does what the tutorial says, for one kind of agent, against a model on loopback."""

from __future__ import annotations

import re
import shlex
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest

from pytest_convoprobe.cli.starters import KINDS

from .chat_server import ChatServer
from .page_commands import Block, Shell, as_modules, blocks_of, environment_of_a_reader, missing_line
from .shop_model import shop_model

PAGE = Path(__file__).parents[2] / "docs" / "tutorial.md"
_LOCAL = "http://localhost:11434/v1"
_NOT_GREEN = ("FAILED", "ERROR")
_TALKS = ("pytest", "env", "convoprobe doctor")


def read_tutorial(folder: Path, kind: str, *, warm: bool = True) -> None:
    """Run each command of the page in an empty folder, and compare what it prints with the page.

    `warm` as for `Shell`.
    """
    with ChatServer(shop_model) as model, pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        reader = _Reader(Shell(folder, environment_of_a_reader(folder), warm), kind, model.base_url)
        for block in blocks_of(PAGE):
            reader.do(block)


class _Reader:
    def __init__(self, shell: Shell, kind: str, url: str) -> None:
        self._shell = shell
        self._kind = KINDS[kind]
        self._url = url
        self._port = str(_free_port())

    def do(self, block: Block) -> None:
        if block.language == "console":
            for command, printed in block.commands():
                self._run(command, printed)
        if block.language == "diff":
            self._edit(block.text)
        if block.language == "yaml":
            name, text = block.text.split("\n", 1)
            assert (self._shell.folder / name.removeprefix("# ")).read_text(encoding="utf-8") == text

    def _run(self, command: str, printed: list[str]) -> None:
        served = self._kind.name == "fastapi" and command.startswith(_TALKS)
        with self._service() if served else nullcontext():
            output = self._shell.run(self._adapted(command))
        # What other kinds print differs, but not how it ends.
        wrong = missing_line(printed if self._kind.name == "python" else _ends(printed), output)
        assert wrong is None, f"{command}\nlacks: {wrong}\n{output}"
        red = any(line.startswith(_NOT_GREEN) for line in printed)
        assert (self._shell.status != 0) == red, f"{command}\n{output}"
        if command.startswith("convoprobe init"):
            self._move_service(command)

    def _adapted(self, command: str) -> str:
        """With the model on loopback in place of a provider, and for this kind."""
        if not command.startswith("convoprobe init"):
            return command
        base = "" if "--api-base" in command else f" --api-base {self._url}"
        return f"{command.replace(_LOCAL, self._url)}{base} --kind {self._kind.name}"

    def _edit(self, diff: str) -> None:
        file = self._shell.folder / self._kind.agent
        text = file.read_text(encoding="utf-8")
        (old,) = re.findall(r"^-(.*)$", diff, re.MULTILINE)
        (new,) = re.findall(r"^\+(.*)$", diff, re.MULTILINE)
        assert text.count(old) == 1
        file.write_text(text.replace(old, new), encoding="utf-8")

    def _move_service(self, command: str) -> None:
        """To a port that is free here."""
        settings = self._shell.folder / command.split()[2] / "convoprobe.yaml"
        settings.write_text(
            settings.read_text(encoding="utf-8").replace("8000", self._port), encoding="utf-8"
        )

    @contextmanager
    def _service(self) -> Iterator[None]:
        """The agent as the page says to start it, anew for each command: its file may have changed."""
        (command,) = re.findall(r"`(convoprobe gateway -- .*?)`", PAGE.read_text(encoding="utf-8"))
        words = shlex.split(command.replace("8000", self._port))
        process = subprocess.Popen(as_modules(words), cwd=self._shell.folder, env=self._shell.environment)
        try:
            _wait_for(int(self._port), process)
            yield
        finally:
            process.terminate()
            process.wait(30)


def _ends(printed: list[str]) -> list[str]:
    ends = [line for line in printed if line.startswith((*_NOT_GREEN, "1 scenario:", "spent:"))]
    return ["…", *(part for line in ends for part in (line, "…"))]


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    for _ in range(600):
        assert process.poll() is None, "the service ended"
        with socket.socket() as one:
            if one.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise AssertionError("the service doesn't answer")
