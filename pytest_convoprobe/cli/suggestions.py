"""Choices of options that say what a mistyped word was probably meant to be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ..suggest import did_you_mean

if TYPE_CHECKING:
    _Choice = click.Choice[str]
else:
    _Choice = click.Choice  # no generic in older releases


class OneOf(_Choice):
    """A choice that says which of its words is nearest to one that it does not have."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            self.fail(f"{error.message.rstrip('.')}{did_you_mean(str(value), self.choices)}", param, ctx)
