"""What CrewAI's event bus says about a conversation: the calls of tools, and the tokens of models.

There is one bus in a process. It calls listeners in other threads, with the context variables of the code
that has emitted an event: by one of them each conversation gets its own events.
"""

from __future__ import annotations

import contextlib
import re
import threading
from collections import Counter
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from ...cutting import cut_text
from ...transcript import CallKind, ToolCall, Usage
from ..plain_values import clean_text, plain, text_of
from ..reply_parts import as_arguments, as_usage

_UNKNOWN_TOOL = "tool_selection_error"
_ASKING_OTHERS = re.compile(r"(delegate_work_to|ask_question_to)_coworker")
_NOT_CARRIED_OUT = re.compile(r"Tool execution blocked by hook|Tool not found|usage limit")
_AWAY = re.compile(
    r"\b(408|429|5\d\d)\b|rate.?limit|connection (error|refused)|timed? ?out|overloaded|unavailable", re.I
)

_current: ContextVar[Heard | None] = ContextVar("convoprobe_crewai", default=None)


@dataclass
class Heard:
    """The events of one message. They may come late, and in another order than they were emitted in."""

    _parents: dict[str, str] = field(default_factory=dict)
    _begun: dict[str, Any] = field(default_factory=dict)
    _ended: dict[str, Any] = field(default_factory=dict)
    _answers: list[Any] = field(default_factory=list)
    _failures: list[Any] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """What is emitted meanwhile, by this code and what it starts, comes here."""
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)

    def take(self, event: Any) -> None:
        """Take an event."""
        with self._lock:
            self._parents[event.event_id] = event.parent_event_id or ""
            if event.type == "tool_usage_started":
                self._begun[event.event_id] = event
            elif event.type == _UNKNOWN_TOOL and event.tool_name:
                # Neither begun nor ended, since there is no such tool.
                self._begun[event.event_id] = self._ended[event.event_id] = event
            elif event.type in ("tool_usage_finished", "tool_usage_error"):
                self._ended[event.started_event_id or ""] = event
            elif event.type == "llm_call_completed":
                self._answers.append(event)
            elif event.type == "llm_call_failed":
                self._failures.append(event)

    def calls(self) -> tuple[ToolCall, ...]:
        """The calls, in the order in which they began."""
        with self._lock:
            begun = sorted(self._begun.values(), key=lambda event: event.timestamp)
            asked = [(event, self._asked_by(event)) for event in begun]
            # CrewAI looks for an unknown tool several times, each with an event.
            keys = [(group, _key(event)) for event, group in asked]
            once = [one for at, one in enumerate(asked) if keys[at] not in keys[:at]]
            sizes = Counter(group for _, group in once)
            return tuple(self._call(event, group if sizes[group] > 1 else "") for event, group in once)

    def usage(self) -> Usage | None:
        """The tokens of all calls of models; None if one of them has reported none."""
        with self._lock:
            counts = [as_usage(event.usage) for event in self._answers]
        known = [usage for usage in counts if usage is not None]
        return sum(known, Usage()) if known and len(known) == len(counts) else None

    @property
    def outage(self) -> str | None:
        """Why the model of an agent that another one has asked gave no answer, if it is a service's fault.

        The agent that asked gets it as an answer. CrewAI only gives the text of the error.
        """
        with self._lock:
            inside = (event for event in self._failures if self._call_around(event))
            return next((event.error for event in inside if _AWAY.search(event.error)), None)

    def _asked_by(self, begun: Any) -> str:
        """The answer of the model that asked for a call: the last one before it, of the same agent."""
        before = (one for one in self._answers if one.timestamp <= begun.timestamp)
        same = [one for one in before if one.agent_id == begun.agent_id]
        return max(same, key=lambda one: one.timestamp).event_id if same else ""

    def _call_around(self, event: Any) -> str:
        """The call of a tool within which something was emitted; empty if there is none."""
        place = self._parents.get(event.event_id, "")
        while place and place not in self._begun:
            place = self._parents.get(place, "")
        return place

    def _call(self, begun: Any, group: str) -> ToolCall:
        ended = self._ended.get(begun.event_id)
        output = None if ended is None else getattr(ended, "output", None)
        error = None if ended is None else _error_of(ended)
        skipped = isinstance(output, str) and _NOT_CARRIED_OUT.search(output) is not None
        unknown = begun.type == _UNKNOWN_TOOL
        return ToolCall(
            name=begun.tool_name,
            arguments=as_arguments(begun.tool_args),
            result=None if error is not None else plain(output),
            error=error,
            latency=None if ended is None else (ended.timestamp - begun.timestamp).total_seconds(),
            executed=not (skipped or unknown),
            # Without such a tool, the event has no arguments.
            unreported=("arguments",) if unknown else ("result",) if ended is None else (),
            id=begun.event_id,
            parent=self._call_around(begun),
            agent=begun.agent_role or "",
            group=group,
            kind=CallKind.SUB_AGENT if _ASKING_OTHERS.search(begun.tool_name) else CallKind.TOOL,
        )


def _key(begun: Any) -> str:
    return str(begun.tool_name if begun.type == _UNKNOWN_TOOL else begun.event_id)


def _error_of(ended: Any) -> str | None:
    if ended.type in ("tool_usage_error", _UNKNOWN_TOOL):
        return cut_text(clean_text(text_of(ended.error)))
    failure = getattr(ended, "failure", None)
    return None if failure is None else clean_text(str(failure.message))


def _hear(_: Any, event: Any) -> None:
    heard = _current.get()
    if heard is not None:
        heard.take(event)


class Listening:
    """Has the bus's events heard from its making until `stop`. Only one listener is registered for all."""

    _lock = threading.Lock()
    _open = 0

    def __init__(self) -> None:
        self.bus = import_module("crewai.events.event_bus").crewai_event_bus
        self._stopped = False
        with Listening._lock:
            Listening._open += 1
            if Listening._open == 1:
                for kind in _kinds():
                    self.bus.on(kind)(_hear)

    def stop(self) -> None:
        """May be called again."""
        with Listening._lock:
            if self._stopped:
                return
            self._stopped = True
            Listening._open -= 1
            if Listening._open == 0:
                for kind in _kinds():
                    self.bus.off(kind, _hear)


def _kinds() -> list[Any]:
    """The classes of events within which others are emitted, and of those that are needed themselves."""
    types = import_module("crewai.events.event_context").SCOPE_STARTING_EVENTS
    ends = {"tool_usage_finished", "tool_usage_error", "llm_call_completed", "llm_call_failed"}
    wanted = {*types, *ends, _UNKNOWN_TOOL}
    import_module("crewai.events.event_types")
    found = _subclasses(import_module("crewai.events.base_events").BaseEvent)
    return [kind for kind in found if kind.model_fields["type"].default in wanted]


def _subclasses(kind: type) -> list[Any]:
    below: list[type] = kind.__subclasses__()
    return [*below, *(one for sub in below for one in _subclasses(sub))]
