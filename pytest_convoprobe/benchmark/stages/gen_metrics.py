"""gen-metrics: from a benchmark's description to metrics, and what is missing in those begun by hand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, Field

from ... import prompts
from ...errors import StructuredReplyError
from ...llm.port import LLM, Role
from ...redaction import Redactor
from ..format.definition import read_benchmark
from ..format.metrics_writer import set_metrics
from ..format.models import Benchmark, BenchmarkConfig, Metric, MetricType
from ..format.project import LoadedBenchmark
from ..rows.row_keys import digest, model_print, prompt_digest
from ..rows.work import Item, Place, Row, Stage, Task, Unit
from .asking import Asker, Sifted, chunks, collect, shortfalls
from .metric_rules import definition_problems, example_problems, name_problems, spoken
from .step import Step, StepContext

NEW = "new-metrics"
"""The id of the unit that makes metrics which aren't there yet."""

PER_CALL = 8
_PROMPTS = tuple(
    f"benchmark/metrics_{name}" for name in ("system", "about", "new", "again", "complete", "complete_again")
)
_OWN_FIELDS = ("name", "type", "definition", "examples")


class GenMetrics:
    """One unit for all metrics that are to be added, and one for each that somebody has begun.

    Without `generation.num_metrics` in the settings nothing is added to metrics that are there.
    """

    name = "gen-metrics"

    def __init__(self, benchmark: Benchmark, config: BenchmarkConfig) -> None:
        self._benchmark = benchmark
        self._config = config

    def units(self) -> Iterable[Unit]:
        for metric in self._benchmark.metrics:
            if not metric.complete:
                yield Unit(Place(metric.id), self._key(metric.id))
        if self._missing:
            yield Unit(Place(NEW), self._key(self._missing))

    def payload(self, unit: Unit) -> Mapping[str, Any]:
        return {"wanted": self._missing} if unit.place.id == NEW else {"metric": unit.place.id}

    def calls(self, unit: Unit) -> Mapping[str, int]:
        wanted = self._missing if unit.place.id == NEW else 1
        return {Role.GENERATOR.value: chunks(wanted, PER_CALL)}

    @property
    def _missing(self) -> int:
        there, generation = len(self._benchmark.metrics), self._config.generation
        if there and "num_metrics" not in generation.model_fields_set:
            return 0
        return max(0, generation.num_metrics - there)

    def _key(self, what: str | int) -> str:
        benchmark = self._benchmark
        metrics = [metric.model_dump(mode="json", exclude_unset=True) for metric in benchmark.metrics]
        about = (benchmark.name, benchmark.description, benchmark.scenario.user_context, metrics)
        return digest(what, about, model_print(self._config.generator_model), prompt_digest(*_PROMPTS))


def new_metrics(benchmark: Benchmark, rows: Iterable[Row]) -> tuple[Metric, ...]:
    """The metrics of the rows that gen-metrics made, as they are written into `benchmark.yaml`.

    What is new gets the next free ids; what was written by hand stays as it is.
    """
    made = [metric for row in rows for metric in row["metrics"]]
    begun = {metric.id: metric for metric in benchmark.metrics}
    ids = _free_ids(begun)
    return tuple(
        _completed(begun[data["id"]], data) if data.get("id") in begun else _new(next(ids), data)
        for data in made
    )


def write_metrics(loaded: LoadedBenchmark, rows: Iterable[Row]) -> tuple[str, ...]:
    """Put the rows of gen-metrics into `benchmark.yaml`; what was asked for and is missing comes back."""
    made = tuple(rows)
    metrics = new_metrics(loaded.benchmark, made)
    if metrics:
        set_metrics(loaded.folder.benchmark, metrics)
    return shortfalls(made)


def _free_ids(taken: Iterable[str]) -> Iterator[str]:
    used, number = set(taken), 0
    while True:
        number += 1
        if f"m{number:02d}" not in used:
            yield f"m{number:02d}"


def _new(metric_id: str, data: Mapping[str, Any]) -> Metric:
    return Metric.model_validate({"id": metric_id, **{name: data[name] for name in _OWN_FIELDS}})


def _by_hand(metric: Metric) -> dict[str, Any]:
    """The fields that somebody has filled in."""
    data = metric.model_dump(mode="json", exclude_unset=True)
    return {name: data[name] for name in _OWN_FIELDS if data.get(name)}


def _completed(metric: Metric, data: Mapping[str, Any]) -> Metric:
    fields = {name: data[name] for name in _OWN_FIELDS}
    return Metric.model_validate({"id": metric.id, **fields, **_by_hand(metric)})


def _one_line(value: object) -> object:
    return " ".join(value.split()) if isinstance(value, str) else value


def _word(value: object) -> object:
    return value.strip().lower() if isinstance(value, str) else value


Line = Annotated[str, BeforeValidator(_one_line)]


class MetricReply(BaseModel):
    """One metric as the generator writes it."""

    name: Line = Field(description="A short name.")
    type: Annotated[MetricType, BeforeValidator(_word)] = Field(
        description="positive: the behaviour is wanted; negative: it is not."
    )
    definition: Line = Field(description="What the assistant does, as it can be seen in a transcript.")
    examples: tuple[Line, ...] = Field(description="Three to five things that the assistant might say.")

    def as_metric(self, metric_id: str = "") -> Metric:
        examples = tuple(spoken(example) for example in self.examples)
        return Metric(
            id=metric_id, name=self.name, type=self.type, definition=self.definition, examples=examples
        )


class MetricsReply(BaseModel):
    """Several metrics."""

    metrics: tuple[MetricReply, ...]


class GenMetricsRowMaker:
    """Asks a generator for metrics, and again for those with which something is wrong."""

    def __init__(self, task: Task) -> None:
        self._benchmark = task.benchmark
        self._model = task.config.generator_model
        self._redactor = Redactor(task.secrets)

    async def make(self, item: Item, llm: LLM) -> Row:
        """`{"id", "metrics": [...], "problem": what is missing, in words}`.

        Raises `StructuredReplyError` if no metric is usable.
        """
        system = prompts.render(
            "benchmark/metrics_system", extra_instructions=self._model.extra_instructions or ""
        )
        asker = Asker(llm, self._model, item.unit.place, system, self._redactor)
        metric = self._benchmark.metric(item.payload.get("metric", ""))
        sifted = await (self._complete(asker, metric) if metric else self._add(asker, item.payload["wanted"]))
        if not sifted.good:
            which = f"the metric {metric.id} could not be completed" if metric else "no metric could be made"
            raise StructuredReplyError(f"{which}. {_refusals(sifted)}")
        made = [
            {"id": found.id, **found.model_dump(mode="json", include={*_OWN_FIELDS})} for found in sifted.good
        ]
        problem = _shortfall(len(made), item.payload.get("wanted", 1), sifted)
        return {"id": item.unit.place.id, "metrics": made, "problem": problem, "key": item.unit.key}

    async def aclose(self) -> None:
        """Nothing is kept open."""

    async def _add(self, asker: Asker, wanted: int) -> Sifted[Metric]:
        async def ask_for(chunk: int, count: int, made: tuple[Metric, ...]) -> Sifted[Metric]:
            there = (*self._benchmark.metrics, *made)
            question = self._question("new", count=count, others=there)
            sift = partial(_sift_new, there, count)
            return await asker.ask(question, MetricsReply, sift, partial(_again, count), chunk=chunk)

        return await collect(wanted, PER_CALL, ask_for)

    async def _complete(self, asker: Asker, metric: Metric) -> Sifted[Metric]:
        others = tuple(other for other in self._benchmark.metrics if other.id != metric.id)
        by_hand = _by_hand(metric)
        missing = [name for name in _OWN_FIELDS if name not in by_hand]
        question = self._question("complete", others=others, by_hand=by_hand, missing=missing)
        sift = partial(_sift_completed, metric, others)
        return await asker.ask(question, MetricReply, sift, partial(_again_completed, missing))

    def _question(self, name: str, **values: Any) -> str:
        return prompts.render(f"benchmark/metrics_{name}", benchmark=self._benchmark, **values)


def _sift_new(
    there: Sequence[Metric], count: int, reply: MetricsReply, good: tuple[Metric, ...], last: bool
) -> Sifted[Metric]:
    """The metrics that are right and unlike all others, no more than are wanted."""
    found: list[Metric] = []
    problems: list[str] = []
    for written in reply.metrics:
        if len(good) + len(found) == count:
            break
        others = (*there, *good, *found)
        metric = written.as_metric()
        wrong = [*_problems(metric, others, _OWN_FIELDS)]
        one_type = not wrong and len(good) + len(found) + 1 == count and _lacks_a_type((*others, metric))
        if one_type and not last:
            wrong = [f"all metrics would be {metric.type.value}; write one of the other type instead"]
        if wrong:
            problems.append(f'"{metric.name}": {"; ".join(wrong)}')
        else:
            found.append(metric)
    short = count - len(good) - len(found)
    if short and not problems:
        problems.append(f"{short} more {'is' if short == 1 else 'are'} needed")
    return Sifted(tuple(found), tuple(problems) if short else ())


def _lacks_a_type(metrics: Sequence[Metric]) -> bool:
    """Whether all are of one type, those left aside whose type nobody has chosen yet."""
    types = [metric.type for metric in metrics if "type" in metric.model_fields_set]
    return len(types) > 1 and len(set(types)) == 1


def _sift_completed(
    metric: Metric, others: Sequence[Metric], reply: MetricReply, _: tuple[Metric, ...], __: bool
) -> Sifted[Metric]:
    """The metric with what was missing; what somebody wrote is neither changed nor looked at."""
    whole = _completed(metric, reply.as_metric().model_dump(mode="json"))
    by_hand = _by_hand(metric)
    problems = tuple(_problems(whole, others, [name for name in _OWN_FIELDS if name not in by_hand]))
    return Sifted((), problems) if problems else Sifted((whole,))


def _problems(metric: Metric, others: Sequence[Metric], fields: Sequence[str]) -> Iterator[str]:
    if "name" in fields:
        yield from name_problems(metric.name, others)
    if "definition" in fields:
        yield from definition_problems(metric.definition, metric.type, others)
    if "examples" in fields:
        yield from example_problems(metric.examples)


def _again(count: int, sifted: Sifted[Metric]) -> str:
    names = [metric.name for metric in sifted.good]
    return prompts.render(
        "benchmark/metrics_again", problems=sifted.problems, settled=names, count=count - len(names)
    )


def _again_completed(missing: Sequence[str], sifted: Sifted[Metric]) -> str:
    return prompts.render("benchmark/metrics_complete_again", problems=sifted.problems, missing=missing)


def _shortfall(made: int, wanted: int, sifted: Sifted[Metric]) -> str:
    if made >= wanted:
        return ""
    return f"{made} of {wanted} metrics could be made. {_refusals(sifted)}"


def _refusals(sifted: Sifted[Metric]) -> str:
    """What was refused of what the generator wrote, for people, and what they can do."""
    tries = "1 try" if sifted.tries == 1 else f"{sifted.tries} tries"
    # The generator gets the same complaint in older words: they are part of recordings.
    problems = "; ".join(sifted.problems).replace("it has 1 examples", "it has 1 example")
    return (
        f"What the generator wrote was refused after {tries}: {problems}. Run it again, use another "
        "generator_model, or write the metric into benchmark.yaml yourself"
    )


class GenMetricsStep(Step):
    """The table of metrics; they go into `benchmark.yaml`."""

    name = "gen-metrics"

    def plan(self, context: StepContext) -> GenMetrics:
        return GenMetrics(context.benchmark, context.config)

    def row_maker(self, task: Task) -> GenMetricsRowMaker:
        return GenMetricsRowMaker(task)

    def usual_calls(self, config: BenchmarkConfig, target: str) -> Mapping[str, int]:
        return {Role.GENERATOR.value: 1}

    def announced(self, stage: Stage) -> int:
        return sum(stage.payload(unit).get("wanted", 1) for unit in stage.units())

    def finished(
        self, loaded: LoadedBenchmark, rows: Iterable[Row]
    ) -> tuple[LoadedBenchmark, tuple[str, ...]]:
        made = tuple(rows)
        if not made:
            return loaded, ()
        notes = write_metrics(loaded, made)
        return replace(loaded, benchmark=read_benchmark(loaded.folder.benchmark)[0]), notes


STEP = GenMetricsStep()
