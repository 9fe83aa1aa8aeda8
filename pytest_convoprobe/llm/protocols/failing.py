"""The error that an answer is, or has in it."""

from __future__ import annotations

from typing import Any

from .shapes import mapping, text_of, word_of
from .types import AnswerError

PASSING = frozenset({408, 409, 425, 429})
"""Refusals of a request that may be answered in a moment."""
KEY_REFUSED = frozenset({401, 402, 403, 407})
"""Refusals of a key, an account or a proxy's user: with another one, the request may be answered."""
_FIRST_BROKEN = 500


def is_providers_failure(status: int) -> bool:
    """Whether an answer with this status is due to the provider or the key, and not to what was asked."""
    return status in PASSING or status in KEY_REFUSED or status >= _FIRST_BROKEN


def error_in(data: Any) -> AnswerError | None:
    """The error under `error`, as all protocols have it and other servers vary it; None if there is none."""
    error = mapping(data).get("error")
    if isinstance(error, str) and error:
        return AnswerError(error)
    if not isinstance(error, dict) or not error:
        return None
    message = text_of(error.get("message")) or "an error without a message"
    return AnswerError(message, word_of(error.get("type")), word_of(error.get("code")))
