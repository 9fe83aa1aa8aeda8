"""The implementation of the port with LiteLLM, which is imported for the first call only.

How it is imported is in `litellm_import`.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import sys
import threading
from collections import defaultdict
from concurrent.futures import Future
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any

from ..cutting import MOST_TEXT
from ..errors import LLMError, LLMRejected, LLMUnavailable
from ..own_traffic import begun_unlogged
from ..settings.model_settings import ModelSettings
from ..settings.requirements import require_model
from .chat_format import (
    call_parameters,
    chat_messages,
    fewer_top_tokens,
    own_prices,
    plain_headers,
    read_reply,
    refused_parameter,
    secrets_of,
)
from .litellm_import import READ_ONLY, arm_warning_filter, remove_filter, start_import
from .masking import NoSecrets, TextRedactor
from .port import LLMReply, LLMRequest, Price
from .provider_errors import failure_of, timeout_of
from .schema_probe import FORMAT, Endpoint, SchemaProbes, SchemaUse, endpoint_of, use_shown_by

# What servers answer to a parameter that they don't know. Some give no reason, and 404 is a router's answer
# if none of its models takes the parameter.
_REFUSALS = frozenset({400, 404, 415, 422, 501})
# Some servers fail instead; then their words have to name the parameter.
_NAMED_REFUSALS = _REFUSALS | {500}

# How long the end of a run waits for abandoned calls, in seconds.
_LAST_WAIT = 5.0


class LiteLLM:
    """Calls models through LiteLLM; a single attempt each, of at most `ModelSettings.timeout` seconds.

    It belongs to the event loop of the first call. A parameter that a model refuses (`temperature`,
    `response_format`) is left out from then on; the repeated call counts as an attempt. Where a
    provider gives the chances of fewer tokens than were asked for, that many are asked for. Whether schemas
    are sent under `structured_output: auto` is found out by the first call that has one (`schema_probe`).
    """

    def __init__(self, redactor: TextRedactor | None = None, max_text: int = MOST_TEXT) -> None:
        self._redactor = redactor or NoSecrets()
        self._max_text = max_text
        self._module: Future[Any] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._refused: defaultdict[Endpoint, set[str]] = defaultdict(set)
        self._top_tokens: dict[Endpoint, int] = {}
        self._schemas = SchemaProbes()
        self._priced: dict[str, bool] = {}
        self._abandoned: set[asyncio.Task[Any]] = set()
        self._unwanted = threading.Event()

    def preload(self) -> None:
        """Start the import in the background; a call waits for it. A second time, this does nothing."""
        if self._module is None:
            self._module = start_import(self._unwanted)

    async def loaded(self) -> None:
        """Wait until an import that was started has ended, with or without success."""
        while self._module is not None and not self._module.done():
            await asyncio.sleep(0.05)  # polled: if this is cancelled, no callback stays behind

    async def complete(self, request: LLMRequest) -> LLMReply:
        require_model(request.model, request.context.role)
        litellm = await self._litellm()
        wanted = request.model.structured_output
        if request.schema is None or wanted != "auto":
            return await self._tried(litellm, request, schema=wanted == "schema")
        async with self._schemas.asking(request.model) as use:
            if use is not None:
                return await self._tried(litellm, request, schema=use is SchemaUse.OBEYED)
            return await self._tried(litellm, request, schema=True, probe=True)

    def schema_use(self, settings: ModelSettings) -> SchemaUse | None:
        """What calls have shown about schemas at this endpoint; None if none has been sent."""
        return self._schemas.found(settings)

    async def knows_price(self, settings: ModelSettings) -> bool:
        """Whether the cost of calls to this model will be known."""
        model, own = settings.model or "", own_prices(settings)
        if own is None and model not in self._priced:
            self._priced[model] = _listed_price(await self._litellm(), model) is not None
        return own is not None or self._priced[model]

    async def price_of(self, settings: ModelSettings) -> Price | None:
        """US dollars for a prompt token and for a completion token, or None if unknown."""
        own = own_prices(settings)
        return own if own is not None else _listed_price(await self._litellm(), settings.model or "")

    async def aclose(self) -> None:
        """End LiteLLM's background work and close its connections. Does nothing if it was never used."""
        if self._module is not None and not self._module.done():
            # An import that goes on for seconds would hold up the end of the process.
            self._unwanted.set()
            self._module, self._unwanted = None, threading.Event()
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

    async def _tried(
        self, litellm: Any, request: LLMRequest, *, schema: bool, probe: bool = False
    ) -> LLMReply:
        """The reply to the call, repeated without the parameters that are refused."""
        refused = self._refused[endpoint_of(request.model)]
        attempts, suspected = 0, False
        while True:
            attempts += 1
            outcome = await self._attempt(litellm, request, frozenset(refused), schema=schema)
            if isinstance(outcome, LLMReply):
                if probe:
                    self._learn(request, outcome, sent=schema, suspected=suspected)
                return replace(outcome, attempts=attempts)
            if outcome.refused == FORMAT:
                schema = False
                self._schemas.settle(request.model, SchemaUse.REFUSED)
            elif outcome.top_tokens is not None:
                self._top_tokens[endpoint_of(request.model)] = outcome.top_tokens
            elif outcome.refused is not None:
                refused.add(outcome.refused)
            elif probe and schema and outcome.error.status in _REFUSALS:
                # No word of the parameter. Whether it was the schema shows when the same call works without.
                schema, suspected = False, True
            else:
                outcome.error.attempts = attempts
                # Raised outside of any handler, so that it has no exception of LiteLLM as its context.
                raise outcome.error

    def _learn(self, request: LLMRequest, reply: LLMReply, *, sent: bool, suspected: bool) -> None:
        """What the reply to a probe shows; a reply to a call without a schema shows nothing by itself."""
        use = SchemaUse.REFUSED if suspected else None
        if sent and request.schema is not None:
            use = use_shown_by(reply, request.schema)
        if use is not None:
            self._schemas.settle(request.model, use)

    async def _attempt(
        self, litellm: Any, request: LLMRequest, refused: frozenset[str], *, schema: bool
    ) -> LLMReply | _Failed:
        # The parameters contain the key in plain text. Errors are returned, not raised, so that no traceback
        # with local variables shows this frame.
        settings = request.model
        most = self._top_tokens.get(endpoint_of(settings))
        parameters = call_parameters(request, schema=schema, refused=refused, most_top_tokens=most)
        arm_warning_filter()
        from .provider_traffic import watched  # here, since it imports httpx, which a replay doesn't need

        with watched(self._max_text) as watch:
            call = begun_unlogged(litellm.acompletion(**parameters, **_fixed(request)))
        try:
            response = await self._bounded(call, settings.timeout)
            return read_reply(response, settings, response._hidden_params.get("response_cost"))
        except asyncio.TimeoutError:
            return _Failed(timeout_of(settings))
        except LLMUnavailable as error:
            return _Failed(error)
        except Exception as error:  # noqa: BLE001 - besides its own, LiteLLM lets out whatever its parsers raise
            if watch.stopped:
                return _Failed(LLMRejected(f"{settings.model} {watch.stopped}", model=settings.model or ""))
            failure = failure_of(error, settings, self._masked(str(error), settings))
            named = failure.status in _NAMED_REFUSALS
            wrong = refused_parameter(parameters, failure.message) if named else None
            # "schema" is a promise of the settings: then a refusal is an error and no reason to do without.
            # Without a schema of ours, the parameter comes from `extra_params`, and we never leave these out.
            if wrong == FORMAT and (settings.structured_output == "schema" or not schema):
                wrong = None
            # What `extra_params` set is sent as it is.
            sent = None if "top_logprobs" in settings.extra_params else parameters.get("top_logprobs")
            return _Failed(failure, wrong, fewer_top_tokens(sent, failure.message) if named else None)

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


@dataclass(frozen=True)
class _Failed:
    """A failed attempt, and the parameter without which it may work, or how many top tokens may."""

    error: LLMError
    refused: str | None = None
    top_tokens: int | None = None


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


def listed_price(model: str) -> Price | None:
    """US dollars for a prompt and a completion token, as LiteLLM lists them; None if it is not loaded."""
    return _listed_price(sys.modules.get("litellm"), model)


def _listed_price(litellm: Any, model: str) -> Price | None:
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


async def _shut_down(litellm: Any) -> None:
    worker = importlib.import_module("litellm.litellm_core_utils.logging_worker").GLOBAL_LOGGING_WORKER
    await worker.flush()
    await worker.stop()
    await importlib.import_module(
        "litellm.llms.custom_httpx.async_client_cleanup"
    ).close_litellm_async_clients()
    litellm.in_memory_llm_clients_cache.flush_cache()
    remove_filter(READ_ONLY)
    # Sockets are closed in callbacks of the loop, which must run before it stops.
    await asyncio.sleep(0.05)
