"""The structured ids of items, which pytest has since version 9.2 beside those that are texts."""

from __future__ import annotations

from typing import Any


class HasParsedId:
    """An item, first among its bases, whose structured id is the one that pytest reads out of its text.

    `--last-failed` compares the ids of items with those that it has stored as texts. pytest takes the part in
    brackets from the parameters of a function, and the name of our items has it already: `refund[trial-2]`.
    Earlier versions have no such id, and so neither have our items.
    """

    nodeid: str

    @property
    def id(self) -> Any:
        made = super().id  # type: ignore[misc]
        return type(made).parse(self.nodeid)
