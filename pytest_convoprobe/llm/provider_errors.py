"""Whether a provider's failure is temporary or final, and a message about it for people.

The HTTP status decides, because the classes of LiteLLM's exceptions are not reliable: a 500 may be a
BadRequestError, and a missing key an InternalServerError. So both lanes have the same errors.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import Any

from ..errors import LLMError, LLMRejected, LLMTimeout, LLMUnavailable
from ..forbidden_sockets import ALLOW_HOSTS, forbids_sockets
from ..formatting import exact_seconds
from ..settings.model_settings import ModelSettings

# 529 is "overloaded" at some providers. 408, 409 and 425 are temporary too, although they are 4xx.
RETRIED_STATUSES = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})

# Of the provider, or of a server before it.
_TIMEOUTS = frozenset({408, 504})

# Enough for a provider's sentence; some send whole pages of HTML.
_LONGEST = 400
_PREFIX = re.compile(r"\A(?:(?:litellm\.)?\w*(?:Error|Exception|Timeout)\w*\s*(?::|-)\s*)+")
_NO_KEY = re.compile(r"missing credentials|missing \S+ api key|api[_ ]key .{0,40}must be set", re.IGNORECASE)
_NO_QUOTA = re.compile(r"insufficient_quota|exceeded your current quota", re.IGNORECASE)
_NO_TRUST = re.compile(r"certificate_?\s?verify_?\s?failed|CertificateError", re.IGNORECASE)
_NO_CONNECTION = re.compile(
    r"connection error|connect call failed|cannot connect|connection refused", re.IGNORECASE
)
_FULL = re.compile(
    r"context_length_exceeded|maximum context length|context window|available context size", re.IGNORECASE
)
# aiohttp adds to an address how its certificate is checked, as Python writes the object.
_ADDED_TLS = re.compile(r" ssl:(?:<[^>]*>|\w+)(?= \[)")
# What LiteLLM says of an answer that it can't read, for a count of tokens that is a text, for example. A
# traceback of its own follows.
_UNREADABLE = re.compile(r"invalid response object", re.IGNORECASE)


def failure_of(error: Exception, settings: ModelSettings, text: str) -> LLMError:
    """Our own error for what an adapter's client raised; `text` is its message, already masked."""
    kind, status = type(error).__name__, _status(error)
    if "Timeout" in kind:
        return timeout_of(settings, status)
    if _UNREADABLE.search(text):
        return unreadable(settings)
    if forbids_sockets(f"{kind}: {error}"):
        words = f"{ALLOW_HOSTS}, or replay recordings, for which no model is called"
        return LLMRejected(
            f"no connection to {settings.model}: {words}", model=settings.model or "", status=status
        )
    # Not `getattr`: at aiohttp's errors it is a property that warns.
    code = "context_length_exceeded" if kind == "ContextWindowExceededError" else vars(error).get("code")
    said = _ADDED_TLS.sub("", _PREFIX.sub("", text)) or kind
    return refusal_of(settings, status, said, str(code or ""), _headers(error))


def refusal_of(
    settings: ModelSettings, status: int | None, text: str, code: str, headers: Mapping[str, str]
) -> LLMError:
    """Our own error for what a provider answered instead of a reply.

    `text` is its message, already masked, and `code` its own name for the error, or empty. The names of
    `headers` are in lower case.
    """
    if status in _TIMEOUTS:
        return timeout_of(settings, status)
    details = _shortened(text)
    facts: dict[str, Any] = {"model": settings.model or "", "status": status}
    no = _final_no(settings, status, details, f"{code} {details}")
    if no is not None:
        return LLMRejected(no, **facts)
    wait = retry_after_seconds(headers)
    return LLMUnavailable(_passing(settings, status, details), retry_after=wait, **facts)


def no_key(model: str | None, variable: str = "the provider's variable") -> str:
    """That a model is not called without a key, and where to put one."""
    return (
        f"no API key for {model}: set api_key in the settings (any text for a server that wants none), "
        f"or {variable}"
    )


def not_sent(settings: ModelSettings, text: str) -> LLMRejected:
    """A call that cannot be sent as the settings have it; `text` says why, already masked."""
    said = _shortened(text)
    words = f"the call of {settings.model} cannot be sent: {said}; see its settings and the environment"
    return LLMRejected(words, model=settings.model or "")


def timeout_of(settings: ModelSettings, status: int | None = None) -> LLMTimeout:
    """An attempt that took too long, here or (408, 504) at the provider."""
    limit = exact_seconds(settings.timeout)
    message = f"{settings.model} did not answer within {limit}, its `timeout` in the settings"
    if status in _TIMEOUTS:
        message = f"{settings.model} gave no answer in time"
    return LLMTimeout(message, model=settings.model or "", status=status)


def unreadable(settings: ModelSettings) -> LLMUnavailable:
    """An answer in JSON that isn't one of chat completions. It may have to be paid for."""
    message = (
        f"the answer of {settings.model} is not in the form of chat completions: a part of it, such as its "
        "usage, has values of another type"
    )
    failure = LLMUnavailable(message, model=settings.model or "")
    failure.answered = True
    return failure


def _final_no(settings: ModelSettings, status: int | None, details: str, coded: str) -> str | None:
    """The message if the failure is final, or None if another attempt may help; `coded` has the code too."""
    model = settings.model
    if status == 400 and _FULL.search(coded):
        return f"the conversation is too long for {model}: {details}"
    if _NO_KEY.search(details):
        return f"{no_key(model)} ({details})"
    if status == 401:
        return f"{model} refuses the API key (status 401): {details}"
    # Also a 429, but waiting does not help.
    if status == 429 and _NO_QUOTA.search(coded):
        return f"the account for {model} has no quota left (status 429): {details}"
    if status is not None and 400 <= status < 500 and status not in RETRIED_STATUSES:
        return f"{model} rejects the call (status {status}): {details}"
    return None


def _passing(settings: ModelSettings, status: int | None, details: str) -> str:
    where = settings.api_base or "its provider"
    if _NO_TRUST.search(details):
        return (
            f"no connection to {settings.model} at {where}: its certificate is not trusted; name the file "
            f"of your certificate authority in the variable SSL_CERT_FILE ({details})"
        )
    if _NO_CONNECTION.search(details):
        return f"no connection to {settings.model} at {where}; is the server running? ({details})"
    if status == 429:
        return f"{settings.model} has too many requests (status 429): {details}"
    # A client that cannot read a reply invents a status below 400; only a status from a server is shown.
    shown = f" (status {status})" if status is not None and status >= 400 else ""
    return f"{settings.model} is not available{shown}: {details}"


def _status(error: Exception) -> int | None:
    status = getattr(error, "status_code", None)
    return status if isinstance(status, int) else None


def _shortened(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def _headers(error: Exception) -> Mapping[str, str]:
    headers = getattr(error, "litellm_response_headers", None)
    if headers is None:
        headers = getattr(getattr(error, "response", None), "headers", None)
    return {str(name).lower(): str(value) for name, value in (headers or {}).items()}


def retry_after_seconds(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """How long the provider asks to wait, in seconds. `Retry-After` contains seconds or a date."""
    value = headers.get("retry-after", "").strip()
    if not value:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        return _until(value, now or datetime.now(timezone.utc))


def _until(date: str, now: datetime) -> float | None:
    try:
        when = parsedate_to_datetime(date)
    except (TypeError, ValueError):
        return None
    if when.tzinfo is None:
        when = when.replace(tzinfo=timezone.utc)
    return max(0.0, (when - now).total_seconds())
