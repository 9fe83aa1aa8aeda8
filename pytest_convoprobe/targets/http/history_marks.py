"""Whether an HTTP service gets what was said before a conversation. Nobody else would notice if not."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from ...project_code.tracebacks import describe
from ...transcript import SaidBefore, ToolCall
from ..earlier_messages import as_chat
from .recipe import TEMPLATE_ERRORS, Recipe

_REMEDY = (
    "use `{{ messages }}` or `{{ history }}` in `target.body`, or `{{ earlier }}`, which is the history in "
    "the first request alone"
)


def untold(recipes: Sequence[Recipe], history: Sequence[SaidBefore]) -> str:
    """What of the history is in no request before the first answer, and what to do; empty if nothing is.

    The requests are filled in with a history that has marks in it.
    """
    text, call = uuid.uuid4().hex, uuid.uuid4().hex
    calls = (ToolCall("look_up", {"mark": call}, call, id="earlier_1"),)
    marked = as_chat((SaidBefore(text), SaidBefore(text, by_agent=True, tool_calls=calls)))
    try:
        if not any(recipe.tells(marked, text) for recipe in recipes):
            return f"its requests have no place for that. In the settings, {_REMEDY}"
        has_calls = any(said.tool_calls for said in history)
        if has_calls and not any(recipe.tells(marked, call) for recipe in recipes):
            return "its requests have no place for the `tool_calls` in it: leave them out"
    except TEMPLATE_ERRORS as error:
        return f"a template of its requests can't take it ({describe(error)}). In the settings, {_REMEDY}"
    return ""
