"""A service behind HTTP as the target: one request a message, the answer picked out by JMESPath."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any, TypeVar

import httpx

from ...cutting import MOST_TEXT, most_bytes
from ...errors import TargetUnavailable
from ...forbidden_sockets import ALLOW_HOSTS, forbids_sockets
from ...formatting import exact_seconds, size
from ...http_body import ACCEPTED, unpacked
from ...own_traffic import unlogged
from ...project_code.tracebacks import clean, describe
from ...redaction import Redactor
from ...settings.http_settings import HttpTarget
from ...settings.secret_places import secrets_of
from ...start_time import present, template_values
from ...transcript import Reply
from ..hosted import RunsElsewhere
from ..port import ConversationContext, Description, named_tools, refuse_faults
from .answer import AnswerReader, HttpAnswer, VersionReader
from .recipe import TEMPLATE_ERRORS, Recipe, RequestParts

T = TypeVar("T")

_LARGE = 100_000
"""The size of an answer, in bytes, from which reading it may keep others waiting."""
_HELLO = "Hello"
"""The message by which a service is asked its version that reports it in answers only."""


class HttpAgent(RunsElsewhere):
    """Talks with an HTTP service; raises `SettingsError` for templates and paths that make no sense.

    All conversations share one pool of connections; each has its own cookies.
    """

    def __init__(self, settings: HttpTarget) -> None:
        self._recipe = Recipe(settings)
        self._reader = AnswerReader(settings)
        self._version = VersionReader(settings.version) if settings.version else None
        self._version_url = settings.version.url if settings.version else None
        self._timeout = settings.timeout
        self._tools = named_tools(settings.tools)
        headers = (value.get_secret_value() for value in settings.headers.values())
        self._redactor = Redactor((*_with_words(headers), *secrets_of(settings)))
        self._client: httpx.AsyncClient | None = None
        self.name = f"{settings.method.upper()} {self._recipe.shown_url}"

    async def start(self, context: ConversationContext) -> _HttpConversation:
        refuse_faults(self.name, context)
        return _HttpConversation(self, context)

    async def aclose(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def version(self) -> str:
        """What the service reports as its version, empty if the settings don't say where it does.

        Asked at an address of its own, or by one message of a conversation that ends with it. Raises
        `TargetUnavailable`.
        """
        if self._version is None:
            return ""
        url = self._version_url
        request = (
            partial(self._recipe.fill_get, url)
            if url
            else partial(self._recipe.fill, _variables(_HELLO, (), "version", present()))
        )
        answer = await self._answer_to(request, httpx.Cookies(), MOST_TEXT)
        return await self._read(self._version.read, answer)

    def describe(self) -> Description:
        """The tools that the settings name."""
        return Description(tools=self._tools)

    async def exchange(
        self, variables: Mapping[str, Any], cookies: httpx.Cookies, most_text: int = MOST_TEXT
    ) -> Reply:
        """One request and the reply in its answer; raises `TargetUnavailable` for all that goes wrong.

        At most `most_text` characters of each text are kept.
        """
        answer = await self._answer_to(partial(self._recipe.fill, variables), cookies, most_text)
        return await self._read(partial(self._reader.read, most_text=most_text), answer)

    async def _read(self, read: Callable[[HttpAnswer], T], answer: HttpAnswer) -> T:
        try:
            # In a thread if it takes its time: other conversations talk on this loop.
            large = len(answer.body) > _LARGE
            return await asyncio.to_thread(read, answer) if large else read(answer)
        except ValueError as error:
            raise self._failure(f"status {answer.status}: {error}", answer) from None

    async def _answer_to(
        self, request: Callable[[], RequestParts], cookies: httpx.Cookies, most_text: int
    ) -> HttpAnswer:
        most = most_bytes(most_text)
        try:
            answer = await asyncio.wait_for(self._fetch(request, cookies, most), self._timeout)
        except (TimeoutError, asyncio.TimeoutError):
            raise self._failure(f"no answer within {exact_seconds(self._timeout)}") from None
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise self._failure(f"no connection; is the service running? ({describe(error)})") from None
        except (httpx.HTTPError, httpx.InvalidURL, *TEMPLATE_ERRORS) as error:
            raise self._failure(f"the request failed: {describe(error)}") from None
        except Exception as error:
            # pytest-socket's errors aren't those of a network, so httpx lets them through.
            if not forbids_sockets(describe(error)):
                raise
            raise self._failure(f"no connection: {ALLOW_HOSTS}") from None
        if answer is None:
            allowed = f"the most that is read with `run.max_text: {most_text}`"
            raise self._failure(f"the answer is larger than {size(most)}, {allowed}")
        return answer

    def _failure(self, reason: str, answer: HttpAnswer | None = None) -> TargetUnavailable:
        lines = [f"{self.name}: {clean(reason, self._redactor)}"]
        if answer is not None:
            lines.append(answer.excerpt(self._redactor))
        return TargetUnavailable("\n".join(lines))

    async def _fetch(
        self, request_of: Callable[[], RequestParts], cookies: httpx.Cookies, most: int
    ) -> HttpAnswer | None:
        with unlogged():
            return await self._sent(self._open(), request_of(), cookies, most)

    async def _sent(
        self, client: httpx.AsyncClient, parts: RequestParts, cookies: httpx.Cookies, most: int
    ) -> HttpAnswer | None:
        request = client.build_request(parts.method, parts.url, headers=parts.headers, content=parts.content)
        cookies.set_cookie_header(request)
        response = await client.send(request, stream=True)
        try:
            cookies.extract_cookies(response)
            encoding = response.headers.get("content-encoding", "")
            body = await unpacked(response.aiter_raw(), encoding, most)
            if body is None:
                return None
            return HttpAnswer(response.status_code, dict(response.headers), body)
        finally:
            await response.aclose()

    def _open(self) -> httpx.AsyncClient:
        """Made on the loop that it is used on. It keeps no cookies, and conversations are limited elsewhere.

        A redirect is not followed: it would take secret headers along to wherever it leads.
        """
        if self._client is None:
            self._client = httpx.AsyncClient(
                cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
                timeout=self._timeout,
                headers={"accept-encoding": ACCEPTED},
                limits=httpx.Limits(max_connections=None, max_keepalive_connections=None),
            )
        return self._client


class _HttpConversation:
    """What was said, and the cookies that were set meanwhile."""

    def __init__(self, agent: HttpAgent, context: ConversationContext) -> None:
        self._agent = agent
        self._id = context.id
        # A service answers today, also where the user's side was recorded before dates were known.
        self._now = context.now or present()
        self._most_text = context.max_text
        self._history: list[dict[str, str]] = []
        self._cookies = httpx.Cookies()

    async def send(self, message: str) -> Reply:
        said = {"role": "user", "content": message}
        variables = _variables(message, self._history, self._id, self._now)
        reply = await self._agent.exchange(variables, self._cookies, self._most_text)
        self._history += [said, {"role": "assistant", "content": reply.text}]
        return reply

    async def aclose(self) -> None:
        """Connections belong to the target."""


def _variables(
    message: str, history: Sequence[Mapping[str, str]], identity: str, now: datetime
) -> dict[str, Any]:
    """What templates are filled with for one message."""
    said = {"role": "user", "content": message}
    return {
        "message": message,
        "history": list(history),
        "messages": [*history, said],
        "conversation_id": identity,
        **template_values(now),
    }


def _with_words(secrets: Iterable[str]) -> Iterator[str]:
    """`Bearer abc` and also `abc` alone, as servers like to quote it."""
    for secret in secrets:
        yield from (secret, *secret.split()[1:])
