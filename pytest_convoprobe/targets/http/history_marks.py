"""Whether an HTTP service gets what was said before a conversation. Nobody else would notice if not."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import replace

from ...project_code.tracebacks import describe
from ...transcript import SaidBefore, ToolCall
from ..earlier_messages import as_chat
from .recipe import TEMPLATE_ERRORS, Recipe

_REMEDY = (
    "use `{{ messages }}` or `{{ history }}` in `target.body`, or `{{ earlier }}`, which is the history in "
    "the first request alone"
)


def history_not_sent(recipes: Sequence[Recipe], history: Sequence[SaidBefore]) -> str:
    """What of the history is in no request before the first answer, and what to do; empty if nothing is.

    The requests are filled in with the history, whose texts and calls are marks of their own: so a template
    that takes only the last messages, or those of the user, is noticed as well.
    """
    marked = [_marked(said) for said in history]
    try:
        told = [recipe.told(as_chat(marked)) for recipe in recipes]
    except TEMPLATE_ERRORS as error:
        return f"a template of its requests can't take it ({describe(error)}). In the settings, {_REMEDY}"
    texts = [said.text for said in marked if said.text]
    missing = [number for number, said in enumerate(marked, 1) if not _is_in(said.text, told)]
    if len(missing) == len(texts) and texts:
        return f"its requests have no place for that. In the settings, {_REMEDY}"
    if missing:
        who = "the agent" if marked[missing[0] - 1].by_agent else "the user"
        what = f"message {missing[0]} of the history, which {who} wrote"
        return f"its requests leave out a part of that: {what}. In the settings, {_REMEDY}"
    if not all(_is_in(call.result, told) for said in marked for call in said.tool_calls):
        return "its requests have no place for the `tool_calls` in it: leave them out"
    return ""


def _marked(said: SaidBefore) -> SaidBefore:
    calls = tuple(map(_marked_call, said.tool_calls))
    return replace(said, text=uuid.uuid4().hex if said.text else "", tool_calls=calls)


def _marked_call(call: ToolCall) -> ToolCall:
    """A call with one mark, in its arguments and in its result: a service may get either."""
    mark = uuid.uuid4().hex
    return replace(call, arguments={"mark": mark}, result=mark, error=None)


def _is_in(mark: object, told: Sequence[str]) -> bool:
    return any(str(mark) in text for text in told)
