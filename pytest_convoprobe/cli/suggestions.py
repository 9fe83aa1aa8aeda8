"""What a mistyped word was probably meant to be."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    _Choice = click.Choice[str]
else:
    _Choice = click.Choice  # no generic in older releases


def hint(word: str, known: Iterable[str]) -> str:
    """` Did you mean 'simulate'?`, to be put behind a message; nothing where no word is near."""
    close = get_close_matches(word.replace("_", "-"), list(known), n=1)
    return f" Did you mean {close[0]!r}?" if close else ""


class OneOf(_Choice):
    """A choice that says which of its words is nearest to one that it hasn't."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            self.fail(f"{error.message.rstrip('.')}.{hint(str(value), self.choices)}", param, ctx)
