"""The settings, after reading, merging and validation.

docs/reference/settings.md shows the descriptions of the fields.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    SerializeAsAny,
    field_validator,
)

from ..cutting import MOST_TEXT
from ..faults.rules import FaultRule
from .field_types import Count, Limit, Money, Seconds, Text, Time
from .gate_settings import GateSettings

# `as`: other modules take all types of targets from here.
from .http_settings import HttpTarget as HttpTarget
from .judge_settings import Judge, JudgeSettings
from .mask_rules import MaskRule
from .mcp_settings import McpServers
from .model_settings import ModelSettings, Section
from .model_upstreams import ModelUpstreams
from .target_section import TOOL_NAMES
from .target_section import TargetSection as TargetSection
from .volatile_parts import VolatileParts


class ModelTarget(TargetSection, ModelSettings):
    """A language model with a system prompt, and Python functions and MCP servers as its tools.

    Fields that it doesn't set come from `llm`. The exception is `extra_instructions`: these are for the
    judge and the synthetic user, and must not change the agent under test.
    """

    name_field = "model"
    signs = ("system_prompt",)
    answer_fields = (*ModelSettings.answer_fields, "system_prompt", "tools", "max_tool_rounds", "mcp_servers")
    code_fields = ("tools",)

    type: Literal["model"] = Field("model", description="`model`.")
    system_prompt: str | None = Field(
        None,
        description="The system prompt of the agent. `{{ today }}` and `{{ now }}` are the date and the time "
        "at which the conversation begins.",
    )
    tools: tuple[Text, ...] = Field(
        (), description="Python functions: `package.module:function` or `path/file.py:function`."
    )
    mcp_servers: McpServers = Field(
        default_factory=dict,
        description="MCP servers whose tools the model gets, by name: see the table of a server.",
    )
    max_tool_rounds: Count = Field(10, description="Maximum number of rounds of tool calls for one reply.")

    @field_validator("models")
    @classmethod
    def _has_no_calls_of_its_own(cls, value: ModelUpstreams | None) -> ModelUpstreams | None:
        if value is not None:
            raise ValueError(
                "is for agents that call models themselves. The calls of a target of the type `model`, with "
                "or without MCP servers, are made for it, and are recorded and counted anyway: leave it out"
            )
        return value

    @property
    def offers_tools(self) -> bool:
        return bool(self.tools or self.mcp_servers)

    def identified(self) -> bool:
        # Tools are code of the project or of a server, which may read anything.
        return not self.offers_tools


class PythonTarget(TargetSection):
    """An object in Python: a function, an async function, a class, or a factory of one."""

    name_field = "object"
    answer_fields = ("object", "context")
    code_fields = ("object", "context")
    in_process = True

    type: Literal["python"] = Field("python", description="`python`.")
    object: Text = Field(description="`package.module:object` or `path/file.py:object`.")
    thread: Literal["own", "same"] = Field(
        "own",
        description="Where synchronous code runs: in a thread of each conversation (`own`), or on the test's "
        "thread, one conversation at a time (`same`).",
    )
    tools: tuple[Text, ...] | None = Field(None, description=TOOL_NAMES)
    context: Text | None = Field(
        None,
        description="A function that gives what a framework's agent gets in each conversation, such as its "
        "dependencies: `package.module:function` or `path/file.py:function`.",
    )


def _factory(value: str) -> str:
    """A file or module alone means its `create_agent`."""
    named = ":" in value and not value.endswith(".py")
    return value if named else f"{value}:create_agent"


class AdkTarget(TargetSection):
    """An agent of Google's ADK, which a factory makes for each conversation."""

    name_field = "factory"
    answer_fields = ("factory", "context")
    code_fields = ("factory", "context")
    in_process = True

    type: Literal["adk"] = Field("adk", description="`adk`.")
    factory: Annotated[Text, AfterValidator(_factory)] = Field(
        description="What makes the agent: `path/file.py:function` or `package.module:function`. Of a file "
        "or module alone, it is `create_agent`. An agent, an app or a runner itself can be named too."
    )
    tools: tuple[Text, ...] | None = Field(None, description=TOOL_NAMES)
    context: Text | None = Field(
        None,
        description="A function that gives `user_id`, `state` and `run_config` for each conversation: "
        "`package.module:function` or `path/file.py:function`.",
    )


TARGET_TYPES: dict[str, type[TargetSection]] = {
    kind.type_name(): kind for kind in (ModelTarget, PythonTarget, HttpTarget, AdkTarget)
}
"""Every type of target, by the name that settings give it."""

DEFAULT_TARGET = ModelTarget
"""The type of a benchmark's target that gives none."""


def guess_type(values: Mapping[Any, Any]) -> str | None:
    """The type that the keys of a target belong to; None if they fit no type."""
    # The default comes last: other types may have a field `model` too.
    kinds = sorted(TARGET_TYPES.values(), key=lambda kind: kind is DEFAULT_TARGET)
    return next((kind.type_name() for kind in kinds if values.keys() & {kind.name_field, *kind.signs}), None)


def given_target(spec: str | None, mcp: str | None) -> TargetSection | None:
    """A target in Python by its reference, or a model with an MCP server's tools; None without either."""
    if spec is not None:
        return PythonTarget(object=spec)
    return None if mcp is None else ModelTarget.model_validate({"mcp_servers": {"server": mcp}})


def _of_its_type(value: object) -> object:
    """A mapping as the section of its type. Anything else is left to pydantic."""
    if not isinstance(value, Mapping):
        return value
    kind = TARGET_TYPES.get(str(value.get("type")))
    if kind is None:
        raise ValueError(f"the type must be one of {', '.join(TARGET_TYPES)}")
    return kind.model_validate(value)


# Not a union with a discriminator: pydantic would fix its members when this file is imported, beside
# `TARGET_TYPES`. Serialized by the type that a value has, as the members of a union are.
TargetSettings = Annotated[SerializeAsAny[TargetSection], BeforeValidator(_of_its_type)]


class RunSettings(Section):
    """How a run is carried out; times are in seconds, money in US dollars."""

    shown_fields = frozenset(("inconclusive", "replay", "recordings"))

    concurrency: Count = Field(16, description="Maximum number of concurrent conversations.")
    turn_timeout: Seconds = Field(120.0, description="Limit of each side in one turn, in seconds.")
    scenario_timeout: Seconds = Field(900.0, description="Limit of one scenario, in seconds.")
    max_cost: Money | None = Field(None, description="Budget of the run in US dollars.")
    max_tokens: Limit | None = Field(
        None, description="Budget of the run in tokens, with those that the agent reports."
    )
    inconclusive: Literal["error", "fail", "skip"] = Field(
        "error", description="The outcome of a scenario that the judge cannot decide."
    )
    now: Time | None = Field(
        None,
        description="Date and time that conversations begin at, for the user and the judge: ISO 8601 with a "
        "zone. If unset, the present time, or the time of the recording.",
    )
    replay: Literal["off", "auto", "only", "record"] = Field(
        "off",
        description="`auto` replays recorded calls and records the others, `only` never calls live, `record` "
        "records everything again.",
    )
    max_text: Count = Field(
        MOST_TEXT,
        description="Maximum length of one text or value from outside, in characters: a reply, the arguments "
        "or the result of a tool call, a provider's answer. The middle of what is longer is left out, with a "
        "mark; checks of arguments that were cut are errors.",
    )
    recordings: Text = Field(
        "_recordings", description="Name of the folder of recordings, beside the scenario files."
    )

    @property
    def calls_live(self) -> bool:
        """Whether every call is live. In the other modes, a recording may answer."""
        return self.replay in ("off", "record")


class ResultsSettings(Section):
    """Where runs are stored."""

    dir: Text = Field(".convoprobe", description="Folder of stored runs, relative to the root.")
    save: bool = Field(
        True, description="`false` stores no runs: then nothing can be compared, shown or judged again."
    )
    public: tuple[Text, ...] = Field(
        (),
        description="Names of variables and of query parameters whose values are not secret: they are not "
        "masked.",
    )

    mask: tuple[MaskRule, ...] = Field(
        (),
        description="Personal data that is masked in stored conversations, recordings and reports, and for "
        "the judge: `email`, `card`, `iban`, `phone`, regular expressions, or `{name: expression}`.",
    )

    shown_fields = frozenset(("dir", "public"))


class Settings(Section):
    """All sections; `judge` and `synthetic_user` are already merged with `llm`, `target` is not."""

    llm: ModelSettings = Field(ModelSettings(), description="Defaults for every role.")
    judge: Judge = Field(
        JudgeSettings(),
        description="The judge: its model and how it is asked; keys that are not set come from `llm`.",
    )
    synthetic_user: ModelSettings = Field(
        ModelSettings(), description="The model that plays the user; keys that are not set come from `llm`."
    )
    target: TargetSettings | None = Field(None, description="The agent under test.")
    targets: dict[str, TargetSettings] = Field(
        default_factory=dict,
        description="Several agents under test, each by a name. Those of the same type as `target` take "
        "from there what they don't set.",
    )
    run: RunSettings = Field(RunSettings(), description="How a run is carried out.")
    gate: GateSettings = Field(GateSettings(), description="What makes a scenario fail.")
    results: ResultsSettings = Field(ResultsSettings(), description="Where runs are stored.")


MODEL_SECTIONS: dict[str, type[ModelSettings]] = {
    "llm": ModelSettings,
    "judge": JudgeSettings,
    "synthetic_user": ModelSettings,
}
"""The sections that describe a model."""

PLAIN_SECTIONS: dict[str, type[Section]] = {
    "run": RunSettings,
    "gate": GateSettings,
    "results": ResultsSettings,
}
"""The others, which no level is merged into."""


class ScenarioSettings(Section):
    """The settings of one scenario, with its own `config` applied; hooks may replace them."""

    judge: Judge
    synthetic_user: ModelSettings
    run: RunSettings
    gate: GateSettings = GateSettings()
    faults: tuple[FaultRule, ...] = ()
    """Those of the target."""
    models: ModelUpstreams | None = None
    """The providers that the target calls itself, by way of the gateway."""
    greeting_cue: str | None = None
    """The message that makes the target greet."""
    model_volatile: VolatileParts | None = None
    """What differs from run to run in those calls."""
