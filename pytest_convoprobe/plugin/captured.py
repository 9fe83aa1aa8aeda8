"""What pytest captured while several conversations ran: nobody can say whose output it is.

pytest captures what the whole process prints and logs while an item has its turn. Conversations that run
ahead print in the turn of another item, so the output of a scenario would be shown under a stranger's name.
"""

from __future__ import annotations

import pytest

from .keys import ENDED, OUTPUT_LEFT_OUT, OVERLAPPED, RESULTS, SESSION
from .orders import order_of

_SECTION = "convoprobe: output"
_LEFT_OUT = (
    "What was printed and logged is not shown: other conversations ran at the same time, and the output may "
    "be theirs. Run this scenario alone to see its own."
)
_MIXED = (
    "Conversations of scenarios ran while this test did: what was printed and logged (above) may be of one "
    "of their agents."
)


def separate(item: pytest.Item, report: pytest.TestReport) -> None:
    """Leave out of a scenario's report what may be the output of others, and say so.

    An ordinary test keeps what was captured, since most of it is its own.
    """
    captured = [section for section in report.sections if section[0].startswith("Captured ")]
    others_ended = _others_ended(item)  # asked after each phase, as it counts from the phase before
    if order_of(item) is None:
        if captured and report.failed and (others_ended or _others_run(item.config)):
            report.sections.append((_SECTION, _MIXED))
    elif item.stash.get(OVERLAPPED, False) or _others_run(item.config):
        _leave_out(captured, item.config, report)


def _leave_out(captured: list[tuple[str, str]], config: pytest.Config, report: pytest.TestReport) -> None:
    """Without its own section a failed scenario's output may have been in that of another."""
    if captured:
        config.stash[OUTPUT_LEFT_OUT] = True
        report.sections = [section for section in report.sections if section not in captured]
    if captured or (report.failed and config.stash.get(OUTPUT_LEFT_OUT, False)):
        report.sections.append((_SECTION, _LEFT_OUT))


def _others_run(config: pytest.Config) -> bool:
    """Whether a conversation is going on, now that a phase of an item is over."""
    session = config.stash.get(SESSION, None)
    return session is not None and session.conversations_run


def _others_ended(item: pytest.Item) -> bool:
    """Whether conversations other than the item's own have ended since the phase before."""
    session = item.config.stash.get(SESSION, None)
    if session is None:
        return False
    before, now = item.config.stash.get(ENDED, 0), session.conversations_ended
    item.config.stash[ENDED] = now
    return now - before > len(item.stash.get(RESULTS, []))
