"""From the answer of a service to a `Reply`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from ...cutting import MOST_TEXT, at_most, not_too_many
from ...outside_json import read_json
from ...project_code.tracebacks import clean
from ...redaction import Redactor
from ...settings.http_settings import HttpTarget, VersionSource
from ...transcript import Reply, ToolCall, Usage
from ..reply_forms import said
from ..reply_parts import as_tool_call, as_usage, joined_text
from .paths import AnswerPath, keys_in

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

    def excerpt(self, redactor: Redactor) -> str:
        """The first of the body for a message: secrets masked, control characters harmless."""
        # A few bytes for each character at most.
        text = replace(self, body=self.body[: 4 * _SEARCHED]).text.strip()
        if not text:
            return "    (the body is empty)"
        shown = clean(text[:_SEARCHED], redactor, limit=_SHOWN)
        return "\n".join(f"    {line}" for line in shown.splitlines())


class AnswerReader:
    """Picks text, tool calls and usage out; raises `SettingsError` for a JMESPath that can't be read.

    What a path doesn't find isn't reported, which is not the same as none.
    """

    def __init__(self, settings: HttpTarget) -> None:
        self._text = AnswerPath(settings.text, "target.text")
        # Where settings name the place of the text, plain text as a body is a mistake and not the answer.
        self._plain_allowed = "text" not in settings.model_fields_set
        self._tool_calls = _path(settings.tool_calls, "target.tool_calls")
        self._usage = _path(settings.usage, "target.usage")
        self._ended = _path(settings.ended, "target.ended")
        self._tool_calls_optional = settings.tool_calls_optional

    def read(self, answer: HttpAnswer, most_text: int = MOST_TEXT) -> Reply:
        """Raises `ValueError` saying what is wrong with the answer."""
        with at_most(most_text):
            return self._read(answer)

    def _read(self, answer: HttpAnswer) -> Reply:
        if not 200 <= answer.status <= 299:
            raise ValueError(_refusal(answer))
        if self._plain_allowed and answer.content_type == "text/plain":
            return said(answer.text)
        data = _parsed(answer)
        text, calls, usage = self._text_in(data), self._calls_in(data), self._usage_in(data)
        reply = said(text, calls, usage, ended=self._is_ended(data))
        return replace(reply, gaps=dict(self._gaps(data, usage)))

    def _text_in(self, data: Any) -> str:
        if self._plain_allowed and isinstance(data, str):
            return data
        found = self._text.find(data)
        if found is None:
            raise ValueError(
                f"`text: {self._text.path}` finds nothing in the answer, which has {keys_in(data)}"
            )
        text = joined_text(found)
        if text is None:
            raise ValueError(f"`text: {self._text.path}` finds {_kind(found)} in the answer, not a text")
        return text

    def _calls_in(self, data: Any) -> tuple[ToolCall, ...] | None:
        if self._tool_calls is None:
            return None
        found = self._tool_calls.find(data)
        if found is None:
            return () if self._tool_calls_optional else None
        if not isinstance(found, (list, dict)):
            raise ValueError(f"`tool_calls` finds {_kind(found)} in the answer, not a list")
        return tuple(map(as_tool_call, not_too_many(found if isinstance(found, list) else [found])))

    def _usage_in(self, data: Any) -> Usage | None:
        found = None if self._usage is None else self._usage.find(data)
        if found is not None and not isinstance(found, dict):
            raise ValueError(f"`usage` finds {_kind(found)} in the answer, not counts of tokens by name")
        return as_usage(found)

    def _gaps(self, data: Any, usage: Usage | None) -> Iterator[tuple[str, str]]:
        """What is missing in the answer, although the settings say where it should be."""
        if self._tool_calls is not None and self._tool_calls.find(data) is None:
            advice = (
                " (`target.tool_calls_optional` takes that for no tool calls)"
                if self._tool_calls_optional
                else ". Correct the path; if the service leaves the tool calls out where there are none, set "
                "`target.tool_calls_optional: true`"
            )
            yield "tool_calls", f"{_finds_nothing('tool_calls', self._tool_calls, data)}{advice}"
        if self._usage is not None and usage is None:
            nothing = _finds_nothing("usage", self._usage, data)
            yield "usage", f"{nothing}. Correct the path; it must find the tokens of prompt and completion"

    def _is_ended(self, data: Any) -> bool:
        found = None if self._ended is None else self._ended.find(data)
        if found is not None and not isinstance(found, bool):
            # A text such as "false" would count as true.
            raise ValueError(
                f"`ended` finds {_kind(found)} in the answer, not true or false: compare it with something, "
                "as in `status == 'closed'`"
            )
        return bool(found)


def _finds_nothing(key: str, path: AnswerPath, data: Any) -> str:
    what = "nothing" if path.find(data) is None else "no counts of tokens"
    return f"`target.{key}: {path.path}` finds {what} in the answer, which has {keys_in(data)}"


class VersionReader:
    """Picks the service's version out of an answer; raises `SettingsError` for a bad JMESPath."""

    def __init__(self, source: VersionSource) -> None:
        self._source = source
        self._path = _path(source.path, "target.version")

    def read(self, answer: HttpAnswer) -> str:
        """Raises `ValueError` saying why there is none: then nobody knows which agent answers."""
        if not 200 <= answer.status <= 299:
            raise ValueError(_refusal(answer))
        found, where = self._found(answer)
        # JSON's true and false say nothing about which version runs.
        if found in (None, "") or isinstance(found, (bool, list, dict)):
            what = "nothing" if found in (None, "") else _kind(found)
            raise ValueError(f"`version` finds {what} in the answer ({where}), not a version")
        return str(found)[:_LONGEST_VERSION]

    def _found(self, answer: HttpAnswer) -> tuple[Any, str]:
        if self._source.header:
            return answer.headers.get(self._source.header.lower()), f"header {self._source.header}"
        if self._path is not None:
            return self._path.find(_parsed(answer)), self._path.path
        return answer.text.strip(), "its whole text"


def _path(path: str | None, key: str) -> AnswerPath | None:
    return None if path is None else AnswerPath(path, key)


def _parsed(answer: HttpAnswer) -> Any:
    try:
        return read_json(answer.text)
    except ValueError as error:
        kind = answer.content_type or "no content type"
        raise ValueError(f"the answer is not JSON ({kind}): {error}") from None


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


def _kind(value: Any) -> str:
    kinds = {dict: "an object", list: "a list", bool: "a boolean", int: "a number", float: "a number"}
    return kinds.get(type(value), "a text")
