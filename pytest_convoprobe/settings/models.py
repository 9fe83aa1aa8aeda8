"""The settings, after reading, merging and validation.

docs/reference/settings.md shows the descriptions of the fields.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr


def _no_bool(value: Any) -> Any:
    """A bare `yes` or `on` in YAML is a bool, and a bool passes for a number in Python."""
    if isinstance(value, bool):
        raise ValueError("must be a number")
    return value


def _web_address(value: Any) -> Any:
    if isinstance(value, str) and not value.startswith(("http://", "https://")):
        raise ValueError("must be an address that begins with http:// or https://")
    return value


_EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh")
_EFFORT_WORDS = {
    **dict.fromkeys(("false", "off", "no", "disable", "disabled"), "none"),
    **dict.fromkeys(("true", "on", "yes", "auto", "enable", "enabled", "default"), "medium"),
    **dict.fromkeys(("max", "maximum"), "xhigh"),
}


def _effort(value: Any) -> Any:
    """`true`, `off`, `High`… in LiteLLM's words for `reasoning_effort`."""
    if not isinstance(value, (bool, str)):
        return value
    word = str(value).strip().lower()
    return _EFFORT_WORDS.get(word, word)


Number = Annotated[float, BeforeValidator(_no_bool), Field(allow_inf_nan=False)]
Count = Annotated[int, BeforeValidator(_no_bool), Field(ge=1)]
Limit = Annotated[int, BeforeValidator(_no_bool), Field(ge=0)]
Seconds = Annotated[Number, Field(gt=0)]
Money = Annotated[Number, Field(ge=0)]
Text = Annotated[str, Field(min_length=1)]
WebAddress = Annotated[Text, BeforeValidator(_web_address)]
Effort = Annotated[Literal["none", "minimal", "low", "medium", "high", "xhigh"], BeforeValidator(_effort)]


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())


class ModelSettings(_Section):
    """One language model and how to call it.

    `timeout` limits one attempt, in seconds. Prices are US dollars per token and override LiteLLM's
    price list. `unresolved` isn't a setting: it maps a field to the variables that were missing when the
    settings were read for a replay. Only a live call needs them.
    """

    model: Text | None = Field(
        None, description="A LiteLLM model string: `openai/gpt-4o-mini`, `anthropic/…`, `ollama/…`."
    )
    provider: Text | None = Field(
        None,
        description="The part of the model string before the slash, if `model` leaves it out. Also `source`.",
    )
    api_base: WebAddress | None = Field(None, description="URL of the endpoint. Also `base_url`.")
    api_key: SecretStr | None = Field(
        None, description="API key. If unset, LiteLLM reads `OPENAI_API_KEY` or its like. Also `apikey`.",
    )  # fmt: skip
    temperature: Annotated[Number, Field(ge=0, le=2)] | None = Field(
        None, description="From 0 to 2. If unset, the provider's own default."
    )
    max_tokens: Count | None = Field(None, description="Maximum length of a reply, in tokens.")
    timeout: Seconds = Field(60.0, description="Limit of one attempt, in seconds.")
    max_attempts: Count = Field(6, description="Number of attempts before a call is an error.")
    extra_headers: dict[str, SecretStr] = Field(
        default_factory=dict, description="HTTP headers of each call."
    )
    extra_params: dict[str, Any] = Field(
        default_factory=dict, description="Parameters that are passed to LiteLLM unchanged: `seed`, `top_p`…"
    )
    extra_instructions: Text | None = Field(
        None, description="Text that is added to the system prompt. The texts of all levels are appended."
    )
    context_size: Count | None = Field(None, description="Size of the model's context, in tokens.")
    reasoning: Effort | None = Field(
        None,
        description="LiteLLM's `reasoning_effort`. `true` means `medium`, `false` means `none`.",
    )
    structured_output: Literal["auto", "schema", "text"] = Field(
        "auto",
        description="How JSON is requested: with a JSON schema, in the prompt only, or whichever works.",
    )
    input_cost_per_token: Money | None = Field(
        None, description="US dollars per token; overrides LiteLLM's list."
    )
    output_cost_per_token: Money | None = Field(
        None, description="US dollars per token; overrides LiteLLM's list."
    )
    unresolved: Mapping[str, str] = Field(default_factory=dict, exclude=True, repr=False)


class ModelTarget(ModelSettings):
    """A language model with a system prompt and Python functions as tools.

    Fields that it doesn't set come from `llm`. The exception is `extra_instructions`: these are for the
    judge and the synthetic user, and must not change the agent under test.
    """

    type: Literal["model"] = Field("model", description="`model`.")
    system_prompt: str | None = Field(None, description="The system prompt of the agent.")
    tools: tuple[Text, ...] = Field(
        (), description="Python functions: `package.module:function` or `path/file.py:function`."
    )
    max_tool_rounds: Count = Field(10, description="Maximum number of rounds of tool calls for one reply.")


class PythonTarget(_Section):
    """An object in Python: a function, an async function, a class, or a factory of one."""

    type: Literal["python"] = Field("python", description="`python`.")
    object: Text = Field(description="`package.module:object` or `path/file.py:object`.")


class HttpTarget(_Section):
    """An HTTP service. `url`, `headers` and `body` are templates; `text` and the like are JMESPath."""

    type: Literal["http"] = Field("http", description="`http`.")
    url: Text = Field(description="Address for each message; a template.")
    method: Text = Field("POST", description="HTTP method.")
    headers: dict[str, SecretStr] = Field(default_factory=dict, description="Headers; values are templates.")
    body: Any = Field(
        None,
        description="The request's body: a text, or data with texts. All texts are templates with `message`, "
        "`history`, `messages` and `conversation_id`.",
    )
    text: Text = Field("text", description="JMESPath of the reply's text.")
    tool_calls: Text | None = Field(None, description="JMESPath of the reply's tool calls.")
    usage: Text | None = Field(None, description="JMESPath of the token usage.")
    timeout: Seconds = Field(60.0, description="Limit of one request, in seconds.")


TargetSettings = Annotated[ModelTarget | PythonTarget | HttpTarget, Field(discriminator="type")]


class RunSettings(_Section):
    """How a run is carried out; times are in seconds, money in US dollars."""

    concurrency: Count = Field(16, description="Maximum number of concurrent conversations.")
    turn_timeout: Seconds = Field(120.0, description="Limit of each side in one turn, in seconds.")
    scenario_timeout: Seconds = Field(900.0, description="Limit of one scenario, in seconds.")
    max_cost: Money | None = Field(None, description="Budget of the run in US dollars.")
    max_tokens: Limit | None = Field(None, description="Budget of the run in tokens.")
    inconclusive: Literal["error", "fail", "skip"] = Field(
        "error", description="The outcome of a scenario that the judge cannot decide."
    )
    replay: Literal["off", "auto", "only", "record"] = Field(
        "off",
        description="`auto` replays recorded calls and records the others, `only` never calls live, `record` "
        "records everything again.",
    )
    recordings: Text = Field(
        "_recordings", description="Name of the folder of recordings, beside the scenario files."
    )

    @property
    def calls_live(self) -> bool:
        """Whether every call is live. In the other modes, a recording may answer."""
        return self.replay in ("off", "record")


class ResultsSettings(_Section):
    """Where runs are stored."""

    dir: Text = Field(".convoprobe", description="Folder of stored runs, relative to the root.")


class Settings(_Section):
    """All sections; `judge` and `synthetic_user` are already merged with `llm`, `target` is not."""

    llm: ModelSettings = Field(ModelSettings(), description="Defaults for every role.")
    judge: ModelSettings = Field(
        ModelSettings(), description="The model of the judge; keys that are not set come from `llm`."
    )
    synthetic_user: ModelSettings = Field(
        ModelSettings(), description="The model that plays the user; keys that are not set come from `llm`."
    )
    target: TargetSettings | None = Field(None, description="The agent under test.")
    run: RunSettings = Field(RunSettings(), description="How a run is carried out.")
    results: ResultsSettings = Field(ResultsSettings(), description="Where runs are stored.")


class ScenarioSettings(_Section):
    """The settings of one scenario, with its own `config` applied; hooks may replace them."""

    judge: ModelSettings
    synthetic_user: ModelSettings
    run: RunSettings
