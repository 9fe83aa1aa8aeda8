"""`target.models`: the providers whose models the agent calls itself, by way of the gateway."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, model_validator

from .field_types import Money, WebAddress
from .model_settings import Section


def _bare(value: str) -> str:
    try:
        parts = urlsplit(value)
        host, extra = parts.hostname, parts.username or parts.password or parts.query or parts.fragment
        _ = parts.port  # raises `ValueError` for what isn't a port
    except ValueError:
        raise ValueError("can't be read as an address") from None
    if not host or extra:
        raise ValueError(
            "must be an address with a host, and without user, password, query and fragment: the agent's own "
            "key goes through with its requests"
        )
    return value.rstrip("/")


_Upstream = Annotated[WebAddress, AfterValidator(_bare)]


class TokenPrices(Section):
    """What a model of the agent's costs: US dollars for a token."""

    input_cost_per_token: Money = Field(description="US dollars for a token of the prompt.")
    output_cost_per_token: Money = Field(description="US dollars for a token of the answer.")


class ModelUpstreams(Section):
    """The addresses of the providers that the agent calls, by the protocol that they speak."""

    shown_fields = frozenset({"openai", "anthropic", "prices"})

    openai: _Upstream | None = Field(
        None,
        description="Where chat completions, Responses, embeddings and all other requests go: "
        "`https://api.openai.com/v1`, or any server that speaks this protocol.",
    )
    anthropic: _Upstream | None = Field(
        None, description="Where Messages go: `https://api.anthropic.com`, or a server that speaks them."
    )
    prices: dict[str, TokenPrices] = Field(
        default_factory=dict,
        description="Prices of models, by name or pattern: of those that LiteLLM's list doesn't have, or "
        "that cost something else. The first that matches counts.",
    )

    @model_validator(mode="after")
    def _not_empty(self) -> ModelUpstreams:
        if not self.addresses:
            raise ValueError("names no provider: give it `openai`, `anthropic` or both")
        return self

    @property
    def addresses(self) -> dict[str, str]:
        """Those that are set, by the name of their protocol."""
        known = {"openai": self.openai, "anthropic": self.anthropic}
        return {name: address for name, address in known.items() if address is not None}

    @property
    def token_prices(self) -> dict[str, tuple[float, float]]:
        """US dollars for a prompt token and for one of the answer, by the name or pattern of the model."""
        return {
            name: (one.input_cost_per_token, one.output_cost_per_token) for name, one in self.prices.items()
        }
