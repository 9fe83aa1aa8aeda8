"""`results.mask`: which personal data is masked, each entry as a project writes it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, model_validator

from ..personal_patterns import BUILT_IN, OTHER_NAMES, Pattern, own_pattern
from ..suggest import suggest

UNNAMED = "masked"
"""What placeholders call a find of a pattern without a name."""

_NAME = re.compile(r"[A-Za-z][\w -]{0,39}")


class _Rule(BaseModel):
    """The name of a pattern, and its expression unless it is built in."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    expression: str = ""

    @model_validator(mode="after")
    def _can_be_used(self) -> _Rule:
        _ = self.pattern
        return self

    @property
    def pattern(self) -> Pattern:
        """What is looked for."""
        return own_pattern(self.name, self.expression) if self.expression else BUILT_IN[self.name]


def _read(value: Any) -> Any:
    """`email`, a regular expression, or `{name: expression}`."""
    if isinstance(value, str):
        return {"name": value} if value in BUILT_IN else _expression(value)
    if isinstance(value, Mapping) and not {"name", "expression"} & value.keys():
        if len(value) != 1:
            raise ValueError(f"a mapping must have one name with its expression{_EXAMPLE}, and no other key")
        ((name, expression),) = value.items()
        return _named(name, expression)
    if isinstance(value, (Mapping, _Rule)):
        return value
    raise ValueError(_WANTED)


def _expression(value: str) -> dict[str, str]:
    # Without any sign of an expression it is a name, and a misspelt one would mask nothing.
    if _NAME.fullmatch(value) or not value:
        near = suggest(value, tuple(BUILT_IN), OTHER_NAMES)
        raise ValueError(f"{f'did you mean `{near}`? It ' if near else ''}{_WANTED}")
    _ = own_pattern(UNNAMED, value)  # here, where an error still has what the project wrote
    return {"name": UNNAMED, "expression": value}


def _named(name: Any, expression: Any) -> dict[str, str]:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ValueError("the name of a pattern must be a word of letters, such as `order`")
    if name in BUILT_IN:
        raise ValueError(f"`{name}` is the name of a built-in pattern: give yours another one")
    if not isinstance(expression, str) or not expression:
        raise ValueError(f"the pattern `{name}` must be a regular expression")
    return {"name": name, "expression": expression}


_EXAMPLE = r" (`{order: 'ORD-\d+'}`)"
_NAMES = ", ".join(f"`{name}`" for name in BUILT_IN)
_WANTED = f"must be {_NAMES}, a regular expression, or a name with one{_EXAMPLE}"

MaskRule = Annotated[_Rule, BeforeValidator(_read)]


def patterns_of(rules: Iterable[_Rule]) -> tuple[Pattern, ...]:
    """The patterns of all rules. The project's own come first: they say more than a form does."""
    found = {(rule.name, rule.expression): rule.pattern for rule in rules}
    order = tuple(BUILT_IN)
    return tuple(sorted(found.values(), key=lambda one: order.index(one.name) if one.name in order else -1))
