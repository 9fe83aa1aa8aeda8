"""Another agent like a given one, for a conversation that shares nothing with others.

Strands has no copy of its own. The parts of an agent that belong to it alone (a session's store, a memory,
plug-ins) can't be given to a second one: for such an agent, a function has to make each.
"""

from __future__ import annotations

import copy
import inspect
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

from ...errors import TargetStartError
from .own_agents import require_new

_OF_ONE_AGENT = {
    "_session_manager": "a session manager, which keeps one conversation",
    "memory_manager": "a memory, which conversations would share",
    "_context_manager": "a context manager",
    "_background_tasks": "background tasks",
    "_model_router": "a router of models",
    "_checkpointing": "checkpoints",
}
_BUILT_IN = ("_ModelPlugin", "AgentDelegation")


def sub_agents_of(agent: Any) -> list[Any]:
    """The agents that an agent has as tools."""
    tools = agent.tool_registry.registry.values()
    return [tool.agent for tool in tools if getattr(tool, "tool_type", "") == "agent"]


def separate_sub_agents(agent: Any) -> None:
    """Give an agent that belongs to one conversation agents as tools that do so too.

    A function that makes agents may well give the same expert to each.
    """
    tools = agent.tool_registry.registry
    for name, tool in list(tools.items()):
        if getattr(tool, "tool_type", "") == "agent" and not _not_clonable(tool.agent):
            tools[name] = _own_tool(tool)
        elif getattr(tool, "tool_type", "") == "agent":
            require_new(tool.agent)


def clone(agent: Any) -> Any:
    """An agent with the same model, tools, prompt and hooks.

    Raises `TargetStartError` for an agent of which no second one can be made.
    """
    if problem := _not_clonable(agent):
        raise TargetStartError(
            f"the agent `{agent.name}` has {problem}, so no second one can be made of it, and each "
            "conversation needs its own: give a function without parameters that makes the agent"
        )
    new = type(agent)(**_arguments_of(agent))
    _copy_hooks(agent, new)
    _copy_middleware(agent, new)
    return new


def _not_clonable(agent: Any) -> str:
    found = (words for name, words in _OF_ONE_AGENT.items() if getattr(agent, name, None))
    if problem := next(found, ""):
        return problem
    if type(agent).__init__ is not import_module("strands").Agent.__init__:
        return f"a class with a constructor of its own (`{type(agent).__name__}`)"
    plugins = getattr(getattr(agent, "_plugin_registry", None), "_plugins", {}).values()
    own = (plugin.name for plugin in plugins if type(plugin).__name__ not in _BUILT_IN)
    return next((f"the plug-in `{name}`" for name in own), "")


def _arguments_of(agent: Any) -> dict[str, Any]:
    """What the constructor is called with; without what this version of Strands doesn't know."""
    stateful = getattr(agent.model, "stateful", False)
    arguments = {
        "model": agent.model,
        "messages": copy.deepcopy(agent.messages),
        "tools": [_own_tool(tool) for tool in agent.tool_registry.registry.values()],
        "system_prompt": getattr(agent, "system_prompt_content", agent.system_prompt),
        "structured_output_model": getattr(agent, "_default_structured_output_model", None),
        "structured_output_prompt": getattr(agent, "_structured_output_prompt", None),
        "conversation_manager": None if stateful else copy.copy(agent.conversation_manager),
        "record_direct_tool_call": agent.record_direct_tool_call,
        "trace_attributes": agent.trace_attributes,
        "baggage_attributes": getattr(agent, "baggage_attributes", None),
        "aux_model": getattr(agent, "_aux_model", None),
        "agent_id": agent.agent_id,
        "name": agent.name,
        "description": agent.description,
        "state": agent.state.get(),
        "interventions": getattr(getattr(agent, "_intervention_registry", None), "handlers", None),
        "tool_executor": agent.tool_executor,
        "retry_strategy": copy.copy(getattr(agent, "_retry_strategy", None)),
        "concurrent_invocation_mode": getattr(agent, "concurrent_invocation_mode", None),
        "storage": getattr(agent, "_storage", None),
        **_unless_default("sandbox", getattr(agent, "_sandbox", None), "NotASandboxLocalEnvironment"),
        **_unless_default("callback_handler", agent.callback_handler, "PrintingCallbackHandler"),
    }
    known = inspect.signature(type(agent).__init__).parameters
    return {name: value for name, value in arguments.items() if name in known}


def _unless_default(name: str, value: Any, default: str) -> dict[str, Any]:
    """Each agent makes its own where none was given."""
    return {} if type(value).__name__ == default else {name: value}


def _own_tool(tool: Any) -> Any:
    """A tool that is an agent remembers its conversation too."""
    if getattr(tool, "tool_type", "") != "agent":
        return tool
    new = copy.copy(tool)
    new._agent = clone(tool.agent)
    new._lock = threading.Lock()
    return new


def _copy_hooks(old: Any, new: Any) -> None:
    """The project's own hooks; those of Strands' parts were added by the constructor."""
    for event, entries in old.hooks._registered_callbacks.items():
        present = new.hooks._registered_callbacks.get(event, ())
        for entry in _without(entries, present, lambda one: _mark(one.callback)):
            new.hooks.add_callback(event, entry.callback, order=entry.order)


def _copy_middleware(old: Any, new: Any) -> None:
    if not hasattr(old, "_middleware_registry"):
        return
    handlers = new._middleware_registry._handlers
    for stage, tagged in old._middleware_registry._handlers.items():
        present = handlers.get(stage, ())
        own = _without(tagged, present, lambda one: (one.phase, *_mark(one.handler)))
        handlers.setdefault(stage, []).extend(own)


def _mark(function: Any) -> tuple[str, str]:
    """By what a function of one agent is known to be that of another."""
    named = function if hasattr(function, "__qualname__") else type(function)
    return named.__module__, named.__qualname__


def _without(all_of: Iterable[Any], present: Iterable[Any], mark: Callable[[Any], object]) -> list[Any]:
    """What is left of `all_of` without one for each that is `present`."""
    left = Counter(map(mark, present))
    rest = []
    for one in all_of:
        if left[mark(one)] > 0:
            left[mark(one)] -= 1
        else:
            rest.append(one)
    return rest
