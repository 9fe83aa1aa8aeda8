"""Which scenarios there are to be, and what they are rewritten from.

A row of `scenarios.json` is known by what its draft was asked with, and by which draft that was, so that all
variants of a scenario come from one. A folder that was checked out without what its runs left behind
(`.rows`) is complete all the same: its rows say which draft it was. Where a draft is gone and only another
variant is to be added, the first variant that is there takes the draft's place.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from ..format.models import Benchmark, BenchmarkConfig, Metric
from ..rows.row_keys import digest, model_print, prompt_digest
from ..rows.row_types import ScenarioRow
from ..rows.scenario_ids import older_id, scenario_id
from ..rows.work import Place, Row, Unit

NEW_PROMPTS = tuple(f"benchmark/scenarios_{name}" for name in ("system", "new", "again"))
VARIANT_PROMPTS = tuple(f"benchmark/variant{name}" for name in ("_system", "", "_again"))

Draft = Mapping[str, Any]
"""A base scenario as JSON: persona, user_goal, latent_adversarial_goal and landmarks; and its `digest`."""


class TableInProgress(Protocol):
    """A table, as these stages need it."""

    def done(self, unit: Unit) -> bool: ...

    def by_hand(self, place: Place) -> bool: ...

    def row(self, place: Place, /) -> Row: ...


class Drafts:
    """The scenarios of a benchmark by metric and number, as far as there are any."""

    def __init__(
        self,
        benchmark: Benchmark,
        config: BenchmarkConfig,
        drafts: TableInProgress,
        scenarios: TableInProgress,
    ) -> None:
        self.metrics = tuple(metric for metric in benchmark.metrics if metric.complete)
        self.numbers = range(1, config.generation.scenarios_per_metric + 1)
        self._benchmark = benchmark
        self._config = config
        self._drafts = drafts
        self._scenarios = scenarios
        self._rewriter = digest(model_print(config.generator_model), prompt_digest(*VARIANT_PROMPTS))
        self._which: dict[str, dict[int, str]] = {}
        self._recipes = {metric.id: self._recipe(metric) for metric in self.metrics}

    def recipe(self, metric: Metric) -> str:
        """The digest of all that a scenario of this metric is asked with, but for how many there are."""
        return self._recipes[metric.id]

    def _recipe(self, metric: Metric) -> str:
        config, benchmark = self._config, self._benchmark
        return digest(
            (metric.name, metric.type.value, metric.definition, metric.examples),
            (benchmark.name, benchmark.description, benchmark.scenario.user_context),
            # Only the names: they are left open in a draft, and their values come with the variants.
            (config.generation.turns, sorted(config.demographics)),
            (model_print(config.generator_model), prompt_digest(*NEW_PROMPTS)),
        )

    def variants(self, metric: Metric, number: int) -> Iterator[Unit]:
        """The rows of `scenarios.json` that one scenario is to have, in order."""
        recipe, which = self.recipe(metric), self.which(metric, number)
        for variant, demographic in enumerate(self._config.variants, 1):
            made_of = (recipe, number, demographic, self._rewriter if demographic else "")
            # Rows that don't say which draft it was, others' for instance, keep the keys that they have.
            key = digest(*made_of, which) if which else digest(*made_of)
            yield Unit(self._place(metric, number, variant), key)

    def which(self, metric: Metric, number: int) -> str:
        """The digest of a scenario's draft; where the draft is gone, that in its first row."""
        if metric.id not in self._which:
            row = self.stored(metric)
            drafts = row["scenarios"] if row else ()
            self._which[metric.id] = {draft["number"]: draft.get("digest", "") for draft in drafts}
        known = self._which[metric.id]
        if number not in known:
            known[number] = self._from_rows(metric, number)
        return known[number]

    def _from_rows(self, metric: Metric, number: int) -> str:
        for variant in range(1, len(self._config.variants) + 1):
            with contextlib.suppress(KeyError):
                row = self._scenarios.row(self._place(metric, number, variant))
                return ScenarioRow.from_json(row).draft
        return ""

    def _place(self, metric: Metric, number: int, variant: int) -> Place:
        """Where the row is; one with an id of the older form is the row, and is not made a second time."""
        older = Place(older_id(metric.id, number, variant))
        with contextlib.suppress(KeyError):
            self._scenarios.row(older)
            return older
        return Place(scenario_id(metric.id, number, variant))

    def stored(self, metric: Metric) -> Row | None:
        """What draft-scenarios has made of this metric, unless it was made of something else."""
        try:
            row = self._drafts.row(Place(metric.id))
        except KeyError:
            return None
        return row if row["recipe"] == self.recipe(metric) else None

    def found(self, metric: Metric) -> dict[int, Draft]:
        """By number, the scenarios that there are already, as drafts or as rows."""
        row = self.stored(metric)
        drafts = {draft["number"]: draft for draft in row["scenarios"]} if row else {}
        for number in self.numbers:
            if number not in drafts and (draft := self._from_variant(metric, number)):
                drafts[number] = draft
        return dict(sorted(drafts.items()))

    def by_hand(self, metric: Metric, number: int) -> bool:
        """Whether somebody wrote or edited a row of the scenario: then all its variants keep to the draft."""
        return any(self._scenarios.by_hand(unit.place) for unit in self.variants(metric, number))

    def draft(self, metric: Metric, number: int) -> Draft | None:
        """One of `found`."""
        row = self.stored(metric)
        drafts = {draft["number"]: draft for draft in row["scenarios"]} if row else {}
        return drafts.get(number) or self._from_variant(metric, number)

    def needed(self, metric: Metric) -> bool:
        """Whether a row of the metric is still to be made."""
        units = (unit for number in self.numbers for unit in self.variants(metric, number))
        return any(not self._scenarios.done(unit) for unit in units)

    def _from_variant(self, metric: Metric, number: int) -> Draft | None:
        done = (unit for unit in self.variants(metric, number) if self._scenarios.done(unit))
        first = next(done, None)
        if first is None:
            return None
        row = ScenarioRow.from_json(self._scenarios.row(first.place))
        return {**content(row), "number": number, "digest": row.draft}


def content(row: ScenarioRow) -> dict[str, Any]:
    """The parts of a row that a draft has."""
    data = row.to_json()
    names = ("persona", "user_goal", "latent_adversarial_goal", "landmarks")
    return {name: data[name] for name in names}
