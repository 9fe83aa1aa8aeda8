"""Errors of the gateway's own, in the form of the protocol that the client speaks."""

from __future__ import annotations

import json

from .exchange import Answered
from .paths import speaks_anthropic

_TYPES = {400: "invalid_request_error", 404: "not_found_error", 413: "request_too_large", 502: "api_error"}


def refusal(path: str, message: str, *, status: int = 400, code: str, retry: bool = False) -> Answered:
    """An answer that says why no other one comes. With `retry`, clients are free to try again."""
    kind = _TYPES.get(status, "api_error")
    if speaks_anthropic(path):
        data: dict[str, object] = {"type": "error", "error": {"type": kind, "message": message, "code": code}}
    else:
        data = {"error": {"message": message, "type": kind, "param": None, "code": code}}
    headers = {"content-type": "application/json"}
    if not retry:
        headers["x-should-retry"] = "false"
    return Answered(status, json.dumps(data).encode("utf-8"), headers)
