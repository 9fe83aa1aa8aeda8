"""Agents of the OpenAI Agents SDK: what was said is sent again, to the agent that spoke last."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, get_args

from agents import Agent, ItemHelpers, Runner, handoff

from ...llm.port import ToolSpec
from ...transcript import PendingRequest, Reply, SaidBefore, ToolCall, Usage
from ..earlier_messages import result_text
from ..failures import outage_inside
from ..plain_values import plain
from ..reply_parts import as_arguments
from .closures import values_used_by
from .openai_agents_calls import RunWatch
from .sessions import SessionOptions, require_context


async def open_session(agent: Any, options: SessionOptions) -> OpenAIAgentsSession:
    """A conversation that begins with this agent."""
    # `Agent[Shop](…)` keeps what it was written with.
    require_context(options, next(iter(get_args(getattr(agent, "__orig_class__", None))), None))
    return OpenAIAgentsSession(agent, options)


class OpenAIAgentsSession:
    """One conversation: what was said so far, and who goes on."""

    def __init__(self, agent: Any, options: SessionOptions) -> None:
        self.agent = agent
        self._options = options
        self._items: list[Any] = [item for said in options.history for item in _items_of(said)]
        self._watch = RunWatch(options.faults)
        self._waiting: Any = None
        self._known = 0
        self._spent = Usage()

    async def send(self, message: str) -> Reply:
        """The reply to a message; where approvals wait, they are refused with it."""
        if self._waiting is not None:
            return await self.resume(tuple(_refused(one, message) for one in self._requests(self._waiting)))
        self._known, self._spent = 0, Usage()
        given = [*self._items, {"role": "user", "content": message}]
        return await self._run(given, RunWatch(self._options.faults))

    async def resume(self, answered: tuple[PendingRequest, ...]) -> Reply:
        """Go on after approvals of the last reply were given or refused."""
        result, self._waiting = self._waiting, None
        state, by_id = result.to_state(), {one.id: one for one in answered}
        watch = RunWatch(self._options.faults, self._watch.asked)
        for item, request in zip(result.interruptions, self._requests(result), strict=True):
            given = by_id.get(request.id, request)
            if given.answer == "approve":
                state.approve(item)
                continue
            # Any other words are the reason.
            why = given.reason if given.answer == "reject" else given.answer
            state.reject(item, rejection_message=why or None)
            watch.refuse(request.id, request.tool, request.arguments, why or "a person refused it")
        return await self._run(state, watch)

    def calls_so_far(self) -> tuple[ToolCall, ...]:
        """The calls that were made for the message that is being answered."""
        return self._watch.calls.so_far()

    def usage_so_far(self) -> Usage | None:
        """The tokens that were used for the message that is being answered."""
        return _less(self._watch.tokens, self._spent)

    async def _run(self, given: Any, watch: RunWatch) -> Reply:
        self._watch = watch
        context = {} if self._options.context is None else {"context": self._options.context}
        with watch.watching():
            result = await Runner.run(self.agent, given, hooks=watch, **context)
        if watch.outage is not None:
            raise outage_inside(watch.outage)
        return self._reply(result, watch)

    def _reply(self, result: Any, watch: RunWatch) -> Reply:
        new = result.new_items[self._known :]
        _settle(watch, new, waits=bool(result.interruptions))
        usage, calls = self.usage_so_far(), watch.calls.take()
        if result.interruptions:
            # The result goes on from here: its items and tokens are added up.
            self._waiting, self._known = result, len(result.new_items)
            self._spent = watch.tokens or Usage()
        else:
            self._items, self.agent = result.to_input_list(), result.last_agent
        return Reply(
            text=_text_of(result, new),
            tool_calls=calls,
            usage=usage,
            thoughts="\n\n".join(_thoughts_in(new)),
            pending=self._requests(result),
        )

    def _requests(self, result: Any) -> tuple[PendingRequest, ...]:
        return tuple(
            PendingRequest(
                id=str(item.call_id or number),
                tool=item.tool_name or "",
                arguments=as_arguments(item.arguments),
            )
            for number, item in enumerate(result.interruptions)
        )


def _items_of(said: SaidBefore) -> Iterator[dict[str, Any]]:
    """What was said before the conversation, as items of the input."""
    for call in said.tool_calls:
        arguments = json.dumps(dict(call.arguments))
        yield {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": arguments}
        yield {"type": "function_call_output", "call_id": call.id, "output": result_text(call)}
    if said.text:
        yield {"role": "assistant" if said.by_agent else "user", "content": said.text}


def _refused(request: PendingRequest, words: str) -> PendingRequest:
    return PendingRequest(request.id, tool=request.tool, arguments=request.arguments, answer=words)


def _less(total: Usage | None, spent: Usage) -> Usage | None:
    if total is None:
        return None
    return Usage(total.prompt_tokens - spent.prompt_tokens, total.completion_tokens - spent.completion_tokens)


def _settle(watch: RunWatch, items: list[Any], waits: bool) -> None:
    """Write down the calls that got an answer without being carried out, and those that go on later."""
    outputs = {id: item for item in items if (id := _output_id(item))}
    for id, asked in list(watch.asked.items()):
        if id in outputs:
            watch.refuse(id, asked.name, asked.arguments, str(outputs[id].output))
    for call in watch.calls.so_far() if waits else ():
        # A tool that is an agent waits for what is asked inside of it.
        if not call.parent and call.executed and call.id not in outputs:
            watch.pause(call.id)


def _output_id(item: Any) -> str:
    raw = item.raw_item
    found = raw.get("call_id") if isinstance(raw, dict) else getattr(raw, "call_id", None)
    return str(found) if item.type in ("tool_call_output_item", "handoff_output_item") and found else ""


def _text_of(result: Any, items: list[Any]) -> str:
    final = result.final_output
    if final is not None and not isinstance(final, str):
        return json.dumps(plain(final), ensure_ascii=False)
    texts = [ItemHelpers.text_message_output(item) for item in items if item.type == "message_output_item"]
    # A tool may have the last word.
    return "\n\n".join(filter(str.strip, texts if final is None or final in texts else [*texts, final]))


def _thoughts_in(items: list[Any]) -> Iterator[str]:
    for item in items:
        if item.type == "reasoning_item":
            parts = (*(item.raw_item.summary or ()), *(getattr(item.raw_item, "content", None) or ()))
            yield from (part.text for part in parts if part.text)


def tools_of(agent: Any) -> tuple[ToolSpec, ...] | None:
    """The tools and hand-offs of an agent and of those that it works with; None if servers have more."""
    found: dict[str, ToolSpec] = {}
    seen: set[int] = set()
    todo: list[Any] = [agent]
    while todo:
        one = todo.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if one.mcp_servers:
            return None
        for spec in (*map(_spec, one.tools), *map(_handoff_spec, one.handoffs)):
            found.setdefault(spec.name, spec)
        todo += [*filter(_is_agent, one.handoffs), *(sub for tool in one.tools for sub in _agents_in(tool))]
    return tuple(found.values())


def _is_agent(value: object) -> bool:
    return isinstance(value, Agent)


def _agents_in(tool: Any) -> Iterator[Any]:
    own = getattr(tool, "_agent_instance", None)
    used = values_used_by(getattr(tool, "__wrapped__", None), ("agents.",))
    yield from filter(_is_agent, (own, *used))


def _spec(tool: Any) -> ToolSpec:
    return ToolSpec(
        tool.name, getattr(tool, "description", "") or "", plain(getattr(tool, "params_json_schema", {}))
    )


def _handoff_spec(to: Any) -> ToolSpec:
    made = handoff(to) if _is_agent(to) else to
    return ToolSpec(made.tool_name, made.tool_description, plain(made.input_json_schema))
