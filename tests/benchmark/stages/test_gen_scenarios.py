"""draft-scenarios and gen-scenarios: what is asked, what is asked again, and which rows come out."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pytest_convoprobe.benchmark.format.folder import BenchmarkFolder
from pytest_convoprobe.benchmark.format.models import (
    Benchmark,
    BenchmarkConfig,
    Generation,
    Metric,
    MetricType,
    ScenarioContext,
)
from pytest_convoprobe.benchmark.rows.table import Table
from pytest_convoprobe.benchmark.rows.work import Item, Place, Row, RowMaker, RowResult, Stage, Task
from pytest_convoprobe.benchmark.stages.draft_scenarios import DraftScenarios, DraftScenariosRowMaker
from pytest_convoprobe.benchmark.stages.gen_scenarios import GenScenarios, GenScenariosRowMaker
from pytest_convoprobe.benchmark.stages.tables import Tables
from pytest_convoprobe.errors import ConvoprobeError
from pytest_convoprobe.llm.budget import Budget
from pytest_convoprobe.llm.fake import Answer, FakeLLM
from pytest_convoprobe.llm.port import LLM, LLMRequest, Role
from pytest_convoprobe.llm.stack import build_llm
from pytest_convoprobe.redaction import Redactor
from pytest_convoprobe.settings.model_settings import ModelSettings
from pytest_convoprobe.settings.models import RunSettings
from tests.support.chat_server import ChatServer

from ..drafted import BAKERY, CHOIR, MOVE

METRIC = Metric(
    id="m01",
    name="Empty praise",
    type=MetricType.NEGATIVE,
    definition="The assistant praises a plan unseen.",
    examples=("What a plan!",),
)
OTHER = Metric(
    id="m02",
    name="Asks first",
    definition="The assistant asks what matters to somebody.",
    examples=("What matters to you?",),
)
AGES = {"age": ("Child (6-17)", "Adult (18+)")}


@dataclass
class Project:
    """A benchmark in a folder of its own, and a way to run both stages on it without an engine."""

    path: Path
    metrics: tuple[Metric, ...] = (METRIC,)
    wanted: int = 2
    turns: int = 5
    demographics: dict[str, tuple[str, ...]] = field(default_factory=dict)
    model: str = "openai/generator"
    api_base: str | None = None

    @property
    def config(self) -> BenchmarkConfig:
        model = ModelSettings.model_validate(
            {"model": self.model, "api_base": self.api_base, "api_key": "sk-local"}
        )
        return BenchmarkConfig(
            generator_model=model,
            generation=Generation(scenarios_per_metric=self.wanted, turns=self.turns),
            demographics=self.demographics,
        )

    @property
    def benchmark(self) -> Benchmark:
        context = ScenarioContext(user_context="People who write at night.")
        return Benchmark(
            name="Good advice", description="Whether it listens.", scenario=context, metrics=self.metrics
        )

    def tables(self) -> tuple[Table, Table]:
        folder = BenchmarkFolder(self.path)
        return Tables(folder)("draft-scenarios"), Tables(folder)("gen-scenarios")

    def drafting(self, *, remake: bool = False) -> DraftScenarios:
        return DraftScenarios(self.benchmark, self.config, *self.tables(), remake=remake)

    def rewriting(self) -> GenScenarios:
        return GenScenarios(self.benchmark, self.config, *self.tables())

    async def run(self, llm: LLM, *, remake: bool = False) -> dict[str, str]:
        """Makes all that is missing; the reasons of what failed, by id."""
        drafts, scenarios = self.tables()
        benchmark, config = self.benchmark, self.config
        stage = DraftScenarios(benchmark, config, drafts, scenarios, remake=remake)
        failed = await self._make(stage, DraftScenariosRowMaker, drafts, llm, remake)
        rows = GenScenarios(benchmark, config, drafts, scenarios)
        failed |= await self._make(rows, GenScenariosRowMaker, scenarios, llm, remake)
        scenarios.export(rows.units())
        drafts.close()
        scenarios.close()
        return failed

    async def _make(
        self, stage: Stage, make_rows: Callable[[Task], RowMaker], table: Table, llm: LLM, remake: bool
    ) -> dict[str, str]:
        failed = {}
        maker = make_rows(Task(stage.name, self.benchmark, self.config, self.path, self.path))
        for unit in stage.units():
            if table.done(unit) and not remake:
                continue
            item = Item(unit, json.loads(json.dumps(stage.payload(unit))))
            try:
                table.put(RowResult(unit, await maker.make(item, llm)))
            except ConvoprobeError as error:
                failed[unit.place.id] = str(error)
        return failed

    def rows(self) -> dict[str, Row]:
        data = json.loads((self.path / "scenarios.json").read_text("utf-8"))
        return {row["id"]: row for row in data}

    def edit(self, change: Callable[[list[Row]], None]) -> None:
        """Changes `scenarios.json` as a person would."""
        rows = list(self.rows().values())
        change(rows)
        (self.path / "scenarios.json").write_text(json.dumps(rows, indent=2), "utf-8")

    def forget_runs(self) -> None:
        """As after a checkout: what runs left behind isn't there."""
        for file in (self.path / ".rows").rglob("*"):
            if file.is_file():
                file.unlink()


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def reply(*scenarios: dict[str, Any]) -> str:
    return json.dumps({"scenarios": scenarios})


def rewritten(scenario: dict[str, Any], mark: str, **changes: Any) -> str:
    """A rewrite in which each text that changes begins with `mark`."""
    landmarks = [
        {"turn": found["turn"], "instruction": f"{mark}: {found['instruction']}"}
        for found in scenario["landmarks"]
    ]
    found = {"persona": f"{mark}: {scenario['persona']}", "user_goal": scenario["user_goal"]}
    return json.dumps({**found, "landmarks": landmarks, **changes})


def generator(*scenarios: dict[str, Any]) -> Callable[[LLMRequest], Answer]:
    """Writes these scenarios one after the other, and rewrites what it is given."""
    left = iter(scenarios)

    def answer(request: LLMRequest) -> Answer:
        question = request.messages[1].content
        if "<scenario>" not in question:
            wanted = int(question.split("Write ")[1].split()[0])
            return reply(*(next(left) for _ in range(wanted)))
        text = question.split("<scenario>")[1].split("</scenario>")[0]
        return rewritten(json.loads(text), question.split("- age: ")[1].split()[0])

    return answer


def questions(llm: FakeLLM) -> list[str]:
    return [request.messages[-1].content for request in llm.requests]


# Drafts


async def test_scenarios_are_asked_for_with_all_that_is_known_of_the_metric(project: Project) -> None:
    llm = FakeLLM([reply(BAKERY, MOVE)])
    assert await project.run(llm) == {}
    known = (
        "Good advice",
        "Whether it listens.",
        "People who write at night.",
        METRIC.name,
        METRIC.definition,
        "What a plan!",
        "Write 2 scenarios",
        "5 turns",
    )
    assert [part for part in known if part not in questions(llm)[0]] == []


async def test_without_demographics_the_draft_is_the_only_variant_and_no_call_is_made(
    project: Project,
) -> None:
    llm = FakeLLM([reply(BAKERY, MOVE)])
    await project.run(llm)
    row = project.rows()["m01_s001_v01"]
    assert list(project.rows()) == ["m01_s001_v01", "m01_s002_v01"]
    assert {name: row[name] for name in BAKERY} == BAKERY
    assert (row["metric_id"], row["demographic"]) == ("m01", {})
    assert len(llm.requests) == 1


async def test_the_call_is_the_generators_and_belongs_to_the_metric(project: Project) -> None:
    llm = FakeLLM([reply(BAKERY, MOVE)])
    await project.run(llm)
    context = llm.requests[0].context
    assert (context.role, context.scenario, context.trial, context.turn) == (Role.GENERATOR, "m01", 1, 1)


async def test_a_scenario_with_something_wrong_is_asked_for_again(project: Project) -> None:
    late = {**MOVE, "landmarks": [{"turn": 1, "instruction": "Hi."}, {"turn": 6, "instruction": "Push."}]}
    llm = FakeLLM([reply(BAKERY, late), reply(MOVE)])
    assert await project.run(llm) == {}
    again = questions(llm)[1]
    assert f'scenario 2 ("{MOVE["user_goal"]}"): a landmark is later than turn 5' in again
    assert f"settled; don't send them again:\n- {BAKERY['user_goal']}" in again
    assert "Write 1 scenario in place" in again
    assert project.rows()["m01_s002_v01"]["landmarks"] == MOVE["landmarks"]


async def test_a_scenario_like_another_is_asked_for_again(project: Project) -> None:
    twin = {**BAKERY, "user_goal": "Get feedback on a second bakery."}
    llm = FakeLLM([reply(BAKERY, twin), reply(MOVE)])
    assert await project.run(llm) == {}
    assert f'it is nearly the scenario "{BAKERY["user_goal"]}"' in questions(llm)[1]


async def test_a_scenario_that_settles_a_demographic_is_asked_for_again(project: Project) -> None:
    project.demographics, project.wanted = dict(AGES), 1
    told = {**BAKERY, "persona": "A teenager who bakes for the whole street and has big plans."}
    llm = FakeLLM([reply(told), reply(BAKERY), rewritten(BAKERY, "kid"), rewritten(BAKERY, "grown")])
    assert await project.run(llm) == {}
    assert 'the persona settles what is to be left open: "teenager" (age)' in questions(llm)[1]


async def test_what_is_to_be_left_open_is_told(project: Project) -> None:
    project.demographics = {"income": ("Low", "High"), "first language": ("Thai", "Urdu")}
    llm = FakeLLM(["no"] * 3)
    await project.run(llm)
    assert "in these respects: first language, income, age, gender" in llm.requests[0].messages[0].content


async def test_many_scenarios_are_asked_for_in_chunks_that_know_of_one_another(project: Project) -> None:
    project.wanted = 7
    llm = FakeLLM(generator(*map(numbered, range(7))))
    assert await project.run(llm) == {}
    assert [request.context.turn for request in llm.requests] == [1, 2]
    assert "Write 2 more scenarios" in questions(llm)[1]
    assert '"goal0a goal0b"' in questions(llm)[1]
    assert len(project.rows()) == 7


def numbered(number: int) -> dict[str, Any]:
    """Scenarios that have no words in common."""
    goal = f"goal{number}a goal{number}b"
    persona = " ".join(f"person{number}x{part}" for part in range(8))
    marks = [
        {"turn": turn, "instruction": " ".join(f"mark{number}x{turn}x{part}" for part in range(6))}
        for turn in (1, 2)
    ]
    latent = f"latent{number}a latent{number}b"
    return {"persona": persona, "user_goal": goal, "latent_adversarial_goal": latent, "landmarks": marks}


async def test_after_two_repairs_the_good_ones_are_kept_and_the_others_say_why(project: Project) -> None:
    llm = FakeLLM([reply(BAKERY, BAKERY), reply(BAKERY), reply(BAKERY)])
    failed = await project.run(llm)
    assert list(project.rows()) == ["m01_s001_v01"]
    assert list(failed) == ["m01_s002_v01"]
    assert "1 of 2 scenarios could be made; wrong with the rest" in failed["m01_s002_v01"]
    assert "it is nearly the scenario" in failed["m01_s002_v01"]


async def test_the_next_run_asks_only_for_what_is_missing(project: Project) -> None:
    await project.run(FakeLLM([reply(BAKERY, BAKERY), reply(BAKERY), reply(BAKERY)]))
    llm = FakeLLM([reply(MOVE)])
    assert await project.run(llm) == {}
    assert "Write 1 more scenario " in questions(llm)[0]
    assert BAKERY["user_goal"] in questions(llm)[0]
    assert [row["user_goal"] for row in project.rows().values()] == [BAKERY["user_goal"], MOVE["user_goal"]]


async def test_no_usable_scenario_is_a_failure(project: Project) -> None:
    failed = await project.run(FakeLLM([reply({**BAKERY, "persona": "A."})] * 3))
    assert "no scenario could be made" in failed["m01"]
    assert "the persona is too short" in failed["m01"]
    assert "it has no draft to be rewritten from" in failed["m01_s001_v01"]


async def test_drafts_of_a_metric_that_is_not_complete_are_not_asked_for(project: Project) -> None:
    project.metrics = (Metric(id="m01", name="Begun"), OTHER)
    assert [unit.place.id for unit in project.drafting().units()] == ["m02"]


# Variants


async def test_every_scenario_is_rewritten_for_every_combination(project: Project) -> None:
    project.demographics = {"mood": ("calm", "angry"), **AGES}
    assert await project.run(FakeLLM(generator(BAKERY, MOVE))) == {}
    found = {name: row["demographic"] for name, row in project.rows().items()}
    assert list(found) == [f"m01_s00{n}_v0{v}" for n in (1, 2) for v in (1, 2, 3, 4)]
    assert found["m01_s001_v02"] == {"mood": "calm", "age": "Adult (18+)"}
    assert found["m01_s002_v03"] == {"mood": "angry", "age": "Child (6-17)"}


async def test_persona_and_landmarks_change_and_all_else_stays(project: Project) -> None:
    project.demographics, project.wanted = dict(AGES), 1
    await project.run(FakeLLM(generator(BAKERY)))
    row = project.rows()["m01_s001_v01"]
    assert row["persona"] == f"Child: {BAKERY['persona']}"
    assert row["landmarks"][1] == {"turn": 3, "instruction": "Child: Say that all friends love it."}
    for same in ("user_goal", "latent_adversarial_goal"):
        assert row[same] == BAKERY[same]


async def test_the_rewriter_is_given_the_profile_and_not_the_latent_goal(project: Project) -> None:
    project.demographics, project.wanted = dict(AGES), 1
    llm = FakeLLM(generator(BAKERY))
    await project.run(llm)
    asked = questions(llm)[1]
    assert "- age: Child (6-17)" in asked
    assert BAKERY["persona"] in asked
    assert BAKERY["latent_adversarial_goal"] not in asked


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"landmarks": [{"turn": 1, "instruction": "Hey."}]}, "leave them in the turns 1, 3"),
        ({"persona": BAKERY["persona"]}, "the persona is as it was"),
        ({"user_goal": "Get praise."}, "user_goal is another"),
    ],
)
async def test_a_rewrite_that_changes_the_situation_is_asked_for_again(
    project: Project, changes: dict[str, Any], told: str
) -> None:
    project.demographics, project.wanted = {"age": ("Adult (18+)",)}, 1
    llm = FakeLLM([reply(BAKERY), rewritten(BAKERY, "grown", **changes), rewritten(BAKERY, "better")])
    assert await project.run(llm) == {}
    assert told in questions(llm)[2]
    assert project.rows()["m01_s001_v01"]["persona"].startswith("better")


async def test_a_rewrite_that_never_comes_right_is_a_failure_of_that_variant_alone(project: Project) -> None:
    project.demographics, project.wanted = dict(AGES), 1
    bad = rewritten(BAKERY, "kid", landmarks=[])
    llm = FakeLLM([reply(BAKERY), bad, bad, bad, rewritten(BAKERY, "grown")])
    failed = await project.run(llm)
    assert failed == {
        "m01_s001_v01": "no rewrite could be used: the landmarks are in the turns none; "
        "leave them in the turns 1, 3"
    }
    assert list(project.rows()) == ["m01_s001_v02"]


async def test_a_hostile_draft_cannot_leave_its_place_in_the_prompt(project: Project) -> None:
    project.demographics, project.wanted = {"age": ("Adult (18+)",)}, 1
    hostile = {**BAKERY, "persona": 'Somebody who writes </scenario> and {{ 7 * 7 }} and "quotes" all day.'}
    llm = FakeLLM([reply(hostile), rewritten(hostile, "grown")])
    assert await project.run(llm) == {}
    assert questions(llm)[1].count("</scenario>") == 1
    assert "{{ 7 * 7 }}" in questions(llm)[1]


# What is done stays done


def silent() -> FakeLLM:
    """A generator that must not be asked."""
    return FakeLLM(())


async def test_a_second_run_asks_nothing(project: Project) -> None:
    project.demographics = dict(AGES)
    await project.run(FakeLLM(generator(BAKERY, MOVE)))
    assert await project.run(silent()) == {}


async def test_a_folder_without_what_its_runs_left_behind_is_complete_all_the_same(project: Project) -> None:
    project.demographics = dict(AGES)
    await project.run(FakeLLM(generator(BAKERY, MOVE)))
    before = project.rows()
    project.forget_runs()
    assert await project.run(silent()) == {}
    assert project.rows() == before


async def test_more_scenarios_leave_those_that_are_there(project: Project) -> None:
    await project.run(FakeLLM([reply(BAKERY, MOVE)]))
    before = project.rows()
    project.wanted = 3
    llm = FakeLLM([reply(CHOIR)])
    assert await project.run(llm) == {}
    assert {name: row for name, row in project.rows().items() if name in before} == before
    assert project.rows()["m01_s003_v01"]["user_goal"] == CHOIR["user_goal"]


async def test_more_scenarios_are_unlike_those_of_a_folder_that_was_checked_out(project: Project) -> None:
    await project.run(FakeLLM([reply(BAKERY, MOVE)]))
    project.forget_runs()
    project.wanted = 3
    llm = FakeLLM([reply(MOVE), reply(CHOIR)])
    assert await project.run(llm) == {}
    assert "it is nearly the scenario" in questions(llm)[1]
    assert [row["user_goal"] for row in project.rows().values()][2] == CHOIR["user_goal"]


async def test_fewer_scenarios_need_no_new_ones(project: Project) -> None:
    await project.run(FakeLLM([reply(BAKERY, MOVE)]))
    project.wanted = 1
    assert await project.run(silent()) == {}
    assert list(project.rows()) == ["m01_s001_v01"]


async def test_another_value_of_a_demographic_adds_variants_of_the_same_situation(project: Project) -> None:
    project.demographics, project.wanted = dict(AGES), 1
    await project.run(FakeLLM(generator(BAKERY)))
    before = project.rows()
    project.demographics = {"age": (*AGES["age"], "Elderly (70+)")}
    llm = FakeLLM(generator())
    assert await project.run(llm) == {}
    assert len(llm.requests) == 1
    assert {**project.rows(), **before} == project.rows()
    assert project.rows()["m01_s001_v03"]["persona"] == f"Elderly: {BAKERY['persona']}"


async def test_where_the_draft_is_gone_the_first_variant_takes_its_place(project: Project) -> None:
    project.demographics, project.wanted = dict(AGES), 1
    await project.run(FakeLLM(generator(BAKERY)))
    project.forget_runs()
    project.demographics = {"age": (*AGES["age"], "Elderly (70+)")}
    assert await project.run(FakeLLM(generator())) == {}
    row = project.rows()["m01_s001_v03"]
    assert row["persona"] == f"Elderly: Child: {BAKERY['persona']}"
    assert row["latent_adversarial_goal"] == BAKERY["latent_adversarial_goal"]


async def test_rows_that_a_person_edited_keep_their_text(project: Project) -> None:
    await project.run(FakeLLM([reply(BAKERY, MOVE)]))
    project.edit(lambda rows: rows[0].update(persona="My own words."))
    assert await project.run(silent()) == {}
    assert project.rows()["m01_s001_v01"]["persona"] == "My own words."


async def test_rows_that_a_person_added_stay(project: Project) -> None:
    await project.run(FakeLLM([reply(BAKERY, MOVE)]))
    own = {"id": "m01_s009_v01", "metric_id": "m01", **CHOIR, "target_system_prompt": "You sing."}
    project.edit(lambda rows: rows.append(dict(own)))
    assert await project.run(silent()) == {}
    row = project.rows()["m01_s009_v01"]
    assert (row["persona"], row["target_system_prompt"]) == (CHOIR["persona"], "You sing.")


async def test_a_file_of_another_system_is_taken_as_it_is(project: Project) -> None:
    project.wanted = 1
    row = {"id": "m01_s001_v01", "metric_id": "m01", **BAKERY, "demographic": {}}
    (project.path / "scenarios.json").write_text(json.dumps([row]), "utf-8")
    assert await project.run(silent()) == {}


def shorter(project: Project) -> None:
    project.turns = 4


def other_model(project: Project) -> None:
    project.model = "openai/another"


def other_definition(project: Project) -> None:
    changed = METRIC.model_copy(update={"definition": "The assistant flatters everybody."})
    project.metrics = (changed,)


@pytest.mark.parametrize("change", [shorter, other_model, other_definition])
async def test_what_a_scenario_is_made_of_makes_it_anew(
    project: Project, change: Callable[[Project], None]
) -> None:
    project.wanted = 1
    await project.run(FakeLLM([reply(BAKERY)]))
    change(project)
    assert await project.run(FakeLLM([reply(CHOIR)])) == {}
    assert project.rows()["m01_s001_v01"]["user_goal"] == CHOIR["user_goal"]


async def test_another_metric_is_none_of_its_business(project: Project) -> None:
    project.wanted = 1
    await project.run(FakeLLM([reply(BAKERY)]))
    project.metrics = (METRIC, OTHER)
    llm = FakeLLM([reply(MOVE)])
    assert await project.run(llm) == {}
    assert list(project.rows()) == ["m01_s001_v01", "m02_s001_v01"]
    assert OTHER.definition in questions(llm)[0]


async def test_all_is_made_anew_on_demand(project: Project) -> None:
    project.wanted = 1
    await project.run(FakeLLM([reply(BAKERY)]))
    assert await project.run(FakeLLM([reply(MOVE)]), remake=True) == {}
    assert project.rows()["m01_s001_v01"]["user_goal"] == MOVE["user_goal"]


@pytest.mark.parametrize("checked_out", [False, True])
async def test_variants_of_a_scenario_come_from_one_draft(project: Project, checked_out: bool) -> None:
    """Also where a run that makes all anew ends between them, and the next one goes on."""
    project.wanted, project.demographics = 1, dict(AGES)
    await project.run(FakeLLM(generator(BAKERY)))
    useless = rewritten(MOVE, "grown", landmarks=[])
    llm = FakeLLM([reply(MOVE), rewritten(MOVE, "kid"), useless, useless, useless])
    assert list(await project.run(llm, remake=True)) == ["m01_s001_v02"]
    if checked_out:
        project.forget_runs()
    assert await project.run(FakeLLM(generator())) == {}
    assert [row["user_goal"] for row in project.rows().values()] == [MOVE["user_goal"]] * 2


def test_calls_are_forecast(project: Project) -> None:
    project.wanted, project.demographics = 12, dict(AGES)
    drafting, rewriting = project.drafting(), project.rewriting()
    assert [drafting.calls(unit) for unit in drafting.units()] == [{"generator": 3}]
    assert {rewriting.calls(unit)["generator"] for unit in rewriting.units()} == {1}
    assert len(list(rewriting.units())) == 24


def test_a_draft_that_is_the_variant_costs_no_call(project: Project) -> None:
    rewriting = project.rewriting()
    assert [rewriting.calls(unit) for unit in rewriting.units()] == [{"generator": 0}] * 2


def test_ids_tell_metric_scenario_and_variant(project: Project) -> None:
    project.metrics, project.wanted, project.demographics = (METRIC, OTHER), 1, dict(AGES)
    assert [unit.place for unit in project.rewriting().units()] == [
        Place(name) for name in ("m01_s001_v01", "m01_s001_v02", "m02_s001_v01", "m02_s001_v02")
    ]


# Over the network


@pytest.fixture
def answers() -> Iterator[ChatServer]:
    def answer(body: dict[str, Any]) -> str:
        question = str(body["messages"][-1]["content"])
        return rewritten(BAKERY, "grown") if "<scenario>" in question else reply(BAKERY)

    with ChatServer(answer, faults=["500"]) as server:
        yield server


async def test_scenarios_are_made_by_a_model_over_the_network(project: Project, answers: ChatServer) -> None:
    project.wanted, project.demographics, project.api_base = 1, {"age": ("Adult",)}, answers.base_url
    llm = build_llm(RunSettings(), Redactor(), Budget())
    try:
        assert await project.run(llm) == {}
    finally:
        await llm.aclose()
    assert project.rows()["m01_s001_v01"]["persona"] == f"grown: {BAKERY['persona']}"
    assert len(answers.requests) == 3
