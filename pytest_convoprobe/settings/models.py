"""The settings after they were read, merged and checked.

The descriptions of the fields are what docs/reference/settings.md shows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr


def _no_bool(value: Any) -> Any:
    """A bare `yes` or `on` in YAML is a bool, and a bool passes for a number in Python."""
    if isinstance(value, bool):
        raise ValueError(f"expected a number, got {str(value).lower()}")
    return value


def _web_address(value: Any) -> Any:
    if isinstance(value, str) and not value.startswith(("http://", "https://")):
        raise ValueError("expected an address that begins with http:// or https://")
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

    `timeout` bounds one attempt, in seconds. Prices are US dollars per token and take precedence
    over LiteLLM's price list. `unresolved` isn't a setting: it holds, by field, the variables that were
    missing when the settings were read for a replay; a live call needs them, a replay doesn't.
    """

    model: Text | None = Field(
        None, description="A LiteLLM model string: `openai/gpt-4o-mini`, `anthropic/…`, `ollama/…`."
    )
    provider: Text | None = Field(
        None,
        description="The part before the slash, where it is kept apart from `model`. Also `source`.",
    )
    api_base: WebAddress | None = Field(None, description="Address of the endpoint. Also `base_url`.")
    api_key: SecretStr | None = Field(
        None, description="Key for the endpoint; unset, LiteLLM looks at `OPENAI_API_KEY` and the like. "
        "Also `apikey`.",
    )  # fmt: skip
    temperature: Annotated[Number, Field(ge=0, le=2)] | None = Field(
        None, description="From 0 to 2; unset, the provider's own default."
    )
    max_tokens: Count | None = Field(None, description="Longest reply, in tokens.")
    timeout: Seconds = Field(60.0, description="Bound of one attempt, in seconds.")
    max_attempts: Count = Field(6, description="How often a call is tried before it is an error.")
    extra_headers: dict[str, SecretStr] = Field(
        default_factory=dict, description="HTTP headers that are sent with each call."
    )
    extra_params: dict[str, Any] = Field(
        default_factory=dict, description="Parameters for LiteLLM as they are: `seed`, `top_p`…"
    )
    extra_instructions: Text | None = Field(
        None, description="Text added to the system prompt; all levels are appended, none replaces another."
    )
    context_size: Count | None = Field(None, description="Size of the model's context, in tokens.")
    reasoning: Effort | None = Field(
        None,
        description="LiteLLM's `reasoning_effort`. `true` means `medium`, `false` means `none`.",
    )
    structured_output: Literal["auto", "schema", "text"] = Field(
        "auto",
        description="How JSON is asked for: by the provider's JSON schema, in plain text, or what works.",
    )
    input_cost_per_token: Money | None = Field(None, description="Price in US dollars, if it isn't known.")
    output_cost_per_token: Money | None = Field(None, description="Price in US dollars, if it isn't known.")
    unresolved: Mapping[str, str] = Field(default_factory=dict, exclude=True, repr=False)


class ModelTarget(ModelSettings):
    """A language model with a system prompt and Python functions as tools.

    What it leaves unset comes from `llm`, `extra_instructions` excepted: these are for our own
    roles and must not change what is tested.
    """

    type: Literal["model"] = Field("model", description="`model`.")
    system_prompt: str | None = Field(None, description="The system prompt of the agent.")
    tools: tuple[Text, ...] = Field(
        (), description="Python functions: `package.module:function` or `path/file.py:function`."
    )
    max_tool_rounds: Count = Field(10, description="How many rounds of tool calls one reply may take.")


class PythonTarget(_Section):
    """An object in Python: a function, an async function, a class, or a factory of one."""

    type: Literal["python"] = Field("python", description="`python`.")
    object: Text = Field(description="`package.module:object` or `path/file.py:object`.")


class HttpTarget(_Section):
    """An HTTP service. `url`, `headers` and `body` are templates; `text` and the like are JMESPath."""

    type: Literal["http"] = Field("http", description="`http`.")
    url: Text = Field(description="Address that a message is sent to; a template.")
    method: Text = Field("POST", description="HTTP method.")
    headers: dict[str, SecretStr] = Field(default_factory=dict, description="Headers; values are templates.")
    body: Any = Field(
        None,
        description="What is sent: text or data whose texts are templates over `message`, `history` and "
        "`conversation_id`.",
    )
    text: Text = Field("text", description="JMESPath of the reply's text.")
    tool_calls: Text | None = Field(None, description="JMESPath of the reply's tool calls.")
    usage: Text | None = Field(None, description="JMESPath of the tokens used.")
    timeout: Seconds = Field(60.0, description="Bound of one request, in seconds.")


TargetSettings = Annotated[ModelTarget | PythonTarget | HttpTarget, Field(discriminator="type")]


class RunSettings(_Section):
    """How a run is carried out; times are in seconds, money in US dollars."""

    concurrency: Count = Field(16, description="How many conversations are held at once.")
    turn_timeout: Seconds = Field(120.0, description="Bound of one turn, in seconds.")
    scenario_timeout: Seconds = Field(900.0, description="Bound of one scenario, in seconds.")
    max_cost: Money | None = Field(None, description="Budget of the run in US dollars.")
    max_tokens: Limit | None = Field(None, description="Budget of the run in tokens.")
    inconclusive: Literal["error", "fail", "skip"] = Field(
        "error", description="What a scenario is when the judge cannot tell."
    )
    replay: Literal["off", "auto", "only", "record"] = Field(
        "off",
        description="`auto` replays what is recorded and records the rest, `only` never calls live, `record` "
        "records all anew.",
    )
    recordings: Text = Field(
        "_recordings", description="Name of the folder, beside the scenario files, that holds recordings."
    )

    @property
    def calls_live(self) -> bool:
        """Whether every call is a live one: under the other ways of replaying a recording may answer."""
        return self.replay in ("off", "record")


class ResultsSettings(_Section):
    """Where what a run leaves behind is kept."""

    dir: Text = Field(".convoprobe", description="Folder for what a run leaves behind, seen from the root.")


class Settings(_Section):
    """All sections; `judge` and `synthetic_user` are already merged with `llm`, `target` is not."""

    llm: ModelSettings = Field(ModelSettings(), description="Defaults for every role.")
    judge: ModelSettings = Field(ModelSettings(), description="The model that judges; the rest from `llm`.")
    synthetic_user: ModelSettings = Field(
        ModelSettings(), description="The model that plays the user; the rest from `llm`."
    )
    target: TargetSettings | None = Field(None, description="What is tested.")
    run: RunSettings = Field(RunSettings(), description="How a run is carried out.")
    results: ResultsSettings = Field(ResultsSettings(), description="Where results are kept.")


class ScenarioSettings(_Section):
    """What one scenario runs with, after its own `config` was applied; hooks may replace it."""

    judge: ModelSettings
    synthetic_user: ModelSettings
    run: RunSettings
