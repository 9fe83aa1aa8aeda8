"""A scenario's own `gate`: whether it may block a merge, until when not, and why."""

from __future__ import annotations

import re
from datetime import date
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field, JsonValue, WithJsonSchema, model_validator

from ..yaml_source.explain import complain, describe, refusal
from .fields import ScenarioPart, Text

GateMode = Literal["block", "report", "quarantine"]

_SHAPE = re.compile(r"\d{4}-\d{2}-\d{2}")


def _day(value: Any) -> Any:
    """A date as people write it. YAML's own dates stay text until they come here."""
    if isinstance(value, date):
        return value
    try:
        if isinstance(value, str) and _SHAPE.fullmatch(value.strip()):
            return date.fromisoformat(value.strip())
    except ValueError:
        raise refusal(f"must be a day that exists, got {describe(value)}") from None
    raise refusal(f"must be a date such as 2027-01-31, got {describe(value)}")


Day = Annotated[
    date, BeforeValidator(_day), WithJsonSchema({"type": "string", "pattern": r"^\s*\d{4}-\d{2}-\d{2}\s*$"})
]


_MODE: dict[str, JsonValue] = {
    "required": ["mode"],
    "properties": {"mode": {"enum": ["report", "quarantine"]}},
}
_QUARANTINE: dict[str, JsonValue] = {"required": ["mode"], "properties": {"mode": {"const": "quarantine"}}}
_NEEDED_KEYS = {"reason": "why it is in quarantine", "expires": "the last day, such as 2027-01-31"}
_NEEDED: dict[str, JsonValue] = {
    "required": ["reason", "expires"],
    "properties": {"reason": {"type": "string"}, "expires": {"type": "string"}},
}


class GateRule(ScenarioPart):
    """Whether the scenario may make a run fail."""

    model_config = ConfigDict(
        json_schema_extra={
            "allOf": [
                {"if": _QUARANTINE, "then": _NEEDED},
                {"if": _MODE, "else": {"properties": {"expires": {"type": "null"}}}},
            ]
        }
    )

    mode: GateMode = Field(
        "block",
        description="`block`: it may make a run fail. `report`: it never does, and each run shows what "
        "became of it. `quarantine`: the same for a while; it needs `reason` and `expires`.",
    )
    expires: Day | None = Field(
        None,
        description="The last day of `report` or `quarantine`. From the next day on the scenario blocks "
        "again.",
        examples=["2027-01-31"],
    )
    reason: Text | None = Field(
        None, description="Why it doesn't block, such as the ticket.", examples=["#123, the new search"]
    )
    first: Annotated[int, Field(strict=True, ge=1)] | None = Field(
        None, description="Conversations before anything is decided, instead of `gate.first` of the settings."
    )

    @model_validator(mode="after")
    def _complete(self) -> GateRule:
        """A quarantine without an end is for ever, and one without a reason is nobody's."""
        missing = [key for key in _NEEDED_KEYS if not getattr(self, key)] if self.mode == "quarantine" else []
        complain(((), f"a quarantine needs `{key}`: {_NEEDED_KEYS[key]}") for key in missing)
        if self.mode == "block" and self.expires is not None:
            words = "a scenario that blocks has nothing that expires; name a `mode`, or remove it"
            complain([(("expires",), words)])
        return self


def mode_of(rule: GateRule | None, today: date) -> tuple[GateMode, str]:
    """What a rule means on the day of a run, and a sentence about it; empty where it blocks as usual."""
    if rule is None or rule.mode == "block":
        return "block", ""
    because = f": {rule.reason}" if rule.reason else ""
    if rule.expires is not None and today > rule.expires:
        return "block", f"{rule.mode} ended on {rule.expires.isoformat()}, so it blocks again{because}"
    until = f" until {rule.expires.isoformat()}" if rule.expires else ""
    return rule.mode, f"{_WORDS[rule.mode]}{until}{because}"


_WORDS = {"report": "only reported", "quarantine": "in quarantine"}
