"""A scenario: who talks, what is said, and how the agent is judged.

These models define the format. Files are validated against them, and the JSON Schema (`schema.py`) is
generated from them. Whitespace around texts is removed. Lists become tuples, and all models are frozen.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import BeforeValidator, Field, JsonValue, model_validator

from ..faults.rules import FaultRule
from ..yaml_source.explain import complain
from .approvals import ApprovalRule, ScriptedAnswer
from .assertions import ToolAssertion
from .conditions import ArgumentCondition
from .evaluation import Efficiency, Evaluation
from .fields import NOT_BOOLEAN_WORD, ScenarioPart, Temperature, Text, check_skip
from .gate_rule import GateRule
from .reply_checks import ReplyCheck
from .rules import turn_complaints
from .sentences import JudgedSentence
from .synthetic_user import ClarificationBehavior, Landmark, SimulatedTurns, SyntheticUser, Traits
from .tool_usage import ToolCallCriterion, ToolUsage

__all__ = [
    "ApprovalRule",
    "ArgumentCondition",
    "ClarificationBehavior",
    "Efficiency",
    "Evaluation",
    "GateRule",
    "JudgedSentence",
    "Landmark",
    "ModelOverride",
    "ReplyCheck",
    "Scenario",
    "ScenarioConfig",
    "ScriptedAnswer",
    "SimulatedTurns",
    "SyntheticUser",
    "ToolAssertion",
    "ToolCallCriterion",
    "ToolUsage",
    "Traits",
]


class ModelOverride(ScenarioPart):
    """Settings of one model for this scenario. Other keys keep their values from the settings."""

    model: Text | None = Field(None, description="The model.", examples=["openai/gpt-4o"])
    temperature: Temperature | None = Field(None, description="The temperature, from 0 to 2.")
    extra_instructions: Text | None = Field(
        None, description="Instructions that are appended to those of the settings."
    )


class ScenarioConfig(ScenarioPart):
    """Settings of the judge and of the synthetic user for this scenario."""

    judge: ModelOverride | None = Field(None, description="Settings for the judge.")
    synthetic_user: ModelOverride | None = Field(
        None, description="Settings for the model that plays the user."
    )


class Scenario(ScenarioPart):
    """One conversation and what is expected of the agent in it."""

    keys_of_settings: ClassVar = frozenset(("target", "targets", "llm", "run", "results"))
    """Keys that people write here, and that have to be in the settings."""

    name: Text = Field(description="The name of the scenario.", examples=["Refund of a damaged item"])
    description: Text = Field(description="What the scenario tests. The judge reads it too.")
    skip: Annotated[bool | str, BeforeValidator(check_skip)] = Field(
        False,
        description="`true` or a reason: the scenario doesn't run and is reported as skipped.",
        examples=[True, "Waits for the new search"],
        json_schema_extra=NOT_BOOLEAN_WORD,
    )
    synthetic_user: SyntheticUser = Field(description="The simulated person who talks with the agent.")
    evaluation: Evaluation = Field(description="How the agent is judged.")
    tags: tuple[Text, ...] = Field(
        (), description="Words for selection: `pytest -m smoke`.", examples=[["smoke", "orders"]]
    )
    config: ScenarioConfig | None = Field(
        None, description="Settings of the judge and the synthetic user for this scenario only."
    )
    faults: tuple[FaultRule, ...] = Field(
        (),
        description="What goes wrong with calls of tools, to see what the agent makes of it. They come "
        "before those of the target.",
        examples=[[{"tool": "get_weather", "call": 1, "kind": "timeout"}]],
    )
    gate: GateRule | None = Field(None, description="Whether the scenario may make a run fail.")
    metadata: dict[str, JsonValue] = Field(
        default_factory=dict,
        description="Your own data for the agent (factories, fixtures, templates of HTTP targets), hooks and "
        "reports.",
    )

    @model_validator(mode="after")
    def _turns_come(self) -> Scenario:
        user = self.synthetic_user
        named = ((("evaluation", *place), turn) for place, turn in self.evaluation.named_turns())
        complain(turn_complaints(named, user.max_turns, user.script, greets=user.first == "agent"))
        return self
