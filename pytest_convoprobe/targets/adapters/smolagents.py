"""Agents of smolagents: an agent of its own for each conversation, which keeps its memory from run to run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ...errors import TargetStartError, TargetUnavailable
from ...llm.port import ToolSpec
from ...project_code.tracebacks import describe
from ...transcript import Reply, ToolCall, Usage
from ..plain_values import plain
from .own_agents import require_new
from .sessions import SessionOptions
from .smolagents_copies import copied, keeps_tools_here
from .smolagents_team import Team

_FINAL_ANSWER = "final_answer"


async def open_session(agent: Any, options: SessionOptions) -> SmolagentsSession:
    """A conversation with a copy of the agent, or with itself if it was made for the conversation."""
    if not (options.context is None or isinstance(options.context, Mapping)):
        raise TargetStartError("`target.context` has to give a mapping: smolagents' `additional_args`")
    if options.faults is not None and not keeps_tools_here(agent):
        raise TargetStartError(
            "no faults can be injected: the agent's tools are called in another process or machine, by its "
            f"`{type(agent.python_executor).__name__}`"
        )
    if not options.own:
        return SmolagentsSession(copied(agent), options)
    require_new(agent)
    # A function that makes agents may well have the same one managed by each.
    agent.managed_agents = {name: copied(one) for name, one in agent.managed_agents.items()}
    return SmolagentsSession(agent, options)


def tools_of(agent: Any) -> tuple[ToolSpec, ...]:
    """The tools and the managed agents of an agent, and the tools of these, whose calls are reported too."""
    managed = agent.managed_agents.values()
    inside = [spec for one in managed for spec in tools_of(one)]
    others = [tool for name, tool in agent.tools.items() if name != _FINAL_ANSWER]
    own = map(_tool_spec, (*others, *managed))
    return tuple({spec.name: spec for spec in (*inside, *own)}.values())


def _tool_spec(tool: Any) -> ToolSpec:
    inputs: dict[str, Any] = plain(tool.inputs)
    optional = {name for name, schema in inputs.items() if schema.pop("nullable", False)}
    required = [name for name in inputs if name not in optional]
    schema = {"type": "object", "properties": inputs, "required": required}
    return ToolSpec(tool.name, tool.description or "", schema)


class SmolagentsSession:
    """One conversation with an agent of smolagents and those that it manages."""

    def __init__(self, agent: Any, options: SessionOptions) -> None:
        self.agent = agent
        self._arguments = dict(options.context or {})
        self._reports = keeps_tools_here(agent)
        self._team = Team(options.faults)
        self._team.watch(agent, hides=_FINAL_ANSWER)

    def send(self, message: str) -> Reply:
        """Run the agent on the message; it is synchronous, so it runs in a thread of the conversation."""
        before = len(self.agent.memory.steps)
        # It keeps them: the later messages need not have them again.
        more = {"additional_args": self._arguments} if self._arguments else {}
        self._arguments = {}
        answer = self.agent.run(message, reset=False, **more)
        if (outage := self._team.outage) is not None:
            raise TargetUnavailable(f"the model of a managed agent did not answer: {describe(outage)}")
        usage = self._team.take_usage()
        gaps = {} if self._reports else {"tool_calls": "The agent's tools are called in another process"}
        return Reply(
            text=_text_of(answer),
            tool_calls=self._team.calls.take() if self._reports else None,
            usage=usage,
            thoughts=_thoughts_of(self.agent.memory.steps[before:]),
            gaps=gaps,
        )

    def calls_so_far(self) -> tuple[ToolCall, ...]:
        """The calls that were made for the message that is being answered."""
        return self._team.calls.so_far()

    def usage_so_far(self) -> Usage | None:
        """The tokens that were used for the message that is being answered."""
        return self._team.usage


def _text_of(answer: Any) -> str:
    """The final answer, which may be any value: an agent that writes code can compute it."""
    if hasattr(answer, "steps") and hasattr(answer, "output"):
        answer = answer.output  # a whole result, of an agent with `return_full_result`
    if isinstance(answer, (Mapping, list, tuple)):
        return json.dumps(plain(answer), ensure_ascii=False)
    return str(answer)


def _thoughts_of(steps: list[Any]) -> str:
    """What the model wrote on its way; the user only sees the final answer."""
    outputs = (getattr(step, "model_output", None) for step in steps)
    return "\n\n".join(output.strip() for output in outputs if isinstance(output, str) and output.strip())
