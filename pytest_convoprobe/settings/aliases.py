"""Other systems' spellings turned into ours: keys of a model's section, and a whole mcprobe.yaml."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..errors import Problem
from ..yaml_source import Document, Loc, dotted
from .models import MODEL_SECTIONS, PLAIN_SECTIONS, Settings

MODEL_ALIASES = {
    "source": "provider",
    "base_url": "api_base",
    "apikey": "api_key",
    "reasoning_effort": "reasoning",
}


def known_fields(model: type[Any]) -> tuple[str, ...]:
    """The keys that a section takes, in the order of its fields."""
    return tuple(name for name in model.model_fields if name != "unresolved")


def rename_aliases(document: Document, places: Iterable[Loc]) -> list[Problem]:
    """Give the fields of model sections our names, in place; two spellings of one field are a problem."""
    problems = []
    for place in places:
        values = document.value
        for name in place:
            values = values.get(name) if isinstance(values, dict) else None
        if isinstance(values, dict):
            problems += rename_in(document, place, values)
    return problems


def rename_in(document: Document, path: Loc, values: dict[str, Any]) -> list[Problem]:
    """The same for one section: `values` is what is at `path`."""
    problems = []
    for alias in [key for key in values if key in MODEL_ALIASES]:
        name = MODEL_ALIASES[alias]
        if name in values:
            message = f"`{alias}` and `{name}` say the same; keep one of them"
            problems.append(document.problem((*path, alias), message, at_key=True))
        else:
            values[name] = values[alias]
            document.rename((*path, alias), (*path, name))
        del values[alias]
    return problems


def join_provider(provider: str | None, model: str | None) -> str | None:
    """`ollama` and `llama3` as `ollama/llama3`; a model that already begins so stays as it is."""
    if not provider or not model or model.startswith(f"{provider}/"):
        return model
    return f"{provider}/{model}"


def translate_old(document: Document) -> list[str]:
    """Turn an mcprobe.yaml into our sections, in place; says what was set aside.

    Without a word on the agent, or with the type `simple`, the target is a model on `llm`.
    """
    section = "target" if "target" in document.value else "agent"
    notices = _translate_agent(document)
    _translate_server(document, section)
    for section in [key for key in document.value if key not in Settings.model_fields]:
        notices.append(set_aside(document, (section,)))
        del document.value[section]
    for section, fields in _old_fields().items():
        values = document.value.get(section)
        if isinstance(values, dict):
            for key in [key for key in values if key not in fields]:
                notices.append(set_aside(document, (section, key)))
                del values[key]
    return notices


def _old_fields() -> dict[str, frozenset[str]]:
    """The keys of each section that an old file may bring along; `target` is ours and checked as such."""
    models = {name: {*known_fields(kind), *MODEL_ALIASES} for name, kind in MODEL_SECTIONS.items()}
    plain = {name: known_fields(kind) for name, kind in PLAIN_SECTIONS.items()}
    return {name: frozenset(fields) for name, fields in {**models, **plain}.items()}


def _translate_agent(document: Document) -> list[str]:
    agent = document.value.pop("agent", None)
    if "target" in document.value:
        return [] if agent is None else [set_aside(document, ("agent",))]
    settings = agent if isinstance(agent, dict) else {}
    kind = settings.get("type", agent if isinstance(agent, str) else "simple")
    if kind == "adk" and "factory" in settings:
        return _take_agent(document, settings, "adk", ("factory",))
    if kind != "simple" or "factory" in settings:
        return [_how_to_name_the_agent(document, kind, settings)]
    return _take_agent(document, settings, "model", ("system_prompt", "mcp_server", "mcp_servers"))


def _take_agent(document: Document, settings: dict[str, Any], kind: str, taken: tuple[str, ...]) -> list[str]:
    """Make a target of this type from the keys of the agent that it takes."""
    document.value["target"] = {"type": kind, **{key: settings[key] for key in taken if key in settings}}
    document.rename(("agent",), ("target",))
    return [set_aside(document, ("agent", key)) for key in settings if key not in ("type", *taken)]


def _translate_server(document: Document, section: str) -> None:
    """`mcp_server` at the top or in the agent: the server of a target that is a model.

    `section` is where the target is written.
    """
    target = document.value.get("target")
    if not isinstance(target, dict) or target.get("type", "model") != "model" or "mcp_servers" in target:
        return
    for place, path in ((target, (section,)), (document.value, ())):
        if server := place.get("mcp_server"):
            target["mcp_servers"] = {_SERVER: _known_parts(server)}
            document.rename((*path, "mcp_server"), ("target", "mcp_servers", _SERVER))
            del place["mcp_server"]
            return


_SERVER = "server"


def _known_parts(server: Any) -> Any:
    """The server without the kind of its transport, which follows from its other keys."""
    if not isinstance(server, dict):
        return server
    return {key: value for key, value in server.items() if key not in ("type", "transport", "name")}


def _how_to_name_the_agent(document: Document, kind: object, settings: dict[str, Any]) -> str:
    factory = settings.get("factory") or "agent.py"
    return (
        f"{_where(document, ('agent',))}: an agent of type {kind!r} is not built from this file; name it as\n"
        f"    target:\n"
        f"      type: python\n"
        f"      object: {factory}:create_agent"
    )


def set_aside(document: Document, path: Loc) -> str:
    """The notice of a key that says nothing here."""
    return f"{_where(document, path)}: `{dotted(path)}` has no meaning here and was set aside"


def _where(document: Document, path: Loc) -> str:
    return f"{document.file}:{document.line_of(path)}"
