"""Conversations on the terminal while they run.

They run on another thread, and pytest captures what is printed. So what was said waits in a queue, and
pytest's own thread shows it where it waits for a conversation.
"""

from __future__ import annotations

import contextlib
import shutil
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

import pytest

from ..judging.transcript_view import last_turn
from ..reports.talk import Detail, add_said
from ..reports.terminal_page import Page
from ..transcript import Transcript
from .terminal import PytestTerminal, writes_unicode

if TYPE_CHECKING:
    from ..runs.job import Job

_STREAM: pytest.StashKey[LiveTalk | None] = pytest.StashKey()


def stream_of(config: pytest.Config) -> LiveTalk | None:
    """Where conversations are shown as they run; None if nobody asked for it, or in a worker of xdist."""
    if _STREAM not in config.stash:
        config.stash[_STREAM] = LiveTalk(config) if _is_wanted(config) else None
    return config.stash[_STREAM]


def show_said(config: pytest.Config) -> None:
    """Print what was said since the last time, if that was asked for."""
    if (stream := stream_of(config)) is not None:
        stream.show()


def _is_wanted(config: pytest.Config) -> bool:
    if hasattr(config, "workerinput") or not config.pluginmanager.hasplugin("terminalreporter"):
        return False
    return bool(config.option.convoprobe_stream) or config.getoption("capture", "fd") == "no"


def refuse_with_workers(config: pytest.Config) -> None:
    """Raise `pytest.UsageError` where the option would show nothing: workers have no terminal."""
    if config.option.convoprobe_stream and getattr(config.option, "tx", None):
        raise pytest.UsageError(
            "--convoprobe-stream shows conversations of pytest's own process, and those of workers (-n) run "
            "in others. Leave one of the two out; conversations run at the same time without workers too"
        )


class LiveTalk:
    """What was said and isn't shown yet. `take` may be called on any thread, `show` on pytest's own."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._said: SimpleQueue[tuple[Job, Transcript]] = SimpleQueue()
        self._heading = ""

    def take(self, job: Job, last: Transcript) -> None:
        """Remember what was said last in the conversation of a job."""
        self._said.put((job, last))

    def show(self) -> None:
        """Print what was said since the last time."""
        with contextlib.suppress(Empty):
            while True:
                self._print(*self._said.get_nowait())

    def _print(self, job: Job, last: Transcript) -> None:
        page = self._page()
        heading = _heading(job, last)
        if heading != self._heading:
            # Several conversations may run at the same time: a heading says which one goes on.
            page.add(heading, "── ", color="faint")
            self._heading = heading
        add_said(page, last, Detail(None, None, all_turns=True))
        self._write(page.text())

    def _page(self) -> Page:
        colors = self._config.get_terminal_writer().hasmarkup
        columns = shutil.get_terminal_size().columns
        return Page(columns, ascii_only=not writes_unicode(), color=colors)

    def _write(self, text: str) -> None:
        capture = self._config.pluginmanager.get_plugin("capturemanager")
        reporter: Any = self._config.pluginmanager.get_plugin("terminalreporter")
        PytestTerminal(self._config).clear()  # the line of progress is where the text begins
        with capture.global_and_fixture_disabled() if capture else contextlib.nullcontext():
            for line in text.splitlines():
                reporter.write_line(line)
            reporter.flush()


def _heading(job: Job, last: Transcript) -> str:
    trial = f" · trial {job.trial}" if job.trial > 1 else ""
    return f"{job.scenario_id}{trial} · turn {last_turn(last)}"
