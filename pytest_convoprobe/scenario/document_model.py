"""A scenario as it is written: with the keys that are used up before there is a scenario."""

from __future__ import annotations

from pydantic import Field, JsonValue

from .fields import Text
from .models import Scenario


class ScenarioDocument(Scenario):
    """One YAML document. Nothing is validated against it: it names what a document may have besides."""

    extends: Text | tuple[Text, ...] | None = Field(
        None,
        description="The file whose values this scenario has where it says nothing else, or a list of "
        "such files, of which a later one comes first.",
        examples=["_base.yaml", ["_base.yaml", "_strict.yaml#for_refunds"]],
    )
    parameters: tuple[dict[str, JsonValue], ...] | dict[str, tuple[JsonValue, ...]] | None = Field(
        None,
        description="Values for `${name}` in the texts of this scenario. It runs once for each entry of a "
        "list, or for each combination of the values in a mapping of lists.",
        examples=[[{"order_id": "A-1001", "tier": "gold"}], {"order_id": ["A-1001", "A-1002"]}],
    )
