"""How the request for a message is made; tried out once before the first conversation."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from jinja2 import TemplateError
from pydantic import SecretStr

from ...errors import SettingsError
from ...project_code.tracebacks import describe
from ...redaction import MASK
from ...settings.http_settings import HttpTarget, SideRequest
from ...start_time import present, template_values
from ...suggest import did_you_mean
from .templates import (
    LEFT_OUT,
    MODEL_URL,
    Filling,
    compile_text,
    compile_tree,
    session_names,
    uses,
    uses_session,
)

TEMPLATE_ERRORS = (TemplateError, TypeError, ValueError, ArithmeticError, LookupError)
"""What filling in a template may raise."""

_WITHOUT_BODY = frozenset({"GET", "HEAD", "OPTIONS", "DELETE"})
_DEFAULT_BODY = {"message": "{{ message }}", "conversation_id": "{{ conversation_id }}"}
_JSON = b"application/json"
_TEXT = b"text/plain; charset=utf-8"
_NOT_IN_URL = re.compile(r"[\s\"<>]")


class _Sample(str):
    """Stands for a value of which only the place is known: a text that has any item."""

    def __getitem__(self, key: Any) -> Any:
        # A list's item has items too: `metadata.orders[0].id`.
        return super().__getitem__(key) if isinstance(key, slice) else _Sample(f"{self}-{key}")


class AnyName(dict[str, Any]):
    """Stands for data with names that aren't known: each has a value."""

    def __missing__(self, key: str) -> _Sample:
        return _Sample("sample")


def _sample(message: str, session: Mapping[str, Any]) -> dict[str, Any]:
    said = {"role": "user", "content": message}
    known = {
        "message": message,
        "history": [],
        "messages": [said],
        "earlier": [],
        "conversation_id": "sample",
    }
    others = {MODEL_URL: "http://127.0.0.1/models", "metadata": AnyName(), "session": session}
    return {**known, **others, **template_values(present())}


@dataclass(frozen=True)
class SessionNames:
    """What `session` has: names that the answer of `start` gives, and those that every answer gives.

    `first` is None if the answer of `start` is kept as it is, with names that nobody knows before.
    """

    first: frozenset[str] | None = frozenset()
    later: frozenset[str] = frozenset()

    @classmethod
    def of(cls, settings: HttpTarget) -> SessionNames:
        start = settings.start
        first = frozenset(start.keep) if start is not None else frozenset[str]()
        return cls(None if start is not None and not start.keep else first, frozenset(settings.carry))

    def at_first(self) -> Mapping[str, Any]:
        """A session as it may be before the first answer."""
        known = {name: _Sample("sample") for name in self.first or ()}
        return AnyName(known) if self.first is None else known

    def later_on(self) -> Mapping[str, Any]:
        """A session as it may be after an answer."""
        known = {**self.at_first(), **{name: _Sample("sample") for name in self.later}}
        return AnyName(known) if self.first is None else known

    def require(self, source: Any, path: str) -> None:
        """Raise `SettingsError` for a template that takes something from `session` that it won't have."""
        if isinstance(source, Mapping):
            for key, item in source.items():
                self.require(item, f"{path}.{key}")
        elif isinstance(source, (list, tuple)):
            for index, item in enumerate(source):
                self.require(item, f"{path}[{index}]")
        elif isinstance(source, str) and "session" in source and self.first is not None:
            known = self.first | self.later
            unknown = sorted(session_names(source) - known)
            if unknown or (uses_session(source) and not known):
                raise SettingsError.of(_no_such_name(unknown, known), path=path)


def _no_such_name(unknown: list[str], known: frozenset[str]) -> str:
    where = "`start.keep` or `carry`"
    if not known:
        return "the template uses `session`, but neither `start` nor `carry` puts anything there"
    names = ", ".join(f"`{name}`" for name in sorted(known))
    near = did_you_mean(unknown[0], sorted(known))
    return f"`session` has no `{unknown[0]}`; {where} gives it {names}{near}"


@dataclass(frozen=True)
class RequestParts:
    """A request before it is sent; header names and values are bytes."""

    method: str
    url: str = field(repr=False)
    headers: list[tuple[bytes, bytes]] = field(repr=False)
    content: bytes | None = field(repr=False)
    shown_query: frozenset[str] = frozenset()
    secrets: tuple[str, ...] = field(default=(), repr=False)

    @property
    def shown(self) -> str:
        """Method and real address for a message, without what may be secret.

        User and password are left out. Of the query, only values that templates have filled in are shown.
        """
        try:
            parts = urlsplit(self.url)
            host = f"{parts.hostname or ''}{f':{parts.port}' if parts.port else ''}"
        except ValueError:
            return f"{self.method} an address that can't be read"
        pairs = (pair.partition("=") for pair in parts.query.split("&") if pair)
        query = "&".join(f"{name}={value if name in self.shown_query else MASK}" for name, _, value in pairs)
        return f"{self.method} {parts.scheme}://{host}{parts.path}{f'?{query}' if query else ''}"


def query_from_templates(url: str) -> frozenset[str]:
    """The names in the query of an address whose values are nothing but one template."""
    return frozenset(re.findall(r"[?&]([^=&{}]+)=\{\{[^{}]*\}\}(?=&|$)", url))


@dataclass(frozen=True)
class RequestSource:
    """The templates of one request as they are in the settings, below `key` (`target`, `target.start`)."""

    key: str
    url: str
    method: str
    headers: Mapping[str, SecretStr]
    body: Any
    accept: str | None = None


def message_source(settings: HttpTarget) -> RequestSource:
    """The request with a message."""
    body = settings.body
    if body is None and settings.method.upper() not in _WITHOUT_BODY:
        body = _DEFAULT_BODY
    accept = "text/event-stream" if settings.stream is not None and settings.stream.format == "sse" else None
    return RequestSource("target", settings.url, settings.method, settings.headers, body, accept)


def side_source(settings: HttpTarget, key: str, request: SideRequest) -> RequestSource:
    """A request that opens or ends a session. On the same host, it has the headers of the target too."""
    host = _host_of(settings.url)
    url = f"{host}{request.url}" if host and request.url.startswith("/") else request.url
    # Headers may be secret, and are meant for this service only. A session may not be there yet.
    shared = {
        name: value
        for name, value in settings.headers.items()
        if host == _host_of(url)
        and not uses_session(value.get_secret_value())
        and name.lower() != "content-type"
    }
    return RequestSource(f"target.{key}", url, request.method, {**shared, **request.headers}, request.body)


def _host_of(url: str) -> str | None:
    found = re.match(r"https?://[^/?#]+", url)
    return found.group() if found else None


class Recipe:
    """The templates of a request. Raises `SettingsError` naming the key that can't be used."""

    def __init__(self, source: RequestSource, names: SessionNames, *, after_answer: bool = False) -> None:
        key = source.key
        self._key = key
        self._method = source.method.upper()
        for part in ("url", "body"):
            names.require(getattr(source, part), f"{key}.{part}")
        self._url = compile_text(source.url, f"{key}.url")
        self._headers = {}
        for name, value in source.headers.items():
            names.require(value.get_secret_value(), f"{key}.headers.{name}")
            self._headers[name] = compile_tree(value.get_secret_value(), f"{key}.headers.{name}")
        self._of_session = tuple(
            name for name, value in source.headers.items() if uses_session(value.get_secret_value())
        )
        self._accept = source.accept
        is_text = isinstance(source.body, str)
        body = f"{key}.body"
        self._body = compile_text(source.body, body) if is_text else compile_tree(source.body, body)
        sources = (source.url, source.body, *(value.get_secret_value() for value in source.headers.values()))
        self.uses_model_url = any(uses(one, MODEL_URL) for one in sources)
        """Whether a template has `{{ model_url }}`."""
        self._has_body = source.body is not None
        # Each template is filled in with both before the first conversation. With the second, one that
        # forgets to escape the message is found, and not at the first message with a quote, in the middle of
        # a run.
        self._tame = _sample("hello", names.later_on() if after_answer else names.at_first())
        self._wild = _sample('a "quoted"\nword', names.later_on())
        self._shows_query = query_from_templates(source.url)
        self.shown_url = self._checked_url()
        self._try_headers()
        self._content_type = self._tried_body(is_text) if self._has_body else None

    def fill(self, variables: Mapping[str, Any]) -> RequestParts:
        """Raises one of `TEMPLATE_ERRORS`."""
        values = {name: fill(variables) for name, fill in self._headers.items()}
        headers = [
            (name.encode("ascii"), str(value).encode("utf-8"))
            for name, value in values.items()
            if value is not LEFT_OUT
        ]
        named = {name.lower() for name, _ in headers}
        if self._content_type and b"content-type" not in named:
            headers.append((b"content-type", self._content_type))
        if self._accept and b"accept" not in named:
            headers.append((b"accept", self._accept.encode("ascii")))
        content = _encoded(self._body(variables)) if self._has_body else None
        secrets = tuple(_words_of(values[name]) for name in self._of_session if values[name] is not LEFT_OUT)
        every = tuple(word for words in secrets for word in words)
        return RequestParts(self._method, self._url(variables), headers, content, self._shows_query, every)

    def fill_get(self, url: str) -> RequestParts:
        """A request of another address, without a message."""
        parts = self.fill(self._tame)
        # Headers may be secret, and are meant for this service only.
        ours = urlsplit(url)[:2] == urlsplit(parts.url)[:2]
        headers = [pair for pair in parts.headers if ours and pair[0].lower() != b"content-type"]
        return RequestParts("GET", url, headers, None)

    def told(self, history: Sequence[Mapping[str, Any]]) -> str:
        """All that the first request says with this history. Raises one of `TEMPLATE_ERRORS`."""
        messages = [*history, *self._tame["messages"]]
        parts = self.fill({**self._tame, "history": history, "messages": messages, "earlier": history})
        texts = (parts.url.encode(), parts.content or b"", *(value for _, value in parts.headers))
        return b"\n".join(texts).decode("utf-8", "replace")

    def _try_headers(self) -> None:
        for name, fill in self._headers.items():
            path = f"{self._key}.headers.{name}"
            if not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name):
                raise SettingsError.of(f"`{name}` can't be the name of a header", path=path)
            _tried(fill, self._tame, path)
            if re.search(r"[\r\n\0]", str(_tried(fill, self._wild, path))):
                raise SettingsError.of(
                    "a line break in a message would break the header: write `{{ message | urlencode }}`",
                    path=path,
                )

    def _tried_body(self, is_text: bool) -> bytes:
        """The content type of the body; a text that is JSON has to stay JSON whatever the message is."""
        path = f"{self._key}.body"
        tame, wild = (_tried(self._body, sample, path) for sample in (self._tame, self._wild))
        if not is_text:
            _tried(lambda value: json.dumps(value), tame, path)
            return _JSON
        if not _is_json(tame):
            return _TEXT
        if not _is_json(wild):
            raise SettingsError.of(
                "a quote or a line break in a message would break the JSON: write `{{ message | tojson }}`, "
                "without quotes around it",
                path=path,
            )
        return _JSON

    def _checked_url(self) -> str:
        """The URL without what may be secret: user, password and query."""
        path = f"{self._key}.url"
        tame, wild = (str(_tried(self._url, sample, path)) for sample in (self._tame, self._wild))
        if _NOT_IN_URL.search(wild) and not _NOT_IN_URL.search(tame):
            raise SettingsError.of(
                "a message can't stand in a URL as it is: write `{{ message | urlencode }}`", path=path
            )
        try:
            parts = urlsplit(tame)
            host = f"{parts.hostname or ''}{f':{parts.port}' if parts.port else ''}"
        except ValueError as error:
            raise SettingsError.of(f"this is not a URL: {error}", path=path) from None
        if parts.scheme not in ("http", "https") or not host or _NOT_IN_URL.search(tame):
            raise SettingsError.of("this is not a URL: write `http://host/path` or `https://…`", path=path)
        return f"{parts.scheme}://{host}{parts.path}"


def _words_of(header: Any) -> tuple[str, ...]:
    """`Bearer abc` and also `abc` alone, as servers like to quote it."""
    return (str(header), *str(header).split()[1:])


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
