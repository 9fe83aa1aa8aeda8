"""Copies of crews and agents of CrewAI, with tools that faults can be injected into."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from ..port import ToolFaults

_NO_LIMIT = 10**9


def agents_of(agent: Any) -> list[Any]:
    """All that has tools: the agents and the tasks of a crew, or the single agent."""
    if not hasattr(agent, "tasks"):
        return [agent]
    manager = [] if agent.manager_agent is None else [agent.manager_agent]
    return [*agent.agents, *manager, *agent.tasks]


def copied(agent: Any, faults: ToolFaults | None) -> Any:
    """A copy of a crew or an agent by CrewAI's own `copy`, whose tools are called through `faults`.

    Tools count their calls where there is a limit, so that each copy needs its own.
    """
    new = agent.copy()
    if hasattr(new, "stream"):
        new.stream = False  # a stream has no result before somebody reads it
    tools: dict[int, Any] = {}
    for holder in agents_of(new):
        if holder.tools:
            holder.tools = [tools.setdefault(id(tool), _copied(tool, faults)) for tool in holder.tools]
    return new


def _copied(tool: Any, faults: ToolFaults | None) -> Any:
    new = tool.model_copy()
    if faults is not None:
        # Calls in threads have no ids before they begin. One with a limit is carried out in its turn.
        new.max_usage_count = new.max_usage_count or _NO_LIMIT
        for name in ("run", "_run"):
            # pydantic refuses to set what isn't a field; CrewAI looks both up on the tool.
            new.__dict__[name] = _faulty(getattr(tool, name), tool.name, faults)
    return new


def _faulty(run: Callable[..., Any], tool: str, faults: ToolFaults) -> Callable[..., Any]:
    name = import_module("crewai.utilities.string_utils").sanitize_tool_name(tool)
    scope = import_module("crewai.events.event_context")

    def faulty(*args: Any, **kwargs: Any) -> Any:
        # The event of the call that is carried out is the innermost one.
        own = scope.get_current_parent_id() or ""
        return faults.around_sync(name, lambda: run(*args, **kwargs), call_id=own)

    return faulty
