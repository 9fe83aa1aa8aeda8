"""LangGraph's interrupts as requests to a person, and answers in the form that each of them wants."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...outside_json import read_json
from ...transcript import PendingRequest, ToolCall
from ..plain_values import plain
from ..reply_parts import as_arguments, field_of

_TEXTS = ("question", "description", "message", "text", "prompt", "content", "title")
_ANSWERS = ("options", "choices", "allowed_decisions")


@dataclass(frozen=True)
class WaitingInterrupt:
    """One interrupt, and the requests that it consists of; `form` says how it wants to be answered."""

    id: str
    form: str
    requests: tuple[PendingRequest, ...]


def waiting_for(interrupt: Any, paused: Mapping[str, ToolCall]) -> WaitingInterrupt:
    """What an interrupt asks for. `paused` are the calls inside which interrupts came up."""
    value, id = interrupt.value, str(interrupt.id)
    call = paused.get(id)
    if isinstance(value, Mapping) and isinstance(value.get("action_requests"), Sequence):
        return WaitingInterrupt(id, "decisions", tuple(_of_actions(id, value)))
    if isinstance(value, Mapping) and value.get("type") == "tool_approval":
        return WaitingInterrupt(id, "decision", (_of_approval(id, value),))
    if (older := _older_requests(value)) is not None:
        return WaitingInterrupt(id, "older", tuple(_of_older(id, older)))
    return WaitingInterrupt(id, "free", (_question(id, value, call),))


def waiting_before(nodes: Sequence[str], messages: Sequence[Any]) -> tuple[WaitingInterrupt, ...]:
    """What waits at a breakpoint before these nodes: the calls that the last message asks for, if any."""
    calls = field_of(messages[-1], "tool_calls") if messages else None
    asked = tuple(
        PendingRequest(str(call["id"]), tool=call["name"], arguments=as_arguments(call["args"]))
        for call in calls or ()
    )
    text = f"the graph waits before {', '.join(nodes)}"
    return (WaitingInterrupt("", "breakpoint", asked or (PendingRequest("breakpoint", text=text),)),)


def refusal(request: PendingRequest) -> str:
    """What the model reads in place of a refused call's result."""
    why = request.reason if request.answer == "reject" else request.answer
    return f"A person refused the call: {why}" if why else "A person refused the call."


def resume_value(
    waiting: Sequence[WaitingInterrupt], answered: Mapping[str, PendingRequest]
) -> dict[str, Any]:
    """What goes into `Command(resume=…)`: the answer to each interrupt, by its id."""
    return {
        one.id: _answer_to(one, [answered.get(part.id, part) for part in one.requests]) for one in waiting
    }


def _answer_to(one: WaitingInterrupt, answered: Sequence[PendingRequest]) -> Any:
    if one.form == "free":
        return _free(answered[0].answer or "")
    if one.form == "older":
        return [_older(part) for part in answered]
    decisions = [_decision(given, asked) for given, asked in zip(answered, one.requests, strict=True)]
    return decisions[0] if one.form == "decision" else {"decisions": decisions}


def _of_actions(id: str, value: Mapping[str, Any]) -> Iterator[PendingRequest]:
    """LangChain's middleware `HumanInTheLoopMiddleware`: all calls of a message in one interrupt."""
    reviews = value.get("review_configs") or ()
    for number, action in enumerate(value["action_requests"]):
        review = reviews[number] if number < len(reviews) else {}
        yield PendingRequest(
            id=f"{id}/{number}",
            text=str(action.get("description") or ""),
            tool=str(action.get("name") or ""),
            arguments=as_arguments(action.get("args")),
            choices=tuple(map(str, review.get("allowed_decisions") or ())),
        )


def _of_approval(id: str, value: Mapping[str, Any]) -> PendingRequest:
    """The same middleware in the mode `per_call`."""
    return PendingRequest(
        id=id,
        text=str(value.get("description") or ""),
        tool=str(value.get("name") or ""),
        arguments=as_arguments(value.get("args")),
    )


def _decision(given: PendingRequest, asked: PendingRequest) -> dict[str, Any]:
    if given.answer == "approve":
        if dict(given.arguments) == dict(asked.arguments):
            return {"type": "approve"}
        return {"type": "edit", "edited_action": {"name": given.tool, "args": dict(given.arguments)}}
    if given.answer == "reject":
        return {"type": "reject", "message": given.reason} if given.reason else {"type": "reject"}
    # Words are an answer in place of the tool's, where that is allowed.
    responds = not asked.choices or "respond" in asked.choices
    return {"type": "respond" if responds else "reject", "message": given.answer or ""}


def _older_requests(value: object) -> list[Mapping[str, Any]] | None:
    """LangGraph's `HumanInterrupt`, of which there may be several in a list."""
    listed: list[Any] = value if isinstance(value, list) else [value]
    fits = all(isinstance(one, Mapping) and "action_request" in one for one in listed)
    return listed if listed and fits else None


def _of_older(id: str, listed: Sequence[Mapping[str, Any]]) -> Iterator[PendingRequest]:
    for number, one in enumerate(listed):
        action, config = one["action_request"], one.get("config") or {}
        allowed = (key.removeprefix("allow_") for key, may in config.items() if may)
        yield PendingRequest(
            id=f"{id}/{number}",
            text=str(one.get("description") or ""),
            tool=str(action.get("action") or ""),
            arguments=as_arguments(action.get("args")),
            choices=tuple(allowed),
        )


def _older(given: PendingRequest) -> dict[str, Any]:
    if given.answer == "approve":
        return {"type": "accept", "args": None}
    if given.answer == "reject":
        return (
            {"type": "response", "args": given.reason} if given.reason else {"type": "ignore", "args": None}
        )
    return {"type": "response", "args": given.answer or ""}


def _question(id: str, value: object, call: ToolCall | None) -> PendingRequest:
    """What a project asks in a form of its own, in a node or inside a tool."""
    choices: Any = (
        next((value[key] for key in _ANSWERS if key in value), ()) if isinstance(value, dict) else ()
    )
    return PendingRequest(
        id=id,
        kind="question",
        text=_text_of(value),
        tool="" if call is None else call.name,
        arguments={} if call is None else call.arguments,
        choices=tuple(map(str, choices)) if isinstance(choices, (list, tuple)) else (),
    )


def _text_of(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        texts = (value.get(key) for key in _TEXTS)
        if (found := next((text for text in texts if isinstance(text, str) and text), None)) is not None:
            return found
    return json.dumps(plain(value), ensure_ascii=False)


def _free(answer: str) -> Any:
    """The answer to a question in a form of the project's: words, or data if they are JSON of some kind.

    Programs that ask for more than words expect a mapping, a list, or true and false.
    """
    try:
        found = read_json(answer)
    except ValueError:
        return answer
    return found if isinstance(found, (dict, list, bool)) else answer
