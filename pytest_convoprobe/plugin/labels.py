"""Labels files as pytest's items: one for each file, which has the judge answer for all its conversations.

One item and not one a conversation: what is tested is the judge, and a single answer says little about it.
It also stays in one process, whatever xdist does. Imported only where there is such a file.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from ..calibration.agreement import figures_of
from ..calibration.judging import Judged, judge_labels
from ..calibration.labels_file import LabelsFile, load_labels
from ..calibration.measured import Measured, keep
from ..calibration.requirement import shortfall_of
from ..calibration.words import figures_text
from ..errors import Blame, ConvoprobeError, ScenarioFileError
from ..files import relative_name
from ..formatting import counted
from ..runs.progress import ProgressLine
from ..text import harmless, one_line
from .error_text import error_text, no_verdict
from .judge_gate import note_measured, require_fit, results_of
from .keys import LABELS, start
from .marks import add_tags
from .node_ids import HasParsedId
from .session import load_settings, session_of
from .talks import PROPERTY_PREFIX
from .terminal import PytestTerminal

if TYPE_CHECKING:
    from ..settings.effective import LoadedSettings

ITEM = "judge"
"""The name of the one item of each file."""
_SHOWN = 5


class LabelsCollector(pytest.File):
    """A file of labelled conversations."""

    def collect(self) -> Iterator[LabelsItem]:
        try:
            labels = load_labels(self.path)
        except ScenarioFileError as error:
            found = "\n".join(str(replace(problem, file=self.nodeid)) for problem in error.problems)
            raise self.CollectError(found) from None
        start(self.config)
        try:
            loaded = session_of(self.config).settings_of(str(self.path))
        except ConvoprobeError as error:
            raise self.CollectError(error_text(error)) from None
        yield LabelsItem.of(self, labels, loaded)


class LabelsItem(HasParsedId, pytest.Item):
    """Whether the judge agrees with the labels of a file, as far as `judge.require` asks for it.

    `measured` is what came out of the last run, None before.
    """

    labels: LabelsFile
    measured: Measured | None = None

    @classmethod
    def of(cls, parent: LabelsCollector, labels: LabelsFile, loaded: LoadedSettings) -> LabelsItem:
        item: LabelsItem = cls.from_parent(parent, name=ITEM)
        item.labels = labels
        item.stash[LABELS] = loaded
        add_tags(item, ["labels"])
        return item

    def setup(self) -> None:
        """Here, so that an outage is an error, and only what the judge answered can be a failure."""
        if self.config.getoption("setuponly", False):
            return
        try:
            self.measured = self._measure()
        except ConvoprobeError as error:
            raise no_verdict(error_text(error), error.blame) from None

    def runtest(self) -> None:
        measured = self.measured
        assert measured is not None  # noqa: S101 - setup comes first
        text = figures_text(measured)
        if lacking := self._lacking(measured):
            pytest.fail(f"{lacking}\n{text}", pytrace=False)
        self.add_report_section("call", "convoprobe", text)

    def reportinfo(self) -> tuple[os.PathLike[str] | str, int | None, str]:
        return self.path, 0, self.name

    def _measure(self) -> Measured:
        config, results, loaded = self.config, results_of(self.config), self.stash[LABELS]
        session, name = session_of(config), relative_name(self.path, config.rootpath)
        require_fit(self.session.items, loaded.settings.judge, loaded)
        with ProgressLine(PytestTerminal(config), session.words) as progress:
            judged = judge_labels(session, self.labels, name, results, lambda _: progress.tick())
        if judged.measured is None:
            raise no_verdict(_broken_text(judged), judged.broken[0].blame or Blame.INFRASTRUCTURE)
        note_measured(config, judged.measured)
        self._note_figures(judged.measured)
        if not config.option.convoprobe_no_results and load_settings(config).settings.results.save:
            keep(results, judged.measured)
        return judged.measured

    def _lacking(self, measured: Measured) -> str:
        """What the judge has not reached, if this file has enough labels to say so by itself.

        Otherwise all files of the run decide together, at its end.
        """
        require = self.stash[LABELS].settings.judge.require
        if require is None or len(measured.answers) < require.labels:
            return ""
        return shortfall_of(require, figures_of(measured.answers))

    def _note_figures(self, measured: Measured) -> None:
        """For JUnit; those of an earlier run of the same item go."""
        reached = figures_of(measured.answers)
        figures = {
            "labels": reached.labels,
            "agreed": reached.agreed.part,
            "undecided": reached.undecided,
            "kappa": reached.kappa,
            "sensitivity": reached.sensitivity.value,
            "specificity": reached.specificity.value,
        }
        own = [pair for pair in self.user_properties if not pair[0].startswith(PROPERTY_PREFIX)]
        self.user_properties[:] = own
        self.user_properties.extend(
            (PROPERTY_PREFIX + name, round(value, 4)) for name, value in figures.items() if value is not None
        )


def _broken_text(judged: Judged) -> str:
    """Why there are no figures: a part of the labels would be a choice that an outage made."""
    broken = judged.broken
    lines = [harmless(one_line(f"{one.name}: {one.reason}")) for one in broken[:_SHOWN]]
    more = [f"and {len(broken) - _SHOWN} more"] if len(broken) > _SHOWN else []
    return "\n".join((f"{counted(len(broken), 'conversation')} could not be judged:", *lines, *more))
