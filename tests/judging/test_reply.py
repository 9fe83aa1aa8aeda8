from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from pytest_convoprobe.judging.reply import Answers, answers_to
from pytest_convoprobe.judging.types import Criterion, CriterionKind
from pytest_convoprobe.llm.schema import strict_schema

CRITERIA = (
    Criterion("c1", CriterionKind.CORRECTNESS, "Asks"),
    Criterion("f1", CriterionKind.FAILURE, "Guesses"),
    Criterion("t1", CriterionKind.TOOL, "Called well", "tool"),
)


def answer(identifier: str, verdict: str, **fields: Any) -> dict[str, Any]:
    return {"id": identifier, "finding": "It does.", "verdict": verdict, **fields}


GOOD = [answer("c1", "met"), answer("f1", "not_triggered"), answer("t1", "cannot_tell")]


def read(*answers: dict[str, Any]) -> Answers:
    return answers_to(CRITERIA).model_validate({"answers": answers})


def test_one_answer_to_each_is_valid_in_any_order() -> None:
    assert [given.id for given in read(*GOOD[::-1]).answers] == ["t1", "f1", "c1"]


@pytest.mark.parametrize("word", ["Met", " met ", "MET"])
def test_a_verdict_may_be_written_loosely(word: str) -> None:
    assert read(answer("c1", word), *GOOD[1:]).answers[0].verdict == "met"


@pytest.mark.parametrize("word", ["not triggered", "Not-Triggered", "not_triggered"])
def test_a_verdict_of_two_words_may_be_written_loosely(word: str) -> None:
    assert read(GOOD[0], answer("f1", word), GOOD[2]).answers[1].verdict == "not_triggered"


@pytest.mark.parametrize("identifier", ["C1", "[c1]", " c1 "])
def test_an_id_may_be_written_loosely(identifier: str) -> None:
    assert read(answer(identifier, "met"), *GOOD[1:]).answers[0].id == "c1"


def test_unknown_keys_do_no_harm() -> None:
    assert read(answer("c1", "met", confidence=0.3), *GOOD[1:]).answers[0].verdict == "met"


@pytest.mark.parametrize(
    ("answers", "problem"),
    [
        (GOOD[:2], "t1 has no answer"),
        ([*GOOD, GOOD[0]], "c1 is answered 2 times"),
        ([*GOOD, answer("c9", "met")], "c9 was not asked"),
        ([], "c1 has no answer; f1 has no answer; t1 has no answer"),
        (
            [GOOD[0], answer("f1", "met"), GOOD[2]],
            "the verdict on f1 must be one of triggered, not_triggered, cannot_tell, not met",
        ),
        (
            [answer("c1", "triggered"), *GOOD[1:]],
            "the verdict on c1 must be one of met, not_met, cannot_tell, not triggered",
        ),
        ([answer("c1", "passed"), *GOOD[1:]], "Input should be 'met', 'not_met'"),
        ([answer("c1", "met", finding=""), *GOOD[1:]], "at least 1 character"),
    ],
)
def test_what_is_wrong_with_a_reply_is_said(answers: list[dict[str, Any]], problem: str) -> None:
    with pytest.raises(ValidationError) as caught:
        read(*answers)
    assert problem in str(caught.value)


def variants(*criteria: Criterion) -> list[dict[str, Any]]:
    schema = strict_schema(answers_to(criteria))
    items = schema["properties"]["answers"]["items"]
    return items.get("anyOf", [items])


def test_the_schema_binds_the_ids_of_a_kind_to_its_words() -> None:
    must, must_not = (variant["properties"] for variant in variants(*CRITERIA))
    assert must["id"]["enum"] == ["c1", "t1"]
    assert must["verdict"]["enum"] == ["met", "not_met", "cannot_tell"]
    assert must_not["id"]["enum"] == ["f1"]
    assert must_not["verdict"]["enum"] == ["triggered", "not_triggered", "cannot_tell"]


def test_the_schema_asks_for_the_finding_before_the_verdict() -> None:
    (only,) = variants(CRITERIA[0])
    assert list(only["properties"]) == ["id", "finding", "quote", "turn", "absence", "verdict"]
    assert only["required"] == list(only["properties"])
    assert only["additionalProperties"] is False
    assert "passed" not in str(only)
