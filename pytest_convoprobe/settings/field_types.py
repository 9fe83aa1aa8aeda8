"""The types of fields that sections share, each with its limits and its words for a wrong value."""

from __future__ import annotations

from datetime import datetime
from math import isfinite
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field

from ..start_time import read_time


def _no_bool(value: Any) -> Any:
    """A bare `yes` or `on` in YAML is a bool, and a bool passes for a number in Python."""
    if isinstance(value, bool):
        raise ValueError("must be a number")
    return value


def _web_address(value: Any) -> Any:
    if isinstance(value, str) and not value.startswith(("http://", "https://")):
        raise ValueError("must be an address that begins with http:// or https://")
    return value


def _server(value: str) -> str:
    try:
        parts = urlsplit(value)
        complete = bool(parts.hostname) and parts.port != 0
    except ValueError:
        complete = False
    if not complete or not value.isprintable():
        raise ValueError("must be a complete address, with a host and at most a port from 1 to 65535")
    return value


# What a call sets itself, and the setting that decides about it.
_SET_ELSEWHERE = {
    **{
        name: f"write `{name}` beside it"
        for name in ("api_base", "api_key", "extra_headers", "model", "timeout")
    },
    "base_url": "write `api_base` beside it",
    "max_retries": "write `max_attempts` beside it",
    "num_retries": "write `max_attempts` beside it",
    "drop_params": "what a model refuses is left out anyway",
    "messages": "the conversation decides about it",
    "stream": "replies are read whole",
}


def _parameters(value: dict[str, Any]) -> dict[str, Any]:
    for name, item in value.items():
        if name in _SET_ELSEWHERE:
            raise ValueError(f"must not contain `{name}`: {_SET_ELSEWHERE[name]}")
        if not _is_json(item):
            raise ValueError(f"`{name}` must be data that JSON has (write a date as a text, in quotes)")
    return value


def _is_json(value: Any) -> bool:
    if isinstance(value, dict):
        return all(isinstance(name, str) for name in value) and all(map(_is_json, value.values()))
    if isinstance(value, (list, tuple)):
        return all(map(_is_json, value))
    return isfinite(value) if isinstance(value, float) else isinstance(value, (str, int, type(None)))


_EFFORT_WORDS = {
    **dict.fromkeys(("false", "off", "no", "disable", "disabled"), "none"),
    **dict.fromkeys(("true", "on", "yes", "auto", "enable", "enabled", "default"), "medium"),
    **dict.fromkeys(("max", "maximum"), "xhigh"),
}


def _effort(value: Any) -> Any:
    """`true`, `off`, `High`… in LiteLLM's words for `reasoning_effort`."""
    if not isinstance(value, (bool, str)):
        return value
    word = str(value).strip().lower()
    return _EFFORT_WORDS.get(word, word)


def _time(value: Any) -> Any:
    return read_time(value)


Time = Annotated[datetime, BeforeValidator(_time, json_schema_input_type=str)]
# YAML knows `.inf` and `.nan`; as a limit of time or money they would switch it off in silence.
Number = Annotated[float, BeforeValidator(_no_bool), Field(allow_inf_nan=False)]
Count = Annotated[int, BeforeValidator(_no_bool), Field(ge=1)]
Limit = Annotated[int, BeforeValidator(_no_bool), Field(ge=0)]
Seconds = Annotated[Number, Field(gt=0)]
Money = Annotated[Number, Field(ge=0)]
Text = Annotated[str, Field(min_length=1)]
Parameters = Annotated[dict[str, Any], AfterValidator(_parameters)]
WebAddress = Annotated[Text, BeforeValidator(_web_address)]
ServerAddress = Annotated[WebAddress, AfterValidator(_server)]
Effort = Annotated[Literal["none", "minimal", "low", "medium", "high", "xhigh"], BeforeValidator(_effort)]
