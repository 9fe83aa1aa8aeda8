"""promptfoo's assertions on calls of tools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..building import ScenarioBuilder, is_tool_name, quoted
from ..calls import OTHER_ARGUMENTS, some_call
from .foreign_check import ForeignCheck, Taker

_FORM = "its `value` isn't in a form that is known"


def _step(value: Any) -> dict[str, Any] | None:
    """One expected call: the tool's name or a pattern, and other keys."""
    step = {"name": value} if isinstance(value, str) else value
    if not isinstance(step, Mapping) or not is_tool_name(name := step.get("name") or step.get("pattern")):
        return None
    return {**step, "name": name}


def _steps(value: Any) -> list[dict[str, Any]] | None:
    """Several expected calls; None if one of them isn't understood."""
    found = [_step(one) for one in (value if isinstance(value, list) else [value])]
    steps = [one for one in found if one is not None]
    return steps if steps and len(steps) == len(found) else None


def _used(one: ForeignCheck, builder: ScenarioBuilder) -> None:
    steps = _steps(one.value)
    if steps is None or (one.negated and any({"min", "max"} & step.keys() for step in steps)):
        builder.lost(one.loc, one.kind, _FORM)
        return
    for step in steps:
        if one.negated:
            builder.tools(prohibited_tools=[step["name"]])
        elif counts := _counts(step):
            builder.tools(tool_call_criteria=[{"tool": step["name"], "assertions": [counts]}])
        else:
            builder.tools(required_tools=[step["name"]])
    builder.taken()


def _counts(step: Mapping[str, Any]) -> dict[str, int]:
    named = {"at_least": step.get("min"), "at_most": step.get("max")}
    return {
        key: value for key, value in named.items() if isinstance(value, int) and (value or key == "at_most")
    }


def _arguments(one: ForeignCheck, builder: ScenarioBuilder) -> None:
    step = _step(one.value)
    args = (step or {}).get("args", (step or {}).get("arguments"))
    if step is None or one.negated or not isinstance(args, Mapping):
        builder.lost(
            one.loc, one.kind, _FORM if not one.negated else "a call with arguments can't be forbidden"
        )
        return
    builder.tools(tool_call_criteria=[some_call(step["name"], args)])
    if step.get("mode") == "exact":
        builder.changed(one.loc, f"{one.kind} (exact)", OTHER_ARGUMENTS)
    else:
        builder.taken()


def _sequence(one: ForeignCheck, builder: ScenarioBuilder) -> None:
    value = one.value if isinstance(one.value, Mapping) else {"steps": one.value}
    steps = _steps(value.get("steps"))
    if steps is None or one.negated:
        builder.lost(one.loc, one.kind, _FORM if not one.negated else "an order of calls can't be forbidden")
        return
    order = "strict" if value.get("mode") == "exact" else "in_order"
    if builder.expect_calls(order, [{"tool": step["name"]} for step in steps], one.loc, one.kind):
        builder.taken()


def _f1(one: ForeignCheck, builder: ScenarioBuilder) -> None:
    steps = _steps(one.value)
    if steps is None or one.negated:
        builder.lost(one.loc, one.kind, _FORM)
        return
    if one.threshold is not None and one.threshold < 1:
        why = f"some calls could be missing or too many in promptfoo (threshold {one.threshold:g})"
        builder.changed(
            one.loc, f"threshold of {one.kind}", f"{why}; now each of {_names(steps)} has to be called"
        )
        builder.tools(required_tools=[step["name"] for step in steps])
        return
    builder.tools(required_tools=[step["name"] for step in steps], only_listed=True)
    builder.taken()


def _names(steps: list[dict[str, Any]]) -> str:
    return ", ".join(quoted(str(step["name"])) for step in steps)


OF_TOOLS: dict[str, Taker] = {
    "trajectory:tool-used": _used,
    "trajectory:tool-args-match": _arguments,
    "trajectory:tool-sequence": _sequence,
    "tool-call-f1": _f1,
}
