"""The settings after they were read, merged and checked."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ModelSettings(_Section):
    """One language model and how to call it.

    `model` is a LiteLLM model string (`openai/gpt-4o-mini`). `timeout` bounds one attempt, in
    seconds. Prices are US dollars per token and take precedence over LiteLLM's price list.
    """

    model: str | None = None
    api_base: str | None = None
    api_key: SecretStr | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    timeout: float = 60.0
    max_attempts: int = 6
    extra_headers: dict[str, SecretStr] = Field(default_factory=dict)
    extra_params: dict[str, Any] = Field(default_factory=dict)
    extra_instructions: str | None = None
    context_size: int | None = None
    reasoning: str | None = None
    structured_output: Literal["auto", "schema", "text"] = "auto"
    input_cost_per_token: float | None = None
    output_cost_per_token: float | None = None


class ModelTarget(ModelSettings):
    """A language model with a system prompt and Python functions as tools."""

    type: Literal["model"] = "model"
    system_prompt: str | None = None
    tools: tuple[str, ...] = ()
    max_tool_rounds: int = 10


class PythonTarget(_Section):
    """An object in Python: `package.module:object` or `path/file.py:object`."""

    type: Literal["python"] = "python"
    object: str


class HttpTarget(_Section):
    """An HTTP service. `body` and `url` are templates; `text` and `tool_calls` are JMESPath."""

    type: Literal["http"] = "http"
    url: str
    method: str = "POST"
    headers: dict[str, SecretStr] = Field(default_factory=dict)
    body: Any = None
    text: str = "text"
    tool_calls: str | None = None
    usage: str | None = None
    timeout: float = 60.0


TargetSettings = Annotated[ModelTarget | PythonTarget | HttpTarget, Field(discriminator="type")]


class RunSettings(_Section):
    """How a run is carried out; times are in seconds, money in US dollars."""

    concurrency: int = Field(default=16, ge=1)
    turn_timeout: float = Field(default=120.0, gt=0)
    scenario_timeout: float = Field(default=900.0, gt=0)
    max_cost: float | None = Field(default=None, ge=0)
    max_tokens: int | None = Field(default=None, ge=0)
    inconclusive: Literal["error", "fail", "skip"] = "error"
    replay: Literal["off", "auto", "only", "record"] = "off"
    recordings: str = "_recordings"


class ResultsSettings(_Section):
    """Where what a run leaves behind is kept."""

    dir: str = ".convoprobe"


class Settings(_Section):
    """All sections as the files give them; `judge` and `synthetic_user` are already merged with `llm`."""

    llm: ModelSettings = ModelSettings()
    judge: ModelSettings = ModelSettings()
    synthetic_user: ModelSettings = ModelSettings()
    target: TargetSettings | None = None
    run: RunSettings = RunSettings()
    results: ResultsSettings = ResultsSettings()


class ScenarioSettings(_Section):
    """What one scenario runs with, after its own `config` was applied; hooks may replace it."""

    judge: ModelSettings
    synthetic_user: ModelSettings
    run: RunSettings
