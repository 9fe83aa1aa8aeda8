from __future__ import annotations

from datetime import date

import pytest

from pytest_convoprobe.scenario.gate_rule import GateRule, mode_of

DAY = date(2027, 1, 31)


@pytest.mark.parametrize(
    ("rule", "today", "expected"),
    [
        (None, DAY, ("block", "")),
        (GateRule(reason="as usual"), DAY, ("block", "")),
        (GateRule(mode="report"), DAY, ("report", "only reported")),
        (
            GateRule(mode="quarantine", expires=DAY, reason="#123"),
            DAY,
            ("quarantine", "in quarantine until 2027-01-31: #123"),
        ),
        (
            GateRule(mode="quarantine", expires=DAY, reason="#123"),
            date(2027, 2, 1),
            ("block", "quarantine ended on 2027-01-31, so it blocks again: #123"),
        ),
        (
            GateRule(mode="report", expires=DAY),
            date(2027, 2, 1),
            ("block", "report ended on 2027-01-31, so it blocks again"),
        ),
    ],
)
def test_a_rule_holds_up_to_its_last_day(
    rule: GateRule | None, today: date, expected: tuple[str, str]
) -> None:
    assert mode_of(rule, today) == expected
