"""The last audit of a suite, in a line with its age."""

from __future__ import annotations

from collections.abc import Mapping

from ..errors import ResultsError
from ..formatting import moment, number, percent
from ..results.audit_file import MOST_AGE, Audit, read_audit
from ..results.fingerprints import Prints
from ..results.store import StoredRun, final

_DAY = 86_400.0


def audit_line(audit: Audit | None, prints: Mapping[str, Prints], now: float) -> str:
    """What was measured of the gate and when; empty where nobody ever ran the audit.

    `prints` are the fingerprints of the scenarios of the run that it is shown with, by id, and `now` is when
    that run began, in seconds since 1970. An audit that is too old, or that is about other scenarios,
    prompts or judges, counts for nothing.
    """
    if audit is None:
        return ""
    day = moment(audit.at)[:10]
    if audit.is_old(now):
        return f"gate not measured: the audit of {day} is older than {MOST_AGE / _DAY:.0f} days"
    changed = audit.changed_since(prints)
    if prints and 2 * changed > len(prints):
        return f"gate not measured: {changed} of {len(prints)} scenarios changed since the audit of {day}"
    since = f"; {changed} of {len(prints)} scenarios changed since" if changed else ""
    return f"measured on this suite {day} (audit): {figures_words(audit)}{since}"


def figures_words(audit: Audit) -> str:
    """`false red 0 of 300 (at most 1 %), missed: broken always 6 %, …; 1.7 conversations a scenario`."""
    gate = audit.gate
    red = f"false red {gate.red} of {gate.gates:,} (at most {percent(gate.red_at_most)})"
    always, half = gate.missed_of("always", "one"), gate.missed_of("half", "one")
    missed = "missed: not known" if always is None else f"missed: broken always {percent(always)}"
    if half is not None:
        missed += f", half of the time {percent(half)}"
    # What could not be measured must not pass for a promise that holds.
    open_ = "; not all was measured" if audit.unknown else ""
    promise = "; the promise does not hold" if audit.broken else open_
    return f"{red}, {missed}; {number(gate.talks, 1)} conversations a scenario{promise}"


def audit_line_of(run: StoredRun) -> str:
    """The line for a stored run whose gate decided something. A file that can't be read is said to be one."""
    try:
        audit = read_audit(run.path.parents[1])
        if audit is None:
            return ""
        decided = run.decisions()
        prints = {row.scenario_id: row.prints for row in final(run.rows()) if row.scenario_id in decided}
        return audit_line(audit, prints, run.info.started)
    except ResultsError as error:
        return f"gate not measured: {error}"
