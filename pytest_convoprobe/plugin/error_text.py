"""Errors as pytest shows them: settings that would help are named as options of pytest, too."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from ..errors import Blame, ConvoprobeError
from ..remedies import options_for
from .option_table import OPTIONS


def no_verdict(text: str, blame: Blame) -> BaseException:
    """What to raise for trouble before a conversation: a text without a traceback; `blame` says whose it is.

    It is pytest's own exception, whose class no summary names before the text. So the blame is noted on it.
    """
    failure: BaseException = pytest.fail.Exception(text, pytrace=False)
    vars(failure)["blame"] = blame
    return failure


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
