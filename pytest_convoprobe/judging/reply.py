"""The shape of the judge's reply, made for the questions of one call."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    WithJsonSchema,
    create_model,
    model_validator,
)

from .questions import JudgeQuestion

FINDING = "<what was said or done that decides it>"
"""What the example in the prompt has in place of a finding. Who copies it has found nothing."""
_QUOTE = "<words copied from one line>"

# The last two were in the prompt of earlier releases; models that learn from transcripts of it repeat them.
_COPIED = re.compile(r"In turn \d+ the (agent|user)", re.IGNORECASE)
_ID = re.compile(r"[a-z]+\d+")


def as_word(value: object) -> object:
    """Accept `Not met` and `cannot-tell` for `not_met` and `cannot_tell`: models write them that way."""
    if isinstance(value, bool):
        return str(value).lower()
    return "_".join(value.strip().lower().replace("-", " ").split()) if isinstance(value, str) else value


class CriterionAnswer(BaseModel):
    """The judge's answer to one question; the fields have the order in which it should think."""

    finding: Annotated[str, Field(min_length=1)]
    quote: str | None = None
    turn: int | None = None
    absence: bool = False
    verdict: Annotated[str, BeforeValidator(as_word)]


class KeyedReply(BaseModel):
    """A reply with one field for each id that was asked, all of them required.

    An array would let a model leave one out, which small models do. The form of earlier releases,
    `{"answers": [{"id": "c1", …}]}`, is read too where it is complete.
    """

    @model_validator(mode="before")
    @classmethod
    def _by_id(cls, data: Any) -> Any:
        asked = tuple(cls.model_fields)
        found, problems = _keyed(data) if isinstance(data, Mapping) else ({}, [])
        if len(asked) == 1 and data and _is_bare(found, cls.model_fields[asked[0]].annotation):
            # Asked about one thing only, models like to leave its id out.
            found = {asked[0]: data}
        problems += [f"{name} has no answer" for name in asked if name not in found]
        problems += [f"{name} was not asked" for name in found if name not in asked and _ID.fullmatch(name)]
        if problems:
            raise ValueError("; ".join(problems))
        return {name: found[name] for name in asked}

    def of(self, identifier: str) -> Any:
        """What was answered under this id."""
        return getattr(self, identifier)


def answers_to(questions: Sequence[JudgeQuestion]) -> type[KeyedReply]:
    """A reply that is valid only if it answers each of these questions, in its own words.

    Its fields are of `CriterionAnswer`. Its schema says the same, for models with structured output.
    """
    return keyed_reply(
        "Answers", tuple((question.id, _answer_type(question.words)) for question in questions)
    )


@lru_cache(maxsize=64)
def keyed_reply(name: str, fields: tuple[tuple[str, type[BaseModel]], ...]) -> type[KeyedReply]:
    """Cached: making a pydantic model takes longer than the rest of our work for a call."""
    types: dict[str, Any] = {identifier: (kind, ...) for identifier, kind in fields}
    return create_model(name, __base__=KeyedReply, **types)


@lru_cache(maxsize=16)
def _answer_type(words: tuple[str, ...]) -> type[CriterionAnswer]:
    schema = WithJsonSchema({"type": "string", "enum": list(words)})
    check: Callable[[str], str] = partial(_one_of, words)
    verdict = Annotated[str, BeforeValidator(as_word), AfterValidator(check), schema]
    return create_model(f"Answer_{words[0]}", __base__=CriterionAnswer, verdict=(verdict, ...))


def _one_of(words: tuple[str, ...], word: str) -> str:
    if word not in words:
        raise ValueError(f"must be one of {', '.join(words)}")
    return word


def example(questions: Sequence[JudgeQuestion]) -> str:
    """The object that is wanted, with the real ids: a model without schemas has only this to go by."""
    answers = {
        question.id: {
            "finding": FINDING,
            "quote": _QUOTE,
            "turn": 1,
            "absence": False,
            "verdict": f"<{', '.join(question.words[:-1])} or {question.words[-1]}>",
        }
        for question in questions
    }
    return json.dumps(answers, ensure_ascii=False)


def is_copied(finding: str) -> bool:
    """Whether the finding is a placeholder: that of the prompt, or one without any word."""
    words = finding.strip().strip('."\u2026 ')
    return not re.search(r"\w", words) or words == FINDING or _COPIED.fullmatch(words) is not None


def _keyed(data: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The answers by id, and what is wrong with the ids."""
    answers = data.get("answers", data)
    if isinstance(answers, Mapping):
        pairs = [(_as_id(key), value) for key, value in answers.items()]
    elif isinstance(answers, list):
        pairs = [(_as_id(one["id"]), one) for one in answers if isinstance(one, Mapping) and "id" in one]
    else:
        pairs = []
    # `c1` and `C1` are the same id: which of two answers is meant, only the model can say.
    counts = Counter(name for name, _ in pairs if _ID.fullmatch(name))
    twice = [f"{name} is answered {count} times" for name, count in counts.items() if count > 1]
    return dict(pairs), twice


def _is_bare(found: Mapping[str, Any], answer: Any) -> bool:
    """Whether these are the fields of an answer, and not answers by their ids."""
    return set(answer.model_fields) <= set(found)


def _as_id(value: object) -> str:
    """Accept `[C1]` for `c1`: the prompt has ids in brackets."""
    return str(value).strip().strip("[]").lower()
