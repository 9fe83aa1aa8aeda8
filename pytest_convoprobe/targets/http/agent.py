"""A service behind HTTP as the target: one request a message, the answer picked out by JMESPath."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from time import monotonic
from typing import Any, TypeVar

import httpx

from ...cutting import MOST_TEXT, at_most
from ...errors import SettingsError, TargetStartError
from ...settings.http_settings import HttpTarget
from ...settings.secret_places import secrets_of
from ...start_time import present, template_values
from ...transcript import Reply, ToolCall, Usage
from ..earlier_messages import as_chat
from ..hosted import RunsElsewhere, closing
from ..port import (
    ConversationContext,
    Description,
    SampleMetadata,
    named_tools,
    refuse_faults,
    refuse_history,
)
from ..reply_forms import said
from .answer import HttpAnswer, VersionReader
from .history_marks import history_not_sent
from .paths import AnswerPath
from .reading import AnswerReader, Carried, EarlierAnswers, kept_names
from .recipe import AnyName, Recipe, RequestParts, SessionNames, message_source, side_source
from .sending import Sender
from .stream_reading import StreamedReply, StreamReader
from .templates import MODEL_URL, Metadata

T = TypeVar("T")

_LARGE = 100_000
"""The size of an answer, in bytes, from which reading it may keep others waiting."""
_HELLO = "Hello"
"""The message by which a service is asked its version that reports it in answers only."""


class HttpAgent(RunsElsewhere):
    """Talks with an HTTP service; raises `SettingsError` for templates and paths that make no sense.

    All conversations share one pool of connections; each has its own cookies.
    """

    describes_at_once = True

    def __init__(self, settings: HttpTarget) -> None:
        names = SessionNames.of(settings)
        start, finish = settings.start, settings.finish
        self.message = Recipe(message_source(settings), names)
        self.start_request = (
            None if start is None else Recipe(side_source(settings, "start", start), SessionNames())
        )
        self.finish_request = (
            None
            if finish is None
            else Recipe(side_source(settings, "finish", finish), names, after_answer=True)
        )
        kept = start.keep if start is not None else {}
        self.uses_model_url = _uses_model_url(
            settings, (self.message, self.start_request, self.finish_request)
        )
        self.kept = {name: AnswerPath(path, f"target.start.keep.{name}") for name, path in kept.items()}
        self.greeting = AnswerPath(start.text, "target.start.text") if start and start.text else None
        self.reader = AnswerReader(settings)
        self.streams = settings.stream and StreamReader(settings, settings.stream, self.reader)
        # Where settings name the place of the text, plain text as a body is a mistake and not the answer.
        self._plain_allowed = "text" not in settings.model_fields_set
        self._repeats = settings.history_in_answer
        self._version = VersionReader(settings.version) if settings.version else None
        self._version_url = settings.version.url if settings.version else None
        self._tools = named_tools(settings.tools)
        self.name = f"{settings.method.upper()} {self.message.shown_url}"
        self.sender = Sender(self.name, settings.timeout, tuple(_secrets_of(settings)))

    async def start(self, context: ConversationContext) -> _HttpConversation:
        refuse_faults(self.name, context)
        self._require_told(context)
        past = EarlierAnswers(repeated=self._repeats, history=context.history)
        return _HttpConversation(self, context, past)

    def _require_told(self, context: ConversationContext) -> None:
        recipes = [one for one in (self.start_request, self.message) if one is not None]
        if context.history and (missing := history_not_sent(recipes, context.history)):
            refuse_history(self.name, context, missing)

    def require_told_at_start(self, context: ConversationContext) -> None:
        """Raise `TargetStartError` if the greeting would be given by a service that has no history yet."""
        opening = [self.start_request] if self.start_request is not None else []
        if context.history and history_not_sent(opening, context.history):
            refuse_history(self.name, context, _GREETS_TOO_EARLY)

    async def aclose(self) -> None:
        await self.sender.aclose()

    async def version(self) -> str:
        """What the service reports as its version, empty if the settings don't say where it does.

        Asked at an address of its own, or by one message of a conversation that ends with it. Raises
        `TargetUnavailable`.
        """
        if self._version is None:
            return ""
        if self._version_url:
            request = partial(self.message.fill_get, self._version_url)
            return await self.read(
                self._version.read, *await self.sender.answer(request, httpx.Cookies(), MOST_TEXT)
            )
        session = _Session(self, "version", AnyName(), None)
        await session.open(session.variables(_HELLO, (), present()), MOST_TEXT)
        try:
            request = partial(self.message.fill, session.variables(_HELLO, (), present()))
            answer = await self.sender.answer(request, session.cookies, MOST_TEXT)
        finally:
            await session.close(session.variables(_HELLO, (), present()))
        return await self.read(self._version.read, *answer)

    def describe(self) -> Description:
        """The tools that the settings name."""
        return Description(tools=self._tools)

    async def read(self, read: Callable[[HttpAnswer], T], answer: HttpAnswer, asked: RequestParts) -> T:
        """What `read` makes of an answer. Raises `TargetUnavailable` where it raises `ValueError`."""
        try:
            # In a thread if it takes its time: other conversations talk on this loop.
            large = len(answer.body) > _LARGE
            return await asyncio.to_thread(read, answer) if large else read(answer)
        except ValueError as error:
            raise self.sender.failure(f"status {answer.status}: {error}", asked, answer) from None

    def reply_in(self, answer: HttpAnswer, past: EarlierAnswers, most_text: int) -> tuple[Reply, Carried]:
        """The reply in a whole answer. Raises `ValueError` saying what is wrong with it."""
        with at_most(most_text):
            answer.require_success()
            if self._plain_allowed and answer.content_type == "text/plain":
                return said(answer.text), Carried({})
            data = answer.data()
            if self._plain_allowed and isinstance(data, str):
                data = {"text": data}
            return self.reader.read(data, past), self.reader.carried(data)


_GREETS_TOO_EARLY = (
    "with `first: agent`, it greets in the answer to `target.start`, which doesn't get all of the history. "
    "Use `{{ earlier }}` in `target.start.body`, or `target.greeting_cue` instead of `target.start.text`"
)
_CANNOT_GREET = (
    "`first: agent`: this service has no way to speak first. If it greets in the answer that opens a "
    "session, name the place of the text in `target.start.text`; otherwise set `target.greeting_cue`, a "
    "message that makes it greet"
)


class _Session:
    """What a service says of a conversation for its later requests; opened and closed by requests."""

    def __init__(
        self, agent: HttpAgent, identity: str, metadata: Mapping[str, Any], model_url: str | None
    ) -> None:
        self._agent = agent
        self._id = identity
        self._metadata = metadata
        self._model_url = model_url
        self._is_open = agent.start_request is None
        self._is_used = False
        self._values: dict[str, Any] = {}
        self.opened_with: tuple[HttpAnswer, RequestParts] | None = None
        """The answer that opened it, and the request for that."""
        self.cookies = httpx.Cookies()

    def variables(
        self,
        message: str,
        history: Sequence[Mapping[str, Any]],
        now: Any,
        earlier: Sequence[Mapping[str, Any]] = (),
    ) -> dict[str, Any]:
        """What templates are filled with for one message."""
        said = {"role": "user", "content": message}
        return {
            "message": message,
            "history": list(history),
            "messages": [*history, said],
            "earlier": list(earlier),
            "conversation_id": self._id,
            "metadata": self._metadata,
            "session": self._values,
            MODEL_URL: self._model_url,
            **template_values(now),
        }

    async def open(self, variables: Mapping[str, Any], most_text: int) -> float:
        """Send the request that opens it, once; the seconds that took. Raises `TargetUnavailable`."""
        recipe = self._agent.start_request
        if self._is_open or recipe is None:
            self._is_used = True
            return 0.0
        began = monotonic()
        answer = await self._agent.sender.answer(partial(recipe.fill, variables), self.cookies, most_text)
        self._is_used = True
        self._values |= await self._agent.read(partial(_kept_of, self._agent.kept), *answer)
        self.opened_with = answer
        self._is_open = True
        return monotonic() - began

    def carry(self, carried: Carried) -> None:
        """Remember what an answer said for the next request."""
        self._values |= carried.values
        for name in carried.forgotten:
            self._values.pop(name, None)

    async def close(self, variables: Mapping[str, Any]) -> None:
        """Send the request that ends it, if there was any other. A failure is a warning in the log."""
        recipe = self._agent.finish_request
        if recipe is not None and self._is_used:
            self._is_used = False
            await closing(self._finished(recipe, variables), f"the session of {self._agent.name}")

    async def _finished(self, recipe: Recipe, variables: Mapping[str, Any]) -> None:
        answer = await self._agent.sender.answer(partial(recipe.fill, variables), self.cookies, MOST_TEXT)
        await self._agent.read(HttpAnswer.require_success, *answer)


def _kept_of(paths: Mapping[str, AnswerPath], answer: HttpAnswer) -> Mapping[str, Any]:
    answer.require_success()
    return kept_names(paths, answer.data())


class _HttpConversation:
    """What was said, and what the service keeps of it: a session and cookies."""

    def __init__(self, agent: HttpAgent, context: ConversationContext, past: EarlierAnswers) -> None:
        self._agent = agent
        # Asked for only if it is used: who has it needs no other way to show whose its calls are.
        url = context.model_url if agent.uses_model_url else None
        self._session = _Session(agent, context.id, _metadata_of(context), url)
        self._past = past
        self._context = context
        # A service answers today, also where the user's side was recorded before dates were known.
        self._now = context.now or present()
        self._most_text = context.max_text
        self._earlier = as_chat(context.history)
        self._history = list(self._earlier)
        self._coming: StreamedReply | None = None

    async def send(self, message: str) -> Reply:
        self._coming = None
        startup = await self._session.open(self._variables(message), self._most_text)
        reply, carried = await self._exchanged(partial(self._agent.message.fill, self._variables(message)))
        self._session.carry(carried)
        self._earlier = []
        said = {"role": "user", "content": message}
        self._history += [said, {"role": "assistant", "content": reply.text}]
        return replace(reply, startup=startup) if startup else reply

    async def greet(self) -> Reply:
        """What the answer that opens the session says. Raises `TargetStartError` if none does."""
        path = self._agent.greeting
        if path is None:
            raise TargetStartError(_CANNOT_GREET)
        self._agent.require_told_at_start(self._context)
        await self._session.open(self._variables(""), self._most_text)
        assert self._session.opened_with is not None  # noqa: S101 - it was opened by a request
        reply = await self._agent.read(partial(self._greeting_in, path), *self._session.opened_with)
        self._history.append({"role": "assistant", "content": reply.text})
        return reply

    def _greeting_in(self, path: AnswerPath, answer: HttpAnswer) -> Reply:
        with at_most(self._most_text):
            return self._agent.reader.greeting(answer.data(), path, self._past)

    async def _exchanged(self, request: Callable[[], RequestParts]) -> tuple[Reply, Carried]:
        agent, cookies = self._agent, self._session.cookies
        if not agent.streams:
            answer = await agent.sender.answer(request, cookies, self._most_text)
            read = partial(agent.reply_in, past=self._past, most_text=self._most_text)
            return await agent.read(read, *answer)
        self._coming = StreamedReply(agent.streams, self._past, self._most_text)
        kind = agent.streams.format
        return await agent.sender.stream(request, cookies, self._most_text, self._coming, kind)

    def calls_so_far(self) -> tuple[ToolCall, ...]:
        """The calls that a stream reported for the message that is being answered."""
        return self._coming.calls() if self._coming is not None else ()

    def usage_so_far(self) -> Usage | None:
        """The tokens that a stream reported for it."""
        return self._coming.usage if self._coming is not None else None

    async def aclose(self) -> None:
        """End the session at the service. Connections belong to the target."""
        await self._session.close(self._variables(""))

    def _variables(self, message: str) -> dict[str, Any]:
        return self._session.variables(message, self._history, self._now, self._earlier)


def _uses_model_url(settings: HttpTarget, recipes: Iterable[Recipe | None]) -> bool:
    """Whether the service gets the address of the gateway. Raises `SettingsError` where that can't work."""
    if not any(recipe is not None and recipe.uses_model_url for recipe in recipes):
        return False
    if settings.models is None:
        raise SettingsError.of(
            "a template uses `model_url`, the address of the gateway for the agent's model calls, but the "
            "target has no `models`: set `target.models` to the addresses of the providers that it calls",
            path="target.models",
        )
    if settings.version is not None and settings.version.url is None:
        raise SettingsError.of(
            "the version is asked by a message that belongs to no conversation, so there is no `model_url` "
            "for it: give an address of its own (`version.url`)",
            path="target.version",
        )
    return True


def _metadata_of(context: ConversationContext) -> Mapping[str, Any]:
    # Without a scenario, templates are filled in with samples: `convoprobe doctor` has none.
    given = context.metadata
    return AnyName() if given is None or isinstance(given, SampleMetadata) else Metadata(given)


def _secrets_of(settings: HttpTarget) -> Iterator[str]:
    requests = (settings.headers, *(one.headers for one in (settings.start, settings.finish) if one))
    headers = (value.get_secret_value() for named in requests for value in named.values())
    yield from (*_with_words(headers), *secrets_of(settings))


def _with_words(secrets: Iterable[str]) -> Iterator[str]:
    """`Bearer abc` and also `abc` alone, as servers like to quote it."""
    for secret in secrets:
        yield from (secret, *secret.split()[1:])
