"""A section of the settings, and the settings of one language model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from ..redaction import MASK
from .field_types import Count, Effort, Money, Number, Parameters, Seconds, ServerAddress, Text
from .secret_places import PUBLIC_FIELDS


class Section(BaseModel):
    """Common to all sections: they are frozen, refuse unknown keys, and `repr` masks their texts."""

    # pydantic's own errors quote what was given, and that may be a secret.
    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=(), hide_input_in_errors=True)

    shown_fields: ClassVar[frozenset[str]] = PUBLIC_FIELDS
    """The fields whose text `repr` shows: pytest prints it under `--showlocals`."""

    def __repr_args__(self) -> Iterable[tuple[str | None, Any]]:
        # In any text may be a secret, which this object can't know: variables are filled in already.
        for name, value in super().__repr_args__():
            hidden = (
                value and isinstance(value, (str, Mapping, list, tuple)) and name not in self.shown_fields
            )
            yield name, MASK if hidden else value


class ModelSettings(Section):
    """One language model and how to call it.

    `timeout` limits one attempt, in seconds. Prices are US dollars per token and override LiteLLM's
    price list. `unresolved` isn't a setting: it maps a field to the variables that were missing when the
    settings were read for a replay. Only a live call needs them.
    """

    answer_fields: ClassVar[tuple[str, ...]] = (
        "model", "temperature", "max_tokens", "extra_params", "extra_instructions", "reasoning",
    )  # fmt: skip
    """The fields that answers depend on: with the others changed, a benchmark's row is still the same row."""

    model: Text | None = Field(
        None, description="A LiteLLM model string: `openai/gpt-4o-mini`, `anthropic/…`, `ollama/…`."
    )
    provider: Text | None = Field(
        None,
        description="The part of the model string before the slash, if `model` leaves it out. Also `source`.",
    )
    api_base: ServerAddress | None = Field(None, description="URL of the endpoint. Also `base_url`.")
    api_key: SecretStr | None = Field(
        None, description="API key. If unset, that of `OPENAI_API_KEY` or its like. Also `apikey`.",
    )  # fmt: skip
    temperature: Annotated[Number, Field(ge=0, le=2)] | None = Field(
        None, description="From 0 to 2. If unset, the provider's own default."
    )
    max_tokens: Count | None = Field(None, description="Maximum length of a reply, in tokens.")
    client: Literal["auto", "direct", "litellm"] = Field(
        "auto",
        description="How the model is called: directly, if its server speaks the protocol of chat "
        "completions, or through LiteLLM. `auto` decides by the model's name and address.",
    )
    timeout: Seconds = Field(60.0, description="Limit of one attempt, in seconds.")
    max_attempts: Count = Field(6, description="Number of attempts before a call is an error.")
    extra_headers: dict[str, SecretStr] = Field(
        default_factory=dict, description="HTTP headers of each call."
    )
    extra_params: Parameters = Field(
        default_factory=dict, description="Parameters that are sent unchanged: `seed`, `top_p`…"
    )
    extra_instructions: Text | None = Field(
        None, description="Text that is added to the system prompt. The texts of all levels are appended."
    )
    context_size: Count | None = Field(None, description="Size of the model's context, in tokens.")
    reasoning: Effort | None = Field(
        None,
        description="`reasoning_effort` of the protocol. `true` means `medium`, `false` means `none`.",
    )
    structured_output: Literal["auto", "schema", "text"] = Field(
        "auto",
        description="How JSON is requested: with a JSON schema, in the prompt only, or whichever works, as "
        "the first call with a schema shows.",
    )
    input_cost_per_token: Money | None = Field(
        None, description="US dollars per token; overrides LiteLLM's list."
    )
    output_cost_per_token: Money | None = Field(
        None, description="US dollars per token; overrides LiteLLM's list."
    )
    unresolved: Mapping[str, str] = Field(default_factory=dict, exclude=True, repr=False)

    @property
    def offers_tools(self) -> bool:
        """Whether its calls offer tools: only those of a target do."""
        return False
