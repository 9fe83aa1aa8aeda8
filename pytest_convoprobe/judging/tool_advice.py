"""What a model suggests about the agent's tools: what it is shown of them, and what of its answer is kept.

Its words rest on texts that anybody may have written. So they never change a verdict, they are about tools
that the agent has, and what is kept of them is short, on one line, and visible.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from pydantic import BaseModel, field_validator

from .. import prompts
from ..errors import ConvoprobeError
from ..excerpts import as_json, cut_middle, fitting
from ..formatting import counted
from ..llm.masking import TextRedactor
from ..llm.port import LLM, CallContext, LLMRequest, Message, ToolSpec
from ..llm.structured import ask
from ..settings.model_settings import ModelSettings
from ..text import harmless, has_words, one_line, shorten, visible
from ..transcript import Transcript
from .review import Against
from .transcript_view import View, fenced, view_of
from .types import Severity, Suggestion, ToolSuggestions

MOST = 8
"""The most suggestions that are kept of one answer."""

_LONGEST = 300
_LONGEST_CATEGORY = 40
_MOST_OF_TOOL = 4_000
_MOST_OF_TOOLS = 60_000
"""Characters of the descriptions and schemas that one request shows; a conversation has its own limits."""
_ORDER = {severity: place for place, severity in enumerate(Severity)}


class _Said(BaseModel):
    tool: str
    issue: str
    suggestion: str
    category: str = "other"
    severity: Severity = Severity.MEDIUM

    @field_validator("severity", mode="before")
    @classmethod
    def _lower(cls, value: object) -> object:
        return value.strip().lower() if isinstance(value, str) else value


class SuggestionsReply(BaseModel):
    """The model's answer: an empty list if no tool needs a change."""

    suggestions: list[_Said]


@dataclass(frozen=True)
class FailedTalk:
    """A conversation that failed, what speaks against the agent, and the tools that it says it has."""

    transcript: Transcript
    findings: Sequence[Against]
    tools: Sequence[ToolSpec] | None


async def suggestions_for(
    llm: LLM, model: ModelSettings, talk: FailedTalk, context: CallContext, redactor: TextRedactor
) -> ToolSuggestions:
    """What would keep the failure from happening again, if the tools have a part in it. One call.

    A call that fails is a note: the verdict is there already, and rests on nothing of this.
    """
    tools = _known(talk)
    if not tools:
        return ToolSuggestions(note="no suggestions: the agent neither called nor described a tool")
    findings = [f"[{one.id}] {one_line(visible(one.text))}" for one in talk.findings]
    view = view_of(talk.transcript)
    text = prompts.render("tools/failed", view=view, tools=tools_view(tools), findings=findings)
    try:
        return await asked_about(llm, _request(model, text, context), tools, redactor)
    except ConvoprobeError as error:
        return ToolSuggestions(note=f"no suggestions: {one_line(str(error))}")


async def review_suggestions(
    llm: LLM, model: ModelSettings, tools: Sequence[ToolSpec], context: CallContext
) -> ToolSuggestions:
    """What a model says of tools that nobody has called yet. One call. Raises what `ask` raises."""
    request = _request(model, prompts.render("tools/review", tools=tools_view(tools)), context)
    return await asked_about(llm, request, tools)


async def asked_about(
    llm: LLM, request: LLMRequest, tools: Sequence[ToolSpec], redactor: TextRedactor | None = None
) -> ToolSuggestions:
    """What can be used of the answer to a request. Raises what `ask` raises."""
    reply = await ask(llm, request, SuggestionsReply, redactor=redactor)
    return usable(reply, [tool.name for tool in tools])


def usable(reply: SuggestionsReply, tools: Collection[str]) -> ToolSuggestions:
    """The suggestions about these tools, the most serious first, and a note on those about others."""
    about = [(_meant(one.tool, tools), one) for one in reply.suggestions if _says_something(one)]
    kept = by_severity(_cleaned(tool, one) for tool, one in about if tool is not None)
    others = sum(tool is None for tool, _ in about)
    note = f"left out: {counted(others, 'suggestion')} about tools that the agent doesn't have"
    return ToolSuggestions(tuple(kept[:MOST]), note if others else "")


def by_severity(found: Iterable[Suggestion]) -> list[Suggestion]:
    """Each once, the most serious first, otherwise by tool."""
    return sorted(dict.fromkeys(found), key=lambda one: (_ORDER[one.severity], one.tool, one.category))


def tools_view(tools: Sequence[ToolSpec]) -> View:
    """Names, descriptions and schemas between two fence lines, as long as there is room."""
    return fenced("\n".join(_shown(tools)), "tools")


def parts(tools: Sequence[ToolSpec]) -> Iterator[list[ToolSpec]]:
    """The tools in as many parts as are needed to show all of them."""
    part: list[ToolSpec] = []
    room = _MOST_OF_TOOLS
    for tool in tools:
        size = sum(map(len, _lines(tool)))
        if part and size > room:
            yield part
            part, room = [], _MOST_OF_TOOLS
        part.append(tool)
        room -= size
    if part:
        yield part


def _request(model: ModelSettings, text: str, context: CallContext) -> LLMRequest:
    return LLMRequest(model, (Message("user", text),), context, schema_name="tool_suggestions")


def _known(talk: FailedTalk) -> list[ToolSpec]:
    """The tools that were called, then the others that were described."""
    calls = (*(call for _, call in talk.transcript.tool_calls), *talk.transcript.pending_calls)
    described = {tool.name: tool for tool in talk.tools or ()}
    called = {call.name: described.get(call.name, ToolSpec(call.name, "", {})) for call in calls}
    return list({**called, **described}.values())


def _shown(tools: Sequence[ToolSpec]) -> Iterator[str]:
    room = _MOST_OF_TOOLS
    for place, tool in enumerate(tools):
        lines = _lines(tool)
        room -= sum(map(len, lines))
        if room < 0:
            yield f"({counted(len(tools) - place, 'more tool')} not shown.)"
            return
        yield from ("A tool:", *(f"| {line}" for line in lines))


def _lines(tool: ToolSpec) -> list[str]:
    # Made visible first: any other separator of lines would begin one without our mark.
    said = [
        shorten(one_line(visible(tool.name)), _LONGEST),
        *visible(fitting(tool.description, _MOST_OF_TOOL)).split("\n"),
    ]
    schema = visible(_schema(tool)) if tool.parameters else ""
    return [*said, *schema.split("\n")] if schema else said


def _schema(tool: ToolSpec) -> str:
    text = as_json(dict(tool.parameters))
    # To fit one in value by value shows all keys, but takes seconds where there are thousands of them.
    return cut_middle(text, _MOST_OF_TOOL) if len(text) > 20 * _MOST_OF_TOOL else fitting(text, _MOST_OF_TOOL)


def _meant(name: str, tools: Collection[str]) -> str | None:
    """The tool of this name; models write `search()` and put names into signs."""
    bare = re.sub(r"\(.*\)$", "", name.strip().strip("`'\""), flags=re.DOTALL)
    return next((one for one in (name, bare) if one in tools), None)


def _says_something(said: _Said) -> bool:
    return has_words(said.issue) and has_words(said.suggestion)


def _cleaned(tool: str, said: _Said) -> Suggestion:
    category = re.sub(r"[\W_]+", "-", said.category.lower()).strip("-")[:_LONGEST_CATEGORY]
    return Suggestion(category or "other", tool, _short(said.issue), _short(said.suggestion), said.severity)


def _short(text: str) -> str:
    return shorten(one_line(harmless(text)), _LONGEST)
