from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convoprobe.errors import Blame
from pytest_convoprobe.result import Outcome
from pytest_convoprobe.results.fingerprints import Prints
from pytest_convoprobe.results.history import UnsteadyAnswer, flaky, sparkline, stability, trends
from pytest_convoprobe.stats import wilson

from .support import row


def runs(*passed: bool | None, **values: object) -> list:
    """One trial of scenario `a` a run."""
    return [row("a", one, number, **values) for number, one in enumerate(passed, start=1)]


class TestTrends:
    def test_points_are_runs_the_oldest_first(self) -> None:
        (trend,) = trends(reversed(runs(True, False, True, True)))
        assert trend.rates == (1.0, 0.0, 1.0, 1.0)
        assert [point.run for point in trend.points] == ["run001", "run002", "run003", "run004"]
        assert (trend.trials, trend.passed, trend.rate) == (4, 3, 0.75)
        assert trend.interval == wilson(3, 4)

    def test_a_window_looks_at_the_latest(self) -> None:
        (trend,) = trends(runs(True, True, False, False), window=2)
        assert trend.rates == (0.0, 0.0)
        assert (trend.trials, trend.rate) == (2, 0.0)

    def test_trials_of_a_run_make_one_point(self) -> None:
        rows = [row("a", passed, trial=number) for number, passed in enumerate([True, False, True, True])]
        (trend,) = trends(rows)
        (point,) = trend.points
        assert (point.trials, point.passed, point.rate, point.score) == (4, 3, 0.75, 0.75)
        assert point.outcomes == {"passed": 3, "failed": 1}

    def test_errors_of_the_infrastructure_say_nothing(self) -> None:
        (trend,) = trends(runs(True, None))
        assert trend.rates == (1.0, None)
        assert (trend.trials, trend.rate) == (1, 1.0)

    @pytest.mark.parametrize("blame", [one for one in Blame if one is not Blame.AGENT])
    def test_an_error_is_counted_apart_and_is_no_part_of_a_rate(self, blame: Blame) -> None:
        (trend,) = trends([row("a", True, 1), row("a", None, 2, blame=blame)])
        assert (trend.trials, trend.passed, trend.rate, trend.errors) == (1, 1, 1.0, {blame.value: 1})
        assert (trend.points[1].rate, trend.points[1].errors) == (None, {blame.value: 1})
        (alone,) = trends([row("a", None, blame=blame)])
        assert (alone.rate, alone.interval) == (None, None)

    def test_of_a_rerun_the_last_counts(self) -> None:
        (trend,) = trends([row("a", False, started=1.0), row("a", True, started=2.0)])
        assert trend.rates == (1.0,)

    def test_a_point_says_what_changed(self) -> None:
        rows = [
            row("a", run=1, prints=Prints("s1", "p1", "t1", None)),
            row("a", run=2, prints=Prints("s1", "p1", "t1", None)),
            row("a", run=3, prints=Prints("s2", "p2", "t2", "x")),
        ]
        (trend,) = trends(rows)
        assert [point.changed for point in trend.points] == [
            (),
            (),
            ("scenario", "prompts", "target's system prompt"),
        ]

    def test_an_unknown_cost_is_none_not_zero(self) -> None:
        rows = [row("a", trial=1, cost=None), row("a", trial=2, cost=0.5)]
        (trend,) = trends(rows)
        assert trend.points[0].cost is None

    def test_scenarios_come_in_the_order_of_their_ids(self) -> None:
        assert [trend.name for trend in trends([row("b"), row("a"), row("c")])] == ["a", "b", "c"]

    def test_no_rows_are_no_trends(self) -> None:
        assert trends([]) == []


class TestFlaky:
    def test_different_outcomes_on_the_same_fingerprints(self) -> None:
        (found,) = flaky([*runs(True, False, True, True, False), row("steady"), row("steady", run=2)])
        assert (found.name, found.trials, found.passed, found.runs) == ("a", 5, 3, 5)
        assert found.interval == wilson(3, 5)
        assert found.series == (True, False, True, True, False)
        assert (found.score_low, found.score_high, found.score_mean) == (0.0, 1.0, 0.6)
        assert found.score_deviation == pytest.approx(math.sqrt(0.3))

    def test_too_few_trials_are_not_called_flaky(self) -> None:
        assert flaky(runs(True, False, True, False), min_runs=5) == []
        assert len(flaky(runs(True, False, True, False), min_runs=4)) == 1

    def test_a_change_is_no_flakiness(self) -> None:
        before, after = {"prints": Prints("old")}, {"prints": Prints("new")}
        rows = [row("a", False, number, **before) for number in range(5)]
        rows += [row("a", True, number, **after) for number in range(5, 10)]
        assert flaky(rows) == []

    def test_another_target_is_a_change(self) -> None:
        rows = [
            *runs(False, False, False, target="one"),
            *[row("a", run=9 + n, target="two") for n in range(3)],
        ]
        assert flaky(rows, min_runs=2) == []

    def test_an_outage_is_no_flakiness(self) -> None:
        assert flaky(runs(True, None, True, None, True, None), min_runs=2) == []

    def test_a_judge_that_cannot_always_decide_is_listed_with_the_rate_of_its_verdicts(self) -> None:
        rows = [row("a", None if number % 2 else True, number, blame=Blame.JUDGE) for number in range(6)]
        (found,) = flaky(rows)
        assert (found.trials, found.passed, found.rate, found.errors) == (3, 3, 1.0, {"judge": 3})
        assert found.series == (True, None, True, None, True, None)

    def test_an_outage_after_it_hides_no_flakiness(self) -> None:
        rows = [*runs(True, False, True, False, True), row("a", None, 9, prints=Prints())]
        assert len(flaky(rows)) == 1

    def test_what_a_rerun_covered_up_counts(self) -> None:
        rows = [row("a", passed, run, started=float(passed)) for run in range(3) for passed in (False, True)]
        (found,) = flaky(rows)
        assert (found.trials, found.passed) == (6, 3)

    def test_what_flips_is_named_the_most_even_first(self) -> None:
        holds = [
            {"c1": True, "c2": True, "f1": True, "turns": True},
            {"c1": False, "c2": True, "f1": True, "turns": True},
            {"c1": None, "c2": True, "f1": True, "turns": True},
            {"c1": True, "c2": True, "f1": False, "turns": True},
        ]
        rows = [row("a", number == 0, number, holds=held) for number, held in enumerate(holds)]
        (found,) = flaky(rows, min_runs=4)
        assert found.flips == (UnsteadyAnswer("c1", 2, 1, 1), UnsteadyAnswer("f1", 3, 1, 0))

    def test_whether_one_commit_saw_both(self) -> None:
        across = [row("a", number % 2 == 0, number, commit=f"c{number % 2}") for number in range(6)]
        within = [row("a", number % 2 == 0, number, commit="c") for number in range(6)]
        assert [flaky(rows)[0].within_commit for rows in (across, within)] == [False, True]

    def test_the_most_uneven_come_first(self) -> None:
        often = [row("often", number % 2 == 0, number) for number in range(10)]
        rarely = [row("rarely", number != 0, number) for number in range(10)]
        assert [found.name for found in flaky([*rarely, *often])] == ["often", "rarely"]


class TestChanges:
    def test_a_run_that_tells_nothing_hides_no_change(self) -> None:
        away = {"outcome": Outcome.SKIPPED, "prints": Prints()}
        rows = [
            row("a", run=1, prints=Prints("s", "p")),
            row("a", run=2, **away),
            row("a", run=3, prints=Prints("other", "p")),
        ]
        (trend,) = trends(rows)
        assert [point.changed for point in trend.points] == [(), (), ("scenario",)]


class TestStability:
    def test_the_chances_of_several_trials(self) -> None:
        found = stability(runs(True, True, True, False))
        assert (found.pass_at(2), found.pass_hat(2), found.pass_hat(5)) == (1.0, 0.5, None)
        assert found.is_flaky

    def test_the_example_is_the_newest_that_did_not_pass(self) -> None:
        assert stability(runs(False, False, True)).example.run == "run002"
        assert stability(runs(True, True)).example.run == "run002"

    def test_skips_are_shown_and_do_not_count(self) -> None:
        found = stability([row("a"), row("a", None, 2), row("a", True, 3, outcome=Outcome.SKIPPED)])
        assert (found.outcomes, found.trials) == ({"passed": 1, "error": 1, "skipped": 1}, 1)

    def test_no_trials_are_an_error_of_the_caller(self) -> None:
        with pytest.raises(ValueError, match="no trials"):
            stability([])


def test_a_sparkline_has_a_block_a_value() -> None:
    assert sparkline([0.0, 0.5, None, 1.0, 2.0, -1.0]) == "▁▅·██▁"
    assert sparkline([3.0, 3.0], low=3.0, high=3.0) == "██"


@given(st.lists(st.none() | st.floats(0, 1)))
def test_a_sparkline_is_as_long_as_its_values(values: list[float | None]) -> None:
    assert len(sparkline(values)) == len(values)
