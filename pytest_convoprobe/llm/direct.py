"""The implementation of the port for servers that speak chat completions, without LiteLLM.

aiohttp is imported for the first call only: a replay needs none of it.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from functools import partial
from typing import TYPE_CHECKING, Any

from ..cutting import MOST_TEXT
from ..errors import LLMError, LLMRejected
from ..http_body import ACCEPTED
from ..own_traffic import begun_unlogged
from ..project_code.agent_environment import own_variable
from ..settings.model_settings import ModelSettings
from ..settings.requirements import require_model
from .attempts import Attempts
from .chat_answer import answered
from .chat_format import chat_messages, own_prices, plain_headers, secrets_of
from .connection import UnusableEnvironment
from .given_up import GivenUp
from .lanes import SERVERS, Server, address_of, name_at_server, provider_name
from .masking import NoSecrets, TextRedactor
from .port import LLMReply, LLMRequest, Price
from .posting import RawAnswer, Route, posted, route_to
from .price_list import listed_price
from .provider_errors import failure_of, no_key, not_sent, timeout_of
from .reasoning_models import refusals_expected
from .schema_probe import SchemaUse

if TYPE_CHECKING:
    import aiohttp

# Headers of OpenAI, and the variables that they come from.
_OF_ACCOUNTS = {
    "openai-organization": ("OPENAI_ORGANIZATION", "OPENAI_ORG_ID"),
    "openai-project": ("OPENAI_PROJECT_ID",),
}


class Direct:
    """Calls models by HTTP; a single attempt each, of at most `ModelSettings.timeout` seconds.

    It belongs to the event loop of the first call. What is sent again, and without what, is decided by
    `Attempts`.
    """

    def __init__(self, redactor: TextRedactor | None = None, max_text: int = MOST_TEXT) -> None:
        self._redactor = redactor or NoSecrets()
        self._max_text = max_text
        self._loop: asyncio.AbstractEventLoop | None = None
        self._module: Future[Any] | None = None
        self._session: aiohttp.ClientSession | None = None
        self._routes: dict[str, Route] = {}
        self._attempts = Attempts(self._attempt, refusals_expected)
        self._given_up = GivenUp()

    def preload(self) -> None:
        """Start the import of aiohttp in the background. A second time, this does nothing."""
        if self._module is None:
            self._module = Future()
            arguments = (self._module,)
            threading.Thread(target=_load, args=arguments, name="convoprobe-aiohttp", daemon=True).start()

    async def loaded(self) -> None:
        """Wait until an import that was started has ended, with or without success."""
        while self._module is not None and not self._module.done():
            await asyncio.sleep(0.01)  # polled: if this is cancelled, no callback stays behind

    async def complete(self, request: LLMRequest) -> LLMReply:
        require_model(request.model, request.context.role)
        await self._open()
        return await self._attempts.complete(request)

    def schema_use(self, settings: ModelSettings) -> SchemaUse | None:
        """What calls have shown about schemas at this endpoint; None if none has been sent."""
        return self._attempts.schema_use(settings)

    async def knows_price(self, settings: ModelSettings) -> bool:
        """Whether the cost of calls to this model will be known."""
        return await self.price_of(settings) is not None

    async def price_of(self, settings: ModelSettings) -> Price | None:
        """US dollars for a prompt token and for a completion token, or None if unknown."""
        own = own_prices(settings)
        return own if own is not None else listed_price(settings.model or "")

    async def aclose(self) -> None:
        """Close the connections. Does nothing if it was never used."""
        # First: a call that was given up may still be on its way to open the connections.
        await self._given_up.ended()
        session, self._session, self._loop = self._session, None, None
        if session is not None:
            await session.close()

    async def _open(self) -> aiohttp.ClientSession:
        loop = asyncio.get_running_loop()
        if self._loop not in (None, loop):
            raise RuntimeError("aiohttp is used from a second event loop; it belongs to its first caller's")
        self._loop = loop
        self.preload()
        assert self._module is not None  # noqa: S101 - `preload` has set it
        try:
            if not self._module.done():
                # Shielded: a cancelled call must not cancel the import, for which other calls wait too.
                await asyncio.shield(asyncio.wrap_future(self._module))
            if self._session is None:
                self._session = _session(self._module.result())
            return self._session
        except (ImportError, Warning) as error:
            reason = str(error)
        raise LLMRejected(f"aiohttp cannot be imported, and live calls need it: {reason}")

    async def _attempt(self, request: LLMRequest, parameters: dict[str, Any]) -> LLMReply | LLMError:
        # Errors are returned, not raised, so that no traceback shows the local variables of this frame.
        settings = request.model
        server = SERVERS.get(provider_name(settings), Server())
        key = _key(settings, server)
        if key is None and server.wants_key:
            words = no_key(settings.model, f"the environment variable {' or '.join(server.keys)}")
            return LLMRejected(words, model=settings.model or "")
        try:
            call = begun_unlogged(self._sent(request, parameters, key))
            answer = await self._given_up.outcome(call, settings.timeout)
        except asyncio.TimeoutError:
            return timeout_of(settings)
        except Exception as error:  # noqa: BLE001 - of a network, of TLS, of a suite that forbids sockets
            words = self._masked(_said_by(error), settings, key)
            failure = not_sent if _is_ours(error) else partial(failure_of, error)
            return failure(settings, words)
        return answered(answer, settings, lambda text: self._masked(text, settings, key))

    async def _sent(self, request: LLMRequest, parameters: dict[str, Any], key: str | None) -> RawAnswer:
        settings = request.model
        session, address = await self._open(), address_of(settings)
        route = self._routes.get(address)
        if route is None:
            route = self._routes[address] = route_to(address)
        headers = dict(_headers(settings, route.authorization or (f"Bearer {key}" if key else None)))
        return await posted(session, route, headers, _body(request, parameters), self._max_text)

    def _masked(self, text: str, settings: ModelSettings, key: str | None) -> str:
        for secret in (*secrets_of(settings), key):
            text = text.replace(secret, "****") if secret else text
        return self._redactor.text(text)


def _is_ours(error: Exception) -> bool:
    """Whether a call failed before it was sent, and would each time."""
    # Errors about the certificates of servers are ValueErrors too.
    wrong = isinstance(error, (TypeError, ValueError)) and not isinstance(error, OSError)
    return wrong or isinstance(error, UnusableEnvironment)


def _said_by(error: Exception) -> str:
    """What of an error is for people: aiohttp gives what isn't HTTP a status of its own, for example."""
    kind, message = type(error).__name__, getattr(error, "message", "")
    if kind in ("ServerDisconnectedError", "ClientPayloadError"):
        # Their texts may have all headers of the answer in them.
        return "the connection ended before its answer was complete"
    if kind == "ClientHttpProxyError":
        return f"the proxy answered with status {getattr(error, 'status', '')}: {message}"
    if kind == "ClientProxyConnectionError":
        proxy = f"{getattr(error, 'host', '')}:{getattr(error, 'port', '')}"
        return f"the proxy {proxy}, which the environment names, cannot be reached"
    if kind == "ClientResponseError":
        return f"its answer is not in the form of HTTP: {message}"
    return str(error)


def _load(future: Future[Any]) -> None:
    try:
        future.set_result(importlib.import_module("aiohttp"))
    except BaseException as error:  # noqa: BLE001 - it belongs to whoever waits for the module
        future.set_exception(error)


def _session(module: Any) -> aiohttp.ClientSession:
    """No limit of connections: the limiter of the run has one. No cookies, and nothing from a netrc file."""
    session: aiohttp.ClientSession = module.ClientSession(
        connector=module.TCPConnector(limit=0, ttl_dns_cache=300),
        cookie_jar=module.DummyCookieJar(),
        timeout=module.ClientTimeout(total=None, sock_connect=None),
        auto_decompress=False,
        trust_env=False,
    )
    return session


def _key(settings: ModelSettings, server: Server) -> str | None:
    """The key: that of the settings, the environment's, or LiteLLM's that code of the project has set."""
    # A key that was read from a file often ends with a line break, which no header may have.
    found = _found_key(settings, server)
    return None if found is None else found.strip()


def _found_key(settings: ModelSettings, server: Server) -> str | None:
    if settings.api_key is not None:
        return settings.api_key.get_secret_value()
    litellm = sys.modules.get("litellm")
    # Last, unlike LiteLLM: an agent in this process may have set it for models of its own.
    in_code = (getattr(litellm, name, None) for name in ("openai_key", "api_key"))
    return next(filter(None, (*map(own_variable, server.keys), *in_code)), None)


def _headers(settings: ModelSettings, authorization: str | None) -> Iterator[tuple[str, str]]:
    yield "accept", "application/json"
    yield "accept-encoding", ACCEPTED
    yield "content-type", "application/json"
    yield "user-agent", "pytest-convoprobe"
    if authorization is not None:
        yield "authorization", authorization
    if provider_name(settings) == "openai":
        for header, variables in _OF_ACCOUNTS.items():
            if value := next(filter(None, map(os.environ.get, variables)), None):
                yield header, value
    # Last, so that they replace ours.
    yield from ((name.lower(), value) for name, value in plain_headers(settings).items())


def _body(request: LLMRequest, parameters: dict[str, Any]) -> bytes:
    more = parameters.pop("extra_body", None)
    messages = chat_messages(request.messages)
    body = {"model": name_at_server(request.model), "messages": messages, **parameters, **(more or {})}
    return json.dumps(body, separators=(",", ":")).encode()
