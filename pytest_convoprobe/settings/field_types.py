"""The types of fields that sections share, each with its limits and its words for a wrong value."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

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
WebAddress = Annotated[Text, BeforeValidator(_web_address)]
Effort = Annotated[Literal["none", "minimal", "low", "medium", "high", "xhigh"], BeforeValidator(_effort)]
