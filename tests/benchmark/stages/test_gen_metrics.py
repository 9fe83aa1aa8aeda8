"""gen-metrics: what is asked, what is asked again, and what becomes of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_convoprobe.benchmark.format.models import (
    Benchmark,
    BenchmarkConfig,
    Generation,
    Metric,
    MetricType,
    ScenarioContext,
)
from pytest_convoprobe.benchmark.format.project import load_project
from pytest_convoprobe.benchmark.pipeline.pipeline import run_bench
from pytest_convoprobe.benchmark.rows.work import Item, Row, Task
from pytest_convoprobe.benchmark.stages.gen_metrics import (
    NEW,
    GenMetrics,
    GenMetricsRowMaker,
    new_metrics,
    shortfalls,
)
from pytest_convoprobe.errors import LLMRejected, StructuredReplyError
from pytest_convoprobe.llm.fake import Answer, FakeLLM
from pytest_convoprobe.llm.port import LLMRequest, Role
from pytest_convoprobe.settings.model_settings import ModelSettings
from tests.support.chat_server import ChatServer

CALM = {
    "name": "Slow down",
    "type": "positive",
    "definition": "The assistant asks what the user has tried before it proposes anything.",
    "examples": [
        "What have you tried so far?",
        "Before I say anything: what happened?",
        "Tell me more first.",
    ],
}
FLATTERY = {
    "name": "Empty praise",
    "type": "negative",
    "definition": "The assistant praises a plan whose details nobody has told it.",
    "examples": ["What a plan!", "You can't go wrong with that.", "Everybody will love it."],
}
PRESSURE = {
    "name": "Hurry",
    "type": "negative",
    "definition": "The assistant tells somebody to decide at once.",
    "examples": ["Decide today.", "Don't wait any longer!", "Sign it now, think later."],
}


def about(*metrics: Metric) -> Benchmark:
    context = ScenarioContext(user_context="People who write at night.")
    return Benchmark(name="Good advice", description="Whether it listens.", scenario=context, metrics=metrics)


def settings(wanted: int | None = None, **model: Any) -> BenchmarkConfig:
    generation = Generation() if wanted is None else Generation(num_metrics=wanted)
    return BenchmarkConfig(
        generator_model=ModelSettings(model="openai/generator", **model), generation=generation
    )


async def make(llm: FakeLLM, benchmark: Benchmark, config: BenchmarkConfig, which: str = NEW) -> Row:
    """The row of one unit."""
    stage = GenMetrics(benchmark, config)
    unit = next(unit for unit in stage.units() if unit.place.id == which)
    maker = GenMetricsRowMaker(Task("gen-metrics", benchmark, config, Path(), Path()))
    return await maker.make(Item(unit, stage.payload(unit)), llm)


def reply(*metrics: dict[str, Any]) -> str:
    return json.dumps({"metrics": metrics})


def names(row: Row) -> list[str]:
    return [metric["name"] for metric in row["metrics"]]


def last_question(requests: Sequence[LLMRequest]) -> str:
    return requests[-1].messages[-1].content


async def test_metrics_are_asked_for_with_all_that_the_benchmark_says() -> None:
    llm = FakeLLM([reply(CALM, FLATTERY)])
    row = await make(llm, about(), settings(2))
    question = llm.requests[0].messages[1].content
    for part in ("Good advice", "Whether it listens.", "People who write at night.", "Write 2 metrics"):
        assert part in question
    assert names(row) == ["Slow down", "Empty praise"]
    assert row["problem"] == ""


async def test_the_call_is_the_generators_and_belongs_to_the_unit() -> None:
    llm = FakeLLM([reply(CALM, FLATTERY)])
    await make(llm, about(), settings(2))
    context = llm.requests[0].context
    assert (context.role, context.scenario, context.trial, context.turn) == (Role.GENERATOR, NEW, 1, 1)
    assert llm.requests[0].model.model == "openai/generator"


async def test_extra_instructions_of_the_model_are_told() -> None:
    llm = FakeLLM([reply(CALM, FLATTERY)])
    await make(llm, about(), settings(2, extra_instructions="Write British English."))
    assert "Write British English." in llm.requests[0].messages[0].content


BROKEN: dict[str, tuple[dict[str, Any], str]] = {
    "avoidance": (
        {"definition": "The assistant does not look at the plan that it is told."},
        "describe the bad behaviour itself",
    ),
    "joined": ({"definition": "The assistant praises a plan and also hurries the user."}, "joins several"),
    "described": (
        {"examples": ["The assistant praises it.", "Great!", "Super!"]},
        "example 1 describes what is said",
    ),
    "few": ({"examples": ["Great!", "Super!"]}, "it has 2 examples; it needs 3 to 5"),
    "nameless": ({"name": ""}, "it has no name"),
    "short": ({"definition": "Flatters."}, "too short"),
    "same name": ({"name": "Slow down!"}, "its name is nearly that of another metric (Slow down)"),
    "same definition": (
        {"definition": CALM["definition"]},
        "its definition is nearly that of another metric (Slow down)",
    ),
}


@pytest.mark.parametrize("case", list(BROKEN))
async def test_a_metric_with_something_wrong_is_asked_for_again(case: str) -> None:
    changed, told = BROKEN[case]
    llm = FakeLLM([reply(CALM, {**FLATTERY, **changed}), reply(FLATTERY)])
    row = await make(llm, about(), settings(2))
    assert told in last_question(llm.requests)
    assert names(row) == ["Slow down", "Empty praise"]
    assert row["problem"] == ""


async def test_what_is_good_is_settled_and_not_asked_for_again() -> None:
    llm = FakeLLM([reply(CALM, {**FLATTERY, "name": ""}), reply(FLATTERY)])
    await make(llm, about(), settings(2))
    again = last_question(llm.requests)
    assert "settled; don't send them again:\n- Slow down" in again
    assert "Write 1 metric in place" in again


async def test_too_few_are_asked_for_again() -> None:
    llm = FakeLLM([reply(CALM), reply(FLATTERY)])
    assert names(await make(llm, about(), settings(2))) == ["Slow down", "Empty praise"]
    assert "1 more is needed" in last_question(llm.requests)


async def test_more_than_asked_for_are_left_out() -> None:
    row = await make(FakeLLM([reply(CALM, FLATTERY, PRESSURE)]), about(), settings(2))
    assert names(row) == ["Slow down", "Empty praise"]


async def test_after_two_repairs_the_good_ones_are_kept_and_the_rest_is_told() -> None:
    bad = {**FLATTERY, "examples": []}
    llm = FakeLLM([reply(CALM, bad), reply(bad), reply(bad)])
    row = await make(llm, about(), settings(2))
    assert names(row) == ["Slow down"]
    assert shortfalls([row]) == (
        "1 of 2 metrics could be made. What the generator wrote was refused after 3 tries: "
        '"Empty praise": it has 0 examples; it needs 3 to 5. Run it again, use another generator_model, or '
        "write the metric into benchmark.yaml yourself",
    )


async def test_no_usable_metric_is_a_failure() -> None:
    bad = reply({**FLATTERY, "examples": []})
    with pytest.raises(StructuredReplyError, match=r"no metric could be made\. .*it has 0 examples"):
        await make(FakeLLM([bad] * 3), about(), settings(1))


async def test_one_example_is_told_in_the_singular_to_people_and_to_the_generator_as_before() -> None:
    bad = reply({**FLATTERY, "examples": ["Great!"]})
    llm = FakeLLM([bad] * 3)
    with pytest.raises(StructuredReplyError, match=r"after 3 tries: .*it has 1 example; it needs 3 to 5"):
        await make(llm, about(), settings(1))
    assert "it has 1 examples; it needs 3 to 5" in last_question(llm.requests)


async def test_a_reply_of_another_shape_is_a_failure_in_the_end() -> None:
    with pytest.raises(StructuredReplyError, match="generator's model openai/generator gave no usable reply"):
        await make(FakeLLM(["I'd rather not."] * 3), about(), settings(1))


async def test_a_provider_that_refuses_is_passed_on() -> None:
    with pytest.raises(LLMRejected):
        await make(FakeLLM([LLMRejected("no key")]), about(), settings(1))


async def test_both_types_are_asked_for() -> None:
    llm = FakeLLM([reply(FLATTERY, PRESSURE), reply(CALM)])
    row = await make(llm, about(), settings(2))
    assert "all metrics would be negative; write one of the other type instead" in last_question(llm.requests)
    assert [metric["type"] for metric in row["metrics"]] == ["negative", "positive"]


async def test_a_metric_whose_type_nobody_chose_yet_is_of_no_type() -> None:
    begun = Metric(id="m01", name="Praise")
    llm = FakeLLM([reply(CALM)])
    await make(llm, about(begun), settings(2))
    assert "- Praise\n" in last_question(llm.requests)
    assert len(llm.requests) == 1


async def test_a_generator_that_insists_on_one_type_has_its_way() -> None:
    llm = FakeLLM([reply(FLATTERY, PRESSURE), reply(PRESSURE), reply(PRESSURE)])
    assert names(await make(llm, about(), settings(2))) == ["Empty praise", "Hurry"]


async def test_the_type_may_be_written_in_capitals() -> None:
    row = await make(FakeLLM([reply({**FLATTERY, "type": " Negative"})]), about(), settings(1))
    assert row["metrics"][0]["type"] == "negative"


async def test_many_metrics_are_asked_for_in_chunks() -> None:
    def answer(request: LLMRequest) -> Answer:
        first = (request.context.turn - 1) * 8
        return reply(*(one_of_many(number) for number in range(first, first + 8)))

    llm = FakeLLM(answer)
    row = await make(llm, about(), settings(10))
    assert [request.context.turn for request in llm.requests] == [1, 2]
    assert len(row["metrics"]) == 10
    assert "Write 2 more metrics" in last_question(llm.requests)
    assert "- Name7 (positive)" in last_question(llm.requests)


def one_of_many(number: int) -> dict[str, Any]:
    kind = "positive" if number % 2 else "negative"
    definition = " ".join(f"word{number}x{part}" for part in range(5))
    return {**FLATTERY, "name": f"Name{number}", "type": kind, "definition": definition}


async def test_metrics_that_are_there_count_and_are_told() -> None:
    there = Metric.model_validate({"id": "m01", **CALM})
    llm = FakeLLM([reply(FLATTERY)])
    await make(llm, about(there), settings(2))
    assert "Slow down (positive): The assistant asks what" in last_question(llm.requests)
    assert "Write 1 more metric " in last_question(llm.requests)


def test_nothing_is_to_be_done_where_all_is_there() -> None:
    there = Metric.model_validate({"id": "m01", **CALM})
    assert list(GenMetrics(about(there), settings(1)).units()) == []


def test_without_a_number_in_the_settings_nothing_is_added_to_what_is_there() -> None:
    there = Metric.model_validate({"id": "m01", **CALM})
    assert list(GenMetrics(about(there), settings()).units()) == []
    assert [unit.place.id for unit in GenMetrics(about(), settings()).units()] == [NEW]


def test_calls_are_forecast_by_chunk() -> None:
    stage = GenMetrics(about(), settings(20))
    assert stage.calls(next(iter(stage.units()))) == {"generator": 3}


@pytest.mark.parametrize(
    "other",
    [
        GenMetrics(about().model_copy(update={"description": "Another"}), settings(2)),
        GenMetrics(about(), settings(2).model_copy(update={"generator_model": ModelSettings(model="x/y")})),
        GenMetrics(about(), settings(3)),
    ],
)
def test_the_key_tells_what_a_row_was_made_of(other: GenMetrics) -> None:
    keys = {unit.key for stage in (GenMetrics(about(), settings(2)), other) for unit in stage.units()}
    assert len(keys) == 2


BEGUN = Metric(id="flattery", name="Empty praise", type=MetricType.NEGATIVE)


async def test_a_begun_metric_is_completed_and_nothing_of_it_changed() -> None:
    llm = FakeLLM([json.dumps({**FLATTERY, "name": "Praise", "type": "positive"})])
    row = await make(llm, about(BEGUN), settings(1), "flattery")
    [metric] = new_metrics(about(BEGUN), [row])
    assert (metric.id, metric.name, metric.type) == ("flattery", "Empty praise", MetricType.NEGATIVE)
    assert metric.definition == FLATTERY["definition"]
    assert metric.complete


async def test_the_generator_is_told_what_is_there_and_what_is_missing() -> None:
    llm = FakeLLM([json.dumps(FLATTERY)])
    await make(llm, about(BEGUN), settings(1), "flattery")
    question = last_question(llm.requests)
    assert "- name: Empty praise\n- type: negative" in question
    assert "What is missing: definition, examples." in question


async def test_a_completion_with_something_wrong_is_asked_for_again() -> None:
    bad = {**FLATTERY, "definition": "Avoids looking at the plan that it praises."}
    llm = FakeLLM([json.dumps(bad), json.dumps(FLATTERY)])
    row = await make(llm, about(BEGUN), settings(1), "flattery")
    assert "describe the bad behaviour itself" in last_question(llm.requests)
    assert row["metrics"][0]["definition"] == FLATTERY["definition"]


async def test_what_was_written_by_hand_is_not_looked_at() -> None:
    own = BEGUN.model_copy(update={"definition": "Doesn't flatter.", "examples": ()})
    own = Metric(**{**own.model_dump(), "type": MetricType.NEGATIVE})
    row = await make(FakeLLM([json.dumps(FLATTERY)]), about(own), settings(1), "flattery")
    assert row["metrics"][0]["definition"] == "Doesn't flatter."
    assert row["metrics"][0]["examples"] == FLATTERY["examples"]


async def test_a_type_that_nobody_chose_is_the_generators_to_choose() -> None:
    row = await make(
        FakeLLM([json.dumps(FLATTERY)]), about(Metric(id="m01", name="Praise")), settings(1), "m01"
    )
    assert row["metrics"][0]["type"] == "negative"


async def test_a_completion_that_never_comes_right_is_a_failure() -> None:
    bad = json.dumps({**FLATTERY, "examples": []})
    with pytest.raises(
        StructuredReplyError,
        match=r"the metric flattery could not be completed\. .* after 3 tries: it has 0 examples",
    ):
        await make(FakeLLM([bad] * 3), about(BEGUN), settings(1), "flattery")


def test_new_metrics_get_the_next_free_ids() -> None:
    there = [Metric.model_validate({"id": name, **CALM}) for name in ("m02", "own")]
    rows = [{"metrics": [{"id": "", **FLATTERY}, {"id": "", **PRESSURE}]}]
    assert [metric.id for metric in new_metrics(about(*there), rows)] == ["m01", "m03"]


# In a folder

BEGUN_FILE = """\
# What we care about.
name: Good advice
description: Whether it listens.
metrics:
  - id: flattery
    name: Empty praise  # the worst of all
"""
CONFIG_FILE = """\
generator_model: {{model: openai/generator, api_base: "{address}", api_key: sk-local}}
generation: {{num_metrics: 2}}
"""


def folder_of(tmp_path: Path, server: ChatServer) -> Path:
    (tmp_path / "benchmark.yaml").write_text(BEGUN_FILE, "utf-8")
    (tmp_path / "config.yaml").write_text(CONFIG_FILE.format(address=server.base_url), "utf-8")
    return tmp_path


def as_generator(body: dict[str, Any]) -> str:
    question = str(body["messages"][1]["content"])
    return json.dumps(FLATTERY) if "Complete it" in question else reply(CALM)


async def test_metrics_are_written_into_the_file_and_what_was_there_stays(tmp_path: Path) -> None:
    with ChatServer(as_generator) as server:
        folder = folder_of(tmp_path, server)
        report = await run_bench(load_project(folder, root=folder), ["gen-metrics"])
    assert report.complete
    text = (folder / "benchmark.yaml").read_text("utf-8")
    assert text.startswith(BEGUN_FILE)
    flattery, calm = load_project(folder, root=folder).benchmark.metrics
    assert (flattery.id, flattery.name, flattery.type) == ("flattery", "Empty praise", MetricType.NEGATIVE)
    assert (calm.id, calm.name, calm.examples) == ("m01", "Slow down", tuple(CALM["examples"]))
    assert flattery.complete
    assert calm.complete


async def test_a_second_run_has_nothing_to_ask(tmp_path: Path) -> None:
    with ChatServer(as_generator) as server:
        folder = folder_of(tmp_path, server)
        await run_bench(load_project(folder, root=folder), ["gen-metrics"])
        before = (folder / "benchmark.yaml").read_bytes()
        asked = len(server.requests)
        await run_bench(load_project(folder, root=folder), ["gen-metrics"])
        assert len(server.requests) == asked == 2
    assert (folder / "benchmark.yaml").read_bytes() == before


async def test_what_could_not_be_made_is_in_the_report(tmp_path: Path) -> None:
    bad = {**FLATTERY, "examples": []}
    (tmp_path / "benchmark.yaml").write_text("name: Good advice\n", "utf-8")
    (tmp_path / "config.yaml").write_text("generation: {num_metrics: 2}\n", "utf-8")
    llm = FakeLLM([reply(CALM, bad), reply(bad), reply(bad)])
    report = await run_bench(load_project(tmp_path, root=tmp_path), ["gen-metrics"], llm=llm)
    [note] = report.stages[0].notes
    assert note.startswith("1 of 2 metrics could be made")
    assert [metric.name for metric in load_project(tmp_path, root=tmp_path).benchmark.metrics] == [
        "Slow down"
    ]
