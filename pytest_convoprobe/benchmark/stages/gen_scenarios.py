"""gen-scenarios: each scenario as users of every demographic profile would live through it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from ... import prompts
from ...errors import StructuredReplyError
from ...formatting import counted
from ...llm.port import LLM, Role
from ...redaction import Redactor
from ..format.folder import BenchmarkFolder
from ..format.models import Benchmark, BenchmarkConfig, Metric
from ..rows.row_types import SCENARIOS, LandmarkTurn, ScenarioRow
from ..rows.scenario_ids import parts_of
from ..rows.work import Item, Place, Row, Task, Unit
from .asking import Asker, Sifted, as_data
from .drafts import Draft, Drafts, TableInProgress
from .scenario_rules import VariantReply, as_landmarks, variant_problems
from .step import Step, StepContext

_UNDRAFTED = (
    "it has no draft to be rewritten from: either draft-scenarios failed for its metric, or that was not "
    "chosen; then choose the whole metric"
)


_MOST_NAMED = 5


class GenScenarios:
    """A row for each metric, scenario and variant. Without demographics the draft is the only variant."""

    name = "gen-scenarios"

    def __init__(
        self,
        benchmark: Benchmark,
        config: BenchmarkConfig,
        drafts: TableInProgress,
        scenarios: TableInProgress,
    ) -> None:
        self._drafts = Drafts(benchmark, config, drafts, scenarios)
        self._benchmark = benchmark
        self._config = config

    def units(self) -> Iterable[Unit]:
        for metric in self._drafts.metrics:
            for number in self._drafts.numbers:
                yield from self._drafts.variants(metric, number)

    def payload(self, unit: Unit) -> Mapping[str, Any]:
        metric, number, variant = self._which(unit)
        draft, stored = self._drafts.draft(metric, number), self._drafts.stored(metric)
        return {
            "metric": metric.id,
            "demographic": dict(self._config.variants[variant - 1]),
            "draft": draft,
            "problem": "" if draft else (stored or {}).get("problem") or _UNDRAFTED,
        }

    def calls(self, unit: Unit) -> Mapping[str, int]:
        _, _, variant = self._which(unit)
        return {Role.GENERATOR.value: 1 if self._config.variants[variant - 1] else 0}

    def _which(self, unit: Unit) -> tuple[Metric, int, int]:
        found = parts_of(unit.place.id)
        metric = self._benchmark.metric(found.metric)
        assert found.number is not None and metric is not None  # noqa: S101, PT018 - units are made of metrics
        return metric, found.number, int(found.variant[1:])


class GenScenariosRowMaker:
    """Has drafts rewritten, and again where a rewrite changed what was to stay."""

    def __init__(self, task: Task) -> None:
        self._model = task.config.generator_model
        self._redactor = Redactor(task.secrets)

    async def make(self, item: Item, llm: LLM) -> Row:
        """A `ScenarioRow`. Raises `StructuredReplyError` if no rewrite keeps what was to stay."""
        draft, demographic = item.payload["draft"], item.payload["demographic"]
        if draft is None:
            raise StructuredReplyError(item.payload["problem"])
        persona, landmarks = draft["persona"], _landmarks(draft)
        if demographic:
            variant = await self._rewritten(item, draft, demographic, llm)
            persona, landmarks = variant.persona, as_landmarks(variant.landmarks)
        row = ScenarioRow(
            id=item.unit.place.id,
            metric_id=item.payload["metric"],
            persona=persona,
            user_goal=draft["user_goal"],
            latent_adversarial_goal=draft["latent_adversarial_goal"],
            landmarks=landmarks,
            demographic=demographic,
            draft=draft.get("digest", ""),
            key=item.unit.key,
        )
        return row.to_json()

    async def aclose(self) -> None:
        """Nothing is kept open."""

    async def _rewritten(
        self, item: Item, draft: Draft, demographic: Mapping[str, str], llm: LLM
    ) -> VariantReply:
        def sift(reply: VariantReply, _: tuple[VariantReply, ...], __: bool) -> Sifted[VariantReply]:
            problems = tuple(variant_problems(reply, draft))
            return Sifted((), problems) if problems else Sifted((reply,))

        shown = {name: draft[name] for name in ("persona", "user_goal", "landmarks")}
        question = prompts.render("benchmark/variant", draft=as_data(shown), profile=demographic)
        sifted = await self._asker(item, llm).ask(question, VariantReply, sift, _again)
        if not sifted.good:
            raise StructuredReplyError(f"no rewrite could be used: {'; '.join(sifted.problems)}")
        return sifted.good[0]

    def _asker(self, item: Item, llm: LLM) -> Asker:
        extra = self._model.extra_instructions or ""
        system = prompts.render("benchmark/variant_system", extra_instructions=extra)
        return Asker(llm, self._model, item.unit.place, system, self._redactor)


def _landmarks(draft: Draft) -> tuple[LandmarkTurn, ...]:
    return tuple(LandmarkTurn(mark["turn"], mark["instruction"]) for mark in draft["landmarks"])


def _again(sifted: Sifted[VariantReply]) -> str:
    return prompts.render("benchmark/variant_again", problems=sifted.problems)


class GenScenariosStep(Step):
    """The table of scenarios: `scenarios.json`."""

    name = "gen-scenarios"
    kind = SCENARIOS

    def file(self, folder: BenchmarkFolder, target: str) -> Path:
        return folder.scenarios

    def plan(self, context: StepContext) -> GenScenarios:
        drafts, scenarios = context.table("draft-scenarios", ""), context.table("gen-scenarios", "")
        return GenScenarios(context.benchmark, context.config, drafts, scenarios)

    def row_maker(self, task: Task) -> GenScenariosRowMaker:
        return GenScenariosRowMaker(task)

    def usual_calls(self, config: BenchmarkConfig, target: str) -> Mapping[str, int]:
        return {Role.GENERATOR.value: int(bool(config.demographics))}

    def remarks(self, context: StepContext, remade: Collection[Place]) -> tuple[str, ...]:
        """Where all is made again: which rows were left as they are, since somebody wrote or edited them."""
        if not context.options.force:
            return ()
        table = context.table("gen-scenarios", "")
        kept = [place.id for place in table.heads() if table.by_hand(place) and context.options.choose(place)]
        if not kept:
            return ()
        names = ", ".join(kept[:_MOST_NAMED]) + (", …" if kept[_MOST_NAMED:] else "")
        return (
            f"left as somebody wrote or edited them: {counted(len(kept), 'scenario')} ({names}); to have "
            "them made again, delete them from scenarios.json",
        )

    def rows_for_each(self, context: StepContext) -> int:
        config = context.config
        return config.generation.scenarios_per_metric * len(config.variants)


STEP = GenScenariosStep()
