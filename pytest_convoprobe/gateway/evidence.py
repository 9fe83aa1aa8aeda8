"""What passed the gateway in one conversation, as evidence in its transcript.

What the target reports counts. Where it doesn't report its calls of tools or its tokens, those that were seen
take their place, marked as seen. Nothing seen is never taken for nothing done: see `clearness`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType

from ..cutting import MOST_TEXT, at_most
from ..formatting import counted
from ..text import one_line, shorten
from ..transcript import Reply, ToolCall, Transcript, Turn, Usage, WireSeen
from .asked_tools import ToolOnWire, asked_tools, taken_up
from .call_reading import ReadCall, read_call
from .clearness import unclear
from .exchange import WireCall
from .prices import Prices
from .recovery import lost_calls

_NAME = 60
NO_PRICES: Prices = MappingProxyType({})


class WireEvidence:
    """Reads the calls of one conversation, and adds them to its transcript.

    `calls` gives all calls until now, in the order in which they began. `max_text` is how many characters of
    one text are kept, `prices` are those of models that LiteLLM's list doesn't have.
    """

    def __init__(
        self, calls: Callable[[], Sequence[WireCall]], max_text: int = MOST_TEXT, prices: Prices = NO_PRICES
    ) -> None:
        self._calls = calls
        self._prices = prices
        self._max_text = max_text
        self._read: dict[int, ReadCall | None] = {}
        self._last: tuple[tuple[WireCall, ...], Transcript, Transcript] | None = None

    def completed(self, transcript: Transcript) -> Transcript:
        """The transcript, as the conversation itself knows it, with what was seen in each turn."""
        calls = tuple(self._calls())
        # It is asked for again and again, and mostly nothing has happened in between.
        if self._last is None or self._last[:2] != (calls, transcript):
            with at_most(self._max_text):
                self._last = (
                    calls,
                    transcript,
                    _Seen(self._reading(calls), self._prices).added_to(transcript),
                )
        return self._last[2]

    def _reading(self, calls: Sequence[WireCall]) -> tuple[ReadCall, ...]:
        found = (self._read_once(place, call) for place, call in enumerate(calls))
        return tuple(one for one in found if one is not None)

    def _read_once(self, place: int, call: WireCall) -> ReadCall | None:
        known = self._read.get(place)
        if place not in self._read or (known is not None and known.seen is not call):
            self._read[place] = read_call(place, call)
        return self._read[place]


@dataclass(frozen=True)
class _Seen:
    """The calls of a conversation, by turn."""

    calls: tuple[ReadCall, ...]
    prices: Prices

    def added_to(self, transcript: Transcript) -> Transcript:
        turns = tuple(replace(turn, reply=self._reply(turn)) for turn in transcript.turns)
        completed = replace(transcript, turns=turns)
        return completed if transcript.pending is None else self._with_pending(completed)

    def _reply(self, turn: Turn) -> Reply:
        reply, number = turn.reply, turn.number
        seen, tools = self._of(number), self._tools(number)
        clear = "" if reply.tool_calls is not None else self._unclear(number)
        gives, calls, usage = list[str](), reply.tool_calls, reply.usage
        if calls is None and (tools or not clear):
            gives, calls = [*gives, "tool_calls"], tools
        if usage is None and seen.usage is not None:
            gives, usage = [*gives, "usage"], seen.usage
        remarks = () if not seen.calls else tuple(self._remarks(reply, tools, seen.usage))
        wire = replace(seen, gives=tuple(gives), unclear=clear, remarks=remarks)
        return replace(reply, tool_calls=calls, usage=usage, wire=wire)

    def _with_pending(self, transcript: Transcript) -> Transcript:
        number = transcript.last_turn
        seen, tools = self._of(number), self._tools(number)
        reported, usage = transcript.pending_calls, transcript.pending_usage
        gives = [] if reported or not tools else ["tool_calls"]
        gives += [] if usage is not None or seen.usage is None else ["usage"]
        return replace(
            transcript,
            pending_calls=reported or tools,
            pending_usage=seen.usage if usage is None else usage,
            pending_wire=replace(seen, gives=tuple(gives)),
        )

    def _of(self, turn: int) -> WireSeen:
        calls = (one for one in self.calls if one.turn == turn)
        return WireSeen(tuple(one.as_model_call(self.prices, lost=one.place in self._lost) for one in calls))

    def _tools(self, turn: int) -> tuple[ToolCall, ...]:
        return tuple(one.call for one in self._asked if one.turn == turn)

    def _unclear(self, turn: int) -> str:
        return unclear([one for one in self.calls if one.turn == turn], self.calls, self._taken)

    @cached_property
    def _taken(self) -> frozenset[int]:
        return taken_up(self.calls)

    @cached_property
    def _asked(self) -> tuple[ToolOnWire, ...]:
        return asked_tools(self.calls, self._taken)

    @cached_property
    def _lost(self) -> frozenset[int]:
        return lost_calls(self.calls)

    @staticmethod
    def _remarks(reply: Reply, tools: Sequence[ToolCall], usage: Usage | None) -> Iterator[str]:
        """Where the target's own report and what was seen differ."""
        if reply.tool_calls is not None:
            seen, reported = Counter(one.name for one in tools), Counter(one.name for one in reply.tool_calls)
            if only_seen := _names(seen - reported):
                yield f"the model asked for {only_seen}, which the target does not report"
            if only_reported := _names(reported - seen):
                yield f"the target reports {only_reported}, which no model was seen to ask for"
        if reply.usage is not None and usage is not None and reply.usage.total != usage.total:
            reported_tokens, seen_tokens = counted(reply.usage.total, "token"), counted(usage.total, "token")
            yield f"the target reports {reported_tokens}, but {seen_tokens} were seen"


def _names(calls: Counter[str]) -> str:
    shown = (f"`{shorten(one_line(name), _NAME)}`" for name in calls)
    times = (f" ({number} times)" if number > 1 else "" for number in calls.values())
    return ", ".join(f"{name}{often}" for name, often in zip(shown, times, strict=True))
