"""Simulated conversations that are safe to block a merge with.

The names below are loaded on first use. So importing the package costs almost nothing, which matters for
test suites without scenarios.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .api import run_scenario
    from .errors import ConvoprobeError, TargetCrashed, TargetStartError, TargetUnavailable
    from .result import Outcome, ScenarioErrored, ScenarioFailed, ScenarioResult
    from .targets.port import ConversationContext, Target, TargetConversation
    from .transcript import CallKind, PendingRequest, Reply, ToolCall, Usage

__version__ = "0.1.0"

_HOMES = {
    "run_scenario": "api",
    "ConvoprobeError": "errors",
    "TargetCrashed": "errors",
    "TargetStartError": "errors",
    "TargetUnavailable": "errors",
    "Outcome": "result",
    "ScenarioErrored": "result",
    "ScenarioFailed": "result",
    "ScenarioResult": "result",
    "ConversationContext": "targets.port",
    "Target": "targets.port",
    "TargetConversation": "targets.port",
    "CallKind": "transcript",
    "PendingRequest": "transcript",
    "Reply": "transcript",
    "ToolCall": "transcript",
    "Usage": "transcript",
}

__all__ = [
    "CallKind",
    "ConversationContext",
    "ConvoprobeError",
    "Outcome",
    "PendingRequest",
    "Reply",
    "ScenarioErrored",
    "ScenarioFailed",
    "ScenarioResult",
    "Target",
    "TargetConversation",
    "TargetCrashed",
    "TargetStartError",
    "TargetUnavailable",
    "ToolCall",
    "Usage",
    "run_scenario",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)
