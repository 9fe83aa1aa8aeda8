"""Faults in the tools of an agent of Strands: its middleware around the execution of a tool."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from importlib import import_module
from typing import Any

from ...errors import TargetStartError
from ..port import ToolFaults


class _ToolFailed(Exception):
    """The tool gave an error as its result, so that faults know that it failed."""


def inject(agent: Any, faults: ToolFaults, call_id: Callable[[str], str]) -> None:
    """Call the tools of an agent through `faults`; `call_id` gives the id that a call is reported with."""
    if not hasattr(agent, "add_middleware"):
        raise TargetStartError("no faults can be injected: this version of Strands has no middleware")
    stages, events = import_module("strands.middleware.stages"), import_module("strands.types._events")

    async def around(context: Any, following: Callable[[Any], AsyncIterator[Any]]) -> AsyncIterator[Any]:
        use = context.tool_use
        passing = _Passing(events.ToolResultEvent)
        if context.tool is None or getattr(context.tool, "tool_type", "") == "structured_output":
            run = passing.run(following(context))
        else:
            own = call_id(use["toolUseId"])
            run = faults.around(use["name"], lambda: passing.run(following(context)), call_id=own)
        try:
            value = await run
        except _ToolFailed:
            value = passing.value
        except Exception as error:
            if error is passing.raised:
                raise
            passing.replace(use["toolUseId"], "error", f"Error: {error}")
        else:
            if value is not passing.value:
                passing.replace(use["toolUseId"], "success", value)
        for event in passing.events:
            yield event

    agent.add_middleware(stages.ExecuteToolStage, around)


class _Passing:
    """What a tool streams, kept until it is known what the agent is to get."""

    def __init__(self, result_event: Any) -> None:
        self.events: list[Any] = []
        self.value: object = None
        self.raised: Exception | None = None
        self._result_event = result_event

    async def run(self, stream: AsyncIterator[Any]) -> object:
        """The content of the tool's result."""
        try:
            async for event in stream:
                self.events.append(event)
        except Exception as error:
            self.raised = error  # an interrupt is one
            raise
        last = self.events[-1] if self.events else None
        if not isinstance(last, self._result_event):
            return self.value
        result = last.tool_result
        self.value = _content_value(result["content"])
        if result.get("status") == "error":
            raise _ToolFailed(str(self.value))
        return self.value

    def replace(self, tool_use_id: str, status: str, value: object) -> None:
        """Let the agent get this in place of what the tool gave."""
        text = "" if value is None else value
        block = {"text": text} if isinstance(text, str) else {"json": text}
        result = {"toolUseId": tool_use_id, "status": status, "content": [block]}
        kept = [event for event in self.events if not isinstance(event, self._result_event)]
        self.events = [*kept, self._result_event(result)]


def _content_value(content: list[dict[str, Any]]) -> object:
    values = [next(iter(block.values())) for block in content]
    return values[0] if len(values) == 1 else values
