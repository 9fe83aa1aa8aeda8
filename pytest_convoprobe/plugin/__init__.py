"""The pytest plug-in: hooks that pass on, and nothing heavy at import.

A suite without scenarios loads this module, `options`, `fixtures` and `keys`, and pays for
a few comparisons a test.
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from . import options
from .fixtures import _convoprobe_result, convoprobe, convoprobe_target
from .gathering import Gatherer
from .keys import ENGINE, GATHERED, NEXT_ITEM, RESULTS, TAGS
from .storing import Storing

__all__ = ["_convoprobe_result", "convoprobe", "convoprobe_target"]


def pytest_addoption(parser: pytest.Parser) -> None:
    options.add_options(parser)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    from . import hookspecs

    pluginmanager.add_hookspecs(hookspecs)


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Gatherer(config), "convoprobe-gatherer")
    config.pluginmanager.register(Storing(config), "convoprobe-storing")
    if config.option.convoprobe_baseline or config.option.convoprobe_fail_on:
        from .baseline import configure

        configure(config)
    if options.wants_reports(config):
        from . import reports

        reports.configure(config)


def pytest_cmdline_main(config: pytest.Config) -> int | None:
    if not config.option.convoprobe_show_config:
        return None
    from .preflight import show_settings

    return show_settings(config)


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(
    file_path: Path, parent: pytest.Collector
) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    collectors = yield
    if file_path.suffix.lower() not in (".yaml", ".yml"):
        return collectors
    from .collection import with_scenarios

    return with_scenarios(file_path, parent, collectors)


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config: pytest.Config) -> Generator[None, None, None]:
    if TAGS not in config.stash:
        return (yield)
    from .marks import tags_registered

    with tags_registered(config):
        return (yield)


@pytest.hookimpl(tryfirst=True)  # before the terminal reporter asks for what to say about it
def pytest_collection_finish(session: pytest.Session) -> None:
    if TAGS in session.config.stash:
        from .preflight import check

        check(session)


def pytest_report_collectionfinish(config: pytest.Config) -> list[str]:
    if ENGINE not in config.stash:
        return []
    from .preflight import notes

    return notes(config)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    if TAGS in item.config.stash:
        item.stash[NEXT_ITEM] = nextitem


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None, None, None]:
    if nextitem is not None or ENGINE not in item.config.stash:
        return (yield)
    # After this the fixtures of the session go away, and with them what is being talked to.
    with item.config.stash[ENGINE].all_ended():
        return (yield)


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[Any]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if RESULTS in item.stash:
        from .reporting import complete

        complete(item, call, report)
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> Generator[None, None, None]:
    engine = session.config.stash.get(ENGINE, None)
    if engine is None:
        return (yield)
    engine.cancel()
    try:
        return (yield)
    finally:
        engine.close()


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, exitstatus: int, config: pytest.Config
) -> None:
    if GATHERED in config.stash:
        from .summary import write

        write(terminalreporter, config)
