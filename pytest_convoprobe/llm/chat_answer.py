"""What a server of chat completions answered, as the reply or as our own error."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

from ..errors import LLMError, LLMRejected, LLMUnavailable
from ..outside_json import read_json
from ..settings.model_settings import ModelSettings
from ..transcript import Usage, token_count
from .chat_reply import read_reply, whole_number
from .port import LLMReply
from .posting import RawAnswer
from .price_list import listed_cost
from .provider_errors import refusal_of, unreadable

Mask = Callable[[str], str]

# Some servers answer with whole pages. The end of what is kept may be a part of a secret, so it is left out.
_MOST_WORDS = 20_000
_SURELY_WHOLE = 16_000
_MOST_SHOWN = 200

# An error in an answer with status 200 that names no status of its own: as LiteLLM has it.
_ERROR_INSIDE = 422


def answered(answer: RawAnswer, settings: ModelSettings, masked: Mask) -> LLMReply | LLMError:
    """The reply, or the error. An error is returned, for its caller to raise."""
    if answer.stopped:
        return LLMRejected(f"{settings.model} {answer.stopped}", model=settings.model or "")
    data = _json(answer.body)
    if not 200 <= answer.status < 300:
        text, code = _words(data) or _plain(answer.body) or "no message", _code(data)
        return refusal_of(settings, answer.status, _safe(text, masked), code, answer.headers)
    if not isinstance(data, dict):
        return _no_json(answer, settings, masked)
    if _is_error(data.get("error")):
        status, text = _status_inside(data["error"]), _safe(_words(data) or "no message", masked)
        return refusal_of(settings, status, text, _code(data), answer.headers)
    if not _has_counts(data.get("usage")):
        return unreadable(settings)
    try:
        reported = _reported(answer.headers, data)
        return read_reply(data, settings, _listed(data, settings) if reported is None else reported)
    except LLMUnavailable as error:
        return error.with_traceback(None)


def _json(body: bytes) -> Any:
    try:
        return read_json(body)
    except ValueError:
        return None


def _no_json(answer: RawAnswer, settings: ModelSettings, masked: Mask) -> LLMUnavailable:
    kind = answer.headers.get("content-type", "").partition(";")[0] or "no content type"
    begins = _safe(_plain(answer.body), masked)[:_MOST_SHOWN]
    said = f"its answer is not the JSON of a reply ({kind}): {begins}" if begins else "its answer is empty"
    return LLMUnavailable(f"{settings.model} is not available: {said}", model=settings.model or "")


def _plain(body: bytes) -> str:
    return " ".join(body[:_MOST_WORDS].decode("utf-8", "replace").split())


def _safe(text: str, masked: Mask) -> str:
    if len(text) < _MOST_WORDS:
        return masked(text)
    return masked(text[:_MOST_WORDS])[:_SURELY_WHOLE]


def _words(data: Any) -> str:
    """The message of an error, in the places where servers put it."""
    if not isinstance(data, dict):
        return ""
    error = data.get("error")
    inner = error if isinstance(error, dict) else {}
    found = (inner.get("message"), error, data.get("message"), data.get("detail"))
    return next((_text(part) for part in found if part), "")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _code(data: Any) -> str:
    error = data.get("error") if isinstance(data, dict) else None
    names = [error.get(name) for name in ("code", "type")] if isinstance(error, dict) else []
    return " ".join(name for name in names if isinstance(name, str))


def _is_error(error: Any) -> bool:
    """Whether an answer that came with a good status is an error. Some servers have an empty one in each."""
    if isinstance(error, dict):
        return bool(error.get("message")) or error.get("code") is not None
    return bool(error)


def _status_inside(error: Any) -> int | None:
    """The status that an error names; None if it names something else, which may be a passing fault."""
    code = error.get("code") if isinstance(error, dict) else None
    if code is None:
        return _ERROR_INSIDE
    return code if isinstance(code, int) and not isinstance(code, bool) else None


def _has_counts(usage: Any) -> bool:
    """Whether the counts of tokens are numbers, or left out. Of another type, nobody knows what they mean."""
    if usage is None:
        return True
    if not isinstance(usage, dict):
        return False
    counts = (usage.get(name) for name in ("prompt_tokens", "completion_tokens"))
    return all(count is None or isinstance(whole_number(count), int) for count in counts)


def _reported(headers: Mapping[str, str], data: Mapping[str, Any]) -> float | None:
    """What the server says that the answer costs: a proxy of LiteLLM in a header, OpenRouter in the usage."""
    cost = (data.get("usage") or {}).get("cost")
    named = cost.get("total_cost") if isinstance(cost, dict) else cost
    header = headers.get("x-litellm-response-cost", "")
    said = (_number(header), named)
    numbers = (one for one in said if isinstance(one, (int, float)) and not isinstance(one, bool))
    return next((one for one in numbers if 0 <= one < math.inf), None)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _listed(data: Mapping[str, Any], settings: ModelSettings) -> float | None:
    """What the answer costs by the list of prices."""
    usage = data.get("usage") or {}
    counts = (usage.get(name) for name in ("prompt_tokens", "completion_tokens"))
    tokens = Usage(*(token_count(whole_number(count)) or 0 for count in counts))
    details = usage.get("prompt_tokens_details")
    cached = token_count(details.get("cached_tokens")) if isinstance(details, dict) else 0
    tier = data.get("service_tier")
    return listed_cost(settings.model or "", tokens, cached=cached or 0, tier=tier if tier else None)
