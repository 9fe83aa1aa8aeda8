"""The settings, after reading, merging and validation.

docs/reference/settings.md shows the descriptions of the fields.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    BeforeValidator,
    Field,
    SecretStr,
    SerializeAsAny,
    model_validator,
)

from ..cutting import MOST_TEXT
from .field_types import Count, Limit, Money, Seconds, Text, Time, WebAddress
from .gate_settings import GateSettings
from .judge_settings import Judge, JudgeSettings
from .mask_rules import MaskRule
from .model_settings import ModelSettings, Section


class TargetSection(Section):
    """The settings of a target, and what the rest of the package asks of them whatever their type is.

    A type is a subclass, an entry of `TARGET_TYPES`, and a builder in `targets/factory.py`. The settings of a
    target that is a language model are a `ModelSettings` too. What they don't set comes from `llm`.
    """

    name_field: ClassVar[str]
    """The field with the target's name in results. It decides the type of a target that gives none."""
    signs: ClassVar[tuple[str, ...]] = ()
    """Other fields that decide the type."""
    answer_fields: ClassVar[tuple[str, ...]]
    """The fields that answers depend on. They are part of the keys of a benchmark's rows."""
    code_fields: ClassVar[tuple[str, ...]] = ()
    """The fields with references to Python code, `path/file.py:object`."""

    type: str

    @classmethod
    def type_name(cls) -> str:
        """What settings give as its `type`."""
        name: str = cls.model_fields["type"].default
        return name

    @classmethod
    def is_model(cls) -> bool:
        """Whether a target of this type is a language model."""
        return issubclass(cls, ModelSettings)

    def identified(self) -> bool:
        """Whether the settings, and the version where one is reported, are all that its answers depend on.

        A stored conversation with any other target may be with another agent than the present one.
        """
        return False

    def reports_version(self) -> bool:
        """Whether the target can be asked which version of it is running."""
        return False

    @property
    def code_references(self) -> tuple[str, ...]:
        """All references to Python code, `path/file.py:object`."""
        values = (getattr(self, name) for name in self.code_fields)
        return tuple(one for value in values for one in ([value] if isinstance(value, str) else value or ()))

    @property
    def label(self) -> str | None:
        """What the target is called in results; None for a model that isn't named."""
        label: str | None = getattr(self, self.name_field)
        return label

    @property
    def as_model(self) -> ModelSettings | None:
        """The same settings as those of a language model; None if the target is something else."""
        return self if isinstance(self, ModelSettings) else None

    def with_system_prompt(self, prompt: str) -> TargetSection | None:
        """The same with another system prompt; None for a type that takes none."""
        if "system_prompt" not in type(self).model_fields:
            return None
        return self.model_copy(update={"system_prompt": prompt})


class ModelTarget(TargetSection, ModelSettings):
    """A language model with a system prompt and Python functions as tools.

    Fields that it doesn't set come from `llm`. The exception is `extra_instructions`: these are for the
    judge and the synthetic user, and must not change the agent under test.
    """

    name_field = "model"
    signs = ("system_prompt",)
    answer_fields = (*ModelSettings.answer_fields, "system_prompt", "tools", "max_tool_rounds")
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
    max_tool_rounds: Count = Field(10, description="Maximum number of rounds of tool calls for one reply.")

    def identified(self) -> bool:
        # Tools are code of the project, which may read anything.
        return not self.tools


_TOOL_NAMES = (
    "Names of all of the agent's tools. A required tool that isn't one of them is an error before the first "
    "call."
)


class PythonTarget(TargetSection):
    """An object in Python: a function, an async function, a class, or a factory of one."""

    name_field = "object"
    answer_fields = ("object", "context")
    code_fields = ("object", "context")

    type: Literal["python"] = Field("python", description="`python`.")
    object: Text = Field(description="`package.module:object` or `path/file.py:object`.")
    thread: Literal["own", "same"] = Field(
        "own",
        description="Where synchronous code runs: in a thread of each conversation (`own`), or on the test's "
        "thread, one conversation at a time (`same`).",
    )
    tools: tuple[Text, ...] | None = Field(None, description=_TOOL_NAMES)
    context: Text | None = Field(
        None,
        description="A function that gives what a framework's agent gets in each conversation, such as its "
        "dependencies: `package.module:function` or `path/file.py:function`.",
    )


class VersionSource(Section):
    """Where an HTTP service reports its version: in each answer, or at an address of its own."""

    path: Text | None = Field(None, description="JMESPath of the version in a JSON answer.")
    header: Text | None = Field(None, description="Name of the response header with the version.")
    url: WebAddress | None = Field(
        None,
        description="Address that is asked for the version with GET. If unset, the first answer to a message "
        "has it.",
    )

    @model_validator(mode="after")
    def _one_place(self) -> VersionSource:
        if self.path and self.header:
            raise ValueError("give `path` or `header`, not both")
        if not (self.path or self.header or self.url):
            raise ValueError("give a `path`, a `header`, or a `url`")
        return self


def _version_source(value: Any) -> Any:
    """A text alone is the path."""
    return {"path": value} if isinstance(value, str) and value else value


class HttpTarget(TargetSection):
    """An HTTP service. `url`, `headers` and `body` are templates; `text` and the like are JMESPath."""

    name_field = "url"
    answer_fields = ("url", "method", "body", "text", "tool_calls", "ended")

    type: Literal["http"] = Field("http", description="`http`.")
    url: Text = Field(description="Address for each message; a template.")
    method: Text = Field("POST", description="HTTP method.")
    headers: dict[str, SecretStr] = Field(default_factory=dict, description="Headers; values are templates.")
    body: Any = Field(
        None,
        description="The request's body: a text, or data with texts. All texts are templates with `message`, "
        "`history`, `messages`, `conversation_id`, `now` and `today`.",
    )
    text: Text = Field("text", description="JMESPath of the reply's text.")
    tool_calls: Text | None = Field(None, description="JMESPath of the reply's tool calls.")
    tool_calls_optional: bool = Field(
        False,
        description="An answer without `tool_calls` means that no tool was called. Otherwise, checks of tool "
        "calls are errors then.",
    )
    usage: Text | None = Field(None, description="JMESPath of the token usage.")
    ended: Text | None = Field(
        None, description="JMESPath that is true if the agent has ended the conversation."
    )
    tools: tuple[Text, ...] | None = Field(None, description=_TOOL_NAMES)
    version: Annotated[VersionSource, BeforeValidator(_version_source)] | None = Field(
        None,
        description="Where the service reports its version: a JMESPath, or a mapping with `path` or "
        "`header`, and `url` if it is asked elsewhere. A benchmark keys conversations by it.",
    )
    timeout: Seconds = Field(60.0, description="Limit of one request, in seconds.")

    def identified(self) -> bool:
        return self.version is not None

    def reports_version(self) -> bool:
        return self.version is not None


TARGET_TYPES: dict[str, type[TargetSection]] = {
    kind.type_name(): kind for kind in (ModelTarget, PythonTarget, HttpTarget)
}
"""Every type of target, by the name that settings give it."""

DEFAULT_TARGET = ModelTarget
"""The type of a benchmark's target that gives none."""


def guess_type(values: Mapping[Any, Any]) -> str | None:
    """The type that the keys of a target belong to; None if they fit no type."""
    # The default comes last: other types may have a field `model` too.
    kinds = sorted(TARGET_TYPES.values(), key=lambda kind: kind is DEFAULT_TARGET)
    return next((kind.type_name() for kind in kinds if values.keys() & {kind.name_field, *kind.signs}), None)


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
