"""The parts of an answer in the shapes that agents give them in: texts, tool calls, tokens, as plain data.

`reply_forms` reads whole answers. To read them runs code of the project (properties, `__str__`, `__iter__`),
so it happens where the agent's code runs. What comes out has exactly the types of JSON and of `Reply`: to use
it runs no such code.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar
from uuid import UUID

from ..cutting import not_too_many, noticed
from ..errors import TargetCrashed, TargetError
from ..outside_json import read_json
from ..text import shorten
from ..transcript import MOST_TOKENS, CallKind, ToolCall, Usage, token_count
from .availability import alone
from .plain_values import clean_text, described, plain, short_text, text_of
from .port import KeepsCalls, KeepsUsage, SoFar

T = TypeVar("T")

RAW_ARGUMENTS = "_raw"
"""The key under which arguments are kept that are not a JSON object."""

_ARGUMENT_KEYS = ("arguments", "args", "input", "parameters")
_RESULT_KEYS = ("result", "output", "response")
_FAILED = ("error", "failed")
_THOUGHT_KEYS = ("thoughts", "reasoning_content")
_THOUGHT_BLOCKS = ("thinking", "redacted_thinking", "reasoning", "reasoning_text", "thought")


def joined_text(value: object) -> str | None:
    """A text, or the texts of a list of texts and content blocks together; None for all else."""
    if isinstance(value, str):
        return value
    if not isinstance(value, (list, tuple)):
        return None
    said = [part for part in value if isinstance(part, str) or field_of(part, "type") not in _THOUGHT_BLOCKS]
    # OpenAI's models refuse in blocks of their own kind: these are words, and no silence.
    parts = [part if isinstance(part, str) else first_field(part, "text", "refusal") for part in said]
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
            latency=as_seconds(field_of(value, "latency")),
            unreported=_unreported(value, inner),
        )
    earlier = value.cut if isinstance(value, ToolCall) else ()
    return replace(call, executed=_was_executed(value, call), cut=cuts.found(earlier), **_relations(value))


_RELATIONS = ("id", "parent", "agent", "group", "fault")


def _relations(value: object) -> dict[str, Any]:
    """What a call says of itself among others: its id, its parent, its agent, its group and its kind."""
    named = {key: field_of(value, key) for key in _RELATIONS}
    found: dict[str, Any] = {key: clean_text(str(said)) for key, said in named.items() if _is_name(said)}
    # Many libraries give a call a `kind` or `type` of their own, such as "function": these are tools.
    kind = field_of(value, "kind")
    known = isinstance(kind, str) and kind in {one.value for one in CallKind}
    return {**found, "kind": CallKind(kind)} if known else found


def _is_name(value: object) -> bool:
    # Ids are often numbers, and nesting would be lost with them.
    return isinstance(value, (str, int, UUID)) and not isinstance(value, bool)


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
        short = short_text(clean_text(tool))
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


def done_so_far(error: BaseException, agent: object) -> SoFar:
    """What was done for a message that failed: as the error says, or else the object of the project's.

    To be called where the project's code runs. The error has it as plain data afterwards.
    """
    error = alone(error)
    said = _said_by(error) if isinstance(error, TargetError) else SoFar()
    found = SoFar(said.calls or _calls_of(agent), said.usage or _usage_of(agent))
    if isinstance(error, TargetError):
        error.tool_calls, error.usage = found.calls, found.usage
    return found


def _said_by(error: TargetError) -> SoFar:
    calls = _or_none(lambda: as_tool_calls(error.tool_calls)) or ()
    return SoFar(calls, _or_none(lambda: as_usage(error.usage)))


def _calls_of(agent: object) -> tuple[ToolCall, ...]:
    return (
        _or_none(lambda: as_tool_calls(agent.calls_so_far()) if isinstance(agent, KeepsCalls) else ()) or ()
    )


def _usage_of(agent: object) -> Usage | None:
    return _or_none(lambda: as_usage(agent.usage_so_far() if isinstance(agent, KeepsUsage) else None))


def _or_none(read: Callable[[], T]) -> T | None:
    try:
        return read()
    except Exception:  # noqa: BLE001 - the conversation has failed already, and that error is the one to show
        return None


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
        return clean_text(error if isinstance(error, str) else text_of(error))
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


def as_seconds(value: object) -> float | None:
    """A number of seconds; None for what isn't a number."""
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
