"""A copy of an agent of smolagents with a memory of its own."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from ...errors import TargetStartError

_LOCAL = "LocalPythonExecutor"


def keeps_tools_here(agent: Any) -> bool:
    """Whether the agent's tools are called in this process: other executors take their source elsewhere."""
    executor = getattr(agent, "python_executor", None)
    return executor is None or type(executor).__name__ == _LOCAL


def copied(agent: Any) -> Any:
    """An agent with the same model, tools, prompts and callbacks, and copies of those that it manages.

    Raises `TargetStartError` for an agent that shares something by which conversations would mix.
    """
    if not keeps_tools_here(agent):
        raise TargetStartError(
            f"the agent runs code in a `{type(agent.python_executor).__name__}`, which conversations can't "
            "share: give a function without parameters that makes the agent"
        )
    new = copy.copy(agent)
    new.memory = copy.copy(agent.memory)
    new.memory.steps = list(agent.memory.steps)
    new.state = dict(agent.state)
    new.tools = dict(agent.tools)
    new.managed_agents = {name: copied(one) for name, one in agent.managed_agents.items()}
    new.monitor = type(agent.monitor)(agent.model, agent.logger)
    new.step_callbacks = _callbacks(agent, new)
    if hasattr(agent, "python_executor"):
        # Code leaves its variables there.
        new.python_executor = agent.create_python_executor()
    return new


def _callbacks(agent: Any, new: Any) -> Any:
    registry = type(agent.step_callbacks)()
    for step, callbacks in agent.step_callbacks._callbacks.items():
        for callback in callbacks:
            registry.register(step, _of(callback, agent, new))
    return registry


def _of(callback: Callable[..., Any], agent: Any, new: Any) -> Callable[..., Any]:
    """The same method of the copy, where the callback is one of the agent's own monitor."""
    is_own = getattr(callback, "__self__", None) is agent.monitor
    return getattr(new.monitor, callback.__name__) if is_own else callback
