"""The parts of the page on a benchmark: which conversations it has, its charts and its words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convoprobe.benchmark.analysis.results import Rate
from pytest_convoprobe.benchmark.analysis.trials import Shown
from pytest_convoprobe.benchmark.report.charts import bar, level, scale_of, whisker
from pytest_convoprobe.benchmark.report.choice import RANK, ConversationVerdict, VerdictState, choose
from pytest_convoprobe.benchmark.report.rate_text import figure, gap_words
from pytest_convoprobe.stats import Gap, Interval


def verdict(target: str, number: int, state: VerdictState, metric: str = "m01") -> ConversationVerdict:
    return ConversationVerdict(metric, target, Shown.by_id(f"{metric}_s{number:03d}_v01"), 1, state)


@st.composite
def found(draw: st.DrawFn) -> list[ConversationVerdict]:
    places = st.tuples(st.sampled_from("ab"), st.integers(1, 6), st.sampled_from(("m01", "m02")))
    states = draw(st.dictionaries(places, st.sampled_from(VerdictState), max_size=20))
    return [verdict(target, number, state, metric) for (target, number, metric), state in states.items()]


@given(found(), st.integers(0, 12))
def test_as_many_as_there_is_room_for_are_chosen(those: list[ConversationVerdict], most: int) -> None:
    chosen = choose(those, most)
    assert len(chosen) == min(most, len(those))
    assert sorted(chosen.values()) == list(range(1, len(chosen) + 1))


@given(found(), st.integers(0, 12))
def test_nothing_is_left_out_for_something_less_urgent(those: list[ConversationVerdict], most: int) -> None:
    chosen = choose(those, most)
    inside = [RANK[one.state] for one in those if one.place in chosen]
    outside = [RANK[one.state] for one in those if one.place not in chosen]
    assert max(inside, default=0) <= min(outside, default=len(RANK))


def test_fields_take_turns() -> None:
    many = [verdict("a", number, VerdictState.FAILED) for number in range(1, 9)]
    few = [verdict("b", 1, VerdictState.FAILED), verdict("b", 2, VerdictState.FAILED)]
    chosen = choose([*many, *few], 4)
    assert sorted(place.target for place in chosen) == ["a", "a", "b", "b"]


def test_a_conversation_of_two_fields_takes_one_place() -> None:
    own = verdict("a", 1, VerdictState.FAILED)
    other = own._replace(metric_id="m02")
    assert len(choose([own, other, verdict("a", 2, VerdictState.FAILED)], 2)) == 2


@pytest.mark.parametrize(
    ("share", "expected"), [(0.0, 0), (0.01, 1), (0.5, 5), (0.96, 9), (0.999, 9), (1.0, 10)]
)
def test_only_none_and_all_have_the_colours_at_the_ends(share: float, expected: int) -> None:
    assert level(share) == expected


def test_a_bar_with_and_without_an_interval() -> None:
    known, unknown = bar(0.5, Interval(0.25, 0.751)), bar(1.0, None)
    assert (known.at, known.low, known.high) == (50.0, 25.0, 75.1)
    assert (unknown.at, unknown.low, unknown.high) == (100.0, None, None)


def test_the_scale_is_the_smallest_that_all_gaps_fit_on() -> None:
    assert scale_of([Gap(0.05, Interval(-0.02, 0.12), 0.5, 9), Gap(0.2, None, 0.5, 9)]) == 0.25
    assert scale_of([]) == 0.1


@given(st.floats(-1, 1), st.floats(0, 1), st.sampled_from([0.1, 0.25, 0.5, 1.0]))
def test_a_whisker_stays_in_its_plot(at: float, width: float, scale: float) -> None:
    drawn = whisker(Gap(at, Interval(at - width, at + width), 0.5, 9), scale)
    assert drawn.low is not None
    assert drawn.high is not None
    assert 0 < drawn.low <= drawn.at <= drawn.high < drawn.width


def test_no_gap_is_in_the_middle() -> None:
    drawn = whisker(Gap(0.0, None, 1.0, 3), 0.5)
    assert (drawn.at, drawn.low) == (drawn.zero, None)


def test_a_rate_of_nothing_has_no_bar() -> None:
    found = figure(Rate(unreadable=3))
    assert (found.share, found.of, found.bar) == ("-", "nothing scored", None)


def test_a_rate_has_the_interval_that_allows_for_scenarios() -> None:
    assert figure(Rate(3, 4, interval=Interval(0.3, 0.9), clustered=Interval(0.2, 0.95))).between == "20-95 %"
    assert figure(Rate(3, 4, interval=Interval(0.3, 0.9))).between == "30-90 %"


def test_a_gap_in_words() -> None:
    assert gap_words(Gap(-0.1, Interval(-0.2, 0.0), 0.04, 12)) == "-10 points (-20 to 0)"
    assert gap_words(Gap(0.1, None, 0.04, 12)) == "+10 points (interval unknown)"
