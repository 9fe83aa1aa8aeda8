"""The settings of a target whatever its type, for the modules of the types."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from ..faults.rules import FaultRule
from .field_types import Text
from .model_settings import ModelSettings, Section
from .model_upstreams import ModelUpstreams
from .volatile_parts import VolatileParts

TOOL_NAMES = (
    "Names of all of the agent's tools. A required tool that isn't one of them is an error before the first "
    "call."
)


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

    in_process: ClassVar[bool] = False
    """Whether the agent is code in this process, which finds the gateway in its environment."""

    type: str
    faults: tuple[FaultRule, ...] = Field(
        (), description="What goes wrong with calls of tools in every scenario. A scenario's own come first."
    )
    models: ModelUpstreams | None = Field(
        None,
        description="The providers whose models the agent calls itself: `openai`, `anthropic`, each with its "
        "address. The agent's calls then go through a gateway on loopback, which sees, records and replays "
        "them. Not for `type: model`, whose calls are recorded anyway.",
    )
    model_volatile: VolatileParts | None = Field(
        None,
        description="What differs from run to run in the agent's requests to its models. A replay leaves it "
        "out when it looks for a recorded call; clocks and generated ids are left out anyway.",
    )

    greeting_cue: Text | None = Field(
        None,
        description="The message that makes the agent greet, for scenarios with `first: agent`: the agent "
        "gets it as if a user had written it, and nobody else does. If unset, the agent has to greet by "
        "itself.",
        examples=["(The call begins.)"],
    )

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
