"""What the gate makes of the run as a whole: its exit status, and the lines at its end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pytest

from ..errors import ConvoprobeError
from ..gate.suite import SuiteDecision, blocks
from ..gate.types import Word
from ..reports.audit_words import audit_line_of
from ..reports.gate_lines import gate_lines
from ..results.run_gate import suite_from
from ..results.store import open_run
from ..text import harmless
from .gating import forecast_of_ids
from .keys import ERRED, GATHERED, RECORDER
from .session import load_settings
from .storing import names_scenario

if TYPE_CHECKING:
    from ..reports.summary import Digest


class GateExit:
    """The hooks of a session with scenarios; in no worker of xdist."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._has_forecast = False

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        """Say before the first call how many conversations there may be; all workers have the same ids."""
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        if self._has_forecast or reporter is None or self._config.get_verbosity() < 0:
            return
        self._has_forecast = True
        for line in forecast_of_ids(self._config, filter(names_scenario, ids)):
            reporter.ensure_newline()
            reporter.write_line(line)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a scenario that had no conversation: a fixture broke, or its worker died."""
        if report.failed and report.when != "call" and names_scenario(report.nodeid):
            self._config.stash.setdefault(ERRED, set()).add(report.nodeid)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Fail a run that is worse than before as a whole, and one in which nothing was decided."""
        found = suite_decision(self._config)
        if found is None or session.exitstatus != pytest.ExitCode.OK:
            return
        # A mark may make an expected failure of what is red. That mark was set for what is known to fail, and
        # this is more than was known.
        worse = any(blocks(one) and one.word is Word.RED and one.past for one in found.decisions)
        if worse or found.has_drifted or not found.count(Word.GREEN):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


def suite_decision(config: pytest.Config) -> SuiteDecision | None:
    """What all decisions of the run come to, those of xdist's workers included; None if there are none."""
    recorder = config.stash.get(RECORDER, None)
    if recorder is None or not recorder.decided:
        return None
    alone = config.stash.setdefault(ERRED, set())
    return suite_from(recorder.decided, _last_digests(config), _alpha(config), alone)


def lines(config: pytest.Config, verbosity: int) -> list[str]:
    """The lines about the gate; where the user has asked for quiet, only if it isn't plainly green."""
    found = suite_decision(config)
    if found is None:
        return []
    # A note says that something was decided in another way than the user may think.
    plain = not any(one.failed or one.notes for one in found.decisions)
    if verbosity < 0 and plain and found.word is Word.GREEN and not found.count(Word.UNDECIDED):
        return []
    return [*gate_lines(found, _alpha(config), verbosity=verbosity), *_audited(config)]


def _audited(config: pytest.Config) -> list[str]:
    """What the last audit measured of this gate, if there was one."""
    folder = config.stash[RECORDER].folder
    line = audit_line_of(open_run(folder)) if folder is not None else ""
    return [harmless(line)] if line else []


def _alpha(config: pytest.Config) -> float:
    try:
        return load_settings(config).settings.gate.alpha
    except ConvoprobeError:  # each scenario has said so already
        return 0.05


def _last_digests(config: pytest.Config) -> list[Digest]:
    """What came of all items, of reruns the last."""
    return [digest for runs in config.stash.get(GATHERED, {}).values() for digest in runs[-1]]
