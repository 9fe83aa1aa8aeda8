"""When a gate is red, green or undecided, and when rows are missing for any word."""

from __future__ import annotations

from dataclasses import replace

import pytest

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
    GateVerdict,
    MissingRows,
    judge_gaps,
    judge_metric,
)
from pytest_convoprobe.benchmark.studies.limit_checks import GateState
from pytest_convoprobe.stats import GapEstimate, ShareEstimate, paired_gap

METRIC = Metric(id="m01", name="Asks", definition="It asks.", examples=("Why?",))
NONE = MissingRows()


def _target(rate: Rate, *gaps: DemographicGap) -> TargetResults:
    rates = (MetricRate(MetricInfo("m01", METRIC.name, METRIC.type), rate),)
    return TargetResults("t", 0, 0, 0, 0, rate, rate, Rate(), by_metric=rates, gaps=gaps)


def _judge(rate: Rate, trouble: MissingRows = NONE, scores: tuple[ScoreRow, ...] = (), **gate) -> GateVerdict:
    return judge_metric(Gate(**gate), METRIC, _target(rate), 0.95, trouble, lambda: scores)


def _gap(pairs: list[tuple[int, int]], name: str = "age") -> DemographicGap:
    """Both groups' rates in each scenario."""
    gap = paired_gap([one for one, _ in pairs], [other for _, other in pairs])
    assert gap is not None
    return DemographicGap(name, "young", "old", gap, gap.p_value, False, GapEstimate.of(pairs))


def _gaps(most: float, *gaps: DemographicGap, targets: int = 1) -> GateVerdict:
    return judge_gaps(Gate(max_group_gap=most), _target(Rate(1, 1), *gaps), 0.95, NONE, targets)


UP, EVEN, DOWN = (1, 0), (1, 1), (0, 1)


@pytest.mark.parametrize(
    ("passed", "scored", "word"),
    [(20, 20, "undecided"), (29, 29, "green"), (13, 20, "red"), (17, 20, "undecided"), (0, 1, "undecided")],
)
def test_a_rate_is_decided_only_where_its_interval_lies_on_one_side(
    passed: int, scored: int, word: str
) -> None:
    """At 0.9: 29 that all pass are 90.2 % or more; 13 of 20 are 83 % at most."""
    assert _judge(Rate(passed, scored), min_pass_rate=0.9).state.value == word


def test_an_agent_of_95_percent_is_not_red_for_the_luck_of_one_cell() -> None:
    """Of twelve cells of 20, one has 16 passes by chance: alone it is red at 0.95, among twelve it isn't."""
    rate = Rate(16, 20)
    assert _judge(rate, min_pass_rate=0.95).state is GateState.RED
    target = _target(rate)
    verdict = judge_metric(Gate(min_pass_rate=0.95), METRIC, target, 0.95, NONE, tuple, comparisons=12)
    assert verdict.state is GateState.UNDECIDED
    assert "corrected for 12 comparisons" in verdict.lines[0]


@pytest.mark.parametrize(("passed", "word"), [(4, "green"), (3, "red")])
def test_a_limit_of_1_asks_for_each_conversation(passed: int, word: str) -> None:
    """No number of conversations shows that none will ever fail, and one that failed is enough."""
    verdict = _judge(Rate(passed, 4), min_pass_rate=1)
    assert verdict.state.value == word
    assert (
        verdict.headline
        == {
            "green": "green: 100 %: 4 of 4 passed, and the gate asks for all",
            "red": "red: 75 % < 100 %: 3 of 4 passed, and the gate asks for all",
        }[word]
    )


def test_a_limit_of_0_is_always_green() -> None:
    assert _judge(Rate(0, 3), min_pass_rate=0).state is GateState.GREEN


def test_variants_and_samples_of_one_scenario_do_not_count_as_scenarios() -> None:
    """40 conversations that all pass are enough for 0.9, but not where they are of four scenarios."""
    alone, four = Rate(40, 40), Rate(40, 40, estimate=ShareEstimate.of([(10, 10)] * 4))
    assert _judge(alone, min_pass_rate=0.9).state is GateState.GREEN
    verdict = _judge(four, min_pass_rate=0.9)
    assert verdict.state is GateState.UNDECIDED
    assert verdict.figures["scenarios"] == 4


def test_an_undecided_rate_says_the_interval_the_limit_the_power_and_what_would_decide() -> None:
    verdict = _judge(Rate(17, 20), min_pass_rate=0.9)
    assert verdict.text.splitlines() == [
        "undecided: 64-96 % includes 90 %: 17 of 20 passed; about 170 scenarios would decide, if all else "
        "stays as it is",
        "95 % interval 64-96 %; limit 90 %; 20 scenarios",
        "power 33 %: the chance of red if the true pass rate is 80 %",
        "positive metric m01: Asks",
    ]
    assert verdict.figures == {
        "gate": "undecided",
        "pass_rate": 0.85,
        "passed": 17,
        "scored": 20,
        "unreadable": 0,
        "missing": 0,
        "limit": 0.9,
        "interval_low": pytest.approx(0.637, abs=1e-3),
        "interval_high": pytest.approx(0.962, abs=1e-3),
        "power": pytest.approx(0.33, abs=0.01),
        "scenarios": 20,
        "scenarios_to_decide": pytest.approx(170, abs=5),
        "comparisons": 1,
    }


@pytest.mark.parametrize(
    ("pairs", "word"),
    [
        ([UP] * 5 + [EVEN], "undecided"),
        ([UP] * 6, "red"),
        ([DOWN] * 6, "red"),
        ([EVEN] * 6, "undecided"),
        ([UP], "undecided"),
        ([EVEN] * 100, "green"),
        ([UP] * 30 + [EVEN] * 70, "red"),
        ([UP] * 10 + [EVEN] * 90, "undecided"),
    ],
)
def test_a_gap_is_decided_only_where_its_interval_lies_on_one_side(
    pairs: list[tuple[int, int]], word: str
) -> None:
    """Of at most 10 points. Five of six one way are a gap of 83 points, which is anything but green."""
    assert _gaps(0.1, _gap(pairs)).state.value == word


def test_an_undecided_gap_says_the_interval_the_limit_the_power_and_what_would_decide() -> None:
    verdict = _gaps(0.1, _gap([UP] * 5 + [EVEN]))
    assert verdict.text.splitlines() == [
        "undecided: gap +83 (+26 to +99) against 10 points: age, young over old; about 7 scenarios "
        "would decide, if all else stays as it is",
        "  undecided: age, young over old: +83 points (95 % interval +26 to +99; limit 10; about 7 scenarios "
        "would decide, if all else stays as it is; power 8 %: the chance to distinguish a true gap of 10 "
        "points from none)",
    ]
    assert verdict.figures["gate"] == "undecided"
    assert verdict.figures["scenarios_to_decide"] == 7


def test_a_gap_that_is_too_large_is_red_and_a_green_one_beside_it_changes_nothing() -> None:
    verdict = _gaps(0.1, _gap([EVEN] * 200, "region"), _gap([DOWN] * 60 + [EVEN] * 140))
    assert verdict.state is GateState.RED
    assert verdict.headline == "red: gap 30 (at least 23) > 10 points: age, young over old"
    assert [line.split(":")[0].strip() for line in verdict.lines] == ["green", "red"]


def test_gaps_are_corrected_for_those_of_all_targets() -> None:
    gap = _gap([UP] * 6)
    assert _gaps(0.1, gap, targets=1).state is GateState.RED
    assert _gaps(0.1, gap, targets=2).state is GateState.UNDECIDED
    assert _gaps(0.1, gap, targets=2).figures["comparisons"] == 2
    assert _gaps(0.1, gap, targets=2).figures["scenarios_to_decide"] == 7


def test_a_gap_at_the_limit_is_decided_by_no_number_of_scenarios() -> None:
    verdict = _gaps(0.1, _gap([UP] * 10 + [EVEN] * 90))
    assert "no number of scenarios would decide" in verdict.headline
    assert "scenarios_to_decide" not in verdict.figures


def test_a_gap_gate_says_how_many_answers_were_unreadable() -> None:
    target = _target(Rate(1, 1, unreadable=2), _gap([EVEN] * 100))
    verdict = judge_gaps(Gate(max_group_gap=0.1), target, 0.95, NONE)
    assert verdict.state is GateState.GREEN
    assert verdict.unreadable == ("2 answers of the evaluator could not be read and count neither way",)
    assert verdict.figures["unreadable"] == 2


@pytest.mark.parametrize(("scenarios", "power"), [(20, 0.17), (200, 0.85)])
def test_the_power_is_that_for_the_limit(scenarios: int, power: float) -> None:
    """Of 15 points, where half of the scenarios pass, in either group and apart from one another."""
    pairs = [UP, EVEN, DOWN, (0, 0)] * (scenarios // 4)
    assert _gaps(0.15, _gap(pairs)).figures["power"] == pytest.approx(power, abs=0.02)


def test_figures_of_rows_that_are_missing_have_no_limit() -> None:
    verdict = _judge(Rate(1, 3, missing=2))
    counts = {"pass_rate": 0.333333, "passed": 1, "scored": 3, "unreadable": 0, "missing": 2}
    assert verdict.figures == {"gate": "unknown", **counts}


def _answers(letters: str) -> tuple[ScoreRow, ...]:
    """A score a scenario: P passed, F failed, ? unreadable."""
    found = {"P": True, "F": False, "?": None}
    return tuple(
        ScoreRow(f"m01_s{number:03d}_v01", "m01", 1, found[letter], found[letter])
        for number, letter in enumerate(letters, 1)
    )


def _judge_answers(letters: str, **gate) -> GateVerdict:
    passed, scored = letters.count("P"), len(letters) - letters.count("?")
    return _judge(Rate(passed, scored, letters.count("?")), scores=_answers(letters), **gate)


@pytest.mark.parametrize(
    ("letters", "word"),
    [
        ("P" * 20 + "?", "green"),
        ("P" * 10 + "?", "unknown"),
        ("F" * 10 + "?", "red"),
        ("F" * 10 + "?" * 12, "unknown"),
        ("PF?", "undecided"),
    ],
)
def test_answers_that_could_not_be_read_decide_no_gate(letters: str, word: str) -> None:
    """Of the answers of each line, 70 % are to pass, whatever those with a question mark would have been."""
    assert _judge_answers(letters, min_pass_rate=0.7).state.value == word


def test_a_gate_that_hangs_on_unreadable_answers_says_how_many_and_what_to_do() -> None:
    assert _judge_answers("P" * 10 + "???", min_pass_rate=0.7).text.splitlines() == [
        "3 of the evaluator's 13 answers could not be read, and the gate depends on them: "
        "10 of the 10 others passed",
        "scores.json says why; set an `evaluator_model` that answers as asked, or ask this one again "
        "(by log_odds it says the same)",
    ]


def test_unreadable_answers_count_by_scenario_too() -> None:
    """By scenario, as the gate's own figure is: here variants of a scenario agree, so four say little."""
    score = _answers("P")[0]
    same = tuple(replace(score, id=f"m01_s{n:03d}_v0{v}") for n in range(1, 21) for v in (1, 2, 3, 4))
    lost = tuple(replace(one, present=None, passed=None) for one in same[:8])
    rate = Rate(72, 72, 8, estimate=ShareEstimate.of([(4, 4)] * 18))
    verdict = _judge(rate, scores=(*lost, *same[8:]), min_pass_rate=0.8)
    assert verdict.state is GateState.UNKNOWN


def test_a_gate_that_is_decided_anyway_says_how_many_answers_were_unreadable() -> None:
    assert (
        "1 answer of the evaluator could not be read and counts neither way"
        in _judge_answers("P" * 20 + "?", min_pass_rate=0.7).lines
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
    line = _judge(Rate(0, 1), scores=(score,)).lines[-1]
    assert line.startswith(r"  m01_s001_v01#2: \x1b]0;x #\#vso[task] long")
    assert line.endswith("more characters)")


def test_a_type_that_was_changed_after_the_score_counts_as_it_is_now() -> None:
    score = ScoreRow("m01_s001_v01", "m01", 1, present=True, passed=False, justification="Fine.")
    assert "Fine." not in _judge(Rate(0, 1), scores=(score,)).text


def test_gaps_among_missing_conversations_are_not_told() -> None:
    target = _target(Rate(1, 1, missing=2), _gap([UP]))
    verdict = judge_gaps(Gate(max_group_gap=0.2), target, 0.95, NONE)
    assert verdict.state is GateState.UNKNOWN
    assert verdict.headline == "2 conversations without a score, so groups cannot be compared"


@pytest.mark.parametrize(
    ("passed", "gate", "headline"),
    [
        (1755, 0.9, "red: at most 89 % < 90 %: 1755 of 2000 passed"),
        (1845, 0.9, "green: at least 91 % >= 90 %: 1845 of 2000 passed"),
    ],
)
def test_a_rate_beyond_the_limit_is_seen_to_be_beyond_it(passed: int, gate: float, headline: str) -> None:
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
