"""The settings of the gate: what makes a scenario fail."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from .field_types import Count, Limit, Number
from .model_settings import Section

PolicyName = Literal["auto", "paired", "confirm", "each"]
Alpha = Annotated[Number, Field(gt=0, lt=1)]


class GateSettings(Section):
    """When a scenario fails, and how many conversations that may take."""

    shown_fields = frozenset(("policy",))

    policy: PolicyName = Field(
        "auto",
        description="`paired`: a scenario fails if it fails more often than before; `confirm`: if two of at "
        "most three conversations fail; `each`: every trial is an item of its own. `auto`: `paired` with a "
        "baseline, `confirm` in live runs without one, `each` if only recordings answer or trials are asked "
        "for.",
    )
    alpha: Alpha = Field(0.05, description="`paired`: the share of runs that may fail on an unchanged agent.")
    first: Count = Field(
        1, description="`paired`: conversations of each scenario before anything is decided. Nightly: 3."
    )
    most: Count = Field(20, description="`paired`: maximum number of conversations of a scenario.")
    per_scenario: Annotated[Number, Field(ge=1)] = Field(
        1.7,
        description="`paired`, with 1 first: conversations a scenario that an unchanged agent may need on "
        "average. What is left of them is spent on second looks: a further first conversation of some "
        "scenarios, of others with each commit. 1: none. With `max_talks` there are none.",
    )
    max_talks: Limit | None = Field(
        None,
        description="Maximum number of conversations of the run beyond the first ones. Scenarios that would "
        "need more are undecided.",
    )
