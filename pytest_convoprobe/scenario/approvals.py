"""What a scenario answers where the agent waits for a person: a permission to call a tool, or a question."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Discriminator, Field, Tag

from ..suggest import is_slip_of
from ..yaml_source.explain import UNION_TAG, describe, refusal
from .conditions import Condition, DataPath
from .fields import ScenarioPart, Text, ToolPattern

APPROVE, REJECT = "approve", "reject"
_WORDS = (APPROVE, REJECT)
_FORMS = {"approved": APPROVE, "approves": APPROVE, "rejected": REJECT, "rejects": REJECT}


def check_answer(value: str) -> str:
    """An answer that isn't a slip of `approve` or `reject`, which would be handed over as mere words."""
    word = value.casefold()
    meant = word if word in _WORDS else _FORMS.get(word)
    if value in _WORDS or (meant is None and not is_slip_of(word, _WORDS)):
        return value
    raise refusal(f"must be approve, reject, or other words, got {describe(value)}")


Answer = Annotated[Text, AfterValidator(check_answer)]
"""`approve`, `reject`, or words."""


class ApprovalRule(ScenarioPart):
    """What is answered where a call of a tool waits for a person. The first rule that fits counts.

    Words that are neither `approve` nor `reject` answer questions too. As the answer to a call that waits
    for a permission they are handed to the agent as they are, and permit nothing.
    """

    tool: ToolPattern = Field(
        description="The tool's name, or a pattern of names. `*` fits requests that name no tool, too.",
        examples=["refund", "delete_*", "*"],
    )
    args: dict[DataPath, Condition] = Field(
        default_factory=dict,
        description="Conditions on the arguments of the call that waits, as in `tool_call_criteria`.",
        examples=[{"amount": {"above": 500}}],
    )
    answer: Answer = Field(
        description="`approve`, `reject`, or other words.", examples=["approve", "reject", "Use the blue one"]
    )
    reason: Text | None = Field(
        None, description="Why; agents that take a reason get it.", examples=["That is too much"]
    )


class ScriptedAnswer(ScenarioPart):
    """An item of a script: the answer to all for which the agent waits after the message before it.

    Several in a row answer what comes up one after the other. It counts before `approvals`, and is left out
    where the agent waits for nothing.
    """

    answer: Answer = Field(description="`approve`, `reject`, or other words.", examples=["approve", "reject"])
    reason: Text | None = Field(None, description="Why; agents that take a reason get it.")


def tools_of(approvals: str | tuple[ApprovalRule, ...] | None) -> tuple[str, ...]:
    """The names and patterns of tools in the rules."""
    return () if approvals is None or isinstance(approvals, str) else tuple(rule.tool for rule in approvals)


def _text_or_list(value: Any) -> str:
    return f"{UNION_TAG}list" if isinstance(value, (list, tuple)) else f"{UNION_TAG}word"


Approvals = Annotated[
    Annotated[Literal["approve", "reject"], Tag(f"{UNION_TAG}word")]
    | Annotated[tuple[ApprovalRule, ...], Tag(f"{UNION_TAG}list")],
    Discriminator(_text_or_list),
]
"""One answer to every call that waits for a permission, or rules."""
