"""How a session with scenarios ends early: by Ctrl-C, by SIGTERM, or because xdist's controller has ended."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Generator, Sequence
from functools import partial
from typing import Any

import pytest

from ..stop_signals import SigtermHandler, end_now, ignored_meanwhile, leave, send_to_main_thread
from ..threads import start_thread
from .keys import RECORDER, SESSION
from .storing import names_scenario

_LATEST = 4.0
"""Seconds after which a worker ends whose controller has ended, whatever still runs in it."""


class EndingHooks:
    """Has SIGTERM end the session as Ctrl-C does; the handler is taken away at the end."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._sigterm = SigtermHandler()
        # xdist's controller collects nothing: until it is known that there are scenarios, the suite may be
        # one that has nothing to do with us.
        if not _is_controller(config):
            self._sigterm.install()
        self._has_scenarios = False
        """Whether a worker of this controller has found some."""
        self._interrupted = False
        self._controller = _Controller(config, self._sigterm) if hasattr(config, "workerinput") else None

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        if any(map(names_scenario, ids)):
            self._has_scenarios = True
            self._sigterm.install()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if hasattr(report, "convoprobe"):
            self._sigterm.install()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_keyboard_interrupt(
        self, excinfo: pytest.ExceptionInfo[BaseException]
    ) -> Generator[None, object, object]:
        self._interrupted = True
        if not self._config.getoption("fulltrace", False):  # unknown under `-p no:terminal`
            _leave_last_line(excinfo)
        if self._controller is not None:
            self._controller.session_ends = True
        if SESSION in self._config.stash:
            self._config.stash[SESSION].hurry()
        # A second Ctrl-C would break pytest off before it has noted its exit status.
        with ignored_meanwhile(True):
            return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self) -> Generator[None, None, None]:
        if self._controller is not None:
            self._controller.session_ends = True
        # xdist waits for its workers here, for some seconds at most. A second Ctrl-C would end the process
        # by a traceback out of xdist, while the workers are closing their agents.
        with ignored_meanwhile(self._interrupted and self._has_scenarios):
            return (yield)

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self) -> None:
        self._sigterm.remove()
        if self._controller is not None:
            self._controller.over.set()
            if self._controller.gone:
                leave(pytest.ExitCode.INTERRUPTED)  # nobody listens to what execnet would say at its end


def _leave_last_line(excinfo: pytest.ExceptionInfo[BaseException]) -> None:
    """Take away what pytest doesn't show of an interruption.

    It prepares the whole traceback, and looks through all modules for each line: seconds with LiteLLM's.
    """
    # `pytest.exit` hides its own line: of a traceback without a line that may be shown, pytest makes nothing.
    shown = excinfo.traceback.filter(excinfo) or excinfo.traceback
    excinfo.traceback = shown[-1:]
    excinfo.value.__suppress_context__ = True


def _is_controller(config: pytest.Config) -> bool:
    return config.getoption("dist", "no") != "no" and not hasattr(config, "workerinput")


class _Controller:
    """The controller, as a worker sees it: a thread waits for its end.

    execnet would let the worker go on for five seconds and interrupt it then, once. That is too late for
    Ctrl-C, and after `kill -9` such a worker would still pay for calls and write to a run that is over.
    """

    def __init__(self, config: pytest.Config, sigterm: SigtermHandler) -> None:
        self.over = threading.Event()
        """Set at the worker's end: nothing is left to be watched."""
        self.session_ends = False
        """Whether the worker's session ends by itself, so that it needs no signal."""
        self.gone = False
        """Whether the controller has ended before the worker."""
        self._config = config
        self._sigterm = sigterm
        if (channel := _channel(config)) is not None:
            start_thread(partial(self._watch, channel), "convoprobe-controller")

    def _watch(self, channel: Any) -> None:
        with contextlib.suppress(Exception):  # the end of a controller that failed is an error here
            channel.waitclose()
        if self.over.is_set():
            return
        self.gone = True
        if (recorder := self._config.stash.get(RECORDER, None)) is not None:
            recorder.stop()
        if not self.session_ends:
            number = signal.SIGTERM if self._sigterm.installed else signal.SIGINT
            send_to_main_thread(number)
        if not self.over.wait(_LATEST):
            end_now(pytest.ExitCode.INTERRUPTED)


def _channel(config: pytest.Config) -> Any:
    """The worker's connection to the controller, a channel of execnet; None if it isn't found."""
    found = (getattr(plugin, "channel", None) for plugin in config.pluginmanager.get_plugins())
    return next((one for one in found if hasattr(one, "waitclose")), None)
