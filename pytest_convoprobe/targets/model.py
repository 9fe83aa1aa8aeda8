"""A language model as the target: a system prompt, tools in Python, and the loop between the two."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import SettingsError, TargetCrashed, TargetStartError
from ..llm.port import CallContext, LLMReply, LLMRequest, Message, Role, ToolRequest
from ..settings.model_settings import ModelSettings
from ..settings.models import ModelTarget
from ..start_time import TEMPLATE_NAMES, template_values
from ..thoughts import without_thoughts
from ..transcript import Reply, ToolCall, Usage
from ..yaml_source.placeholders import complaint, fill
from .faulty_calls import with_faults
from .hosted import RunsElsewhere
from .loading import Once, Reference, load_object, parse_reference
from .port import ConversationContext, Description
from .reply_parts import as_arguments
from .tools import Toolbox


class ModelAgent(RunsElsewhere):
    """Talks with a model, through the `llm` of each conversation. Tools run where the context says.

    `tools` are functions beside those that the settings name by reference (relative files start from
    `rootdir`, by default the working directory). Raises `SettingsError` for a tool that is
    no reference; the tools are imported when the first conversation starts.
    """

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

    async def start(self, context: ConversationContext) -> _ModelConversation:
        return _ModelConversation(self._settings, await self._toolbox.get(), context)

    async def aclose(self) -> None:
        """Nothing is open: the `llm` belongs to whoever starts the conversations."""

    def describe(self) -> Description:
        """The system prompt, and the tools once they were imported."""
        toolbox = self._toolbox.value
        return Description(_system_prompt(self._settings), toolbox.specs if toolbox is not None else None)


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

    def __init__(self, settings: ModelTarget, toolbox: Toolbox, context: ConversationContext) -> None:
        self._model = _without_agent(settings)
        self._max_rounds = settings.max_tool_rounds
        self._toolbox = toolbox
        self._context = context
        # A conversation of an old recording doesn't know when it began; then the prompt was sent as it is.
        system = fill(_system_prompt(settings), template_values(context.now) if context.now else {})
        self._messages = [Message("system", system)] if system else []
        self._turn = 0
        self._calls: list[ToolCall] = []

    async def send(self, message: str) -> Reply:
        self._turn += 1
        self._calls = []
        self._messages.append(Message("user", message))
        texts: list[tuple[str, str]] = []
        cut: list[str] = []
        usage = Usage()
        for rounds_left in range(self._max_rounds, -1, -1):
            reply = await self._ask()
            usage += reply.usage
            texts += [without_thoughts(reply.text), ("", reply.thoughts)]
            cut += reply.cut
            self._messages.append(Message("assistant", reply.text, reply.tool_requests))
            if not reply.tool_requests:
                break
            if not rounds_left:
                # The agent's fault: a user of it would wait for ever, and pay for each round.
                raise TargetCrashed(self._endless(reply.tool_requests))
            await self._call_tools(reply.tool_requests)
        # What it said beside its tool calls was said to the user as well.
        said, thought = ("\n\n".join(filter(str.strip, parts)) for parts in zip(*texts, strict=True))
        kept = tuple(dict.fromkeys(cut))
        return Reply(said, tuple(self._calls), usage, thoughts=thought, cut=kept)

    def calls_so_far(self) -> tuple[ToolCall, ...]:
        """The calls of the message that is being answered, or was last."""
        return tuple(self._calls)

    async def aclose(self) -> None:
        """Nothing is open."""

    async def _ask(self) -> LLMReply:
        context = self._context
        call = CallContext(Role.TARGET, context.scenario, context.trial, self._turn)
        request = LLMRequest(self._model, tuple(self._messages), call, self._toolbox.specs)
        return await context.llm.complete(request)

    async def _call_tools(self, requests: tuple[ToolRequest, ...]) -> None:
        """All at once; results are handed back in the order in which they were asked for."""
        first = len(self._calls)
        # Each has its place before it begins: what is interrupted has been called all the same.
        self._calls += [
            ToolCall(request.name, as_arguments(request.arguments), error=_UNFINISHED) for request in requests
        ]
        await asyncio.gather(*(self._call(request, first + at) for at, request in enumerate(requests)))
        for request, call in zip(requests, self._calls[first:], strict=True):
            self._messages.append(Message("tool", _as_read(call), tool_call_id=request.id))

    async def _call(self, request: ToolRequest, place: int) -> None:
        context = self._context
        # A tool that doesn't exist has no faults: the model is to read that there is none.
        exists = any(spec.name == request.name for spec in self._toolbox.specs)
        call = await with_faults(
            context.faults if exists else None,
            request,
            lambda: self._toolbox.call(request, context.home, context.max_text),
        )
        asked = ("arguments",) if request.cut else ()
        self._calls[place] = replace(call, cut=(*asked, *call.cut))

    def _endless(self, wanted: tuple[ToolRequest, ...]) -> str:
        names = ", ".join(f"`{request.name}`" for request in wanted[:3])
        return (
            f"the model never answered: after {self._max_rounds} rounds of tool calls "
            f"(`target.max_tool_rounds`) it asked for {names} once more"
        )


def _system_prompt(settings: ModelTarget) -> str:
    return "\n\n".join(filter(None, (settings.system_prompt, settings.extra_instructions)))


def _without_agent(settings: ModelTarget) -> ModelSettings:
    """The settings of the model alone, what is unset left unset."""
    names = set(ModelSettings.model_fields) & settings.model_fields_set
    return ModelSettings(**{name: getattr(settings, name) for name in names})


def _as_read(call: ToolCall) -> str:
    """A tool's result or error as the model reads it."""
    if call.error is not None:
        return f"Error: {call.error}"
    return call.result if isinstance(call.result, str) else json.dumps(call.result, ensure_ascii=False)
