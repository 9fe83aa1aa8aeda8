"""Whether a stored conversation is one with the faults that its scenario has now."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import ScenarioError
from ..transcript import Transcript
from .rules import FaultRule, of_models, of_tools


def require_injected(rules: Sequence[FaultRule], transcript: Transcript) -> None:
    """Raise `ScenarioError` if a stored conversation is not one with these faults."""
    calls = [*(call for _, call in transcript.tool_calls), *transcript.pending_calls]
    _require(of_tools(rules), [(call.name, call.fault) for call in calls])
    of_agent = [call for _, seen in transcript.wire for call in seen.calls]
    _require(of_models(rules), [(call.model, call.fault) for call in of_agent])


def _require(rules: Sequence[FaultRule], calls: Sequence[tuple[str, str]]) -> None:
    """`calls` are the names of tools or models, and the words of their faults, empty without one."""
    known = {_kind(rule.words) for rule in rules}
    for rule in rules:
        theirs = [fault for name, fault in calls if rule.is_for(name)]
        # With a chance, a call that was spared is as good as one that was hit. Of several rules for a call,
        # any one may have been the first.
        found = any(_kind(fault) in known or rule.chance is not None for fault in theirs)
        if not found and not rule.optional:
            raise ScenarioError(
                f"faults: in the stored conversation, {rule.where} did not get the fault ({rule.words}); "
                "run the scenario again"
            )


def _kind(words: str) -> str:
    """What a fault is, without the words of its error, which are kept with secrets masked."""
    return words.partition(":")[0]
