"""How the request for a message is made; tried out once before the first conversation."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from jinja2 import TemplateError

from ...errors import SettingsError
from ...project_code.tracebacks import describe
from ...settings.http_settings import HttpTarget
from ...start_time import present, template_values
from .templates import Filling, compile_text, compile_tree

TEMPLATE_ERRORS = (TemplateError, TypeError, ValueError, ArithmeticError, LookupError)
"""What filling in a template may raise."""

_WITHOUT_BODY = frozenset({"GET", "HEAD", "OPTIONS", "DELETE"})
_DEFAULT_BODY = {"message": "{{ message }}", "conversation_id": "{{ conversation_id }}"}
_JSON = b"application/json"
_TEXT = b"text/plain; charset=utf-8"
_NOT_IN_URL = re.compile(r"[\s\"<>]")


def _sample(message: str) -> dict[str, Any]:
    said = {"role": "user", "content": message}
    known = {"message": message, "history": [], "messages": [said], "conversation_id": "sample"}
    return {**known, **template_values(present())}


# Each template is filled in with both before the first conversation. With the second, one that forgets to
# escape the message is found, and not at the first message with a quote, in the middle of a run.
_TAME = _sample("hello")
_WILD = _sample('a "quoted"\nword')


@dataclass(frozen=True)
class RequestParts:
    """A request before it is sent; header names and values are bytes."""

    method: str
    url: str = field(repr=False)
    headers: list[tuple[bytes, bytes]] = field(repr=False)
    content: bytes | None = field(repr=False)


class Recipe:
    """The templates of a request. Raises `SettingsError` naming the key that can't be used."""

    def __init__(self, settings: HttpTarget) -> None:
        self._method = settings.method.upper()
        self._url = compile_text(settings.url, "target.url")
        self._headers = {
            name: compile_text(value.get_secret_value(), f"target.headers.{name}")
            for name, value in settings.headers.items()
        }
        source = settings.body
        if source is None and self._method not in _WITHOUT_BODY:
            source = _DEFAULT_BODY
        is_text = isinstance(source, str)
        self._body = compile_text(source, "target.body") if is_text else compile_tree(source, "target.body")
        self._has_body = source is not None
        self.shown_url = _checked_url(self._url)
        self._try_headers()
        self._content_type = self._tried_body(is_text) if self._has_body else None

    def fill(self, variables: Mapping[str, Any]) -> RequestParts:
        """Raises one of `TEMPLATE_ERRORS`."""
        headers = [
            (name.encode("ascii"), fill(variables).encode("utf-8")) for name, fill in self._headers.items()
        ]
        if self._content_type and not any(name.lower() == b"content-type" for name, _ in headers):
            headers.append((b"content-type", self._content_type))
        content = _encoded(self._body(variables)) if self._has_body else None
        return RequestParts(self._method, self._url(variables), headers, content)

    def fill_get(self, url: str) -> RequestParts:
        """A request of another address, without a message."""
        parts = self.fill(_TAME)
        # Headers may be secret, and are meant for this service only.
        ours = urlsplit(url)[:2] == urlsplit(parts.url)[:2]
        headers = [pair for pair in parts.headers if ours and pair[0].lower() != b"content-type"]
        return RequestParts("GET", url, headers, None)

    def _try_headers(self) -> None:
        for name, fill in self._headers.items():
            path = f"target.headers.{name}"
            if not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name):
                raise SettingsError.of(f"`{name}` can't be the name of a header", path=path)
            if re.search(r"[\r\n\0]", _tried(fill, _WILD, path)):
                raise SettingsError.of(
                    "a line break in a message would break the header: write `{{ message | urlencode }}`",
                    path=path,
                )

    def _tried_body(self, is_text: bool) -> bytes:
        """The content type of the body; a text that is JSON has to stay JSON whatever the message is."""
        tame, wild = (_tried(self._body, sample, "target.body") for sample in (_TAME, _WILD))
        if not is_text:
            _tried(lambda value: json.dumps(value), tame, "target.body")
            return _JSON
        if not _is_json(tame):
            return _TEXT
        if not _is_json(wild):
            raise SettingsError.of(
                "a quote or a line break in a message would break the JSON: write `{{ message | tojson }}`, "
                "without quotes around it",
                path="target.body",
            )
        return _JSON


def _checked_url(fill: Filling) -> str:
    """The URL without what may be secret: user, password and query."""
    tame, wild = (str(_tried(fill, sample, "target.url")) for sample in (_TAME, _WILD))
    if _NOT_IN_URL.search(wild) and not _NOT_IN_URL.search(tame):
        raise SettingsError.of(
            "a message can't stand in a URL as it is: write `{{ message | urlencode }}`", path="target.url"
        )
    try:
        parts = urlsplit(tame)
        host = f"{parts.hostname or ''}{f':{parts.port}' if parts.port else ''}"
    except ValueError as error:
        raise SettingsError.of(f"this is not a URL: {error}", path="target.url") from None
    if parts.scheme not in ("http", "https") or not host or _NOT_IN_URL.search(tame):
        raise SettingsError.of(
            "this is not a URL: write `http://host/path` or `https://…`", path="target.url"
        )
    return f"{parts.scheme}://{host}{parts.path}"


def _tried(fill: Filling, variables: Any, path: str) -> Any:
    try:
        return fill(variables)
    except TEMPLATE_ERRORS as error:
        raise SettingsError.of(f"this can't be filled in: {describe(error)}", path=path) from None


def _is_json(text: str) -> bool:
    try:
        return isinstance(json.loads(text), (dict, list))
    except ValueError:
        return False


def _encoded(body: Any) -> bytes:
    text = body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)
    # Models do write lone surrogates, which no encoding has.
    return text.encode("utf-8", "replace")
