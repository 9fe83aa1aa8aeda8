"""The tools of a LangGraph agent: those of the graph, and those that its functions name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.pregel import Pregel

from ...llm.port import ToolSpec
from ..plain_values import plain
from .closures import values_used_by


def tools_of(graph: Any) -> tuple[ToolSpec, ...] | None:
    """The tools of a graph, of the graphs inside it, and of those that its tools use; None if it has none.

    A graph without tools that can be found may still call some.
    """
    found: dict[str, BaseTool] = {}
    seen: set[int] = set()
    todo: list[object] = [graph]
    while todo:
        one = todo.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, BaseTool):
            found.setdefault(one.name, one)
        todo += reversed(list(_within(one)))
    return tuple(map(_spec, found.values())) or None


def _within(value: Any) -> Iterator[object]:
    """What a graph, a node, a tool or a function of the project makes use of."""
    if isinstance(value, Pregel):
        yield from (node.bound for node in value.nodes.values())
    elif isinstance(value, BaseTool):
        yield from _used_by(getattr(value, "func", None) or getattr(value, "coroutine", None))
    elif isinstance(value, (list, tuple)):
        yield from value
    elif hasattr(value, "tools_by_name"):
        yield from value.tools_by_name.values()
    elif hasattr(value, "steps"):
        yield from value.steps
    elif hasattr(value, "func") or hasattr(value, "afunc"):
        yield from _used_by(getattr(value, "func", None) or getattr(value, "afunc", None))


def _used_by(function: object) -> Iterator[object]:
    """The tools and graphs that a function of the project names."""
    for value in values_used_by(function, ("langchain", "langgraph")):
        if isinstance(value, (BaseTool, Pregel, list, tuple)):
            yield value


def _spec(tool: BaseTool) -> ToolSpec:
    """As the model gets it."""
    function = convert_to_openai_tool(tool)["function"]
    return ToolSpec(tool.name, function.get("description", ""), plain(function.get("parameters", {})))
