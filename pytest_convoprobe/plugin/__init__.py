"""The pytest plug-in: hooks that pass on, and nothing heavy at import.

A suite without scenarios loads this module and those that it imports here, and pays for one comparison
a report. The hooks that cost something at each test come with the first scenario (`running`).
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from . import options
from .fixtures import _convoprobe_result, convoprobe, convoprobe_target
from .gathering import Gatherer
from .keys import ENGINE, GATHERED, TAGS

__all__ = ["_convoprobe_result", "convoprobe", "convoprobe_target"]


def pytest_addoption(parser: pytest.Parser) -> None:
    options.add_options(parser)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    from . import hookspecs

    pluginmanager.add_hookspecs(hookspecs)


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Gatherer(config), "convoprobe-gatherer")
    if config.option.convoprobe_baseline or config.option.convoprobe_fail_on:
        from .baseline import configure

        configure(config)
    if config.option.convoprobe_html:
        from .running import start

        start(config)


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


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Whatever its workers run, the reports come to the process that starts them."""
    from .running import start
    from .storing import share_run_id

    start(node.config)
    share_run_id(node)


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
