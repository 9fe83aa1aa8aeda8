"""The tables of docs/reference/settings.md, made from the models.

`python -m tests.settings.reference_tables` writes them into the page.
"""

from __future__ import annotations

import re
import types
import typing
from datetime import datetime
from pathlib import Path

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

from pytest_convoprobe.settings.aliases import known_fields
from pytest_convoprobe.settings.http_settings import (
    SideRequest,
    StartRequest,
    StreamSettings,
    VersionSource,
)
from pytest_convoprobe.settings.mcp_settings import McpServer
from pytest_convoprobe.settings.model_settings import ModelSettings
from pytest_convoprobe.settings.model_upstreams import ModelUpstreams, TokenPrices
from pytest_convoprobe.settings.models import PLAIN_SECTIONS, TARGET_TYPES, JudgeSettings
from pytest_convoprobe.settings.volatile_parts import VolatileParts

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "settings.md"
SECTIONS: dict[str, type[BaseModel]] = {
    "model": ModelSettings,
    **{f"target-{name}": kind for name, kind in TARGET_TYPES.items()},
    "http-stream": StreamSettings,
    "http-start": StartRequest,
    "http-finish": SideRequest,
    "http-version": VersionSource,
    "mcp-server": McpServer,
    "model-upstreams": ModelUpstreams,
    "token-prices": TokenPrices,
    "model-volatile": VolatileParts,
    "judge": JudgeSettings,
    **PLAIN_SECTIONS,
}
_NAMES = {
    str: "text",
    SecretStr: "text",
    int: "whole number",
    float: "number",
    bool: "true or false",
    datetime: "date and time",
    dict: "mapping",
    tuple: "list",
}


def table(model: type[BaseModel]) -> str:
    """A row a field; those of every model are in a table of their own."""
    inherited = known_fields(ModelSettings) if _has_a_model(model) else ()
    rows = [_row(name, model.model_fields[name]) for name in known_fields(model) if name not in inherited]
    return "\n".join(["| Key | Type | Default | Meaning |", "|---|---|---|---|", *rows])


def _has_a_model(model: type[BaseModel]) -> bool:
    return issubclass(model, ModelSettings) and model is not ModelSettings


def with_tables(page: str) -> str:
    """The page with each `<!-- fields: name -->` followed by its table, up to `<!-- end -->`."""
    return re.sub(
        r"(<!-- fields: ([\w-]+) -->\n).*?(<!-- end -->)",
        lambda match: f"{match[1]}\n{table(SECTIONS[match[2]])}\n\n{match[3]}",
        page,
        flags=re.DOTALL,
    )


def _row(name: str, info: FieldInfo) -> str:
    return f"| `{name}` | {_type(info.annotation)} | {_default(info)} | {info.description} |"


def _type(annotation: object) -> str:
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(_type(argument) for argument in arguments if argument is not types.NoneType)
    if origin is typing.Annotated:
        return _type(arguments[0])
    if origin is typing.Literal:
        return ", ".join(f"`{argument}`" for argument in arguments)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return "mapping"
    return _NAMES.get(origin or annotation, "anything")  # type: ignore[call-overload]


def _default(info: FieldInfo) -> str:
    if info.is_required():
        return "required"
    value = info.get_default(call_default_factory=True)
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"  # as YAML has it
    return "" if value in (None, {}, ()) else f"`{value}`"


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
