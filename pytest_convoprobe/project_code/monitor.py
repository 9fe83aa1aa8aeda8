"""A thread that looks after the event loops on which code of the project runs."""

from __future__ import annotations

import threading
from collections.abc import Callable

from ..threads import start_thread
from .host_loop import HostLoop

_TICK = 0.05  # seconds
_IDLE = 5.0


class Monitor:
    """Has every loop in use checked, many times a second. Its thread ends after a while without work."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._hosts: set[HostLoop] = set()
        self._running = False

    def watch(self, host: HostLoop) -> None:
        """Look after a loop as long as it is in use."""
        with self._lock:
            if host in self._hosts:
                return
            self._hosts.add(host)
            if not self._running:
                self._running = True
                start_thread(self._run, "convoprobe-monitor")
        self._wake.set()

    @staticmethod
    def later(function: Callable[[], None]) -> None:
        """Do what blocks, in a thread that nobody waits for."""
        start_thread(function, "convoprobe-closing")

    def _run(self) -> None:
        while True:
            self._wake.clear()
            with self._lock:
                self._hosts = {host for host in self._hosts if host.in_use}
                hosts = list(self._hosts)
            for host in hosts:
                host.check()
            if not self._wake.wait(_TICK if hosts else _IDLE) and not hosts and self._ended():
                return

    def _ended(self) -> bool:
        with self._lock:
            self._running = bool(self._hosts)
            return not self._running


monitor = Monitor()
