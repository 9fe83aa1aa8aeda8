"""The sandboxed templates that an HTTP request is made from."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from uuid import NAMESPACE_OID, uuid5

from jinja2 import StrictUndefined, TemplateError, TemplateRuntimeError, Undefined, UndefinedError, nodes
from jinja2.meta import find_undeclared_variables
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import missing

from ...errors import SettingsError
from ...start_time import TEMPLATE_NAMES
from ...suggest import did_you_mean

MODEL_URL = "model_url"
VARIABLES = (
    *("message", "history", "messages", "earlier", "conversation_id", "metadata", "session", MODEL_URL),
    *TEMPLATE_NAMES,
)
"""What templates know: the message, the earlier turns, both together, the scenario's history (until the first
answer alone), the conversation's id, the scenario's metadata, what the service has said of the session, and
where the service is to call models.
"""

LEFT_OUT = object()
"""What a text of a body gives whose key is left out: what it takes from the session isn't known yet."""


def _with_ids(messages: Sequence[Mapping[str, Any]], conversation: str) -> list[dict[str, Any]]:
    """Messages with an `id` each, a UUID that is the same in each request of the conversation.

    What belongs to calls of tools is named as in AG-UI.
    """
    return [
        {
            "id": str(uuid5(NAMESPACE_OID, f"{conversation}-{number}")),
            **{_AGUI_NAMES.get(key, key): value for key, value in message.items()},
        }
        for number, message in enumerate(messages)
    ]


_AGUI_NAMES = {"tool_calls": "toolCalls", "tool_call_id": "toolCallId"}


def _as_parts(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Messages with `parts` instead of `content`, as Vercel's AI SDK has them."""
    results = {one.get("tool_call_id"): one["content"] for one in messages if one["role"] == "tool"}
    return [
        {"role": message["role"], "parts": list(_parts(message, results))}
        for message in messages
        if message["role"] != "tool"
    ]


def _parts(message: Mapping[str, Any], results: Mapping[Any, str]) -> Iterator[dict[str, Any]]:
    for call in message.get("tool_calls", ()):
        yield {
            "type": f"tool-{call['function']['name']}",
            "toolCallId": call["id"],
            "state": "output-available",
            "input": json.loads(call["function"]["arguments"]),
            "output": results.get(call["id"], ""),
        }
    if message["content"] or not message.get("tool_calls"):
        yield {"type": "text", "text": message["content"]}


Filling = Callable[[Mapping[str, Any]], Any]
"""A template that was checked; called with the variables."""


class Metadata(dict[str, Any]):
    """The scenario's `metadata`, or a mapping in it, as templates have it."""

    def __init__(self, values: Mapping[str, Any], place: str = "metadata") -> None:
        # A name that no scenario has as a key: templates see attributes first.
        self._way_to_metadata = place
        super().__init__({key: _with_places(value, f"{place}.{key}") for key, value in values.items()})


def _with_places(value: Any, place: str) -> Any:
    if isinstance(value, Mapping):
        return Metadata(value, place)
    if isinstance(value, (list, tuple)):
        return [_with_places(item, f"{place}[{index}]") for index, item in enumerate(value)]
    return value


class MissingMetadata(UndefinedError):
    """A template uses metadata that the scenario doesn't have."""


class _NamedUndefined(StrictUndefined):
    """Says in its error what a scenario lacks, in the words of its author."""

    def __init__(
        self,
        hint: str | None = None,
        obj: Any = missing,
        name: str | None = None,
        exc: type[TemplateRuntimeError] = UndefinedError,
    ) -> None:
        if isinstance(obj, Metadata):
            hint, exc = f"the scenario's `{obj._way_to_metadata}` has no `{name}`", MissingMetadata
        super().__init__(hint, obj, name, exc)


# Plain text and JSON, not HTML: nothing is escaped unless a filter says so.
_ENVIRONMENT = ImmutableSandboxedEnvironment(
    undefined=_NamedUndefined,
    autoescape=False,
    keep_trailing_newline=True,
)
_ENVIRONMENT.filters |= {"with_ids": _with_ids, "as_parts": _as_parts}


def compile_text(source: str, path: str) -> Filling:
    """A template of a text; raises `SettingsError` naming `path` for one that can't be used."""
    tree = _parsed(source, path)
    unknown = find_undeclared_variables(tree) - set(VARIABLES)
    if unknown:
        raise SettingsError.of(_unknown(sorted(unknown)[0]), path=path)
    template = _ENVIRONMENT.from_string(source)
    return lambda variables: template.render(variables)


def compile_tree(source: Any, path: str) -> Filling:
    """A mapping or list whose texts are templates, at any depth; keys and other values stay.

    A text that is nothing but one `{{ … }}` becomes the value itself: `{{ history }}` a list. If it uses
    `session` and gives none, its key is left out: a first request has no id of an earlier answer.
    """
    if isinstance(source, str):
        return _compile_leaf(source, path)
    if isinstance(source, Mapping):
        fields = {str(key): compile_tree(item, f"{path}.{key}") for key, item in source.items()}
        return lambda variables: {
            key: value for key, fill in fields.items() if (value := fill(variables)) is not LEFT_OUT
        }
    if isinstance(source, Sequence):
        items = [compile_tree(item, f"{path}[{index}]") for index, item in enumerate(source)]
        return lambda variables: [value for fill in items if (value := fill(variables)) is not LEFT_OUT]
    return lambda variables: source


def session_names(source: str) -> frozenset[str]:
    """The names that a template takes from `session`, such as `thread_id` of `{{ session.thread_id }}`."""
    tree = _ENVIRONMENT.parse(source)
    names = [node.attr for node in tree.find_all(nodes.Getattr) if _is_session(node.node)]
    items = [node.arg for node in tree.find_all(nodes.Getitem) if _is_session(node.node)]
    return frozenset(names + [item.value for item in items if isinstance(item, nodes.Const)])


def uses_session(source: str) -> bool:
    """Whether a template uses `session` at all."""
    return uses(source, "session")


def uses(source: Any, name: str) -> bool:
    """Whether a template uses this variable, or one of those in a mapping or list."""
    if isinstance(source, str):
        return name in find_undeclared_variables(_ENVIRONMENT.parse(source))
    items = source.values() if isinstance(source, Mapping) else source
    return isinstance(source, (Mapping, list, tuple)) and any(uses(item, name) for item in items)


def _is_session(node: nodes.Node) -> bool:
    return isinstance(node, nodes.Name) and node.name == "session"


def _compile_leaf(source: str, path: str) -> Filling:
    as_text = compile_text(source, path)
    inner = _lone_expression(source)
    if inner is None:
        return as_text
    expression = _ENVIRONMENT.compile_expression(inner, undefined_to_none=False)
    of_session = uses_session(source)

    def fill(variables: Mapping[str, Any]) -> Any:
        value = expression(**variables)
        if of_session and (value is None or isinstance(value, Undefined)):
            return LEFT_OUT
        # As text it raises: a value that is not there would otherwise travel on.
        return str(value) if isinstance(value, Undefined) else value

    return fill


def _lone_expression(source: str) -> str | None:
    """What is between the braces of a text that is one `{{ … }}` and at most comments; else None."""
    tokens = [(kind, text) for _, kind, text in _ENVIRONMENT.lex(source) if not kind.startswith("comment")]
    kinds = [kind for kind, _ in tokens]
    if not tokens or kinds[0] != "variable_begin" or kinds.index("variable_end") != len(kinds) - 1:
        return None
    return "".join(text for _, text in tokens[1:-1]).strip()


def _parsed(source: str, path: str) -> nodes.Template:
    try:
        return _ENVIRONMENT.parse(source)
    except TemplateError as error:
        line = getattr(error, "lineno", None)
        place = f" in line {line}" if line and "\n" in source else ""
        raise SettingsError.of(f"the template can't be read{place}: {error.message}", path=path) from None


def _unknown(name: str) -> str:
    known = ", ".join(f"`{variable}`" for variable in VARIABLES)
    return f"the template uses `{name}`; templates know {known}{did_you_mean(name, VARIABLES)}"
