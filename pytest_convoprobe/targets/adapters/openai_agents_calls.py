"""What an agent of the OpenAI Agents SDK does for a message: calls of tools, nested as they are, and tokens.

The SDK's hooks aren't called for agents that are tools of others, and its traces leave out what a tool's
error said. So function tools are watched where they are invoked, and hooks tell the rest.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from agents import FunctionTool, ModelBehaviorError, RunHooks

from ...project_code.tracebacks import describe
from ...transcript import CallKind, Usage
from ..failures import is_unavailable
from ..plain_values import plain
from ..port import ToolFaults
from ..reply_parts import as_arguments
from .agent_calls import AgentCalls

Invoke = Callable[[Any, str], Awaitable[Any]]

_FUNCTION_CALLS = ("function_call", "custom_tool_call")
_LOCAL_CALLS = ("computer_call", "local_shell_call", "shell_call", "apply_patch_call")


@dataclass(frozen=True)
class AskedTool:
    """A call that the model of an agent has asked for. `group` is shared by those of one answer."""

    id: str
    name: str
    arguments: Mapping[str, Any]
    agent: str
    group: str


@dataclass(frozen=True)
class _Inside:
    """Where code of a run is: in which message's, and inside of which call."""

    watch: RunWatch
    call: str = ""


# A context variable, since the same tools work for many conversations at once.
_INSIDE: ContextVar[_Inside | None] = ContextVar("convoprobe_openai_agents", default=None)


class RunWatch(RunHooks):  # type: ignore[misc]
    """Writes down what happens for one message. `asked` are the calls that waited for a person before."""

    def __init__(self, faults: ToolFaults | None, asked: Mapping[str, AskedTool] | None = None) -> None:
        self.calls = AgentCalls()
        self.asked: dict[str, AskedTool] = dict(asked or {})
        self.outage: Exception | None = None
        """Why the model of an agent that is a tool gave no answer: the others read that a tool failed."""
        self._faults = faults
        self._invokers: dict[tuple[int, int], tuple[Any, Any, Any]] = {}
        self._others: dict[int, str] = {}
        self._usage: Any = None
        self._answers = 0

    @property
    def tokens(self) -> Usage | None:
        """The tokens of the run so far, also of nested agents; None if the model's provider reports none."""
        if self._usage is None:
            return Usage()
        counted = Usage(self._usage.input_tokens, self._usage.output_tokens)
        return None if self._answers and not counted.total else counted

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """The tools that are invoked within this block, in whatever task or thread, are watched."""
        _enter()
        token = _INSIDE.set(_Inside(self))
        try:
            yield
        finally:
            _INSIDE.reset(token)
            _leave()

    # Hooks

    async def on_llm_start(self, context: Any, *_: object, **__: object) -> None:
        # What nested agents use is added to the same object.
        self._usage = context.usage

    async def on_llm_end(self, context: Any, agent: Any, response: Any) -> None:
        self._answers += 1
        items = [item for item in response.output if _kind_of(item).endswith("_call")]
        local = [item for item in items if _kind_of(item) in _FUNCTION_CALLS]
        group = f"answer-{id(response)}" if len(items) > 1 else ""
        for item in local:
            arguments = as_arguments(getattr(item, "arguments", None) or getattr(item, "input", None))
            self.asked[item.call_id] = AskedTool(item.call_id, item.name, arguments, agent.name, group)
        if self._faults is not None and len(local) > 1:
            self._faults.asked((item.name, item.call_id) for item in local)
        for item in items:
            if item not in local and _kind_of(item) not in _LOCAL_CALLS:
                self._done_elsewhere(item, agent.name, group)

    async def on_handoff(self, context: Any, from_agent: Any, to_agent: Any) -> None:
        given = f"transfer_to_{to_agent.name}".lower().replace(" ", "_")
        mine = [one for one in self.asked.values() if one.agent == from_agent.name]
        named = next((one for one in mine if one.name.lower() == given), None)
        # The project may have given it another name: tools have begun by now, so this one is left.
        asked = named or next(iter(mine), AskedTool("", given, {}, from_agent.name, ""))
        call = self.begin(asked, CallKind.HANDOFF)
        self.calls.end(call, result={"assistant": to_agent.name})

    async def on_tool_start(self, context: Any, agent: Any, tool: Any) -> None:
        if not isinstance(tool, FunctionTool):  # a shell, a computer: the SDK works with these itself
            given = as_arguments(getattr(context, "tool_arguments", None))
            self._others[id(tool)] = self.begin(AskedTool("", tool.name, given, agent.name, ""))

    async def on_tool_end(self, context: Any, agent: Any, tool: Any, result: object) -> None:
        if not isinstance(tool, FunctionTool):
            self.calls.end(self._others.pop(id(tool), ""), result=result)

    # Calls

    def begin(self, asked: AskedTool, kind: CallKind = CallKind.TOOL) -> str:
        """Write down that a call begins, inside of the one that is running here."""
        self.asked.pop(asked.id, None)
        inside = _INSIDE.get()
        parent = inside.call if inside is not None else ""
        if parent:
            # An agent works inside of the tool.
            self.calls.change(parent, kind=CallKind.SUB_AGENT)
        return self.calls.begin(
            asked.name,
            asked.arguments,
            id=asked.id,
            agent=asked.agent,
            parent=parent,
            group=asked.group,
            kind=kind,
        )

    def refuse(self, id: str, name: str, arguments: Mapping[str, Any], why: str) -> None:
        """Write down a call that was not carried out."""
        asked = self.asked.get(id) or AskedTool(id, name, arguments, "", "")
        self.calls.end(self.begin(asked), error=why, executed=False)

    def pause(self, id: str) -> None:
        """A call goes on after a person's answer: it is one of the next round's calls."""
        stopped = self.calls.drop(id)
        if stopped is not None:
            self.asked[id] = AskedTool(id, stopped.name, stopped.arguments, stopped.agent, stopped.group)

    def watched(self, tool: Any, plain_invoker: Any) -> Any:
        """The invoker of a tool, watched. The same one each time: the SDK checks that it doesn't change."""
        key = (id(tool), id(plain_invoker))
        if key not in self._invokers:
            # Both are kept, so that nothing else gets their ids meanwhile.
            self._invokers[key] = (tool, plain_invoker, _twin(plain_invoker, self._around(tool)))
        return self._invokers[key][2]

    def _around(self, tool: Any) -> Callable[[Invoke], Invoke]:
        def around(invoke: Invoke) -> Invoke:
            @functools.wraps(invoke)
            async def call(context: Any, arguments: str) -> Any:
                return await self._invoked(tool, invoke, context, arguments)

            return call

        return around

    async def _invoked(self, tool: Any, invoke: Invoke, context: Any, arguments: str) -> Any:
        is_agent = bool(getattr(tool, "_is_agent_tool", False))
        asked = self._asked_for(tool, context, arguments)
        call = self.begin(asked, CallKind.SUB_AGENT if is_agent else CallKind.TOOL)
        token = _INSIDE.set(_Inside(self, call))
        try:
            result = await self._through_faults(tool.name, lambda: invoke(context, arguments), call)
        except BaseException as error:
            # A tool whose time is up is cancelled.
            self.calls.end(call, error=describe(error), executed=not _is_of_arguments(error))
            if is_agent and isinstance(error, Exception) and is_unavailable(error):
                self.outage = error
            raise
        finally:
            _INSIDE.reset(token)
        self.calls.end(call, result=result)
        return result

    async def _through_faults(self, name: str, call: Callable[[], Awaitable[Any]], id: str) -> Any:
        return await (call() if self._faults is None else self._faults.around(name, call, call_id=id))

    def _asked_for(self, tool: Any, context: Any, arguments: str) -> AskedTool:
        id = str(getattr(context, "tool_call_id", None) or "")
        agent = getattr(getattr(context, "agent", None), "name", "")
        # Tools that declare a narrower context don't get the call's id.
        return self.asked.get(id) or AskedTool(id, tool.name, as_arguments(arguments), agent, "")

    def _done_elsewhere(self, item: Any, agent: str, group: str) -> None:
        """A call that the provider has carried out itself, such as a search."""
        name = _first_of(item, "name") or _kind_of(item).removesuffix("_call")
        given = as_arguments(plain(_first_of(item, "arguments", "action", "queries")))
        call = self.begin(AskedTool(str(_first_of(item, "id") or ""), name, given, agent, group))
        error = _first_of(item, "error")
        result = _first_of(item, "output", "results")
        self.calls.end(call, result=result, error=None if error is None else str(error))


def _is_of_arguments(error: BaseException) -> bool:
    """Whether the model's arguments didn't fit, so that the tool's own code never ran."""
    return isinstance(error, ModelBehaviorError) and str(error).startswith("Invalid JSON input for tool")


def _first_of(item: Any, *names: str) -> Any:
    return next((found for name in names if (found := getattr(item, name, None)) is not None), None)


def _kind_of(item: Any) -> str:
    return str(getattr(item, "type", ""))


def _twin(invoker: Any, around: Callable[[Invoke], Invoke]) -> Any:
    """An invoker that is watched below what turns the tool's errors into words for the model."""
    if not hasattr(invoker, "_invoke_tool_impl"):
        return around(invoker)
    twin = copy.copy(invoker)
    twin._invoke_tool_impl = around(invoker._invoke_tool_impl)
    return twin


class _WatchedInvoker:
    """`FunctionTool.on_invoke_tool` while conversations run. Elsewhere it is what it always was.

    The tools of an agent are shared, some are made anew for each run (MCP), and some are inside of functions.
    So none of them is changed.
    """

    def __get__(self, tool: Any, owner: object = None) -> Any:
        if tool is None or "on_invoke_tool" not in tool.__dict__:
            raise AttributeError("on_invoke_tool")
        inside, found = _INSIDE.get(), tool.__dict__["on_invoke_tool"]
        return found if inside is None else inside.watch.watched(tool, found)

    def __set__(self, tool: Any, value: Any) -> None:
        tool.__dict__["on_invoke_tool"] = value


_lock = threading.Lock()
_running = 0


def _enter() -> None:
    global _running
    with _lock:
        _running += 1
        if _running == 1:
            FunctionTool.on_invoke_tool = _WatchedInvoker()


def _leave() -> None:
    """After the last one, the SDK is as it was."""
    global _running
    with _lock:
        _running -= 1
        if _running == 0:
            del FunctionTool.on_invoke_tool
