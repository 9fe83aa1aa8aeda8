"""Guards against a run in which the judge decided nothing, and undecided scenarios are skipped."""

from __future__ import annotations

import pytest

from ..errors import Blame
from ..formatting import counted
from ..result import Outcome
from .keys import GATHERED
from .terminal_summary import digests


class NothingDecided:
    """The hooks of a session with scenarios; in no worker of xdist."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    @property
    def _undecided(self) -> int:
        """How many scenarios the judge could not decide, if not a single one passed; else 0."""
        found = digests(self._config) if GATHERED in self._config.stash else []
        if any(one.outcome is Outcome.PASSED for one in found):
            return 0
        # What a file skips has no blame. A scenario may have had several conversations.
        return len(
            {one.scenario_id for one in found if one.outcome is Outcome.SKIPPED and one.blame is Blame.JUDGE}
        )

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if session.exitstatus == pytest.ExitCode.OK and self._undecided:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._undecided:
            scenarios = counted(self._undecided, "scenario")
            terminalreporter.line(
                f"the judge could not decide {scenarios}, and none passed: the run fails, although "
                "run.inconclusive is `skip`",
                red=True,
            )
