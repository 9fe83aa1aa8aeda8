"""The names of tools in scenario files, beside the tools that the target has and those that were called."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING
from uuid import uuid4

from ..errors import ConvoprobeError, NoTarget, Problem, ScenarioFileError, SettingsError, TimeLimitExceeded
from ..faults.model_plan import out_of_reach
from ..faults.rules import FaultRule, of_models
from ..formatting import exact_seconds
from ..gateway.variables import key_of
from ..llm.budget import Budget
from ..llm.stack import build_llm
from ..project_code.agent_environment import agent_environment
from ..project_code.agent_loops import AgentLoops
from ..project_code.calls import in_own_thread, stoppable
from ..project_code.deadline import Deadline
from ..redaction import Redactor
from ..results.lookup import list_runs
from ..results.tools_seen import never_called
from ..runs.preconditions import described_tools
from ..scenario.approvals import tools_of
from ..scenario.discovery import DEFAULT_PATTERNS
from ..scenario.loading import LoadedScenario, load_scenarios
from ..scenario.root import ini_words
from ..scenario.search import search
from ..scenario.tool_names import ToolName, compare_names, names_in
from ..settings.merge import target_settings
from ..settings.several_targets import SeveralTargets, names_of
from ..targets.factory import build_target
from ..targets.hosted import hosted
from ..targets.port import ConversationContext, SampleMetadata, Target
from ..targets.python import runs_on_waiting_thread
from .exits import CommandFailed
from .finding import Finding
from .no_target import FIXTURE_IS_FOR_PYTEST
from .sample_metadata import sample_metadata

if TYPE_CHECKING:
    from pathlib import Path

    from ..llm.port import ToolSpec
    from ..settings.loading import LoadedSettings
    from ..settings.models import TargetSection
    from .project import Project


class _StartTimeout(TimeLimitExceeded):
    def __init__(self, name: str, seconds: float) -> None:
        super().__init__(f"{name} did not start within {exact_seconds(seconds)} (run.turn_timeout)")


async def described_by_target(
    loaded: LoadedSettings, root: Path, target: TargetSection | None = None
) -> tuple[ToolSpec, ...]:
    """What `tools_of_target` gives. Raises `CommandFailed` where descriptions and schemas aren't known."""
    tools = await tools_of_target(loaded, root, target)
    if tools is None:
        raise CommandFailed(
            "the target doesn't say which tools it has. A model, MCP servers and the agents of most "
            "frameworks do, and a target of your own with a method `describe`"
        )
    if tools and not any(tool.description or tool.parameters for tool in tools):
        raise CommandFailed("only the names of the tools are known (`target.tools`), not what they do")
    if not tools:
        raise CommandFailed("the target has no tools")
    return tools


async def names_of_tools(loaded: LoadedSettings, root: Path) -> tuple[str, ...] | None:
    """The names of what `tools_of_target` gives."""
    tools = await tools_of_target(loaded, root)
    return None if tools is None else tuple(tool.name for tool in tools)


async def tools_of_target(
    loaded: LoadedSettings, root: Path, target: TargetSection | None = None
) -> tuple[ToolSpec, ...] | None:
    """The tools of a target, by default that of the settings; None if it doesn't say which it has.

    The target is started if that is needed, but gets no message. Raises what the settings and the target
    raise.
    """
    settings = target or target_settings(loaded)
    if settings is None and loaded.settings.targets:
        raise SeveralTargets(names_of(loaded))
    if settings is None:
        raise NoTarget(FIXTURE_IS_FOR_PYTEST)
    mask = Redactor(loaded.secrets).text
    with agent_environment(_keys(settings)):
        built = build_target(settings, rootdir=loaded.root or root, mask=mask)
        try:
            tools = await described_tools(built)
            if tools is None and not runs_on_waiting_thread(built):
                tools = await _tools_once_started(built, loaded, sample_metadata(root))
        finally:
            await built.aclose()
    return tools


def _keys(settings: TargetSection) -> dict[str, str]:
    """What the clients of an agent that calls models itself need to be made, where there is no key."""
    upstreams = settings.models.addresses if settings.models else ()
    return {name: key for one in upstreams for name, key in key_of(one).items()}


async def _tools_once_started(
    target: Target, loaded: LoadedSettings, metadata: SampleMetadata
) -> tuple[ToolSpec, ...] | None:
    """Many targets import their tools when the first conversation starts."""
    llm, agents = build_llm(loaded.settings.run, Redactor(loaded.secrets), Budget()), AgentLoops()
    limit = loaded.settings.run.turn_timeout
    try:
        async with Deadline(limit, _StartTimeout(target.name, limit)):
            context = ConversationContext(uuid4().hex, llm, "validate", home=agents, metadata=metadata)
            conversation = await stoppable(hosted(target).start(context))
            try:
                return await described_tools(target)
            finally:
                await conversation.aclose()
    finally:
        await llm.aclose()
        await in_own_thread(agents.close)
    raise AssertionError("a deadline swallows nothing")


def name_problems(
    scenarios: Iterable[LoadedScenario], tools: Sequence[str], of_target: Sequence[FaultRule] = ()
) -> tuple[list[Problem], list[str]]:
    """What is wrong with the names of tools in scenarios, and notes on those that can't fail.

    `of_target` are the faults of the target, which each scenario has too.
    """
    problems: list[Problem] = []
    notes: list[Problem] = []
    for one in scenarios:
        if one.scenario is None:
            continue
        user, usage = one.scenario.synthetic_user, one.scenario.evaluation.tool_usage
        approvals, faults = tools_of(user.approvals), (*one.scenario.faults, *of_target)
        found = compare_names(usage, tools, user.ends_with_tools, faults, approvals)
        problems += [Problem(text, one.file, one.line, path=one.id) for text in found.problems]
        notes += [Problem(text, one.file, one.line, path=one.id) for text in found.notes]
    return _once_each(problems), [str(note) for note in _once_each(notes)]


def _once_each(problems: Iterable[Problem]) -> list[Problem]:
    """The scenarios that parameters make of a document have the same names: the first one stands for all."""
    first: dict[tuple[str, int, str], Problem] = {}
    for problem in problems:
        first.setdefault((problem.file, problem.line, problem.message), problem)
    return list(first.values())


def faults_of_target(loaded: LoadedSettings) -> tuple[FaultRule, ...]:
    """The faults that the target's section names."""
    return loaded.settings.target.faults if loaded.settings.target else ()


def unreachable_models(scenarios: Iterable[LoadedScenario], loaded: LoadedSettings) -> list[Problem]:
    """Faults of models in scenarios whose target, as the settings have it, calls none through the gateway."""
    target = loaded.settings.target
    if target is None or target.models is not None:
        return []
    return [
        Problem(out_of_reach(rule), one.file, one.line, path=one.id)
        for one in scenarios
        if one.scenario is not None
        for rule in of_models((*one.scenario.faults, *target.faults))
    ]


async def tool_findings(project: Project, loaded: LoadedSettings, *, start: bool) -> list[Finding]:
    """What `doctor` says of the names of tools, and of faults of models, in the scenarios of these settings.

    Only with `start` may it start the target.
    """
    scenarios = list(scenarios_of(project, loaded))
    faults = [Finding("faults", False, str(problem)) for problem in unreachable_models(scenarios, loaded)]
    return faults + await _of_names(scenarios, project, loaded, start=start)


async def _of_names(
    scenarios: Sequence[LoadedScenario], project: Project, loaded: LoadedSettings, *, start: bool
) -> list[Finding]:
    needed = [name for one in scenarios for name in _needed(one)]
    if not needed:
        return []
    try:
        tools = await names_of_tools(loaded, project.root) if start else None
    except ConvoprobeError:
        return []  # what is wrong with the target has been said
    if tools is None:
        return _never_seen(needed, project)
    problems, notes = name_problems(scenarios, tools, faults_of_target(loaded))
    found = [Finding("tools", False, str(problem)) for problem in problems]
    found += [Finding("tools", None, note) for note in notes]
    return found or [Finding("tools", True, "the target has the tools that scenarios name")]


def _never_seen(needed: Sequence[ToolName], project: Project) -> list[Finding]:
    runs = list_runs(project.results)
    unseen = set(never_called((one.name for one in needed), runs)) if runs else set()
    named = dict.fromkeys(f"`{one.name}` ({one.key})" for one in needed if one.name in unseen)
    if not named:
        return []
    return [
        Finding(
            "tools",
            None,
            f"no stored run has a call of {', '.join(named)}",
            "A misspelt name checks nothing. With target.tools (all tools of the agent), it is an error.",
        )
    ]


def scenarios_of(project: Project, loaded: LoadedSettings) -> Iterator[LoadedScenario]:
    """Those of the project's files that can be read; `validate` says what is wrong with the others."""
    patterns = ini_words(project.root, "convoprobe_files") or DEFAULT_PATTERNS
    settings = project.source({"run.replay": "only"})
    for file in search(project.root, project.root, patterns).scenarios:
        try:
            if settings.of(str(file)).file == loaded.file:
                yield from load_scenarios(file)
        except (ScenarioFileError, SettingsError, OSError):
            continue


def _needed(one: LoadedScenario) -> Iterator[ToolName]:
    """The required and prohibited names: those that check nothing if they match nothing."""
    if one.scenario is not None:
        names = names_in(one.scenario.evaluation.tool_usage, faults=one.scenario.faults)
        yield from (name for name in names if name.key != "optional_tools")
