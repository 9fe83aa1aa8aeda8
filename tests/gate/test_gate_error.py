"""The page on how far the gate can be trusted has the simulated figures, and they keep the promise."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.perf import gate_error, gate_nights, gate_tried, trust_page

STORED: dict[str, Any] = json.loads(gate_error.STORED.read_text("utf-8"))
FOUND = trust_page.Found(STORED["cells"])


def test_the_page_is_made_from_the_stored_figures() -> None:
    assert trust_page.PAGE.read_text("utf-8") == trust_page.rendered(STORED), (
        "run `python -m tests.perf.gate_error --page`"
    )


def test_every_world_is_there() -> None:
    names = ("scenarios", "error", "agents", "systematic")
    assert [tuple(cell[name] for name in names) for cell in STORED["cells"]] == [
        (world.scenarios, world.error, world.agents, world.systematic) for world in gate_error.WORLDS
    ]


@pytest.mark.parametrize(("what", "measured", "high", "target"), trust_page.promises(FOUND))
def test_what_was_measured_keeps_the_promise(what: str, measured: float, high: float, target: float) -> None:
    assert measured <= target, what
    assert high <= 1.1 * target, what


def test_ours_is_within_alpha_at_the_worst_rate_and_the_first_draft_is_not() -> None:
    draft, ours = [
        max(way[f"worst_{past}_{size}"] for past in ("short", "own") for size in (20, 100))
        for way in (STORED["tried"][0], STORED["tried"][4])
    ]
    assert ours <= 0.04 < draft


@pytest.mark.parametrize("one", STORED["nights"], ids=lambda one: str(one["rate"]))
def test_a_past_that_grows_from_the_gates_own_runs_keeps_the_promise(one: dict[str, float]) -> None:
    assert one["red"] <= gate_nights.SHARE * one["runs"]


def test_the_same_seed_gives_the_stored_figures() -> None:
    assert gate_error.simulated(gate_error.WORLDS[1], 1, gate_error.FEW) == STORED["few"]


def test_what_was_tried_is_what_the_package_does() -> None:
    ours = next(way for way in gate_tried.WAYS if way.evidence is None)
    assert gate_tried.figures(ours) == {
        name: value for name, value in STORED["tried"][4].items() if name != "name"
    }
