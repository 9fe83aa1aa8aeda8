"""Gates that are drawn from conversations whose rates are known."""

from __future__ import annotations

import random

import pytest

from pytest_convoprobe.audit.gates import draw_gates
from pytest_convoprobe.audit.suite import AuditedScenario, Rules, TalkVerdict, halves


def scenario(name: str, fails: list[bool], sees: float | None = 1.0) -> AuditedScenario:
    """A scenario with a conversation in each of so many runs."""
    talks = tuple(TalkVerdict(f"run{number:03}", failed) for number, failed in enumerate(fails))
    return AuditedScenario(name, talks, sees)


def suite(size: int, rate: float, talks: int = 40, seed: int = 1) -> list[AuditedScenario]:
    rng = random.Random(seed)
    return [scenario(f"s{at:02}", [rng.random() < rate for _ in range(talks)]) for at in range(size)]


def test_an_agent_that_passes_is_never_red_and_what_breaks_for_good_is_found() -> None:
    drawn = draw_gates(suite(20, 0.0), Rules(), 40)
    assert (drawn.gates, drawn.red, sum(drawn.undecided.values())) == (40, 0, 0)
    assert drawn.missed("always", "one") == 0
    assert drawn.missed("always", "all") == 0
    half = drawn.missed("half", "one")
    assert half is not None
    assert 0.1 < half < 0.8, "the first conversation shows it half of the time"


def test_a_suite_that_fails_now_and_then_keeps_the_promise() -> None:
    drawn = draw_gates(suite(20, 0.02), Rules(), 60)
    assert drawn.red <= 2
    assert 20 <= sum(drawn.talks) / drawn.gates <= 20 * 1.8


def test_each_trial_alone_does_not() -> None:
    drawn = draw_gates(suite(20, 0.05), Rules("each"), 60)
    assert drawn.red > 30
    assert sum(drawn.red_scenarios.values()) > 30


def test_what_nobody_can_notice_is_missed_and_what_was_never_tried_is_not_known() -> None:
    blind = [scenario(f"s{at}", [False] * 20, 0.0) for at in range(6)]
    assert draw_gates(blind, Rules(), 20).missed("always", "all") == 1
    unknown = [scenario(f"s{at}", [False] * 20, None) for at in range(6)]
    assert draw_gates(unknown, Rules(), 20).missed("always", "all") is None
    # The others of the suite say what to expect of one.
    assert draw_gates([*unknown[:5], scenario("s9", [False] * 20)], Rules(), 20).missed("always", "one") == 0


def test_a_difference_between_runs_is_not_spread_over_both_halves() -> None:
    """A provider's bad week: eight runs in a row fail, so some cuts look like a regression."""
    weeks = [scenario(f"s{at:02}", [False] * 12 + [True] * 8) for at in range(20)]
    assert draw_gates(weeks, Rules(), 20).red > 0


def test_a_short_past_is_no_past() -> None:
    talks = tuple(TalkVerdict("one", False) for _ in range(8))
    assert halves(talks, ["one"]).past is None
    longer = halves((TalkVerdict("two", True), *talks), ["two", "one"])
    assert longer.past is not None
    assert (longer.past.failed, longer.past.talks, longer.head) == (1, 8, (False,))


def test_a_scenario_that_mostly_failed_or_was_set_aside_is_never_red() -> None:
    failing = scenario("failing", [True] * 15 + [False] * 5)
    aside = AuditedScenario("aside", scenario("aside", [False, True] * 10).talks, 1.0, blocks=False)
    drawn = draw_gates([failing, aside], Rules("confirm"), 30)
    assert (drawn.red, drawn.broken) == (0, 0)


@pytest.mark.parametrize(("max_talks", "most"), [(0, 1), (20, 2)])
def test_a_budget_bounds_the_conversations(max_talks: int, most: int) -> None:
    every = [scenario(f"s{at:02}", [True, False, False] * 6) for at in range(20)]
    drawn = draw_gates(every, Rules(max_talks=max_talks), 10)
    assert max(drawn.talks) <= 20 * most
    assert sum(drawn.undecided.values()) > 0


def test_the_same_seed_draws_the_same_whatever_the_order_of_the_scenarios() -> None:
    every = suite(6, 0.2)
    one, other = (draw_gates(found, Rules(), 10, seed=3) for found in (every, [*reversed(every)]))
    assert (one.talks, one.caught) == (other.talks, other.caught)
