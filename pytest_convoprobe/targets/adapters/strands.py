"""Agents of Strands: an agent of its own for each conversation, since one refuses a second call at once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ...errors import TargetStartError, TargetUnavailable
from ...llm.port import ToolSpec
from ...project_code.tracebacks import describe
from ...transcript import PendingRequest, Reply, ToolCall, Usage
from ..plain_values import plain
from .agent_calls import AgentCalls
from .own_agents import require_new
from .sessions import SessionOptions
from .strands_clones import clone, separate_sub_agents, sub_agents_of
from .strands_watched import Watched, as_text

_CALL_OF_INTERRUPT = re.compile(r"(before_tool_call|tool_call):(.+):[0-9a-f-]{36}$")

_ANSWERS = {"approve": "y", "reject": "n"}
"""What Strands' own interventions take for an approval, and most hooks do: see its documents."""


async def open_session(agent: Any, options: SessionOptions) -> StrandsSession:
    """A conversation with an agent like this one, or with itself if it was made for the conversation."""
    if not (options.context is None or isinstance(options.context, Mapping)):
        raise TargetStartError("`target.context` has to give a mapping: Strands' `invocation_state`")
    if not options.own:
        return StrandsSession(clone(agent), options)
    require_new(agent)
    separate_sub_agents(agent)
    return StrandsSession(agent, options)


def tools_of(agent: Any) -> tuple[ToolSpec, ...]:
    """The tools of an agent and of those that it has as tools, whose calls are reported too."""
    own = [_tool_spec(tool.tool_spec) for tool in agent.tool_registry.registry.values()]
    inside = [spec for sub in sub_agents_of(agent) for spec in tools_of(sub)]
    return tuple({spec.name: spec for spec in (*inside, *own)}.values())


def _tool_spec(spec: Mapping[str, Any]) -> ToolSpec:
    schema = spec.get("inputSchema", {})
    return ToolSpec(spec["name"], spec.get("description", ""), plain(schema.get("json", schema)))


class StrandsSession:
    """One conversation with an agent of Strands, and with the agents that it has as tools."""

    def __init__(self, agent: Any, options: SessionOptions) -> None:
        self.agent = agent
        self._context = options.context
        self._calls = AgentCalls()
        self._pending: tuple[PendingRequest, ...] = ()
        self._watched = [Watched(agent, self._calls, options.faults)]
        for one in self._watched:  # it grows meanwhile
            subs = sub_agents_of(one.agent)
            self._watched += [Watched(sub, self._calls, options.faults, one) for sub in subs]
        self._spent = self._all_tokens()

    async def send(self, message: str) -> Reply:
        """The reply to a message; where a question waits, the message is the answer."""
        if self._pending:
            return await self._answered({request.id: message for request in self._pending})
        return await self._run(message)

    async def resume(self, answered: tuple[PendingRequest, ...]) -> Reply:
        """Go on after requests of the last reply were answered."""
        given = {one.id: one.answer for one in answered if one.answer is not None}
        return await self._answered({id: _ANSWERS.get(answer, answer) for id, answer in given.items()})

    def calls_so_far(self) -> tuple[ToolCall, ...]:
        """The calls that were made for the message that is being answered."""
        return self._calls.so_far()

    def usage_so_far(self) -> Usage | None:
        """The tokens that were used for the message that is being answered."""
        total = self._all_tokens()
        used = Usage(
            total.prompt_tokens - self._spent.prompt_tokens,
            total.completion_tokens - self._spent.completion_tokens,
        )
        # Models that report no tokens count as 0 in Strands.
        return used if used.total else None

    async def _answered(self, answers: Mapping[str, str]) -> Reply:
        self._pending = ()
        responses = [{"interruptId": id, "response": answer} for id, answer in answers.items()]
        return await self._run([{"interruptResponse": response} for response in responses])

    async def _run(self, prompt: object) -> Reply:
        state = {} if self._context is None else {"invocation_state": dict(self._context)}
        result = await self.agent.invoke_async(prompt, **state)
        self._refuse_outage()
        interrupts = result.interrupts or () if result.stop_reason == "interrupt" else ()
        self._pending = tuple(self._request(interrupt) for interrupt in interrupts)
        usage = self.usage_so_far()
        self._spent = self._all_tokens()
        return Reply(
            text=_text_of(result),
            # A call that waits for an answer is reported once it has ended.
            tool_calls=self._calls.take_ended() if interrupts else self._calls.take(),
            usage=usage,
            thoughts=_thoughts_of(result),
            pending=self._pending,
        )

    def _refuse_outage(self) -> None:
        """An agent that is a tool gives the failure of its model as a result: it isn't the agent's fault."""
        for watched in self._watched:
            if watched.outage is not None:
                what = f"the model of the agent `{watched.agent.name}`"
                raise TargetUnavailable(f"{what} did not answer: {describe(watched.outage)}")

    def _request(self, interrupt: Any) -> PendingRequest:
        """Strands lets hooks and tools ask for anything: a hook before a call asks for its approval."""
        found = _CALL_OF_INTERRUPT.search(interrupt.id)
        call = self._waiting(found[2]) if found else None
        said = isinstance(interrupt.reason, str) and interrupt.reason
        inside = not found or found[1] == "tool_call"
        return PendingRequest(
            id=interrupt.id,
            kind="question" if said and inside else "approval",
            text=said or _named_reason(interrupt),
            tool="" if call is None else call.name,
            arguments={} if call is None else call.arguments,
        )

    def _waiting(self, tool_use_id: str) -> ToolCall | None:
        ids = (id for watched in self._watched if (id := watched.call_id(tool_use_id)))
        return next((call for id in ids if (call := self._calls.call(id)) is not None), None)

    def _all_tokens(self) -> Usage:
        counts = (watched.agent.event_loop_metrics.accumulated_usage for watched in self._watched)
        return sum((Usage(count["inputTokens"], count["outputTokens"]) for count in counts), Usage())


def _named_reason(interrupt: Any) -> str:
    about = "" if interrupt.reason is None else f": {as_text(interrupt.reason)}"
    return f"{interrupt.name}{about}"


def _blocks(result: Any) -> Iterator[Mapping[str, Any]]:
    return (block for block in result.message.get("content", ()) if isinstance(block, Mapping))


def _text_of(result: Any) -> str:
    if result.structured_output is not None:
        return str(result.structured_output.model_dump_json())
    texts = [block["text"] for block in _blocks(result) if "text" in block]
    cited = (block.get("citationsContent", {}).get("content", ()) for block in _blocks(result))
    return "\n".join([*texts, *(part["text"] for parts in cited for part in parts if "text" in part)])


def _thoughts_of(result: Any) -> str:
    thoughts = (block.get("reasoningContent", {}).get("reasoningText", {}) for block in _blocks(result))
    return "\n".join(text for thought in thoughts if (text := thought.get("text")))
