"""The page on how often gates are wrong has the figures that were simulated, and these are good enough."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.perf import gates

STORED: dict[str, Any] = json.loads(gates.STORED.read_text("utf-8"))


def test_the_page_is_made_from_the_stored_figures() -> None:
    assert gates.PAGE.read_text("utf-8") == gates.rendered(STORED), "run `python -m tests.perf.gates --page`"


def test_every_design_is_there() -> None:
    names = ("scenarios", "samples", "alike")
    assert [tuple(cell[name] for name in names) for cell in STORED["cells"]] == [
        (design.scenarios, design.samples, design.alike) for design in gates.DESIGNS
    ]


@pytest.mark.parametrize("cell", STORED["cells"], ids=lambda cell: f"{cell['scenarios']}-{cell['samples']}")
def test_gates_are_seldom_red_by_chance_and_their_intervals_contain_the_truth(cell: dict[str, Any]) -> None:
    for gate in ("rate", "gap"):
        for wrong in ("false_red", "any_false_red", "false_green"):
            assert cell[f"{gate}_{wrong}"] <= 0.05, (gate, wrong)
    for name in ("rate_coverage", "gap_coverage", "group_coverage"):
        assert 0.93 <= cell[name] <= 0.97, name
    assert cell["rate_power_shown"] == pytest.approx(cell["rate_red"], abs=0.08)
    assert cell["gap_power_shown"] == pytest.approx(cell["gap_distinguished"], abs=0.08)


def test_the_same_seed_gives_the_stored_figures() -> None:
    pytest.importorskip("scipy")
    assert gates.simulated(gates.DESIGNS[0], 0, gates.FEW) == STORED["few"]
