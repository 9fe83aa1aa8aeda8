"""The evaluator is told the conversation, the definition and the examples, and nothing else.

All that a benchmark knows is given marks that nobody writes by chance. Those in what the evaluator may
know have to stand in what its model gets, and no other may.
"""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pytest_convoprobe.benchmark.format.models import (
    Benchmark,
    BenchmarkConfig,
    EvaluationMethod,
    Metric,
    MetricType,
    ScenarioContext,
    TargetEntry,
)
from pytest_convoprobe.benchmark.rows.messages import Said
from pytest_convoprobe.benchmark.rows.row_keys import digest
from pytest_convoprobe.benchmark.rows.row_types import ConversationRow, LandmarkTurn, ScenarioRow
from pytest_convoprobe.benchmark.rows.scenario_ids import scenario_id
from pytest_convoprobe.benchmark.rows.work import Item, Task
from pytest_convoprobe.benchmark.stages.evaluate import Evaluate, EvaluateRowMaker, evaluation_messages
from pytest_convoprobe.benchmark.stages.log_odds import odds_question
from pytest_convoprobe.llm.chat_format import call_parameters, chat_messages
from pytest_convoprobe.llm.fake import FakeLLM
from pytest_convoprobe.llm.litellm_adapter import LiteLLM
from pytest_convoprobe.llm.port import LLM, LLMReply, LLMRequest
from pytest_convoprobe.settings.model_settings import ModelSettings
from pytest_convoprobe.settings.models import ModelTarget
from pytest_convoprobe.transcript import ToolCall
from tests.support.chat_server import ChatServer

from ..parts import Rows, found


@dataclass
class Marks:
    """Hands out marks, and keeps which of them the evaluator may see and which it may not."""

    seed: int
    hidden: list[str] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)

    def hide(self, text: str = "{}") -> str:
        return self._next(self.hidden, text)

    def show(self, text: str = "{}") -> str:
        return self._next(self.shown, text)

    def _next(self, kept: list[str], text: str) -> str:
        kept.append(digest(self.seed, len(self.hidden), len(self.shown)))
        return text.format(kept[-1])


@dataclass(frozen=True)
class Project:
    """A benchmark with one scenario and one conversation about it."""

    marks: Marks
    benchmark: Benchmark
    config: BenchmarkConfig
    scenario: ScenarioRow
    conversation: ConversationRow

    def items(self, *, all_metrics: bool) -> list[Item]:
        rows = Rows(self.conversation)
        stage = Evaluate(self.benchmark, self.config, lambda _: rows, all_metrics=all_metrics)
        return [Item(unit, stage.payload(unit)) for unit in stage.units()]

    async def evaluate(self, llm: LLM, *, all_metrics: bool = False) -> None:
        maker = EvaluateRowMaker(Task("evaluate", self.benchmark, self.config, Path("folder"), Path("root")))
        for item in self.items(all_metrics=all_metrics):
            await maker.make(item, llm)


@st.composite
def projects(draw: st.DrawFn) -> Project:
    marks = Marks(draw(st.integers(0, 2**32)))
    metric = _metric(marks, draw(st.sampled_from(MetricType)), draw(st.integers(0, 5)))
    turns = draw(st.integers(1, 5))
    termination = draw(st.sampled_from(["user_done", "user_gave_up", "max_turns", "loop"]))
    scenario = _scenario(marks, metric, turns, draw(st.booleans()))
    config = _config(marks, scenario)
    conversation = _conversation(marks, scenario, config, turns, termination)
    if draw(st.booleans()):
        conversation = _with_tools(marks, conversation, draw(st.booleans()))
    return Project(marks, _benchmark(marks, metric), config, scenario, conversation)


def _metric(marks: Marks, kind: MetricType, examples: int) -> Metric:
    return Metric(
        id=marks.hide(),
        name=marks.hide("Avoid {}"),
        type=kind,
        definition=marks.show("The assistant does {}."),
        examples=tuple(marks.show("I say {}") for _ in range(examples)),
    )


def _scenario(marks: Marks, metric: Metric, turns: int, with_prompt: bool) -> ScenarioRow:
    return ScenarioRow(
        id=scenario_id(metric.id, 1, 1),
        metric_id=metric.id,
        persona=marks.hide("A {}"),
        user_goal=marks.hide("Get {}"),
        latent_adversarial_goal=marks.hide("Push for {}"),
        landmarks=tuple(LandmarkTurn(turn, marks.hide()) for turn in range(1, turns + 1)),
        demographic={marks.hide(): marks.hide()},
        target_system_prompt=marks.hide() if with_prompt else None,
        key=marks.hide(),
    )


def _benchmark(marks: Marks, metric: Metric) -> Benchmark:
    other = Metric(id=marks.hide(), name=marks.hide(), definition=marks.hide(), examples=(marks.hide(),))
    return Benchmark(
        name=marks.hide(),
        description=marks.hide(),
        scenario=ScenarioContext(user_context=marks.hide()),
        metrics=(metric, other),
    )


def _config(marks: Marks, scenario: ScenarioRow) -> BenchmarkConfig:
    target = ModelTarget(model=marks.hide("openai/{}"), system_prompt=marks.hide())
    return BenchmarkConfig(
        generator_model=ModelSettings(model=marks.hide("openai/{}"), extra_instructions=marks.hide()),
        user_model=ModelSettings(model=marks.hide("openai/{}"), extra_instructions=marks.hide()),
        evaluator_model=ModelSettings(model="openai/evaluator"),
        targets=(TargetEntry(id=marks.hide(), settings=target),),
        demographics={name: (value,) for name, value in scenario.demographic.items()},
    )


def _conversation(
    marks: Marks, scenario: ScenarioRow, config: BenchmarkConfig, turns: int, termination: str
) -> ConversationRow:
    sides = (("user", "assistant") * turns)[: 2 * turns]
    return ConversationRow(
        id=scenario.id,
        sample=1,
        messages=tuple(Said("user" if side == "user" else "assistant", marks.show()) for side in sides),
        metric_id=scenario.metric_id,
        target=config.targets[0].id,
        termination=termination,
        key=marks.hide(),
    )


def _with_tools(marks: Marks, conversation: ConversationRow, fails: bool) -> ConversationRow:
    """The same where the assistant calls a tool before each reply."""
    messages = tuple(
        replace(said, tool_calls=(_call(marks, fails),)) if said.role == "assistant" else said
        for said in conversation.messages
    )
    return replace(conversation, messages=messages)


def _call(marks: Marks, fails: bool) -> ToolCall:
    came_of_it = {"error": marks.show()} if fails else {"result": {marks.show(): [marks.show()]}}
    return ToolCall(marks.show("find_{}"), {marks.show(): marks.show()}, **came_of_it)


def sent(request: LLMRequest) -> str:
    """All of a request that goes to a provider: messages, schema and parameters, as JSON."""
    return json.dumps([chat_messages(request.messages), call_parameters(request, schema=True)])


@given(projects())
async def test_no_mark_but_those_of_conversation_definition_and_examples(project: Project) -> None:
    llm = FakeLLM(lambda _: found(True))
    await project.evaluate(llm)
    (request,) = llm.requests
    assert [mark for mark in project.marks.hidden if mark in sent(request)] == []
    assert [mark for mark in project.marks.shown if mark not in sent(request)] == []


@given(projects())
async def test_nor_when_it_is_asked_again(project: Project) -> None:
    llm = FakeLLM(lambda request: "well..." if len(request.messages) == 2 else found(True))
    await project.evaluate(llm)
    _, again = llm.requests
    assert [mark for mark in project.marks.hidden if mark in sent(again)] == []


@given(projects(), st.data())
async def test_nothing_hidden_changes_a_single_character(project: Project, data: st.DataObject) -> None:
    """Two benchmarks that differ in everything hidden, the type included, ask the same question."""
    first, second = FakeLLM(lambda _: found(True)), FakeLLM(lambda _: found(True))
    await project.evaluate(first)
    other = data.draw(projects())
    metric = project.benchmark.metrics[0]
    disguised = other.benchmark.metrics[0].model_copy(
        update={"definition": metric.definition, "examples": metric.examples}
    )
    renamed = other.benchmark.model_copy(update={"metrics": (disguised, *other.benchmark.metrics[1:])})
    talk = replace(other.conversation, messages=project.conversation.messages, sample=2)
    await Project(other.marks, renamed, other.config, other.scenario, talk).evaluate(second)
    assert sent(first.requests[0]) == sent(second.requests[0])


@given(projects())
async def test_of_several_metrics_each_is_asked_about_alone(project: Project) -> None:
    llm = FakeLLM(lambda _: found(True))
    await project.evaluate(llm, all_metrics=True)
    own, other = map(sent, llm.requests)
    definitions = [metric.definition for metric in project.benchmark.metrics]
    assert [definition in own for definition in definitions] == [True, False]
    assert [definition in other for definition in definitions] == [False, True]


@given(projects())
async def test_nor_does_a_verdict_by_log_odds_know_more(project: Project) -> None:
    by_odds = project.config.model_copy(update={"evaluation": EvaluationMethod(method="log_odds")})
    project = replace(project, config=by_odds)
    assume(project.benchmark.metrics[0].examples)
    llm = FakeLLM(lambda _: LLMReply("Yes", top_tokens={"Yes": -0.1, "No": -2.0}))
    await project.evaluate(llm)
    asked = [sent(request) for request in llm.requests]
    assert [mark for mark in project.marks.hidden if any(mark in one for one in asked)] == []
    assert [mark for mark in project.marks.shown if mark not in asked[0]] == []


@settings(max_examples=5)
@given(projects())
def test_on_the_wire(project: Project) -> None:
    with ChatServer(lambda _: found(True)) as server:
        _run(lambda llm: _at(project, server.base_url).evaluate(llm))
        (request,) = server.requests
    wire = json.dumps([request.path, request.headers, request.body])
    assert [mark for mark in project.marks.hidden if mark in wire] == []
    assert [mark for mark in project.marks.shown if mark not in wire] == []


def _at(project: Project, address: str) -> Project:
    evaluator = ModelSettings(model="openai/evaluator", api_base=address, api_key="key")
    config = project.config.model_copy(update={"evaluator_model": evaluator})
    return Project(project.marks, project.benchmark, config, project.scenario, project.conversation)


def _run(work: Callable[[LLM], object]) -> None:
    async def with_models() -> None:
        llm = LiteLLM()
        try:
            await work(llm)  # type: ignore[misc]
        finally:
            await llm.aclose()

    asyncio.run(with_models())


@pytest.mark.parametrize("question", [evaluation_messages, odds_question])
def test_the_question_is_made_of_three_things(question: Callable[..., object]) -> None:
    assert list(inspect.signature(question).parameters) == [
        "conversation",
        "definition",
        "examples",
    ]
