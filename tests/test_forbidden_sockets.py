"""Loops of ours where a suite forbids sockets, as pytest-socket does."""

from __future__ import annotations

import asyncio
import socket

import pytest

from pytest_convoprobe.loop_thread import LoopThread


class SocketBlockedError(RuntimeError):
    pass


class GuardedSocket(socket.socket):
    def __new__(cls, *_: object, **__: object) -> GuardedSocket:
        raise SocketBlockedError("A test tried to use socket.socket.")


def guard(*_: object, **__: object) -> None:
    raise RuntimeError("no network in tests")


@pytest.mark.parametrize("replacement", [GuardedSocket, guard])
def test_a_loop_needs_no_socket(monkeypatch: pytest.MonkeyPatch, replacement: object) -> None:
    monkeypatch.setattr(socket, "socket", replacement)
    loop = LoopThread()
    assert loop.run(asyncio.sleep(0, "ran"), timeout=10) == "ran"
    later = loop.submit(asyncio.sleep(3600))
    later.cancel()
    assert loop.run(asyncio.to_thread(lambda: "back from a thread"), timeout=10) == "back from a thread"
    assert loop.close()
