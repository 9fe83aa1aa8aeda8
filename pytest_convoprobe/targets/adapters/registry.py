"""Which adapter talks with an object. Found by the names of its classes: nothing is imported for that."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType

from ...llm.port import ToolSpec
from ..call_style import METHODS
from ..frameworks import framework_of_class, own_answering
from .sessions import AgentSession, SessionOptions


@dataclass(frozen=True)
class Adapter:
    """Talks with the agents of one framework.

    `classes` are names such as `langgraph.Pregel`: the top module and the name of a class, of which the
    agent's class is one or is derived from. `module` is the module of this folder with `open_session`
    and, where the tools of an agent can be listed, `tools_of`. `takes_history` says that its sessions begin
    with the `history` of their options.
    """

    framework: str
    classes: tuple[str, ...]
    module: str
    takes_history: bool = False

    def matches(self, kind: type) -> bool:
        """Whether the class is an agent's of this framework."""
        # The project may have a package with the name of a framework, such as `agents`.
        bases = (base for base in kind.__mro__ if framework_of_class(base) is not None)
        names = {f"{base.__module__.partition('.')[0]}.{base.__name__}" for base in bases}
        return not names.isdisjoint(self.classes)

    async def open(self, agent: object, options: SessionOptions) -> AgentSession:
        """A new session with the agent."""
        make: Callable[[object, SessionOptions], Awaitable[AgentSession]] = self._module().open_session
        return await make(agent, options)

    def tools_of(self, agent: object) -> tuple[ToolSpec, ...] | None:
        """The agent's tools; None if they can't be listed."""
        find: Callable[[object], tuple[ToolSpec, ...] | None] | None
        find = getattr(self._module(), "tools_of", None)
        return None if find is None else find(agent)

    def _module(self) -> ModuleType:
        return import_module(f".{self.module}", __package__)


ADAPTERS: tuple[Adapter, ...] = (
    Adapter("PydanticAI", ("pydantic_ai.AbstractAgent",), "pydanticai", takes_history=True),
    Adapter("Strands", ("strands.Agent",), "strands"),
    Adapter("Google ADK", ("google.BaseAgent", "google.BaseNode", "google.App", "google.Runner"), "adk"),
    Adapter("smolagents", ("smolagents.MultiStepAgent",), "smolagents"),
    Adapter("LangGraph", ("langgraph.Pregel",), "langgraph", takes_history=True),
    Adapter("CrewAI", ("crewai.Crew", "crewai.Agent"), "crewai"),
    Adapter("OpenAI Agents SDK", ("agents.Agent",), "openai_agents", takes_history=True),
)
"""All adapters, the most particular classes first."""


def adapter_for(agent: object) -> Adapter | None:
    """The adapter of an object; None for others, and for one whose answering the project has written."""
    found = next((one for one in ADAPTERS if one.matches(type(agent))), None)
    return None if found is None or own_answering(agent, ("__call__", *METHODS)) else found
