"""Sessions with agents, apps and runners of Google's ADK: one of ADK's own sessions for each conversation."""

from __future__ import annotations

import contextlib
import json
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

from ...errors import TargetStartError, TargetUnavailable
from ...llm.port import ToolSpec
from ...transcript import PendingRequest, Reply, ToolCall, Usage
from ..plain_values import clean_text, plain, shown
from .adk_events import CONFIRMATION, AdkRequest, TurnEvents
from .adk_plugin import EventRecorder, Recorded, plugin_of
from .sessions import AgentSession, SessionOptions

_CONTEXT = ("user_id", "state", "run_config")
_APP = "convoprobe"

_open: Counter[int] = Counter()
"""How many sessions are open with an agent, by its identity."""


async def open_session(agent: Any, options: SessionOptions) -> AgentSession:
    """A conversation with an agent, an app or a runner.

    `options.context` is a mapping with `user_id`, `state` (of the new session) and `run_config`, each
    optional.
    """
    context = _context(options.context)
    recorder = EventRecorder(options.faults)
    runner = _runner(agent, plugin_of(recorder))
    # A user of its own: ADK keeps state and memories for each user, beyond a session.
    user = str(context.get("user_id") or f"user-{uuid.uuid4().hex}")
    session = await runner.session_service.create_session(
        app_name=runner.app_name, user_id=user, state=dict(context.get("state") or {})
    )
    return _Session(runner, recorder, user, str(session.id), context.get("run_config"))


def tools_of(agent: Any) -> tuple[ToolSpec, ...] | None:
    """The tools of the agent and of all below it; None if some are only known while it runs."""
    root = getattr(agent, "root_agent", None) or getattr(agent, "agent", None) or agent
    try:
        found = [spec for one in _below(root) for spec in _specs(one)]
    except _UnknownTools:
        return None
    return tuple({spec.name: spec for spec in found}.values())


class _UnknownTools(Exception):
    """An agent has a toolset, or tools in some other form."""


class _Session:
    """One conversation. `send` and `resume` run on the loop of the agents."""

    def __init__(
        self, runner: Any, recorder: EventRecorder, user: str, session: str, run_config: Any
    ) -> None:
        self._runner = runner
        self._recorder = recorder
        self._ids = {"user_id": user, "session_id": session}
        self._run_config = run_config
        self._waiting: tuple[AdkRequest, ...] = ()
        self._held: dict[str, ToolCall] = {}
        self._events = TurnEvents(recorder.recorded, session)
        _open[id(runner.agent)] += 1

    async def send(self, message: str) -> Reply:
        types = import_module("google.genai.types")
        return await self._run([types.Part(text=message)])

    async def resume(self, answered: tuple[PendingRequest, ...]) -> Reply:
        by_id = {one.id: one for one in answered}
        given = [(one, by_id[one.request.id]) for one in self._waiting if one.request.id in by_id]
        refused = frozenset(one.id for _, one in given if one.is_approval and one.answer != "approve")
        words = {one.id: one.answer or "" for _, one in given if not one.is_approval and one.id in self._held}
        return await self._run([_response(one, answer) for one, answer in given], words, refused)

    def calls_so_far(self) -> tuple[ToolCall, ...]:
        return self._events.calls()

    def usage_so_far(self) -> Usage | None:
        return self._events.usage()

    async def aclose(self) -> None:
        agent = self._runner.agent
        _open[id(agent)] -= 1
        if _open[id(agent)] > 0:
            return  # another conversation uses its toolsets
        del _open[id(agent)]
        # The project's plug-ins stay open: they are shared by all runners of this app.
        self._runner.plugin_manager.set_skip_closing_plugins(True)
        await self._runner.close()

    async def _run(
        self, parts: list[Any], given: Mapping[str, str] | None = None, refused: frozenset[str] = frozenset()
    ) -> Reply:
        self._recorder.recorded = recorded = Recorded()
        self._events = events = TurnEvents(
            recorded, self._ids["session_id"], dict(self._held), given or {}, refused
        )
        content = import_module("google.genai.types").Content(role="user", parts=parts)
        events_of_run = self._runner.run_async(**self._ids, new_message=content, run_config=self._run_config)
        try:
            async with contextlib.aclosing(events_of_run):
                async for _ in events_of_run:
                    pass  # the plug-in has seen it
        except Exception:
            error = events.error()
            if isinstance(error, TargetUnavailable):
                raise error from None
            raise
        return self._reply(events)

    def _reply(self, events: TurnEvents) -> Reply:
        self._waiting = waiting = events.waiting()
        self._held = {
            call.id: call for call in events.calls() if call.id in {one.request.id for one in waiting}
        }
        text = events.text() or _as_text(events.output())
        if not text and not waiting and (error := events.error()) is not None:
            raise error
        return Reply(
            text,
            events.calls(waiting),
            events.usage(),
            thoughts=events.thoughts(),
            pending=tuple(one.request for one in waiting),
        )


def _context(given: Any) -> Mapping[str, Any]:
    if given is None:
        return {}
    if not isinstance(given, Mapping) or not set(given) <= set(_CONTEXT):
        raise TargetStartError(
            f"the context of an ADK agent is a mapping with {', '.join(_CONTEXT)}, not {shown(given)}"
        )
    return given


def _runner(given: Any, plugin: Any) -> Any:
    """A runner of this conversation's own; of one that was given, the app and the services are used."""
    runners = import_module("google.adk.runners")
    apps = import_module("google.adk.apps.app")
    if isinstance(given, runners.Runner):
        app = given.app.model_copy(update={"plugins": [plugin, *given.plugin_manager.plugins]})
        names = ("session_service", "artifact_service", "memory_service", "credential_service")
        services = {name: getattr(given, name) for name in names}
        return runners.Runner(app=app, app_name=given.app_name, **services)
    if isinstance(given, apps.App):
        app = given.model_copy(update={"plugins": [plugin, *given.plugins]})
    else:
        # Not validated, as in ADK's own runners: agents may have any class.
        app = apps.App.model_construct(name=_APP, root_agent=given, plugins=[plugin])
    return runners.InMemoryRunner(app=app)


def _response(one: AdkRequest, answer: PendingRequest) -> Any:
    """An answer as ADK takes it."""
    types = import_module("google.genai.types")
    words = answer.answer or ""
    response: dict[str, Any] = {"result": words}
    if one.function == CONFIRMATION:
        response = {"confirmed": words == "approve"}
        if dict(answer.arguments) != dict(one.request.arguments):
            response["payload"] = dict(answer.arguments)
    given = types.FunctionResponse(id=one.function_id, name=one.function, response=response)
    return types.Part(function_response=given)


def _as_text(output: Any) -> str:
    if output is None:
        return ""
    value = plain(output)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _below(agent: Any) -> Iterator[Any]:
    """The agent and all that it can reach, each once."""
    seen: set[int] = set()
    waiting = [agent]
    while waiting:
        one = waiting.pop(0)
        if id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        inside = [tool.agent for tool in getattr(one, "tools", ()) if hasattr(tool, "agent")]
        waiting += [*getattr(one, "sub_agents", ()), *inside]


def _specs(agent: Any) -> Iterator[ToolSpec]:
    if not hasattr(agent, "sub_agents"):
        raise _UnknownTools  # a workflow, whose nodes may be anything
    tools = import_module("google.adk.tools")
    for given in getattr(agent, "tools", ()):
        tool = (
            tools.FunctionTool(given) if not isinstance(given, tools.BaseTool) and callable(given) else given
        )
        declare = getattr(tool, "_get_declaration", None)
        found = declare() if declare else None
        if found is None:
            raise _UnknownTools
        yield ToolSpec(found.name, clean_text(found.description or ""), _schema(found))
    if agent.sub_agents and getattr(agent, "model", None) is not None:
        yield ToolSpec("transfer_to_agent", "Transfers the question to another agent.", {})


def _schema(declaration: Any) -> dict[str, Any]:
    found = declaration.parameters_json_schema
    if found is None and declaration.parameters is not None:
        found = declaration.parameters.json_schema.model_dump(mode="json", exclude_none=True)
    return dict(found or {})
