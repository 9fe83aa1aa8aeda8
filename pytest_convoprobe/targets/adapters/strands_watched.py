"""What an agent of Strands calls: written down by hooks that come after all others."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from ...transcript import CallKind
from ..failures import is_unavailable
from ..plain_values import plain
from ..port import ToolFaults
from .agent_calls import AgentCalls
from .strands_faults import inject

_DEFAULT_NAME = "Strands Agents"
_LAST = 1000
"""The order of hooks that come after all others, which may change what is called or what it gave."""


class Watched:
    """An agent whose calls are written down. `holder` is the agent that has it as a tool."""

    def __init__(
        self, agent: Any, calls: AgentCalls, faults: ToolFaults | None, holder: Watched | None = None
    ) -> None:
        self.agent = agent
        self.outage: Exception | None = None
        """Why the agent's model gave no answer the last time, if it was a service's fault."""
        self._calls = calls
        self._faults = faults
        self._holder = holder
        self._batch: tuple[str, ...] = ()
        self._ids: dict[str, str] = {}
        self._running: dict[int, str] = {}
        self._add_hooks()
        if faults is not None:
            inject(agent, faults, self.call_id)

    def _add_hooks(self) -> None:
        hooks, add = import_module("strands.hooks"), self.agent.hooks.add_callback
        add(hooks.BeforeToolsEvent, self._before_all, order=_LAST)
        add(hooks.BeforeToolCallEvent, self._before, order=_LAST)
        add(hooks.AfterToolCallEvent, self._after, order=_LAST)
        add(hooks.AfterToolsEvent, self._after_all, order=_LAST)
        add(hooks.AfterModelCallEvent, self._after_model, order=_LAST)

    def call_id(self, tool_use_id: str) -> str:
        """The id that a call of Strands is reported with; empty if there is no such call."""
        return self._ids.get(tool_use_id, "")

    def running(self, sub: Any) -> str:
        """The call inside which one of its agents works; it can only do one at a time."""
        return self._running.get(id(sub), "")

    def _before_all(self, event: Any) -> None:
        """Write down the calls of one message of the model in its order: they begin in any."""
        uses = [block["toolUse"] for block in event.message["content"] if "toolUse" in block]
        batch = tuple(use["toolUseId"] for use in uses)
        if batch == self._batch:
            return  # some of them waited for a person, and go on now
        self._batch = batch
        calls = [use for use in uses if not _is_structured_output(self._tool(use))]
        group = batch[0] if len(calls) > 1 else ""
        own = [(use["name"], self._begin(use, group)) for use in calls]
        if self._faults is not None:
            self._faults.asked(own)

    def _begin(self, use: Mapping[str, Any], group: str = "") -> str:
        name = self.agent.name
        own = self._calls.begin(
            use["name"],
            use["input"],
            id=use["toolUseId"],
            agent="" if name == _DEFAULT_NAME else name,
            parent="" if self._holder is None else self._holder.running(self.agent),
            group=group,
            kind=_kind_of(self._tool(use)),
        )
        self._ids[use["toolUseId"]] = own
        return own

    def _tool(self, use: Mapping[str, Any]) -> Any:
        registry = self.agent.tool_registry
        return registry.dynamic_tools.get(use["name"]) or registry.registry.get(use["name"])

    def _before(self, event: Any) -> None:
        use, tool = event.tool_use, event.selected_tool
        if _is_structured_output(tool):
            return
        own = self.call_id(use["toolUseId"])
        if not self._calls.waits(own):
            own = self._begin(use)  # a hook has it tried again
        if (sub := _agent_in(tool)) is not None:
            self._running[id(sub)] = own

    def _after(self, event: Any) -> None:
        refused = event.selected_tool is None or event.cancel_message is not None
        self._end(event.result, not refused, event.tool_use["input"])

    def _after_all(self, event: Any) -> None:
        """Calls that a hook has cancelled all at once have had no event of their own."""
        results = [block["toolResult"] for block in event.message["content"]]
        for result in results:
            if self._calls.waits(self.call_id(result["toolUseId"])):
                self._end(result, False)
        if {result["toolUseId"] for result in results}.issuperset(self._batch):
            self._batch = ()

    def _end(self, result: Mapping[str, Any], executed: bool, arguments: object = None) -> None:
        failed = result.get("status") == "error"
        value = _value_of(result.get("content", ()))
        self._calls.end(
            self.call_id(result["toolUseId"]),
            result=None if failed else value,
            error=as_text(value) if failed else None,
            executed=executed,
            arguments=arguments,
        )

    def _after_model(self, event: Any) -> None:
        error = event.exception
        self.outage = error if error is not None and is_unavailable(error) else None


def _is_structured_output(tool: Any) -> bool:
    """Whether it only is how Strands has the model give its answer."""
    return getattr(tool, "tool_type", "") == "structured_output"


def _agent_in(tool: Any) -> Any:
    return getattr(tool, "agent", None) if getattr(tool, "tool_type", "") == "agent" else None


def _kind_of(tool: Any) -> CallKind:
    if _agent_in(tool) is None:
        return CallKind.TOOL
    # A delegate's answer goes to the user as it is.
    return CallKind.HANDOFF if getattr(tool, "delegate", False) else CallKind.SUB_AGENT


def _value_of(content: Sequence[Mapping[str, Any]]) -> Any:
    """A tool's result: its text, its data, or a list of several."""
    values = [block[key] for block in content for key in ("text", "json") if key in block]
    others = [f"({key})" for block in content for key in block if key not in ("text", "json")]
    found = [*values, *others]
    return found[0] if len(found) == 1 else found or ""


def as_text(value: Any) -> str:
    """A value as text: data as JSON."""
    return value if isinstance(value, str) else json.dumps(plain(value), ensure_ascii=False)
