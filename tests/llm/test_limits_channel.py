"""Shared limits between real processes that have a channel of execnet to one another."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import execnet
import pytest

from pytest_convoprobe.llm.limits_channel import HostedExchange, LimitsHost, RunLimits
from pytest_convoprobe.llm.shared_limits import Report, SlotUse
from pytest_convoprobe.plugin.shared_limits import _Door

SOON = 30.0
"""A bound against hanging, never a measurement."""

MEMBER = """
import asyncio, json, os, pathlib, sys
from dataclasses import asdict
from pytest_convoprobe.llm import limits_channel
from pytest_convoprobe.llm.budget import Spent
from pytest_convoprobe.llm.limits_channel import HostLine, HostedExchange, RunLimits
from pytest_convoprobe.llm.shared_limits import Report, SlotUse

limits, terms, log = channel.receive(), RunLimits(**channel.receive()), pathlib.Path(channel.receive())
limits_channel.ANSWER_SECONDS = 1.0
exchange = HostedExchange(HostLine(limits), "run", terms, 2, lambda reason: log.write_text(reason))
channel.send(os.getpid())

async def report(active, waiting, tokens):
    use = {"openai": SlotUse(active, waiting)}
    return asdict(await exchange(Report(use, Spent(0.0, tokens), calls=active + waiting)))

loop = asyncio.new_event_loop()
for command in channel:
    if command == "always":
        while not log.exists():
            loop.run_until_complete(report(1, 1, 0))
    if command[0] == "send":
        limits.send(command[1])
        continue
    channel.send(json.dumps(loop.run_until_complete(report(*command))))
"""


class Member:
    """A process that reports when it is asked to."""

    def __init__(self, name: str, log: Path, **terms: Any) -> None:
        self.log = log
        self._group = execnet.Group()
        self.gateway = self._group.makegateway(f"popen//id={name}//python={sys.executable}")
        self.limits = self.gateway.newchannel()
        self._channel = self.gateway.remote_exec(MEMBER)
        for item in (self.limits, {"ceiling": 16, **terms}, str(log)):
            self._channel.send(item)
        self.pid = self._channel.receive(SOON)

    def report(self, active: int, waiting: int, tokens: int = 0) -> dict[str, Any]:
        self.tell((active, waiting, tokens))
        grant: dict[str, Any] = json.loads(self._channel.receive(SOON))
        return grant

    def tell(self, command: object) -> None:
        self._channel.send(command)

    def size(self, active: int, waiting: int) -> int:
        return int(self.report(active, waiting)["parts"]["openai"]["size"])

    def end(self) -> None:
        self._group.terminate(timeout=1)


Starts = Callable[..., Member]


@pytest.fixture
def door() -> _Door:
    return _Door()


@pytest.fixture
def start(door: _Door, tmp_path: Path) -> Iterator[Starts]:
    members: list[Member] = []

    def start(name: str, **terms: Any) -> Member:
        members.append(Member(name, tmp_path / name, **terms))
        door.serve(name, members[-1].limits)
        return members[-1]

    yield start
    for member in members:
        member.end()


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SOON
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_processes_share_one_window(start: Starts) -> None:
    one, other = start("gw0"), start("gw1")
    assert one.size(0, 16) == 16
    assert other.size(0, 16) == 0  # the first has them until it reports again
    assert (one.size(0, 16), other.size(0, 16)) == (8, 8)


def test_one_that_is_there_keeps_a_part_for_others(start: Starts) -> None:
    one, _ = start("gw0"), start("gw1")
    assert one.size(0, 3) in (9, 10)


def test_the_budget_is_one(start: Starts) -> None:
    one, other = start("gw0", max_tokens=100), start("gw1", max_tokens=100)
    one.report(1, 0, tokens=60)
    grant = other.report(1, 0, tokens=10)
    assert (grant["elsewhere"]["tokens"], grant["promised"]["tokens"]) == (60, 30)
    assert not one.log.exists()


def test_a_member_that_is_killed_gives_its_places_back(start: Starts) -> None:
    one, other = start("gw0", max_tokens=100), start("gw1", max_tokens=100)
    assert one.size(16, 16) == 16
    one.report(16, 16, tokens=60)
    assert other.size(0, 16) == 0
    os.kill(one.pid, signal.SIGKILL)
    until(lambda: other.size(0, 16) == 16)
    assert other.report(0, 16)["elsewhere"]["tokens"] == 60


def test_one_that_is_killed_while_it_reports_disturbs_nobody(start: Starts) -> None:
    one, other = start("gw0"), start("gw1")
    one.tell("always")
    until(lambda: other.size(0, 16) > 0)
    os.kill(one.pid, signal.SIGKILL)
    until(lambda: other.size(0, 16) == 16)


GARBAGE: list[Any] = [
    "",
    "{",
    "[" * 100_000,
    "[1, 2]",
    '[1, "run", {"ceiling": 16}, {"uses": []}]',
    '[1, "run", {"ceiling": 16}, {"uses": {"openai": {"active": "many", "waiting": 0}}}]',
    '[1, "run", {"ceiling": "x"}, {"uses": {}}]',
    "null",
    b"\xff\xfe",
    17,
    ("a", ("b",)),
]


@pytest.mark.parametrize("message", GARBAGE, ids=[repr(one)[:30] for one in GARBAGE])
def test_what_cannot_be_read_is_refused(message: Any) -> None:
    host = LimitsHost(["gw0"])
    assert json.loads(host.answer("gw0", message))[1] is None
    asked = '[7, "run", {"ceiling": 16}, {"uses": {"openai": {"active": 0, "waiting": 1}}}]'
    number, grant = json.loads(host.answer("gw0", asked))
    assert (number, grant["parts"]["openai"]["size"]) == (7, 16)


@pytest.mark.parametrize("message", GARBAGE[:3] + GARBAGE[-3:], ids=range(6))
def test_garbage_of_a_process_disturbs_nobody(start: Starts, message: Any) -> None:
    one, other = start("gw0"), start("gw1")
    one.tell(["send", message])
    assert one.size(0, 4) > 0
    assert other.size(0, 4) > 0


async def test_without_a_line_it_keeps_to_its_part() -> None:
    reasons: list[str] = []
    exchange = HostedExchange(None, "run", RunLimits(32, conversations=10), 4, reasons.append)
    report = Report({"openai": SlotUse(0, 50)}, conversations=SlotUse(0, 50))
    for _ in range(2):
        grant = await exchange(report)
        assert (grant.parts["openai"].size, grant.conversations.size) == (8, 2)
    assert len(reasons) == 1


HOST = f"""
import execnet, json, sys, time
from pytest_convoprobe.plugin.shared_limits import _Door
gateway = execnet.makegateway("popen//id=gw0//python=" + sys.executable)
limits, door = gateway.newchannel(), _Door()
channel = gateway.remote_exec({MEMBER!r})
door.serve("gw0", limits)
for item in (limits, {{"ceiling": 16}}, sys.argv[1]):
    channel.send(item)
print(channel.receive(), flush=True)
channel.send((0, 1, 0))
print(channel.receive(), flush=True)
channel.send("always")
print("it reports", flush=True)
time.sleep(60)
"""


@contextmanager
def hosting(log: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that is the host of a member which reports all the time."""
    with subprocess.Popen(
        [sys.executable, "-c", HOST, str(log)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        member, _, _ = int(process.stdout.readline()), process.stdout.readline(), process.stdout.readline()
        try:
            yield process
        finally:
            process.kill()
            with contextlib.suppress(ProcessLookupError):
                os.kill(member, signal.SIGKILL)


def test_a_host_that_is_killed_leaves_its_member_alone(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with hosting(log) as process:
        assert not log.exists()
        process.kill()
        until(lambda: log.exists() and log.read_text() != "")
    assert log.read_text()


def test_a_host_that_does_not_read_holds_nobody_up(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with hosting(log) as process:
        process.send_signal(signal.SIGSTOP)
        until(lambda: log.exists() and log.read_text() != "")
    assert log.read_text() == "no answer within 1 s"
