"""Crews and agents of CrewAI: a copy for each message, which is given what was said before.

CrewAI keeps no conversation. A crew gets the earlier messages by a placeholder in its tasks, or as CrewAI's
own input `crew_chat_messages`; a single agent takes a list of messages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from ...errors import TargetStartError, TargetUnavailable
from ...llm.port import ToolSpec
from ...project_code.tracebacks import describe
from ...transcript import Reply, ToolCall, Usage
from ..plain_values import plain
from .crewai_copies import agents_of, copied
from .crewai_events import Heard, Listening
from .crewai_inputs import Inputs, inputs_of
from .sessions import SessionOptions

_SECONDS_FOR_EVENTS = 10
_ADD_TOOLS = ("mcps", "apps", "memory", "multimodal", "allow_code_execution")
"""Fields of crews and agents for which CrewAI adds tools when it runs."""


async def open_session(agent: Any, options: SessionOptions) -> CrewaiSession:
    """A conversation with a crew, or with a single agent."""
    if not (options.context is None or isinstance(options.context, Mapping)):
        raise TargetStartError("`target.context` has to give a mapping: CrewAI's `inputs`")
    _refuse_mixing(agent, options)
    _require_copy(agent)
    if not hasattr(agent, "tasks"):
        return CrewaiSession(agent, options, None)
    return CrewaiSession(agent, options, inputs_of(agent, dict(options.context or {})))


def tools_of(agent: Any) -> tuple[ToolSpec, ...] | None:
    """The tools of all agents and tasks; None where CrewAI adds others when it runs."""
    holders = agents_of(agent)
    if any(getattr(holder, name, None) for holder in (agent, *holders) for name in _ADD_TOOLS):
        return None
    tools = [tool for holder in holders for tool in holder.tools or ()]
    return tuple({tool.name: _tool_spec(tool) for tool in (*tools, *_for_coworkers(agent))}.values())


def _for_coworkers(agent: Any) -> list[Any]:
    """The tools that CrewAI makes for agents that may ask others."""
    agents = getattr(agent, "agents", ())
    asks = any(one.allow_delegation for one in agents) or "hierarchical" in str(getattr(agent, "process", ""))
    module = import_module("crewai.tools.agent_tools.agent_tools")
    return list(module.AgentTools(agents=agents).tools()) if asks else []


def _tool_spec(tool: Any) -> ToolSpec:
    name = import_module("crewai.utilities.string_utils").sanitize_tool_name(tool.name)
    schema = getattr(tool, "args_schema", None)
    # CrewAI writes name and parameters before the words of the author.
    words = tool.description.rpartition("Tool Description: ")[2]
    return ToolSpec(name, words, {} if schema is None else plain(schema.model_json_schema()))


def _require_copy(agent: Any) -> None:
    """Raise `TargetStartError` if CrewAI's own copy fails, for which the agent isn't to blame."""
    try:
        copied(agent, None)
    except Exception as error:
        raise TargetStartError(f"CrewAI can't copy it, as each message needs: {describe(error)}") from error


def _refuse_mixing(agent: Any, options: SessionOptions) -> None:
    """Raise `TargetStartError` for what all conversations would share, or nobody could answer."""
    if getattr(agent, "memory", None) and not options.own:
        raise TargetStartError(
            "the crew has a `memory`, which all conversations would share: leave it out, or give a function "
            "without parameters that makes a crew with a memory of its own for each"
        )
    if any(task.human_input for task in getattr(agent, "tasks", ())):
        raise TargetStartError(
            "a task has `human_input=True`, which waits for somebody at the terminal: leave it out in tests"
        )


class CrewaiSession:
    """One conversation; the crew or agent itself is only copied, never run."""

    def __init__(self, agent: Any, options: SessionOptions, inputs: Inputs | None) -> None:
        self._agent = agent
        self._options = options
        self._inputs = inputs
        self._history: list[dict[str, str]] = []
        self._heard = Heard()
        self._listening = Listening()

    def send(self, message: str) -> Reply:
        """Run a copy on the message; it is synchronous, so it runs in a thread of the conversation."""
        self._heard = Heard()
        run = self._run_of(message)
        with self._heard.listening():
            result = run()
        self._wait_for_events()
        if (outage := self._heard.outage) is not None:
            raise TargetUnavailable(f"the model of an agent that was asked did not answer: {outage}")
        text = str(result.raw)
        said = {"role": "user", "content": message}, {"role": "assistant", "content": text}
        self._history += said
        return Reply(text, self._heard.calls(), self._heard.usage())

    def _run_of(self, message: str) -> Callable[[], Any]:
        new = copied(self._agent, self._options.faults)
        if self._inputs is None:
            said = {"role": "user", "content": message}
            return lambda: new.kickoff([*self._history, said])
        inputs = self._inputs.of(message, self._history)
        return lambda: new.kickoff(inputs=inputs)

    def calls_so_far(self) -> tuple[ToolCall, ...]:
        """The calls that were made for the message that is being answered."""
        self._wait_for_events()
        return self._heard.calls()

    def usage_so_far(self) -> Usage | None:
        """The tokens that were used for the message that is being answered."""
        return self._heard.usage()

    def aclose(self) -> None:
        """Listen no longer; nothing stays on CrewAI's bus once the last conversation has ended."""
        self._listening.stop()

    def _wait_for_events(self) -> None:
        # CrewAI calls its listeners in threads of their own.
        self._listening.bus.flush(timeout=_SECONDS_FOR_EVENTS)
