"""The pytest plug-in: hooks that pass on, and nothing heavy at import.

A suite without scenarios loads this module and those that it imports at the top, and pays for one comparison
a report and one look at the name of each YAML file. The hooks that cost something at each test come with the
first scenario (`scenario_hooks`). Each hook here imports what it needs when it has something to do.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

import pytest

from . import file_names, options
from .fixtures import _convoprobe_result, convoprobe, convoprobe_scenario, convoprobe_state, convoprobe_target
from .keys import AGES, GATHERED, LABELS, LEFT_OUT, RECORDER, SESSION, START, TAGS, start

__all__ = ["_convoprobe_result", "convoprobe", "convoprobe_scenario", "convoprobe_state", "convoprobe_target"]


def pytest_addoption(parser: pytest.Parser) -> None:
    options.add_options(parser)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    from . import hookspecs

    pluginmanager.add_hookspecs(hookspecs)


def pytest_configure(config: pytest.Config) -> None:
    config.stash[START] = lambda: _register_scenario_hooks(config)
    config.pluginmanager.register(_Gatherer(config), "convoprobe-gatherer")
    if config.option.markers:
        from .listed_tags import list_tags

        list_tags(config)
    options.check_ini(config)
    options.check_gate(config)
    if options.value_of(config, "baseline") or config.option.convoprobe_fail_on:
        from .baseline_gate import configure

        configure(config)
    if options.value_of(config, "html"):
        start(config)
    if options.is_guarded(config):
        from .enough import configure as configure_guards

        configure_guards(config)


def _register_scenario_hooks(config: pytest.Config) -> None:
    from .scenario_hooks import register

    register(config)


class _Gatherer:
    """Takes out what reports carry. The one hook of ours that every test of every suite pays for."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if hasattr(report, "convoprobe"):
            from .terminal_summary import gather

            gather(self._config, report)


def pytest_cmdline_main(config: pytest.Config) -> int | None:
    if not config.option.convoprobe_show_config:
        return None
    from .preflight import show_settings

    return show_settings(config)


@pytest.hookimpl(wrapper=True)
def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> Generator[None, Any, Any]:
    ignored = yield
    if ignored or collection_path.name == file_names.SCENARIOS:
        seen = file_names.files_seen(config)
        seen.worth_a_walk |= file_names.SCENARIOS in collection_path.parts
        if ignored:
            seen.ignored.add(collection_path)
    return ignored


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(
    file_path: Path, parent: pytest.Collector
) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    collectors = yield
    if file_names.is_labels(file_path, parent, taken=bool(collectors)):
        from .labels import LabelsCollector

        return [*collectors, LabelsCollector.from_parent(parent, path=file_path)]
    if not file_names.is_yaml(file_path):
        return collectors
    file_names.files_seen(parent.config).add(file_path)
    if file_names.may_be_benchmark(file_path):
        from .benchmarks import benchmark_file

        asked = file_names.is_asked_for(parent.session, file_path)
        if found := benchmark_file(file_path, parent, asked=asked):
            return [*collectors, found]
    if not file_names.is_scenarios(file_path, parent, taken=bool(collectors)):
        return collectors
    from .collection import ScenarioFile

    scenarios = ScenarioFile.from_parent(parent, path=file_path)
    if not parent.config.option.convoprobe_lint:
        return [*collectors, scenarios]
    from .lint_items import LintedFile

    return [*collectors, scenarios, LintedFile.from_parent(parent, path=file_path)]


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> Generator[None, None, None]:
    if TAGS not in config.stash:
        return (yield)
    from .marks import tags_registered

    with tags_registered(config):
        result = yield
    # A judge is measured before it is relied on, so that `-x` stops a run whose judge may not gate.
    items.sort(key=lambda item: LABELS not in item.stash)
    return result


@pytest.hookimpl(tryfirst=True)  # before the terminal reporter asks for what to say about it
def pytest_collection_finish(session: pytest.Session) -> None:
    if file_names.is_worth_a_walk(session.config):
        from .left_out import check as check_left_out

        check_left_out(session)
    if TAGS in session.config.stash:
        from .dealt_items import announce
        from .lookahead import can_run_ahead
        from .preflight import check

        check(session)
        announce(session, can_run_ahead)


def pytest_report_collectionfinish(config: pytest.Config, items: Sequence[pytest.Item]) -> list[str]:
    lines: list[str] = []
    if LEFT_OUT in config.stash:
        from .left_out import notes as left_out

        lines += left_out(config)
    if SESSION in config.stash:
        from .preflight import notes

        lines += notes(config)
    if TAGS in config.stash:
        from .gating import forecast

        lines += forecast(config, items)
    return lines


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """What a worker of xdist found when it collected: the process that started it collects nothing."""
    if error:
        from .shared_limits import correct_spent

        correct_spent(node)
    if output := getattr(node, "workeroutput", None):
        from .left_out import take_from_worker

        take_from_worker(node.config, output)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Whatever its workers run, the reports come to the process that starts them."""
    from .session import share_beginning
    from .shared_limits import share_limits
    from .storing import share_run_id

    start(node.config)
    share_run_id(node)
    share_beginning(node)
    share_limits(node)
    if _deals_scenarios(node.config):
        from .xdist_scheduler import connect

        connect(node)


def _deals_scenarios(config: pytest.Config) -> bool:
    """Whether it is xdist's `-n` alone. Who sets a largest chunk wants few items at a time in each worker."""
    return config.getoption("dist", "no") == "load" and config.getoption("maxschedchunk", None) is None


@pytest.hookimpl(optionalhook=True, trylast=True)  # after the schedulers of others, before xdist's own
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    if not _deals_scenarios(config):
        return None
    from .xdist_scheduler import LoadScheduling

    return LoadScheduling(config, log)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> Generator[None, None, None]:
    runs = session.config.stash.get(SESSION, None)
    if runs is None:
        return (yield)
    from ..stop_signals import ignored_meanwhile

    with ignored_meanwhile(runs.interrupted):
        runs.cancel()
    try:
        return (yield)
    finally:
        with ignored_meanwhile(runs.interrupted):
            runs.close()


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, exitstatus: int, config: pytest.Config
) -> None:
    if GATHERED in config.stash or AGES in config.stash or RECORDER in config.stash:
        from .terminal_summary import write

        write(terminalreporter, config)
