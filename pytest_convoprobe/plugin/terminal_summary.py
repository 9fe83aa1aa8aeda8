"""The section at the end of a run, from all reports: this process's and those of xdist's workers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from ..errors import ConvoprobeError
from ..formatting import counted
from ..llm.ledger import Spending
from ..reports.summary import Digest, summary_lines
from ..text import harmless
from . import gate_exit
from .carried import carried
from .judge_gate import take_judges
from .judge_lines import judge_lines
from .keys import AGES, GATHERED, UNDECIDED, start
from .preflight import notes
from .storing import recorder_of, take

if TYPE_CHECKING:
    from ..llm.port import Role


def gather(config: pytest.Config, report: pytest.TestReport) -> None:
    """Take over what a report carries: one phase of one run of one item."""
    if hasattr(config, "workerinput"):
        return  # the report goes on to the process that writes the summary
    start(config)  # a test that ran in a process of its own may have been the first of ours
    load = carried(report)
    take(config, load)
    # For whoever reads the run later: what is measured of a judge may be another thing by then.
    recorder_of(config).judges = lambda: _of_judges(config)
    if "judges" in load or "measured" in load:
        take_judges(config, load)
    if "ages" in load:
        # Of reruns the last counts, also where it found nothing old any more.
        config.stash.setdefault(AGES, {})[report.nodeid] = load["ages"]
        config.stash.setdefault(UNDECIDED, {})[report.nodeid] = load["undecided"]
    if digests := [Digest.from_json(data) for data in load.get("digests", ())]:
        config.stash.setdefault(GATHERED, {}).setdefault((report.nodeid, report.when), []).append(digests)


def _of_judges(config: pytest.Config) -> list[str]:
    return judge_lines(config, digests(config))


def write(reporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Write the section; where the user has asked for quiet, only what is undecided or old."""
    verbosity = config.get_verbosity()
    found = digests(config)
    lines: list[str] = []
    if verbosity >= 0:
        known = recorder_of(config)
        lines += summary_lines(found, verbosity=verbosity, calls=known.calls, decided=known.decided)
    if found and verbosity >= 0:
        lines += [*_unseen(config, found), *_notices(config)]
    lines += gate_exit.lines(config, verbosity)
    if verbosity >= 0:
        lines += judge_lines(config, found)
    # Of a gate that passed undecided or on old conversations, these lines are all that anybody sees. So they
    # are there where it is quiet, too.
    lines += [*_undecided(config), *_ages(config)]
    if lines and verbosity >= 0:
        reporter.section("convoprobe")
    for line in lines:
        reporter.line(line)


def _undecided(config: pytest.Config) -> list[str]:
    """The gates that are neither green nor red: they pass, so nothing else in the output names them."""
    found = {nodeid: words for nodeid, words in config.stash.get(UNDECIDED, {}).items() if words}
    lines = [harmless(f"  {nodeid}: {words}") for nodeid, words in found.items()]
    return [f"{counted(len(lines), 'gate')} undecided:", *lines] if lines else []


def _ages(config: pytest.Config) -> list[str]:
    """A line for the items of one target whose conversations are equally old."""
    together: dict[tuple[str, str], list[str]] = {}
    for nodeid, words in config.stash.get(AGES, {}).items():
        if words:
            target, _, metric = nodeid.rpartition("::")
            together.setdefault((target, words), []).append(metric)
    return [
        harmless(f"{target}: {words} ({', '.join(metrics)})") for (target, words), metrics in together.items()
    ]


def _unseen(config: pytest.Config, found: list[Digest]) -> list[str]:
    """The names of tools that match no call in any stored run: a misspelt one checks nothing."""
    names = dict.fromkeys(name for digest in found for name in digest.unmatched_tools)
    recorder = recorder_of(config)
    if not names or not recorder.wanted:
        return []  # nothing is stored that could say more than this run
    from ..results.lookup import list_runs
    from ..results.tools_seen import never_called, unseen_words

    unseen = never_called(names, list_runs(recorder.results))
    return [f"note: {unseen_words(unseen)}"] if unseen else []


def digests(config: pytest.Config) -> list[Digest]:
    """What came of all items so far, of reruns the last."""
    return [digest for runs in config.stash.get(GATHERED, {}).values() for digest in _last_run(runs)]


def _notices(config: pytest.Config) -> list[str]:
    """What the settings have to say, where it wasn't said before: under xdist, or with the fixture alone."""
    try:
        return notes(config)
    except ConvoprobeError:
        return []  # each scenario has said so already


def _last_run(runs: list[list[Digest]]) -> list[Digest]:
    """The last run of an item decides (a rerun). Its digests have what their earlier attempts spent.

    A test may have run more scenarios before than in its last run: what they spent is spent nevertheless.
    """
    *earlier, last = runs
    kept = {digest.scenario_id for digest in last}
    gone = {digest.scenario_id: digest for run in earlier for digest in run}
    total = dict(last[0].spending)
    for digest in (digest for name, digest in gone.items() if name not in kept):
        _add(total, digest.spending)
    return [replace(last[0], spending=total), *last[1:]]


def _add(total: dict[Role, Spending], more: Mapping[Role, Spending]) -> None:
    for role, spent in more.items():
        total[role] = total.get(role, Spending()) + spent
