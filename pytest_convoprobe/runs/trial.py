"""One trial of a scenario, from start to end. The only place where the parts are wired together."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path

from ..conversation.loop import Conversation
from ..conversation.user import unsaid
from ..errors import (
    Blame,
    ConvoprobeError,
    JudgeError,
    LoopLost,
    ScenarioError,
    ScenarioTimeout,
    TargetCrashed,
    TargetError,
    TimeLimitExceeded,
)
from ..faults.rules import FaultRule
from ..faults.stored import require_injected
from ..judging.checks import run_checks
from ..judging.criteria import criteria_of
from ..judging.judge import judge
from ..judging.own_checks import own_check
from ..judging.review import NOT_REVIEWED, Against, against_agent, simulated_turns, user_side
from ..judging.types import CheckResult, CriterionResult, ToolSuggestions, UserReview, Verdict
from ..judging.verdict import decide
from ..llm.agent_replay import AgentModelCalls
from ..llm.ledger import Ledger
from ..llm.port import LLM, CallContext, Role
from ..llm.recording import Recording, recording_path
from ..plain_traces import plain_trace
from ..project_code.calls import Raised, in_own_thread
from ..redaction import Redactor
from ..result import Outcome, ScenarioResult, verdict_reason
from ..scenario.earlier_messages import said_before
from ..scenario.models import Scenario
from ..targets.about import ask_name
from ..targets.port import TargetConversation
from ..threads import aside
from ..transcript import Termination, Transcript
from .approving import ScenarioApprover
from .check_functions import Finding, OwnChecks, certain, require_decided
from .conversation_host import ConversationHost, within_scenario_timeout
from .fault_plans import FaultPlans
from .job import Job
from .preconditions import (
    models_required,
    named_models,
    require_ends_as_called,
    require_known_tools,
    require_packages,
    unmatched_tools,
)
from .provider_blame import provider_failure, rightly_blamed
from .recorded_models import RecordedModels, start_time
from .reviewing import reviewed
from .simulating import agent_first, limits_of, user_of
from .suggesting import NOTHING_JUDGED, suggested, wants_suggestions
from .wired_conversation import agent_calls, wire_of


class TrialInProgress:
    """What is known about a trial while it runs, so that nothing is lost when it breaks off."""

    def __init__(
        self, job: Job, models: RecordedModels, redactor: Redactor, host: ConversationHost, ledger: Ledger
    ) -> None:
        self._job = job
        self._models = models
        self._redactor = job.masking.redactor(redactor)
        # First of all: when the same conversation is judged again, its scenario has the same placeholders.
        self._redactor.meet(job.loaded.scenario)
        self._held = self._redactor.restored(job.held)
        self._host = host
        self._ledger = ledger
        self._conversation: Conversation | None = None
        self._agent: AgentModelCalls | None = None
        self._faults = FaultPlans()
        self._checks: tuple[CheckResult, ...] = ()
        self._own_checks = OwnChecks(job, host.agents)
        self._own_findings: list[Finding] = []
        self._criteria: tuple[CriterionResult, ...] = ()
        self._termination: Termination | None = None
        self._decided: Verdict | None = None
        self._review = UserReview()
        self._suggestions: ToolSuggestions | None = None
        self._now: datetime | None = None
        self._tools: tuple[str, ...] | None = None
        self._target_name = type(job.target).__qualname__  # until the target has said it itself
        self._started = time.time()
        self._clock = time.perf_counter()

    async def run(self) -> ScenarioResult:
        """The result; every error of ours is turned into one."""
        make = await self._outcome()
        result = await aside(self.transcript.is_large, make)
        problem = self._redactor.problem
        # The reason is ours; in the texts of the conversation may be anything.
        return result if problem is None else replace(self._broken(problem), reason=str(problem))

    async def _outcome(self) -> Callable[[], ScenarioResult]:
        """What makes the result. To mask a megabyte takes a good part of a second, so it isn't made here."""
        limit = self._job.settings.run.scenario_timeout
        try:
            verdict = await within_scenario_timeout(limit, self._recorded)
        except ScenarioTimeout as error:
            if self._decided is not None:
                # Only what comes after the verdict was still to come. What was found against the agent stays.
                if self._suggestions is None:
                    self._review = UserReview(note=NOT_REVIEWED + str(error))
                else:
                    self._suggestions = ToolSuggestions(note=f"no suggestions: {error}")
                return partial(self._judged, self._decided)
            # The conversation only knows that it was cancelled; here it is known why.
            self._termination = Termination.TIMEOUT
            return partial(self._broken, error)
        except LoopLost:
            raise
        except ConvoprobeError as error:
            return partial(self._broken, error)
        except (asyncio.CancelledError, GeneratorExit):
            raise
        except BaseException as error:  # noqa: BLE001 - a defect, or `pytest.skip` or `sys.exit` in a hook,
            return partial(self._defect, error)  # must neither end the run nor pass for an outcome
        return partial(self._judged, verdict)

    async def _recorded(self) -> Verdict:
        """Talk and judge with a recording around it."""
        self._target_name = await ask_name(self._job.target)
        if self._job.problem is not None:
            raise self._job.problem
        if self._job.settings.run.calls_live and self._models.live:
            held = self._job.held is not None
            await models_required(self._job.settings, self._job.scenario, only_judge=held)
        old, run = self._job.held, self._job.settings.run
        recording = Recording.open(self._recording_path, run.recordings)
        self._now = start_time(recording, run, self._job.trial) if old is None else old.now
        self._agent = agent_calls(recording, self._job.settings, self._redactor, self._job.trial)
        return await self._models.around(
            recording, run.replay, self._ledger, self._verdict, self._redactor, self._agent
        )

    @property
    def _recording_path(self) -> Path:
        run, loaded = self._job.settings.run, self._job.loaded
        within_file = self._job.scenario_id.partition("::")[2] or loaded.id
        return recording_path(Path(loaded.file), within_file, run.recordings)

    async def _verdict(self, llm: LLM) -> Verdict:
        if self._job.held is None:
            await self._converse(llm)
        elif self._job.reviews:
            # Labels and mutants have conversations that nobody ran as the scenario says.
            require_injected(self._fault_rules, self.transcript)
        if self._job.held is not None:
            await self._own_checks.find(None)
            self._own_findings = await self._own_checks.findings(self.transcript)
        self._checks = await self._checked()
        try:
            self._criteria = await self._judge(llm)
        except JudgeError as error:
            if all(check.holds for check in self._checks):
                raise
            # What code found against the agent counts in any case: a judge could not acquit it.
            self._criteria = tuple(
                CriterionResult(criterion, "cannot_tell", None, str(error))
                for criterion in criteria_of(self._job.scenario.evaluation)
            )
        verdict = decide(self._criteria, self._checks)
        # Of labels and mutants only the judge's answers count, so nobody needs to know who was to blame.
        if verdict.passed is False and self._job.reviews and not provider_failure(self.transcript):
            self._decided = verdict
            self._review = await self._review_user(llm)
            if wants_suggestions(self._job) and not self._review.hindered:
                self._suggestions = ToolSuggestions()  # until there are any: they have been asked for
                self._suggestions = await self._suggest(llm)
        return verdict

    async def _for_judge(self) -> tuple[Scenario, Transcript]:
        """What the judge gets: without personal data, on both sides alike, so that it can still compare."""
        scenario, transcript = self._job.scenario, self.transcript
        return await aside(transcript.is_large, lambda: self._redactor.personal((scenario, transcript)))

    @property
    def _against(self) -> tuple[Against, ...]:
        return against_agent(self._criteria, self._redactor.personal(self._checks))

    async def _suggest(self, llm: LLM) -> ToolSuggestions:
        _, transcript = await self._for_judge()
        return await suggested(llm, self._job, transcript, self._against, self._redactor)

    async def _review_user(self, llm: LLM) -> UserReview:
        scenario, transcript = await self._for_judge()
        found = self._against
        context = CallContext(Role.REVIEWER, self._job.scenario_id, self._job.trial)
        user, model = scenario.synthetic_user, self._job.settings.judge
        if model.model is None and self._job.settings.run.calls_live and simulated_turns(transcript):
            return UserReview(note=f"{NOT_REVIEWED}the settings name no model for the judge")
        return await reviewed(llm, model, user, transcript, found, context, self._redactor)

    async def _judge(self, llm: LLM) -> tuple[CriterionResult, ...]:
        if not self._job.scenario.evaluation.asks_judge:
            return ()
        scenario, transcript = await self._for_judge()
        return await judge(
            llm,
            self._job.settings.judge,
            scenario,
            transcript,
            scenario_id=self._job.scenario_id,
            trial=self._job.trial,
            redactor=self._redactor,
            # Where code has found a fault, the verdict doesn't rest on the judge.
            vote=all(check.holds for check in self._checks),
        )

    async def _converse(self, llm: LLM) -> None:
        job = self._job
        require_packages(job.scenario)
        user = user_of(job, llm, self._now)
        talking: list[TargetConversation] = []
        self._faults = FaultPlans.of(self._fault_rules, job.settings, job.scenario_id, job.trial)
        opened = self._host.conversation(
            job.target,
            user,
            limits_of(job),
            llm,
            job.scenario_id,
            job.trial,
            now=self._now,
            waiting=job.waiting,
            max_text=job.settings.run.max_text,
            faults=self._faults.tools,
            approver=ScenarioApprover(job.scenario.synthetic_user),
            metadata=job.scenario.metadata,
            on_change=self._said if job.on_said else None,
            agent_first=agent_first(job),
            history=said_before(job.scenario.synthetic_user.history),
            on_start=talking.append,
            wire=wire_of(job.settings.models, self._faults.on_the_wire, self._agent, self._redactor),
        )
        async with opened as self._conversation:
            self._tools = await require_known_tools(job.scenario, job.target, self._fault_rules)
            await self._own_checks.find(talking[0])
            try:
                await self._conversation.run()
            except TargetCrashed:
                require_ends_as_called(job.scenario, self.transcript, self._tools)
                raise
            # Before the agent is closed: they may look at it.
            self._own_findings = await self._own_checks.findings(self.transcript)
        self._faults.require_reached()

    def _said(self, transcript: Transcript) -> None:
        if self._job.on_said is not None:
            last = replace(transcript, turns=transcript.turns[-1:])
            self._job.on_said(self._job, self._redactor.record(last))

    @property
    def _fault_rules(self) -> tuple[FaultRule, ...]:
        return (*self._job.scenario.faults, *self._job.settings.faults)

    async def _checked(self) -> tuple[CheckResult, ...]:
        """The scenario's checks and the project's own; in a thread where patterns and hooks take time."""
        scenario, transcript, extra = self._job.scenario, self.transcript, self._job.extra_checks

        def check() -> tuple[CheckResult, ...]:
            require_ends_as_called(scenario, transcript, self._tools)
            found = (*run_checks(scenario.evaluation, transcript, self._tools), *certain(self._own_findings))
            # What a hook changes isn't evidence.
            return (*found, *map(own_check, extra(*deepcopy((scenario, transcript))))) if extra else found

        evaluation = scenario.evaluation
        usage = evaluation.tool_usage
        quick = not (extra or usage.tool_call_criteria or usage.expected_calls or evaluation.replies)
        if quick and not transcript.is_large:
            return require_decided(check(), self._own_findings)
        try:
            return require_decided(await in_own_thread(check), self._own_findings)
        except Raised as raised:
            raise raised.error from None

    @property
    def transcript(self) -> Transcript:
        """What was said until now."""
        held = self._held or Transcript()
        transcript = self._conversation.transcript if self._conversation else held
        if self._conversation and transcript.termination is Termination.AGENT_ENDED:
            left = unsaid(self._job.scenario.synthetic_user, len(transcript.user_turns))
            transcript = replace(transcript, unsaid=left)
        transcript = self._faults.marked(transcript)
        ended = self._termination or transcript.termination
        replayed = transcript.replayed or self._ledger.replays_agent
        return replace(transcript, termination=ended, now=self._now, replayed=replayed)

    def _judged(self, verdict: Verdict) -> ScenarioResult:
        reason = verdict_reason(self._criteria, self._checks)
        if verdict.passed is None:
            outcome = _INCONCLUSIVE[self._job.settings.run.inconclusive]
            return self._result(outcome, reason, Blame.JUDGE, verdict)
        if verdict.passed:
            return self._result(Outcome.PASSED, "", None, verdict)
        if self._job.reviews and (failure := provider_failure(self.transcript)):
            return self._result(Outcome.ERROR, f"{failure}. The verdict was: {reason}", Blame.INFRASTRUCTURE)
        if self._review.hindered:
            # Without a score: a conversation in which the user was at fault says nothing about the agent.
            return self._result(Outcome.ERROR, self._review.hindered, Blame.SIMULATOR)
        return self._result(Outcome.FAILED, reason, Blame.AGENT, verdict)

    def _broken(self, error: ConvoprobeError) -> ScenarioResult:
        error = rightly_blamed(error, self.transcript)
        outcome = Outcome.FAILED if error.blame is Blame.AGENT else Outcome.ERROR
        result = self._result(outcome, str(error), error.blame, trace=_shown_with(error))
        return replace(result, remedies=error.remedies)

    def _defect(self, error: BaseException) -> ScenarioResult:
        reason = f"unexpected {type(error).__name__}: {error}"
        return self._result(Outcome.ERROR, reason, Blame.INFRASTRUCTURE, trace=plain_trace(error))

    def _result(
        self,
        outcome: Outcome,
        reason: str,
        blame: Blame | None,
        verdict: Verdict | None = None,
        trace: str = "",
    ) -> ScenarioResult:
        """The result, without the secrets that a target, a tool or the judge may have said."""
        loaded, mask = self._job.loaded, self._redactor
        return ScenarioResult(
            name=loaded.name,
            scenario_id=self._job.scenario_id,
            file=str(loaded.file),
            line=loaded.line,
            outcome=outcome,
            reason=mask.text(reason),
            blame=blame,
            trace=mask.text(trace),
            score=verdict.score if verdict else None,
            transcript=mask.record(self.transcript),
            criteria=mask.record(self._criteria),
            checks=mask.record(self._checks),
            spending=self._ledger.by_role,
            trial=self._job.trial,
            started=self._started,
            duration=time.perf_counter() - self._clock,
            target=mask.text(self._target_name),
            models=named_models(self._job.settings, self._job.scenario),
            tags=loaded.tags,
            target_name=mask.text(loaded.target),
            unmatched_tools=unmatched_tools(self._job.scenario, self.transcript, self._tools),
            review=None if outcome is Outcome.PASSED else mask.record(self._user_side),
            suggestions=mask.record(self._asked_suggestions) if outcome is Outcome.FAILED else None,
        )

    @property
    def _asked_suggestions(self) -> ToolSuggestions | None:
        """None only where nobody asked for any, so that a report can say so."""
        return self._suggestions or (NOTHING_JUDGED if wants_suggestions(self._job) else None)

    @property
    def _user_side(self) -> UserReview | None:
        return user_side(self._job.scenario.synthetic_user, self.transcript, self._review)


_INCONCLUSIVE = {"error": Outcome.ERROR, "fail": Outcome.FAILED, "skip": Outcome.SKIPPED}


def _shown_with(error: ConvoprobeError) -> str:
    """What helps to understand the error: where the target's code crashed, or what the judge said."""
    if isinstance(error, JudgeError):
        return error.reply
    return error.trace if isinstance(error, (ScenarioError, TargetError, TimeLimitExceeded)) else ""
