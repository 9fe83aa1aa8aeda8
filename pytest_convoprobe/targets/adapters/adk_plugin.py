"""A plug-in of ADK that records one conversation: its events, those of agents inside of tools, and its calls.

ADK hands its plug-ins on to the runners that its tools make. So they see more than a caller of `run_async`.
"""

from __future__ import annotations

import asyncio
import time
from contextvars import ContextVar
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from ...project_code.tracebacks import describe
from ..port import ToolFaults

TRANSFER = "transfer_to_agent"
FOR_CLIENTS = ("adk_request_confirmation", "adk_request_input", "adk_request_credential")
PSEUDO = (TRANSFER, *FOR_CLIENTS, "set_model_response", "finish_task")
"""What models call beside the agent's tools: to hand over, ask a person, or give structured output."""

_INSIDE: ContextVar[str] = ContextVar("convoprobe_adk_call", default="")
"""The id of the call whose tool runs here: calls that an agent makes inside belong to it."""


@dataclass
class Recorded:
    """What has happened since a message was sent.

    `events` come with the id of the session that they belong to. By the id of a call: `parents` is the call
    that it was made inside of, `results` what its tool gave, `errors` its exception or injected error, and
    `seconds` how long it took.
    `agents` are calls of tools that run another agent, `unknown` those of tools that there are not.
    """

    events: list[tuple[str, Any]] = field(default_factory=list)
    parents: dict[str, str] = field(default_factory=dict)
    results: dict[str, Any] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    agents: set[str] = field(default_factory=set)
    unknown: set[str] = field(default_factory=set)


class EventRecorder:
    """Takes what the plug-in is called with. `recorded` is replaced with each message."""

    def __init__(self, faults: ToolFaults | None) -> None:
        self.recorded = Recorded()
        self._faults = faults
        self._running: dict[str, _Running] = {}

    def happened(self, session: str, event: Any) -> None:
        """Keep an event, and number its calls before they begin, perhaps in another order."""
        self.recorded.events.append((session, event))
        if self._faults is not None and not event.partial and event.author != "user":
            calls = [call for call in event.get_function_calls() if call.name not in PSEUDO]
            self._faults.asked((call.name, call.id) for call in calls)

    async def before_tool(self, tool: Any, args: Any, context: Any) -> Any:
        """None to go on, or an injected result in place of the tool's."""
        id_ = str(context.function_call_id)
        parent = _INSIDE.get()
        self.recorded.parents.setdefault(id_, parent)
        if any(kind.__name__ == "AgentTool" for kind in type(tool).__mro__):
            self.recorded.agents.add(id_)
        running = self._running[id_] = _Running(parent)
        # It stays set where the tool runs, since ADK runs both in one task.
        _INSIDE.set(id_)
        if self._faults is None or tool.name in PSEUDO or await _waits_for_person(tool, args, context):
            return None
        running.faulty = _FaultyCall(self._faults, tool.name, id_)
        return await self._result(id_) if await running.faulty.is_over() else None

    async def after_tool(self, context: Any, result: Any) -> Any:
        """None to keep the result, or another one in its place."""
        id_ = str(context.function_call_id)
        running = self._ended(id_)
        # ADK has an event with the results of several calls once all have ended.
        self.recorded.results[id_] = result
        if running is None or running.faulty is None or running.faulty.gave_itself:
            return None
        running.faulty.give(result)
        changed = self.recorded.results[id_] = await self._result(id_, running)
        return None if changed is result else changed

    async def tool_failed(self, tool: Any, context: Any, error: BaseException) -> None:
        """Note the error, with which ADK goes on."""
        id_ = str(context.function_call_id)
        running = self._ended(id_)
        if type(tool).__name__ == "BaseTool":
            self.recorded.unknown.add(id_)  # ADK's stand-in for a tool that isn't there
        elif isinstance(error, Exception):
            self.recorded.errors[id_] = describe(error)
        if running is not None and running.faulty is not None:
            await running.faulty.fail(error)

    def _ended(self, id_: str) -> _Running | None:
        running = self._running.pop(id_, None)
        if running is not None:
            self.recorded.seconds[id_] = time.monotonic() - running.started
            _INSIDE.set(running.parent)
        return running

    async def _result(self, id_: str, running: _Running | None = None) -> Any:
        """What the faults make of the result, as the mapping that ADK wants."""
        faulty = (running or self._running[id_]).faulty
        assert faulty is not None  # noqa: S101 - asked for calls with faults only
        try:
            value = await faulty.outcome()
        except Exception as error:  # noqa: BLE001 - the injected error, whatever it is
            # As an exception, it would end the run, and the agent couldn't say what it makes of it.
            self.recorded.errors[id_] = str(error)
            return {"error": str(error)}
        if faulty.given is not None and value is faulty.given[0]:
            return value
        return value if isinstance(value, dict) else {"result": value}


@dataclass
class _Running:
    """A call whose tool runs."""

    parent: str
    started: float = field(default_factory=time.monotonic)
    faulty: _FaultyCall | None = None


class _FaultyCall:
    """A call that goes through the faults, while ADK calls the tool.

    Faults take the call as a function. ADK only says when the tool begins and what it gave. So the function
    waits for that.
    """

    def __init__(self, faults: ToolFaults, tool: str, call_id: str) -> None:
        self.given: tuple[Any] | None = None
        self._wanted = asyncio.Event()
        self._tool: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._around = asyncio.ensure_future(faults.around(tool, self._call, call_id=call_id))

    async def _call(self) -> Any:
        self._wanted.set()
        return await self._tool

    async def is_over(self) -> bool:
        """Wait until the faults want the tool to be called; True if they have a result without it."""
        wanted = asyncio.ensure_future(self._wanted.wait())
        try:
            await asyncio.wait((wanted, self._around), return_when=asyncio.FIRST_COMPLETED)
        finally:
            wanted.cancel()
        return not self._wanted.is_set()

    @property
    def gave_itself(self) -> bool:
        """Whether the tool was never to be called."""
        return self._around.done() and not self._wanted.is_set()

    def give(self, result: Any) -> None:
        self.given = (result,)
        if not self._tool.done():
            self._tool.set_result(result)

    async def outcome(self) -> Any:
        return await self._around

    async def fail(self, error: BaseException) -> None:
        """The tool has raised: so it ends for the faults too."""
        if isinstance(error, Exception) and not self._tool.done():
            self._tool.set_exception(error)
        else:
            self._around.cancel()
        await asyncio.wait((self._around,))
        if not self._around.cancelled():
            self._around.exception()  # it is the tool's own, and ADK raises that


async def _waits_for_person(tool: Any, args: Any, context: Any) -> bool:
    """Whether ADK asks for a permission now, in place of calling the tool."""
    asks = getattr(tool, "check_require_confirmation", None)
    if asks is None or context.tool_confirmation is not None:
        return False
    return bool(await asks(args, context))


def plugin_of(recorder: EventRecorder) -> Any:
    """The plug-in that ADK takes. It changes nothing, unless a fault does."""
    base: Any = import_module("google.adk.plugins.base_plugin").BasePlugin

    class ConvoprobePlugin(base):  # type: ignore[misc]
        async def on_event_callback(self, *, invocation_context: Any, event: Any) -> None:
            recorder.happened(str(invocation_context.session.id), event)

        async def before_tool_callback(self, *, tool: Any, tool_args: Any, tool_context: Any) -> Any:
            return await recorder.before_tool(tool, tool_args, tool_context)

        async def after_tool_callback(
            self, *, tool: Any, tool_args: Any, tool_context: Any, result: Any
        ) -> Any:
            return await recorder.after_tool(tool_context, result)

        async def on_tool_error_callback(
            self, *, tool: Any, tool_args: Any, tool_context: Any, error: Any
        ) -> None:
            await recorder.tool_failed(tool, tool_context, error)

    return ConvoprobePlugin(name="convoprobe_recorder")
