from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import ValidationError

from pytest_convoprobe.judging.questions import opposite_of, statement_of
from pytest_convoprobe.judging.reply import answers_to, example, is_copied
from pytest_convoprobe.judging.types import Criterion, CriterionKind
from pytest_convoprobe.llm.schema import strict_schema

QUESTIONS = tuple(
    map(
        statement_of,
        (
            Criterion("c1", CriterionKind.CORRECTNESS, "Asks"),
            Criterion("f1", CriterionKind.FAILURE, "Guesses"),
            Criterion("t1", CriterionKind.TOOL, "Called well", "tool"),
        ),
    )
)


def answer(verdict: Any, **fields: Any) -> dict[str, Any]:
    return {"finding": "It does.", "verdict": verdict, **fields}


GOOD = {"c1": answer("met"), "f1": answer("not_triggered"), "t1": answer("cannot_tell")}


def read(data: dict[str, Any], questions: Any = QUESTIONS) -> dict[str, str]:
    reply = answers_to(questions).model_validate(data)
    return {question.id: reply.of(question.id).verdict for question in questions}


def listed(answers: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"id": identifier, **given} for identifier, given in answers.items()]


VERDICTS = {"c1": "met", "f1": "not_triggered", "t1": "cannot_tell"}


def test_an_answer_under_each_id_is_valid_in_any_order() -> None:
    assert read(dict(reversed(GOOD.items()))) == VERDICTS


def test_the_list_of_earlier_releases_is_read_where_it_is_complete() -> None:
    assert read({"answers": listed(GOOD)[::-1]}) == VERDICTS
    assert read({"answers": GOOD}) == VERDICTS


@pytest.mark.parametrize("word", ["Met", " met ", "MET"])
def test_a_verdict_may_be_written_loosely(word: str) -> None:
    assert read({**GOOD, "c1": answer(word)})["c1"] == "met"


@pytest.mark.parametrize("word", ["not triggered", "Not-Triggered", "not_triggered"])
def test_a_verdict_of_two_words_may_be_written_loosely(word: str) -> None:
    assert read({**GOOD, "f1": answer(word)})["f1"] == "not_triggered"


@pytest.mark.parametrize("identifier", ["C1", "[c1]", " c1 "])
def test_an_id_may_be_written_loosely(identifier: str) -> None:
    others = {key: given for key, given in GOOD.items() if key != "c1"}
    assert read({identifier: answer("met"), **others}) == VERDICTS
    assert read({"answers": listed({identifier: answer("met"), **others})}) == VERDICTS


def test_one_answer_alone_may_leave_out_its_id() -> None:
    whole = answer("met", quote=None, turn=None, absence=True)
    assert read(whole, QUESTIONS[:1]) == {"c1": "met"}
    with pytest.raises(ValidationError, match="c1 has no answer; f1 has no answer"):
        read(whole, QUESTIONS[:2])


def test_unknown_keys_do_no_harm() -> None:
    assert read({**GOOD, "c1": answer("met", confidence=0.3), "summary": "Fine."}) == VERDICTS


@pytest.mark.parametrize("word", ["true", True, "True"])
def test_a_statement_is_true_or_false(word: Any) -> None:
    opposite = opposite_of(Criterion("c1", CriterionKind.CORRECTNESS, "Asks"))
    assert read({"c1": answer(word)}, [opposite]) == {"c1": "true"}


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        ({"c1": GOOD["c1"], "f1": GOOD["f1"]}, "t1 has no answer"),
        ({"answers": listed(GOOD)[:2]}, "t1 has no answer"),
        ({"answers": [*listed(GOOD), *listed(GOOD)[:1]]}, "c1 is answered 2 times"),
        ({**GOOD, "[C1]": answer("not_met")}, "c1 is answered 2 times"),
        ({**GOOD, "c9": answer("met")}, "c9 was not asked"),
        ({}, "c1 has no answer; f1 has no answer; t1 has no answer"),
        ({**GOOD, "f1": answer("met")}, "must be one of triggered, not_triggered, cannot_tell"),
        ({**GOOD, "c1": answer("triggered")}, "must be one of met, not_met, cannot_tell"),
        ({**GOOD, "c1": answer("<met, not_met or cannot_tell>")}, "must be one of met, not_met"),
        ({**GOOD, "c1": answer("met", finding="")}, "at least 1 character"),
        ({**GOOD, "c1": "met"}, "valid dictionary"),
    ],
)
def test_what_is_wrong_with_a_reply_is_said(reply: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValidationError) as caught:
        read(reply)
    assert problem in str(caught.value)


def test_the_schema_requires_every_id_with_the_words_of_its_kind() -> None:
    schema = strict_schema(answers_to(QUESTIONS))
    assert schema["required"] == ["c1", "f1", "t1"]
    assert schema["additionalProperties"] is False
    must, must_not = (schema["$defs"][f"Answer_{word}"]["properties"] for word in ("met", "triggered"))
    assert must["verdict"]["enum"] == ["met", "not_met", "cannot_tell"]
    assert must_not["verdict"]["enum"] == ["triggered", "not_triggered", "cannot_tell"]
    assert schema["properties"]["t1"] == schema["properties"]["c1"]


def test_the_schema_asks_for_the_finding_before_the_verdict() -> None:
    only = strict_schema(answers_to(QUESTIONS[:1]))["$defs"]["Answer_met"]
    assert list(only["properties"]) == ["finding", "quote", "turn", "absence", "verdict"]
    assert only["required"] == list(only["properties"])
    assert only["additionalProperties"] is False


def test_the_example_has_the_real_ids_and_cannot_pass_as_an_answer() -> None:
    copied = json.loads(example(QUESTIONS))
    assert list(copied) == ["c1", "f1", "t1"]
    with pytest.raises(ValidationError):
        read(copied)
    assert is_copied(copied["c1"]["finding"])


@pytest.mark.parametrize("finding", ["...", "…", "In turn 1 the agent ...", "In turn 2 the user …", " - "])
def test_a_placeholder_is_not_a_finding(finding: str) -> None:
    assert is_copied(finding)


@pytest.mark.parametrize("finding", ["In turn 1 the agent asks.", "Ja", "好", "The agent..."])
def test_a_short_finding_is_one(finding: str) -> None:
    assert not is_copied(finding)
