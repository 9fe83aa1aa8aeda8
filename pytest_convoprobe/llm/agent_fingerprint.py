"""What makes two model calls of the agent's the same call, in parts, so that a difference has a name.

A recorded agent runs again in another process, at another time, perhaps with another release of its client.
What such a change brings about makes no difference: the order of keys, fields without a value, generated ids,
clocks. Whatever the model could answer otherwise to does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from ..redaction import Redactor
from ..settings.volatile_parts import VolatileParts
from .fingerprint import Fingerprint
from .protocols import ModelRequest, WireMessage, read_request
from .protocols.shapes import digest_of, mapping, read_data
from .same_shape import as_it_is, bare_tool, in_order, normal, without_binaries, without_empty
from .volatile_texts import Divided, VolatileTexts, message_with_a_clock

# They say who asks and how the answer is billed and kept, not what the model is asked.
_VOLATILE = frozenset(
    "user metadata store stream_options safety_identifier prompt_cache_key prompt_cache_retention "
    "service_tier idempotency_key client_request_id request_id".split()
)
_VERSION = re.compile(r"^/*(?:v\d+\w*/)?")
_LONGEST = 200
_MOST_INPUTS = 20
_OF_MODEL = frozenset({"assistant", "model"})
# Of these nobody knows what an id in them means.
_ANY = frozenset({"body", "input"})
_OF_AGENT = frozenset({"system", "developer"})


class AgentFingerprints:
    """Computes the fingerprints of one conversation's calls."""

    def __init__(self, redactor: Redactor, volatile: VolatileParts | None = None) -> None:
        self._redactor = redactor
        self._volatile = volatile or VolatileParts()
        self._answered: dict[str, str] = {}
        # A conversation's calls repeat most messages.
        self._masked: dict[str, Any] = {}
        self._divided: Divided = {}

    def answered(self, response_id: str, call: Fingerprint) -> None:
        """Take in which call an answer belongs to: a later one may continue it by its id alone."""
        if response_id:
            self._answered[response_id] = call.digest

    def of(self, method: str, path: str, body: bytes, said: Sequence[str] = ()) -> Fingerprint:
        """The fingerprint of a call. `said` are the user's messages until now: a date in them isn't a clock.

        Raises `SettingsError` if an expression of the project's takes too long.
        """
        request = read_request(path, _without(self._volatile.fields, body))
        theirs = [self._redactor.text(one) for one in said if message_with_a_clock(one)]
        texts = VolatileTexts(self._volatile.texts, theirs, self._divided)
        # First: the calls in them are numbered in the order in which they come.
        messages = tuple(self._message(one, texts) for one in in_order(request.messages))
        return Fingerprint(
            self._redactor.text(request.model),
            self._parameters(request, method, path, texts),
            _shortened(messages),
            self._digest([bare_tool(tool) for tool in request.tools], texts) if request.tools else "",
            self._digest(bare_tool(request.schema), texts) if request.schema is not None else "",
        )

    def _message(self, message: WireMessage, texts: VolatileTexts) -> str:
        model, user = message.role in _OF_MODEL, message.role not in _OF_AGENT
        shape = as_it_is if message.role in _ANY else normal
        data = shape(self._without_secrets(message.data), texts.reader(model=model, user=user))
        return f"{message.role or 'message'} {digest_of(data)}"

    def _without_secrets(self, data: Any) -> Any:
        key = digest_of(data)
        if key not in self._masked:
            self._masked[key] = self._redactor.data(without_binaries(data))
        return self._masked[key]

    def _digest(self, data: Any, texts: VolatileTexts) -> str:
        # Sorted: in which order tools are named says nothing.
        given = data if isinstance(data, list) else [data]
        shapes = [as_it_is(without_empty(self._without_secrets(one)), texts.reader()) for one in given]
        return digest_of(sorted(shapes, key=digest_of))

    def _parameters(
        self, request: ModelRequest, method: str, path: str, texts: VolatileTexts
    ) -> dict[str, Any]:
        found = {name: value for name, value in request.parameters.items() if name not in _VOLATILE}
        found = mapping(as_it_is(without_empty(self._redactor.data(found)), texts.reader()))
        own = {
            "path": self._path(path, texts),
            "method": "" if method.upper() == "POST" else method.upper(),
            "stream": request.stream or "",
            "previous_response_id": self._continued(request.previous_id),
        }
        return {name: _short(value) for name, value in {**found, **own}.items() if value != ""}

    def _path(self, path: str, texts: VolatileTexts) -> str:
        """The path without its version; an answer that it names is known by its call."""
        parts = self._redactor.text(_VERSION.sub("", path).strip("/")).split("/")
        return "/".join(self._answered.get(part) or texts.reader()(part) for part in parts)

    def _continued(self, response_id: str) -> str:
        """Which call is continued, by its digest: the id is another one whenever the call is made."""
        if not response_id:
            return ""
        return f"that of call {self._answered.get(response_id, 'unknown')}"


def _shortened(messages: tuple[str, ...]) -> tuple[str, ...]:
    """Thousands of inputs of one call for embeddings as one digest after the first."""
    if len(messages) <= _MOST_INPUTS or not messages[0].startswith("input "):
        return messages
    rest = messages[_MOST_INPUTS:]
    return (*messages[:_MOST_INPUTS], f"input {digest_of(rest)} ({len(rest)} more)")


def _short(value: Any) -> Any:
    """A value as the recording shows it; a long one by its digest."""
    text = json.dumps(value, sort_keys=True)
    return value if len(text) <= _LONGEST else f"digest {digest_of(value)}"


def _without(fields: Sequence[str], body: bytes) -> bytes:
    """The body without these fields."""
    if not fields or not body:
        return body
    try:
        data = read_data(body)
    except ValueError:
        return body
    for field in fields:
        _remove(data, field.split("."))
    return json.dumps(data).encode("ascii")


def _remove(data: Any, path: list[str]) -> None:
    name, *rest = path
    if isinstance(data, list):
        for item in data if name == "*" else ():
            _remove(item, rest) if rest else None
    elif isinstance(data, dict):
        for key in [key for key in data if name in ("*", key)]:
            if rest:
                _remove(data[key], rest)
            else:
                del data[key]
