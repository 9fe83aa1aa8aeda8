"""Failures of providers from which an agent did not recover: nobody knows what it would have said without."""

from __future__ import annotations

from collections.abc import Sequence

from .call_reading import ReadCall

_FRAME = ("system", "developer")


def lost_calls(calls: Sequence[ReadCall]) -> frozenset[int]:
    """The places of the calls that failed by the provider's fault, and whose question got no answer later.

    The model may be another one: an agent that asks a second provider has recovered. Of several attempts at
    one question, the last one counts.
    """
    if not any(call.is_providers_failure for call in calls):
        return frozenset()
    failed: dict[tuple[str, ...], int] = {}
    for call in calls:
        if call.is_providers_failure:
            failed[_question(call)] = call.place
        elif call.worked:
            failed.pop(_question(call), None)
    return frozenset(failed.values())


def _question(call: ReadCall) -> tuple[str, ...]:
    """What the model was asked, without what frames it: other models get other instructions."""
    said = [message for message in call.request.messages if message.role not in _FRAME]
    texts = [
        text
        for one in said
        for text in ([result.text for result in one.tool_results] if one.tool_results else [one.content])
        if text
    ]
    # Without a text, equal bodies are equal questions.
    return tuple(texts) or (call.key,)
