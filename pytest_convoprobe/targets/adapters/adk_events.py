"""What ADK's events say: words, thoughts, calls of tools, tokens, and what waits for a person."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ...errors import TargetCrashed, TargetError, TargetUnavailable
from ...transcript import CallKind, PendingRequest, ToolCall, Usage
from ..plain_values import clean_text, plain
from ..reply_parts import as_arguments
from .adk_plugin import PSEUDO, TRANSFER, Recorded
from .call_ids import with_own_ids

CONFIRMATION = "adk_request_confirmation"
_OWN_HINT = "by responding with a FunctionResponse"
_PASSING = (
    "429",
    "RESOURCE_EXHAUSTED",
    "UNAVAILABLE",
    "DEADLINE_EXCEEDED",
    "INTERNAL",
    "500",
    "502",
    "503",
    "504",
)


@dataclass(frozen=True)
class AdkRequest:
    """A request to a person, and what answers it: the call of ADK's, by id and name."""

    request: PendingRequest
    function_id: str
    function: str


@dataclass
class TurnEvents:
    """The events since a message was sent.

    `held` are calls of earlier ones that waited for a person, and `given` the results that were given now in
    place of a tool's, by the id of the call. `refused` are the ids of those that must not be made.
    """

    recorded: Recorded
    session: str
    held: Mapping[str, ToolCall] = field(default_factory=dict)
    given: Mapping[str, str] = field(default_factory=dict)
    refused: frozenset[str] = frozenset()

    def text(self) -> str:
        """What the user reads: the final words of each agent that spoke, or all words if none were final."""
        said = [(event, _words(event, thought=False)) for event in self._outer()]
        final = [words for event, words in said if words and event.is_final_response()]
        texts = final or [words for _, words in said if words]
        return clean_text("\n\n".join(texts))

    def output(self) -> Any:
        """What a workflow gives in place of words; None without it."""
        given = [event.output for event in self._outer() if getattr(event, "output", None) is not None]
        return given[-1] if given else None

    def thoughts(self) -> str:
        thought = [_words(event, thought=True) for event in self._outer()]
        return clean_text("\n\n".join(filter(None, thought)))

    def usage(self) -> Usage | None:
        """The tokens of all agents; None if no event has any."""
        counts = [event.usage_metadata for event in self._whole() if event.usage_metadata]
        return sum(map(_usage, counts), Usage()) if counts else None

    def waiting(self) -> tuple[AdkRequest, ...]:
        """What was asked of a person and is not answered, without what is asked inside of another agent."""
        answered = {one.id for event in self._whole() for one in event.get_function_responses()}
        asked = [
            call
            for event in self._outer()
            for call in event.get_function_calls()
            if call.id in (event.long_running_tool_ids or ()) and call.id not in answered
        ]
        return tuple(map(_waiting, asked))

    def calls(self, waiting: tuple[AdkRequest, ...] = ()) -> tuple[ToolCall, ...]:
        """All calls in the order in which they began. Those that wait for a person were not made yet."""
        not_yet = {one.request.id for one in waiting}
        found = [replace(self.held[id_], result=words, unreported=()) for id_, words in self.given.items()]
        places: dict[str, int] = {}
        for event in self._whole():
            for call in _asked(event):
                # The latest of this id: some providers number the calls of each answer from 0.
                places[call.id] = len(found)
                found.append(self._call(event, call))
            for response in event.get_function_responses():
                if response.id not in places and response.id in self.held:
                    places[response.id] = len(found)
                    found.append(self.held[response.id])
                if response.id in places:
                    call = found[places[response.id]]
                    found[places[response.id]] = self._ended(call, dict(response.response or {}))
        return with_own_ids(call for call in found if call.id not in not_yet)

    def error(self) -> TargetError | None:
        """What it means that a model gave an error in place of an answer; None if there was none."""
        events = list(self._whole())
        failed = next((event for event in reversed(events) if event.error_code), None)
        if failed is None:
            return None
        words = clean_text(f"{failed.error_code}: {failed.error_message or 'no message'}")
        if str(failed.error_code).upper() in _PASSING:
            return TargetUnavailable(f"a service that the target needs did not answer: {words}")
        return TargetCrashed(f"the agent's model gave no answer: {words}")

    def _whole(self) -> Iterator[Any]:
        """Partial ones are pieces of others that follow."""
        return (event for _, event in self.recorded.events if not event.partial and event.author != "user")

    def _outer(self) -> Iterator[Any]:
        """Those that are no answers to a call of a tool."""
        ids = {call.id for event in self._whole() for call in event.get_function_calls()}
        for session, event in self.recorded.events:
            # A branch is `agent@call.agent@call`, of the calls that it is inside of.
            branch = {part.partition("@")[2] for part in (event.branch or "").split(".")}
            inside = session != self.session or not ids.isdisjoint(branch)
            if not event.partial and event.author != "user" and not inside:
                yield event

    def _call(self, event: Any, call: Any) -> ToolCall:
        error = self.recorded.errors.get(call.id)
        kind = CallKind.SUB_AGENT if call.id in self.recorded.agents else CallKind.TOOL
        begun = ToolCall(
            clean_text(call.name or ""),
            as_arguments(dict(call.args or {})),
            id=call.id or "",
            parent=self.recorded.parents.get(call.id, ""),
            agent=clean_text(event.author),
            group=event.id,
            kind=CallKind.HANDOFF if call.name == TRANSFER else kind,
            error=error,
            latency=self.recorded.seconds.get(call.id),
            # Until the tool has given something, which one that ends the run never does.
            unreported=() if error else ("result",),
        )
        if call.id not in self.recorded.results:
            return begun
        given = self.recorded.results[call.id]
        return self._ended(begun, given if isinstance(given, dict) else {"result": given})

    def _ended(self, call: ToolCall, given: Mapping[str, Any]) -> ToolCall:
        """The call with what the agent got, in the form of ADK's responses."""
        recorded = self.recorded
        call = replace(call, latency=recorded.seconds.get(call.id), unreported=())
        error = recorded.errors.get(call.id)
        result = plain(given["result"] if given.keys() == {"result"} else given)
        if given.keys() == {"error"}:
            error, result = error or clean_text(str(given["error"])), None
        elif given.get("isError") is True:  # of an MCP server's tool
            error = error or clean_text(str(result))
        ran = call.id not in recorded.unknown and call.id not in self.refused
        return replace(call, result=result, error=error, executed=ran)


def _asked(event: Any) -> list[Any]:
    return [call for call in event.get_function_calls() if call.name == TRANSFER or call.name not in PSEUDO]


def _words(event: Any, *, thought: bool) -> str:
    parts = (event.content.parts if event.content else None) or ()
    return "".join(part.text for part in parts if part.text and bool(part.thought) is thought)


def _usage(counts: Any) -> Usage:
    written = (counts.candidates_token_count or 0) + (counts.thoughts_token_count or 0)
    read = (counts.prompt_token_count or 0) + (counts.tool_use_prompt_token_count or 0)
    return Usage(int(read), int(written))


def _waiting(call: Any) -> AdkRequest:
    args = as_arguments(dict(call.args or {}))
    if call.name != CONFIRMATION:
        words = args.get("message") or args.get("question") or ""
        request = PendingRequest(call.id, "question", clean_text(str(words)), clean_text(call.name), args)
        return AdkRequest(request, call.id, call.name)
    original = args.get("originalFunctionCall") or {}
    hint = str((args.get("toolConfirmation") or {}).get("hint") or "")
    # ADK's own hint is for the developer of a client.
    hint = "" if _OWN_HINT in hint else clean_text(hint)
    name, arguments = str(original.get("name") or ""), original.get("args") or {}
    request = PendingRequest(str(original.get("id") or call.id), "approval", hint, name, arguments)
    return AdkRequest(request, call.id, call.name)
