"""What a run would make, call and spend, estimated without making anything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice

from ...llm.ledger import Spending
from ...llm.port import PriceOf, Role
from ...settings.model_settings import ModelSettings
from ...transcript import Usage
from ..format.models import BenchmarkConfig
from ..rows.spending import Sum, as_numbers
from ..rows.work import Stage
from ..stages.step import Step
from .driver import Counts, TargetPlan

ASSUMED = {
    Role.GENERATOR: Usage(1500, 1500),
    Role.SYNTHETIC_USER: Usage(1500, 80),
    Role.TARGET: Usage(1000, 250),
    Role.EVALUATOR: Usage(2500, 150),
}
"""Tokens of one call, where no row was made yet."""


@dataclass(frozen=True)
class Forecast:
    """What a stage would do: rows by target, and by role what they would take.

    `later` estimates rows that are not known yet, as they are to be made of what earlier stages of the same
    run make first; `spending` counts them, too. `basis` is what the estimate is made from: `rows`
    made before, or else `sizes` that are assumed. A cost of None is unknown. `remarks` are those of a run.
    """

    stage: str
    targets: Mapping[str, Counts]
    later: int = 0
    spending: Mapping[str, Spending] = field(default_factory=dict)
    basis: str = "sizes"
    remarks: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        """Rows that would be made."""
        return self.later + sum(counts.missing for counts in self.targets.values())

    @property
    def total(self) -> Spending:
        """What all roles together would take."""
        return sum((part for part in self.spending.values() if part.calls), Spending())


async def forecast(
    step: Step,
    stage: Stage,
    plans: Mapping[str, TargetPlan],
    config: BenchmarkConfig,
    price_of: PriceOf,
    *,
    limit: int | None = None,
    later: int = 0,
) -> Forecast:
    """The forecast of a step with its plan `stage`; `later` estimates rows that it doesn't know of yet."""
    counts = _within(limit, {target: one.counts for target, one in plans.items()})
    if limit is not None:
        later = min(later, limit - sum(one.missing for one in counts.values()))
    total, basis = Sum(), "sizes"
    for need in _needs(step, stage, plans, counts, later, config):
        for role, calls in sorted((+need.calls).items()):
            spent = _as_before(plans, need, role)
            basis = "rows" if spent else basis
            spent = spent or await _assumed(need.target, Role(role), calls, config, price_of)
            total.add(as_numbers({role: spent}))
    return Forecast(stage.name, counts, later, total.by_role(), basis)


@dataclass(frozen=True)
class _Need:
    """What one target needs: rows, and at most so many calls by role for them."""

    target: str
    rows: int
    calls: Counter[str]


def _within(limit: int | None, counts: Mapping[str, Counts]) -> dict[str, Counts]:
    """As the targets take turns, each has its part of the limit."""
    if limit is None:
        return dict(counts)
    parts = dict.fromkeys(counts, 0)
    turns = (target for n in range(limit) for target, one in counts.items() if n < one.missing)
    for target in islice(turns, limit):
        parts[target] += 1
    return {target: Counts(one.done, parts[target]) for target, one in counts.items()}


def _needs(
    step: Step,
    stage: Stage,
    plans: Mapping[str, TargetPlan],
    counts: Mapping[str, Counts],
    later: int,
    config: BenchmarkConfig,
) -> Iterator[_Need]:
    targets = list(plans) or _targets(step, config)
    for number, target in enumerate(targets):
        missing = plans[target].missing[: counts[target].missing] if target in plans else []
        more = later // len(targets) + (number < later % len(targets))
        calls: Counter[str] = Counter()
        for unit in missing:
            calls.update(stage.calls(unit))
        for role, each in step.usual_calls(config, target).items():
            calls[role] += more * each
        yield _Need(target, len(missing) + more, calls)


def _targets(step: Step, config: BenchmarkConfig) -> list[str]:
    return [entry.id for entry in config.targets] if step.per_target else [""]


def _as_before(plans: Mapping[str, TargetPlan], need: _Need, role: str) -> Spending | None:
    """What so many rows take if they are like those that were made before; None if there are none.

    What a target spends is its own; the other roles are the same for all targets.
    """
    own = [plans[need.target]] if need.target in plans else []
    tables = [one.table for one in (own if role == Role.TARGET.value else plans.values())]
    rows = sum(table.paid_rows for table in tables)
    spent = sum((table.spending().get(role, Spending()) for table in tables), Spending())
    if not rows or not spent.calls:
        return None
    return _scaled(spent, need.rows / rows)


def _scaled(spent: Spending, factor: float) -> Spending:
    usage = Usage(round(spent.usage.prompt_tokens * factor), round(spent.usage.completion_tokens * factor))
    cost = None if spent.cost is None else spent.cost * factor
    return Spending(round(spent.calls * factor), round(spent.attempts * factor), 0, usage, cost)


async def _assumed(
    target: str, role: Role, calls: int, config: BenchmarkConfig, price_of: PriceOf
) -> Spending:
    size, settings = ASSUMED[role], _model(target, role, config)
    price = await price_of(settings) if settings is not None else None
    each = None if price is None else size.prompt_tokens * price[0] + size.completion_tokens * price[1]
    usage = Usage(size.prompt_tokens * calls, size.completion_tokens * calls)
    return Spending(calls, calls, 0, usage, None if each is None else each * calls)


def _model(target: str, role: Role, config: BenchmarkConfig) -> ModelSettings | None:
    if role is Role.TARGET:
        return config.target(target).settings.as_model
    return {
        Role.GENERATOR: config.generator_model,
        Role.SYNTHETIC_USER: config.user_model,
        Role.EVALUATOR: config.evaluator_model,
    }[role]
