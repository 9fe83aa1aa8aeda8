"""The faults of one conversation: which call gets which, and which calls got one.

A call is known by its tool's name and its number: how many calls of the tool the agent had asked for by then.
So a fault is in the same call whatever else runs at the same time. See `targets.port.ToolFaults`.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from threading import Event, Lock
from typing import Any

from ..errors import ScenarioError
from ..excerpts import as_text
from ..formatting import exact_seconds
from ..transcript import Reply, ToolCall, Transcript
from .choosing import RulesInOrder, never_reached, numbers_of_calls
from .rules import FaultRule
from .spoiling import ToolTimedOut, error_of, fixed_result, spoiled

_OVER = "the conversation is over"


@dataclass(frozen=True, eq=False)
class _Begun:
    """The `number`-th call of a tool: the places of the rules that are for it, and the one that counts."""

    tool: str
    number: int
    call_id: str
    rules: tuple[int, ...]
    rule: FaultRule | None

    @property
    def words(self) -> str:
        return self.rule.words if self.rule else ""

    @property
    def wait(self) -> float:
        """How long it takes before anything happens, in seconds."""
        return self.rule.wait if self.rule else 0

    @property
    def is_replaced(self) -> bool:
        """Whether the tool itself is not carried out."""
        return self.rule is not None and (bool(self.rule.error) or self.rule.kind == "result")

    def replacement(self) -> Any:
        """What comes in place of the tool; raises it if it is an error."""
        assert self.rule is not None  # noqa: S101 - asked for calls that are replaced only
        if self.rule.error:
            raise error_of(self.rule)
        return fixed_result(self.rule)


class FaultPlan:
    """Injects the faults of one conversation. See `targets.port.ToolFaults`.

    Of several rules for a call, the first one counts. Threads may share a plan: frameworks carry out tools
    in several of them.
    """

    def __init__(self, rules: Iterable[FaultRule], scenario: str, trial: int) -> None:
        self._rules = RulesInOrder(rules, scenario, trial)
        self._lock = Lock()
        self._over = Event()
        self._calls: Counter[str] = Counter()
        self._asked: dict[str, tuple[str, int]] = {}
        self._begun: list[_Begun] = []
        self._unchanged: list[_Begun] = []

    def asked(self, calls: Iterable[tuple[str, str]]) -> None:
        """Number calls before they are carried out: each tool and the call's id, in the agent's order."""
        with self._lock:
            for tool, call_id in calls:
                # Without an id nobody could say later which of them begins.
                if call_id and call_id not in self._asked:
                    self._calls[tool] += 1
                    self._asked[call_id] = (tool, self._calls[tool])

    async def around(self, tool: str, call: Callable[[], Awaitable[Any]], *, call_id: str = "") -> Any:
        """What the agent gets for a call, or the error that it gets. See `ToolFaults`."""
        begun = self._begin(tool, call_id)
        if begun.wait:
            await asyncio.sleep(begun.wait)
        if begun.is_replaced:
            return begun.replacement()
        with self._kept_if_it_works(begun):
            return self._given(begun, await call())

    def around_sync(self, tool: str, call: Callable[[], Any], *, call_id: str = "") -> Any:
        """The same for code that runs in a thread."""
        begun = self._begin(tool, call_id)
        if begun.wait and self._over.wait(begun.wait):
            raise ToolTimedOut(_OVER)
        if begun.is_replaced:
            return begun.replacement()
        with self._kept_if_it_works(begun):
            return self._given(begun, call())

    def end(self) -> None:
        """The conversation is over: threads that still wait are let go, so that no process waits for them."""
        self._over.set()

    def marked(self, transcript: Transcript) -> Transcript:
        """The transcript with the words of its fault at each call that got one."""
        with self._lock:
            injected = tuple(one for one in self._begun if one.rule is not None)
        if not injected:
            return transcript
        calls = [*(call for _, call in transcript.tool_calls), *transcript.pending_calls]
        faults = {place: one.words for one in injected if (place := _place(one, calls)) is not None}
        marks = iter(replace(call, fault=faults.get(at, call.fault)) for at, call in enumerate(calls))

        def reply(old: Reply) -> Reply:
            theirs = old.tool_calls
            return old if theirs is None else replace(old, tool_calls=tuple(next(marks) for _ in theirs))

        turns = tuple(replace(turn, reply=reply(turn.reply)) for turn in transcript.turns)
        return replace(transcript, turns=turns, pending_calls=tuple(marks))

    def require_reached(self) -> None:
        """Raise `ScenarioError` if there was no call for one of the faults: nothing was tested then."""
        # A rule that comes after another one has been reached too: that it doesn't count is no miss.
        reached = {at for one in self._begun for at in one.rules}
        if missed := self._rules.missed(reached):
            raise ScenarioError(never_reached(missed, _made(self._calls, self._unchanged)))

    def _begin(self, tool: str, call_id: str) -> _Begun:
        """The call that begins now, with its number and its fault."""
        with self._lock:
            number = self._number(tool, call_id)
            begun = _Begun(tool, number, call_id, *self._rules.of_call(tool, number))
            self._begun.append(begun)
            return begun

    @contextmanager
    def _kept_if_it_works(self, begun: _Begun) -> Iterator[None]:
        """Forget a fault that the agent never got, since its call failed by itself or waits for a person."""
        try:
            yield
        except BaseException as error:
            waits = "Interrupt" in type(error).__name__
            with self._lock:
                if waits and begun.call_id:
                    # It begins again after the answer, and is the same call.
                    self._asked[begun.call_id] = (begun.tool, begun.number)
                if waits or (begun.rule is not None and begun.rule.kind != "delay"):
                    self._begun.remove(begun)
                    self._unchanged += [] if waits else [begun]
            raise

    def _given(self, begun: _Begun, result: Any) -> Any:
        """The result as the agent gets it. What was empty or short before has not been spoiled."""
        if begun.rule is None or begun.rule.kind == "delay":
            return result
        given = spoiled(begun.rule, result)
        # As texts: the results of projects may be anything, and compare in ways of their own.
        if as_text(given) != as_text(result):
            return given
        with self._lock:
            self._begun.remove(begun)
            self._unchanged.append(begun)
        return result

    def _number(self, tool: str, call_id: str) -> int:
        # Taken out: the second attempt at a call is another call of the tool.
        known = self._asked.pop(call_id, None)
        if known is not None and known[0] == tool:
            return known[1]
        self._calls[tool] += 1
        return self._calls[tool]


def require_delays_fit(rules: Sequence[FaultRule], turn_timeout: float) -> None:
    """Raise `ScenarioError` for a fault that takes as long as a turn may: the turn could only time out."""
    for rule in rules:
        if rule.wait >= turn_timeout:
            raise ScenarioError(
                f"faults: `{rule.pattern}` waits {exact_seconds(rule.wait)}, but a turn may take only "
                f"{exact_seconds(turn_timeout)} (run.turn_timeout): make `seconds` shorter"
            )


def _place(one: _Begun, calls: Sequence[ToolCall]) -> int | None:
    """Where the call is among all calls of the conversation: by its id, else by its number."""
    theirs = [at for at, call in enumerate(calls) if call.name == one.tool]
    by_id = [at for at, call in enumerate(calls) if one.call_id and call.id == one.call_id]
    numbered = theirs[one.number - 1] if one.number <= len(theirs) else None
    if len(by_id) == 1:
        return by_id[0]
    # Some models give the same ids in each turn.
    return numbered if numbered in by_id or not by_id else by_id[-1]


def _made(calls: Counter[str], unchanged: Sequence[_Begun]) -> str:
    """Which calls there were, in words."""
    one = next(iter(unchanged), None)
    but = f"; call {one.number} of `{one.tool}` had no result that the fault could change" if one else ""
    return f"the agent called {numbers_of_calls(calls) or 'no tool'}{but}"
