"""The settings of the judge, besides those of its model."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field

from .field_types import Count, Number, Text
from .model_settings import ModelSettings, Section

Share = Annotated[Number, Field(ge=0, le=1)]
Kappa = Annotated[Number, Field(ge=-1, le=1)]


def _names(value: object) -> object:
    """A text with names as a list of them: an option and an ini file have only texts."""
    return tuple(value.replace(",", " ").split()) if isinstance(value, str) else value


class JudgeRequirement(Section):
    """What a judge must have reached on labelled conversations before its verdicts may block a merge."""

    labels: Count = Field(20, description="Minimum number of labelled criteria.")
    kappa: Kappa | None = Field(None, description="Minimum of Cohen's kappa with the labels.")
    sensitivity: Share | None = Field(
        None, description="Minimum share of the faults in the labels that the judge finds."
    )
    specificity: Share | None = Field(
        None, description="Minimum share of the right answers in the labels that the judge accepts."
    )


class JudgeSettings(ModelSettings):
    """The judge's model, how it is asked, and who else votes."""

    answer_fields: ClassVar[tuple[str, ...]] = (*ModelSettings.answer_fields, "method", "threshold")

    method: Literal["text", "log_odds", "contrast"] = Field(
        "text",
        description="How the judge answers: `text` with a finding and a quote; `log_odds` by the probability "
        "of yes and no; `contrast` by that of the criterion minus that of its opposite.",
    )
    threshold: Number | None = Field(
        None,
        description="Log-odds above which `log_odds` and `contrast` take a criterion as true. If unset, 0. "
        "Within 0.2 of it, nothing is decided.",
    )
    second_vote: Annotated[bool, Field(strict=True)] | Literal["all"] = Field(
        True,
        description="A verdict against the agent is put to a second vote. Two that differ are undecided. "
        "`all`: so is one for it, which costs a call more in each conversation and misses far less.",
    )
    panel: Annotated[tuple[Text, ...], BeforeValidator(_names)] = Field(
        (),
        description="More models that vote on each conversation beside `model`, with the same settings: a "
        "list, or a text with commas. Models of another provider get neither `api_base` nor `api_key`.",
    )
    agreement: Literal["majority", "unanimous"] = Field(
        "majority",
        description="How many members of a panel have to agree. Otherwise a criterion is undecided.",
    )
    suggestions: Annotated[bool, Field(strict=True)] = Field(
        False,
        description="After each failed conversation, ask for changes of the agent's tools: one call more. "
        "The verdict never depends on it. `convoprobe report` gathers them.",
    )
    require: JudgeRequirement | None = Field(
        None,
        description="What the judge must have reached on labelled conversations: `labels`, `kappa`, "
        "`sensitivity`, `specificity`. Until it has, it gates nothing.",
    )


def as_judge(value: Any) -> Any:
    """Settings of a model alone as those of a judge: projects give them in code. Anything else stays."""
    if isinstance(value, ModelSettings) and not isinstance(value, JudgeSettings):
        given = {name: getattr(value, name) for name in value.model_fields_set}
        return JudgeSettings(**given)
    return value


Judge = Annotated[JudgeSettings, BeforeValidator(as_judge)]
