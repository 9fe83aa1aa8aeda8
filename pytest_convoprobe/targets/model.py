"""A language model as the target: a system prompt, tools, and the loop between the two."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

from ..errors import SettingsError, TargetCrashed, TargetStartError
from ..llm.port import CallContext, LLMReply, LLMRequest, Message, Role, ToolRequest, ToolSpec
from ..settings.model_settings import ModelSettings
from ..settings.models import ModelTarget
from ..start_time import TEMPLATE_NAMES, template_values
from ..thoughts import without_thoughts
from ..transcript import Reply, ToolCall, Usage
from ..yaml_source.placeholders import complaint, fill
from .earlier_messages import as_messages, result_text
from .faulty_calls import with_faults
from .hosted import RunsElsewhere
from .loading import Once, Reference, load_object, parse_reference
from .mcp.requests import sampling_messages
from .mcp.servers import McpServers
from .port import ConversationContext, Description
from .reply_parts import as_arguments
from .tool_source import AllTools, ServedTools
from .tools import Toolbox


class ModelAgent(RunsElsewhere):
    """Talks with a model, through the `llm` of each conversation. Tools run where the context says.

    `tools` are functions beside those that the settings name by reference (relative files start from
    `rootdir`, by default the working directory). Raises `SettingsError` for a tool that is
    no reference; the tools are imported when the first conversation starts.
    """

    describes_at_once = True

    def __init__(
        self,
        settings: ModelTarget,
        *,
        rootdir: Path | None = None,
        tools: Iterable[Callable[..., Any]] = (),
    ) -> None:
        # Without a model a replay works all the same; whoever makes a live call says that it is missing.
        self.name = settings.model or "model"
        if words := complaint(_system_prompt(settings), TEMPLATE_NAMES):
            raise SettingsError.of(words, path="target.system_prompt")
        self._settings = settings
        sources = [*(_reference(text, index) for index, text in enumerate(settings.tools)), *tools]
        root = rootdir or Path.cwd()
        self._toolbox = Once(lambda: Toolbox(_function(source, root) for source in sources))
        self._servers = McpServers(settings.mcp_servers, root) if settings.mcp_servers else None

    async def start(self, context: ConversationContext) -> _ModelConversation:
        conversation = _ModelConversation(self._settings, context)
        await conversation.open(await self._toolbox.get(), self._servers)
        return conversation

    async def aclose(self) -> None:
        """End the servers that conversations shared; the `llm` belongs to whoever starts conversations."""
        if self._servers is not None:
            await self._servers.aclose()

    def describe(self) -> Description:
        """The system prompt, and the tools once they were imported and listed."""
        toolbox = self._toolbox.value
        served = self._servers.specs if self._servers is not None else ()
        tools = (*toolbox.specs, *served) if toolbox is not None and served is not None else None
        return Description(_system_prompt(self._settings), tools)


def _reference(text: str, index: int) -> Reference:
    try:
        return parse_reference(text)
    except TargetStartError as error:
        raise SettingsError.of(str(error), path=f"target.tools[{index}]") from None


def _function(source: object, rootdir: Path) -> Callable[..., Any]:
    found = load_object(source, rootdir) if isinstance(source, Reference) else source
    if not callable(found) or isinstance(found, type):
        raise TargetStartError(f"the tool `{source}` is a {type(found).__qualname__}, not a function")
    return found


_UNFINISHED = "it had not returned when the conversation broke off"


class _ModelConversation:
    """One conversation. Each call of the model has all of it again: models keep nothing between calls."""

    def __init__(self, settings: ModelTarget, context: ConversationContext) -> None:
        self._model = _without_agent(settings)
        self._max_rounds = settings.max_tool_rounds
        self._tools = AllTools(())
        self._served: ServedTools | None = None
        self._context = context
        # A conversation of an old recording doesn't know when it began; then the prompt was sent as it is.
        system = fill(_system_prompt(settings), template_values(context.now) if context.now else {})
        self._messages = [*([Message("system", system)] if system else []), *as_messages(context.history)]
        self._turn = 0
        self._calls: list[ToolCall] = []
        self._usage = Usage()
        self._waited = 0.0
        self._ids: set[str] = set()

    async def open(self, toolbox: Toolbox, servers: McpServers | None) -> None:
        """Get the tools ready; servers are started. Raises `TargetStartError` and `SettingsError`."""
        if servers is not None:
            self._served = await servers.open([spec.name for spec in toolbox.specs], self._sample)
        self._tools = AllTools([toolbox, *([self._served] if self._served else [])])

    async def send(self, message: str) -> Reply:
        self._turn += 1
        self._messages.append(Message("user", message))
        return await self._answered()

    async def greet(self) -> Reply:
        """What the model writes without a message of the user; some providers want one, and refuse."""
        return await self._answered()

    async def _answered(self) -> Reply:
        self._calls = []
        self._usage, self._waited = Usage(), 0.0
        if self._served is not None:
            await self._served.require_all()
        texts: list[tuple[str, str]] = []
        cut: list[str] = []
        for rounds_left in range(self._max_rounds, -1, -1):
            reply = await self._ask()
            texts += [without_thoughts(reply.text), ("", reply.thoughts)]
            cut += reply.cut
            self._messages.append(Message("assistant", reply.text, reply.tool_requests))
            if not reply.tool_requests:
                break
            if not rounds_left:
                # The agent's fault: a user of it would wait for ever, and pay for each round.
                raise TargetCrashed(self._endless(reply.tool_requests))
            await self._call_tools(reply.tool_requests, f"{self._turn}.{self._max_rounds - rounds_left + 1}")
        # What it said beside its tool calls was said to the user as well.
        said, thought = ("\n\n".join(filter(str.strip, parts)) for parts in zip(*texts, strict=True))
        kept = tuple(dict.fromkeys(cut))
        asked = self._served.asked() if self._served is not None else ()
        # The time in a queue of ours, or until a provider answers, isn't the agent's.
        return Reply(
            said,
            tuple(self._calls),
            self._usage,
            thoughts=thought,
            cut=kept,
            pending=asked,
            startup=self._waited,
        )

    def calls_so_far(self) -> tuple[ToolCall, ...]:
        """The calls of the message that is being answered, or was last."""
        return tuple(self._calls)

    def usage_so_far(self) -> Usage:
        """The tokens that were used for that message."""
        return self._usage

    async def aclose(self) -> None:
        """End the servers of this conversation."""
        if self._served is not None:
            await self._served.aclose()

    async def _ask(self) -> LLMReply:
        return await self._completed(tuple(self._messages), self._tools.specs)

    async def _sample(self, params: Mapping[str, Any]) -> str:
        """A text that the model writes for a server which may ask for it."""
        return without_thoughts((await self._completed(sampling_messages(params), ())).text)[0]

    async def _completed(self, messages: tuple[Message, ...], tools: tuple[ToolSpec, ...]) -> LLMReply:
        context = self._context
        call = CallContext(Role.TARGET, context.scenario, context.trial, self._turn)
        reply = await context.llm.complete(LLMRequest(self._model, messages, call, tools))
        self._usage += reply.usage
        self._waited += reply.waited
        return reply

    async def _call_tools(self, requests: tuple[ToolRequest, ...], place: str) -> None:
        """All at once; results are handed back in the order in which they were asked for."""
        first = len(self._calls)
        group = place if len(requests) > 1 else ""
        # Each has its place before it begins: what is interrupted has been called all the same.
        self._calls += [
            ToolCall(
                request.name,
                as_arguments(request.arguments),
                error=_UNFINISHED,
                id=self._own_id(request.id),
                group=group,
            )
            for request in requests
        ]
        await asyncio.gather(*(self._call(request, first + at) for at, request in enumerate(requests)))
        for request, call in zip(requests, self._calls[first:], strict=True):
            self._messages.append(Message("tool", result_text(call), tool_call_id=request.id))

    def _own_id(self, given: str) -> str:
        """The id that the model gave, or one like it: some models count from one in each reply."""
        found = next(one for one in _numbered(given or "call") if one not in self._ids)
        self._ids.add(found)
        return found

    async def _call(self, request: ToolRequest, place: int) -> None:
        context, begun = self._context, self._calls[place]
        # A tool that doesn't exist has no faults: the model is to read that there is none.
        exists = any(spec.name == request.name for spec in self._tools.specs)
        call = await with_faults(
            context.faults if exists else None,
            replace(request, id=begun.id),
            lambda: self._tools.call(request, context.home, context.max_text),
        )
        asked = ("arguments",) if request.cut else ()
        self._calls[place] = replace(call, cut=(*asked, *call.cut), id=begun.id, group=begun.group)

    def _endless(self, wanted: tuple[ToolRequest, ...]) -> str:
        names = ", ".join(f"`{request.name}`" for request in wanted[:3])
        return (
            f"the model never answered: after {self._max_rounds} rounds of tool calls "
            f"(`target.max_tool_rounds`) it asked for {names} once more"
        )


def _numbered(name: str) -> Iterator[str]:
    yield name
    yield from (f"{name}-{number}" for number in count(2))


def _system_prompt(settings: ModelTarget) -> str:
    return "\n\n".join(filter(None, (settings.system_prompt, settings.extra_instructions)))


def _without_agent(settings: ModelTarget) -> ModelSettings:
    """The settings of the model alone, what is unset left unset."""
    names = set(ModelSettings.model_fields) & settings.model_fields_set
    return ModelSettings(**{name: getattr(settings, name) for name in names})
