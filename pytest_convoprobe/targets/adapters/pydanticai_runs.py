"""What happens while a PydanticAI agent answers: its own run, those of agents that its tools run, and calls.

PydanticAI hands the list of a run's messages to whoever captures it, and fills it as the run goes on. So all
that was done until a crash is known, and the runs that tools start are seen too.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Awaitable, Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from ...errors import TargetStartError
from ...project_code.tracebacks import describe
from ...transcript import Usage
from ..port import ToolFaults

_INSIDE: ContextVar[str] = ContextVar("convoprobe_pydanticai_call", default="")
"""The id of the call whose tool runs here: runs that start inside belong to it."""


@dataclass(frozen=True)
class Run:
    """One run: its messages, which grow, its context (a `RunContext`), and the call that it is inside of."""

    messages: list[Any]
    context: Any
    parent: str

    @property
    def id(self) -> str:
        return str(getattr(self.context, "run_id", ""))

    @property
    def agent(self) -> Any:
        """The agent that runs; None if nobody knows."""
        return getattr(self.context, "agent", None)


@dataclass
class Executions:
    """What is known of the calls of tools beside the messages, by the call's id.

    `errors` are the exceptions that left tools and end the run: no message has them. `seconds` is how long a
    call took. `functions` are the names of the functions that output tools have called. `arguments` are those
    that a person has approved, perhaps other ones than the model's.
    """

    errors: dict[str, str] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    functions: dict[str, str] = field(default_factory=dict)
    arguments: dict[str, Any] = field(default_factory=dict)


class RunsRecorder:
    """Stands where PydanticAI looks for the list that a run's messages go to; gives each run a new one.

    `capture_run_messages`, which is public, would capture the first run alone.
    """

    def __init__(self, faults: ToolFaults | None) -> None:
        self.runs: list[Run] = []
        self.executions = Executions()
        self._faults = faults
        self._usages: dict[int, tuple[Any, Usage]] = {}

    @property
    def used(self) -> bool:
        return False

    @used.setter
    def used(self, value: bool) -> None:
        """PydanticAI notes that a run has taken the list; the next one gets another."""

    @property
    def messages(self) -> list[Any]:
        context = import_module("pydantic_ai._run_context").get_current_run_context()
        run = Run([], context, _INSIDE.get())
        self.runs.append(run)
        if (usage := getattr(context, "usage", None)) is not None:
            # A tool may hand its own usage on, which then counts both runs.
            self._usages.setdefault(id(usage), (usage, _counted(usage)))
        return run.messages

    def usage(self) -> Usage | None:
        """The tokens of all runs so far; None before the first one."""
        parts = [_less(_counted(usage), before) for usage, before in self._usages.values()]
        return sum(parts, Usage()) if parts else None

    @contextlib.contextmanager
    def recording(self) -> Iterator[None]:
        """Record the runs that are started within the block."""
        variable = _variable()
        token = variable.set(self)
        try:
            yield
        finally:
            variable.reset(token)

    def hooks(self) -> Any:
        """A capability that lets tools run inside their calls, and through the faults."""
        kind = import_module("pydantic_ai.capabilities").Hooks
        return kind(tool_execute=self._tool, output_process=self._output, after_model_request=self._answered)

    async def _answered(self, _: Any, /, *, request_context: Any, response: Any) -> Any:
        """Number the calls before they begin, perhaps in another order."""
        if self._faults is not None:
            calls = [part for part in response.parts if part.part_kind == "tool-call"]
            self._faults.asked((part.tool_name, part.tool_call_id) for part in calls)
        return response

    async def _tool(self, context: Any, /, *, call: Any, tool_def: Any, args: Any, handler: Any) -> Any:
        started = time.monotonic()
        if context.tool_call_approved:
            self.executions.arguments[call.tool_call_id] = args
        try:
            with _inside(call.tool_call_id):
                return await self._through_faults(call, lambda: handler(args))
        except Exception as error:
            self.executions.errors[call.tool_call_id] = describe(error)
            raise
        finally:
            self.executions.seconds[call.tool_call_id] = time.monotonic() - started

    async def _through_faults(self, call: Any, run: Callable[[], Awaitable[Any]]) -> Any:
        if self._faults is None:
            return await run()
        raised: list[BaseException] = []

        async def noted() -> Any:
            try:
                return await run()
            except BaseException as error:
                raised.append(error)
                raise

        try:
            return await self._faults.around(call.tool_name, noted, call_id=call.tool_call_id)
        except Exception as error:
            if error in raised:
                raise
            # Any other exception of a tool would end the run, and the agent couldn't say what it makes of it.
            raise import_module("pydantic_ai").ToolFailed(str(error)) from error

    async def _output(self, _: Any, /, *, output_context: Any, output: Any, handler: Any) -> Any:
        call = output_context.tool_call
        if call is None:
            return await handler(output)
        if output_context.has_function:
            self.executions.functions[call.tool_call_id] = output_context.function_name or call.tool_name
        with _inside(call.tool_call_id):
            return await handler(output)


@contextlib.contextmanager
def _inside(call_id: str) -> Iterator[None]:
    token = _INSIDE.set(call_id)
    try:
        yield
    finally:
        _INSIDE.reset(token)


def _variable() -> ContextVar[Any]:
    found = getattr(import_module("pydantic_ai._agent_graph"), "_messages_ctx_var", None)
    if not isinstance(found, ContextVar):
        # Without it, what an agent inside of a tool calls would go unseen, and pass every prohibition.
        raise TargetStartError(
            "the runs of this version of PydanticAI can't be recorded: use a version that the documentation "
            "names, or a class of your own that calls `agent.run` with `message_history`"
        )
    return found


def _counted(usage: Any) -> Usage:
    return Usage(int(usage.input_tokens or 0), int(usage.output_tokens or 0))


def _less(now: Usage, before: Usage) -> Usage:
    return Usage(now.prompt_tokens - before.prompt_tokens, now.completion_tokens - before.completion_tokens)
