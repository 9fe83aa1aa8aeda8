"""Calls in the format of the chat-completions protocol, which every adapter understands."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from ..settings.model_settings import ModelSettings
from .port import LLMRequest, Message, Price, ToolRequest, ToolSpec

# Ollama has a small default context and silently cuts what exceeds it; other providers use the model's own.
_OLLAMA = ("ollama/", "ollama_chat/")

# Optional parameters, and the words that identify them in a refusal.
_WORDS = {
    "temperature": ("temperature",),
    # Servers that enforce a schema by a grammar speak of that.
    "response_format": (
        "response_format",
        "response format",
        "json_schema",
        "json schema",
        "structured output",
        "grammar",
        "guided_json",
        "guided decoding",
    ),
    "max_tokens": ("max_completion_tokens",),
}


def call_parameters(
    request: LLMRequest, *, schema: bool, refused: Collection[str] = (), most_top_tokens: int | None = None
) -> dict[str, Any]:
    """The call as keywords: what the settings set, then `extra_params`, which take precedence.

    `schema` says whether to send `request.schema`. `refused` names the parameters that this model is known to
    refuse. They are left out, but `max_tokens` is sent under its newer name, `max_completion_tokens`.
    `most_top_tokens` is the most that it gives the chances of, if it has refused more. The schemas are those
    of the request: do not modify them.
    """
    settings = request.model
    wanted = {
        "temperature": settings.temperature,
        "max_tokens": request.max_tokens or settings.max_tokens,
        "reasoning_effort": settings.reasoning,
        "num_ctx": settings.context_size if (settings.model or "").startswith(_OLLAMA) else None,
        "tools": [_tool(spec) for spec in request.tools] or None,
        "response_format": _response_format(request) if schema else None,
        "logprobs": True if request.top_tokens else None,
        "top_logprobs": min(request.top_tokens, most_top_tokens or request.top_tokens) or None,
        **settings.extra_params,
    }
    if "max_tokens" in refused:
        wanted["max_completion_tokens"] = wanted["max_tokens"]
    return {name: value for name, value in wanted.items() if value is not None and name not in refused}


def refused_parameter(sent: Collection[str], message: str) -> str | None:
    """The optional parameter, among those sent, that a provider's refusal names; None if it names none."""
    lowered = message.lower()
    for parameter, words in _WORDS.items():
        if parameter in sent and any(word in lowered for word in words):
            return parameter
    return None


# "must be less than or equal to 5", "greater than max allowed: 5", "between 0 and 5", "in the range [0, 5]"
_AT_MOST = re.compile(
    r"(?:at most|equal to|no more than|up to|max\w*(?: \w+){0,2}:?|<=?|≤|between \d+ and|\[\d+,)\s*(\d+)\b",
    re.IGNORECASE,
)


def fewer_top_tokens(sent: object, message: str) -> int | None:
    """How many tokens' chances a provider gives that refuses to give those of `sent`, by its own words.

    None where its refusal is about something else, or names no smaller number.
    """
    if not isinstance(sent, int) or "logprobs" not in message:
        return None
    named = [int(number) for number in _AT_MOST.findall(message)]
    return max((number for number in named if 0 < number < sent), default=None)


def chat_messages(messages: tuple[Message, ...]) -> list[dict[str, Any]]:
    """The messages in the format of the protocol."""
    return [_message(message) for message in messages]


def _message(message: Message) -> dict[str, Any]:
    sent: dict[str, Any] = {"role": message.role, "content": _whole(message.content)}
    if message.tool_call_id is not None:
        sent["tool_call_id"] = message.tool_call_id
    if message.tool_requests:
        # Some providers refuse an empty text beside tool calls.
        sent["content"] = sent["content"] or None
        sent["tool_calls"] = [_tool_call(asked) for asked in message.tool_requests]
    return sent


def _tool_call(asked: ToolRequest) -> dict[str, Any]:
    return {
        "id": asked.id,
        "type": "function",
        "function": {"name": asked.name, "arguments": _whole(asked.arguments)},
    }


def _whole(text: str) -> str:
    """The text without lone surrogates: cut replies and files contain them, and UTF-8 cannot encode them."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _tool(spec: ToolSpec) -> dict[str, Any]:
    function = {"name": spec.name, "description": spec.description, "parameters": spec.parameters}
    return {"type": "function", "function": function}


def _response_format(request: LLMRequest) -> dict[str, Any] | None:
    if request.schema is None:
        return None
    schema = {"name": request.schema_name, "strict": True, "schema": request.schema}
    return {"type": "json_schema", "json_schema": schema}


def own_prices(settings: ModelSettings) -> Price | None:
    """The prices of a prompt token and a completion token, if the settings contain both."""
    prices = settings.input_cost_per_token, settings.output_cost_per_token
    return None if prices[0] is None or prices[1] is None else (prices[0], prices[1])


def secrets_of(settings: ModelSettings) -> tuple[str, ...]:
    """The secrets that a call with these settings carries."""
    key = settings.api_key.get_secret_value() if settings.api_key else ""
    return tuple(secret for secret in (key, *plain_headers(settings).values()) if secret)


def plain_headers(settings: ModelSettings) -> Mapping[str, str]:
    """The extra headers with their values in plain text."""
    return {name: value.get_secret_value() for name, value in settings.extra_headers.items()}
