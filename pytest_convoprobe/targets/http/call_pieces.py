"""Tool calls that come in pieces: first a name, then parts of the arguments, then a result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ...cutting import MOST_CALLS, cut_end
from ...transcript import ToolCall
from ..plain_values import described
from ..reply_parts import as_tool_call, first_field

_TEXT_KEYS = ("arguments", "args", "input", "parameters", "partial_json")
_OTHER_KEYS = (
    "result",
    "output",
    "response",
    "content",
    "error",
    "latency",
    "executed",
    "status",
    "is_error",
)


class BoundedText:
    """Pieces of a text, of which at most `most` characters are kept; the others are counted."""

    def __init__(self, most: int) -> None:
        self._room = most
        self._kept: list[str] = []
        self.unread = 0

    def add(self, piece: str) -> None:
        """Take the next piece."""
        kept = piece[: self._room]
        self._room -= len(kept)
        self.unread += len(piece) - len(kept)
        if kept:
            self._kept.append(kept)

    @property
    def text(self) -> str:
        """What was kept."""
        joined = "".join(self._kept)
        # JavaScript cuts texts within an emoji, into two halves that are no letters: here they are one again.
        return joined.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


class CallPieces:
    """Puts the pieces together, each call at the place of its first piece.

    Pieces of one call have the same `id`, or the same `index` (OpenAI's chat completions). One that has
    neither and no name belongs to the call before it.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._calls: list[_OneCall] = []
        self._by_id: dict[object, _OneCall] = {}
        self._by_index: dict[object, _OneCall] = {}

    def add(self, found: Any) -> None:
        """Take one piece or a list of them. Raises `ValueError` for what can't be one."""
        for piece in found if isinstance(found, list) else [found]:
            if not isinstance(piece, Mapping):
                raise ValueError(f"`tool_calls` finds {described(piece)} in an event, not a call")
            self._of(piece).add(piece)

    def calls(self, *, over: bool = False) -> tuple[ToolCall, ...]:
        """The calls until now. Those that no piece has named are left out.

        With `over`, the agent has said nothing after them: what OpenAI's form only asks for was not carried
        out then, since that would be for the client to do.
        """
        named = [call for call in self._calls if call.name]
        return tuple(
            replace(call.made(), executed=False) if over and call.is_only_asked_for else call.made()
            for call in named
        )

    def _of(self, piece: Mapping[str, Any]) -> _OneCall:
        identity = first_field(piece, "id", "call_id", "tool_call_id", "toolCallId")
        index, named = piece.get("index"), bool(_name_in(piece))
        found = self._by_id.get(identity) if identity else None
        if found is None and index is not None:
            found = self._by_index.get(index)
            # Some services number every call 0: a new id and a name begin another one.
            if found is not None and identity and found.id not in ("", identity) and named:
                found = None
        if found is None and not identity and index is None and not named and self._calls:
            found = self._calls[-1]
        found = found or self._begun()
        if identity:
            found.id = str(identity)
            self._by_id[identity] = found
        if index is not None:
            self._by_index[index] = found
        return found

    def _begun(self) -> _OneCall:
        if len(self._calls) >= MOST_CALLS:
            raise ValueError(f"the answer has more than the {MOST_CALLS:,} tool calls that are read")
        self._calls.append(_OneCall(self._most))
        return self._calls[-1]


class _OneCall:
    def __init__(self, most: int) -> None:
        self.id = ""
        self.name = ""
        self._text = BoundedText(most)
        self._arguments: Any = None
        self._has_arguments = False
        self._others: dict[str, Any] = {}
        self._is_openai = False

    def add(self, piece: Mapping[str, Any]) -> None:
        self._is_openai = self._is_openai or isinstance(piece.get("function"), Mapping)
        self.name = self.name or _name_in(piece)
        arguments = first_field(_inner(piece), *_TEXT_KEYS)
        if isinstance(arguments, str):
            self._text.add(arguments)
        elif arguments is not None:
            self._arguments = arguments
        # A text without a letter is known to be no arguments; without any piece nothing is known of them.
        self._has_arguments = self._has_arguments or arguments is not None
        self._others |= {key: piece[key] for key in _OTHER_KEYS if piece.get(key) is not None}

    def made(self) -> ToolCall:
        others = dict(self._others)
        if "content" in others:
            others.setdefault("result", others.pop("content"))
        arguments = self._arguments if self._arguments is not None else self._text.text
        known = {"arguments": arguments} if self._has_arguments else {}
        call = as_tool_call({"name": self.name, "id": self.id, **known, **others})
        if self._text.unread and self._arguments is None:
            cut_end("", self._text.unread)
            call = replace(call, cut=tuple(dict.fromkeys((*call.cut, "arguments"))))
        return call

    @property
    def is_only_asked_for(self) -> bool:
        """Whether it has OpenAI's form of a request to the client, and nothing more."""
        return self._is_openai and not self._others


def _inner(piece: Mapping[str, Any]) -> Mapping[str, Any]:
    inner = piece.get("function")
    return inner if isinstance(inner, Mapping) else piece


def _name_in(piece: Mapping[str, Any]) -> str:
    name = first_field(_inner(piece), "name", "tool", "tool_name", "function_name")
    return name if isinstance(name, str) else ""
