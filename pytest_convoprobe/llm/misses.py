"""Why a call isn't in a recording, in words: what changed, and how to record it again."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet

from ..files import shown_path
from .fingerprint import Fingerprint, differences, distance
from .port import CallContext, Role
from .recording import Recording
from .recording_format import RecordedCall

_CLOCKS = ", such as a clock or an id (name it in `target.model_volatile`, and record again)"

_SOURCES: Mapping[Role, Mapping[str, str]] = {
    Role.SYNTHETIC_USER: {
        "system": "the user's persona, facts or instructions, run.now, or this release's prompt",
        "user": "the agent's reply",
        "assistant": "the user's message",
    },
    Role.JUDGE: {
        "system": "judge.extra_instructions, or this release's prompt",
        "user": "what the agent said or reported of its tools, "
        "the scenario's description and criteria, or run.now",
    },
    Role.TARGET: {
        "system": "target.system_prompt",
        "user": "the user's message",
        "assistant": "the agent's reply",
        "tool": "what a tool returned",
    },
    Role.AGENT: {
        **dict.fromkeys(("system", "developer"), f"the agent's prompt, or what it puts there{_CLOCKS}"),
        "user": f"the user's message, what a tool returned, or what the agent adds{_CLOCKS}",
        "assistant": "what the model said before, or how the agent repeats it",
        **dict.fromkeys(("tool", "function"), f"what a tool of the agent returned{_CLOCKS}"),
        "input": "a text that the agent wants embedded",
        "body": f"what the agent sends{_CLOCKS}",
    },
}
"""Where the text of a message comes from, by the role that calls and the role of the message."""


def miss(
    recording: Recording,
    context: CallContext,
    request: Fingerprint,
    ordinal: int,
    repeat: int,
    used: AbstractSet[str],
) -> str:
    """What the call was, what changed since it was recorded, and how to record it again.

    `used` are the digests of the recorded calls that were replayed already.
    """
    reasons = _reasons(recording, context, request, ordinal, repeat, used)
    # With a full stop, since annotations and tables show all of it in one line.
    listed = "\n".join(f"  - {reason}" for reason in reasons) + "."
    return "\n".join(
        (
            f"no reply is recorded for {_whose(context)}:",
            listed,
            f"The recording is {shown_path(recording.path)}. "
            # How that is said on a command line, only the command line knows.
            "To record it again, run the same with `run.replay: record`.",
        )
    )


def _reasons(
    recording: Recording,
    context: CallContext,
    request: Fingerprint,
    ordinal: int,
    repeat: int,
    used: AbstractSet[str],
) -> tuple[str, ...]:
    here = _comparable(recording, context)
    if not here:
        return (_never(recording, context),)
    # A call that was replayed is another question, such as the first vote of two: nothing of it has changed.
    left = [call for call in here if call.request.digest not in used - {request.digest}]
    if not left:
        return (_FURTHER,)
    nearest = min(left, key=lambda call: (distance(request, call.request), abs(call.ordinal - ordinal)))
    equal = sum(call.request.digest == request.digest for call in here)
    return differences(request, nearest.request, _SOURCES.get(context.role)) or (
        f"the same call is made {_times(repeat)} now, recorded {_times(equal)}",
    )


def _comparable(recording: Recording, context: CallContext) -> tuple[RecordedCall, ...]:
    """The recorded calls that this one may be: an agent's are looked for in all turns of their trial."""
    if context.role is Role.AGENT:
        return recording.of_role(context.trial, context.role)
    return recording.at(context.trial, context.role, context.turn)


_FURTHER = (
    "it is one call more than were recorded: the recorded trial ended before it, such as by an outage, or "
    "needed no second vote or second look"
)


def _never(recording: Recording, context: CallContext) -> str:
    """Why nothing is recorded for this role in this turn."""
    if not recording.calls:
        return "this scenario was never recorded"
    trial = [call for call in recording.calls if call.trial == context.trial]
    if not trial:
        return f"trial {context.trial} was never recorded"
    turns = sorted({call.turn for call in trial if call.role is context.role})
    role = context.role.value.replace("_", " ")
    if context.role is Role.AGENT:
        return (
            "no model call of the agent is recorded in this trial: it made none then, or it was recorded "
            "without `target.models`"
        )
    if not turns:
        return f"the {role} was never recorded"
    listed = f"{'turn' if len(turns) == 1 else 'turns'} {', '.join(map(str, turns))}"
    return f"this turn was never recorded (recorded for the {role}: {listed})"


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


def _whose(context: CallContext) -> str:
    role = context.role.value.replace("_", " ")
    turn = f" in turn {context.turn}" if context.turn else ""
    trial = f" (trial {context.trial})" if context.trial > 1 else ""
    call = "a model call of the agent" if context.role is Role.AGENT else f"the {role}'s call"
    return f"{call}{turn}{trial}"
