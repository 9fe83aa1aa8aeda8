"""Whether what passed the gateway in a turn shows every call of a tool that models asked the agent for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..llm.protocols import ModelProtocol
from ..text import one_line, shorten
from .call_reading import ReadCall

NO_CALL = "no call of a model came through it in this turn"
NO_TOOLS = (
    "no request of this conversation names a tool, so that the agent may have its model ask for tools in "
    "plain words"
)
_NAME = 60
# Anthropic's own tools that the agent carries out itself: the model asks for them as for any other.
_CLIENT_TOOLS = ("bash_", "computer_", "memory_", "text_editor_")
_PLAIN = {
    ModelProtocol.CHAT: frozenset({"function", "custom", ""}),
    ModelProtocol.RESPONSES: frozenset({"function", "custom"}),
    ModelProtocol.MESSAGES: frozenset({"custom", ""}),
}
_SERVER_SIDE = ("web_search_options", "mcp_servers", "prompt", "container")


def unclear(turn: Sequence[ReadCall], calls: Sequence[ReadCall], taken: frozenset[int]) -> str:
    """Why there may be calls of tools that can't be seen in the turn; empty if there are none.

    `calls` are those of the whole conversation, `turn` those that began in the turn. `taken` are the places
    of the answers that ask for tools and that the agent took up. A tool that the agent's code calls without
    being asked by a model is out of reach here: what is seen is what models ask for.
    """
    asking = [one for one in turn if one.request.protocol is not ModelProtocol.EMBEDDINGS]
    if not asking:
        return NO_CALL
    reasons = (reason for one in asking for reason in _reasons(one, calls, taken))
    found = next(reasons, "")
    if found or any(one.place in taken for one in turn):
        return found
    # Where tools are never named, models learn of them in other ways.
    return "" if any(one.request.tools for one in calls) else NO_TOOLS


def _reasons(call: ReadCall, calls: Sequence[ReadCall], taken: frozenset[int]) -> Iterator[str]:
    request, name = call.request, f"`{shorten(one_line(call.model or call.seen.asked.path), _NAME)}`"
    if request.protocol is ModelProtocol.UNKNOWN or request.unread:
        yield f"a request to {name} can't be read"
    elif hosted := _hosted(call):
        yield f"{name} may use tools that its provider carries out ({shorten(one_line(hosted), _NAME)})"
    elif request.parameters.get("n") not in (None, 1):
        yield f"{name} was asked for several answers at once, of which only the first one is read"
    if call.is_under_way:
        yield f"a call of {name} had not ended when the agent replied"
    elif _breaks_off(call, taken) and not _asked_again(call, calls):
        yield f"an answer of {name} broke off while it asked for a tool"
    elif _is_unreadable(call):
        yield f"an answer of {name} can't be read"


def _hosted(call: ReadCall) -> str:
    """What the request has that makes the provider call tools itself; empty if it has nothing of the kind."""
    request = call.request
    plain = _PLAIN.get(request.protocol, frozenset())
    kinds = (_kind(tool) for tool in request.tools)
    found = (kind for kind in kinds if kind not in plain and not _is_of_client(call, kind))
    return next(iter((*found, *(one for one in _SERVER_SIDE if request.parameters.get(one)))), "")


def _kind(tool: Any) -> str:
    kind = tool.get("type") if isinstance(tool, Mapping) else None
    return kind if isinstance(kind, str) else ""


def _is_of_client(call: ReadCall, kind: str) -> bool:
    return call.request.protocol is ModelProtocol.MESSAGES and kind.startswith(_CLIENT_TOOLS)


def _breaks_off(call: ReadCall, taken: frozenset[int]) -> bool:
    return bool(call.asked_tools) and not call.worked and call.place not in taken


def _asked_again(call: ReadCall, calls: Sequence[ReadCall]) -> bool:
    return any(one.place > call.place and one.key == call.key and one.worked for one in calls)


def _is_unreadable(call: ReadCall) -> bool:
    """Whether an answer came that the agent may have understood, and we don't."""
    answer = call.answer
    understood = answer is None or answer.complete or answer.error is not None or call.was_refused
    return not understood and not call.is_spoiled and not call.seen.broken_off
