"""A target that somebody names in a word, instead of that of the settings."""

from __future__ import annotations

from .models import ModelTarget, PythonTarget, TargetSection


def given_target(spec: str | None, mcp: str | None) -> TargetSection | None:
    """A target in Python by its reference, or a model with an MCP server's tools; None without either."""
    if spec is not None:
        return PythonTarget(object=spec)
    return None if mcp is None else ModelTarget.model_validate({"mcp_servers": {"server": mcp}})
