"""Python functions as tools of a model: how they are described to it, and how it calls them."""

from __future__ import annotations

import inspect
import re
import time
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from inspect import Parameter
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic.errors import PydanticUserError
from pydantic.json_schema import GenerateJsonSchema

from ..cutting import MOST_TEXT, at_most, noticed
from ..errors import TargetCrashed, TargetStartError, TargetUnavailable
from ..llm.port import ToolRequest, ToolSpec
from ..project_code.agent_loops import Home, LoopHome
from ..project_code.calls import Raised, in_own_thread
from ..project_code.tracebacks import describe
from ..transcript import ToolCall
from .call_style import Later, is_async
from .docstrings import Documented, read_docstring
from .failures import of_the_wiring
from .plain_values import clean_text, plain
from .reply_parts import as_arguments
from .tool_source import arguments_complaint, no_such_tool

_MAX_NAME = 64
_PLAIN_TYPES = (bool, int, float, str)


@dataclass(frozen=True)
class Tool:
    """A function with its description for the model.

    `arguments` is a model with one field `p0`, `p1`, … a parameter (a parameter may be called what a
    field of pydantic's may not), `parameters` are those of the function in the same order.
    """

    spec: ToolSpec
    function: Callable[..., Any]
    arguments: type[BaseModel]
    parameters: tuple[Parameter, ...]

    def bind(self, given: Mapping[str, Any]) -> Callable[[], Any]:
        """The call with checked and converted arguments; raises `ValidationError`."""
        checked = self.arguments.model_validate(given)
        positional: list[Any] = []
        named: dict[str, Any] = dict(checked.model_extra or {})
        for index, parameter in enumerate(self.parameters):
            is_given = f"p{index}" in checked.model_fields_set
            value = getattr(checked, f"p{index}") if is_given else parameter.default
            if parameter.kind is Parameter.POSITIONAL_ONLY:
                positional.append(value)
            elif is_given:
                named[parameter.name] = value
        return partial(self.function, *positional, **named)


class Toolbox:
    """The tools of a target, by name."""

    def __init__(self, functions: Iterable[Callable[..., Any]]) -> None:
        self._tools: dict[str, Tool] = {}
        for function in functions:
            tool = make_tool(function)
            if tool.spec.name in self._tools:
                raise TargetStartError(f"two tools are called `{tool.spec.name}`: rename one of them")
            self._tools[tool.spec.name] = tool

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        return tuple(tool.spec for tool in self._tools.values())

    async def call(
        self, request: ToolRequest, home: Home | None = None, most_text: int = MOST_TEXT
    ) -> ToolCall:
        """Make the call that a model asks for. What goes wrong is the call's `error`, for the model to read.

        Only `TargetUnavailable` is raised: with it a tool says that what it depends on is away. An async tool
        runs where `home` says, by default on the caller's loop. Of its result, at most `most_text` characters
        are kept.
        """
        arguments = as_arguments(request.arguments)
        started = time.perf_counter()
        try:
            given = await self._run(request, arguments, home or LoopHome.here(), most_text)
        except _ToolError as error:
            latency, executed = _since(started), not isinstance(error, _NotExecuted)
            return ToolCall(request.name, arguments, error=str(error), latency=latency, executed=executed)
        cut = ("result",) if given.was_cut else ()
        return ToolCall(request.name, arguments, result=given.value, latency=_since(started), cut=cut)

    async def _run(
        self, request: ToolRequest, arguments: Mapping[str, Any], home: Home, most_text: int
    ) -> _Given:
        tool = self._tools.get(request.name)
        if tool is None:
            raise _NotExecuted(no_such_tool(request.name, self._tools))
        if complaint := arguments_complaint(request.arguments):
            raise _NotExecuted(complaint)
        as_data = partial(_as_data, most_text=most_text)
        return await _result(lambda: _called(tool, arguments), is_async(tool.function), home, as_data)


@dataclass(frozen=True)
class _Given:
    """A tool's result as plain data, and whether a part of it was left out."""

    value: Any
    was_cut: bool


_AsData = Callable[[object], _Given]


class _ToolError(Exception):
    """Its text is what the model gets instead of a result."""


class _NotExecuted(_ToolError):
    """The tool's function was never called: what the agent asked for can't be done."""


def make_tool(function: Callable[..., Any]) -> Tool:
    """Describe a function as a tool; raises `TargetStartError` if it can't be done."""
    name = _name_of(function)
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        raise TargetStartError(f"the tool `{name}` can't be described: it has no signature") from None
    documented = read_docstring(inspect.getdoc(_plain(function)))
    variable = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
    kept = tuple(item for item in signature.parameters.values() if item.kind not in variable)
    is_open = any(item.kind is Parameter.VAR_KEYWORD for item in signature.parameters.values())
    try:
        arguments = _arguments_model(name, kept, _hints_of(function), documented, is_open)
        schema = arguments.model_json_schema(schema_generator=_Schema)
    except PydanticUserError as error:
        reason = str(error).splitlines()[0]
        raise TargetStartError(f"the tool `{name}` can't be described to a model: {reason}") from None
    for key in ("title", "description"):
        schema.pop(key, None)
    spec = ToolSpec(name, documented.description or name, {"type": "object", "properties": {}, **schema})
    return Tool(spec, function, arguments, kept)


class _Schema(GenerateJsonSchema):
    """Without titles, which only repeat names; a default that JSON doesn't know is left out."""

    def emit_warning(self, kind: Any, detail: str) -> None:
        """Nothing: the warning would appear in the user's own suite."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def _arguments_model(
    name: str,
    parameters: tuple[Parameter, ...],
    hints: Mapping[str, Any],
    documented: Documented,
    is_open: bool,
) -> type[BaseModel]:
    fields: dict[str, Any] = {
        f"p{index}": _field(parameter, hints, documented.parameters.get(parameter.name))
        for index, parameter in enumerate(parameters)
    }
    config = ConfigDict(extra="allow" if is_open else "forbid", arbitrary_types_allowed=True)
    model: type[BaseModel] = create_model(f"{name}_arguments", __config__=config, **fields)
    return model


def _field(parameter: Parameter, hints: Mapping[str, Any], description: str | None) -> tuple[Any, Any]:
    hint = hints.get(parameter.name, _guessed(parameter.default))
    default = ... if parameter.default is Parameter.empty else parameter.default
    named = Field(default, alias=parameter.name)
    if description and not _is_described(hint):
        hint = Annotated[hint, Field(description=description)]
    return hint, named


def _is_described(hint: Any) -> bool:
    """`Annotated[str, Field(description=…)]` or `Annotated[str, "…"]` (made a Field in `_hints_of`)."""
    return any(getattr(extra, "description", None) for extra in getattr(hint, "__metadata__", ()))


def _guessed(default: object) -> Any:
    """The type of a parameter without a hint: that of its default, if it is a plain one."""
    return type(default) if type(default) in _PLAIN_TYPES else Any


def _plain(function: Callable[..., Any]) -> Any:
    """The function in a partial, or that of an object which can be called: what has hints and docstring."""
    plain_function: Any = function
    while isinstance(plain_function, partial):
        plain_function = plain_function.func
    return plain_function if inspect.isroutine(plain_function) else type(plain_function).__call__


def _hints_of(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        hints = typing.get_type_hints(_plain(function), include_extras=True)
    except Exception:  # noqa: BLE001 - hints that only a type checker understands: do without them
        return {}
    return {name: _with_description(hint) for name, hint in hints.items()}


def _with_description(hint: Any) -> Any:
    """A text in `Annotated[str, "the city"]` is a description, as other tools take it."""
    texts = [extra for extra in getattr(hint, "__metadata__", ()) if isinstance(extra, str)]
    if not texts or _is_described(hint):
        return hint
    return Annotated[hint, Field(description=texts[0])]


def _name_of(function: Callable[..., Any]) -> str:
    plain_function: Any = function
    while isinstance(plain_function, partial):
        plain_function = plain_function.func
    name = getattr(plain_function, "__name__", type(plain_function).__name__)
    if name == "<lambda>":
        raise TargetStartError("a lambda can't be a tool: it has no name that a model could call it by")
    return re.sub(r"[^a-zA-Z0-9_-]", "_", name)[:_MAX_NAME]


def _complaint(error: ValidationError, tool: Tool) -> str:
    """Each wrong argument with what is wrong, in the words that the model used."""
    # Not the words of `yaml_source.explain`: the model of the target reads these, so recordings contain them.
    parts = [
        f"{'.'.join(map(str, item['loc'])) or 'arguments'}: {item['msg']}"
        for item in error.errors(include_url=False, include_context=False, include_input=False)
    ]
    return f"wrong arguments for `{tool.spec.name}`: {'; '.join(parts)}"


def _called(tool: Tool, arguments: Mapping[str, Any]) -> Any:
    """What the tool gives. Checking the arguments may run code of the project too."""
    try:
        call = tool.bind(arguments)
    except ValidationError as error:
        raise _NotExecuted(_complaint(error, tool)) from None
    return call()


async def _result(call: Callable[[], Any], on_loop: bool, home: Home, as_data: _AsData) -> _Given:
    """The result as plain data. It is made where the tool runs: that may run code of the project."""
    try:
        if on_loop:
            return await _on_loop(call, home, as_data)
        result = await in_own_thread(lambda: _data_or_later(call, as_data))
        if isinstance(result, Later):
            later = result
            return await _on_loop(lambda: later.value, home, as_data)
        return result
    except Raised as raised:
        # Whatever it is: a tool that calls sys.exit() must not end pytest.
        raise _failure(raised.error) from None


def _failure(error: BaseException) -> Exception:
    """What a failure of the tool means; a second look at it changes nothing."""
    if isinstance(error, (_ToolError, TargetUnavailable)):
        return error
    if isinstance(error, TargetCrashed):
        return _ToolError(str(error))  # it has returned what can't be shown, and the error says so
    return of_the_wiring(error) or _ToolError(describe(error))


def _as_data(value: object, most_text: int) -> _Given:
    with at_most(most_text):
        return _Given(*noticed(lambda: clean_text(value) if isinstance(value, str) else plain(value)))


def _data_or_later(call: Callable[[], Any], as_data: _AsData) -> _Given | Later:
    try:
        value = call()
        return Later(value) if inspect.isawaitable(value) else as_data(value)
    except StopIteration:
        raise  # the thread makes another error of it
    except Exception as error:  # noqa: BLE001 - the project's code, whatever it raises
        raise _failure(error) from None


async def _on_loop(call: Callable[[], Any], home: Home, as_data: _AsData) -> _Given:
    task = home.open()
    try:
        return await task.run(lambda: _awaited(call, as_data))
    finally:
        task.stop()


async def _awaited(call: Callable[[], Any], as_data: _AsData) -> _Given:
    try:
        value = call()
        return as_data(await value if inspect.isawaitable(value) else value)
    except StopIteration:
        raise  # Python makes another error of it
    except Exception as error:  # noqa: BLE001 - the project's code, whatever it raises
        raise _failure(error) from None


def _since(started: float) -> float:
    return time.perf_counter() - started
