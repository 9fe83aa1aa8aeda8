"""The import of LiteLLM, in the background, without a trace of it in the process or in what it prints.

It takes seconds and some 200 MB, and changes the process (environment variables, log handlers, warning
filters). This module undoes the changes or keeps them silent.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import logging
import os
import re
import sys
import threading
import warnings
from collections.abc import Iterator
from concurrent.futures import Future
from functools import partial
from typing import Any

from ..own_traffic import LITELLM_LOGGERS
from ..threads import Interrupted

# Without these, the import reads the .env file of the project, and downloads a list of prices.
_IMPORT_ENVIRONMENT = {"LITELLM_MODE": "PRODUCTION", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}

_importing = threading.Lock()


_HANDLERS = "litellm.llms.custom_httpx.http_handler"


def start_import(unwanted: threading.Event) -> Future[Any]:
    """The module, as soon as it is imported in a thread of its own; see `imported`."""
    module: Future[Any] = Future()
    threading.Thread(target=partial(_load, module, unwanted), name="convoprobe-litellm", daemon=True).start()
    return module


def _load(future: Future[Any], unwanted: threading.Event) -> None:
    try:
        future.set_result(imported(unwanted))
    except BaseException as error:  # noqa: BLE001 - it belongs to whoever waits for the module
        future.set_exception(error)


def imported(unwanted: threading.Event | None = None) -> Any:
    """The module. If the project itself uses it or has set its logging, nothing of that changes.

    Raises `Interrupted` at the next module that is imported after `unwanted` was set.
    """
    if "litellm" not in sys.modules and "LITELLM_LOG" not in os.environ:
        _silence_loggers()
    with _importing, _environment(_IMPORT_ENVIRONMENT), _no_collection(), _filters_kept():
        litellm: Any = _import_under_changing_filters(_ArmedImports(unwanted or threading.Event()))
    # Otherwise it prints advice to stdout at each error.
    litellm.suppress_debug_info = True
    from .provider_traffic import watch_connections_of  # here, since it imports httpx, which takes its time

    watch_connections_of(importlib.import_module(_HANDLERS).AsyncHTTPHandler)
    return litellm


@contextlib.contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update({name: value for name, value in values.items() if before[name] is None})
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)


@contextlib.contextmanager
def _no_collection() -> Iterator[None]:
    """Switch garbage collection off during the import: it would find nothing, in a quarter of the time.

    Later collections would look through the million new objects three more times. `freeze` and `unfreeze`
    move them to the oldest generation at once. If the project has frozen objects of its own, this is left
    out, because `unfreeze` would release them too.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled and not gc.get_freeze_count():
            gc.freeze()
            gc.unfreeze()
        if enabled:
            gc.enable()


_ITS_FILTERS = ("`ReadOnly` qualifier", "Accessing the", "conflict with protected namespace")
_IMPORTS = 4
# The second is about counts of tokens in an answer that are no whole numbers.
_OURS = r"(?s)(.*`ReadOnly` qualifier|Pydantic serializer warnings:.*(_tokens|CompletionUsage|TokensDetails))"
READ_ONLY = ("ignore", re.compile(_OURS, re.IGNORECASE), Warning, None, 0)


@contextlib.contextmanager
def _filters_kept() -> Iterator[None]:
    """Remove the warning filters that the import adds for the whole process. Their texts identify them.

    `warnings.catch_warnings` cannot be used: it would restore an old list, although the main thread may have
    changed the filters in the meantime.
    """
    arm_warning_filter()
    before = list(warnings.filters)
    yield
    for entry in list(warnings.filters):
        pattern = getattr(entry[1], "pattern", None) or ""
        if entry not in before and any(text in pattern for text in _ITS_FILTERS):
            remove_filter(entry)


class _ArmedImports:
    """A finder that finds nothing. It restores our filter before each module is imported."""

    def __init__(self, unwanted: threading.Event) -> None:
        self._unwanted = unwanted
        self._thread = threading.get_ident()

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        # Other threads import through this finder too.
        if self._unwanted.is_set() and threading.get_ident() == self._thread:
            raise Interrupted
        arm_warning_filter()


def _import_under_changing_filters(finder: _ArmedImports) -> Any:
    """Import LiteLLM while pytest changes the warning filters, before and after each phase of a test.

    Between such a change and the next module, a warning may be an error, and the import fails. The next
    attempt starts without the modules of the incomplete package.
    """
    sys.meta_path.insert(0, finder)
    try:
        for _ in range(_IMPORTS):
            with contextlib.suppress(Warning):
                return importlib.import_module("litellm")
            for name in [name for name in sys.modules if name.partition(".")[0] == "litellm"]:
                del sys.modules[name]
        return importlib.import_module("litellm")
    finally:
        sys.meta_path.remove(finder)


def arm_warning_filter() -> None:
    """Make sure that our filter comes first.

    LiteLLM imports a provider's modules during the first call, and pydantic warns about them. pytest removes
    filters after each test and puts others in front, so this is checked at every call.
    """
    if warnings.filters[:1] != [READ_ONLY]:
        warnings.filterwarnings("ignore", message=READ_ONLY[1].pattern)


def remove_filter(entry: Any) -> None:
    """Remove a warning filter, if it is still there."""
    with contextlib.suppress(ValueError):
        warnings.filters.remove(entry)  # type: ignore[attr-defined]


def _silence_loggers() -> None:
    """Called before the import: its loggers write to stderr, at level DEBUG even messages and headers."""
    for name in LITELLM_LOGGERS:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
