"""Sessions with agents of PydanticAI. The agent is shared: a conversation is its list of messages."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

from ...errors import TargetStartError
from ...transcript import PendingRequest, Reply, SaidBefore, ToolCall, Usage
from ..earlier_messages import result_text
from ..plain_values import clean_text, plain
from ..reply_forms import is_structured
from ..reply_parts import as_arguments
from .pydanticai_calls import calls_of, thoughts_of
from .pydanticai_runs import RunsRecorder
from .pydanticai_tools import tools_of as tools_of  # the registry looks for it here
from .sessions import AgentSession, SessionOptions, require_context


async def open_session(agent: Any, options: SessionOptions) -> AgentSession:
    """A conversation with the agent; `options.context` are its dependencies (`deps`)."""
    # Not the agent's own method: the project may have put another one in its place.
    if "capabilities" not in inspect.signature(import_module("pydantic_ai").Agent.run).parameters:
        raise TargetStartError("this version of PydanticAI is too old: its agents take no `capabilities`")
    require_context(options, agent.deps_type)
    return _Session(agent, options)


class _Session:
    """One conversation. `send` and `resume` run on the loop of the agents."""

    def __init__(self, agent: Any, options: SessionOptions) -> None:
        self._agent = agent
        self._options = options
        self._messages: list[Any] = list(_messages_of(options.history))
        self._waiting: Any = None
        self._asked: dict[str, PendingRequest] = {}
        self._recorder = RunsRecorder(options.faults)

    async def send(self, message: str) -> Reply:
        if self._waiting is None:
            return await self._run(message)
        # Nobody has answered: what the user says next is the answer.
        return await self._run(None, self._results({id_: message for id_ in self._asked}, {}))

    async def resume(self, answered: tuple[PendingRequest, ...]) -> Reply:
        answers = {one.id: one.answer or "" for one in answered}
        return await self._run(None, self._results(answers, {one.id: one for one in answered}))

    def calls_so_far(self) -> tuple[ToolCall, ...]:
        return calls_of(self._recorder)

    def usage_so_far(self) -> Usage | None:
        return self._recorder.usage()

    async def _run(self, prompt: str | None, results: Any = None) -> Reply:
        self._recorder = recorder = RunsRecorder(self._options.faults)
        with recorder.recording():
            result = await self._agent.run(
                prompt,
                message_history=self._messages,
                deferred_tool_results=results,
                deps=self._options.context,
                capabilities=[recorder.hooks()],
                infer_name=False,  # it would take the name of a variable of ours
            )
        self._messages = result.all_messages()
        return self._reply(result.output)

    def _reply(self, output: Any) -> Reply:
        deferred = import_module("pydantic_ai").DeferredToolRequests
        self._waiting = output if isinstance(output, deferred) else None
        pending = () if self._waiting is None else tuple(_pending(output))
        self._asked = {request.id: request for request in pending}
        return Reply(
            self._said_beside() if pending else _as_text(output),
            calls_of(self._recorder, frozenset(self._asked)),
            self._recorder.usage(),
            thoughts=thoughts_of(self._recorder),
            pending=pending,
        )

    def _said_beside(self) -> str:
        """What the agent says with the calls that wait."""
        responses = [message for message in self._messages if message.kind == "response"]
        parts = responses[-1].parts if responses else ()
        return clean_text("\n\n".join(part.content for part in parts if part.part_kind == "text"))

    def _results(self, answers: Mapping[str, str], answered: Mapping[str, PendingRequest]) -> Any:
        """The answers as PydanticAI takes them."""
        package = import_module("pydantic_ai")
        approvals = {
            call.tool_call_id: self._decision(
                package, answers[call.tool_call_id], answered.get(call.tool_call_id)
            )
            for call in self._waiting.approvals
            if call.tool_call_id in answers
        }
        calls = {
            call.tool_call_id: answers[call.tool_call_id]
            for call in self._waiting.calls
            if call.tool_call_id in answers
        }
        return self._waiting.build_results(approvals=approvals, calls=calls)

    def _decision(self, package: Any, answer: str, request: PendingRequest | None) -> Any:
        if answer == "approve":
            asked = self._asked[request.id].arguments if request else {}
            changed = request is not None and dict(request.arguments) != dict(asked)
            return package.ToolApproved(
                override_args=dict(request.arguments) if request and changed else None
            )
        words = (request.reason if request else "") or ("" if answer == "reject" else answer)
        return package.ToolDenied(words) if words else package.ToolDenied()


def _messages_of(history: tuple[SaidBefore, ...]) -> Iterator[Any]:
    """What was said before the conversation, as PydanticAI remembers it."""
    ai = import_module("pydantic_ai.messages")
    for said in history:
        if not said.by_agent:
            yield ai.ModelRequest([ai.UserPromptPart(said.text)])
        if said.tool_calls:
            calls = [ai.ToolCallPart(call.name, dict(call.arguments), call.id) for call in said.tool_calls]
            yield ai.ModelResponse(calls)
            results = (ai.ToolReturnPart(one.name, result_text(one), one.id) for one in said.tool_calls)
            yield ai.ModelRequest(list(results))
        if said.by_agent and said.text:
            yield ai.ModelResponse([ai.TextPart(said.text)])


def _pending(output: Any) -> list[PendingRequest]:
    approvals = [_request(call, output, "approval") for call in output.approvals]
    return [*approvals, *(_request(call, output, "question") for call in output.calls)]


def _request(call: Any, output: Any, kind: Any) -> PendingRequest:
    arguments = as_arguments(call.args)
    known = {**output.metadata.get(call.tool_call_id, {}), **arguments}
    text = next((known[key] for key in ("question", "reason", "message", "prompt") if known.get(key)), "")
    return PendingRequest(
        call.tool_call_id, kind, clean_text(str(text)), clean_text(call.tool_name), arguments
    )


def _as_text(output: Any) -> str:
    """The agent's words; structured output as JSON."""
    if isinstance(output, str):
        return clean_text(output)
    if output is None:
        return ""
    value = plain(output)
    return (
        json.dumps(value, ensure_ascii=False)
        if is_structured(output) or not isinstance(value, str)
        else value
    )
