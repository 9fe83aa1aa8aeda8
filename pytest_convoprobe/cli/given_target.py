"""A target that a command line names, instead of that of the settings."""

from __future__ import annotations

import shlex
from typing import Any

from ..settings.models import ModelTarget, PythonTarget, TargetSection
from .exits import UsageProblem


def given_target(spec: str | None, mcp: str | None) -> TargetSection | None:
    """The target of `--target`, or a model with the tools of the server of `--mcp`; None without either.

    Raises `UsageProblem`.
    """
    if spec is not None:
        return PythonTarget(object=spec)
    return None if mcp is None else ModelTarget.model_validate({"mcp_servers": {"server": _server(mcp)}})


def _server(text: str) -> dict[str, Any]:
    if text.startswith(("http://", "https://")):
        return {"url": text}
    try:
        command, *arguments = shlex.split(text)
    except ValueError as error:
        raise UsageProblem(f"--mcp: {error}") from None
    return {"command": command, "args": arguments}
