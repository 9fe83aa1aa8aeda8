"""Whether an endpoint takes a JSON schema and obeys it: the first call of a model that has one finds out.

No list of names can say it. The same model takes schemas at one server and not at another, and some servers
accept the parameter and ignore it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from enum import Enum
from typing import Any

from ..settings.model_settings import ModelSettings
from .json_text import without_thinking
from .port import LLMReply

FORMAT = "response_format"
"""The parameter in which a schema is sent."""

Endpoint = tuple[str | None, str | None]
"""A model's name and the address of its server: another address is another server, with other abilities."""


def endpoint_of(settings: ModelSettings) -> Endpoint:
    """Where calls with these settings go."""
    return settings.model, settings.api_base


class SchemaUse(str, Enum):
    """What came of the probe, in words that follow the model's name."""

    OBEYED = "takes JSON schemas"
    IGNORED = "ignores JSON schemas, so JSON is asked for in the prompt only"
    REFUSED = "refuses JSON schemas, so JSON is asked for in the prompt only"


class SchemaProbes:
    """One probe for each endpoint, shared by all calls of a process. It belongs to one event loop."""

    def __init__(self) -> None:
        self._found: dict[Endpoint, SchemaUse] = {}
        self._open: dict[Endpoint, asyncio.Event] = {}

    def found(self, settings: ModelSettings) -> SchemaUse | None:
        """What is known; None before the first answer."""
        return self._found.get(endpoint_of(settings))

    def settle(self, settings: ModelSettings, use: SchemaUse) -> None:
        """Keep an answer. A later refusal replaces an earlier yes: servers differ by schema, too."""
        self._found[endpoint_of(settings)] = use

    @asynccontextmanager
    async def asking(self, settings: ModelSettings) -> AsyncIterator[SchemaUse | None]:
        """What is known when the caller's turn has come; with None, its own call is the probe.

        Calls that begin during the first probe wait for it: otherwise a server that refuses schemas would
        refuse as many calls as run at once. They wait once only. If the first call got no answer, the others
        probe together, since one after the other would each wait out the time limit of a dead server.
        """
        endpoint = endpoint_of(settings)
        running = self._open.get(endpoint)
        if endpoint in self._found:
            yield self._found[endpoint]
        elif running is not None:
            await running.wait()
            yield self._found.get(endpoint)
        else:
            self._open[endpoint] = done = asyncio.Event()
            try:
                yield None
            finally:
                # However the call ended, cancelled too: nobody may wait for ever.
                del self._open[endpoint]
                done.set()


def use_shown_by(reply: LLMReply, schema: Mapping[str, Any]) -> SchemaUse | None:
    """What a reply to a call with a schema shows; None if it was cut, since then it shows nothing."""
    if reply.finish_reason in ("length", "content_filter"):
        return None
    try:
        value = json.loads(without_thinking(reply.text).strip())
    except (ValueError, RecursionError):
        return SchemaUse.IGNORED
    return SchemaUse.OBEYED if _fits(value, schema, schema) else SchemaUse.IGNORED


def _fits(value: Any, schema: Mapping[str, Any], root: Mapping[str, Any]) -> bool:
    """Whether the value has the schema's shape, for the part of JSON Schema that `strict_schema` writes."""
    if "$ref" in schema:
        return _fits(value, _target(schema["$ref"], root), root)
    if "anyOf" in schema:
        return any(_fits(value, option, root) for option in schema["anyOf"])
    if "enum" in schema or "const" in schema:
        return value in schema.get("enum", [schema.get("const")])
    if not _is_of(value, schema.get("type")):
        return False
    return all(_fits(part, inner, root) for part, inner in _parts(value, schema)) and _has_keys(value, schema)


def _parts(value: Any, schema: Mapping[str, Any]) -> Iterable[tuple[Any, Mapping[str, Any]]]:
    """The parts of an object or a list, each with its schema."""
    if isinstance(value, list):
        return [(item, schema.get("items", {})) for item in value]
    known = schema.get("properties", {})
    return [(value[name], known[name]) for name in known if name in value] if isinstance(value, dict) else []


def _has_keys(value: Any, schema: Mapping[str, Any]) -> bool:
    if not isinstance(value, dict):
        return True
    closed = schema.get("additionalProperties") is False
    known = schema.get("properties", {})
    return all(name in value for name in schema.get("required", ())) and (
        not closed or value.keys() <= known.keys()
    )


_TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "null": (type(None),),
}


def _is_of(value: Any, kind: object) -> bool:
    if isinstance(kind, list):
        return any(_is_of(value, one) for one in kind)
    if kind not in _TYPES:
        return True
    # In Python, True is an integer.
    return isinstance(value, _TYPES[str(kind)]) and (kind == "boolean" or not isinstance(value, bool))


def _target(reference: str, root: Mapping[str, Any]) -> Mapping[str, Any]:
    node: Any = root
    for part in reference.removeprefix("#/").split("/"):
        node = node[part]
    found: Mapping[str, Any] = node
    return found
