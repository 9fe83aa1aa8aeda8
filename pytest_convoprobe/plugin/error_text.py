"""Errors as pytest shows them: settings that would help are named as options of pytest, too."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from ..errors import Blame, ConvoprobeError
from ..remedies import options_for
from .options import OPTIONS


class NoVerdict(pytest.fail.Exception):  # type: ignore[name-defined, misc]
    """Trouble before a conversation, shown as a text without a traceback; `blame` says whose it is."""

    # Summaries show an exception's full name before its text: this one is pytest's own failure to a reader.
    __module__ = "builtins"
    __qualname__ = pytest.fail.Exception.__qualname__

    def __init__(self, text: str, blame: Blame) -> None:
        super().__init__(text, pytrace=False)
        self.blame = blame


def error_text(error: ConvoprobeError) -> str:
    """The error's own text, and the options that may put it right."""
    return "\n".join(filter(None, (str(error), advice(error.remedies))))


def advice(remedies: Iterable[str]) -> str:
    """`for this run: --convoprobe-max-cost`; empty where no option helps. `remedies` are an error's."""
    flags: dict[str, tuple[str, ...]] = {}
    for option in OPTIONS:
        for setting in option.settings:
            flags[setting] = (*flags.get(setting, ()), option.flag)
    return options_for(remedies, flags)
