"""Answers in the format of the chat-completions protocol: plain JSON, or objects that LiteLLM makes of it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from ..errors import LLMUnavailable
from ..settings.model_settings import ModelSettings
from ..transcript import Usage, token_count
from .chat_format import own_prices
from .port import LLMReply, ToolRequest
from .provider_errors import unreadable

# A larger cost of a single call is a mistake, in an answer or in a list of prices.
_MOST_DOLLARS = 10_000.0

# Servers have words of their own for the protocol's, and write these in capitals too.
_FINISHES = {
    **{word: word for word in ("stop", "length", "content_filter", "tool_calls", "function_call")},
    **dict.fromkeys(("complete", "end_turn", "eos", "eos_token", "stop_sequence"), "stop"),
    **dict.fromkeys(("max_tokens", "model_context_window_exceeded"), "length"),
    "content_filtered": "content_filter",
    "tool_use": "tool_calls",
}
# The server failed in the middle of its reply: what is there is no reply of the model.
_GIVEN_UP = frozenset(("error", "abort", "insufficient_system_resource"))
# Where nothing else parts a model's thoughts from its reply.
_THOUGHT = re.compile(
    r"<(?:think|thinking|budget:thinking)>(.*?)</(?:think|thinking|budget:thinking)>(.*)", re.DOTALL
)


def read_reply(response: Any, settings: ModelSettings, listed_cost: object) -> LLMReply:
    """The reply in a response; `listed_cost` is what it costs by the adapter's price list.

    A model's reasoning (`reasoning_content`) is not part of the reply's text. Raises `LLMUnavailable` if the
    response contains no reply, or isn't in the form of the protocol.
    """
    choices = _part(response, "choices")
    if not choices:
        raise _no_choices(settings)
    try:
        reply = _reply(response, _items(choices)[0], settings, listed_cost)
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError):
        pass
    else:
        if reply.finish_reason in _GIVEN_UP:
            raise _given_up(reply, settings)
        return reply
    # Raised outside of the handler, so that it has no other exception as its context.
    raise unreadable(settings)


def _no_choices(settings: ModelSettings) -> LLMUnavailable:
    message = f"{settings.model} sent a response without a reply in it (no choices)"
    failure = LLMUnavailable(message, model=settings.model or "")
    failure.answered = True
    return failure


def _given_up(reply: LLMReply, settings: ModelSettings) -> LLMUnavailable:
    message = f"{settings.model} gave up in the middle of its reply (finish_reason: {reply.finish_reason})"
    failure = LLMUnavailable(message, model=settings.model or "")
    failure.answered = True
    return failure


def _reply(response: Any, choice: Any, settings: ModelSettings, listed_cost: object) -> LLMReply:
    message = _object(_part(_object(choice), "message"))
    calls = tuple(map(_tool_request, _items(_part(message, "tool_calls"))))
    usage = _usage(_part(response, "usage"))
    text, thoughts = _parted(_text(_part(message, "content")), message)
    return LLMReply(
        text=text,
        tool_requests=calls,
        usage=usage,
        cost=_cost(settings, usage, listed_cost),
        finish_reason=_finish(_part(choice, "finish_reason"), calls),
        top_tokens=_top_tokens(_part(choice, "logprobs")),
        thoughts=thoughts,
    )


def _part(thing: Any, name: str) -> Any:
    """A field of an object of JSON, or an attribute; None if there is none, or no object."""
    return thing.get(name) if isinstance(thing, dict) else getattr(thing, name, None)


def _object(value: Any) -> Any:
    if value is None or isinstance(value, (str, int, float, list)):
        raise TypeError("no object")
    return value


def _items(value: Any) -> Sequence[Any]:
    if isinstance(value, (str, int, float, dict)):
        raise TypeError("no list")
    return value or ()


def _text(content: Any) -> str:
    """The content, which some servers send in parts."""
    if content is None or isinstance(content, str):
        return content or ""
    texts = [_part(part, "text") for part in _items(content)]
    return "".join(text for text in texts if isinstance(text, str))


def _parted(text: str, message: Any) -> tuple[str, str]:
    """What is said, and the reasoning beside it, under any of the names that servers have for it."""
    fields = (_part(message, name) for name in ("reasoning_content", "reasoning"))
    beside = next((field for field in fields if isinstance(field, str) and field), "")
    begins = None if beside else _THOUGHT.match(text)
    return (text, beside) if begins is None else (begins[2], begins[1])


def _finish(reason: Any, calls: tuple[ToolRequest, ...]) -> str:
    word = reason if isinstance(reason, str) and reason else "stop"
    known = _FINISHES.get(word.lower(), word)
    return "tool_calls" if calls and known == "stop" else known


def _tool_request(call: Any) -> ToolRequest:
    function = _object(_part(_object(call), "function"))
    name, arguments = _part(function, "name"), _part(function, "arguments")
    if not isinstance(name, (str, type(None))):
        raise TypeError("no name")
    # Some servers send the arguments as the data that they are.
    written = arguments if isinstance(arguments, (str, type(None))) else json.dumps(arguments)
    # The result of the call is sent back under this id, so there has to be one.
    return ToolRequest(str(_part(call, "id") or uuid4()), name or "", written or "{}")


def _top_tokens(logprobs: Any) -> dict[str, float]:
    """Probabilities of the first token. Of two tokens with the same text, the more likely one counts."""
    # Providers without log-probabilities leave the field out, or send null.
    tokens = _items(_part(logprobs, "content"))
    top = _items(_part(tokens[0], "top_logprobs")) if tokens else ()
    likely = [(float(_part(token, "logprob")), str(_part(token, "token"))) for token in top]
    # Sorted upwards, so that the more likely of two equal texts replaces the other.
    return {token: chance for chance, token in sorted(likely, key=lambda pair: pair[0])}


def _usage(usage: Any) -> Usage:
    """The counts of tokens; none at all if one of them is impossible: then nobody knows what was used."""
    # Some servers report no usage, or leave one number out.
    given = [_part(usage, name) for name in ("prompt_tokens", "completion_tokens")]
    counts = [token_count(0 if count is None else whole_number(count)) for count in given]
    return Usage() if None in counts else Usage(counts[0] or 0, counts[1] or 0)


def whole_number(value: object) -> object:
    """The number that a value stands for, `"3"` or `3.0`, if it is a whole one; another value as it is."""
    if isinstance(value, (bool, float)) and value == value // 1:
        return int(value)
    return int(value) if isinstance(value, str) and value.isdecimal() and len(value) < 20 else value


def _cost(settings: ModelSettings, usage: Usage, listed_cost: object) -> float | None:
    """What a reply cost; None where the price or the usage is unknown."""
    prices = own_prices(settings)
    if prices is None:
        return _money(listed_cost) if usage.total else None
    # What is free is free, whatever was used.
    if not usage.total and any(prices):
        return None
    return usage.prompt_tokens * prices[0] + usage.completion_tokens * prices[1]


def _money(value: object) -> float | None:
    """The value, if it can be what one call costs in US dollars."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    # Also false for NaN.
    return float(value) if 0 <= value <= _MOST_DOLLARS else None
