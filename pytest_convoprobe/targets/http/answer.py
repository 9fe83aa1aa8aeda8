"""The answer of a service as it came, and its version."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from ...outside_json import read_json
from ...project_code.tracebacks import clean
from ...redaction import Redactor
from ...settings.http_settings import VersionSource
from .reading import kind_of, optional_path

_SHOWN = 300
# Cut before it is searched for secrets: the search would take long in megabytes.
_SEARCHED = 4_000
_LONGEST_VERSION = 200


@dataclass(frozen=True)
class HttpAnswer:
    """What came back; header names are in lower case."""

    status: int
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)

    @property
    def content_type(self) -> str:
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def text(self) -> str:
        """The body as text; what can't be decoded is replaced."""
        _, _, charset = self.headers.get("content-type", "").lower().partition("charset=")
        try:
            return self.body.decode(charset.partition(";")[0].strip("\"' ") or "utf-8", "replace")
        except LookupError:
            return self.body.decode("utf-8", "replace")

    def require_success(self) -> None:
        """Raise `ValueError` for any status but 2xx."""
        if not 200 <= self.status <= 299:
            raise ValueError(_refusal(self))

    def data(self) -> Any:
        """The body as JSON. Raises `ValueError` if it isn't."""
        try:
            return read_json(self.text)
        except ValueError as error:
            kind = self.content_type or "no content type"
            raise ValueError(f"the answer is not JSON ({kind}): {error}") from None

    def excerpt(self, redactor: Redactor) -> str:
        """The first of the body for a message: secrets masked, control characters harmless."""
        # A few bytes for each character at most.
        text = replace(self, body=self.body[: 4 * _SEARCHED]).text.strip()
        if not text:
            return "    (the body is empty)"
        shown = clean(text[:_SEARCHED], redactor, limit=_SHOWN)
        return "\n".join(f"    {line}" for line in shown.splitlines())


class VersionReader:
    """Picks the service's version out of an answer; raises `SettingsError` for a bad JMESPath."""

    def __init__(self, source: VersionSource) -> None:
        self._source = source
        self._path = optional_path(source.path, "target.version")

    def read(self, answer: HttpAnswer) -> str:
        """Raises `ValueError` saying why there is none: then nobody knows which agent answers."""
        answer.require_success()
        found, where = self._found(answer)
        # JSON's true and false say nothing about which version runs.
        if found in (None, "") or isinstance(found, (bool, list, dict)):
            what = "nothing" if found in (None, "") else kind_of(found)
            raise ValueError(f"`version` finds {what} in the answer ({where}), not a version")
        return str(found)[:_LONGEST_VERSION]

    def _found(self, answer: HttpAnswer) -> tuple[Any, str]:
        if self._source.header:
            return answer.headers.get(self._source.header.lower()), f"header {self._source.header}"
        if self._path is not None:
            return self._path.find(answer.data()), self._path.path
        return answer.text.strip(), "its whole text"


def _refusal(answer: HttpAnswer) -> str:
    try:
        phrase = HTTPStatus(answer.status).phrase
    except ValueError:
        phrase = "not a success"
    location = answer.headers.get("location")
    where = f"; redirects are not followed: {whither(location)}" if location else ""
    return f"{phrase}{where if 300 <= answer.status <= 399 else ''}"


def whither(location: str) -> str:
    """Where a redirect leads, without what may be secret there: user, password, query and fragment."""
    try:
        parts = urlsplit(location)
        host = f"{parts.scheme}://{parts.hostname}{f':{parts.port}' if parts.port else ''}"
    except ValueError:
        return "it leads to an address that can't be read"
    path = parts.path if parts.hostname is None else f"{host}{parts.path}"
    return f"if {path} is right, put it in `url`"
