"""The shape of the judge's reply, made for the criteria of one call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, WithJsonSchema, create_model

from .types import Criterion, CriterionKind

Word = Literal["met", "not_met", "triggered", "not_triggered", "cannot_tell"]

WORDS: dict[CriterionKind, dict[str, bool | None]] = {
    CriterionKind.CORRECTNESS: {"met": True, "not_met": False, "cannot_tell": None},
    CriterionKind.TOOL: {"met": True, "not_met": False, "cannot_tell": None},
    CriterionKind.FAILURE: {"triggered": False, "not_triggered": True, "cannot_tell": None},
}
"""The judge's words for each kind of criterion, with what they mean for the agent."""


def _as_word(value: object) -> object:
    """Accept `Not met` and `cannot-tell` for `not_met` and `cannot_tell`: models write them that way."""
    return "_".join(value.strip().lower().replace("-", " ").split()) if isinstance(value, str) else value


def _as_id(value: object) -> object:
    """Accept `[C1]` for `c1`: the prompt has ids in brackets."""
    return value.strip().strip("[]").lower() if isinstance(value, str) else value


class CriterionAnswer(BaseModel):
    """The judge's answer to one criterion; the fields have the order in which it should think."""

    id: Annotated[str, BeforeValidator(_as_id)]
    finding: Annotated[str, Field(min_length=1)]
    quote: str | None = None
    turn: int | None = None
    absence: bool = False
    verdict: Annotated[Word, BeforeValidator(_as_word)]


class Answers(BaseModel):
    """One answer to each criterion that was asked."""

    answers: tuple[CriterionAnswer, ...]


def answers_to(criteria: Sequence[Criterion]) -> type[Answers]:
    """A reply that is valid only if it answers each of these criteria once, in the words of its kind.

    Its schema says the same, as far as a schema can, for models with structured output.
    """
    return _answers_to(tuple(replace(criterion, text="", tool=None) for criterion in criteria))


@lru_cache(maxsize=64)
def _answers_to(criteria: tuple[Criterion, ...]) -> type[Answers]:
    """Cached without the texts: making a pydantic model takes longer than the rest of our work for a call."""
    check: Callable[[tuple[CriterionAnswer, ...]], tuple[CriterionAnswer, ...]] = partial(_checked, criteria)
    schema = WithJsonSchema({"type": "array", "items": _item_schema(criteria)})
    answers = Annotated[tuple[CriterionAnswer, ...], AfterValidator(check), schema]
    return create_model("Answers", __base__=Answers, answers=(answers, ...))


def _item_schema(criteria: Sequence[Criterion]) -> dict[str, Any]:
    """The schema of an answer: ids of a kind only with the words of that kind."""
    ids: dict[tuple[str, ...], list[str]] = {}
    for criterion in criteria:
        ids.setdefault(tuple(WORDS[criterion.kind]), []).append(criterion.id)
    variants = [_answer_schema(group, list(words)) for words, group in ids.items()]
    return variants[0] if len(variants) == 1 else {"anyOf": variants}


def _answer_schema(ids: list[str], words: list[str]) -> dict[str, Any]:
    schema = CriterionAnswer.model_json_schema()
    bound = {"id": {"type": "string", "enum": ids}, "verdict": {"type": "string", "enum": words}}
    return {"type": "object", "properties": {**schema["properties"], **bound}, "required": schema["required"]}


def _checked(
    criteria: Sequence[Criterion], answers: tuple[CriterionAnswer, ...]
) -> tuple[CriterionAnswer, ...]:
    problems = [*_problems_of_ids(criteria, answers), *_problems_of_words(criteria, answers)]
    if problems:
        raise ValueError("; ".join(problems))
    return answers


def _problems_of_ids(criteria: Sequence[Criterion], answers: tuple[CriterionAnswer, ...]) -> list[str]:
    asked = [criterion.id for criterion in criteria]
    given = Counter(answer.id for answer in answers)
    return [
        *(f"{identifier} has no answer" for identifier in asked if identifier not in given),
        *(f"{identifier} is answered {count} times" for identifier, count in given.items() if count > 1),
        *(f"{identifier} was not asked" for identifier in given if identifier not in asked),
    ]


def _problems_of_words(criteria: Sequence[Criterion], answers: tuple[CriterionAnswer, ...]) -> list[str]:
    words = {criterion.id: WORDS[criterion.kind] for criterion in criteria}
    return [
        f"the verdict on {answer.id} must be one of {', '.join(words[answer.id])}, not {answer.verdict}"
        for answer in answers
        if answer.id in words and answer.verdict not in words[answer.id]
    ]
