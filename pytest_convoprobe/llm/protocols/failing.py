"""The error that an answer is, or has in it."""

from __future__ import annotations

from typing import Any

from .shapes import mapping, text_of, word_of
from .types import AnswerError


def error_in(data: Any) -> AnswerError | None:
    """The error under `error`, as all protocols have it and other servers vary it; None if there is none."""
    error = mapping(data).get("error")
    if isinstance(error, str) and error:
        return AnswerError(error)
    if not isinstance(error, dict) or not error:
        return None
    message = text_of(error.get("message")) or "an error without a message"
    return AnswerError(message, word_of(error.get("type")), word_of(error.get("code")))
