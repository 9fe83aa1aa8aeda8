"""The implementation of the port with LiteLLM, which is imported for the first call only.

How it is imported is in `litellm_import`.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import os
import threading
from concurrent.futures import Future
from copy import deepcopy
from pathlib import PurePath
from typing import Any

from ..cutting import MOST_TEXT
from ..errors import LLMError, LLMRejected, LLMUnavailable
from ..own_traffic import begun_unlogged
from ..project_code.agent_environment import own_variable
from ..settings.model_settings import ModelSettings
from ..settings.providers import provider_of
from ..settings.requirements import require_model
from .attempts import Attempts
from .chat_format import chat_messages, own_prices, plain_headers, secrets_of
from .chat_reply import read_reply
from .given_up import GivenUp
from .litellm_import import READ_ONLY, arm_warning_filter, remove_filter, start_import
from .masking import NoSecrets, TextRedactor
from .port import LLMReply, LLMRequest, Price
from .price_list import listed
from .provider_errors import failure_of, timeout_of
from .schema_probe import SchemaUse


class LiteLLM:
    """Calls models through LiteLLM; a single attempt each, of at most `ModelSettings.timeout` seconds.

    It belongs to the event loop of the first call. What is sent again, and without what, is decided by
    `Attempts`.
    """

    def __init__(self, redactor: TextRedactor | None = None, max_text: int = MOST_TEXT) -> None:
        self._redactor = redactor or NoSecrets()
        self._max_text = max_text
        self._module: Future[Any] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._attempts = Attempts(self._attempt)
        self._priced: dict[str, bool] = {}
        self._given_up = GivenUp(_give_up)
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
        await self._litellm()
        return await self._attempts.complete(request)

    def schema_use(self, settings: ModelSettings) -> SchemaUse | None:
        """What calls have shown about schemas at this endpoint; None if none has been sent."""
        return self._attempts.schema_use(settings)

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
            await self._given_up.ended()
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

    async def _attempt(self, request: LLMRequest, parameters: dict[str, Any]) -> LLMReply | LLMError:
        # The parameters contain the key in plain text. Errors are returned, not raised, so that no traceback
        # with local variables shows this frame.
        litellm, settings = await self._litellm(), request.model
        arm_warning_filter()
        from .provider_traffic import watched  # here, since it imports httpx, which a replay doesn't need

        with watched(self._max_text) as watch:
            call = begun_unlogged(litellm.acompletion(**_own_schemas(parameters), **_fixed(request)))
        try:
            response = await self._given_up.outcome(call, settings.timeout)
            return read_reply(response, settings, response._hidden_params.get("response_cost"))
        except asyncio.TimeoutError:
            return timeout_of(settings)
        except LLMUnavailable as error:
            return error
        except Exception as error:  # noqa: BLE001 - besides its own, LiteLLM lets out whatever its parsers raise
            if watch.stopped:
                return LLMRejected(f"{settings.model} {watch.stopped}", model=settings.model or "")
            return failure_of(error, settings, self._masked(str(error), settings))

    def _masked(self, text: str, settings: ModelSettings) -> str:
        for secret in secrets_of(settings):
            text = text.replace(secret, "****")
        return self._redactor.text(text)


def _own_schemas(parameters: dict[str, Any]) -> dict[str, Any]:
    """The parameters with copies of the schemas: LiteLLM rewrites them in place for some providers."""
    schemas = ("tools", "response_format")
    return parameters | {name: deepcopy(parameters[name]) for name in schemas if name in parameters}


def _fixed(request: LLMRequest) -> dict[str, Any]:
    """Parameters that no setting changes. We retry ourselves, and our time limit ends before LiteLLM's."""
    settings = request.model
    headers = dict(plain_headers(settings))
    return {
        "model": settings.model,
        "messages": chat_messages(request.messages),
        "api_base": settings.api_base or _past_the_agents(settings),
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


# Where LiteLLM looks for the address of a provider's server, in this order, and what it takes otherwise.
_ADDRESSES = {
    "openai": (("OPENAI_BASE_URL", "OPENAI_API_BASE"), "https://api.openai.com/v1"),
    "anthropic": (("ANTHROPIC_API_BASE", "ANTHROPIC_BASE_URL"), "https://api.anthropic.com"),
}


def _past_the_agents(settings: ModelSettings) -> str | None:
    """The address of our models, while the environment has another one for those of the agent."""
    variables, otherwise = _ADDRESSES.get(_provider(settings), ((), ""))
    if all(own_variable(name) == os.environ.get(name) for name in variables):
        return None
    return next(filter(None, map(own_variable, variables)), otherwise)


def _provider(settings: ModelSettings) -> str:
    given = settings.extra_params.get("custom_llm_provider") or provider_of(settings.model or "")
    return str(given or listed(settings.model or "").get("litellm_provider"))


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
