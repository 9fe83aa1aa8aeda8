"""What the judge decides: a sentence alone, or a sentence with what is known about it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag, model_validator

from ..text import same_words
from ..yaml_source.explain import UNION_TAG, complain
from .fields import ScenarioPart, Sentence, text_or_mapping


class JudgedSentence(ScenarioPart):
    """A criterion with what the judge is asked once where the author doesn't say it.

    Each key but `text` may be left out: then the judge decides it, once for all conversations.
    """

    text: Sentence = Field(
        description="The criterion, as one sentence.", examples=["The agent never asks for a password"]
    )
    about: Literal["agent", "user", "tool", "any"] | None = Field(
        None,
        description="Whose words or deeds decide it. Only these can be quoted as evidence: `agent` (replies "
        "and the calls that it makes), `user`, `tool` (calls and results), `any`.",
    )
    shows: Literal["presence", "absence"] | None = Field(
        None,
        description="`presence`: it is true if something happens; `absence`: if something doesn't happen.",
    )
    opposite: Sentence | None = Field(
        None,
        description="A sentence that is true exactly where `text` is not. A second vote is asked about it.",
        examples=["The agent asks for a password"],
    )

    @model_validator(mode="after")
    def _differ(self) -> JudgedSentence:
        if self.opposite is not None and same_words(self.opposite, self.text):
            complain([(("opposite",), "is the same as `text`; say what is true where `text` is not")])
        return self


def sentence_or_facts(value: Any) -> str:
    """Which kind of assertion a value is: a text, a mapping with a text, or a mapping that code decides."""
    has_text = "text" in value if isinstance(value, dict) else isinstance(value, JudgedSentence)
    return f"{UNION_TAG}sentence" if has_text else text_or_mapping(value)


def criterion_form(value: Any) -> str:
    """Which form a criterion has, for its errors: an unquoted colon makes a mapping of a sentence."""
    if isinstance(value, dict) and len(value) == 1 and " " in str(next(iter(value))).strip():
        return f"{UNION_TAG}text"
    return text_or_mapping(value)


CriterionItem = Annotated[
    Annotated[Sentence, Tag(f"{UNION_TAG}text")] | Annotated[JudgedSentence, Tag(f"{UNION_TAG}mapping")],
    Discriminator(criterion_form),
]
"""A sentence, or a mapping with the sentence as its `text`."""
