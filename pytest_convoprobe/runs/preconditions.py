"""What must be right before a scenario calls its first model: its models, and the names of its tools."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial

from ..errors import ScenarioError
from ..faults.rules import FaultRule
from ..judging.spoken_language import require_detector
from ..llm.known_models import check_model, has_common_provider
from ..llm.port import Role, ToolSpec
from ..scenario.approvals import tools_of
from ..scenario.models import Scenario, SimulatedTurns
from ..scenario.tool_names import compare_names, names_in, resembling
from ..settings.loading import LoadedSettings
from ..settings.merge import target_settings
from ..settings.model_settings import ModelSettings
from ..settings.models import ScenarioSettings
from ..settings.panel import members_of
from ..settings.requirements import require_model
from ..settings.several_targets import each_target
from ..targets.about import ask_description
from ..targets.port import Target
from ..tool_patterns import matches
from ..transcript import Transcript


def require_models(
    settings: ScenarioSettings,
    scenario: Scenario,
    *,
    target: ModelSettings | None = None,
    only_judge: bool = False,
) -> None:
    """Raise `SettingsError` if a role that a live run of the scenario calls has no model that can answer.

    `target` is the model that is the target, if it is one.
    """
    models: dict[Role, ModelSettings] = {}
    if scenario.evaluation.asks_judge:
        models[Role.JUDGE] = settings.judge
    if not only_judge and calls_user(scenario):
        models[Role.SYNTHETIC_USER] = settings.synthetic_user
    if target is not None:
        models[Role.TARGET] = target
    # First whether each has a name: who has yet to choose a model cannot set its key.
    for role, model in models.items():
        require_model(model, role)
    for role, model in models.items():
        check_model(model, role)


async def models_required(settings: ScenarioSettings, scenario: Scenario, *, only_judge: bool) -> None:
    """As `require_models`. In a thread if a rare name imports LiteLLM, since others talk on this loop."""
    require = partial(require_models, settings, scenario, only_judge=only_judge)
    if all(map(has_common_provider, (*members_of(settings.judge), settings.synthetic_user))):
        require()
    else:
        await asyncio.to_thread(require)


def require_packages(scenario: Scenario) -> None:
    """Raise `MissingPackage` before anything is said, if a check needs a package that isn't installed."""
    if any(check.language is not None for check in scenario.evaluation.replies):
        require_detector()


def called_models(loaded: LoadedSettings) -> tuple[ModelSettings, ...]:
    """Those that a run may call: the judge's, the synthetic user's, and those of targets that are models."""
    targets = (target_settings(one) for _, one in each_target(loaded))
    agents = (target.as_model for target in targets if target is not None)
    roles = (*members_of(loaded.settings.judge), loaded.settings.synthetic_user)
    return (*roles, *(agent for agent in agents if agent is not None))


def named_models(settings: ScenarioSettings, scenario: Scenario) -> dict[Role, str]:
    """The models of the roles that have one. Without criteria, there is no judge."""
    judge = settings.judge.model if scenario.evaluation.asks_judge else None
    named = {Role.SYNTHETIC_USER: settings.synthetic_user.model, Role.JUDGE: judge}
    return {role: model for role, model in named.items() if model}


def calls_user(scenario: Scenario) -> bool:
    """Whether a model writes messages of the user: not all of them are given."""
    user = scenario.synthetic_user
    literal = bool(user.script) and not any(isinstance(part, SimulatedTurns) for part in user.script)
    return not user.initial_query or (user.max_turns > 1 and not literal)


async def require_known_tools(
    scenario: Scenario, target: Target, faults: Sequence[FaultRule] = ()
) -> tuple[str, ...] | None:
    """The names of the target's tools; None if it doesn't say them, or if the scenario names none.

    `faults` are those of the scenario and its target. Raises `ScenarioError` for names that mean none of the
    tools. The target has been started.
    """
    usage, ends = scenario.evaluation.tool_usage, scenario.synthetic_user.ends_with_tools
    approvals = tools_of(scenario.synthetic_user.approvals)
    if not any(names_in(usage, ends, faults, approvals)):
        return None
    tools = await tool_names(target)
    problems = () if tools is None else compare_names(usage, tools, ends, faults, approvals).problems
    if problems:
        raise ScenarioError("; ".join(problems))
    return tools


def require_ends_as_called(scenario: Scenario, transcript: Transcript, tools: tuple[str, ...] | None) -> None:
    """Raise `ScenarioError` if a name in `ends_with_tools` is most likely that of a called tool, misspelt.

    A closed agent that gets another message may well fail, and would be blamed for it.
    """
    called = {call.name: None for _, call in transcript.tool_calls}
    for name in scenario.synthetic_user.ends_with_tools if tools is None else ():
        meant = None if any(matches(name, tool) for tool in called) else resembling(name, called)
        if meant is not None:
            raise ScenarioError(
                f"synthetic_user.ends_with_tools: `{name}` matches no tool that the agent called, but it "
                f"called `{meant}`; did you mean that? If both exist, name them in `target.tools`"
            )


def unmatched_tools(
    scenario: Scenario, transcript: Transcript, tools: tuple[str, ...] | None
) -> tuple[str, ...]:
    """The names of tools in the scenario that match no call; none if the target says which tools it has.

    A name that nothing matches in many conversations is most likely misspelt.
    """
    if tools is not None or not transcript.turns:
        return ()
    called = {call.name for _, call in transcript.tool_calls}
    names = names_in(scenario.evaluation.tool_usage)
    unmatched = (one.name for one in names if one.key != "optional_tools" and not one.known_in(called))
    return tuple(dict.fromkeys(unmatched))


async def tool_names(target: Target) -> tuple[str, ...] | None:
    """The names of the target's tools, as it describes itself; None if it doesn't say them."""
    tools = await described_tools(target)
    return None if tools is None else tuple(tool.name for tool in tools)


async def described_tools(target: Target) -> tuple[ToolSpec, ...] | None:
    """The target's tools, as it describes itself; None if it doesn't say which it has."""
    try:
        return (await ask_description(target)).tools
    except Exception:  # noqa: BLE001 - the project's code, or its time limit: who stores the run says so
        return None
