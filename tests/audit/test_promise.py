"""What an audit says of its promise, and where it knows too little to say so."""

from __future__ import annotations

import pytest

from pytest_convoprobe.audit.promise import with_promise
from pytest_convoprobe.results.audit_file import Audit, GateFigures, ScenarioAudit

GATE = GateFigures(300, 0, 0.01, 0.0, 1.0, 1.0, {"always": {"one": 0.05}})


@pytest.mark.parametrize("policy", ["paired", "confirm", "each"])
@pytest.mark.parametrize(
    ("talks", "unknown"),
    [
        ((20, 20, 1), ()),
        ((20, 1, 2), ("the false-red rate: 2 of 3 scenarios with 8 conversations or fewer",)),
        ((1,), ("the false-red rate: 1 of 1 scenario with 8 conversations or fewer",)),
    ],
)
def test_conversations_that_are_too_few_promise_nothing(
    policy: str, talks: tuple[int, ...], unknown: tuple[str, ...]
) -> None:
    scenarios = tuple(ScenarioAudit(f"s{number}", count, 0) for number, count in enumerate(talks))
    audit = Audit(0.0, (), policy, 0.05, "openai/j", GATE, scenarios)
    found = with_promise(audit, 1, lambda _: GATE)
    assert (found.broken, found.unknown) == ((), unknown)
    assert "conversations or fewer on today's fingerprints" in found.advice[-1]
