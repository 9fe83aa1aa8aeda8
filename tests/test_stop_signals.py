"""Signals that end what runs, within one process."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from types import FrameType, SimpleNamespace
from typing import Any

import pytest

from pytest_convoprobe.plugin.ending import EndingHooks
from pytest_convoprobe.stop_signals import (
    SigtermHandler,
    Terminated,
    ends_process,
    exit_status,
    ignored_meanwhile,
)

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals")


@pytest.fixture(autouse=True)
def default_handler() -> Iterator[None]:
    """As in a process without the plug-in: a session that runs scenarios too has its own handler."""
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGTERM, before)


def send(number: int) -> None:
    os.kill(os.getpid(), number)


def theirs(number: int, frame: FrameType | None) -> None:
    """A handler of the host."""


def test_sigterm_is_an_interruption_while_the_handler_is_installed() -> None:
    handler = SigtermHandler()
    handler.install()
    try:
        with pytest.raises(KeyboardInterrupt) as caught:
            send(signal.SIGTERM)
        send(signal.SIGTERM)  # in the middle of what the first one has asked for
    finally:
        handler.remove()
    assert isinstance(caught.value, Terminated)
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_handler_of_somebody_else_is_neither_replaced_nor_taken_away() -> None:
    handler = SigtermHandler()
    signal.signal(signal.SIGTERM, theirs)
    handler.install()
    assert signal.getsignal(signal.SIGTERM) is theirs
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    handler.install()
    signal.signal(signal.SIGTERM, theirs)
    handler.remove()
    assert signal.getsignal(signal.SIGTERM) is theirs


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_process_of_ours_is_interrupted_once(number: int, status: int) -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    cleaned_up = False
    with ends_process():
        with pytest.raises(KeyboardInterrupt) as caught:
            send(number)
        send(signal.SIGINT)
        send(signal.SIGTERM)
        cleaned_up = True
    assert cleaned_up
    assert exit_status(caught.value) == status
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


def test_a_second_ctrl_c_does_not_break_off_the_clean_up() -> None:
    with ignored_meanwhile(True):
        send(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), ignored_meanwhile(False):
        send(signal.SIGINT)


def test_a_second_ctrl_c_does_not_break_off_the_end_of_xdists_workers() -> None:
    config: Any = SimpleNamespace(
        getoption=lambda name, default=None: "load" if name == "dist" else default, stash=pytest.Stash()
    )
    hooks = EndingHooks(config)
    try:
        hooks.pytest_xdist_node_collection_finished(["scenarios/a.yaml::a"])
        with pytest.raises(KeyboardInterrupt) as first:
            send(signal.SIGINT)
        next(hooks.pytest_keyboard_interrupt(first))
        end = hooks.pytest_sessionfinish()
        next(end)
        send(signal.SIGINT)  # while xdist waits for them
        end.close()
    finally:
        hooks.pytest_unconfigure()
