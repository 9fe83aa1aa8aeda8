"""The requests to a person in an answer, `Reply.pending`, as plain data.

A request is a `PendingRequest`, or a mapping or object with the same fields.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from typing import Literal

from ..cutting import not_too_many
from ..transcript import PendingRequest, Reply
from .plain_values import clean_text, described, plain
from .reply_parts import as_arguments, field_of, first_field

_KINDS = ("approval", "question")
_FIELDS = ("id", "text", "tool", "kind", "question", "arguments")


def as_pending(answer: object) -> tuple[PendingRequest, ...]:
    """The requests in the field `pending` of an answer. Raises `ValueError` for what can't be read.

    Other answers than a `Reply` may have a field of this name for something else, such as the state of an
    agent with a list of tasks: without a `tool` or a `kind`, these are none.
    """
    listed = _listed(field_of(answer, "pending"))
    if not isinstance(answer, Reply) and not any(map(_looks_like_one, listed)):
        return ()
    return tuple(_request(one, number) for number, one in enumerate(listed, start=1))


def _listed(value: object) -> list[object]:
    """The items of a list; anything else is the only one, unless it is nothing."""
    if isinstance(value, (list, tuple, Set, Iterator)):
        return list(not_too_many(value))
    nothing = value is None or value is False or (isinstance(value, (str, Mapping)) and not value)
    return [] if nothing else [value]


def _looks_like_one(value: object) -> bool:
    return not isinstance(value, str) and bool(field_of(value, "tool") or field_of(value, "kind") in _KINDS)


def _request(value: object, number: int) -> PendingRequest:
    if isinstance(value, str) or not any(field_of(value, key) for key in _FIELDS):
        # Left out, an approval that nobody gave would pass for one that the agent never asked for.
        raise ValueError(
            f"`pending` has {described(value)}: each request needs an `id`, a `kind` (approval or question), "
            "and a `tool` or a `text`"
        )
    tool, answer = field_of(value, "tool"), field_of(value, "answer")
    return PendingRequest(
        id=_text(field_of(value, "id")) or str(number),
        kind=_kind(field_of(value, "kind"), tool),
        text=_text(first_field(value, "text", "question")),
        tool=_text(tool),
        arguments=as_arguments(first_field(value, "arguments", "args")),
        choices=_choices(field_of(value, "choices")),
        answer=None if answer is None else _text(answer),
        reason=_text(field_of(value, "reason")),
        after=value.after if isinstance(value, PendingRequest) else 0,
    )


def _kind(kind: object, tool: object) -> Literal["approval", "question"]:
    """Where nothing is said: what names no tool is a question, since nothing can be permitted."""
    if kind is not None and kind not in _KINDS:
        raise ValueError(f"the `kind` of a request is approval or question, not {described(kind)}")
    return "question" if kind == "question" or (kind is None and not tool) else "approval"


def _choices(value: object) -> tuple[str, ...]:
    return tuple(map(_text, value)) if isinstance(value, (list, tuple)) else ()


def _text(value: object) -> str:
    found: object = plain(value)
    return "" if found is None else clean_text(found if isinstance(found, str) else str(found))
