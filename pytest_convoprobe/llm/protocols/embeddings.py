"""The embeddings protocol."""

from __future__ import annotations

from typing import Any

from .counts import chat_counts
from .failing import error_in
from .shapes import listing, text_of
from .types import ModelAnswer, ModelProtocol, ModelRequest, WireMessage

_OWN = frozenset({"model", "input"})


def read_request(data: dict[str, Any]) -> ModelRequest:
    """The request in a body. Each input is a message; tokens instead of texts have no text."""
    given = data.get("input")
    # A list of numbers is one input, in tokens.
    several = isinstance(given, list) and not all(isinstance(one, int) for one in given)
    inputs = listing(given) if several else [given]
    return ModelRequest(
        ModelProtocol.EMBEDDINGS,
        text_of(data.get("model")),
        tuple(WireMessage("input", text_of(one), data={"content": one}) for one in inputs),
        parameters={name: value for name, value in data.items() if name not in _OWN},
        texts=tuple(one for one in inputs if isinstance(one, str) and one),
    )


def read_answer(data: dict[str, Any]) -> ModelAnswer:
    """The answer in a body, without its vectors."""
    return ModelAnswer(
        usage=chat_counts(data.get("usage")),
        model=text_of(data.get("model")),
        error=error_in(data),
        complete=isinstance(data.get("data"), list),
    )
