from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pytest_convoprobe import prompts
from pytest_convoprobe.conversation.reply import UserReply
from pytest_convoprobe.judging.questions import statement_of
from pytest_convoprobe.judging.reply import answers_to, example
from pytest_convoprobe.judging.types import Criterion, CriterionKind
from pytest_convoprobe.llm.schema import strict_schema

from .default_answers import default_answer

CRITERIA = (
    Criterion("c1", CriterionKind.CORRECTNESS, "is kind"),
    Criterion("f1", CriterionKind.FAILURE, "is rude"),
)
QUESTIONS = tuple(map(statement_of, CRITERIA))
MESSAGES = [
    {"role": "system", "content": prompts.render("judge_system", extra_instructions="")},
    {"role": "user", "content": f"[c1] must: is kind\n[f1] must not: is rude\n{example(QUESTIONS)}"},
]


def wanted(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}}


def verdicts(answer: Any) -> dict[str, str]:
    reply = answers_to(QUESTIONS).model_validate_json(answer)
    return {question.id: reply.of(question.id).verdict for question in QUESTIONS}


def test_a_judge_that_is_sent_a_schema_is_content() -> None:
    body = {"messages": MESSAGES, **wanted(strict_schema(answers_to(QUESTIONS)))}
    assert verdicts(default_answer(body)) == {"c1": "met", "f1": "not_triggered"}


def test_a_judge_that_is_shown_an_example_is_content() -> None:
    assert verdicts(default_answer({"messages": MESSAGES})) == {"c1": "met", "f1": "not_triggered"}


def test_a_user_that_is_sent_a_schema_goes_on() -> None:
    body = {"messages": [{"role": "user", "content": "hello"}], **wanted(strict_schema(UserReply))}
    assert UserReply.model_validate_json(str(default_answer(body))).status == "continue"


def test_a_user_that_is_shown_an_example_goes_on() -> None:
    system = 'Answer:\n{"message": "what you say", "status": "continue"}\nThat is all.'
    answer = json.loads(str(default_answer({"messages": [{"role": "system", "content": system}]})))
    assert answer["status"] == "continue"
    assert answer["message"] != "what you say"


def test_a_user_does_not_repeat_itself() -> None:
    texts = {default_answer({"messages": [{}] * n, **wanted(strict_schema(UserReply))}) for n in range(1, 20)}
    assert len(texts) == 19
