"""draft-scenarios: distinct situations for each metric, with users of whom the demographics are left open."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ... import prompts
from ...errors import StructuredReplyError
from ...llm.port import LLM, Role
from ...redaction import Redactor
from ..format.models import Benchmark, BenchmarkConfig, Metric
from ..format.project import LoadedBenchmark, require_complete
from ..rows.row_keys import digest
from ..rows.work import Item, Place, Row, Task, Unit
from .asking import Asker, Sifted, as_data, chunks, collect, shortfalls
from .drafts import Draft, Drafts, TableInProgress
from .scenario_rules import ScenarioReply, ScenariosReply, scenario_problems
from .step import Step, StepContext

# More in one reply, and models repeat themselves or leave fields out.
PER_CALL = 5


class DraftScenarios:
    """One unit for each metric of which a row of `scenarios.json` is still to be made.

    Scenarios that are there stay, and a unit only makes what is missing; `remake` makes all of them again but
    those that somebody wrote or edited.
    """

    name = "draft-scenarios"

    def __init__(
        self,
        benchmark: Benchmark,
        config: BenchmarkConfig,
        drafts: TableInProgress,
        scenarios: TableInProgress,
        *,
        remake: bool = False,
    ) -> None:
        self._drafts = Drafts(benchmark, config, drafts, scenarios)
        self._remake = remake
        self._work: dict[str, _MetricWork] | None = None

    def units(self) -> Iterable[Unit]:
        return [Unit(Place(metric_id), work.key) for metric_id, work in self._by_metric().items()]

    def payload(self, unit: Unit) -> Mapping[str, Any]:
        work = self._by_metric()[unit.place.id]
        there = list(work.there.values())
        return {"metric": unit.place.id, "recipe": work.recipe, "there": there, "missing": work.missing}

    def calls(self, unit: Unit) -> Mapping[str, int]:
        missing = self._by_metric()[unit.place.id].missing
        return {Role.GENERATOR.value: chunks(len(missing), PER_CALL)}

    def _by_metric(self) -> Mapping[str, _MetricWork]:
        """What there is to do, as it was when first asked: the run itself changes what is there."""
        if self._work is None:
            metrics = (m for m in self._drafts.metrics if self._remake or self._drafts.needed(m))
            work = {metric.id: self._work_on(metric) for metric in metrics}
            # All by hand: nothing would be asked for.
            self._work = {name: one for name, one in work.items() if one.missing or not self._remake}
        return self._work

    def _work_on(self, metric: Metric) -> _MetricWork:
        there = self._drafts.found(metric)
        if self._remake:
            there = {number: draft for number, draft in there.items() if self._drafts.by_hand(metric, number)}
        missing = [number for number in self._drafts.numbers if number not in there]
        stored, recipe = self._drafts.stored(metric), self._drafts.recipe(metric)
        # With nothing to make, the unit is the row that is there, and so it counts as done.
        key = str(stored["key"]) if stored and not missing else digest(recipe, missing, there)
        return _MetricWork(recipe, there, missing, key)


@dataclass(frozen=True)
class _MetricWork:
    """What one metric needs: the scenarios that stay, by number, and the numbers of those to be made."""

    recipe: str
    there: Mapping[int, Draft]
    missing: list[int]
    key: str


class DraftScenariosRowMaker:
    """Asks a generator for scenarios, and again for those with which something is wrong."""

    def __init__(self, task: Task) -> None:
        self._benchmark = task.benchmark
        self._config = task.config
        self._redactor = Redactor(task.secrets)

    async def make(self, item: Item, llm: LLM) -> Row:
        """`{"id", "recipe", "scenarios": [{"number", ...draft}], "problem": what is missing, in words}`.

        Raises `StructuredReplyError` if not one new scenario is usable.
        """
        metric = self._benchmark.metric(item.payload["metric"])
        assert metric is not None  # noqa: S101 - the payload was made of this benchmark
        there, missing = item.payload["there"], item.payload["missing"]
        sifted = await self._ask(metric, there, len(missing), self._asker(item, llm))
        if missing and not sifted.good:
            raise StructuredReplyError(f"no scenario could be made: {'; '.join(sifted.problems)}")
        made = [
            {"number": number, **draft, "digest": digest(draft)}
            for number, scenario in zip(missing, sifted.good, strict=False)
            for draft in (scenario.model_dump(mode="json"),)
        ]
        return {
            "id": metric.id,
            "recipe": item.payload["recipe"],
            "scenarios": sorted([*there, *made], key=lambda draft: draft["number"]),
            "problem": _shortfall(len(made), len(missing), sifted.problems),
            "key": item.unit.key,
        }

    async def aclose(self) -> None:
        """Nothing is kept open."""

    def _asker(self, item: Item, llm: LLM) -> Asker:
        model = self._config.generator_model
        system = prompts.render(
            "benchmark/scenarios_system",
            turns=self._config.generation.turns,
            left_open=sorted(self._config.demographics),
            extra_instructions=model.extra_instructions or "",
        )
        return Asker(llm, model, item.unit.place, system, self._redactor)

    async def _ask(
        self, metric: Metric, there: Sequence[Any], wanted: int, asker: Asker
    ) -> Sifted[ScenarioReply]:
        drafts = tuple(ScenarioReply.model_validate(draft) for draft in there)
        about = {"benchmark": self._benchmark, "metric": metric, "turns": self._config.generation.turns}

        async def ask_for(chunk: int, count: int, made: tuple[ScenarioReply, ...]) -> Sifted[ScenarioReply]:
            before = (*drafts, *made)
            taken = as_data([scenario.user_goal for scenario in before]) if before else ""
            question = prompts.render("benchmark/scenarios_new", **about, count=count, taken=taken)
            sift = _Sieve(self._config, before, count)
            return await asker.ask(question, ScenariosReply, sift, partial(_again, count), chunk=chunk)

        return await collect(wanted, PER_CALL, ask_for)


@dataclass(frozen=True)
class _Sieve:
    """Lets scenarios through that are right and unlike all others, no more than are wanted."""

    config: BenchmarkConfig
    before: tuple[ScenarioReply, ...]
    count: int

    def __call__(
        self, reply: ScenariosReply, good: tuple[ScenarioReply, ...], _: bool
    ) -> Sifted[ScenarioReply]:
        found: list[ScenarioReply] = []
        problems: list[str] = []
        for number, scenario in enumerate(reply.scenarios, 1):
            # Models like to give one more than was asked for.
            if len(good) + len(found) == self.count:
                break
            wrong = "; ".join(self._problems(scenario, (*self.before, *good, *found)))
            if wrong:
                problems.append(f'scenario {number} ("{scenario.user_goal}"): {wrong}')
            else:
                found.append(scenario)
        short = self.count - len(good) - len(found)
        if short and not problems:
            problems.append(f"{short} more {'is' if short == 1 else 'are'} needed")
        return Sifted(tuple(found), tuple(problems) if short else ())

    def _problems(self, scenario: ScenarioReply, others: Sequence[ScenarioReply]) -> Iterable[str]:
        turns, demographics = self.config.generation.turns, self.config.demographics
        return scenario_problems(scenario, others, turns=turns, demographics=demographics)


def _again(count: int, sifted: Sifted[ScenarioReply]) -> str:
    return prompts.render(
        "benchmark/scenarios_again",
        problems=sifted.problems,
        settled=[scenario.user_goal for scenario in sifted.good],
        count=count - len(sifted.good),
    )


def _shortfall(made: int, wanted: int, problems: Sequence[str]) -> str:
    if made >= wanted:
        return ""
    return f"{made} of {wanted} scenarios could be made; wrong with the rest: {'; '.join(problems)}"


class DraftScenariosStep(Step):
    """The table of drafts: `gen-scenarios` makes its rows of them, but counts them by metric."""

    name = "draft-scenarios"
    feeds_next = False

    def plan(self, context: StepContext) -> DraftScenarios:
        drafts, scenarios = context.table("draft-scenarios", ""), context.table("gen-scenarios", "")
        force = context.options.force
        return DraftScenarios(context.benchmark, context.config, drafts, scenarios, remake=force)

    def row_maker(self, task: Task) -> DraftScenariosRowMaker:
        return DraftScenariosRowMaker(task)

    def usual_calls(self, config: BenchmarkConfig, target: str) -> Mapping[str, int]:
        return {Role.GENERATOR.value: 1}

    def require(self, context: StepContext, stages: Sequence[str]) -> None:
        require_complete(context.benchmark, context.loaded.folder.path)

    def finished(
        self, loaded: LoadedBenchmark, rows: Iterable[Row]
    ) -> tuple[LoadedBenchmark, tuple[str, ...]]:
        return loaded, shortfalls(rows)


STEP = DraftScenariosStep()
