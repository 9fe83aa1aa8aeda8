"""Benchmarks as pytest's items: one for each target and metric, answered together by one run of the pipeline.

Imported only where there is a `benchmark.yaml`.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from ..benchmark.format.definition import is_surely_benchmark, looks_like_benchmark, read_document
from ..benchmark.format.model_swap import swap_of
from ..benchmark.format.models import Metric
from ..benchmark.format.project import LoadedBenchmark, load_project, require_complete, require_models
from ..benchmark.studies.gating import GateVerdict
from ..benchmark.studies.limit_checks import GateState
from ..errors import SettingsError
from ..files import shown_path
from ..scenario.discovery import is_benchmark
from . import options
from .benchmark_runs import Gates, complaint_of
from .carried import carried
from .error_text import advice, error_text
from .file_names import files_seen, has_settings
from .item_reports import rerun_command
from .keys import BENCHMARKS
from .marks import add_tags
from .node_ids import HasParsedId
from .session import began
from .talks import PROPERTY_PREFIX

GAPS = "_gaps"
"""The item that looks at the gaps between groups; no metric's id begins like this."""


class UnreadableAnswers(pytest.PytestWarning):
    """A benchmark passed, but some of the evaluator's answers could not be read."""


def benchmark_file(path: Path, parent: pytest.Collector, *, asked: bool) -> BenchmarkFile | None:
    """The collector of a `benchmark.yaml`; None if it is a scenario, another program's file, or set aside.

    `asked`: the command line names the file, so that it is ours whatever it looks like.
    """
    config = parent.config
    if not is_benchmark(path) or not (asked or _is_meant(path, config.rootpath)):
        return None
    if not asked and not has_settings(config, path.parent) and not is_surely_benchmark(path):
        files_seen(config).left_alone.append(path)
        return None
    if BENCHMARKS not in config.stash:
        config.stash[BENCHMARKS] = []
        began(config)  # here, before any test of the session can talk with an agent
        config.pluginmanager.register(_Notes(config), "convoprobe-benchmark-notes")
    found: BenchmarkFile = BenchmarkFile.from_parent(parent, path=path)
    return found


def _is_meant(path: Path, root: Path) -> bool:
    """Whether a whole folder of tests is to run it: not if a name begins with `_`, as with scenarios.

    What `bench validate` has made of another benchmark is compared with that, and is not a test of its own.
    """
    parts = path.relative_to(root).parts if root in path.parents else (path.parent.name,)
    left_out = any(part.startswith(("_", ".")) for part in parts)
    # By its content: an empty file of that name must not take a benchmark out of a gate.
    return not left_out and swap_of(path.parent) is None and looks_like_benchmark(path)


class _Notes:
    """What benchmarks have to say before they are run."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def pytest_report_collectionfinish(self) -> list[str]:
        notices: list[str] = self._config.stash[BENCHMARKS]
        return [f"note: {notice}" for notice in dict.fromkeys(notices)]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[Any]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Send what the summary has to say of a gate: a passing item shows nothing of its verdict."""
        report = yield
        if isinstance(item, GateItem) and report.when == "setup" and item.verdict is not None:
            carried(report)["ages"] = item.verdict.ages
            # A gate that is undecided passes, by default: the summary is the only place that says so.
            carried(report)["undecided"] = _undecided(item.verdict)
        return report


class BenchmarkFile(pytest.File):
    """A benchmark: a collector for each of its targets."""

    def collect(self) -> Iterator[pytest.Collector | pytest.Item]:
        try:
            loaded = _load(self.config, self.path.parent)
        except SettingsError as error:
            raise self.CollectError(error_text(error)) from None
        self.config.stash[BENCHMARKS] += loaded.notices
        if not loaded.benchmark.metrics:
            yield NotReady.of(
                self, "_metrics", complaint_of(require_complete, loaded.benchmark, loaded.folder.path)
            )
        elif not loaded.config.targets:
            yield NotReady.of(
                self, "_targets", complaint_of(require_models, loaded.config, ["user_model", "targets"])
            )
        else:
            gates = Gates(self.config, loaded)
            lines = _lines(self.path)
            for entry in loaded.config.targets:
                yield BenchmarkTarget.of(self, entry.id, gates, lines)


def _load(config: pytest.Config, folder: Path) -> LoadedBenchmark:
    return load_project(
        folder,
        root=config.rootpath,
        settings_file=options.path_of(config, "config"),
        command_line=options.overrides(config),
    )


def _lines(path: Path) -> Sequence[int]:
    """Where each metric begins, counted from 0."""
    document = read_document(path)
    count = len(document.value["metrics"])
    return [document.line_of(("metrics", index)) - 1 for index in range(count)]


class NotReady(pytest.Item):
    """Stands for a benchmark that lacks something, so that nobody takes it for one that passed."""

    reason: str

    @classmethod
    def of(cls, parent: pytest.Collector, name: str, reason: str) -> NotReady:
        item: NotReady = cls.from_parent(parent, name=name)
        item.reason = reason
        add_tags(item, ["benchmark"])
        return item

    def setup(self) -> None:
        pytest.fail(self.reason, pytrace=False)

    def runtest(self) -> None:
        """Never comes to it."""

    def reportinfo(self) -> tuple[os.PathLike[str] | str, int | None, str]:
        return self.path, 0, self.name


class BenchmarkTarget(pytest.Collector):
    """One system under test: an item for each metric, and one for the gaps if the gate looks at them."""

    gates: Gates
    lines: Sequence[int]

    @classmethod
    def of(cls, parent: pytest.Collector, name: str, gates: Gates, lines: Sequence[int]) -> BenchmarkTarget:
        target: BenchmarkTarget = cls.from_parent(parent, name=name)
        target.gates, target.lines = gates, lines
        return target

    def collect(self) -> Iterator[GateItem]:
        for metric, line in zip(self.gates.metrics, self.lines, strict=True):
            yield GateItem.of(self, metric, line)
        if self.gates.gate.max_group_gap is not None:
            yield GateItem.of(self, None, 0)


class GateItem(HasParsedId, pytest.Item):
    """The gate of one target and metric; without a metric, of the gaps between groups.

    `verdict` is what came out of the last run, None before.
    """

    gates: Gates
    target_id: str
    metric: Metric | None
    line: int
    verdict: GateVerdict | None = None

    @classmethod
    def of(cls, parent: BenchmarkTarget, metric: Metric | None, line: int) -> GateItem:
        item: GateItem = cls.from_parent(parent, name=metric.id if metric else GAPS)
        item.gates, item.target_id = parent.gates, parent.name
        item.metric, item.line = metric, line
        item.extra_keyword_matches.update((metric.name, metric.type.value) if metric else ())
        add_tags(item, ["benchmark"])
        return item

    def setup(self) -> None:
        """Here, so that a gate that cannot be decided is an error, and only a verdict is a failure."""
        if self.config.getoption("setuponly", False):
            return
        self.verdict = self.gates.verdict(self)
        self._note_figures(self.verdict.figures)
        if self._blocks(self.verdict):
            pytest.fail(self._text(self.verdict), pytrace=False)

    def runtest(self) -> None:
        verdict = self.verdict
        assert verdict is not None  # noqa: S101 - setup comes first
        if verdict.state is GateState.RED:
            pytest.fail(self._text(verdict), pytrace=False)
        self.add_report_section("call", "convoprobe", verdict.text)
        if verdict.figures.get("unreadable"):
            self._warn(f"{self.nodeid}: {'; '.join((verdict.headline, *verdict.unreadable))}")

    def _blocks(self, verdict: GateVerdict) -> bool:
        """Whether it is an error: not the agent's fault, so it is no failure."""
        undecided = verdict.state is GateState.UNDECIDED and self.gates.gate.undecided_blocks
        return undecided or verdict.state is GateState.UNKNOWN

    def reportinfo(self) -> tuple[os.PathLike[str] | str, int | None, str]:
        """The place of the metric."""
        return self.path, self.line, f"{self.target_id}::{self.name}"

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Without pytest's own word before a verdict: the short summary has room for little."""
        shown: Any = super().repr_failure(excinfo, style)
        if isinstance(excinfo.value, pytest.fail.Exception) and getattr(shown, "reprcrash", None):
            shown.reprcrash.message = str(excinfo.value)
        return shown

    def _warn(self, text: str) -> None:
        try:
            self.warn(UnreadableAnswers(text))
        except UnreadableAnswers as error:  # the suite takes warnings for errors
            pytest.fail(str(error), pytrace=False)

    def _text(self, verdict: GateVerdict) -> str:
        text = "\n".join(filter(None, (verdict.text, advice(verdict.remedies))))
        if not verdict.results:
            return text
        folder = shown_path(self.path.parent)
        return (
            f"{text}\n{_ask_again(verdict, folder)}\nlook closer: convoprobe bench report {folder} --html"
            f"\nrun again:   {rerun_command(self)}"
        )

    def _note_figures(self, figures: Mapping[str, Any]) -> None:
        """For JUnit; those of an earlier run of the same item go."""
        self.user_properties[:] = [
            pair for pair in self.user_properties if not pair[0].startswith(PROPERTY_PREFIX)
        ]
        self.user_properties.extend((PROPERTY_PREFIX + name, value) for name, value in figures.items())


def _undecided(verdict: GateVerdict) -> str:
    """A line for the summary on a gate that is undecided, with what these scenarios could have found."""
    if verdict.state is not GateState.UNDECIDED:
        return ""
    return verdict.brief


def _ask_again(verdict: GateVerdict, folder: str) -> str:
    metric = verdict.ask_again
    return f"\nask again:   convoprobe bench evaluate {folder} --only {metric} --force" if metric else ""
