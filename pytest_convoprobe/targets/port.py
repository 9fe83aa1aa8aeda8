"""The port to the target: a target starts conversations, and a conversation takes messages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol, runtime_checkable

from ..cutting import MOST_TEXT
from ..errors import TargetError, TargetStartError
from ..llm.port import LLM, ToolSpec
from ..project_code.agent_loops import Home
from ..project_code.callers_thread import CallersThread
from ..transcript import PendingRequest, Reply, SaidBefore, ToolCall, Usage


class ToolFaults(Protocol):
    """Injects faults into the calls of tools in one conversation.

    Whoever carries out a tool's call does it through one of these, which count the calls by the tool's name.
    They return what the agent is to get: the result of `call`, another one, or none at all. They raise what
    `call` raises, or the injected error. `call_id` is the call's id, if it has one.

    Calls are numbered in the order in which they begin. Where several that were asked for together may begin
    in any order, such as in threads, `asked` numbers them before: it gets the name of the tool and the id of
    each call, in the order in which the agent asked for them. To name a call twice changes nothing.
    """

    def asked(self, calls: Iterable[tuple[str, str]]) -> None: ...

    async def around(self, tool: str, call: Callable[[], Awaitable[Any]], *, call_id: str = "") -> Any: ...

    def around_sync(self, tool: str, call: Callable[[], Any], *, call_id: str = "") -> Any: ...


class SampleMetadata(dict[str, Any]):
    """Stands for the `metadata` of a scenario where there is none: some values that scenarios have."""


@dataclass(frozen=True)
class ConversationContext:
    """Information for a target about a new conversation.

    `id` is unique within the run. Targets that call models use `llm`: it counts, records and limits
    the calls of this conversation. `scenario` and `trial` go into the `CallContext` of such calls. `home` is
    where asynchronous code of the project runs, by default the loop on which the conversation starts. `now`
    is when the conversation begins, with its zone (see `start_time.template_values`); None if nobody knows.
    `waiting` is the thread that waits for the conversation, if it can make calls meanwhile. `max_text` is
    how many characters of one text or value are kept of what the target gives. `faults` are the faults that
    are injected into calls of tools; None if there are none. A target that can't inject them raises
    `TargetStartError` when a conversation with faults starts. `metadata` is the scenario's own: data for the
    agent, such as a test customer; None or `SampleMetadata` if the conversation belongs to no scenario.
    `gives_model_url` is for `model_url`.
    `history` is what was said before the conversation; a target that can't begin with it raises
    `TargetStartError`.
    """

    id: str
    llm: LLM
    scenario: str = ""
    trial: int = 1
    home: Home | None = None
    now: datetime | None = None
    waiting: CallersThread | None = None
    max_text: int = MOST_TEXT
    faults: ToolFaults | None = None
    metadata: Mapping[str, Any] | None = None
    gives_model_url: Callable[[], str] | None = field(default=None, repr=False)
    history: tuple[SaidBefore, ...] = ()

    @property
    def model_url(self) -> str | None:
        """The base address at which the agent is to call models in this conversation: it is seen there.

        Clients of OpenAI and of Anthropic take it as their `base_url`. None without `target.models`: clients
        that get None as their `base_url` go to the provider. May be read from any thread.
        """
        return None if self.gives_model_url is None else self.gives_model_url()


@runtime_checkable
class WithAgent(Protocol):
    """A conversation whose agent is an object of this process. Optional."""

    async def with_agent(self, call: Callable[[object], Any]) -> Any:
        """What `call` gives for the object that talked, where its own code runs.

        If `call` gives something to be awaited, that is done there, too. Raises `Raised` with what it raises.
        """


@dataclass(frozen=True)
class Description:
    """A target's description of itself; None for unknown parts."""

    system_prompt: str | None = None
    tools: tuple[ToolSpec, ...] | None = None


@runtime_checkable
class InjectsFaults(Protocol):
    """A target of the project's own that carries out its tools through `context.faults`. Optional.

    With faults, a conversation with any other target is a start error: they would never happen.
    """

    injects_faults: bool


def refuse_faults(name: str, context: ConversationContext) -> None:
    """Raise `TargetStartError` if faults are to be injected, for targets whose tools are out of reach."""
    if context.faults is not None:
        raise TargetStartError(
            f"`faults`: no faults can be injected into the tools of `{name}`, which carries them out itself. "
            "They can for targets of the type `model`, for agents of frameworks that have an adapter, and "
            "for a `Target` of your own that uses `context.faults` and sets `injects_faults = True`"
        )


def refuse_history(name: str, context: ConversationContext, remedy: str) -> None:
    """Raise `TargetStartError` if there is a history, for targets that have no place for it."""
    if context.history:
        raise TargetStartError(f"`history`: `{name}` can't begin with what was said before: {remedy}")


def named_tools(names: Sequence[str] | None) -> tuple[ToolSpec, ...] | None:
    """Tools of which only the names are known, for a description."""
    return None if names is None else tuple(ToolSpec(name, "", {}) for name in names)


class TargetConversation(Protocol):
    """One conversation with the target; messages come one at a time, in order."""

    async def send(self, message: str) -> Reply: ...

    async def aclose(self) -> None: ...


class Target(Protocol):
    """The agent under test. Many concurrent conversations share it.

    `start` returns a new conversation, which shares no state with others. It may raise
    `TargetStartError`. `send` may raise `TargetCrashed`, `TargetUnavailable`, or an error of the
    `llm` port. Any other exception is a defect of the implementation.
    """

    @property
    def name(self) -> str: ...

    async def start(self, context: ConversationContext) -> TargetConversation: ...

    async def aclose(self) -> None: ...


@runtime_checkable
class KeepsCalls(Protocol):
    """A conversation that knows which tools were called for a message that got no reply. Optional.

    Objects of the project that answer messages may have the method too. It is called where their code runs.
    """

    def calls_so_far(self) -> tuple[ToolCall, ...]: ...


@runtime_checkable
class KeepsUsage(Protocol):
    """A conversation that knows the tokens that were used for a message that got no reply. Optional.

    As with `KeepsCalls`, objects of the project may have it. None: they aren't known.
    """

    def usage_so_far(self) -> Usage | None: ...


@runtime_checkable
class Resumes(Protocol):
    """A conversation that goes on after the requests of its last reply were answered. Optional.

    `resume` gets all of them, each with its `answer`, and returns the rest of the reply: only the words,
    calls and usage since then, and the requests that came up meanwhile. A call that was refused is one with
    `executed=False`. Objects of the project that answer messages may have the method too.
    """

    async def resume(self, answered: tuple[PendingRequest, ...]) -> Reply: ...


@runtime_checkable
class Greets(Protocol):
    """A conversation in which the agent can speak first. Optional.

    `greet` is called once, before the first message, where a scenario has `first: agent`. Objects of the
    project that answer messages may have the method too.
    """

    async def greet(self) -> Reply: ...


@runtime_checkable
class TakesHistory(Protocol):
    """A target of the project's own that begins with `context.history`. Optional.

    A conversation with a history and any other target is a start error: nobody would read it.
    """

    takes_history: bool


@dataclass(frozen=True)
class SoFar:
    """What was done for a message that got no reply: the calls, and the tokens if they are known.

    `requests` are what the agent asked a person before it broke off, with the answers.
    """

    calls: tuple[ToolCall, ...] = ()
    usage: Usage | None = None
    requests: tuple[PendingRequest, ...] = ()


def calls_so_far(conversation: TargetConversation) -> tuple[ToolCall, ...]:
    """The tool calls that were made for the message that is being answered, as far as they are known."""
    return conversation.calls_so_far() if isinstance(conversation, KeepsCalls) else ()


def usage_so_far(conversation: TargetConversation) -> Usage | None:
    """The tokens that were used for the message that is being answered; None if they aren't known."""
    return conversation.usage_so_far() if isinstance(conversation, KeepsUsage) else None


def so_far(error: BaseException, conversation: TargetConversation) -> SoFar:
    """What was done for a message that failed, by the error itself or else by the conversation."""
    said = error if isinstance(error, TargetError) else TargetError("")
    return SoFar(
        tuple(said.tool_calls) or calls_so_far(conversation), said.usage or usage_so_far(conversation)
    )


async def resume(conversation: TargetConversation, answered: tuple[PendingRequest, ...]) -> Reply:
    """The rest of the reply, of a conversation that waited for these answers."""
    if not isinstance(conversation, Resumes):
        raise TargetStartError(CANNOT_RESUME)
    return await conversation.resume(answered)


async def greet(conversation: TargetConversation, cue: str = "") -> Reply:
    """What the agent says first: by itself, or as its reply to the `cue`."""
    if cue:
        return await conversation.send(cue)
    if not isinstance(conversation, Greets):
        raise TargetStartError(CANNOT_GREET)
    return await conversation.greet()


CANNOT_GREET = (
    "`first: agent`: this target has no way to speak first. Give the object that answers messages a method "
    "`greet()` that returns the greeting, or set `target.greeting_cue`, a message that makes the agent greet"
)

CANNOT_RESUME = (
    "the agent waits for a person (`pending` of its reply), but it has no method `resume` that takes the "
    "answers: give the object that answers messages the method `resume(answered)`"
)


@runtime_checkable
class Describes(Protocol):
    """A target that describes itself. This is optional.

    Stored runs use the description to notice a change of the system prompt or the tools, and the names of the
    tools are compared with those in scenarios. It is called after a conversation was started, and must
    return at once.
    """

    def describe(self) -> Description: ...


@runtime_checkable
class Versioned(Protocol):
    """A target that can be asked which version of it is running. This is optional.

    It is asked before conversations begin. It returns an empty text where no version is known, and raises
    what a conversation raises.
    """

    async def version(self) -> str: ...


def description_of(target: Target) -> Description:
    """The target's description of itself, if it has one."""
    found = target.describe() if isinstance(target, Describes) else None
    # An object of the project may have an unrelated method of this name.
    return found if isinstance(found, Description) else Description()
