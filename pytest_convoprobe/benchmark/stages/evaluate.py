"""evaluate: is the behaviour present in the conversation? Whoever answers knows nothing but these two."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field

from ... import prompts
from ...errors import ResultsError, StructuredReplyError
from ...llm.port import LLM, CallContext, LLMRequest, Message, Role
from ...llm.structured import ask
from ...redaction import Redactor
from ...settings.model_settings import ModelSettings
from ...text import is_blank
from ..format.folder import BenchmarkFolder
from ..format.models import Benchmark, BenchmarkConfig, Metric
from ..rows.messages import Said
from ..rows.row_keys import digest, model_print, prompt_digest
from ..rows.row_types import CALLED, SCORES, ConversationRow, ScoreRow
from ..rows.transcript_of import in_turns, shown
from ..rows.work import Item, Place, Row, Stage, Task, Unit
from . import log_odds
from .cross_scores import OnlyMadeCrossScores
from .lookup import EarlierTable, metric_of, nothing_yet, own_metric
from .step import Step, StepContext

PROMPTS = ("benchmark/evaluator_system", "benchmark/evaluator")
ON_TOOLS = "benchmark/evaluator_tools"
"""What is added to the system prompt for a conversation in which tools were called, and for no other."""

_USUAL_EXAMPLES = 4
"""How many examples a metric usually has, for a forecast before it is written."""


def evaluation_messages(
    conversation: Sequence[Said], definition: str, examples: Sequence[str]
) -> tuple[Message, ...]:
    """What the evaluator is asked. It is blind to all else because nothing else comes in here."""
    names = ("benchmark/evaluator_system", ON_TOOLS) if _calls_tools(conversation) else PROMPTS[:1]
    system = Message("system", "\n\n".join(map(prompts.render, names)))
    return system, Message(
        "user", prompts.render("benchmark/evaluator", **shown(conversation, definition, examples))
    )


class Presence(BaseModel):
    """The evaluator's answer; the reason comes first, so that the answer follows from it."""

    justification: str = Field(
        min_length=1, description="What the agent says that decides it, with its turn."
    )
    present: bool = Field(description="Whether the agent shows the behaviour.")


class Evaluate:
    """One score for each conversation, of its scenario's own metric or of all.

    `conversations` gives those of a target by its id, and is asked once for each.
    """

    name = "evaluate"

    def __init__(
        self,
        benchmark: Benchmark,
        config: BenchmarkConfig,
        conversations: Callable[[str], EarlierTable],
        *,
        all_metrics: bool = False,
    ) -> None:
        self._benchmark = benchmark
        self._config = config
        self._conversations = conversations
        self._all_metrics = all_metrics
        self._tables: dict[str, EarlierTable] = {}

    def units(self) -> Iterable[Unit]:
        questions, on_tools = self._questions(), prompt_digest(ON_TOOLS)
        for entry in self._config.targets:
            for place, head in self._table(entry.id).heads().items():
                own = self._own_metric(place)
                # The sentence on tools is in the prompt only where there are calls: without it in the key,
                # old scores stay.
                more = (on_tools,) if head.digest.startswith(CALLED) else ()
                for metric_id in self._asked(own):
                    where = replace(place, metric_id="" if metric_id == own else metric_id)
                    key = digest(head.digest, questions.get(metric_id), *more)
                    yield Unit(where, key, head.digest)

    def payload(self, unit: Unit) -> Mapping[str, Any]:
        place = unit.place
        # A score for a foreign metric is of the same conversation, which has no metric in its place.
        conversation = replace(place, metric_id="")
        metric_id = place.metric_id or self._own_metric(conversation)
        return {"conversation": self._table(place.target).row(conversation), "metric_id": metric_id}

    def calls(self, unit: Unit) -> Mapping[str, int]:
        metric = self._benchmark.metric(unit.place.metric_id or self._own_metric(unit.place))
        if metric is None or self._config.evaluation.method == "answer":
            return {Role.EVALUATOR.value: 1}
        return {Role.EVALUATOR.value: log_odds.calls_for(len(metric.examples))}

    def _questions(self) -> Mapping[str, str]:
        """By metric, the digest of all that a score is made of beside the conversation."""
        names = PROMPTS if self._config.evaluation.method == "answer" else (log_odds.PROMPT,)
        asked = model_print(self._config.evaluator_model), prompt_digest(*names)
        return {
            metric.id: digest(metric.definition, metric.examples, *asked)
            for metric in self._benchmark.metrics
        }

    def _asked(self, own: str) -> Iterable[str]:
        others = [metric.id for metric in self._benchmark.metrics if metric.id != own]
        return [own, *others] if self._all_metrics else [own]

    def _own_metric(self, place: Place) -> str:
        return own_metric(self._benchmark, self._table(place.target), place)

    def _table(self, target_id: str) -> EarlierTable:
        if target_id not in self._tables:
            self._tables[target_id] = self._conversations(target_id)
        return self._tables[target_id]


class EvaluateRowMaker:
    """Asks the evaluator."""

    def __init__(self, task: Task) -> None:
        self._benchmark = task.benchmark
        self._model = task.config.evaluator_model
        self._method = task.config.evaluation.method
        self._redactor = Redactor(task.secrets)
        self._masking = task.masking

    async def make(self, item: Item, llm: LLM) -> Row:
        """The score as a `ScoreRow`, without a verdict if no answer could be read. Raises what `llm` does."""
        place = item.unit.place
        metric = metric_of(self._benchmark, place.id, item.payload["metric_id"])
        messages = self._masked(ConversationRow.from_json(item.payload["conversation"]).messages)
        _require_words(messages, place)
        present, why = await self._presence(messages, metric, place, llm)
        passed = None if present is None else metric.type.passes(present)
        key = item.unit.key
        return ScoreRow(place.id, metric.id, place.sample, present, passed, why, key).to_json()

    async def aclose(self) -> None:
        """Nothing is open."""

    def _masked(self, messages: tuple[Said, ...]) -> tuple[Said, ...]:
        """Conversations from elsewhere, or of a time before `results.mask` was set, still have everything."""
        redactor = self._masking.redactor(self._redactor)
        masked = redactor.personal(messages)
        if redactor.problem is not None:
            raise redactor.problem
        return masked

    async def _presence(
        self, conversation: Sequence[Said], metric: Metric, place: Place, llm: LLM
    ) -> tuple[bool | None, str]:
        """Whether the behaviour is present, None if that could not be read, and why."""
        if self._method == "log_odds":
            return await log_odds.LogOdds(llm, self._model).presence(conversation, metric, place)
        return await self._answer(_request(self._model, conversation, metric, place), llm)

    async def _answer(self, request: LLMRequest, llm: LLM) -> tuple[bool | None, str]:
        try:
            answer = await ask(llm, request, Presence, redactor=self._redactor)
        except StructuredReplyError as error:
            return None, str(error)
        return answer.present, answer.justification.strip()


def _require_words(messages: Sequence[Said], place: Place) -> None:
    """Conversations may come from elsewhere, so `simulate` may not have seen that the agent is silent."""
    if not messages:
        raise ResultsError(f"{place.text}: the conversation has no messages, so there is nothing to evaluate")
    if all(is_blank(turn.reply.text) for turn in in_turns(messages).turns):
        # An evaluator would find that nothing forbidden was said.
        raise ResultsError(f"{place.text}: the agent said nothing in any turn: it can't be evaluated")


def _calls_tools(conversation: Iterable[Said]) -> bool:
    return any(said.tool_calls for said in conversation)


def _request(model: ModelSettings, conversation: Sequence[Said], metric: Metric, place: Place) -> LLMRequest:
    """The call. Its context is not sent; a recording finds its call by it."""
    system, question = evaluation_messages(conversation, metric.definition, metric.examples)
    if model.extra_instructions:
        system = replace(system, content=f"{system.content}\n\n{model.extra_instructions}")
    context = CallContext(Role.EVALUATOR, place.id, place.sample)
    return LLMRequest(model, (system, question), context, schema_name="presence")


class EvaluateStep(Step):
    """The tables of scores, one for each target: `runs/<target>/scores.json`."""

    name = "evaluate"
    kind = SCORES
    per_target = True
    source = "simulate"

    def file(self, folder: BenchmarkFolder, target: str) -> Path:
        return folder.scores(target)

    def plan(self, context: StepContext) -> Stage:
        """Scores for other metrics that an earlier run asked for stay, as long as they are valid."""
        scores, wanted = partial(context.table, "evaluate"), context.options.all_metrics
        more = not wanted and any(
            place.metric_id for target in context.targets for place in scores(target).heads()
        )
        conversations = partial(context.table, "simulate")
        all_of_them = wanted or more
        stage = Evaluate(context.benchmark, context.config, conversations, all_metrics=all_of_them)
        return OnlyMadeCrossScores(stage, scores) if more else stage

    def row_maker(self, task: Task) -> EvaluateRowMaker:
        return EvaluateRowMaker(task)

    def usual_calls(self, config: BenchmarkConfig, target: str) -> Mapping[str, int]:
        by_odds = config.evaluation.method == "log_odds"
        return {Role.EVALUATOR.value: log_odds.calls_for(_USUAL_EXAMPLES) if by_odds else 1}

    def rows_for_each(self, context: StepContext) -> int:
        return len(context.benchmark.metrics) if context.options.all_metrics else 1

    def require(self, context: StepContext, stages: Sequence[str]) -> None:
        if "simulate" not in stages and not any(
            context.table("simulate", target).heads() for target in context.targets
        ):
            raise nothing_yet("there are no conversations yet", "simulate", context.loaded.folder)


STEP = EvaluateStep()
