"""`benchmark.yaml` and `config.yaml` after they were read and checked."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from itertools import product
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from ...settings.field_types import Count, Number
from ...settings.model_settings import ModelSettings
from ...settings.models import RunSettings, TargetSettings

MOST_TURNS = 100

StoredRows = Literal["known", "allow", "refuse"]


class _FilePart(BaseModel):
    """A mapping of a file. The reader of the file has reported keys that are not ours."""

    model_config = ConfigDict(frozen=True, extra="ignore", protected_namespaces=())


class MetricType(str, Enum):
    """Which answer passes: a positive metric's behaviour is wanted, a negative one's is not."""

    POSITIVE = "positive"
    NEGATIVE = "negative"

    def passes(self, present: bool) -> bool:
        """Whether a conversation passes in which the behaviour is present, or is not."""
        return present is (self is MetricType.POSITIVE)


class Metric(_FilePart):
    """One observable behaviour.

    `definition` describes the behaviour itself, for a negative metric the bad one; `examples` are things
    that an assistant might say when it shows it. A metric that somebody has begun by hand may lack
    both: gen-metrics completes it, and no other stage takes it before.
    """

    id: str
    name: str = ""
    type: MetricType = MetricType.POSITIVE
    definition: str = ""
    examples: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        return bool(self.name.strip() and self.definition.strip() and self.examples)


class ScenarioContext(_FilePart):
    """What all scenarios have in common: who the users are and where they talk with the assistant."""

    user_context: str = ""


class Gate(_FilePart):
    """When the benchmark passes as a test.

    Each metric's pass rate has to reach `min_pass_rate`, and no gap between two groups of one demographic may
    be larger than `max_group_gap` (None: not looked at). A gate is red where the interval lies beyond its
    limit, green where it lies within, else undecided. The intervals of all rates hold together with
    `confidence`, and so do those of all gaps. `min_pass_rate: 1` asks for each conversation, so one that
    fails is enough for red.

    `undecided` says what becomes of such a gate: `report` lets the test pass and names it in the summary,
    `error` makes it an error. `bound` is what earlier versions had: `lower` is `undecided: error` where that
    isn't set, and `point` says nothing any more.

    `stored_rows` says which conversations of earlier sessions count. `known`: those with a target that its
    settings, and a version if it reports one, describe wholly. `allow`: all that fit the settings and
    the code. `refuse`: none.
    """

    min_pass_rate: Annotated[Number, Field(ge=0, le=1)] = 1.0
    max_group_gap: Annotated[Number, Field(ge=0, le=1)] | None = None
    confidence: Annotated[Number, Field(gt=0, lt=1)] = 0.95
    undecided: Literal["report", "error"] | None = None
    bound: Literal["point", "lower"] | None = None
    stored_rows: StoredRows = "known"

    @property
    def undecided_blocks(self) -> bool:
        """Whether an undecided gate is an error."""
        # With `bound: lower`, a gate failed unless its interval reached the limit: that stays so.
        return self.undecided == "error" or (self.undecided is None and self.bound == "lower")


class Benchmark(_FilePart):
    """The whole of `benchmark.yaml`."""

    name: str
    description: str = ""
    scenario: ScenarioContext = ScenarioContext()
    metrics: tuple[Metric, ...] = ()
    gate: Gate | None = None

    def metric(self, metric_id: str) -> Metric | None:
        """The metric of an id, None if there is none."""
        return next((metric for metric in self.metrics if metric.id == metric_id), None)


class Generation(_FilePart):
    """How much is made: metrics, scenarios of each, turns of a conversation, conversations of a scenario."""

    num_metrics: Count = 6
    scenarios_per_metric: Count = 3
    turns: Annotated[Count, Field(le=MOST_TURNS)] = 5
    num_samples: Count = 1


class EvaluationMethod(_FilePart):
    """How a verdict comes about: by what the evaluator answers, or by how likely it is to say yes."""

    method: Literal["answer", "log_odds"] = "answer"


class TargetEntry(_FilePart):
    """One of the systems under test; `id` names its folder below `runs/`."""

    id: str
    settings: TargetSettings

    @property
    def model(self) -> str | None:
        """The model's name, None for a target that isn't one."""
        model = self.settings.as_model
        return model.model if model is not None else None


class BenchmarkConfig(_FilePart):
    """The whole of `config.yaml`, merged with what the project's settings have for all models.

    `demographics` are the values of each attribute; every combination is a variant of each scenario.
    `concurrency` has the stages with a number of their own; `run.concurrency` is that of all others.
    """

    generator_model: ModelSettings = ModelSettings()
    user_model: ModelSettings = ModelSettings()
    evaluator_model: ModelSettings = ModelSettings()
    targets: tuple[TargetEntry, ...] = ()
    generation: Generation = Generation()
    evaluation: EvaluationMethod = EvaluationMethod()
    demographics: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)
    landmarks: bool = True
    perfunctory: bool = False
    run: RunSettings = RunSettings()
    concurrency: Mapping[str, int] = Field(default_factory=dict)

    def at_once(self, step: str) -> int:
        """How many rows of a step are made at once; drafts of scenarios count as scenarios."""
        stage = "gen-scenarios" if step == "draft-scenarios" else step
        return self.concurrency.get(stage, self.run.concurrency)

    @property
    def models(self) -> tuple[ModelSettings, ...]:
        """All models that stages may call, targets among them."""
        targets = (entry.settings.as_model for entry in self.targets)
        roles = (self.generator_model, self.user_model, self.evaluator_model)
        return (*roles, *(model for model in targets if model is not None))

    @property
    def variants(self) -> tuple[Mapping[str, str], ...]:
        """The combinations in order, the last attribute changing fastest; one, empty, without attributes."""
        names = tuple(self.demographics)
        return tuple(dict(zip(names, values, strict=True)) for values in product(*self.demographics.values()))

    def target(self, target_id: str) -> TargetEntry:
        """The target of an id. Raises KeyError."""
        return {entry.id: entry for entry in self.targets}[target_id]
