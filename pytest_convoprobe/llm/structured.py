"""Replies of a given shape: ask, read, check, and ask again with what was wrong."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from .. import prompts
from ..errors import StructuredReplyError
from ..formatting import counted
from .json_text import json_objects
from .masking import NoSecrets, TextRedactor
from .port import LLM, LLMReply, LLMRequest, Message
from .schema import strict_schema

T = TypeVar("T", bound=BaseModel)

# Room for a whole reply, also where a small limit cut the first one.
_ROOMY = 4096
# More problems than this help neither a model nor a reader.
_MOST_PROBLEMS = 8


async def ask(
    llm: LLM,
    request: LLMRequest,
    reply_type: type[T],
    *,
    repairs: int = 2,
    redactor: TextRedactor | None = None,
    validation: Mapping[str, Any] | None = None,
) -> T:
    """The model's reply to `request` as a `reply_type`.

    If the reply has another shape, the model is asked again and shown the error, up to `repairs` times. If a
    token limit cut the reply, the model is asked again with a higher limit. Raises `StructuredReplyError`
    after the last attempt, and whatever `llm` raises.

    `reply_type` should tolerate unknown keys (pydantic's default): a reply is not a file. `validation` is
    pydantic's context for its validators: with it, one type serves many requests.
    """
    request = replace(request, schema=strict_schema(reply_type))
    current, attempts = request, repairs + 1
    for attempt in range(attempts):
        reply = await llm.complete(current)
        outcome = _read(reply, reply_type, validation)
        if outcome.value is not None:
            return outcome.value
        if attempt + 1 < attempts:
            # From the first request: a chain of repairs would show the model all of its wrong replies.
            current = _next_request(request, current, reply, outcome)
            if attempt + 2 == attempts:
                # The last attempt is the trial's own: wrong replies that are shared would stay wrong.
                current = replace(current, shared=False)
    raise _given_up(current, reply, outcome, attempts, redactor or NoSecrets())


@dataclass(frozen=True)
class _Outcome(Generic[T]):
    """Either a value, or what was wrong."""

    value: T | None = None
    problem: str = ""
    truncated: bool = False


def _read(reply: LLMReply, reply_type: type[T], validation: Mapping[str, Any] | None) -> _Outcome[T]:
    problem = ""
    # Models put prose or code fences around the object, or an example before it. The first that fits counts.
    for candidate in json_objects(reply.text):
        try:
            return _Outcome(reply_type.model_validate(candidate, context=validation))
        except ValidationError as error:
            problem = problem or describe(error)
    # Checked last: the limit does no harm if it only cut blanks after a complete object.
    if reply.finish_reason == "length":
        return _Outcome(problem="it was cut off by the limit on tokens", truncated=True)
    return _Outcome(problem=problem or _no_object(reply.text))


def _no_object(text: str) -> str:
    return "it holds no complete JSON object" if text.strip() else "it is empty"


def describe(error: ValidationError) -> str:
    """One line: each wrong field with its path and what was expected."""
    # Not the words of `yaml_source.explain`: a model reads these in the request to repair its reply, and
    # they are part of recordings, which would no longer fit.
    details = error.errors(include_url=False, include_context=False)
    lines = [
        f"{_path(detail['loc'])}: {detail['msg']}{_found(detail)}" for detail in details[:_MOST_PROBLEMS]
    ]
    if len(details) > _MOST_PROBLEMS:
        lines.append(f"and {len(details) - _MOST_PROBLEMS} more")
    return "; ".join(lines)


def _path(location: tuple[int | str, ...]) -> str:
    return ".".join(str(part) for part in location) or "the object"


def _found(detail: Any) -> str:
    value = detail["input"]
    if detail["type"] == "missing" or not isinstance(value, (str, int, float, type(None))):
        return ""
    found = repr(value)
    return f" (found {found if len(found) <= 60 else found[:57] + '...'})"


def _next_request(
    first: LLMRequest, current: LLMRequest, reply: LLMReply, outcome: _Outcome[T]
) -> LLMRequest:
    if outcome.truncated:
        # Showing the cut reply would not help the model; the same question with a higher limit does.
        return replace(current, max_tokens=_more_room(current, reply))
    repair = prompts.render(
        "repair_reply", problem=outcome.problem, schema=json.dumps(first.schema, indent=2)
    )
    said = Message("assistant", reply.text or "(an empty message)")
    return replace(current, messages=(*first.messages, said, Message("user", repair)))


def _more_room(request: LLMRequest, reply: LLMReply) -> int:
    # Without a limit of ours, the provider's own one was hit; the reply's length says where that is.
    limit = request.max_tokens or request.model.max_tokens or reply.usage.completion_tokens
    return max(2 * limit, _ROOMY)


def _given_up(
    request: LLMRequest, reply: LLMReply, outcome: _Outcome[T], attempts: int, redactor: TextRedactor
) -> StructuredReplyError:
    whose = request.context.role.value.replace("_", " ")
    text = redactor.text(reply.text)
    message = f"The {whose}'s model {request.model.model} gave no usable reply in "
    message += f"{counted(attempts, 'attempt')}: " + redactor.text(outcome.problem)
    if outcome.truncated:
        message += f" ({_limit(request)}); set a larger max_tokens for it"
    elif text.strip():
        message += f". Its last reply ends: {text.strip()[-200:]!r}"
    return StructuredReplyError(message, reply=text, truncated=outcome.truncated)


def _limit(request: LLMRequest) -> str:
    limit = request.max_tokens or request.model.max_tokens
    return f"max_tokens {limit}" if limit else "the provider's own limit"
