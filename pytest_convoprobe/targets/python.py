"""A target in Python: a function, a class, a zero-argument factory, or one object for one conversation."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import TargetStartError
from ..project_code.calls import StartsCalls
from .agent_sources import AdaptedAgent, AgentSource, source_of
from .call_style import is_async, needs_nothing, takes_context
from .failures import start_failure
from .given_objects import Use
from .hosted import Hosted, RunsElsewhere, home_of
from .loading import Once, Reference, load_object
from .port import ConversationContext, Description, Target, TargetConversation, description_of, named_tools
from .python_conversation import PythonConversation
from .session_options import MakesOptions

_ABSENT = object()


class PythonAgent(RunsElsewhere):
    """Talks with an object in Python.

    `source` is the object, or where to import it from: that is done once, in a thread, when the first
    conversation starts. An object that is itself a `Target` is used as it is. `use` says what may be done
    with an object that has a state of its own. `tools` are the names of the agent's tools, if they are known.
    `context` is a reference to the function that gives each conversation of a framework's agent its context.
    With `same_thread`, synchronous code and the import run on the thread that waits for the conversation.
    With `only_makes_agents`, the object is a factory, or an agent of a framework.
    """

    def __init__(
        self,
        source: object,
        *,
        rootdir: Path,
        name: str,
        use: Use = Use.MANY,
        tools: Sequence[str] | None = None,
        same_thread: bool = False,
        context: Reference | None = None,
        lent_context: bool = False,
        only_makes_agents: bool = False,
    ) -> None:
        self.name = name
        self.same_thread = same_thread
        self._tools = named_tools(tools)
        self._use = use
        load = functools.partial(_load, source, rootdir, name, only_makes_agents)
        self._source: Once[Target | AgentSource] = Once(load)
        self._context = None if context is None else Once(functools.partial(_function, context, rootdir))
        self._lent_context = lent_context
        self._hosted: Hosted | None = None
        self._talked_with: AdaptedAgent | None = None

    async def start(self, context: ConversationContext) -> TargetConversation:
        worker = self._worker(context)
        # The import too: a connection that the module opens belongs to the thread that imports it.
        source = await self._source.get(worker)
        if not isinstance(source, AgentSource):
            self._hosted = self._hosted or Hosted(source)
            return await self._hosted.start(context)
        if self.same_thread and worker is None:
            raise TargetStartError(
                f"`{self.name}` is to run on the thread of its test (`target.thread: same`), but no test "
                "waits for this conversation: leave the setting out here"
            )
        maker = None if self._context is None else await self._context.get(worker)
        options = MakesOptions(context, maker, self._lent_context)
        conversation = PythonConversation(self.name, home_of(context), worker, context.max_text, options)
        try:
            await conversation.open(source, self._use)
        except BaseException:
            await conversation.aclose()
            raise
        self._talked_with = conversation.adapted
        return conversation

    def _worker(self, context: ConversationContext) -> StartsCalls | None:
        waiting = context.waiting if self.same_thread else None
        return None if waiting is None else waiting.worker()

    async def aclose(self) -> None:
        if self._hosted is not None:
            await self._hosted.aclose()

    def describe(self) -> Description:
        """What the object says if it is a target itself and was loaded, and the tools of the settings."""
        source = self._source.value
        if source is None or isinstance(source, AgentSource):
            # Of a factory, the tools are those of what it made last.
            described = Description(tools=self._talked_with.tools() if self._talked_with else None)
        else:
            described = description_of(as_port(source))
        return described if self._tools is None else replace(described, tools=self._tools)


def runs_on_waiting_thread(target: Target) -> bool:
    """Whether its code runs on the thread that waits for the conversation: then one has to wait for each."""
    return type(target) is PythonAgent and target.same_thread


def is_target(value: object) -> bool:
    """Whether it has what the port `Target` asks for. To find out may run code of the project."""
    # The name comes last: it may be a property of some other object, whose code is better not run here.
    return not isinstance(value, type) and _has_methods_of_target(value) and _has_name(value)


def _has_name(value: object) -> bool:
    static = inspect.getattr_static(value, "name", _ABSENT)
    return hasattr(value, "name") if static is _ABSENT else True


def _has_methods_of_target(value: object) -> bool:
    return is_async(getattr(value, "start", None)) and callable(getattr(value, "aclose", None))


def as_port(value: object) -> Target:
    """The same object, for what `is_target` was asked about."""
    target: Target = value  # type: ignore[assignment]
    return target


def _load(source: object, rootdir: Path, name: str, only_makes_agents: bool) -> Target | AgentSource:
    """The object, looked at: what can't take messages is reported before the first conversation.

    All questions are asked here, in a thread, and not on the loop that calls models: the answers may be
    properties of the project's objects.
    """
    agent = load_object(source, rootdir) if isinstance(source, Reference) else source
    if isinstance(agent, type) and _has_methods_of_target(agent):
        agent = _make(agent, name)
    if is_target(agent):
        return as_port(agent)
    try:
        if isinstance(agent, type):
            _require_no_arguments(agent)
        found = source_of(agent)
        if only_makes_agents and not found.makes_agents and found.adapter is None:
            # With a parameter, it would be called with each message, as a function that answers.
            raise ValueError("it has to be a function without parameters that makes an agent")
        return found
    except ValueError as error:
        raise TargetStartError(f"`{name}` can't be used as a target: {error}") from None


def _function(reference: Reference, rootdir: Path) -> Callable[..., Any]:
    found = load_object(reference, rootdir)
    if not callable(found):
        raise TargetStartError(
            f"`target.context`: `{reference}` is a {type(found).__qualname__}, not a function"
        )
    return found


def _make(kind: type, name: str) -> object:
    try:
        return kind()
    except BaseException as error:  # noqa: BLE001 - the user's code, whatever it raises
        raise start_failure(f"can't make `{name}`", error) from None


def _require_no_arguments(kind: type) -> None:
    if not needs_nothing(kind) and not takes_context(kind):
        raise ValueError(
            f"{kind.__qualname__}{inspect.signature(kind)} needs arguments: "
            "give a function without parameters that makes one, or with the parameter `context` alone"
        )
