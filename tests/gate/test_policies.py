"""What the policies decide, one conversation after another."""

from __future__ import annotations

from itertools import product

import pytest

from pytest_convoprobe.gate.choosing import choose
from pytest_convoprobe.gate.policies import Confirm, Each, Paired, fit_to_gate, long_enough, out_of_talks
from pytest_convoprobe.gate.prior import prior_of
from pytest_convoprobe.gate.types import Decision, Past, Word

SUITE = [Past(0, 20)] * 16 + [Past(2, 20)] * 3 + [Past(6, 20)]
PRIOR = prior_of(SUITE)


def _paired(failed: int, talks: int = 20, **more: float) -> Paired:
    return Paired(Past(failed, talks), PRIOR, scenarios=20, **more)  # type: ignore[arg-type]


def _word(ruling: object) -> object:
    return getattr(ruling, "word", None)


def test_each_decides_the_first_conversation() -> None:
    assert _word(Each().rule([True])) is Word.RED
    assert _word(Each().rule([False])) is Word.GREEN
    assert Each().rule([]) is None


@pytest.mark.parametrize(
    ("fails", "word"),
    [
        ([False], Word.GREEN),
        ([True], None),
        ([True, True], Word.RED),
        ([True, False], None),
        ([True, False, False], Word.GREEN),
        ([True, False, True], Word.RED),
    ],
)
def test_confirm_needs_two_fails_of_at_most_three(fails: list[bool], word: Word | None) -> None:
    assert _word(Confirm().rule(fails)) is word


def test_paired_accepts_a_scenario_that_passes_at_once() -> None:
    assert _word(_paired(3).rule([False])) is Word.GREEN


def test_a_failure_of_a_flaky_scenario_asks_for_more_and_is_then_as_before() -> None:
    assert _paired(3).rule([True]) is None
    assert _word(_paired(3).rule([True] + [False] * 19)) is Word.GREEN


@pytest.mark.parametrize("before", [0, 1, 3, 6])
def test_a_scenario_that_only_fails_now_is_red(before: int) -> None:
    assert _word(_paired(before).rule([True] * 20)) is Word.RED


@pytest.mark.parametrize("first", [1, 3])
def test_what_is_decided_stays_decided(first: int) -> None:
    policy = _paired(1, first=first, most=8)
    for fails in product([False, True], repeat=8):
        rulings = [policy.rule(fails[:talks]) for talks in range(9)]
        decided = [ruling for ruling in rulings if ruling is not None]
        assert decided, "after `most` conversations something is decided"
        assert decided == [decided[0]] * len(decided)


def test_without_further_conversations_an_open_scenario_is_undecided() -> None:
    ruling = out_of_talks(_paired(3), [True])
    assert ruling.word is Word.UNDECIDED
    assert ruling.e_value is not None
    assert ruling.red_from is not None
    assert out_of_talks(Confirm(), [True]).word is Word.UNDECIDED
    assert out_of_talks(_paired(3), [False]).word is Word.GREEN


def test_which_pasts_can_gate() -> None:
    assert not long_enough(None)
    assert not long_enough(Past(0, 7))
    assert long_enough(Past(0, 8))
    assert fit_to_gate(Past(10, 20))
    assert not fit_to_gate(Past(11, 20))


@pytest.mark.parametrize(
    ("has_baseline", "only_recordings", "trials_asked", "policy"),
    [
        (True, False, False, "paired"),
        (False, False, False, "confirm"),
        (True, True, False, "each"),
        (True, False, True, "each"),
    ],
)
def test_auto_chooses(has_baseline: bool, only_recordings: bool, trials_asked: bool, policy: str) -> None:
    facts = {
        "has_baseline": has_baseline,
        "only_recordings": only_recordings,
        "trials_asked": trials_asked,
    }
    assert choose("auto", **facts) == policy
    assert choose("confirm", **facts) == "confirm"


def test_one_failure_is_never_enough() -> None:
    alone = Paired(Past(0, 200), PRIOR, scenarios=1, alpha=0.5)
    assert alone.rule([True]) is None
    assert _word(alone.rule([True, True])) is Word.RED


def test_a_scenario_that_mostly_failed_before_blocks_nothing() -> None:
    assert _word(_paired(11).rule([True] * 20)) is Word.GREEN


BEFORE = Past(3, 40)


@pytest.mark.parametrize(
    ("decision", "sentence"),
    [
        (Decision("late", "paired", Word.GREEN, 1, 1, BEFORE), "1 of 1 failed, base 3 of 40: as before"),
        (Decision("late", "paired", Word.GREEN, 0, 1, BEFORE), "0 of 1 failed, base 3 of 40: passed"),
        (
            Decision("late", "paired", Word.RED, 5, 6, BEFORE),
            "5 of 6 failed, base 3 of 40: more often than before",
        ),
        (
            Decision("late", "paired", Word.UNDECIDED, 6, 20, BEFORE),
            "6 of 20 failed, base 3 of 40: undecided",
        ),
        (Decision("late", "confirm", Word.RED, 2, 2), "2 of 2 failed: confirmed"),
        (Decision("late", "confirm", Word.GREEN, 1, 3), "1 of 3 failed: not confirmed"),
    ],
)
def test_the_sentence(decision: Decision, sentence: str) -> None:
    assert decision.sentence() == sentence
    assert Decision.from_json(decision.to_json()) == decision
