"""A stored conversation is judged again only if it is one with the faults that the scenario has now."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_convoprobe.errors import ScenarioError
from pytest_convoprobe.faults.rules import FaultRule
from pytest_convoprobe.faults.stored import require_injected
from pytest_convoprobe.transcript import ModelCall, Reply, Transcript, Turn, WireSeen


def talk(*faults: str, model: str = "gpt-4o") -> Transcript:
    calls = tuple(ModelCall(model=model, fault=fault) for fault in faults)
    return Transcript((Turn(1, "hello", Reply("hi", wire=WireSeen(calls))),))


RULE = FaultRule(model="gpt*", kind="rate_limit", message="slow down")


def test_a_fault_of_a_model_is_looked_for_in_what_the_gateway_saw() -> None:
    require_injected([RULE], talk("", "rate limit: ****"))
    for other in (talk(""), talk("error 500: x"), talk("rate limit: x", model="other"), Transcript()):
        with pytest.raises(ScenarioError, match=r"model `gpt\*` did not get the fault \(rate limit: slow"):
            require_injected([RULE], other)


def test_a_call_that_was_under_way_counts() -> None:
    seen = talk("rate limit: x").turns[0].reply.wire
    require_injected([RULE], replace(Transcript(), pending="hello", pending_wire=seen))


def test_an_optional_fault_and_one_with_a_chance_may_have_hit_nothing() -> None:
    require_injected([FaultRule(model="gpt*", kind="error", optional=True)], Transcript())
    require_injected([FaultRule(model="gpt*", kind="error", chance=0.1)], talk(""))


def test_a_tool_of_the_same_name_is_another_thing() -> None:
    with pytest.raises(ScenarioError, match="a call of `gpt-4o` did not get"):
        require_injected([FaultRule(tool="gpt-4o", kind="error")], talk("error 500: x"))
