"""Where the tools of a model come from: functions, MCP servers. All of them look the same to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from ..cutting import MOST_TEXT
from ..llm.port import ToolRequest, ToolSpec
from ..outside_json import read_json
from ..project_code.agent_loops import Home
from ..transcript import PendingRequest, ToolCall
from .reply_parts import as_arguments


class ToolSource(Protocol):
    """Tools that a model can call. `call` gets only requests for one of `specs`.

    What goes wrong in a tool is the call's `error`. Only a `TargetUnavailable` is raised: what the tools need
    is not there, and the conversation makes no sense any more.
    """

    @property
    def specs(self) -> tuple[ToolSpec, ...]: ...

    async def call(
        self, request: ToolRequest, home: Home | None = None, most_text: int = MOST_TEXT
    ) -> ToolCall: ...


class ServedTools(ToolSource, Protocol):
    """Tools that somebody serves, who can be lost, can ask for something, and has to be let go."""

    async def require_all(self) -> None:
        """Raise `TargetUnavailable` if some can't be called any more."""

    def asked(self) -> tuple[PendingRequest, ...]:
        """What was asked for, and answered, since the last time."""

    async def aclose(self) -> None: ...


class AllTools:
    """The tools of several sources as one; no name is in two of them."""

    def __init__(self, sources: Sequence[ToolSource]) -> None:
        self._owners: Mapping[str, ToolSource] = {
            spec.name: source for source in sources for spec in source.specs
        }
        self.specs = tuple(spec for source in sources for spec in source.specs)

    async def call(
        self, request: ToolRequest, home: Home | None = None, most_text: int = MOST_TEXT
    ) -> ToolCall:
        """Make the call that a model asks for; see `ToolSource`."""
        owner = self._owners.get(request.name)
        complaint = (
            arguments_complaint(request.arguments) if owner else no_such_tool(request.name, self._owners)
        )
        if owner is None or complaint:
            arguments = as_arguments(request.arguments)
            return ToolCall(request.name, arguments, error=complaint, latency=0.0, executed=False)
        return await owner.call(request, home, most_text)


def no_such_tool(name: str, tools: Iterable[str]) -> str:
    """The error of a call of a tool that isn't there."""
    known = ", ".join(f"`{tool}`" for tool in tools) or "none"
    return f"there is no tool `{name}`; the tools are: {known}"


def arguments_complaint(arguments: str) -> str:
    """Why a tool can't be called with this text; empty if it can."""
    try:
        parsed = read_json(arguments) if arguments.strip() else {}
    except ValueError as error:
        return f"the arguments are not valid JSON: {error}"
    if not isinstance(parsed, dict):
        return "the arguments have to be a JSON object with a key for each parameter"
    return ""
