"""Prices of models, by LiteLLM's list: a file of its package, read as data.

LiteLLM itself takes seconds to import. The list has thousands of models, so only the entries that somebody
asks for are read and kept.
"""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from ..transcript import Usage
from .port import Price

_FILE = "model_prices_and_context_window_backup.json"
_MOST_KEPT = 256
# A longer text can't be an entry: the longest one has about 4,000 characters.
_LONGEST_ENTRY = 20_000

# The providers behind whose prefix models of any provider are, by their own names.
_PASSED_ON = frozenset(("litellm_proxy",))
# Prices of a faster or cheaper service have names of their own.
_TIERS = {"flex": "_flex", "priority": "_priority", "fast": "_priority", "balanced": "_balanced"}
_THRESHOLD = re.compile(r"\Ainput_cost_per_token_above_(\d+)(k?)_tokens\Z")
_FINE_TUNED = re.compile(r"\A(ft:[^:]+):.*\Z", re.DOTALL)


@lru_cache(maxsize=_MOST_KEPT)
def listed(model: str) -> Mapping[str, Any]:
    """What the list says of a model, `openai/gpt-4o` or a bare `gpt-4o`; empty if it isn't there."""
    return next((entry for name in _names(model) if (entry := _entry(name))), {})


@lru_cache(maxsize=_MOST_KEPT)
def listed_price(model: str) -> Price | None:
    """US dollars for a prompt token and for a completion token, or None if the model isn't in the list."""
    entry = listed(model)
    prices = entry.get("input_cost_per_token"), entry.get("output_cost_per_token")
    return (float(prices[0] or 0), float(prices[1] or 0)) if any(map(_is_price, prices)) else None


def listed_cost(
    model: str, usage: Usage, *, cached: int = 0, cache_written: int = 0, tier: str | None = None
) -> float | None:
    """What a call costs in US dollars, or None if the model isn't in the list.

    `usage.prompt_tokens` include those that a cache gave (`cached`) and those that were written to it.
    `tier` is the class of service that the answer names, `flex` or `priority` for example.
    """
    entry = listed(model)
    if listed_price(model) is None:
        return None
    suffix = _TIERS.get(str(tier).lower(), "")
    above = _above(model, usage.prompt_tokens)
    fresh = _rate(entry, "input_cost_per_token", above, suffix) or 0.0
    read = _rate(entry, "cache_read_input_token_cost", above, suffix)
    written = _rate(entry, "cache_creation_input_token_cost", above, suffix)
    # What has no price of its own is an ordinary token of the prompt.
    return (
        max(0, usage.prompt_tokens - cached - cache_written) * fresh
        + cached * (fresh if read is None else read)
        + cache_written * (fresh if written is None else written)
        + usage.completion_tokens * (_rate(entry, "output_cost_per_token", above, suffix) or 0.0)
    )


def _rate(entry: Mapping[str, Any], name: str, above: str, suffix: str) -> float | None:
    """The price under the most special of the names that are there."""
    names = (f"{name}{above}{suffix}", f"{name}{above}", f"{name}{suffix}", name)
    found = next((entry[one] for one in names if _is_price(entry.get(one))), None)
    return None if found is None else float(found)


def _above(model: str, prompt_tokens: int) -> str:
    """The part of the prices' names for a prompt that is so long that each token costs more."""
    return max((limit for limit in _limits(model) if prompt_tokens > limit[0]), default=(0, ""))[1]


@lru_cache(maxsize=_MOST_KEPT)
def _limits(model: str) -> tuple[tuple[int, str], ...]:
    """Beyond how many tokens a prompt costs more, with the part of the prices' names."""
    return tuple(
        (int(match[1]) * (1000 if match[2] else 1), f"_above_{match[1]}{match[2]}_tokens")
        for match in map(_THRESHOLD.match, listed(model))
        if match
    )


def _is_price(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _names(model: str) -> Iterator[tuple[str, str | None]]:
    """Under which names a model may be listed, each with the provider that the entry has to have."""
    prefix, slash, rest = model.partition("/")
    bare = rest if slash else model
    provider = prefix if slash and prefix not in _PASSED_ON else None
    yield model, None
    yield from (
        (name, provider) for name in dict.fromkeys((bare, bare.lower(), _FINE_TUNED.sub(r"\1", bare)))
    )


@lru_cache(maxsize=_MOST_KEPT)
def _entry(name: tuple[str, str | None]) -> Mapping[str, Any]:
    model, provider = name
    entry = _read(model)
    return entry if provider is None or entry.get("litellm_provider") == provider else {}


def _read(model: str) -> Mapping[str, Any]:
    """The entry of exactly this name. Looked for in the text: all of it as data would take 20 MB."""
    text, name = _content(), json.dumps(model).encode()
    at = text.find(name)
    while at >= 0:
        after = text[at + len(name) : at + _LONGEST_ENTRY].lstrip()
        if after.startswith(b":") and (entry := _first_object(after[1:].lstrip())):
            return entry
        at = text.find(name, at + 1)
    return {}


def _first_object(text: bytes) -> dict[str, Any]:
    """The object that a text begins with; empty if it begins with something else."""
    try:
        found, _ = json.JSONDecoder().raw_decode(text.decode("utf-8", "replace"))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _content() -> bytes:
    """The file, or nothing if LiteLLM isn't installed as a package of files."""
    try:
        spec = importlib.util.find_spec("litellm")  # doesn't import it
        folders = list(spec.submodule_search_locations or ()) if spec else []
        return Path(folders[0], _FILE).read_bytes() if folders else b""
    except (ImportError, ValueError, OSError):
        return b""
