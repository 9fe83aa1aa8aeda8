"""The tool calls and the thoughts in the messages of PydanticAI's runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ...transcript import CallKind, ToolCall
from ..plain_values import clean_text, plain
from ..reply_parts import as_arguments
from .call_ids import with_own_ids
from .pydanticai_runs import Executions, Run, RunsRecorder

_CALLS = ("tool-call", "builtin-tool-call", "native-tool-call")
_RETURNS = ("tool-return", "builtin-tool-return", "native-tool-return", "retry-prompt")
_OUTPUT_TOOL = "final_result"


def calls_of(recorder: RunsRecorder, waiting: frozenset[str] = frozenset()) -> tuple[ToolCall, ...]:
    """The calls of all runs so far, those inside of a call behind the ones that were asked for with it.

    `waiting` are the ids of calls that wait for a person: nothing was called yet.
    """
    if not recorder.runs:
        return ()
    asking = frozenset(run.parent for run in recorder.runs[1:])
    first, *others = (_RunCalls(run, recorder.executions, waiting, asking) for run in recorder.runs)
    nested = [(run.parent, calls) for run, calls in zip(recorder.runs[1:], others, strict=True)]
    found: list[ToolCall] = []
    for group in first.groups():
        found += group
        ids = {call.id for call in group}
        found += [call for parent, calls in nested if parent in ids for call in calls.flat()]
        # A later call may have the same id.
        nested = [(parent, calls) for parent, calls in nested if parent not in ids]
    # A run of an output function that PydanticAI calls with a text has no call that it is inside.
    rest = [replace(call, parent="") for _, calls in nested for call in calls.flat()]
    return with_own_ids((*found, *rest))


def thoughts_of(recorder: RunsRecorder) -> str:
    """What the agent itself thought, not those that its tools run."""
    runs = recorder.runs[:1]
    own = [message for run in runs for message in run.messages if message.run_id == run.id]
    parts = [part for message in own if message.kind == "response" for part in message.parts]
    said = [part.content for part in parts if part.part_kind == "thinking" and part.content]
    return clean_text("\n\n".join(said))


class _RunCalls:
    """The calls of one run, read from its messages. `asking` are the ids of calls that run other agents."""

    def __init__(
        self, run: Run, executions: Executions, waiting: frozenset[str], asking: frozenset[str]
    ) -> None:
        self._run = run
        self._executions = executions
        self._waiting = waiting
        self._asking = asking
        self._name = clean_text(getattr(run.agent, "name", None) or "")
        self._outputs = _output_tools(run.agent)

    def flat(self) -> list[ToolCall]:
        return [call for group in self.groups() for call in group]

    def groups(self) -> Iterator[list[ToolCall]]:
        """The calls that were asked for together, for each answer of the model."""
        for number, (response, returns) in enumerate(_answers(self._run)):
            asked = [part for part in response.parts if part.part_kind in _CALLS]
            counted = [part for part in asked if self._counts(response, part, returns)]
            group = f"{self._run.id}/{number}"
            if calls := [call for part in counted if (call := self._call(part, group, returns))]:
                yield calls

    def _counts(self, response: Any, part: Any, returns: Mapping[str, Any]) -> bool:
        """Whether the call was made in this run. One that waited for a person was asked for in another."""
        is_new = response.run_id == self._run.id
        return part.tool_call_id not in self._waiting if is_new else part.tool_call_id in returns

    def _call(self, part: Any, group: str, returns: Mapping[str, Any]) -> ToolCall | None:
        asks = part.tool_call_id in self._asking
        name, kind = part.tool_name, CallKind.SUB_AGENT if asks else CallKind.TOOL
        if name in self._outputs:
            if not asks:
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
        return self._ended(call, returns.get(call.id))

    def _ended(self, call: ToolCall, part: Any) -> ToolCall:
        """The call with its result or its error, from the part with what the tool gave, if there is one."""
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


def _answers(run: Run) -> list[tuple[Any, dict[str, Any]]]:
    """Each answer of the model, with the parts in which this run gave results for its calls, by their ids.

    Results come before the next answer, and those of a provider's own tools within the same one.
    """
    found: list[tuple[Any, dict[str, Any]]] = []
    for message in run.messages:
        if message.kind == "response":
            found.append((message, {}))
        if found and message.run_id == run.id:
            given = (part for part in message.parts if part.part_kind in _RETURNS and part.tool_call_id)
            found[-1][1].update((part.tool_call_id, part) for part in given)
    return found


def _output_tools(agent: Any) -> frozenset[str]:
    """The names of the pseudo-tools that structured output is given with."""
    toolset = getattr(agent, "_output_toolset", None)
    return frozenset((_OUTPUT_TOOL, *getattr(toolset, "processors", ())))
