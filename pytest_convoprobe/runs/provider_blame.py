"""Whose fault it is where a provider failed on the wire, or a fault was injected there."""

from __future__ import annotations

from ..errors import ConvoprobeError, TargetCrashed, TargetUnavailable
from ..text import one_line, shorten
from ..transcript import ModelCall, Transcript

_NAME = 80


def provider_failure(transcript: Transcript) -> str:
    """The sentence on the first failure from which the agent did not recover; empty without one."""
    for turn, seen in transcript.wire:
        for call in seen.calls:
            if call.lost:
                return (
                    f"turn {turn}: the provider failed in the agent's call of {_named(call)} "
                    f"({call.problem}), and no equal request was answered after it, so this says nothing "
                    "about the agent"
                )
    return ""


def rightly_blamed(error: ConvoprobeError, transcript: Transcript) -> ConvoprobeError:
    """The error, or what it really is: a fault of the provider, or of an agent that can't cope with ours."""
    if isinstance(error, TargetCrashed) and (failure := provider_failure(transcript)):
        return TargetUnavailable(f"{failure}. The target ended with: {error}", trace=error.trace)
    if isinstance(error, TargetUnavailable) and not provider_failure(transcript):
        pending = transcript.pending_wire
        hit = [call for call in pending.calls if call.fault and call.problem] if pending is not None else []
        if hit:
            # Whether the agent copes with it is what is tested, as with faults of tools.
            words = f"after a fault (`faults`) that its call of {_named(hit[-1])} had: {hit[-1].fault}"
            return TargetCrashed(
                f"the target gave no reply {words}. It ended with: {error}", trace=error.trace
            )
    return error


def _named(call: ModelCall) -> str:
    return f"`{shorten(one_line(call.model), _NAME)}`" if call.model else "a model"
