"""`target.model_volatile`: what differs between two runs in the agent's requests to its models."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, Field

from ..personal_patterns import own_pattern
from .field_types import Text
from .model_settings import Section

_PATH = re.compile(r"[^\s.]+(?:\.[^\s.]+)*")
# Without these, requests that ask for something else would be equal.
_ALL_OF_IT = frozenset({"model", "messages", "input", "system", "instructions", "tools", "stream", "*"})


def _field(path: str) -> str:
    if not _PATH.fullmatch(path):
        raise ValueError("must be the names on the way to a field, with dots between: `metadata.trace_id`")
    if path in _ALL_OF_IT:
        raise ValueError(
            f"`{path}` is what the agent asks for: without it, different calls would get the same answer. "
            "Name a field inside it, such as `messages.*.name`, or use `texts`"
        )
    return path


def _expression(expression: str) -> str:
    _ = own_pattern("volatile", expression)  # raises `ValueError` in words
    return expression


class VolatileParts(Section):
    """What is left out of the key by which a recorded model call of the agent's is found."""

    shown_fields = frozenset({"fields", "texts"})

    fields: tuple[Annotated[Text, AfterValidator(_field)], ...] = Field(
        (),
        description="Fields of the request's body, with dots between the names: `metadata.trace_id`. `*` is "
        "any name, or any item of a list.",
    )
    texts: tuple[Annotated[Text, AfterValidator(_expression)], ...] = Field(
        (), description=r"Regular expressions. What they find in any text counts as equal: `req-\d+`."
    )
