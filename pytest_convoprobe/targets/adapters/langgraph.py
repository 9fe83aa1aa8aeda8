"""Agents of LangGraph, and of LangChain's `create_agent`, which makes them of it."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Mapping
from typing import Any

from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.types import Command

from ...errors import TargetStartError, TargetUnavailable
from ...project_code.tracebacks import describe
from ...transcript import PendingRequest, Reply, ToolCall, Usage
from ..message_lists import MessageReader
from ..plain_values import plain
from ..reply_forms import as_reply
from ..reply_parts import field_of, joined_text
from . import langchain_faults
from .langchain_calls import LangChainRecorder
from .langgraph_requests import WaitingInterrupt, resume_value, waiting_for
from .langgraph_tools import tools_of as tools_of
from .sessions import SessionOptions

_MESSAGES, _INTERRUPTS = "messages", "__interrupt__"


async def open_session(agent: Any, options: SessionOptions) -> LangGraphSession:
    """A conversation in a thread of the graph's checkpointer, or of one in memory if it has none."""
    _require_messages(agent)
    graph = agent if _remembers(agent) else agent.copy({"checkpointer": _memory()})
    # Checkpointers may outlive the run: another run must not find this conversation.
    thread = {"configurable": {"thread_id": f"convoprobe-{options.conversation_id}-{uuid.uuid4().hex}"}}
    session = LangGraphSession(graph, thread, options, await _is_asynchronous(graph, thread))
    if options.faults is not None:
        langchain_faults.enter()
    return session


def _require_messages(graph: Any) -> None:
    keys = sorted(key for key in graph.channels if not key.startswith(("__", "branch:")))
    if _MESSAGES not in keys:
        raise TargetStartError(
            f"the graph's state has no `messages`, which a conversation needs (it has {', '.join(keys)}): "
            "give a function `def answer(message, history)` that fills the state and returns the answer"
        )


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
        self._thread = thread
        self._options = options
        self._on_loop = on_loop
        self._recorder = LangChainRecorder()
        self._waiting: tuple[WaitingInterrupt, ...] = ()
        self._seen: set[object] = set()

    async def send(self, message: str) -> Reply:
        """The reply to a message; where a question waits, the message is the answer."""
        if self._waiting:
            asked = (part for one in self._waiting for part in one.requests)
            return await self._resumed({one.id: _with_answer(one, message) for one in asked})
        recorder = LangChainRecorder(faults=self._options.faults)
        return await self._run({_MESSAGES: [HumanMessage(message)]}, recorder)

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

    async def _resumed(self, answered: Mapping[str, PendingRequest]) -> Reply:
        given = Command(resume=resume_value(self._waiting, answered))
        return await self._run(given, LangChainRecorder(self._recorder.asked, self._options.faults))

    async def _run(self, given: object, recorder: LangChainRecorder) -> Reply:
        self._waiting, self._recorder = (), recorder
        config = {**self._thread, "callbacks": [recorder]}
        more = {} if self._options.context is None else {"context": self._options.context}
        with langchain_faults.injected(self._options.faults, recorder.own_id):
            if self._on_loop:
                state = await self._graph.ainvoke(given, config, **more)
            else:
                state = await asyncio.to_thread(self._graph.invoke, given, config, **more)
        if recorder.outage is not None:
            raise TargetUnavailable(
                f"the model of an agent inside of a tool did not answer: {describe(recorder.outage)}"
            )
        return self._reply(state, recorder)

    def _reply(self, state: Any, recorder: LangChainRecorder) -> Reply:
        interrupts = state.pop(_INTERRUPTS, ()) if isinstance(state, dict) else ()
        self._waiting = tuple(waiting_for(one, recorder.paused) for one in interrupts)
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
        messages = list(field_of(state, _MESSAGES) or ())
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
