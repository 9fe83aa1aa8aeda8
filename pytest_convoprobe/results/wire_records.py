"""Tokens, and what the gateway saw of an agent's own calls to models, as plain data of JSON, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..transcript import ModelCall, Usage, WireSeen
from .plain_json import as_float, as_text, number


def usage_record(usage: Usage) -> dict[str, int]:
    """Tokens as plain data."""
    return {"prompt_tokens": usage.prompt_tokens, "completion_tokens": usage.completion_tokens}


def read_usage(data: Mapping[str, Any]) -> Usage:
    """What `usage_record` gave."""
    return Usage(data.get("prompt_tokens", 0), data.get("completion_tokens", 0))


def wire_record(seen: WireSeen) -> dict[str, Any]:
    """What was seen in a turn as plain data."""
    return {
        "calls": [_call(call) for call in seen.calls],
        **({"gives": list(seen.gives)} if seen.gives else {}),
        **({"unclear": seen.unclear} if seen.unclear else {}),
        **({"remarks": list(seen.remarks)} if seen.remarks else {}),
    }


def _call(call: ModelCall) -> dict[str, Any]:
    texts = {"protocol": call.protocol, "fault": call.fault, "problem": call.problem}
    return {
        "model": call.model,
        "usage": usage_record(call.usage) if call.usage else None,
        "cost": number(call.cost),
        "seconds": number(call.seconds),
        **{key: text for key, text in texts.items() if text},
        **({"replayed": True} if call.replayed else {}),
        **({"lost": True} if call.lost else {}),
        **({"unrecorded": True} if call.unrecorded else {}),
    }


def read_wire(data: Mapping[str, Any] | None) -> WireSeen | None:
    """What `wire_record` gave; None for conversations without a gateway."""
    if not isinstance(data, Mapping):
        return None
    return WireSeen(
        calls=tuple(map(_read_call, data.get("calls", ()))),
        gives=tuple(map(as_text, data.get("gives", ()))),
        unclear=as_text(data.get("unclear", "")),
        remarks=tuple(map(as_text, data.get("remarks", ()))),
    )


def _read_call(data: Mapping[str, Any]) -> ModelCall:
    return ModelCall(
        model=as_text(data.get("model", "")),
        protocol=as_text(data.get("protocol", "")),
        usage=read_usage(data["usage"]) if data.get("usage") else None,
        cost=as_float(data.get("cost")),
        seconds=as_float(data.get("seconds")) or 0.0,
        replayed=data.get("replayed") is True,
        fault=as_text(data.get("fault", "")),
        problem=as_text(data.get("problem", "")),
        lost=data.get("lost") is True,
        unrecorded=data.get("unrecorded") is True,
    )
