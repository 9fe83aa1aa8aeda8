"""Counts of tokens, as each protocol reports them."""

from __future__ import annotations

from typing import Any

from ...transcript import token_count
from .shapes import mapping
from .types import TokenCounts


def chat_counts(usage: Any) -> TokenCounts | None:
    """The counts of the chat-completions protocol, and of embeddings. None if there are none."""
    return _counts(
        usage, "prompt_tokens", "completion_tokens", "prompt_tokens_details", "completion_tokens_details"
    )


def responses_counts(usage: Any) -> TokenCounts | None:
    """The counts of the Responses protocol. None if there are none."""
    return _counts(usage, "input_tokens", "output_tokens", "input_tokens_details", "output_tokens_details")


def messages_counts(usage: Any) -> TokenCounts | None:
    """The counts of the Messages protocol, whose `input_tokens` are those that no cache had; or None."""
    data = mapping(usage)
    fresh, written = data.get("input_tokens"), data.get("output_tokens")
    if fresh is None and written is None:
        return None
    read = data.get("cache_read_input_tokens")
    kept = data.get("cache_creation_input_tokens")
    numbers = [token_count(0 if number is None else number) for number in (fresh, written, read, kept)]
    if None in numbers:
        return None
    prompt, completion, cached, cache_written = (number or 0 for number in numbers)
    thinking = mapping(data.get("output_tokens_details")).get("thinking_tokens")
    whole = prompt + cached + cache_written
    return TokenCounts(whole, completion, cached, cache_written, token_count(thinking) or 0)


def _counts(usage: Any, prompt: str, completion: str, details: str, of_answer: str) -> TokenCounts | None:
    data = mapping(usage)
    if data.get(prompt) is None and data.get(completion) is None:
        return None
    # A count that is impossible makes the others doubtful too: then nobody knows what was used.
    numbers = [token_count(0 if data.get(name) is None else data[name]) for name in (prompt, completion)]
    if None in numbers:
        return None
    cached = token_count(mapping(data.get(details)).get("cached_tokens")) or 0
    reasoning = token_count(mapping(data.get(of_answer)).get("reasoning_tokens")) or 0
    return TokenCounts(numbers[0] or 0, numbers[1] or 0, cached, 0, reasoning)
