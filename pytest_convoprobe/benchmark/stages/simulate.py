"""simulate: each scenario as a conversation between a user who means to elicit a behaviour, and a target."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from ...conversation.loop import Limits
from ...conversation.port import UserSimulator
from ...conversation.simulated import SimulatedUser
from ...errors import ResultsError, ScenarioError, TargetCrashed, TargetUnavailable
from ...excerpts import TEXT_LIMIT, as_text, fitting, without_binary
from ...files import shown_path
from ...gateway.port import Wire
from ...llm.port import LLM, Role
from ...project_code.calls import undisturbed
from ...redaction import Redactor
from ...results.records import plain
from ...runs.conversation_host import ConversationHost, within_scenario_timeout
from ...runs.provider_blame import provider_failure
from ...runs.wired_conversation import wire_of
from ...start_time import present
from ...targets.factory import build_target
from ...targets.port import Target
from ...transcript import ToolCall, Transcript
from ..format.folder import BenchmarkFolder
from ..format.models import Benchmark, BenchmarkConfig, Metric, TargetEntry
from ..rows.messages import Said
from ..rows.row_keys import digest, model_print, prompt_digest, target_print
from ..rows.row_types import CONVERSATIONS, ConversationRow, ScenarioRow
from ..rows.sample_numbers import Numbering
from ..rows.work import Item, Place, Row, Task, Unit
from .adversary import PROMPT, PROMPTS, Adversary, adversary_values
from .lookup import EarlierTable, metric_of, nothing_yet, own_metric
from .own_scenarios import never_reached, require_sound
from .perfunctory import Perfunctory
from .step import Step, StepContext


class Simulate:
    """One conversation for each scenario, target and sample.

    `conversations` gives those of a target that are there, by its id: others may count samples from 0. The
    code of targets is below `root`; `versions` are those that targets report.
    """

    name = "simulate"

    def __init__(
        self,
        benchmark: Benchmark,
        config: BenchmarkConfig,
        scenarios: EarlierTable,
        conversations: Callable[[str], EarlierTable] | None = None,
        root: Path | None = None,
        versions: Mapping[str, str] | None = None,
        scored: Callable[[str], Collection[Place]] = lambda _: (),
    ) -> None:
        self._benchmark = benchmark
        self._config = config
        self._scenarios = scenarios
        self._conversations = conversations
        self._root = root
        self._versions = versions or {}
        self._scored = scored

    def units(self) -> Iterable[Unit]:
        known = {
            metric.id: digest(metric.type.value, metric.definition) for metric in self._benchmark.metrics
        }
        scenarios = {
            place.id: (head.digest, known.get(self._metric(place.id)))
            for place, head in self._scenarios.heads().items()
        }
        samples = self._config.generation.num_samples
        for entry in self._config.targets:
            common, scored = self._common(entry), self._scored(entry.id)
            first = self._numbering(entry, scored).first
            for scenario_id, made_of in scenarios.items():
                for sample in range(first(scenario_id), first(scenario_id) + samples):
                    place = Place(scenario_id, sample, target=entry.id)
                    if place not in scored:
                        yield Unit(place, digest(made_of, common, sample))

    def payload(self, unit: Unit) -> Mapping[str, Any]:
        scenario_id = unit.place.id
        return {
            "scenario": self._scenarios.row(Place(scenario_id)),
            "metric_id": self._metric(scenario_id),
        }

    def calls(self, unit: Unit) -> Mapping[str, int]:
        turns = self._config.generation.turns
        calls = {Role.SYNTHETIC_USER.value: turns}
        if self._config.target(unit.place.target).settings.is_model():
            calls[Role.TARGET.value] = turns
        return calls

    def _numbering(self, entry: TargetEntry, scored: Collection[Place]) -> Numbering:
        """Others' conversations may be numbered from 0. From 1 on, each would be made a second time."""
        stored = self._conversations(entry.id).heads() if self._conversations else ()
        places = ((place.id, place.sample) for place in (*stored, *scored))
        return Numbering(self._config.generation.num_samples, places)

    def _metric(self, scenario_id: str) -> str:
        return own_metric(self._benchmark, self._scenarios, Place(scenario_id))

    def _common(self, entry: TargetEntry) -> str:
        config = self._config
        return digest(
            target_print(entry, self._root, self._versions.get(entry.id, "")),
            model_print(config.user_model),
            config.generation.turns,
            config.landmarks,
            config.perfunctory,
            prompt_digest(*PROMPTS),
        )


class SimulateRowMaker:
    """Runs the conversations of one process; a target is made once, when its first conversation begins."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._config = task.config
        self._targets: dict[tuple[str, str | None], Target] = {}
        self._redactor = Redactor(task.secrets)
        self._host = ConversationHost()
        self._variables = ExitStack()

    async def make(self, item: Item, llm: LLM) -> Row:
        """The conversation as a `ConversationRow`. Raises what broke it off."""
        place = item.unit.place
        scenario = ScenarioRow.from_json(item.payload["scenario"])
        metric = metric_of(self._task.benchmark, scenario.id, item.payload["metric_id"])
        entry = self._config.target(place.target)
        target = self._target(entry, scenario)
        agent = item.agent
        wire = wire_of(entry.settings.models, calls=agent, redactor=agent.redactor if agent else None)
        # A conversation whose event loop another agent has blocked for good is begun again.
        transcript = await undisturbed(
            lambda: within_scenario_timeout(
                self._config.run.scenario_timeout,
                lambda: self._talk(self._user(scenario, metric, place, llm), target, place, llm, wire),
            )
        )
        if transcript.is_silent:
            # An evaluator would find that nothing forbidden was said: silence must not be scored.
            raise TargetCrashed("the agent said nothing in any turn: it can't be evaluated")
        if failure := provider_failure(transcript):
            # What the agent says then, if only that it is sorry, would be scored as its own words.
            raise TargetUnavailable(failure)
        redactor = self._task.masking.redactor(self._redactor)
        row = ConversationRow(
            id=scenario.id,
            sample=place.sample,
            messages=tuple(_messages(transcript, redactor)),
            metric_id=metric.id,
            target=place.target,
            termination=transcript.termination.value if transcript.termination else "",
            key=item.unit.key,
        )
        if redactor.problem is not None:
            raise redactor.problem
        return row.to_json()

    async def aclose(self) -> None:
        """Close the targets, and the event loop of those in Python."""
        while self._targets:
            await self._targets.popitem()[1].aclose()
        self._variables.close()
        await self._host.aclose()

    async def _talk(
        self, user: UserSimulator, target: Target, place: Place, llm: LLM, wire: Wire | None
    ) -> Transcript:
        limits = Limits(self._config.generation.turns, self._config.run.turn_timeout)
        run = self._config.run
        # For templates of targets alone. A replay has no date: which one was recorded isn't known.
        now = run.now or (present() if run.calls_live else None)
        most = self._config.run.max_text
        opened = self._host.conversation(
            target, user, limits, llm, place.id, place.sample, now=now, max_text=most, wire=wire
        )
        async with opened as conversation:
            await conversation.run()
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
            asks_guard=True,
            guard_may_be_unrecorded=True,
        )
        user = Adversary(simulated, scenario.landmarks if directed else ())
        return Perfunctory(user, f"{place.id}/{place.sample}") if self._config.perfunctory else user

    def _target(self, entry: TargetEntry, scenario: ScenarioRow) -> Target:
        # Scenarios may bring a system prompt of their own: each is another target.
        which = (entry.id, scenario.target_system_prompt)
        if which not in self._targets:
            if entry.settings.models is not None:
                # Before its module is imported, since most clients look for their address then.
                self._variables.enter_context(self._host.gateway.variables(entry.settings.models.addresses))
            self._targets[which] = _build(entry, scenario, self._task.root)
        return self._targets[which]


def _build(entry: TargetEntry, scenario: ScenarioRow, root: Path) -> Target:
    """The target, with the system prompt of the scenario if that has one of its own."""
    if scenario.target_system_prompt is None:
        return build_target(entry.settings, rootdir=root)
    settings = entry.settings.with_system_prompt(scenario.target_system_prompt)
    if settings is None:
        kind = entry.settings.type
        raise ScenarioError(
            f"{scenario.id} has a target_system_prompt, which a target of the type {kind} can't "
            f"be given: take it out of the row, or leave the target {entry.id} out of the run"
        )
    return build_target(settings, rootdir=root)


def _messages(transcript: Transcript, redactor: Redactor) -> Iterator[Said]:
    for turn in transcript.turns:
        yield Said("user", redactor.personal(turn.user))
        calls = tuple(_as_kept(call, redactor) for call in turn.reply.tool_calls or ())
        yield Said("assistant", redactor.personal(turn.reply.text), calls)


def _as_kept(call: ToolCall, redactor: Redactor) -> ToolCall:
    """The call as plain data. Secrets go before anything is cut: half of one would not be recognised."""
    arguments, result, error = redactor.data([plain(dict(call.arguments)), plain(call.result), call.error])
    return replace(
        call,
        arguments=without_binary(arguments),
        result=_bounded(result),
        error=_bounded(error),
        latency=None,
    )


def _bounded(result: Any) -> Any:
    """A result or an error, or as much of its text as an evaluator would be shown of a result."""
    data = without_binary(result)
    return data if len(as_text(data)) <= TEXT_LIMIT else fitting(data)


def _scored_elsewhere(context: StepContext, target: str) -> Collection[Place]:
    """The places of scores that others published without their conversations: nobody asked for new ones.

    Of the scenarios that came with them. A gate that talks again needs new conversations all the same.
    """
    if context.options.force or target in context.options.talk_again:
        return frozenset()
    try:
        scores, there = context.table("evaluate", target).heads(), context.table("simulate", target).heads()
    except ResultsError:  # evaluate itself reports it
        return frozenset()
    scenarios = context.table("gen-scenarios", "").heads()
    theirs = {place.id for place, head in scenarios.items() if head.foreign}
    return {
        place
        for place, head in scores.items()
        if head.foreign and not place.metric_id and place.id in theirs and place not in there
    }


class SimulateStep(Step):
    """The tables of conversations, one for each target: `runs/<target>/conversations.json`."""

    name = "simulate"
    kind = CONVERSATIONS
    per_target = True

    def file(self, folder: BenchmarkFolder, target: str) -> Path:
        return folder.conversations(target)

    def plan(self, context: StepContext) -> Simulate:
        scenarios, own = context.table("gen-scenarios", ""), partial(context.table, "simulate")
        root, versions = context.loaded.root, context.versions
        scored = partial(_scored_elsewhere, context)
        return Simulate(context.benchmark, context.config, scenarios, own, root, versions, scored)

    def row_maker(self, task: Task) -> SimulateRowMaker:
        return SimulateRowMaker(task)

    def usual_calls(self, config: BenchmarkConfig, target: str) -> Mapping[str, int]:
        turns = config.generation.turns
        own = {Role.TARGET.value: turns} if config.target(target).model is not None else {}
        return {Role.SYNTHETIC_USER.value: turns, **own}

    def rows_for_each(self, context: StepContext) -> int:
        return len(context.targets) * context.config.generation.num_samples

    def check(self, context: StepContext) -> None:
        file = context.loaded.folder.scenarios
        if file.exists():
            require_sound(context.table("gen-scenarios", "").others(), shown_path(file))

    def require(self, context: StepContext, stages: Sequence[str]) -> None:
        if "gen-scenarios" not in stages and not context.table("gen-scenarios", "").heads():
            raise nothing_yet("there are no scenarios yet", "gen-scenarios", context.loaded.folder)

    def remarks(self, context: StepContext, remade: Collection[Place]) -> tuple[str, ...]:
        if not context.config.landmarks:
            return ()
        scenarios = map(ScenarioRow.from_json, context.table("gen-scenarios", "").rows())
        chosen = (
            one
            for one in scenarios
            if (place := Place(one.id)) not in remade and context.options.choose(place)
        )
        return never_reached(chosen, context.config.generation.turns)


STEP = SimulateStep()
