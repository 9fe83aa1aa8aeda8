"""Replies of models are cut where they come in: a provider or a recording may give many megabytes."""

from __future__ import annotations

from dataclasses import replace

from ..cutting import at_most, cut_text, noticed
from .port import LLM, LLMReply, LLMRequest, ToolRequest


class Bounded:
    """Passes calls on, and keeps at most `most_text` characters of each text of a reply."""

    def __init__(self, inner: LLM, most_text: int) -> None:
        self._inner = inner
        self._most_text = most_text

    async def complete(self, request: LLMRequest) -> LLMReply:
        return bounded(await self._inner.complete(request), self._most_text)

    async def aclose(self) -> None:
        """Close the models."""
        await self._inner.aclose()


def bounded(reply: LLMReply, most_text: int) -> LLMReply:
    """The reply with at most `most_text` characters of each of its texts.

    Arguments of a tool call that are too long are no JSON any more: the call is refused, and not made.
    """
    whole = (reply.text, reply.thoughts, *(asked.arguments for asked in reply.tool_requests))
    if all(len(text) <= most_text for text in whole):
        return reply
    with at_most(most_text):
        text, text_cut = noticed(lambda: cut_text(reply.text))
        thoughts, thoughts_cut = noticed(lambda: cut_text(reply.thoughts))
        requests = tuple(map(_bounded_request, reply.tool_requests))
    new = [name for name, was_cut in (("text", text_cut), ("thoughts", thoughts_cut)) if was_cut]
    return replace(reply, text=text, thoughts=thoughts, tool_requests=requests, cut=(*reply.cut, *new))


def _bounded_request(asked: ToolRequest) -> ToolRequest:
    arguments, was_cut = noticed(lambda: cut_text(asked.arguments))
    return replace(asked, arguments=arguments, cut=True) if was_cut else asked
