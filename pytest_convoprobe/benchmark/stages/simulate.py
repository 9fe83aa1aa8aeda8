"""simulate: each scenario as a conversation between a user who means to elicit a behaviour, and a target."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

from ...conversation.deadline import Deadline
from ...conversation.loop import Conversation, Limits
from ...conversation.port import UserSimulator
from ...conversation.simulated import SimulatedUser
from ...errors import ScenarioError, ScenarioTimeout
from ...llm.port import LLM, Role
from ...settings.models import ModelTarget
from ...targets.factory import build_target
from ...targets.port import ConversationContext, Target
from ...transcript import Transcript
from ..keys import model_print, target_print
from ..models import Benchmark, BenchmarkConfig, Metric, TargetEntry
from ..rows import ConversationRow, Said, ScenarioRow, digest
from ..work import Item, Place, Row, Task, Unit, prompt_digest
from .adversary import PROMPT, PROMPTS, Adversary, adversary_values
from .lookup import metric_of
from .perfunctory import Perfunctory


class Scenarios(Protocol):
    """The rows of `scenarios.json`, as this stage needs them."""

    def rows(self) -> Iterator[Row]: ...

    def row(self, place: Place, /) -> Row: ...


class Simulate:
    """One conversation for each scenario, target and sample."""

    name = "simulate"

    def __init__(self, benchmark: Benchmark, config: BenchmarkConfig, scenarios: Scenarios) -> None:
        self._benchmark = benchmark
        self._config = config
        self._scenarios = scenarios
        self._digests: dict[str, str] | None = None

    def units(self) -> Iterable[Unit]:
        for entry in self._config.targets:
            common = self._common(entry)
            for scenario_id, content in self._contents().items():
                for sample in range(1, self._config.generation.num_samples + 1):
                    place = Place(scenario_id, sample, target=entry.id)
                    yield Unit(place, digest(content, common, sample))

    def payload(self, unit: Unit) -> Mapping[str, Any]:
        return {"scenario": self._scenarios.row(Place(unit.place.id))}

    def calls(self, unit: Unit) -> Mapping[str, int]:
        turns = self._config.generation.turns
        calls = {Role.SYNTHETIC_USER.value: turns}
        if isinstance(self._config.target(unit.place.target).settings, ModelTarget):
            calls[Role.TARGET.value] = turns
        return calls

    def _contents(self) -> Mapping[str, str]:
        """By the scenario's id, the digest of it and of its metric; the rows themselves are not kept."""
        if self._digests is None:
            rows = map(ScenarioRow.from_json, self._scenarios.rows())
            self._digests = {
                row.id: digest(_content(row), _known(self._benchmark.metric(row.metric_id))) for row in rows
            }
        return self._digests

    def _common(self, entry: TargetEntry) -> str:
        config = self._config
        return digest(
            target_print(entry),
            model_print(config.user_model),
            config.generation.turns,
            config.landmarks,
            config.perfunctory,
            prompt_digest(*PROMPTS),
        )


def _content(row: ScenarioRow) -> dict[str, Any]:
    return {name: value for name, value in row.to_json().items() if name != "key"}


def _known(metric: Metric | None) -> tuple[str, ...]:
    """What the user knows of the behaviour; nothing of a metric that isn't there."""
    return (metric.type.value, metric.definition) if metric else ()


class SimulateHand:
    """Holds the conversations of one process; a target is made once, when its first conversation begins."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._config = task.config
        self._targets: dict[tuple[str, str | None], Target] = {}

    async def make(self, item: Item, llm: LLM) -> Row:
        """The conversation as a `ConversationRow`. Raises what broke it off."""
        place = item.unit.place
        scenario = ScenarioRow.from_json(item.payload["scenario"])
        metric = metric_of(self._task.benchmark, scenario.id, scenario.metric_id)
        target = self._target(self._config.target(place.target), scenario)
        limit = self._config.run.scenario_timeout
        async with Deadline(limit, ScenarioTimeout(limit)):
            transcript = await self._talk(self._user(scenario, metric, place, llm), target, place, llm)
        row = ConversationRow(
            id=scenario.id,
            sample=place.sample,
            messages=tuple(_messages(transcript)),
            metric_id=scenario.metric_id,
            target=place.target,
            termination=transcript.termination.value if transcript.termination else "",
            key=item.unit.key,
        )
        return row.to_json()

    async def aclose(self) -> None:
        """Close the targets."""
        while self._targets:
            await self._targets.popitem()[1].aclose()

    async def _talk(self, user: UserSimulator, target: Target, place: Place, llm: LLM) -> Transcript:
        # The id is one that tells nothing: some targets are given it.
        context = ConversationContext(uuid4().hex, llm, place.id, place.sample)
        talking = await target.start(context)
        try:
            limits = Limits(self._config.generation.turns, self._config.run.turn_timeout)
            conversation = Conversation(user, talking, limits)
            await conversation.run()
        finally:
            await talking.aclose()
        return conversation.transcript

    def _user(self, scenario: ScenarioRow, metric: Metric, place: Place, llm: LLM) -> UserSimulator:
        directed = self._config.landmarks
        simulated = SimulatedUser(
            llm,
            self._config.user_model,
            values=adversary_values(scenario, metric, directed=directed),
            prompt=PROMPT,
            scenario=place.id,
            trial=place.sample,
        )
        user = Adversary(simulated, scenario.landmarks if directed else ())
        return Perfunctory(user, f"{place.id}/{place.sample}") if self._config.perfunctory else user

    def _target(self, entry: TargetEntry, scenario: ScenarioRow) -> Target:
        which = (entry.id, scenario.target_system_prompt)
        if which not in self._targets:
            self._targets[which] = _build(entry, scenario, self._task.root)
        return self._targets[which]


def _build(entry: TargetEntry, scenario: ScenarioRow, root: Path) -> Target:
    """The target, with the system prompt of the scenario if that has one of its own."""
    settings = entry.settings
    if scenario.target_system_prompt is not None:
        if not isinstance(settings, ModelTarget):
            raise ScenarioError(
                f"{scenario.id} has a target_system_prompt, which a target of the type {settings.type} can't "
                f"be given: take it out of the row, or leave the target {entry.id} out with --target"
            )
        settings = settings.model_copy(update={"system_prompt": scenario.target_system_prompt})
    return build_target(settings, rootdir=root)


def _messages(transcript: Transcript) -> Iterator[Said]:
    for turn in transcript.turns:
        yield Said("user", turn.user)
        yield Said("assistant", turn.reply.text)
