"""What the summary of a run says of its judges."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import pytest

from ..calibration.agreement import figures_of
from ..calibration.canaries import canaries
from ..calibration.measured import Measured, canaries_of
from ..calibration.words import canaries_line, headline, spent_words
from ..llm.ledger import Spending
from ..llm.port import Role
from ..text import harmless, one_line
from .judge_gate import results_of
from .keys import JUDGES, MEASURED

if TYPE_CHECKING:
    from ..reports.summary import Digest

_HOW = "; run `convoprobe doctor --judge`"


def judge_lines(config: pytest.Config, found: Iterable[Digest]) -> list[str]:
    """A line for each labels file, and one for each judge whose models were really called.

    The built-in conversations are never judged unasked: that would cost something in each run.
    """
    measured = config.stash.get(MEASURED, {}).values()
    lines = [_of_labels(one) for one in measured]
    if any(_was_called(digest.spending.get(Role.JUDGE)) for digest in found):
        lines += _of_canaries(config)
    return [harmless(one_line(line)) for line in lines]


def _of_labels(one: Measured) -> str:
    """With what it cost: the totals of a run are those of its scenarios."""
    return f"{one.file}: {headline(one.judge, figures_of(one.answers))}; {spent_words(one.spent)}"


def _of_canaries(config: pytest.Config) -> list[str]:
    results, digest = results_of(config), canaries().digest
    judges = {one.print: one.model for one in config.stash.get(JUDGES, {}).values() if one.model}
    known = [(model, canaries_of(results, judge_print, digest)) for judge_print, model in judges.items()]
    return [canaries_line(model, found) + ("" if found else _HOW) for model, found in known]


def _was_called(spent: Spending | None) -> bool:
    return spent is not None and spent.calls > spent.replayed
