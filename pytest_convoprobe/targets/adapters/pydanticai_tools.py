"""The tools of a PydanticAI agent, and of the agents that its tools name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

from ...llm.port import ToolSpec
from .closures import values_used_by

_RUNS = frozenset(("run", "run_sync", "run_stream", "run_stream_events", "iter"))


class _UnknownTools(Exception):
    """Some tools are only known while the agent runs."""


def tools_of(agent: Any) -> tuple[ToolSpec, ...] | None:
    """The tools of the agent, and of those that run inside of them; None if there may be others.

    An incomplete list would make an error of a scenario that names one of the others.
    """
    found: dict[str, ToolSpec] = {}
    seen: set[int] = set()
    todo = [agent]
    try:
        while todo:
            one = todo.pop()
            if id(one) not in seen:
                seen.add(id(one))
                for spec, function in _own(one):
                    found.setdefault(spec.name, spec)
                    todo += _agents_in(function)
    except _UnknownTools:
        return None
    return tuple(found.values())


def _own(agent: Any) -> Iterator[tuple[ToolSpec, Callable[..., Any]]]:
    """The tools of this agent alone, and the functions that hand over, with their code."""
    toolset_kind = import_module("pydantic_ai.toolsets").FunctionToolset
    native = agent.root_capability.get_native_tools()
    if not all(isinstance(one, toolset_kind) for one in agent.toolsets) or not all(map(_is_optional, native)):
        raise _UnknownTools
    for tool in (tool for toolset in agent.toolsets for tool in toolset.tools.values()):
        spec = tool.tool_def
        yield ToolSpec(spec.name, spec.description or "", spec.parameters_json_schema), tool.function
    for processor in getattr(getattr(agent, "_output_toolset", None), "processors", {}).values():
        function = getattr(getattr(processor, "_function_schema", None), "function", None)
        if inspect.isfunction(function):
            yield ToolSpec(function.__name__, inspect.getdoc(function) or "", {}), function


def _is_optional(tool: Any) -> bool:
    """Whether it is a tool of the provider's that PydanticAI offers by itself, such as a search for tools."""
    return bool(getattr(tool, "optional", False))


def _agents_in(function: Callable[..., Any]) -> list[Any]:
    """The agents that a function names."""
    kind = import_module("pydantic_ai.agent").AbstractAgent
    agents = [value for value in values_used_by(function, ("pydantic_ai",)) if isinstance(value, kind)]
    names = getattr(inspect.unwrap(function), "__code__", None)
    if not agents and names is not None and not _RUNS.isdisjoint(names.co_names):
        raise _UnknownTools  # it runs something that comes from elsewhere, such as the dependencies
    return agents
