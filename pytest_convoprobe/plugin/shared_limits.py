"""One limiter, one budget and one number of conversations for all workers of xdist.

xdist's controller keeps the limits (`llm.limits_channel`); each worker has a channel to it, which execnet
makes within the connection that they have anyway. Nothing is imported or sent before the first conversation.
"""

from __future__ import annotations

import contextlib
import threading
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from .keys import RECORDER

if TYPE_CHECKING:
    from ..llm.limits_channel import HostLine, LimitsHost
    from ..llm.member import Member
    from ..settings.models import RunSettings

RUN = "run"
"""The name of the limits that all scenarios share."""

_CHANNEL = "convoprobe_limits"
_DOOR: pytest.StashKey[_Door] = pytest.StashKey()
_LINE: pytest.StashKey[HostLine | None] = pytest.StashKey()


class _Door:
    """Takes the messages of all workers to the limits, which are made with the first one.

    Each worker's messages come on a thread of execnet's.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._members: set[str] = set()
        self._host: LimitsHost | None = None

    def serve(self, member: str, channel: Any) -> None:
        """Answer a worker until its process ends."""
        with self._lock:
            self._members.add(member)
            if self._host is not None:
                self._host.expect(member)
        channel.setcallback(partial(self._receive, member, channel), endmarker=None)

    @property
    def host(self) -> LimitsHost | None:
        """None if no worker has reported anything."""
        return self._host

    def _receive(self, member: str, channel: Any, message: Any) -> None:
        if message is None:
            return self._ended(member)
        answer = self._opened().answer(member, message)
        # It may have ended meanwhile.
        with contextlib.suppress(OSError):
            channel.send(answer)

    def _ended(self, member: str) -> None:
        with self._lock:
            self._members.discard(member)
            if self._host is not None:
                self._host.forget(member)

    def _opened(self) -> LimitsHost:
        with self._lock:
            if self._host is None:
                from ..llm.limits_channel import LimitsHost

                self._host = LimitsHost(self._members)
            return self._host


def share_limits(node: Any) -> None:
    """Give a worker of xdist, before it starts, a channel to the limits."""
    # `gateway` is public in xdist, and a channel may be sent over another one in execnet.
    channel = node.workerinput[_CHANNEL] = node.gateway.newchannel()
    node.config.stash.setdefault(_DOOR, _Door()).serve(node.gateway.id, channel)


def correct_spent(node: Any) -> None:
    """A worker has crashed: what it has spent is in its files, if the run is stored, to the last call."""
    door, recorder = node.config.stash.get(_DOOR, None), node.config.stash.get(RECORDER, None)
    if door is not None and door.host is not None and recorder is not None and recorder.wanted:
        door.host.correct(node.gateway.id, RUN, recorder.spent_by(node.gateway.id))


def join(config: pytest.Config, name: str, run: RunSettings) -> Member | None:
    """The half of a process in the limits of a name; None where it shares them with no other process."""
    workerinput = getattr(config, "workerinput", None)
    if workerinput is None:
        return None
    from ..llm.budget import Budget
    from ..llm.limits_channel import HostedExchange, RunLimits
    from ..llm.member import Member
    from ..llm.stack import most_calls

    budget, workers = Budget(run.max_cost, run.max_tokens), int(workerinput.get("workercount", 1))
    terms = RunLimits(most_calls(run), run.concurrency, run.max_cost, run.max_tokens)
    on_lost = partial(_go_on_alone, config, budget, workers)
    return Member(HostedExchange(_line(config), name, terms, workers, on_lost), budget)


def _line(config: pytest.Config) -> HostLine | None:
    """The way of a worker to the controller, one for all limits."""
    if _LINE not in config.stash:
        from ..llm.limits_channel import HostLine

        # A controller on another machine may have another version of this plug-in, or none.
        channel = config.workerinput.get(_CHANNEL)  # type: ignore[attr-defined]
        config.stash[_LINE] = None if channel is None else HostLine(channel)
    return config.stash[_LINE]


def _go_on_alone(config: pytest.Config, budget: Any, workers: int, reason: str) -> None:
    budget.divide_among(workers)
    if (recorder := config.stash.get(RECORDER, None)) is not None:
        worker = config.workerinput["workerid"]  # type: ignore[attr-defined]
        recorder.take_problem(
            f"worker {worker} could not share the run's limits with the other workers ({reason}): it kept to "
            f"its share, 1 in {workers}, of the budget, the conversations and the calls at once"
        )
