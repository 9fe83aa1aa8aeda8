"""Agents of LangGraph, and of LangChain's `create_agent`, which makes them of it."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Mapping
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage, convert_to_messages
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.types import Command

from ...errors import TargetStartError
from ...transcript import PendingRequest, Reply, ToolCall, Usage
from ..earlier_messages import as_chat
from ..failures import outage_inside
from ..message_lists import MessageReader
from ..plain_values import plain
from ..reply_forms import as_reply
from ..reply_parts import field_of, joined_text
from . import langchain_faults
from .langchain_calls import LangChainRecorder
from .langgraph_requests import WaitingInterrupt, refusal, resume_value, waiting_before, waiting_for
from .langgraph_tools import tools_of as tools_of
from .sessions import SessionOptions

_MESSAGES, _INTERRUPTS = "messages", "__interrupt__"
_BY_HAND = "give a function `def answer(message, history)` that fills the state and returns the answer"


async def open_session(agent: Any, options: SessionOptions) -> LangGraphSession:
    """A conversation in a thread of the graph's checkpointer, or of one in memory if it has none."""
    _require_messages(agent)
    graph = agent if _remembers(agent) else agent.copy({"checkpointer": _memory()})
    # Checkpointers may outlive the run: another run must not find this conversation.
    thread = {"configurable": {"thread_id": f"convoprobe-{options.conversation_id}-{uuid.uuid4().hex}"}}
    session = LangGraphSession(graph, thread, options, await _is_asynchronous(graph, thread))
    session.sends_all = graph is not agent and _replaces_messages(graph)
    if options.faults is not None:
        langchain_faults.enter()
    return session


def _require_messages(graph: Any) -> None:
    """What only a program fills can't be filled here: the graph would fail for want of it."""
    keys = sorted(key for key in graph.channels if not key.startswith(("__", "branch:")))
    if _MESSAGES not in keys:
        raise TargetStartError(
            "the graph's state has no `messages`, which a conversation needs "
            f"(it has {', '.join(keys) or 'none of its own'}): {_BY_HAND}"
        )
    given = getattr(getattr(graph, "builder", None), "input_schema", None)
    if given is not None and _MESSAGES not in graph.builder.schemas.get(given, keys):
        raise TargetStartError(f"the graph's input has no `messages`: {_BY_HAND}")
    # Of typed mappings, nobody knows which keys have to be there.
    fields = getattr(given, "model_fields", {}).items()
    others = sorted(key for key, field in fields if field.is_required() and key != _MESSAGES)
    if others:
        raise TargetStartError(
            f"the graph's input needs more than `messages` ({', '.join(others)}): {_BY_HAND}"
        )


def _replaces_messages(graph: Any) -> bool:
    """Whether new messages take the place of the earlier ones: then whoever calls it sends them all."""
    return type(graph.channels[_MESSAGES]).__name__ == "LastValue"


def _remembers(graph: Any) -> bool:
    # True stands for "the checkpointer of the graph around it", which one on its own hasn't got.
    return not isinstance(graph.checkpointer, bool) and graph.checkpointer is not None


def _memory() -> Any:
    """Keeps the state where the graph doesn't: interrupts need that, and so do agents that hand over."""
    return InMemorySaver(serde=JsonPlusSerializer(pickle_fallback=True))


async def _is_asynchronous(graph: Any, thread: dict[str, Any]) -> bool:
    """Some checkpointers only work in synchronous code."""
    try:
        await graph.aget_state(thread)
    except NotImplementedError:
        return False
    return True


class LangGraphSession:
    """One thread of a graph."""

    def __init__(self, graph: Any, thread: dict[str, Any], options: SessionOptions, on_loop: bool) -> None:
        self._graph = graph
        context = options.context
        # Graphs from before there was a context take what is theirs from the configuration.
        older = isinstance(context, Mapping) and set(context) == {"configurable"}
        self._thread = _merged(thread, context) if older else thread
        self._context = {} if older or context is None else {"context": context}
        self._options = options
        self._on_loop = on_loop
        self._recorder = LangChainRecorder()
        self._waiting: tuple[WaitingInterrupt, ...] = ()
        self._seen: set[object] = set()
        self._before = convert_to_messages(as_chat(options.history))
        self.sends_all = False
        """Whether each message goes to the graph with all earlier ones."""

    async def send(self, message: str) -> Reply:
        """The reply to a message; where a question waits, the message is the answer."""
        if self._waiting:
            asked = (part for one in self._waiting for part in one.requests)
            return await self._resumed({one.id: _with_answer(one, message) for one in asked})
        recorder = LangChainRecorder(faults=self._options.faults)
        said = HumanMessage(message, id=uuid.uuid4().hex)
        return await self._run({_MESSAGES: [*await self._earlier(), *self._begun_with(), said]}, recorder)

    def _begun_with(self) -> list[Any]:
        """What was said before the conversation, for its first message alone. The graph remembers it."""
        before, self._before = list(map(_with_id, self._before)), []
        # They are none of the reply's.
        self._seen |= {one.id for one in before}
        return before

    async def resume(self, answered: tuple[PendingRequest, ...]) -> Reply:
        """Go on after requests of the last reply were answered."""
        return await self._resumed({one.id: one for one in answered})

    def calls_so_far(self) -> tuple[ToolCall, ...]:
        """The calls that were made for the message that is being answered."""
        return self._recorder.calls.so_far()

    def usage_so_far(self) -> Usage | None:
        """The tokens that were used for the message that is being answered."""
        return self._recorder.usage

    async def aclose(self) -> None:
        if self._options.faults is not None:
            langchain_faults.leave()

    async def _earlier(self) -> list[Any]:
        """What was said before, where it has to be sent again."""
        if not self.sends_all:
            return []
        state = await self._called(self._graph.aget_state, self._graph.get_state, self._thread)
        earlier = list(map(_with_id, _messages_in(state.values)))
        # Whatever the graph adds has other ids, or none.
        self._seen = {one.id for one in earlier}
        return earlier

    async def _resumed(self, answered: Mapping[str, PendingRequest]) -> Reply:
        if all(one.form == "breakpoint" for one in self._waiting):
            return await self._passed([answered[part.id] for one in self._waiting for part in one.requests])
        given = Command(resume=resume_value(self._waiting, answered))
        return await self._run(given, LangChainRecorder(self._recorder.asked, self._options.faults))

    async def _passed(self, answered: list[PendingRequest]) -> Reply:
        """Go on behind a breakpoint. What was refused gets an answer in place of the tool's."""
        refused = [one for one in answered if one.answer != "approve"]
        if refused:
            messages = [ToolMessage(refusal(one), tool_call_id=one.id, status="error") for one in refused]
            update = self._graph.aupdate_state, self._graph.update_state
            await self._called(*update, self._thread, {_MESSAGES: messages})
        return await self._run(None, LangChainRecorder(self._recorder.asked, self._options.faults))

    async def _run(self, given: object, recorder: LangChainRecorder) -> Reply:
        self._waiting, self._recorder = (), recorder
        config = {**self._thread, "callbacks": [recorder]}
        with langchain_faults.injected(self._options.faults, recorder.own_id):
            state = await self._called(
                self._graph.ainvoke, self._graph.invoke, given, config, **self._context
            )
        if recorder.outage is not None:
            raise outage_inside(recorder.outage)
        return self._reply(state, recorder, await self._breakpoint(state))

    async def _breakpoint(self, state: Any) -> tuple[WaitingInterrupt, ...]:
        """What waits where the graph was compiled to stop, with `interrupt_before` or `interrupt_after`."""
        stops = self._graph.interrupt_before_nodes or self._graph.interrupt_after_nodes
        if not stops or field_of(state, _INTERRUPTS):
            return ()
        found = await self._called(self._graph.aget_state, self._graph.get_state, self._thread)
        return waiting_before(found.next, list(found.values.get(_MESSAGES) or ())) if found.next else ()

    async def _called(self, on_loop: Any, in_thread: Any, *given: Any, **more: Any) -> Any:
        return await (
            on_loop(*given, **more) if self._on_loop else asyncio.to_thread(in_thread, *given, **more)
        )

    def _reply(self, state: Any, recorder: LangChainRecorder, stopped: tuple[WaitingInterrupt, ...]) -> Reply:
        interrupts = state.pop(_INTERRUPTS, ()) if isinstance(state, dict) else ()
        self._waiting = stopped or tuple(waiting_for(one, recorder.paused) for one in interrupts)
        new = self._new(state)
        recorder.settle(new, field_of(state, "structured_response"))
        said = self._said(new, state)
        return Reply(
            text=said.text,
            tool_calls=recorder.calls.take(),
            usage=recorder.usage,
            thoughts=said.thoughts,
            cut=said.cut,
            pending=tuple(part for one in self._waiting for part in one.requests),
        )

    def _new(self, state: Any) -> list[Any]:
        """The messages since the last reply."""
        messages = _messages_in(state)
        # By their ids: a graph may shorten what it remembers. Without ids, by their places.
        keys = [field_of(one, "id") or place for place, one in enumerate(messages)]
        new = [one for key, one in zip(keys, messages, strict=True) if key not in self._seen]
        self._seen |= set(keys)
        return new

    def _said(self, new: list[Any], state: Any) -> Reply:
        """What the user gets to see."""
        if field_of(state, _MESSAGES) is None and not self._waiting:
            return as_reply(state)  # a graph may give an output of its own in place of its messages
        words = [one for one in new if field_of(one, "type") in ("ai", "AIMessageChunk")]
        said = MessageReader().read(words) if words else Reply("")
        if said.text or self._waiting:
            return said
        return Reply(_in_place_of_words(new, state), thoughts=said.thoughts)


def _messages_in(state: Any) -> list[Any]:
    """The messages of a state. Where no reducer makes them LangChain's, they may be mappings or pairs."""
    found = list(field_of(state, _MESSAGES) or ())
    return [one if isinstance(one, BaseMessage) else convert_to_messages([one])[0] for one in found]


def _with_id(message: Any) -> Any:
    return message if message.id else message.model_copy(update={"id": uuid.uuid4().hex})


def _merged(thread: dict[str, Any], context: Any) -> dict[str, Any]:
    return {"configurable": {**context["configurable"], **thread["configurable"]}}


def _in_place_of_words(new: list[Any], state: Any) -> str:
    """A structured answer, or the result of a tool that answers in the model's place."""
    structured = field_of(state, "structured_response")
    if structured is not None:
        return json.dumps(plain(structured), ensure_ascii=False)
    last = new[-1] if new else None
    return joined_text(field_of(last, "content")) or "" if field_of(last, "type") == "tool" else ""


def _with_answer(request: PendingRequest, answer: str) -> PendingRequest:
    return PendingRequest(
        request.id, request.kind, tool=request.tool, arguments=request.arguments, answer=answer
    )
