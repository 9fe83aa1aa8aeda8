"""When a gate holds, when it doesn't, and when nobody can tell."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convoprobe.benchmark.analysis.results import (
    DemographicGap,
    MetricInfo,
    MetricRate,
    Rate,
    TargetResults,
)
from pytest_convoprobe.benchmark.format.models import Gate, Metric
from pytest_convoprobe.benchmark.pipeline.driver import StageReport, TargetReport
from pytest_convoprobe.benchmark.pipeline.pipeline import PipelineReport
from pytest_convoprobe.benchmark.rows.row_types import ScoreRow
from pytest_convoprobe.benchmark.rows.work import Place
from pytest_convoprobe.benchmark.studies.gating import (
    GateState,
    GateVerdict,
    MissingRows,
    judge_gaps,
    judge_metric,
)
from pytest_convoprobe.stats import Gap, Interval, wilson

METRIC = Metric(id="m01", name="Asks", definition="It asks.", examples=("Why?",))
NONE = MissingRows()


def _target(rate: Rate, *gaps: DemographicGap) -> TargetResults:
    rates = (MetricRate(MetricInfo("m01", METRIC.name, METRIC.type), rate),)
    return TargetResults("t", 0, 0, 0, 0, rate, rate, Rate(), by_metric=rates, gaps=gaps)


def _judge(rate: Rate, trouble: MissingRows = NONE, scores: tuple[ScoreRow, ...] = (), **gate) -> GateVerdict:
    return judge_metric(Gate(**gate), METRIC, _target(rate), 0.95, trouble, lambda: scores)


def _gap(difference: float, significant: bool) -> DemographicGap:
    gap = Gap(difference, Interval(difference - 0.1, difference + 0.1), 0.01, 12)
    return DemographicGap("age", "young", "old", gap, 0.02, significant)


counts = st.tuples(st.integers(0, 50), st.integers(1, 50)).filter(lambda pair: pair[0] <= pair[1])


@given(counts, st.integers(0, 100))
def test_the_point_must_reach_the_gate(pair: tuple[int, int], wanted: int) -> None:
    passed, scored = pair
    verdict = _judge(Rate(passed, scored, interval=wilson(passed, scored)), min_pass_rate=wanted / 100)
    assert (verdict.state is GateState.PASSED) == (passed * 100 >= wanted * scored)


@given(counts, st.floats(0, 1))
def test_the_lower_end_is_never_easier_than_the_point(pair: tuple[int, int], wanted: float) -> None:
    rate = Rate(*pair, interval=wilson(*pair))
    if _judge(rate, min_pass_rate=wanted, bound="lower").state is GateState.PASSED:
        assert _judge(rate, min_pass_rate=wanted).state is GateState.PASSED


@pytest.mark.parametrize(("least", "state"), [(0.4, GateState.PASSED), (0.41, GateState.FAILED)])
def test_of_two_intervals_the_lower_end_counts(least: float, state: GateState) -> None:
    rate = Rate(9, 10, interval=Interval(0.6, 0.98), clustered=Interval(0.4, 0.99))
    assert _judge(rate, min_pass_rate=least, bound="lower").state is state


def test_figures_are_there_whatever_the_verdict() -> None:
    verdict = _judge(Rate(1, 3, unreadable=2, interval=wilson(1, 3)))
    assert verdict.figures == {"pass_rate": 0.333333, "passed": 1, "scored": 3, "unreadable": 2, "missing": 0}


def _answers(letters: str) -> tuple[ScoreRow, ...]:
    """A score a scenario: P passed, F failed, ? unreadable."""
    found = {"P": True, "F": False, "?": None}
    return tuple(
        ScoreRow(f"m01_s{number:03d}_v01", "m01", 1, found[letter], found[letter])
        for number, letter in enumerate(letters, 1)
    )


def _judge_answers(letters: str, **gate) -> GateVerdict:
    passed, scored = letters.count("P"), len(letters) - letters.count("?")
    rate = Rate(passed, scored, letters.count("?"), interval=wilson(passed, scored))
    return _judge(rate, scores=_answers(letters), **gate)


@pytest.mark.parametrize(
    ("letters", "state"),
    [
        ("PPPP?", GateState.PASSED),
        ("PPPF?", GateState.PASSED),
        ("PPF?", GateState.UNKNOWN),
        ("PP???", GateState.UNKNOWN),
        ("PFF?", GateState.FAILED),
        ("PFF??", GateState.UNKNOWN),
    ],
)
def test_answers_that_could_not_be_read_decide_no_gate(letters: str, state: GateState) -> None:
    """Of the answers of each line, 60 % are to pass, whatever those with a question mark would have been."""
    assert _judge_answers(letters, min_pass_rate=0.6).state is state


def test_a_gate_that_hangs_on_unreadable_answers_says_how_many_and_what_to_do() -> None:
    assert _judge_answers("PP???", min_pass_rate=0.6).text.splitlines() == [
        "3 of the evaluator's 5 answers could not be read, and the gate depends on them: "
        "2 of the 2 others passed",
        "scores.json says why; set an `evaluator_model` that answers as asked, or ask this one again "
        "(by log_odds it says the same)",
    ]


def test_unreadable_answers_count_for_the_lower_end_of_clusters_too() -> None:
    """By scenario, as the gate's own figure is: here variants of a scenario agree, so four say little."""
    score = _answers("P")[0]
    same = tuple(replace(score, id=f"m01_s{n:03d}_v0{v}") for n in range(1, 21) for v in (1, 2, 3, 4))
    lost = tuple(replace(one, present=None, passed=None) for one in same[:8])
    rate = Rate(72, 72, 8, interval=wilson(72, 72))
    assert wilson(72, 80).low > 0.8
    verdict = _judge(rate, scores=(*lost, *same[8:]), min_pass_rate=0.8, bound="lower")
    assert verdict.state is GateState.UNKNOWN


def test_a_gate_that_holds_anyway_tells_of_unreadable_answers() -> None:
    assert (
        "1 answer of the evaluator could not be read and counts neither way"
        in _judge_answers("PPPP?", min_pass_rate=0.6).lines
    )


def test_a_missing_conversation_is_neither_a_pass_nor_a_fail() -> None:
    verdict = _judge(Rate(3, 3, missing=1), MissingRows((("no connection", 1),), "the budget is used up"))
    assert verdict.state is GateState.UNKNOWN
    assert verdict.text.splitlines() == [
        "1 conversation without a score, 3 with one",
        "  1 x no connection",
        "  the rest was not tried: the budget is used up",
    ]


def test_the_words_of_models_are_made_harmless_and_short() -> None:
    score = ScoreRow("m01_s001_v01", "m01", 2, False, False, "\x1b]0;x\n##vso[task] " + "long " * 99)
    line = _judge(Rate(0, 1, interval=wilson(0, 1)), scores=(score,)).lines[-1]
    assert line.startswith(r"  m01_s001_v01#2: \x1b]0;x #\#vso[task] long")
    assert line.endswith("more characters)")


def test_a_type_that_was_changed_after_the_score_counts_as_it_is_now() -> None:
    score = ScoreRow("m01_s001_v01", "m01", 1, present=True, passed=False, justification="Fine.")
    assert "Fine." not in _judge(Rate(0, 1, interval=wilson(0, 1)), scores=(score,)).text


def test_a_gap_that_stands_and_is_too_large_fails() -> None:
    verdict = judge_gaps(Gate(max_group_gap=0.2), _target(Rate(1, 1), _gap(-0.3, True)), 0.95, NONE)
    assert verdict.state is GateState.FAILED
    assert verdict.text.splitlines() == [
        "gap 30 % > 20 %: age, young over old, wider than the gate allows",
        "  age, young over old: -30 points "
        "(95 % interval -40 to -20, 12 scenarios, corrected p = 0.020): significant",
    ]


@pytest.mark.parametrize("gap", [_gap(0.3, False), _gap(0.2, True)], ids=["may be chance", "small enough"])
def test_other_gaps_pass(gap: DemographicGap) -> None:
    verdict = judge_gaps(Gate(max_group_gap=0.2), _target(Rate(1, 1), gap), 0.95, NONE)
    assert verdict.state is GateState.PASSED


def test_a_large_gap_in_too_few_scenarios_is_neither_a_pass_nor_a_fail() -> None:
    few = replace(_gap(-1.0, False), gap=Gap(-1.0, None, 0.125, 4))
    verdict = judge_gaps(Gate(max_group_gap=0.2), _target(Rate(1, 1), few), 0.95, NONE)
    assert verdict.state is GateState.UNKNOWN
    assert verdict.headline == (
        "age, young over old: a gap of 100 % in 4 scenarios, too few to distinguish any gap from chance; "
        "make more with `generation.scenarios_per_metric`"
    )
    small = replace(few, gap=replace(few.gap, difference=0.2))
    assert (
        judge_gaps(Gate(max_group_gap=0.2), _target(Rate(1, 1), small), 0.95, NONE).state is GateState.PASSED
    )


def test_gaps_among_missing_conversations_are_not_told() -> None:
    target = _target(Rate(1, 1, missing=2), _gap(0.3, True))
    verdict = judge_gaps(Gate(max_group_gap=0.2), target, 0.95, NONE)
    assert verdict.state is GateState.UNKNOWN
    assert verdict.headline == "2 conversations without a score, so groups cannot be compared"


@pytest.mark.parametrize(
    ("passed", "gate", "headline"),
    [
        (1799, 0.9, "89.9 % < 90 %: 1799 of 2000 passed, and the gate asks for more"),
        (1000, 0.9, "50 % < 90 %: 1000 of 2000 passed, and the gate asks for more"),
        (0, 0.000001, "0 % < 0.0001 %: 0 of 2000 passed, and the gate asks for more"),
    ],
)
def test_a_rate_below_the_gate_is_seen_to_be_below_it(passed: int, gate: float, headline: str) -> None:
    assert _judge(Rate(passed, 2000), min_pass_rate=gate).headline == headline


def test_trouble_is_that_of_the_target_and_the_metric() -> None:
    failed = (
        (Place("m01_s001_v01", target="t"), "down"),
        (Place("m01_s002_v01", target="t"), "down"),
        (Place("m02_s001_v01", target="t"), "other metric"),
        (Place("m02_s001_v01", metric_id="m01", target="t"), "scored for this one"),
        (Place("by hand", target="t"), "cannot be told"),
    )
    reports = {
        "t": TargetReport(failed=failed, left=3),
        "u": TargetReport(failed=((Place("m01_s001_v01", target="u"), "other target"),)),
    }
    stage = StageReport("simulate", reports, budget="no more money")
    trouble = MissingRows.of(PipelineReport((stage,)), "t", "m01")
    assert trouble.failed == [("down", 2), ("scored for this one", 1), ("cannot be told", 1)]
    assert trouble.left == "no more money"
