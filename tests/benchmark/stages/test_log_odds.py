from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convoprobe.benchmark.format.models import BenchmarkConfig, EvaluationMethod
from pytest_convoprobe.benchmark.rows.row_types import ScoreRow
from pytest_convoprobe.benchmark.stages.evaluate import Evaluate, EvaluateRowMaker
from pytest_convoprobe.errors import NoTokenChances, ResultsError
from pytest_convoprobe.judging.log_odds import log_odds
from pytest_convoprobe.llm.fake import FakeLLM
from pytest_convoprobe.llm.port import CallContext, LLMReply, LLMRequest, Role
from pytest_convoprobe.settings.model_settings import ModelSettings
from tests.support.chat_server import ChatServer, Completion

from ..parts import METRIC, TALK, Rows, benchmark, config, conversation, evaluation, task

BY_ODDS = EvaluationMethod(method="log_odds")


def by_odds(**changes: Any) -> BenchmarkConfig:
    return config(evaluation=BY_ODDS, **changes)


def leaning(yes: float) -> LLMReply:
    """The reply of a model whose log-odds of Yes are these."""
    return LLMReply("No", top_tokens={"Yes": yes - 1, "No": -1.0})


def evaluator(talk: float, examples: float, greeting: float) -> FakeLLM:
    """Leans as told when it reads the conversation, one of the examples, or the greeting."""

    def answer(request: LLMRequest) -> LLMReply:
        view = request.messages[-1].content.partition("A behaviour:")[0]
        if TALK[1].content in view:
            return leaning(talk)
        return leaning(examples if any(example in view for example in METRIC.examples) else greeting)

    return FakeLLM(answer)


async def score(llm: FakeLLM, **changes: Any) -> ScoreRow:
    maker = EvaluateRowMaker(task("evaluate", by_odds(), **changes))
    return ScoreRow.from_json(await maker.make(evaluation(), llm))


@pytest.mark.parametrize(
    ("tokens", "odds"),
    [
        ({"Yes": -0.5, "No": -1.5}, 1.0),
        ({"No": -0.1, "Yes": -3.1}, -3.0),
        ({"Yes": math.log(0.2), " yes": math.log(0.3), "NO": math.log(0.25)}, math.log(2)),
        ({"Yes": -0.1, "Maybe": -4.0}, 3.9),
        ({"\u2581no": -0.2, "The": -3.2}, -3.0),
        ({"Yes": math.log(0.75)}, math.log(3)),
        ({"Yes": 0.0}, 10.0),
        ({"Yes": -0.0, "No": -9999.0}, 10.0),
        ({"Yes": -math.inf, "No": 0.0}, -10.0),
        ({"The": -0.1, "Well": -2.5}, None),
        ({"Yes": math.nan, "No": -1.0}, None),
        ({"Yes": math.inf, "No": -1.0}, None),
    ],
)
def test_how_much_likelier_yes_is(tokens: Mapping[str, float], odds: float | None) -> None:
    assert log_odds(tokens) == (None if odds is None else pytest.approx(odds))


@given(st.dictionaries(st.sampled_from(["Yes", " yes", "No", "no", "So", ""]), st.floats(-30, 0), min_size=1))
def test_yes_and_no_are_each_others_opposites(tokens: dict[str, float]) -> None:
    swapped = {"Yes": "No", " yes": "no", "No": "Yes", "no": " yes"}
    odds, other = log_odds(tokens), log_odds({swapped.get(name, name): one for name, one in tokens.items()})
    assert (odds is None) == (other is None)
    assert odds is None or other == pytest.approx(-odds)


@pytest.mark.parametrize(
    ("talk", "present"), [(2.1, True), (1.6, True), (1.4, False), (-3.0, False), (9.0, True)]
)
async def test_a_conversation_is_as_the_nearer_of_examples_and_greeting(talk: float, present: bool) -> None:
    row = await score(evaluator(talk, examples=2.0, greeting=1.0))
    assert (row.present, row.passed) == (present, not present)
    assert row.justification == (
        f"The log-odds of Yes are {talk:.2f}, beside 2.00 for the metric's examples and 1.00 for a greeting."
    )


@pytest.mark.parametrize("examples", [1.05, 1.0, -2.0])
async def test_an_evaluator_that_does_not_know_the_examples_from_a_greeting_says_nothing(
    examples: float,
) -> None:
    row = await score(evaluator(3.0, examples, greeting=1.0))
    assert (row.present, row.passed, row.score) == (None, None, None)
    assert row.justification.startswith(
        "The evaluator can't recognise this behaviour: its log-odds of Yes are "
    )


async def test_an_answer_that_is_neither_is_no_verdict() -> None:
    row = await score(FakeLLM(lambda _: LLMReply("Well", top_tokens={"Well": -0.1})))
    assert (row.present, row.justification) == (None, "The evaluator would answer neither Yes nor No.")


async def test_a_model_that_tells_no_chances_is_refused() -> None:
    with pytest.raises(NoTokenChances, match=r"openai/evaluator doesn't report .* method answer"):
        await score(FakeLLM(lambda _: "Yes"))


async def test_a_metric_without_examples_cannot_be_compared() -> None:
    bare = benchmark(METRIC.model_copy(update={"examples": ()}))
    with pytest.raises(ResultsError, match="m01 has no examples"):
        await score(evaluator(1, 1, 0), benchmark=bare)


@pytest.mark.parametrize("never", [-9999.0, -math.inf])
async def test_one_example_that_is_never_answered_with_yes_does_not_move_the_middle_out_of_reach(
    never: float,
) -> None:
    def answer(request: LLMRequest) -> LLMReply:
        view = request.messages[-1].content.partition("A behaviour:")[0]
        if METRIC.examples[0] in view:
            return LLMReply("Yes", top_tokens={"Yes": -0.0, "No": never})
        return leaning(5.5 if TALK[1].content in view or METRIC.examples[1] in view else 0.0)

    assert (await score(FakeLLM(answer))).present is True


async def test_each_call_asks_for_one_token_and_its_chances() -> None:
    llm = evaluator(2.0, 2.0, 0.0)
    await score(llm)
    places = [CallContext(Role.EVALUATOR, "m01_s001_v01", 1, number) for number in range(4)]
    assert [request.context for request in llm.requests] == places
    assert {(request.max_tokens, request.top_tokens) for request in llm.requests} == {(1, 20)}


def test_its_calls_are_forecast_and_its_rows_are_others() -> None:
    def only_unit(settings: BenchmarkConfig) -> tuple[str, Mapping[str, int]]:
        stage = Evaluate(benchmark(), settings, lambda _: Rows(conversation()))
        (unit,) = stage.units()
        return unit.key, stage.calls(unit)

    (by_answer, one), (by_chance, four) = only_unit(config()), only_unit(by_odds())
    assert (one, four) == ({"evaluator": 1}, {"evaluator": 2 + len(METRIC.examples)})
    assert by_answer != by_chance


def test_calls_are_forecast_for_a_metric_that_is_gone() -> None:
    stage = Evaluate(
        benchmark(METRIC.model_copy(update={"id": "m09"})), by_odds(), lambda _: Rows(conversation())
    )
    (unit,) = stage.units()
    assert stage.calls(unit) == {"evaluator": 1}


async def test_over_the_network() -> None:
    from pytest_convoprobe.llm.litellm_adapter import LiteLLM

    def answer(body: dict[str, Any]) -> Completion:
        present = "What a brilliant idea!" in body["messages"][-1]["content"].partition("A behaviour:")[0]
        return Completion("Yes", top_tokens={"Yes": -0.2 if present else -2.0, "No": -0.5})

    llm = LiteLLM()
    with ChatServer(answer) as server:
        model = ModelSettings(model="openai/judge", api_base=server.base_url, api_key="key")
        maker = EvaluateRowMaker(task("evaluate", by_odds(evaluator_model=model)))
        row = await maker.make(evaluation(), llm)
    await llm.aclose()
    assert row["present"] is True
    assert [request.body["top_logprobs"] for request in server.requests] == [20] * 4
    assert json.dumps(row).count("0.30") == 1
