"""What was said before the conversation, as a scenario gives it: `synthetic_user.history`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, GetJsonSchemaHandler, JsonValue, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from ..transcript import SaidBefore, ToolCall
from ..yaml_source import Loc
from ..yaml_source.explain import complain, describe
from .fields import ScenarioPart, Text

_ROLES = {"user": "user", "assistant": "agent", "tool": "tool"}
_SYSTEM = "; a system prompt belongs to the settings of the target"
_FORMS = "write `- user: …`, `- agent: …`, or messages with `role` and `content`"


class EarlierCall(ScenarioPart):
    """A call of a tool that the agent made before the conversation."""

    name: Text = Field(description="The tool's name.", examples=["look_up_order"])
    arguments: dict[str, JsonValue] = Field(
        default_factory=dict, description="Its arguments.", examples=[{"order": "A-1001"}]
    )
    result: JsonValue = Field(None, description="What the tool returned: any value, or a text.")
    error: Text | None = Field(None, description="The tool's error, if it failed.")

    @model_validator(mode="after")
    def _one_end(self) -> EarlierCall:
        if self.error is not None and self.result is not None:
            complain([(("error",), "a call has a `result` or an `error`, not both")])
        return self


class EarlierMessage(ScenarioPart):
    """One message from before the conversation, of the user or of the agent.

    `tool_calls` are those that the agent made before it wrote the text.
    """

    user: Text | None = Field(None, description="What the user wrote.", examples=["I want to change it."])
    agent: Text | None = Field(None, description="What the agent wrote.", examples=["Which order is it?"])
    tool_calls: tuple[EarlierCall, ...] = Field(
        (), description="The calls of tools that the agent made before it wrote this."
    )

    @model_validator(mode="after")
    def _one_side(self) -> EarlierMessage:
        complain(_side_complaints(self))
        return self


def _side_complaints(message: EarlierMessage) -> Iterator[tuple[Loc, str]]:
    if message.user is not None and message.agent is not None:
        yield ("agent",), "a message is of one side; begin the agent's with a `- ` of its own"
    elif message.user is not None and message.tool_calls:
        yield ("tool_calls",), "only the agent calls tools: put this below its message"
    elif message.user is None and message.agent is None and not message.tool_calls:
        yield (), f"this has no message; {_FORMS}"


def _from_chat(messages: Any) -> Any:
    """Messages as OpenAI's API has them (`role`, `content`) in the form of scenarios; others as they are."""
    if not isinstance(messages, (list, tuple)) or not any(map(_has_role, messages)):
        return messages
    complain(_chat_complaints(messages))
    results = {one["tool_call_id"]: one.get("content") for one in messages if one.get("role") == "tool"}
    return [entry for one in messages for entry in _entries(one, results)]


def _has_role(message: Any) -> bool:
    return isinstance(message, Mapping) and "role" in message


def _chat_complaints(messages: Sequence[Any]) -> Iterator[tuple[Loc, str]]:
    chat = [one for one in messages if _has_role(one)]
    answered = [one.get("tool_call_id") for one in chat if one["role"] == "tool"]
    made = [_id_of(call) for one in chat for call in _calls_of(one)]
    for index, message in enumerate(messages):
        for inner, words in _message_complaints(message, answered, made):
            yield (index, *inner), words


def _message_complaints(
    message: Any, answered: Sequence[Any], made: Sequence[Any]
) -> Iterator[tuple[Loc, str]]:
    """`answered` are the ids of calls that have results, `made` those of all calls."""
    if not _has_role(message):
        yield (), f"this has no `role`, but other messages have; {_FORMS}"
        return
    role, content, result_of = message["role"], message.get("content"), message.get("tool_call_id")
    if not isinstance(role, str) or role not in _ROLES:
        yield ("role",), f"must be user, assistant or tool, got {describe(role)}{_SYSTEM}"
        return
    if _text_of(content) is None and content is not None:
        yield ("content",), "must be a text: images and files can't be a part of the history"
    elif role == "tool" and not isinstance(result_of, str):
        yield (), "the result of a tool needs the `tool_call_id` of its call"
    elif role == "tool" and result_of not in made:
        yield ("tool_call_id",), "no message has a call with this `id`"
    if message.get("function_call"):
        yield ("function_call",), "write `tool_calls` and a message with the role `tool` instead"
    if message.get("tool_calls") and role != "assistant":
        yield ("tool_calls",), "only the agent calls tools: the role of such a message is `assistant`"
    for place, call in enumerate(_calls_of(message)):
        if words := _call_complaint(call, answered, made):
            yield ("tool_calls", place), words


def _calls_of(message: Mapping[str, Any]) -> Sequence[Any]:
    calls = message.get("tool_calls") or ()
    return calls if isinstance(calls, (list, tuple)) else (calls,)


def _id_of(call: Any) -> Any:
    return call.get("id") if isinstance(call, Mapping) else None


def _call_complaint(call: Any, answered: Sequence[Any], made: Sequence[Any]) -> str:
    function = call.get("function") if isinstance(call, Mapping) else None
    if not isinstance(function, Mapping) or not all(
        isinstance(name, str) for name in (_id_of(call), function.get("name"))
    ):
        return "a call has an `id`, and a `function` with `name` and `arguments`"
    if _arguments_of(function) is None:
        return "the `arguments` must be a mapping, or the JSON of one"
    if made.count(call["id"]) > 1 or answered.count(call["id"]) > 1:
        return "another call or result has the same `id`; give each call one of its own"
    return "" if call["id"] in answered else "no message with the role `tool` has the result of this call"


def _arguments_of(function: Mapping[str, Any]) -> dict[str, Any] | None:
    given = function.get("arguments") or {}
    try:
        found = json.loads(given) if isinstance(given, str) else given
    except ValueError:
        return None
    return dict(found) if isinstance(found, Mapping) else None


def _text_of(content: Any) -> str | None:
    """The text of a content, also of one in parts; None for anything else."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, (list, tuple)) else ()
    texts = [part.get("text") if isinstance(part, Mapping) else None for part in parts]
    return "\n".join(map(str, texts)) if texts and all(isinstance(text, str) for text in texts) else None


def _entries(message: Mapping[str, Any], results: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    text, role = _text_of(message.get("content")), message["role"]
    if role == "tool":
        return
    if text or not message.get("tool_calls"):
        yield {_ROLES[role]: text}
    if calls := message.get("tool_calls"):
        # What is said beside calls comes before them.
        yield {"tool_calls": [_entry_of_call(call, results) for call in calls]}


def _entry_of_call(call: Mapping[str, Any], results: Mapping[str, Any]) -> dict[str, Any]:
    function, result = call["function"], results[call["id"]]
    known = _text_of(result)
    return {
        "name": function["name"],
        "arguments": _arguments_of(function),
        "result": result if known is None else known,
    }


class _OrChatMessages:
    """For the JSON Schema of what `_from_chat` accepts."""

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        listed = handler(schema)
        chat = {
            "type": "object",
            "required": ["role"],
            "properties": {"role": {"enum": list(_ROLES)}, "tool_call_id": {"type": "string"}},
        }
        return {**listed, "items": {"anyOf": [listed["items"], chat]}}


History = Annotated[tuple[EarlierMessage, ...], BeforeValidator(_from_chat), _OrChatMessages()]
"""Messages of both sides, in the form of scenarios or in that of OpenAI's API."""


def said_before(history: Sequence[EarlierMessage]) -> tuple[SaidBefore, ...]:
    """The history as targets, the user and the judge get it. Calls have ids."""
    numbers = iter(range(1, 1 + sum(len(one.tool_calls) for one in history)))
    return tuple(
        SaidBefore(
            one.user or one.agent or "",
            by_agent=one.user is None,
            tool_calls=tuple(_call(call, next(numbers)) for call in one.tool_calls),
        )
        for one in history
    )


def _call(call: EarlierCall, number: int) -> ToolCall:
    return ToolCall(call.name, dict(call.arguments), call.result, call.error, id=f"earlier_{number}")
