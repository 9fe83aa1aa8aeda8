"""What the agent's own calls of models cost: by the project's prices, else by LiteLLM's list."""

from __future__ import annotations

from collections.abc import Mapping

from ..llm.port import Price
from ..llm.price_list import listed_cost, listed_price
from ..llm.protocols import TokenCounts
from ..tool_patterns import matches

Prices = Mapping[str, Price]
"""Prices by the names or patterns of models; the first that matches counts."""


def price_of(model: str, prices: Prices) -> Price | None:
    """US dollars for a token of the prompt and for one of the answer; None if that is not known."""
    own = _own(model, prices)
    return listed_price(model) if own is None else own


def cost_of(model: str, counts: TokenCounts, prices: Prices) -> float | None:
    """US dollars for a call; None if the price of the model is not known."""
    own = _own(model, prices)
    if own is not None:
        return counts.prompt * own[0] + counts.completion * own[1]
    return listed_cost(model, counts.usage, cached=counts.cached, cache_written=counts.cache_written)


def _own(model: str, prices: Prices) -> Price | None:
    return next((price for name, price in prices.items() if matches(name, model)), None)
