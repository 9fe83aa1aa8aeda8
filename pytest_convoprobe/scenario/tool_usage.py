"""Which tools the agent must, may and must not call, and with what."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import Discriminator, Field, Tag, ValidationInfo, field_validator

from ..tool_patterns import matches
from ..yaml_source import Loc
from ..yaml_source.explain import UNION_TAG, complain
from .assertions import ToolAssertion
from .call_lists import ExpectedCalls
from .fields import ScenarioPart, Sentence, ToolPattern
from .rules import prohibition_complaints
from .sentences import JudgedSentence, sentence_or_facts

AssertionItem = Annotated[
    Annotated[Sentence, Tag(f"{UNION_TAG}text")]
    | Annotated[ToolAssertion, Tag(f"{UNION_TAG}mapping")]
    | Annotated[JudgedSentence, Tag(f"{UNION_TAG}sentence")],
    Discriminator(sentence_or_facts),
]
"""A sentence that the judge decides, alone or as the `text` of a mapping, or conditions that code decides."""


class ToolCallCriterion(ScenarioPart):
    """Assertions about the calls of one tool."""

    tool: ToolPattern = Field(
        description="The tool's name, or a pattern of names.", examples=["get_weather", "mcp__shop__*"]
    )
    assertions: tuple[AssertionItem, ...] = Field(
        (),
        description="Sentences (for the judge; a mapping with a `text` is one too) and mappings (for code). "
        "All must hold.",
        examples=[["Called with the city that the user named", {"times": 1, "args": {"unit": "celsius"}}]],
    )

    @field_validator("assertions")
    @classmethod
    def _about_something(cls, assertions: tuple[Any, ...], info: ValidationInfo) -> tuple[Any, ...]:
        tool = info.data.get("tool")
        if not assertions:
            complain([((), "an empty list asserts nothing; name an assertion, or leave the key out")])
        complain(
            ((index, key), f"`{tool}` can't come {key} itself; name another tool")
            for index, assertion in enumerate(assertions)
            for key in ("before", "after")
            if tool is not None and matches(getattr(assertion, key, None) or "", tool)
        )
        return assertions


class ToolUsage(ScenarioPart):
    """Which tools the agent must, may and must not call.

    Every name may be a pattern: `*` is any text, `?` one character, `[ab]` one of these. Upper and lower
    case differ.

    A call that was never carried out (the tool doesn't exist, its arguments can't be used, or it was refused)
    is not a use of the tool, and neither is one that failed: they don't satisfy `required_tools`, `times`,
    `at_least`, `args`, `before` or `after`. Each still breaks a prohibition: `prohibited_tools`,
    `only_listed`, `times: 0`, `at_most: 0`, `every`, and the order of `before` and `after`. A call that the
    user rejected is one that was never carried out.

    Calls of other agents count wherever they are made, and so do hand-offs to them, by the name of the tool.
    """

    required_tools: tuple[ToolPattern, ...] = Field(
        (), description="Tools that must be called at least once.", examples=[["get_weather"]]
    )
    optional_tools: tuple[ToolPattern, ...] = Field(
        (), description="Tools that may be called. They matter where `only_listed` forbids the others."
    )
    prohibited_tools: tuple[ToolPattern, ...] = Field(
        (), description="Tools that must never be called.", examples=[["delete_order", "mcp__shop__delete_*"]]
    )
    tool_call_criteria: tuple[ToolCallCriterion, ...] = Field(
        (), description="Assertions about the calls of a tool."
    )
    only_listed: bool = Field(
        False,
        strict=True,
        description="No tool may be called but those of `required_tools`, `optional_tools`, "
        "`tool_call_criteria` and `expected_calls`.",
    )
    count_failed_calls: bool = Field(
        False, strict=True, description="A call that ended in an error counts as a use of the tool."
    )

    expected_calls: ExpectedCalls | None = Field(
        None,
        description="The calls of the whole conversation as a list, and how they are compared with it.",
        examples=[{"order": "strict", "calls": ["find_order", {"tool": "cancel_order"}]}],
    )

    @field_validator("expected_calls")
    @classmethod
    def _may_be_made(cls, expected: ExpectedCalls | None, info: ValidationInfo) -> ExpectedCalls | None:
        prohibited = info.data.get("prohibited_tools", ())
        complain(
            (("calls", place, "tool"), f"`{call.tool}` is prohibited, by `{pattern}` in `prohibited_tools`")
            for place, call in enumerate(expected.calls if expected else ())
            for pattern in prohibited
            if matches(pattern, call.tool)
        )
        return expected

    @field_validator("prohibited_tools")
    @classmethod
    def _not_both(cls, prohibited: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        allowed = {kind: info.data.get(f"{kind}_tools", ()) for kind in ("required", "optional")}
        complain(prohibition_complaints(prohibited, allowed))
        return prohibited

    def named_turns(self) -> Iterator[tuple[Loc, int]]:
        """The turns that assertions are about, with their places below this one."""
        for place, criterion in enumerate(self.tool_call_criteria):
            for index, one in enumerate(criterion.assertions):
                for key in ("by_turn", "in_turn", "not_before_turn"):
                    turn = getattr(one, key, None)
                    if turn is not None:
                        yield ("tool_call_criteria", place, "assertions", index, key), turn

    @property
    def has_checks(self) -> bool:
        """Whether code checks anything."""
        facts = any(isinstance(one, ToolAssertion) for one in self._assertions)
        lists = self.required_tools or self.prohibited_tools or self.expected_calls
        return bool(lists or self.only_listed or facts)

    @property
    def has_sentences(self) -> bool:
        """Whether the judge decides anything."""
        return any(not isinstance(one, ToolAssertion) for one in self._assertions)

    @property
    def _assertions(self) -> Iterator[Any]:
        return (one for criterion in self.tool_call_criteria for one in criterion.assertions)
