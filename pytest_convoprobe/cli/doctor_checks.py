"""What `convoprobe doctor` looks at: settings, models, target, results; each with at most one cheap call."""

from __future__ import annotations

import asyncio
import os
import re
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

from pydantic import BaseModel

from .. import prompts
from ..errors import (
    ConvoprobeError,
    LLMError,
    NoTarget,
    SettingsError,
    StructuredReplyError,
    TargetError,
    TimeLimitExceeded,
)
from ..files import read_text, shown_path
from ..formatting import counted, dollars, exact_seconds, seconds
from ..judging.by_odds import needed_by
from ..judging.log_odds import odds_of_yes
from ..llm.budget import Budget
from ..llm.clients_in_use import client_in_words
from ..llm.known_models import check_model
from ..llm.lanes import lane_of
from ..llm.ledger import Ledger
from ..llm.metered import Metered
from ..llm.port import LLM, CallContext, LLMRequest, Message, Role
from ..llm.stack import LiveLLM, build_llm
from ..llm.structured import ask
from ..project_code.agent_loops import AgentLoops, Home
from ..project_code.calls import in_own_thread, stoppable
from ..project_code.deadline import Deadline
from ..redaction import Redactor
from ..runs.wired_conversation import single_turn
from ..scenario.search import find_scenario_files
from ..settings.judge_settings import JudgeSettings
from ..settings.loading import LoadedSettings
from ..settings.merge import target_settings
from ..settings.model_settings import ModelSettings
from ..settings.panel import alone, members_of
from ..settings.several_targets import each_target
from ..start_time import present
from ..targets.factory import build_target
from ..targets.port import ConversationContext, Target, Versioned
from ..targets.python import runs_on_waiting_thread
from ..text import is_blank, one_line, shorten
from ..transcript import Reply
from .finding import Finding
from .no_target import WRITE_A_FIXTURE
from .project import Project
from .sample_metadata import sample_metadata
from .scenario_models import model_findings, package_findings, roles_without_calls
from .tool_names import scenarios_of, tool_findings

HELLO = "Hello"

_MAKES_FIXTURE = re.compile(
    r"\bdef convoprobe_target\b|\bimport\b.*\bconvoprobe_target\b|\bname\s*=\s*[\"']convoprobe_target\b"
)
"""A fixture that is written or imported in the file; a file may also only use one of that name."""

_ROLES = {Role.JUDGE: "judge", Role.SYNTHETIC_USER: "synthetic user"}
_ATTEMPTS = 2
_SHOWN = 80
_KEY = "Set api_key in the settings to ${A_VARIABLE}, and that variable in this shell or in CI's secrets."
_NOT_BY_GATEWAY = (
    "if it calls models, start it by `convoprobe gateway -- COMMAND` or give it `{{ model_url }}`, "
    "and write no address in its code"
)
_SERVER = "Look whether the server runs, and whether api_base is its address."
_SHAPE = (
    "Try structured_output: text (or schema) for it, more max_tokens, or a model that follows instructions."
)


class _NoReply(TimeLimitExceeded):
    """The target gave no reply to the one message of `doctor`."""

    def __init__(self, target: str, seconds: float) -> None:
        super().__init__(f"{target} gave no reply within {exact_seconds(seconds)} (run.turn_timeout)")


class _Answer(BaseModel):
    word: str


@dataclass(frozen=True)
class _CalledModel:
    """A model that a run calls: its name in a finding, its role, and the setting that names it."""

    name: str
    role: Role
    settings: ModelSettings
    key: str = "model"


def _all_called(loaded: LoadedSettings, unused: Collection[Role]) -> Iterator[_CalledModel]:
    for role, name in _ROLES.items():
        first, *panel = members_of(getattr(loaded.settings, role.value))
        if role in unused and _cannot_be_called(first):
            continue
        yield _CalledModel(name, role, first)
        yield from (_CalledModel(f"{name}'s panel", role, member, "panel") for member in panel)


def _cannot_be_called(settings: ModelSettings) -> bool:
    return settings.model is None or bool(settings.unresolved)


class Checkup:
    """One look at everything. `live` allows one cheap call of each model and one message to the target."""

    def __init__(self, project: Project, *, live: bool, message: str = HELLO) -> None:
        self._project = project
        self._live = live
        self._message = message
        self._redactor = Redactor()
        self._working: set[str] = set()
        self._strict, self._lenient = project.source(), project.source({"run.replay": "only"})

    async def run(self) -> list[Finding]:
        """All findings, without secrets; nothing is raised for what doesn't work."""
        findings: list[Finding] = []
        for file in self._files():
            loaded, found = self._settings(file)
            findings += found
            if loaded is not None:
                self._redactor.learn(loaded.secrets)
                findings += await self._calls(loaded)
                for section, one in each_target(loaded):
                    findings += await self._tools(section, one)
                scenarios = list(scenarios_of(self._project, loaded))
                findings += [*model_findings(scenarios, loaded), *package_findings(scenarios)]
        whole = self._without_variables("")
        return [*findings, self._results(whole)] if whole is not None else findings

    def _files(self) -> list[str]:
        """A scenario file for each settings file that counts for any; without scenarios that of the root."""
        files: dict[Path | None, str] = {}
        for file in find_scenario_files(self._project.root):
            loaded = self._without_variables(str(file))
            # Settings that cannot be read are known by the folder in which that shows.
            files.setdefault(loaded.file if loaded else file.parent, str(file))
        return list(files.values()) or [""]

    def _settings(self, file: str) -> tuple[LoadedSettings | None, list[Finding]]:
        """The settings of a scenario file; with missing variables too, so that the rest can be looked at."""
        try:
            loaded = self._strict.of(file)
        except SettingsError as error:
            return self._without_variables(file), [self._failed("settings", error)]
        found = shown_path(loaded.file) if loaded.file else "no settings file, only defaults"
        notices = [Finding("settings", None, notice) for notice in loaded.notices]
        return loaded, [Finding("settings", True, found), *notices]

    def _without_variables(self, file: str) -> LoadedSettings | None:
        try:
            return self._lenient.of(file)
        except SettingsError:
            return None

    async def _calls(self, loaded: LoadedSettings) -> list[Finding]:
        llm = build_llm(loaded.settings.run, self._redactor, Budget())
        try:
            self._working.clear()  # another settings file has other targets
            targets = (self._target(section, one, llm) for section, one in each_target(loaded))
            checks = [self._models(loaded, llm), *targets]
            return [finding for found in await asyncio.gather(*checks) for finding in found]
        finally:
            await llm.aclose()

    async def _models(self, loaded: LoadedSettings, llm: LiveLLM) -> list[Finding]:
        """One call a model: two roles that share one share the call."""
        same: dict[str, list[_CalledModel]] = {}
        unused = roles_without_calls(scenarios_of(self._project, loaded))
        for called in _all_called(loaded, unused):
            same.setdefault(_identity(called.settings), []).append(called)
        found = await asyncio.gather(*(self._model(loaded, roles, llm) for roles in same.values()))
        roles = [role for role in unused if _cannot_be_called(getattr(loaded.settings, role.value))]
        return [*found, *(Finding(_ROLES[role], None, f"none needed: {unused[role]}") for role in roles)]

    async def _model(self, loaded: LoadedSettings, roles: list[_CalledModel], llm: LiveLLM) -> Finding:
        what = " and ".join(called.name for called in roles)
        role, settings = roles[0].role, roles[0].settings
        if settings.unresolved:
            # On a replay nothing is called, so there a missing key is no fault.
            fault = False if loaded.settings.run.calls_live else None
            missing = self._redactor.text("; ".join(settings.unresolved.values()))
            return Finding(what, fault, f"not called: {missing}")
        try:
            # Without its panel, each model of which has a finding of its own.
            named = f"{check_model(alone(settings), role, roles[0].key)} ({_key(loaded, role, settings)})"
            if not self._live:
                return self._with_client(Finding(what, None, f"{named}, not called"), settings)
            answers = f"{named} answers, {await _called(llm, settings, role)}"
            return self._with_client(Finding(what, True, answers), settings)
        except ConvoprobeError as error:
            return self._failed(what, error)

    def _with_client(self, finding: Finding, settings: ModelSettings | None) -> Finding:
        """With what calls the model, if it is one."""
        if settings is None or not settings.model:
            return finding
        lane = lane_of(settings, with_tools=settings.offers_tools)
        how = self._redactor.text(client_in_words(lane))
        return replace(finding, found=f"{finding.found}; {how}", client=lane.name)

    async def _target(self, section: str, loaded: LoadedSettings, llm: LLM) -> list[Finding]:
        what = section.replace("targets.", "target ")
        try:
            settings = target_settings(loaded)
            if settings is None:
                return [self._no_target(loaded)]
            if (model := settings.as_model) is not None:
                check_model(model, "target")
                settings = settings.model_copy(update={"max_attempts": _ATTEMPTS})
            target = build_target(settings, rootdir=loaded.root or self._project.root)
            if not self._live:
                return [self._with_client(Finding(what, None, f"{target.name}, not called"), model)]
            if runs_on_waiting_thread(target):
                bound = "not tried: it runs on the thread of a test (target.thread: same)"
                return [Finding(what, None, f"{target.name}, {bound}")]
            said, gaps = await self._spoken(target, llm, loaded)
            overriding = () if self._working else self._overriding()
            self._working.add(section)
            answers = self._with_client(Finding(what, True, self._redactor.text(said)), model)
            return [answers, *(self._gap(what, gap) for gap in gaps), *overriding]
        except ConvoprobeError as error:
            return [self._failed(what, error)]

    async def _tools(self, section: str, loaded: LoadedSettings) -> list[Finding]:
        """The names of tools in the project's scenarios, beside the target's tools or stored calls."""
        whose = section.replace("targets.", " of target ") if section != "target" else ""
        return [
            replace(finding, what=f"{finding.what}{whose}", found=self._redactor.text(finding.found))
            for finding in await tool_findings(self._project, loaded, start=section in self._working)
        ]

    def _failed(self, what: str, error: ConvoprobeError) -> Finding:
        """What an error says, masked; those of the settings contain no secrets, but names of keys."""
        if isinstance(error, SettingsError):
            return Finding(what, False, str(error))
        trace = error.trace if isinstance(error, (TargetError, TimeLimitExceeded)) else ""
        return Finding(what, False, self._redactor.text(f"{error}\n{trace}".rstrip()), _advice(error))

    def _overriding(self) -> Iterator[Finding]:
        """Fixtures that pytest takes in place of the settings: what was just tried may not be what talks."""
        for path in self._fixtures():
            found = f"a fixture in {shown_path(path)} takes precedence for the scenarios below it, not tried"
            yield Finding("target", None, found)

    def _fixtures(self) -> Iterator[Path]:
        """A fixture is pytest's; from here it can only be seen that there is one."""
        for path in _conftests(self._project.root):
            if _MAKES_FIXTURE.search(read_text(path, errors="replace")):
                yield path

    def _no_target(self, loaded: LoadedSettings) -> Finding:
        for path in self._fixtures():
            return Finding("target", None, f"a fixture in {shown_path(path)}, not tried: pytest makes it")
        place = shown_path(loaded.file) if loaded.file else "convoprobe.yaml"
        (problem,) = NoTarget(WRITE_A_FIXTURE, file=place).problems
        return Finding("target", False, problem.message, problem.advice.lstrip("\n"))

    def _gap(self, what: str, said: str) -> Finding:
        """A path of the settings that found nothing: checks that need it would all be errors."""
        finds, _, advice = self._redactor.text(said).partition(". ")
        return Finding(what, False if advice else None, finds, advice)

    async def _spoken(self, target: Target, llm: LLM, loaded: LoadedSettings) -> tuple[str, tuple[str, ...]]:
        """What the target replied, in words, and what its reply lacks."""
        begun, agents = time.perf_counter(), AgentLoops()
        limit = loaded.settings.run.turn_timeout
        try:
            async with Deadline(limit, _NoReply(target.name, limit)):
                reply, wired = await stoppable(self._reply(target, llm, loaded, agents))
                version = await target.version() if isinstance(target, Versioned) else ""
        finally:
            await target.aclose()
            await in_own_thread(agents.close)
        took = seconds(time.perf_counter() - begun)
        which = f", version {shorten(one_line(version), _SHOWN)}" if version else ""
        return f"{target.name} {_reply_in_words(reply)}{wired}{which} ({took})", tuple(reply.gaps.values())

    async def _reply(self, target: Target, llm: LLM, loaded: LoadedSettings, home: Home) -> tuple[Reply, str]:
        """The reply to the message, and in words how many models the agent called for it by the gateway."""
        models = loaded.settings.target.models if loaded.settings.target else None
        async with single_turn(models, self._message, self._project.root) as at:
            url = at.own_url if at else None
            context = ConversationContext(
                uuid4().hex,
                llm,
                "doctor",
                home=home,
                now=present(),
                metadata=sample_metadata(self._project.root),
                gives_model_url=url,
            )
            conversation = await target.start(context)
            try:
                reply = await conversation.send(self._message)
            finally:
                await conversation.aclose()
            calls = _calls_in_words(len(at.calls), reply) if at else ""
        return reply, calls

    def _results(self, loaded: LoadedSettings) -> Finding:
        if not loaded.settings.results.save:
            return Finding("results", None, "runs are not stored: results.save is false")
        folder = self._project.results_dir or self._project.root / loaded.settings.results.dir
        there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
        if there.is_dir() and os.access(there, os.W_OK | os.X_OK):
            return Finding("results", True, f"runs are stored in {shown_path(folder)}")
        return Finding(
            "results", False, f"{there} cannot be written to", "Set results.dir to another folder."
        )


def _identity(settings: ModelSettings) -> str:
    """What makes a model another one; texts that are only added to prompts don't."""
    # Of the fields of any model: what a judge has besides makes no other model of it.
    fields = ModelSettings.model_fields.keys() - {"extra_instructions"}
    shown: dict[str, Any] = settings.model_dump(include=set(fields))
    key = settings.api_key.get_secret_value() if settings.api_key else None
    return repr((shown, key, dict(settings.unresolved)))


def _key(loaded: LoadedSettings, role: Role, settings: ModelSettings) -> str:
    if settings.api_key is None:
        return "no api_key in the settings"
    origin = loaded.origins.get(f"{role.value}.api_key", "")
    return f"key from {origin}" if origin else "with a key"


async def _called(llm: LiveLLM, settings: ModelSettings, role: Role) -> str:
    """One call, for JSON as in a run; what it took, and what it showed about JSON schemas."""
    settings = settings.model_copy(update={"max_attempts": _ATTEMPTS})
    message = Message("user", prompts.render("doctor/ready"))
    ledger = Ledger()
    await ask(Metered(llm, ledger), LLMRequest(settings, (message,), CallContext(role)), _Answer, repairs=0)
    spent = ledger.by_role[role]
    use = llm.schema_use(settings)
    if isinstance(settings, JudgeSettings) and settings.method != "text":
        # A judge that can't be asked this way would show it only after the first conversation.
        question = prompts.render("doctor/odds")
        await odds_of_yes(llm, settings, question, CallContext(role), needed_by=needed_by(settings))
    return f"{spent.usage.total:,} tokens, {dollars(spent.cost)}" + (f"; it {use.value}" if use else "")


def _reply_in_words(reply: Reply) -> str:
    said = (
        f"answers: {shorten(one_line(reply.text), _SHOWN)}"
        if not is_blank(reply.text)
        else "gives an empty reply"
    )
    said += ", and waits for a person (see `synthetic_user.approvals`)" if reply.pending else ""
    tools = "doesn't report tool calls" if reply.tool_calls is None else "reports tool calls"
    return f"{said} [{tools}{', and no tokens' if reply.usage is None else ' and tokens'}]"


def _calls_in_words(calls: int, reply: Reply) -> str:
    """How many calls of models the gateway saw, and what follows from it."""
    seen = f"; {counted(calls, 'call')} of models seen (`target.models`)"
    if not calls:
        return f"{seen}: {_NOT_BY_GATEWAY}"
    silent = reply.tool_calls is None or reply.usage is None
    return seen + (", where what it doesn't report is read" if silent else "")


def _advice(error: ConvoprobeError) -> str:
    if isinstance(error, StructuredReplyError):
        return _SHAPE
    if not isinstance(error, LLMError):
        return ""
    if error.status in (401, 403) or "API key" in str(error):
        return _KEY
    return _SERVER if "no connection" in str(error) else ""


def _conftests(root: Path) -> Iterator[Path]:
    for pattern in ("conftest.py", "*/conftest.py", "*/*/conftest.py"):
        yield from sorted(root.glob(pattern))


def worst(findings: list[Finding]) -> bool:
    """Whether something doesn't work."""
    return any(finding.works is False for finding in findings)
