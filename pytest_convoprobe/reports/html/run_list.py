"""The list of stored runs as a page of a site. Pure: `context` is for runs.html.jinja."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from ...formatting import UNKNOWN, moment, seconds
from ...results.run_info import RunInfo, RunState
from ...text import one_line
from .links import SiteLinks
from .page import OUTCOMES
from .turns import shown


@dataclass(frozen=True)
class ListedRun:
    """A stored run in a list; `counts` has its trials by outcome, `gate` the gate's word on it, if any.

    `problem` says why its trials can't be read.
    """

    info: RunInfo
    counts: Mapping[str, int]
    gate: str = ""
    problem: str = ""


def context(runs: Sequence[ListedRun], links: SiteLinks, base: str = "", more: str = "") -> dict[str, Any]:
    """All that the template needs. The runs are the newest first."""
    earlier = [one.info.id for one in runs[1:]]
    return {
        "links": links,
        "outcomes": OUTCOMES,
        "base": shown(base),
        "more": more,
        "rows": [_row(run, links, base, before) for run, before in zip(runs, [*earlier, ""], strict=False)],
    }


def _row(run: ListedRun, links: SiteLinks, base: str, before: str) -> dict[str, Any]:
    info = run.info
    compared = base or before
    return {
        "id": shown(info.id),
        "address": links.run_of(info.id),
        "began": moment(info.started) or UNKNOWN,
        "state": "" if info.state is RunState.FINISHED else info.state.value,
        "counts": {outcome: run.counts.get(outcome, 0) for outcome, _ in OUTCOMES},
        "gate": shown(run.gate),
        "problem": shown(one_line(run.problem)),
        "took": seconds(info.ended - info.started) if info.ended else UNKNOWN,
        "commit": shown(one_line(info.git.label)) if info.git else "",
        "comparison": links.comparison_of(compared, info.id) if compared and compared != info.id else "",
        "choose": f"{links.home}?base={quote(info.id, safe='')}",
    }
