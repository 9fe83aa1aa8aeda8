"""The parts of an answer in the shapes that agents give them in: texts, tool calls, tokens, as plain data.

`reply_forms` reads whole answers. To read them runs code of the project (properties, `__str__`, `__iter__`),
so it happens where the agent's code runs. What comes out has exactly the types of JSON and of `Reply`: to use
it runs no such code.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, TypeVar

from pydantic_core import to_jsonable_python

from ..cutting import (
    TOO_DEEP,
    cut_data,
    cut_text,
    most_text,
    not_too_many,
    note_cut,
    noticed,
    without_addresses,
)
from ..errors import TargetCrashed
from ..excerpts import cut_middle, left_out_mark
from ..outside_json import digits_of, is_too_long, read_json
from ..project_code.tracebacks import describe, short_trace
from ..text import shorten
from ..transcript import MOST_TOKENS, ToolCall, Usage, token_count
from .port import KeepsCalls

T = TypeVar("T")

RAW_ARGUMENTS = "_raw"
"""The key under which arguments are kept that are not a JSON object."""

_DEEPEST = 200
_SHORT = 100
_ARGUMENT_KEYS = ("arguments", "args", "input", "parameters")
_RESULT_KEYS = ("result", "output", "response")
_FAILED = ("error", "failed")
_THOUGHT_KEYS = ("thoughts", "reasoning_content")
_THOUGHT_BLOCKS = ("thinking", "redacted_thinking", "reasoning", "reasoning_text", "thought")


def clean_text(text: str) -> str:
    """The text without lone surrogates, which can be written to no file, and cut if it is too long.

    A plain `str` in any case.
    """
    return cut_text(str.encode(text, "utf-8", "replace").decode("utf-8"))


def joined_text(value: object) -> str | None:
    """A text, or the texts of a list of texts and content blocks together; None for all else."""
    if isinstance(value, str):
        return value
    if not isinstance(value, (list, tuple)):
        return None
    said = [part for part in value if isinstance(part, str) or field_of(part, "type") not in _THOUGHT_BLOCKS]
    parts = [part if isinstance(part, str) else field_of(part, "text") for part in said]
    texts = [part for part in parts if isinstance(part, str)]
    return "".join(texts) if texts or not said else None


def as_tool_call(value: object) -> ToolCall:
    """From a `ToolCall`, a mapping or object (OpenAI's shape too), `(name, arguments, result)` or a name."""
    if isinstance(value, str):
        return ToolCall(clean_text(value), unreported=("arguments", "result"))
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return _from_tuple(value)
    inner = field_of(value, "function") or value
    name = first_field(inner, "name", "tool", "tool_name", "function_name")
    if not isinstance(name, str) or not name:
        raise ValueError(f"a tool call has no name: {described(value)}")
    cuts = Cuts()
    with _naming(name):
        call = ToolCall(
            name=clean_text(name),
            arguments=cuts.of("arguments", lambda: as_arguments(first_field(inner, *_ARGUMENT_KEYS))),
            result=cuts.of("result", lambda: plain(first_field(value, *_RESULT_KEYS))),
            error=cuts.of("error", lambda: _as_error(field_of(value, "error"), value)),
            latency=_as_seconds(field_of(value, "latency")),
            unreported=_unreported(value, inner),
        )
    earlier = value.cut if isinstance(value, ToolCall) else ()
    return replace(call, executed=_was_executed(value, call), cut=cuts.found(earlier))


class Cuts:
    """Which parts of a reply or a call were cut as they were read, as in `ToolCall.cut`."""

    def __init__(self) -> None:
        self._parts: list[str] = []

    def of(self, part: str, make: Callable[[], T]) -> T:
        """The part that `make` reads, noted if something of it was left out."""
        value, was_cut = noticed(make)
        if was_cut:
            self._parts.append(part)
        return value

    def found(self, earlier: Iterable[str] = ()) -> tuple[str, ...]:
        """The parts that were cut, with those that had been cut before."""
        return tuple(dict.fromkeys((*earlier, *self._parts)))


@contextlib.contextmanager
def _naming(tool: str) -> Iterator[None]:
    """Say of which tool's call a value is that can't be shown."""
    try:
        yield
    except TargetCrashed as error:
        short = cut_middle(clean_text(tool), _SHORT)
        raise TargetCrashed(f"in its call of `{short}`, {error}", trace=error.trace) from None


def _unreported(value: object, inner: object) -> tuple[str, ...]:
    """Which of its parts the call doesn't mention: they aren't empty, nobody knows them."""
    if isinstance(value, ToolCall):
        return value.unreported
    missing = []
    # A null is what a path of the settings gives for a misspelt key: it says nothing of the arguments.
    if first_field(inner, *_ARGUMENT_KEYS) is None:
        missing.append("arguments")
    # A tool may well give null.
    if not any(has_field(value, key) for key in (*_RESULT_KEYS, "error")):
        missing.append("result")
    return tuple(missing)


def _was_executed(value: object, call: ToolCall) -> bool:
    """Whether the call was carried out, as far as that is known."""
    if field_of(value, "executed") is False:
        return False
    raw = call.arguments.get(RAW_ARGUMENTS)
    # An object that breaks off. Other texts may be what a tool with one parameter takes.
    torn = isinstance(raw, str) and raw.lstrip().startswith("{")
    return not torn or call.result is not None


def as_arguments(value: object) -> dict[str, Any]:
    """Parsed arguments; what is not a JSON object is kept under the key `RAW_ARGUMENTS`."""
    if value is None or value == "":
        return {}
    parsed = value
    if isinstance(value, str):
        try:
            parsed = read_json(value)
        except ValueError:
            return {RAW_ARGUMENTS: clean_text(value)}
    parsed = plain(parsed)
    return parsed if isinstance(parsed, dict) else {RAW_ARGUMENTS: parsed}


def as_usage(value: object) -> Usage | None:
    """From a `Usage`, or what has `prompt_tokens`/`input_tokens` and `completion_tokens`/`output_tokens`."""
    if value is None:
        return None
    if isinstance(value, tuple) and len(value) == 2:
        counts: list[object] = list(value)
    else:
        prompt = first_field(value, "prompt_tokens", "input_tokens", "request_tokens")
        completion = first_field(value, "completion_tokens", "output_tokens", "response_tokens")
        counts = [prompt, completion]
        if prompt is None and completion is None:
            return None
    numbers = [token_count(0 if count is None else count) for count in counts]
    known = [number for number in numbers if number is not None]
    if len(known) != 2:
        shown = " and ".join(map(_shown_count, counts))
        raise ValueError(f"the usage has to be two counts of tokens (0 to {MOST_TOKENS:,}), not {shown}")
    usage = Usage(*known)
    return usage if None not in counts else _completed(usage, counts, field_of(value, "total_tokens"))


def _shown_count(value: object) -> str:
    """By its kind where its text may be long, or hold what differs from run to run."""
    short = isinstance(value, (bool, float, str)) or (isinstance(value, int) and abs(value) < 10**20)
    return shorten(repr(value), 40) if short or value is None else f"a {type(value).__name__}"


def _completed(half: Usage, counts: Sequence[object], total: object) -> Usage | None:
    """A half that isn't mentioned is the rest of the total. Without a total it isn't 0, but not known."""
    whole = token_count(total)
    if whole is None or whole < half.total:
        return None
    rest = whole - half.total
    return half + (Usage(rest, 0) if counts[0] is None else Usage(0, rest))


def plain(value: object) -> Any:
    """The value as JSON knows it; what JSON doesn't know becomes text, and what is too long is cut.

    Raises `TargetCrashed` for a value that can't be shown at all.
    """
    copying = _Copying()
    found = copying.copy(value, ())
    if copying.is_cyclic:
        found = _text_of(value)  # Python writes `[...]` where a list contains itself
    return cut_data(found)


class _Copying:
    """Makes lists and mappings plain, and all that is in them, down to a depth and up to a number."""

    def __init__(self) -> None:
        self.is_cyclic = False
        self._room = most_text()

    def copy(self, value: object, holders: tuple[int, ...]) -> Any:
        """`holders` are the ids of the lists and mappings that the value is in."""
        if value is None or type(value) in (bool, int, float, str):
            return _leaf(value)
        if type(value) not in (dict, list, tuple):
            return _plain_object(value)
        self.is_cyclic = self.is_cyclic or id(value) in holders
        if self.is_cyclic or len(holders) > _DEEPEST:
            note_cut()
            return TOO_DEEP
        return self._copy_parts(value, (*holders, id(value)))  # type: ignore[arg-type]

    def _copy_parts(self, value: dict[Any, Any] | list[Any], within: tuple[int, ...]) -> Any:
        # A list that has another one twice, which has another one twice, and so on, soon has billions.
        room, self._room = max(0, self._room), self._room - len(value)
        mark = left_out_mark(len(value) - room, "item") if len(value) > room else ""
        if mark:
            note_cut()
        if isinstance(value, dict):
            found = {_key(key): self.copy(item, within) for key, item in islice(value.items(), room)}
            return {**found, "…": mark} if mark else found
        items = [self.copy(item, within) for item in islice(value, room)]
        return [*items, mark] if mark else items


def _plain_object(value: object) -> Any:
    """What pydantic makes of it: dates, sets, dataclasses, models; all else is its text."""
    try:
        found = to_jsonable_python(value, fallback=_known_to_json, bytes_mode="base64")
    except Exception:  # noqa: BLE001 - objects of the user's: any of their methods may raise anything
        found = _text_of(value)
    return _clean(found)


def _known_to_json(value: object) -> object:
    """What an object that pydantic doesn't know is for JSON: `UserDict` and the like are mappings."""
    return dict(value) if isinstance(value, Mapping) else without_addresses(str(value))


def _text_of(value: object) -> str:
    try:
        # An address is another one in each run: two reports of the same conversation would differ.
        return without_addresses(str(value))
    except Exception as error:  # noqa: BLE001 - as above
        raise TargetCrashed(
            f"{described(value)} can't be shown: {describe(error)}", trace=short_trace(error)
        ) from None


def _key(key: object) -> str:
    if type(key) is str:
        return clean_text(key)
    found = _plain_object({key: None})
    return next(iter(found)) if isinstance(found, dict) else clean_text(_text_of(key))


def _clean(value: Any) -> Any:
    """The data that pydantic gave, of JSON's own types only."""
    if isinstance(value, dict):
        return {clean_text(str(key)): _clean(item) for key, item in value.items()}
    return [_clean(item) for item in value] if isinstance(value, list) else _leaf(value)


def _leaf(value: Any) -> Any:
    if isinstance(value, str):
        # As a whole it is cut where all of the value is known.
        return str.encode(value, "utf-8", "replace").decode("utf-8")
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(float(value))
    if isinstance(value, int) and not isinstance(value, bool):
        if is_too_long(value):
            raise TargetCrashed(f"a number of about {digits_of(value):,} digits can't be shown")
        return int(value)
    return value


def as_thoughts(value: object) -> str:
    """What it wrote for itself, where that has a field of its own."""
    found = first_field(value, *_THOUGHT_KEYS)
    return clean_text(found) if isinstance(found, str) else ""


def as_tool_calls(value: object) -> tuple[ToolCall, ...] | None:
    """A list of tool calls in any of their shapes. None says nothing about tools."""
    if value is None:
        return None
    if isinstance(value, (str, Mapping)) or not isinstance(value, Iterable):
        raise ValueError(f"`tool_calls` has to be a list, not {described(value)}")
    return tuple(map(as_tool_call, not_too_many(value)))


def calls_known_to(agent: object) -> tuple[ToolCall, ...]:
    """The calls that an object of the project's says it has made so far for the message; () if it doesn't.

    To be called where its code runs.
    """
    try:
        return as_tool_calls(agent.calls_so_far()) or () if isinstance(agent, KeepsCalls) else ()
    except Exception:  # noqa: BLE001 - the conversation has failed already, and that error is the one to show
        return ()


def _from_tuple(value: Sequence[object]) -> ToolCall:
    if not 1 <= len(value) <= 3 or not isinstance(value[0], str):
        raise ValueError(f"a tool call as a tuple is (name, arguments, result), not {described(value)}")
    _, arguments, result = (*value, None, None)[:3]
    unreported, cuts = ("arguments", "result")[len(value) - 1 :], Cuts()
    with _naming(value[0]):
        parsed = cuts.of("arguments", lambda: as_arguments(arguments))
        given = cuts.of("result", lambda: plain(result))
    return ToolCall(clean_text(value[0]), parsed, given, unreported=unreported, cut=cuts.found())


def _as_error(error: object, call: object) -> str | None:
    """The text of a call's error; what is only marked as failed has the text of its result."""
    # Services that always have the field leave it empty where nothing went wrong.
    if error or (isinstance(call, ToolCall) and error is not None):
        return clean_text(error if isinstance(error, str) else _text_of(error))
    if isinstance(call, ToolCall) or not is_marked_failed(call):
        return None
    result = plain(first_field(call, *_RESULT_KEYS))
    return "it failed" if result is None else clean_text(str(result))


def is_marked_failed(value: object) -> bool:
    """Whether a call or its result says by a field that it failed, as MCP, Anthropic and LangChain do."""
    marked = field_of(value, "is_error") is True or field_of(value, "isError") is True
    return marked or field_of(value, "status") in _FAILED


def as_ended(value: object) -> bool:
    """Whether the answer's field `ended` says that the agent has closed the conversation."""
    found = field_of(value, "ended")
    if found is not None and not isinstance(found, bool):
        # Taken for false, the closed agent would get another message, and be blamed for refusing it.
        raise ValueError(f"`ended` has to be true or false, not {described(found)}")
    return bool(found)


def _as_seconds(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def has_field(value: object, key: str) -> bool:
    """Whether it is a mapping with this key or an object with this attribute."""
    return key in value if isinstance(value, Mapping) else hasattr(value, key)


def field_of(value: object, key: str) -> Any:
    """An item of a mapping or an attribute that is data; None without it."""
    if isinstance(value, Mapping):
        return value.get(key)
    found = getattr(value, key, None)
    # `usage()` and `text()` are methods in some libraries: not data. LangChain has texts that can be called.
    return None if callable(found) and not isinstance(found, str) else found


def first_field(value: object, *keys: str) -> Any:
    """The first of these fields that is not None."""
    return next((found for key in keys if (found := field_of(value, key)) is not None), None)


def described(value: object) -> str:
    """What it is, for a message: `an int`, `a mapping with the keys 'answer'`."""
    if isinstance(value, Mapping):
        keys = ", ".join(map(shown, list(value)[:8]))
        return f"a mapping with the keys {keys or '(none)'}"
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        name = type(value).__name__
        return (
            f"a {name} whose first item is a {type(value[0]).__qualname__}" if value else f"an empty {name}"
        )
    kind = type(value)
    # A module of a file is imported under a name of ours, which says nothing to anybody.
    bare = kind.__module__ == "builtins" or kind.__module__.startswith("_convoprobe_")
    name = kind.__qualname__ if bare else f"{kind.__module__}.{kind.__qualname__}"
    return f"{'an' if name[0] in 'aeiouAEIO' else 'a'} {name}"


def shown(value: object) -> str:
    """A short repr."""
    try:
        return cut_middle(without_addresses(repr(value)), _SHORT)
    except Exception:  # noqa: BLE001 - the project's object, whose repr may raise anything
        return type(value).__qualname__
