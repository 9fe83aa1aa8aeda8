"""The sandboxed templates that an HTTP request is made from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from jinja2 import StrictUndefined, TemplateError, Undefined, nodes
from jinja2.meta import find_undeclared_variables
from jinja2.sandbox import ImmutableSandboxedEnvironment

from ...errors import SettingsError
from ...start_time import TEMPLATE_NAMES
from ...suggest import did_you_mean

VARIABLES = ("message", "history", "messages", "conversation_id", *TEMPLATE_NAMES)
"""What templates know: the message, the earlier turns, both together, and the conversation's id."""

Filling = Callable[[Mapping[str, Any]], Any]
"""A template that was checked; called with the variables."""

# Plain text and JSON, not HTML: nothing is escaped unless a filter says so.
_ENVIRONMENT = ImmutableSandboxedEnvironment(
    undefined=StrictUndefined,
    autoescape=False,
    keep_trailing_newline=True,
)


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

    A text that is nothing but one `{{ … }}` becomes the value itself: `{{ history }}` a list.
    """
    if isinstance(source, str):
        return _compile_leaf(source, path)
    if isinstance(source, Mapping):
        fields = {str(key): compile_tree(item, f"{path}.{key}") for key, item in source.items()}
        return lambda variables: {key: fill(variables) for key, fill in fields.items()}
    if isinstance(source, Sequence):
        items = [compile_tree(item, f"{path}[{index}]") for index, item in enumerate(source)]
        return lambda variables: [fill(variables) for fill in items]
    return lambda variables: source


def _compile_leaf(source: str, path: str) -> Filling:
    as_text = compile_text(source, path)
    inner = _lone_expression(source)
    if inner is None:
        return as_text
    expression = _ENVIRONMENT.compile_expression(inner, undefined_to_none=False)

    def fill(variables: Mapping[str, Any]) -> Any:
        value = expression(**variables)
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
