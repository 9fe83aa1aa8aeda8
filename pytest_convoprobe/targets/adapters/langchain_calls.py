"""What LangChain reports of a run by its callbacks: calls of tools, nested as they are, and tokens."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler

from ...project_code.tracebacks import describe
from ...transcript import CallKind, ToolCall, Usage
from ..failures import is_unavailable
from ..port import ToolFaults
from ..reply_parts import as_arguments, as_usage, field_of, joined_text
from .agent_calls import AgentCalls

_UNNAMED_GRAPH = "LangGraph"
_STEP = "graph:step:"
_END = "__end__"


@dataclass
class AskedCall:
    """A call that a model has asked for, and which may never begin: its tool is unknown, or it is refused."""

    name: str
    arguments: Mapping[str, Any]
    id: str
    agent: str = ""
    parent: str = ""
    group: str = ""
    torn: bool = False


@dataclass(frozen=True)
class _Run:
    """A chain, a model's answer or a tool at work, inside another one.

    `call` is the id of a tool's call, and `asked` the id that the model gave it.
    """

    parent: object
    name: str = ""
    is_step: bool = False
    call: str = ""
    asked: str = ""


@dataclass
class _Spent:
    """The tokens of the models' answers. None as soon as one says nothing: a part would look like the sum."""

    usage: Usage | None = None
    answers: int = 0

    def add(self, usage: Usage | None) -> None:
        before = self.usage if self.answers else Usage()
        self.usage = None if usage is None or before is None else before + usage
        self.answers += 1


class LangChainRecorder(BaseCallbackHandler):  # type: ignore[misc]
    """Writes down one message's calls. `asked` are those that waited for a person before.

    `faults` learn in which order calls were asked for: synchronous tools begin in threads, in any order.
    """

    # In the thread or on the loop of the run itself: else the order of what happened is lost.
    run_inline = True

    def __init__(
        self, asked: Mapping[str, AskedCall] | None = None, faults: ToolFaults | None = None
    ) -> None:
        self._faults = faults
        self.calls = AgentCalls()
        self.asked: dict[str, AskedCall] = dict(asked or {})
        self.paused: dict[str, ToolCall] = {}
        """The calls that an interrupt has stopped, by the id of the interrupt."""
        self.outage: BaseException | None = None
        """Why the model of an agent inside of a tool gave no answer: the others read that a tool failed."""
        self._own_ids: dict[str, str] = {}
        self._runs: dict[object, _Run] = {}
        self._spent = _Spent()
        self._lock = threading.Lock()

    @property
    def usage(self) -> Usage | None:
        """The tokens of all models' answers; 0 if there were none."""
        return self._spent.usage if self._spent.answers else Usage()

    def own_id(self, tool_call_id: str) -> str:
        """The id of a running call in `calls`: some models number the calls of each answer from 0."""
        return self._own_ids.get(tool_call_id, tool_call_id)

    # What LangChain calls

    def on_chain_start(self, serialized: object, inputs: object, *, run_id: object, **more: Any) -> None:
        tags = more.get("tags") or ()
        is_step = any(tag.startswith(_STEP) for tag in tags)
        self._runs[run_id] = _Run(more.get("parent_run_id"), more.get("name") or "", is_step)
        if is_step and (call := self._call_around(run_id)):
            # A graph works inside of the tool.
            self.calls.change(call, kind=CallKind.SUB_AGENT)

    def on_chat_model_start(self, serialized: object, messages: object, **more: Any) -> None:
        self._runs[more["run_id"]] = _Run(more.get("parent_run_id"))

    def on_llm_start(self, serialized: object, prompts: object, **more: Any) -> None:
        self._runs[more["run_id"]] = _Run(more.get("parent_run_id"))

    def on_llm_end(self, response: Any, *, run_id: object, **more: Any) -> None:
        message = getattr(response.generations[0][0], "message", None)
        with self._lock:
            self._spent.add(as_usage(field_of(message, "usage_metadata")))
        asked = list(_asked_by(message))
        group = str(run_id) if len(asked) > 1 else ""
        agent, parent = self._agent_around(run_id), self._call_around(run_id)
        if self._faults is not None:
            self._faults.asked((one.name, one.id) for one in asked)
        self.asked |= {one.id: replace(one, agent=agent, parent=parent, group=group) for one in asked}

    def on_tool_start(self, serialized: Any, input_str: str, *, run_id: object, **more: Any) -> None:
        around = _Run(more.get("parent_run_id"))
        self._runs[run_id] = around
        given = more.get("inputs")
        asked = self._begun(more.get("tool_call_id") or "", str(serialized["name"]), given or input_str)
        agent, parent = self._agent_around(run_id), self._call_around(run_id)
        call = self.calls.begin(
            asked.name, asked.arguments, id=asked.id, agent=agent, parent=parent, group=asked.group
        )
        self._runs[run_id] = replace(around, call=call, asked=asked.id)
        self._own_ids[asked.id] = call

    def on_tool_end(self, output: object, *, run_id: object, **more: Any) -> None:
        call, asked = self._runs[run_id].call, self._runs[run_id].asked
        if _hands_over(output):
            self.calls.change(call, kind=CallKind.HANDOFF)
        value = _result_in(output, asked)
        failed = field_of(output, "status") == "error"
        self.calls.end(call, result=None if failed else value, error=str(value) if failed else None)

    def on_tool_error(self, error: BaseException, *, run_id: object, **more: Any) -> None:
        call = self._runs[run_id].call
        interrupts = _interrupts_in(error)
        if interrupts is None:
            self.calls.end(call, error=describe(error))
            self._note_outage(call, error)
        elif (stopped := self.calls.drop(call)) is not None:
            # It waits for a person, and begins again after the answer.
            asked = self._runs[run_id].asked or call
            self.asked[asked] = AskedCall(stopped.name, stopped.arguments, asked, group=stopped.group)
            self.paused |= {str(interrupt.id): stopped for interrupt in interrupts}

    def _note_outage(self, call: str, error: BaseException) -> None:
        known = self.calls.call(call)
        if known is not None and known.kind is CallKind.SUB_AGENT and is_unavailable(error):
            self.outage = error

    # What is made of it

    def settle(self, messages: list[Any], structured: object) -> None:
        """Write down the calls that never began, but which a message of a tool answers all the same."""
        answers = {field_of(one, "tool_call_id"): one for one in messages if field_of(one, "type") == "tool"}
        for id, asked in [(id, one) for id, one in self.asked.items() if id in answers]:
            del self.asked[id]
            if type(structured).__name__ == asked.name:
                continue  # it only is how a model gives its structured answer
            self._settle(asked, answers[id])

    def _settle(self, asked: AskedCall, answer: Any) -> None:
        text = joined_text(field_of(answer, "content")) or ""
        failed = field_of(answer, "status") == "error" or asked.torn
        call = self.calls.begin(
            asked.name,
            asked.arguments,
            id=asked.id,
            agent=asked.agent,
            parent=asked.parent,
            group=asked.group,
        )
        # A node of the project may carry out calls by itself, without LangChain's tools.
        self.calls.end(
            call, result=None if failed else text, error=text if failed else None, executed=not failed
        )

    def _begun(self, id: str, name: str, arguments: object) -> AskedCall:
        """The call as it was asked for: without what the framework adds to the arguments."""
        given = as_arguments(arguments)
        same = [one.id for one in self.asked.values() if one.name == name and one.arguments == given]
        key = id if id in self.asked else next(iter(same if not id else ()), "")
        found = self.asked.pop(key, None)
        if found is None:
            return AskedCall(name, given, id)
        # Somebody may have changed the arguments before they approved the call.
        changed = isinstance(arguments, Mapping) and bool(given) and given.keys() <= found.arguments.keys()
        return replace(found, arguments=given if changed else found.arguments)

    def _around(self, run: object) -> Iterator[_Run]:
        while (found := self._runs.get(run)) is not None:
            yield found
            run = found.parent

    def _call_around(self, run: object) -> str:
        return next((one.call for one in self._around(run) if one.call), "")

    def _agent_around(self, run: object) -> str:
        """The name of the innermost graph; one without a name has that of the node which it is."""
        runs = list(self._around(run))
        graphs = (runs[n + 1 :] for n, one in enumerate(runs) if one.is_step)
        inner = next(graphs, [])
        if not inner:
            return ""
        node = inner[1].name if len(inner) > 1 and inner[1].is_step else ""
        return node if inner[0].name == _UNNAMED_GRAPH else inner[0].name


def _asked_by(message: object) -> Iterator[AskedCall]:
    for call in field_of(message, "tool_calls") or ():
        yield AskedCall(call["name"], as_arguments(call["args"]), str(call.get("id") or ""))
    for call in field_of(message, "invalid_tool_calls") or ():
        # Its arguments can't be parsed: an attempt all the same.
        yield AskedCall(
            call.get("name") or "", as_arguments(call.get("args")), str(call.get("id") or ""), torn=True
        )


def _commands(output: object) -> list[Any]:
    values = output if isinstance(output, list) else [output]
    return [one for one in values if hasattr(one, "goto") and hasattr(one, "update")]


def _hands_over(output: object) -> bool:
    """Whether the tool's result sends the graph to another agent."""
    goals = (goal for one in _commands(output) for goal in _listed(one.goto))
    return any(getattr(goal, "node", goal) != _END for goal in goals)


def _result_in(output: object, asked: str) -> object:
    """What the model gets to read."""
    commands = _commands(output)
    if not commands:
        return _content_of(output)
    updates = (_update_of(one) for one in commands)
    messages = [message for update in updates for message in _listed(update.get("messages"))]
    found = (one for one in messages if field_of(one, "tool_call_id") == asked)
    return next(map(_content_of, found), None)


def _update_of(command: Any) -> Mapping[str, Any]:
    return command.update if isinstance(command.update, Mapping) else {}


def _content_of(output: object) -> object:
    if field_of(output, "type") != "tool":
        return output
    content = field_of(output, "content")
    text = joined_text(content)
    return content if text is None else text


def _listed(value: object) -> list[Any]:
    if value is None or value == ():
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _interrupts_in(error: BaseException) -> list[Any] | None:
    """The interrupts that ended a tool; None for an error of the tool."""
    if type(error).__name__ not in ("GraphInterrupt", "NodeInterrupt"):
        return None
    return list(error.args[0]) if error.args and isinstance(error.args[0], (list, tuple)) else []
