"""The implementation of the port with LiteLLM: the only module that imports it, and only for the first call.

The import takes seconds and some 200 MB, and changes the process (environment variables, log handlers,
warning filters). This module undoes the changes or keeps them silent.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import importlib
import inspect
import logging
import os
import re
import sys
import threading
import warnings
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any

from ..errors import LLMError, LLMRejected, LLMUnavailable
from ..own_traffic import unlogged
from ..settings.models import ModelSettings
from ..settings.requirements import require_model
from .chat_format import (
    call_parameters,
    chat_messages,
    own_prices,
    plain_headers,
    read_reply,
    refused_parameter,
    secrets_of,
)
from .masking import NoSecrets, TextRedactor
from .port import LLMReply, LLMRequest
from .provider_errors import failure_of, timeout_of

# Providers that accept any model: they get a schema, and plain text is the fallback if they refuse it.
# For others, LiteLLM has a list of the models that accept a schema.
_TAKES_ANY_SCHEMA = frozenset({"openai", "hosted_vllm", "lm_studio", "llamafile"})

# Without these, the import reads the .env file of the project, and downloads a list of prices.
_IMPORT_ENVIRONMENT = {"LITELLM_MODE": "PRODUCTION", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
# How long the end of a run waits for abandoned calls, in seconds.
_LAST_WAIT = 5.0

_LOGGERS = ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy")
_importing = threading.Lock()


class LiteLLM:
    """Calls models through LiteLLM; a single attempt each, of at most `ModelSettings.timeout` seconds.

    It belongs to the event loop of the first call. A parameter that a model refuses (`temperature`,
    `response_format`) is left out from then on; the repeated call counts as an attempt.
    """

    def __init__(self, redactor: TextRedactor | None = None) -> None:
        self._redactor = redactor or NoSecrets()
        self._module: Future[Any] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._refused: defaultdict[tuple[str | None, str | None], set[str]] = defaultdict(set)
        self._takes_schema: dict[str, bool] = {}
        self._priced: dict[str, bool] = {}
        self._abandoned: set[asyncio.Task[Any]] = set()

    def preload(self) -> None:
        """Start the import in the background; a call waits for it. A second time, this does nothing."""
        if self._module is None:
            self._module = Future()
            threading.Thread(
                target=_load, args=(self._module,), name="convoprobe-litellm", daemon=True
            ).start()

    async def loaded(self) -> None:
        """Wait until an import that was started has ended, with or without success."""
        while self._module is not None and not self._module.done():
            await asyncio.sleep(0.05)  # polled: if this is cancelled, no callback stays behind

    async def complete(self, request: LLMRequest) -> LLMReply:
        require_model(request.model, request.context.role)
        litellm = await self._litellm()
        refused = self._refused[request.model.model, request.model.api_base]
        attempts = 0
        while True:
            attempts += 1
            outcome = await self._attempt(litellm, request, frozenset(refused))
            if isinstance(outcome, LLMReply):
                return replace(outcome, attempts=attempts)
            if outcome.refused is None:
                outcome.error.attempts = attempts
                # Raised outside of any handler, so that it has no exception of LiteLLM as its context.
                raise outcome.error
            refused.add(outcome.refused)

    async def knows_price(self, settings: ModelSettings) -> bool:
        """Whether the cost of calls to this model will be known."""
        model, own = settings.model or "", own_prices(settings)
        if own is None and model not in self._priced:
            self._priced[model] = _listed_price(await self._litellm(), model) is not None
        return own is not None or self._priced[model]

    async def price_of(self, settings: ModelSettings) -> tuple[float, float] | None:
        """US dollars for a prompt token and for a completion token, or None if unknown."""
        own = own_prices(settings)
        return own if own is not None else _listed_price(await self._litellm(), settings.model or "")

    async def aclose(self) -> None:
        """End LiteLLM's background work and close its connections. Does nothing if it was never used."""
        module = self._module
        if self._loop and module and module.done() and not module.exception():
            if self._abandoned:
                await asyncio.wait(self._abandoned, timeout=_LAST_WAIT)
            await _shut_down(module.result())
            self._loop = None

    async def _litellm(self) -> Any:
        loop = asyncio.get_running_loop()
        if self._loop not in (None, loop):
            raise RuntimeError("LiteLLM is used from a second event loop; it belongs to its first caller's")
        self._loop = loop
        self.preload()
        assert self._module is not None  # noqa: S101 - `preload` has set it
        try:
            if self._module.done():
                return self._module.result()
            # Shielded: a cancelled call must not cancel the import, for which other calls wait too.
            return await asyncio.shield(asyncio.wrap_future(self._module))
        except ImportError as error:
            reason = str(error)
        raise LLMRejected(f"LiteLLM cannot be imported, and live calls need it: {reason}")

    async def _attempt(
        self, litellm: Any, request: LLMRequest, refused: frozenset[str]
    ) -> LLMReply | _Failed:
        # The parameters contain the key in plain text. Errors are returned, not raised, so that no traceback
        # with local variables shows this frame.
        settings = request.model
        parameters = call_parameters(request, schema=self._sends_schema(litellm, request), refused=refused)
        _arm_warning_filter()
        try:
            with unlogged():
                call = asyncio.ensure_future(litellm.acompletion(**parameters, **_fixed(request)))
            response = await self._bounded(call, settings.timeout)
            return read_reply(response, settings, response._hidden_params.get("response_cost"))
        except asyncio.TimeoutError:
            return _Failed(timeout_of(settings))
        except LLMUnavailable as error:
            return _Failed(error)
        except Exception as error:  # noqa: BLE001 - besides its own, LiteLLM lets out whatever its parsers raise
            failure = failure_of(error, settings, self._masked(str(error), settings))
            wrong = refused_parameter(parameters, failure.message) if failure.status in (400, 422) else None
            # "schema" is a promise of the settings: then a refusal is an error and no reason to do without.
            if wrong == "response_format" and settings.structured_output == "schema":
                wrong = None
            return _Failed(failure, wrong)

    async def _bounded(self, call: asyncio.Task[Any], seconds: float) -> Any:
        """The result of the call. It is abandoned if it takes too long or is cancelled."""
        try:
            # Not `wait_for`: it waits for a call that swallows its cancellation, and so do some HTTP clients.
            done, _ = await asyncio.wait({call}, timeout=seconds)
            if not done:
                raise asyncio.TimeoutError
            return call.result()
        finally:
            if not call.done():
                self._abandoned.add(call)
                call.add_done_callback(self._forget)
                _give_up(call)

    def _forget(self, call: asyncio.Task[Any]) -> None:
        self._abandoned.discard(call)
        if not call.cancelled():
            # Nobody needs the outcome, but asyncio logs an exception that is never retrieved.
            call.exception()

    def _masked(self, text: str, settings: ModelSettings) -> str:
        for secret in secrets_of(settings):
            text = text.replace(secret, "****")
        return self._redactor.text(text)

    def _sends_schema(self, litellm: Any, request: LLMRequest) -> bool:
        wanted = request.model.structured_output
        if wanted != "auto":
            return wanted == "schema"
        model = request.model.model or ""
        if model not in self._takes_schema:
            self._takes_schema[model] = _takes_schema(litellm, model)
        return self._takes_schema[model]


@dataclass(frozen=True)
class _Failed:
    """A failed attempt, and the parameter without which it may work."""

    error: LLMError
    refused: str | None = None


def _fixed(request: LLMRequest) -> dict[str, Any]:
    """Parameters that no setting changes. We retry ourselves, and our time limit ends before LiteLLM's."""
    settings = request.model
    headers = dict(plain_headers(settings))
    return {
        "model": settings.model,
        "messages": chat_messages(request.messages),
        "api_base": settings.api_base,
        "api_key": settings.api_key.get_secret_value() if settings.api_key else None,
        # Later than our own limit: whoever ends first decides what the error says.
        "timeout": settings.timeout + 5,
        "max_retries": 0,
        "num_retries": 0,
        "drop_params": True,
        # A whole reply or none: half a reply would have to be judged, priced and recorded.
        "stream": False,
        **({"extra_headers": headers} if headers else {}),
    }


def _takes_schema(litellm: Any, model: str) -> bool:
    try:
        provider = litellm.get_llm_provider(model)[1]
        return provider in _TAKES_ANY_SCHEMA or bool(litellm.supports_response_schema(model))
    except Exception:  # noqa: BLE001 - an unknown provider; the call itself says so in better words
        return False


def listed_price(model: str) -> tuple[float, float] | None:
    """US dollars for a prompt and a completion token, as LiteLLM lists them; None if it is not loaded."""
    return _listed_price(sys.modules.get("litellm"), model)


def _listed_price(litellm: Any, model: str) -> tuple[float, float] | None:
    try:
        return litellm.cost_per_token(model=model, prompt_tokens=1, completion_tokens=1)  # type: ignore[no-any-return]
    except Exception:  # noqa: BLE001 - bare Exceptions for models that it doesn't know; or it isn't there
        return None


def _give_up(call: asyncio.Task[Any]) -> None:
    """Cancel the call, but not before LiteLLM has prepared it.

    LiteLLM prepares a call in a thread, which makes a coroutine. If the call is cancelled during that time,
    it drops the coroutine, and Python warns that it was never awaited.
    """
    if call.done():
        return
    if _in_preparation(call):
        asyncio.get_running_loop().call_later(0.01, _give_up, call)
    else:
        call.cancel()


def _in_preparation(call: asyncio.Task[Any]) -> bool:
    """Whether the call waits for that thread: then it is in `acompletion` of LiteLLM's main module."""
    innermost: Any = None
    awaited: Any = call.get_coro()
    while inspect.iscoroutine(awaited):
        innermost, awaited = awaited, awaited.cr_await
    code = getattr(innermost, "cr_code", None)
    return code is not None and code.co_name == "acompletion" and PurePath(code.co_filename).name == "main.py"


def _load(future: Future[Any]) -> None:
    try:
        future.set_result(imported())
    except BaseException as error:  # noqa: BLE001 - it belongs to whoever waits for the module
        future.set_exception(error)


def imported() -> Any:
    """The module. If the project itself uses it or has set its logging, nothing of that changes."""
    if "litellm" not in sys.modules and "LITELLM_LOG" not in os.environ:
        _silence_loggers()
    with _importing, _environment(_IMPORT_ENVIRONMENT), _no_collection(), _filters_kept():
        litellm: Any = _import_under_changing_filters()
    # Otherwise it prints advice to stdout at each error.
    litellm.suppress_debug_info = True
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
_READ_ONLY = ("ignore", re.compile(_OURS, re.IGNORECASE), Warning, None, 0)


@contextlib.contextmanager
def _filters_kept() -> Iterator[None]:
    """Remove the warning filters that the import adds for the whole process. Their texts identify them.

    `warnings.catch_warnings` cannot be used: it would restore an old list, although the main thread may have
    changed the filters in the meantime.
    """
    _arm_warning_filter()
    before = list(warnings.filters)
    yield
    for entry in list(warnings.filters):
        pattern = getattr(entry[1], "pattern", None) or ""
        if entry not in before and any(text in pattern for text in _ITS_FILTERS):
            _remove_filter(entry)


class _ArmedImports:
    """A finder that finds nothing. It restores our filter before each module is imported."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        _arm_warning_filter()


def _import_under_changing_filters() -> Any:
    """Import LiteLLM while pytest changes the warning filters, before and after each phase of a test.

    Between such a change and the next module, a warning may be an error, and the import fails. The next
    attempt starts without the modules of the incomplete package.
    """
    finder = _ArmedImports()
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


def _arm_warning_filter() -> None:
    """Make sure that our filter comes first.

    LiteLLM imports a provider's modules during the first call, and pydantic warns about them. pytest removes
    filters after each test and puts others in front, so this is checked at every call.
    """
    if warnings.filters[:1] != [_READ_ONLY]:
        warnings.filterwarnings("ignore", message=_READ_ONLY[1].pattern)


def _remove_filter(entry: Any) -> None:
    with contextlib.suppress(ValueError):
        warnings.filters.remove(entry)  # type: ignore[attr-defined]


def _silence_loggers() -> None:
    """Called before the import: its loggers write to stderr, at level DEBUG even messages and headers."""
    for name in _LOGGERS:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)


async def _shut_down(litellm: Any) -> None:
    worker = importlib.import_module("litellm.litellm_core_utils.logging_worker").GLOBAL_LOGGING_WORKER
    await worker.flush()
    await worker.stop()
    await importlib.import_module(
        "litellm.llms.custom_httpx.async_client_cleanup"
    ).close_litellm_async_clients()
    litellm.in_memory_llm_clients_cache.flush_cache()
    _remove_filter(_READ_ONLY)
    # Sockets are closed in callbacks of the loop, which must run before it stops.
    await asyncio.sleep(0.05)
