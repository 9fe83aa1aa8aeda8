"""Whether the judges of a run may gate: `judge.require`, and what is known of each of them.

A judge is looked at before its first conversation begins. If labels files of the same run measure it, what
they find decides at the end of the run, in the process that the user started.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ..calibration.measured import Measured, on_labels
from ..calibration.requirement import JudgeOfRun, shortfall, unfit
from .carried import carried
from .keys import JUDGES, LABELS, MEASURED, RESULTS
from .orders import has_mark
from .session import load_settings

if TYPE_CHECKING:
    from ..settings.effective import LoadedSettings
    from ..settings.judge_settings import JudgeSettings


def require_fit(items: Sequence[pytest.Item], judge: JudgeSettings, loaded: LoadedSettings) -> None:
    """Note a judge of the run. Raises `SettingsError` if it has not reached what is required of it.

    `items` are those of the session: labels files among them may be about to show that it has.
    """
    config = items[0].config
    one = JudgeOfRun.of(judge, loaded)
    known = config.stash.setdefault(JUDGES, {})
    if one.key in known:
        return
    if one.require is not None and not _is_measured_here(items, one):
        lacking = shortfall(one.require, on_labels(results_of(config), one.print, config.rootpath))
        if lacking:
            raise unfit(one.model, lacking)
    elif one.require is not None:
        one = one.owing()
    known[one.key] = one


def results_of(config: pytest.Config) -> Path:
    """The folder of stored runs."""
    return config.rootpath / load_settings(config).settings.results.dir


def _is_measured_here(items: Sequence[pytest.Item], judge: JudgeOfRun) -> bool:
    """Whether a labels file that will run is judged by the same judge."""
    measuring = (item for item in items if LABELS in item.stash and not has_mark(item, "skip"))
    return any(
        JudgeOfRun.of(item.stash[LABELS].settings.judge, item.stash[LABELS]).print == judge.print
        for item in measuring
    )


def note_measured(config: pytest.Config, measured: Measured) -> None:
    """Keep what a labels file has shown for the end of the run."""
    config.stash.setdefault(MEASURED, {})[measured.print, measured.file] = measured


def carry_judges(item: pytest.Item, report: pytest.TestReport) -> None:
    """Let a report carry what this process knows of its judges. As JSON: findings may be any text."""
    stash = item.config.stash
    if JUDGES in stash and (RESULTS in item.stash or LABELS in item.stash):
        carried(report)["judges"] = json.dumps([one.to_json() for one in list(stash[JUDGES].values())])
    # Once: it has every answer for every label.
    if LABELS in item.stash and report.when == "setup":
        found = stash.get(MEASURED, {}).values()
        carried(report)["measured"] = json.dumps([one.to_json() for one in found])


def take_judges(config: pytest.Config, load: Mapping[str, Any]) -> None:
    """Take over what a report carried. A judge that labels of the run have to prove stays one."""
    judges = config.stash.setdefault(JUDGES, {})
    for data in json.loads(load.get("judges", "[]")):
        one = JudgeOfRun.from_json(data)
        judges[one.key] = one.and_also(judges.get(one.key))
    for data in json.loads(load.get("measured", "[]")):
        note_measured(config, Measured.from_json(data))


def unfit_judges(config: pytest.Config) -> list[str]:
    """The judges that labels of this run had to prove, and that have not reached what is required."""
    judges = config.stash.get(JUDGES, {}).values()
    found = [(one, _lacking(config, one)) for one in judges if one.owes and one.require is not None]
    return [f"the judge {one.model} may not gate: {lacking}" for one, lacking in found if lacking]


def _lacking(config: pytest.Config, judge: JudgeOfRun) -> str:
    assert judge.require is not None  # noqa: S101 - only those owe anything
    stored = {one.file: one for one in on_labels(results_of(config), judge.print, config.rootpath)}
    here = config.stash.get(MEASURED, {}).items()
    stored |= {file: one for (judge_print, file), one in here if judge_print == judge.print}
    return shortfall(judge.require, stored.values())


class FitJudges:
    """The hooks of a run with judges; in no worker of xdist."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if session.exitstatus == pytest.ExitCode.OK and unfit_judges(self._config):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for line in unfit_judges(self._config):
            terminalreporter.line(f"{line}: the run fails (judge.require)", red=True)
