"""The agents of a conversation with smolagents: what they call is written down, and the tokens are counted.

smolagents has no hook around a tool. Each agent belongs to one conversation, so its tools are replaced by
objects of a class derived from their own, which differs in how it is called.
"""

from __future__ import annotations

import contextlib
import copy
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from ...transcript import CallKind, Usage
from ..failures import is_unavailable
from ..port import ToolFaults
from .agent_calls import AgentCalls

_begun: ContextVar[str] = ContextVar("convoprobe_smolagents_call", default="")
"""The call that the agent is about to carry out, which the tool must not write down again."""


class Team:
    """An agent and those that it manages, theirs included."""

    def __init__(self, faults: ToolFaults | None) -> None:
        self.calls = AgentCalls()
        self.faults = faults
        self.usage: Usage | None = None
        self.outage: Exception | None = None
        self._uncounted = False
        self._lock = threading.Lock()

    def watch(self, agent: Any, *, hides: str, parent: Callable[[], str] = lambda: "") -> None:
        """Have all that the agent does written down, but for calls of the tool that it `hides`."""
        member = _Member(self, agent, parent, hides)
        agent.tools = {
            name: tool if name == hides else member.tool(tool) for name, tool in agent.tools.items()
        }
        agent.managed_agents = {name: member.managed(one) for name, one in agent.managed_agents.items()}
        for name in ("process_tool_calls", "execute_tool_call"):
            if hasattr(agent, name):
                setattr(agent, name, getattr(member, name)(getattr(agent, name)))
        memory = import_module("smolagents.memory")
        for step in (memory.ActionStep, memory.PlanningStep):
            agent.step_callbacks.register(step, self._count)

    def take_usage(self) -> Usage | None:
        """The tokens since the last time; None if they aren't known."""
        with self._lock:
            usage, uncounted = self.usage, self._uncounted
            self.usage, self._uncounted = None, False
        return None if uncounted else usage

    def _count(self, step: Any) -> None:
        usage = step.token_usage
        with self._lock:
            if usage is not None:
                self.usage = (self.usage or Usage()) + Usage(usage.input_tokens, usage.output_tokens)
            # A step whose model has failed has none either.
            elif getattr(step, "model_output_message", None) is not None:
                self._uncounted = True


@dataclass
class _Member:
    """One agent of a team; `parent` gives the call inside which it works."""

    team: Team
    agent: Any
    parent: Callable[[], str]
    hides: str
    _asked: list[tuple[str, str, Any]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def tool(self, tool: Any) -> Any:
        """The tool, whose calls are written down."""

        def called(*args: Any, **kwargs: Any) -> Any:
            return self._called(tool.name, _named(tool, args, kwargs), lambda: tool(*args, **kwargs))

        return _replaced(tool, called)

    def managed(self, agent: Any) -> Any:
        """The managed agent, whose calls are written down, and what it calls itself."""
        inside: list[str] = []
        self.team.watch(agent, hides=self.hides, parent=lambda: inside[-1] if inside else "")

        def called(*args: Any, **kwargs: Any) -> Any:
            return self._called(
                agent.name, _named(agent, args, kwargs), lambda: agent(*args, **kwargs), inside
            )

        return _replaced(agent, called)

    def _called(
        self, name: str, given: dict[str, Any], call: Callable[[], Any], inside: list[str] | None = None
    ) -> Any:
        """What the call gives; `inside` are the calls within which a managed agent works."""
        own = _begun.get() or self._begin(name, given)
        # What the tool itself may call is another call.
        token = _begun.set("")
        try:
            with _working(own, inside):
                result = self._through_faults(name, call, own)
        except Exception as error:
            self.team.calls.end(own, error=f"{type(error).__name__}: {error}", arguments=given)
            if inside is not None and is_unavailable(error):
                # Its manager takes it for a tool that failed, but it isn't the agents' fault.
                self.team.outage = error
            raise
        finally:
            _begun.reset(token)
        self.team.calls.end(own, result=_raw(result), arguments=given)
        return result

    def _through_faults(self, name: str, call: Callable[[], Any], own: str) -> Any:
        faults = self.team.faults
        return call() if faults is None else faults.around_sync(name, call, call_id=own)

    def _begin(self, name: str, arguments: Any, id: str = "", group: str = "") -> str:
        kind = CallKind.SUB_AGENT if name in self.agent.managed_agents else CallKind.TOOL
        agent = self.agent.name or ""
        return self.team.calls.begin(
            name, arguments, id=id, agent=agent, parent=self.parent(), group=group, kind=kind
        )

    def process_tool_calls(self, original: Callable[..., Iterator[Any]]) -> Callable[..., Iterator[Any]]:
        """Writes down what the model asks for, in its order, before the threads of the calls begin."""

        def process(message: Any, *more: Any, **named: Any) -> Iterator[Any]:
            asked = [one for one in message.tool_calls if one.function.name != self.hides]
            group = str(asked[0].id) if len(asked) > 1 else ""
            for one in asked:
                function = one.function
                own = self._begin(function.name, function.arguments, str(one.id), group)
                self._asked.append((own, function.name, function.arguments))
                if self.team.faults is not None:
                    self.team.faults.asked([(function.name, own)])
            return original(message, *more, **named)

        return process

    def execute_tool_call(self, original: Callable[[str, Any], Any]) -> Callable[[str, Any], Any]:
        """Has a call end also where no tool is reached: it doesn't exist, or its arguments are wrong."""

        def execute(tool_name: str, arguments: Any) -> Any:
            if tool_name == self.hides:
                return original(tool_name, arguments)
            own = self._next(tool_name, arguments)
            token = _begun.set(own)
            try:
                return original(tool_name, arguments)
            except Exception as error:
                if self.team.calls.waits(own):
                    self.team.calls.end(own, error=str(error), executed=False)
                raise
            finally:
                _begun.reset(token)

        return execute

    def _next(self, name: str, arguments: Any) -> str:
        with self._lock:
            same = (one for one in self._asked if one[1] == name and (one[2] or {}) == arguments)
            if (found := next(same, None)) is not None:
                self._asked.remove(found)
                return found[0]
        return self._begin(name, arguments)


def _replaced(tool: Any, called: Callable[..., Any]) -> Any:
    """An object that differs from the tool, or the managed agent, only in what it does when it is called."""
    kind = type(tool)
    call = {"__call__": lambda _, *args, **kwargs: called(*args, **kwargs), "__module__": kind.__module__}
    new = copy.copy(tool)
    new.__class__ = type(kind.__name__, (kind,), call)
    return new


@contextlib.contextmanager
def _working(call: str, inside: list[str] | None) -> Iterator[None]:
    if inside is not None:
        inside.append(call)
    try:
        yield
    finally:
        if inside is not None:
            inside.remove(call)


def _named(tool: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments by name: code that a model writes may give them by position."""
    if len(args) == 1 and not kwargs and isinstance(args[0], dict):
        return args[0]
    given = dict(zip(tool.inputs, args, strict=False))
    return {**given, **{name: value for name, value in kwargs.items() if name != "sanitize_inputs_outputs"}}


def _raw(value: Any) -> Any:
    """Smolagents has texts of a class of its own."""
    return str(value) if isinstance(value, str) else value
