"""What an object of the project is as a source of agents: an agent itself, or what makes one."""

from __future__ import annotations

import functools
import inspect
from dataclasses import dataclass
from typing import Any

from ..llm.port import ToolSpec
from .adapters.registry import Adapter, adapter_for
from .call_style import (
    METHODS,
    Calling,
    answering,
    calling,
    is_answered_on_loop,
    is_async,
    takes_context,
    takes_nothing,
)
from .given_objects import owner_of
from .plain_values import described

_METHODS = ", ".join(f"`{name}`" for name in METHODS)


@dataclass(frozen=True)
class AgentSource:
    """Where conversations get their agents from.

    `makes_agents`: calling `value` makes one, without arguments or, if it `takes_context`, with the context
    of the conversation; otherwise `value` itself is the agent, and `owner` the object that has its state, if
    any. `on_loop` is where it is made. With `adapter`, the agent is that of a framework, and each
    conversation is a session of its own.
    """

    value: Any
    makes_agents: bool
    on_loop: bool
    owner: object | None = None
    adapter: Adapter | None = None
    takes_context: bool = False


def source_of(agent: object) -> AgentSource:
    """What an object is as a source of agents. Raises `ValueError` for what can't be a target."""
    if isinstance(agent, type):
        return AgentSource(agent, True, is_answered_on_loop(agent), takes_context=takes_context(agent))
    if _is_function(agent) and (takes_nothing(agent) or takes_context(agent)):
        return AgentSource(agent, True, is_async(agent), takes_context=takes_context(agent))
    if (adapter := adapter_for(agent)) is not None:
        return AgentSource(agent, False, True, adapter=adapter)
    calling_of(agent)
    return AgentSource(agent, False, inspect.isfunction(agent), owner_of(agent))


def _is_function(agent: object) -> bool:
    return inspect.isroutine(agent) or isinstance(agent, functools.partial)


@dataclass(frozen=True)
class AdaptedAgent:
    """An agent that only an adapter can talk with."""

    adapter: Adapter
    agent: Any

    def tools(self) -> tuple[ToolSpec, ...] | None:
        """The agent's tools, as far as its adapter can list them."""
        return self.adapter.tools_of(self.agent)


def calling_of(agent: object) -> Calling:
    """How an object takes messages. Raises `ValueError` if it takes none."""
    function = None if isinstance(agent, type) else answering(agent)
    if function is None:
        kind = "a class" if isinstance(agent, type) else described(agent)
        raise ValueError(f"{kind} takes no messages: it can't be called and has none of {_METHODS}")
    return calling(function)
