"""From settings, or from whatever a `convoprobe_target` fixture returns, to a target."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from pathlib import Path

from ..errors import SettingsError, TargetStartError
from ..settings.models import AdkTarget, HttpTarget, ModelTarget, PythonTarget, TargetSection
from .adapters.registry import adapter_for
from .call_style import answering
from .given_objects import Use, owner_of
from .hosted import RunsElsewhere
from .loading import Reference, parse_reference
from .model import ModelAgent
from .port import Target
from .python import PythonAgent, as_port, is_target


def build_target(
    settings: TargetSection, *, rootdir: Path, mask: Callable[[str], str] | None = None
) -> Target:
    """The target that the settings describe; relative files start from `rootdir`.

    Nothing of the user's is imported and nothing is connected to yet. Raises `SettingsError` for what
    can be seen without that: a reference, a template or a JMESPath that makes no sense. `mask` takes secrets
    out of its words.
    """
    try:
        return BUILDERS[settings.type](settings, rootdir)
    except SettingsError as error:
        problems = tuple(problem.masked(mask) if mask else problem for problem in error.problems)
    # Outside of the handler: the first error and its frames have the text that was masked.
    raise SettingsError(problems)


def as_target(
    value: object, *, rootdir: Path | None = None, use: Use = Use.MANY, like: TargetSection | None = None
) -> Target:
    """A target from a target, its settings, a function, a class, an object or a `module:object` text.

    `rootdir` is where relative files start from, by default the working directory. `use` says what the target
    is for: most objects can't be shared. `like` are the settings of the project's own target: one in Python
    runs in the thread that they name, and an agent of a framework gets the context that they name. Raises
    `TargetStartError` for what can't be a target.
    """
    root = rootdir or Path.cwd()
    if isinstance(value, TargetSection):
        built = build_target(value, rootdir=root)
        if isinstance(built, RunsElsewhere):
            built.given_settings = value
        return built
    if isinstance(value, str):
        return _given(parse_reference(value), root, value, use, like)
    if is_target(value):
        return as_port(value)
    if value is None:
        raise TargetStartError(f"None can't be a target: {_WANTED}")
    if not isinstance(value, type):
        _require_answering(value)
    if inspect.iscoroutine(value) or inspect.isgenerator(value):
        raise TargetStartError(f"{_named(value)} can't be a target: give the function, without calling it")
    return _given(value, root, _named(value), use, like)


def _given(value: object, root: Path, name: str, use: Use, like: TargetSection | None) -> Target:
    context = _context_of(like) if isinstance(like, (PythonTarget, AdkTarget)) else None
    return PythonAgent(
        value,
        rootdir=root,
        name=name,
        use=use,
        same_thread=_same(like),
        context=context,
        lent_context=True,
    )


def is_single_object(value: object) -> bool:
    """Whether it is an object that may remember what was said, and so can't talk with several users."""
    if isinstance(value, (TargetSection, str)) or is_target(value) or adapter_for(value) is not None:
        return False
    return owner_of(value) is not None


def _same(settings: TargetSection | None) -> bool:
    return isinstance(settings, PythonTarget) and settings.thread == "same"


def _require_answering(value: object) -> None:
    if adapter_for(value) is not None:
        return
    try:
        found = answering(value)
    except ValueError as error:
        raise TargetStartError(f"{_named(value)} can't be a target: {error}") from None
    if found is None:
        raise TargetStartError(f"{_named(value)} can't be a target: {_WANTED}")


_WANTED = "give a function, a class, an object with a method for messages, or `module:object` as text"


def _model_agent(settings: ModelTarget, rootdir: Path) -> Target:
    return ModelAgent(settings, rootdir=rootdir)


def _python_agent(settings: PythonTarget, rootdir: Path) -> Target:
    reference = settings.object
    context = _context_of(settings)
    try:
        return PythonAgent(
            parse_reference(reference),
            rootdir=rootdir,
            name=reference,
            tools=settings.tools,
            same_thread=_same(settings),
            context=context,
        )
    except TargetStartError as error:
        raise SettingsError.of(str(error), path="target.object") from None


def _adk_agent(settings: AdkTarget, rootdir: Path) -> Target:
    try:
        return PythonAgent(
            parse_reference(settings.factory),
            rootdir=rootdir,
            name=settings.factory,
            tools=settings.tools,
            context=_context_of(settings),
            only_makes_agents=True,
        )
    except TargetStartError as error:
        raise SettingsError.of(str(error), path="target.factory") from None


def _context_of(settings: PythonTarget | AdkTarget) -> Reference | None:
    try:
        return None if settings.context is None else parse_reference(settings.context)
    except TargetStartError as error:
        raise SettingsError.of(str(error), path="target.context") from None


def _http_agent(settings: HttpTarget, _: Path) -> Target:
    # Here, because httpx takes a tenth of a second that other targets needn't wait for.
    from .http import HttpAgent

    return HttpAgent(settings)


BUILDERS: dict[str, Callable[..., Target]] = {
    "model": _model_agent,
    "python": _python_agent,
    "http": _http_agent,
    "adk": _adk_agent,
}
"""What builds a target of each type, from its settings and the folder that relative files start from."""


def _named(value: object) -> str:
    """`agents.answer`, or `agents.Agent` for an instance."""
    plain = value
    while isinstance(plain, partial):
        plain = plain.func
    named = plain if hasattr(plain, "__qualname__") else type(plain)
    return f"{getattr(named, '__module__', None) or 'builtins'}.{getattr(named, '__qualname__', '?')}"
