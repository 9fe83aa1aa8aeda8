"""The tool calls and the thoughts in the messages of PydanticAI's runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ...transcript import CallKind, ToolCall
from ..plain_values import clean_text, plain
from ..reply_parts import as_arguments
from .pydanticai_runs import Executions, Recorder, Run

_CALLS = ("tool-call", "builtin-tool-call", "native-tool-call")
_RETURNS = ("tool-return", "builtin-tool-return", "native-tool-return", "retry-prompt")
_OUTPUT_TOOL = "final_result"


def calls_of(recorder: Recorder, waiting: frozenset[str] = frozenset()) -> tuple[ToolCall, ...]:
    """The calls of all runs so far, those inside of a call behind the ones that were asked for with it.

    `waiting` are the ids of calls that wait for a person: nothing was called yet.
    """
    inside = {run.parent for run in recorder.runs[1:]}
    first = _RunCalls(recorder.runs[0], recorder.executions, waiting, inside) if recorder.runs else None
    if first is None:
        return ()
    nested = [
        (run.parent, _RunCalls(run, recorder.executions, frozenset(), frozenset()))
        for run in recorder.runs[1:]
    ]
    found: list[ToolCall] = []
    for group in first.groups():
        found += group
        ids = {call.id for call in group}
        found += [call for parent, calls in nested if parent in ids for call in calls.flat()]
    # A run of an output function that PydanticAI calls with a text has no call that it is inside.
    known = {call.id for call in found}
    rest = [call for parent, calls in nested if parent not in known for call in calls.flat()]
    return (*found, *(replace(call, parent="") for call in rest))


def thoughts_of(recorder: Recorder) -> str:
    """What the agent itself thought, not those that its tools run."""
    parts = [
        part for run in recorder.runs[:1] for response in _own(run, "response") for part in response.parts
    ]
    said = [part.content for part in parts if part.part_kind == "thinking" and part.content]
    return clean_text("\n\n".join(said))


def _own(run: Run, kind: str) -> Iterator[Any]:
    """The messages of this run alone; the list begins with those of earlier ones."""
    return (message for message in run.messages if message.kind == kind and message.run_id == run.id)


class _RunCalls:
    """The calls of one run, read from its messages."""

    def __init__(
        self, run: Run, executions: Executions, waiting: frozenset[str], inside: set[str] | frozenset[str]
    ) -> None:
        self._run = run
        self._executions = executions
        self._waiting = waiting
        self._inside = inside
        self._name = clean_text(getattr(run.agent, "name", None) or "")
        self._outputs = _output_tools(run.agent)
        self._returns = _returns(run)

    def flat(self) -> list[ToolCall]:
        return [call for group in self.groups() for call in group]

    def groups(self) -> Iterator[list[ToolCall]]:
        """The calls that were asked for together, for each answer of the model."""
        responses = [message for message in self._run.messages if message.kind == "response"]
        for number, response in enumerate(responses):
            parts = [
                part for part in response.parts if part.part_kind in _CALLS and self._counts(response, part)
            ]
            if calls := [call for part in parts if (call := self._call(part, f"{self._run.id}/{number}"))]:
                yield calls

    def _counts(self, response: Any, part: Any) -> bool:
        """Whether the call was made in this run. One that waited for a person was asked for in another."""
        is_new = response.run_id == self._run.id
        return part.tool_call_id not in self._waiting if is_new else part.tool_call_id in self._returns

    def _call(self, part: Any, group: str) -> ToolCall | None:
        name, kind = part.tool_name, CallKind.TOOL
        if name in self._outputs:
            if part.tool_call_id not in self._inside:
                return None  # structured output is the reply, and not a call of a tool
            name, kind = self._executions.functions.get(part.tool_call_id, name), CallKind.HANDOFF
        call = ToolCall(
            clean_text(name),
            as_arguments(self._executions.arguments.get(part.tool_call_id, part.args)),
            latency=self._executions.seconds.get(part.tool_call_id),
            id=part.tool_call_id,
            parent=self._run.parent,
            agent=self._name,
            group=group,
            kind=kind,
        )
        return self._ended(call)

    def _ended(self, call: ToolCall) -> ToolCall:
        """The call with its result, or its error."""
        part = self._returns.get(call.id)
        if part is None:
            error = self._executions.errors.get(call.id)
            return replace(call, error=error, unreported=("result",) if error is None else ())
        outcome = getattr(part, "outcome", "success") if part.part_kind != "retry-prompt" else "retried"
        if outcome == "success":
            # Of an output tool, it is a phrase of PydanticAI's.
            return call if call.kind is CallKind.HANDOFF else replace(call, result=plain(part.content))
        words = part.content if isinstance(part.content, str) else str(plain(part.content))
        # Whether a tool asked for another try or never ran, its arguments being wrong.
        ran = call.id in self._executions.seconds or bool(call.parent)
        return replace(call, error=clean_text(words), executed=outcome != "denied" and ran)


def _returns(run: Run) -> Mapping[str, Any]:
    """The parts with results of this run, by the id of the call; those of native tools are in responses."""
    own = [message for kind in ("request", "response") for message in _own(run, kind)]
    parts = [part for message in own for part in message.parts if part.part_kind in _RETURNS]
    return {part.tool_call_id: part for part in parts if part.tool_call_id}


def _output_tools(agent: Any) -> frozenset[str]:
    """The names of the pseudo-tools that structured output is given with."""
    toolset = getattr(agent, "_output_toolset", None)
    return frozenset((_OUTPUT_TOOL, *getattr(toolset, "processors", ())))
