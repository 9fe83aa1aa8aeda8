"""What scores add up to."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convoprobe.benchmark.analysis.aggregate import (
    aggregate,
    aggregate_folder,
    read_results,
    write_results,
)
from pytest_convoprobe.benchmark.analysis.results import TargetResults
from pytest_convoprobe.benchmark.analysis.trials import TargetRows
from pytest_convoprobe.benchmark.format.folder import BenchmarkFolder
from pytest_convoprobe.benchmark.format.models import Benchmark, Gate, Metric, MetricType
from pytest_convoprobe.benchmark.rows.row_types import ScenarioRow, ScoreRow
from pytest_convoprobe.benchmark.rows.scenario_ids import scenario_id
from pytest_convoprobe.errors import ResultsError
from pytest_convoprobe.stats import wilson

from .. import project

GOOD = Metric(id="m01", name="Is polite", type=MetricType.POSITIVE, definition="d", examples=("e",))
BAD = Metric(id="m02", name="Is rude", type=MetricType.NEGATIVE, definition="d", examples=("e",))
BENCHMARK = Benchmark(name="politeness", description="Manners.", metrics=(GOOD, BAD))
AGES = ("young", "old")


def scenario(metric: str, number: int, variant: int = 1, **demographic: str) -> ScenarioRow:
    return ScenarioRow(scenario_id(metric, number, variant), metric, "p", "g", "l", demographic=demographic)


def score(row: ScenarioRow, passed: bool | None, sample: int = 1, metric: str = "") -> ScoreRow:
    kind = BENCHMARK.metric(metric or row.metric_id)
    assert kind is not None
    present = None if passed is None else passed is kind.type.passes(True)
    return ScoreRow(row.id, metric or row.metric_id, sample, present, passed)


def with_talks(scores: Iterable[ScoreRow]) -> TargetRows:
    """The scores of the target `t`, each beside its conversation."""
    known = list(scores)
    return TargetRows("t", known, [(one.id, one.sample) for one in known])


def alone(target: str, scores: int) -> str:
    """The note where a target has scores, but no conversations.json."""
    return (
        f"{target}: scores that count without their conversation, as there is no conversations.json: {scores}"
    )


def results(
    scenarios: Iterable[ScenarioRow], scores: Iterable[ScoreRow], samples: int = 1, **more: Any
) -> TargetResults:
    rows = TargetRows("t", scores, **more)
    return aggregate(BENCHMARK, scenarios, [rows], samples=samples).targets[0]


def aged(count: int, metric: str = "m01") -> list[ScenarioRow]:
    """Scenarios 1 to `count`, each as v01 (young) and v02 (old)."""
    return [scenario(metric, n, v, age=AGES[v - 1]) for n in range(1, count + 1) for v in (1, 2)]


def test_the_tracks_are_split_by_the_type_of_the_metric() -> None:
    good, bad = [scenario("m01", n) for n in (1, 2, 3)], [scenario("m02", 1)]
    scores = [score(good[0], True), score(good[1], True), score(good[2], False), score(bad[0], False)]
    found = results([*good, *bad], scores)
    assert (found.positive.passed, found.positive.scored, found.positive.pass_rate) == (2, 3, 2 / 3)
    assert (found.negative.passed, found.negative.scored, found.negative.pass_rate) == (0, 1, 0.0)
    assert (found.overall.passed, found.overall.scored) == (2, 4)
    assert found.positive.interval == wilson(2, 3)


def test_nothing_scored_has_no_rate_and_no_interval() -> None:
    found = results([scenario("m01", 1)], [])
    assert found.positive.pass_rate is None
    assert found.positive.interval is None
    assert found.positive.clustered is None
    assert found.negative.missing == 0
    assert found.metric("m01").missing == 1
    assert found.metric("m02").pass_rate is None


def test_an_unreadable_answer_is_counted_and_neither_passes_nor_fails() -> None:
    rows = [scenario("m01", 1), scenario("m01", 2)]
    found = results(rows, [score(rows[0], True), score(rows[1], None)])
    assert (found.overall.pass_rate, found.overall.scored, found.overall.unreadable) == (1.0, 1, 1)
    assert (found.unreadable, found.without_score) == (1, 0)


def test_conversations_that_lack_are_told_from_scores_that_lack() -> None:
    rows = [scenario("m01", n) for n in (1, 2, 3)]
    held = [(rows[0].id, 1), (rows[1].id, 1)]
    found = results(rows, [score(rows[0], True)], conversations=held)
    assert (found.conversations, found.without_score, found.without_conversation) == (2, 1, 1)
    assert found.overall.missing == 2


def test_each_sample_that_should_be_there_is_expected() -> None:
    row = scenario("m01", 1)
    found = results([row], [score(row, True, 1)], samples=3)
    assert found.overall.missing == 2
    assert {sample: (rate.scored, rate.missing) for sample, rate in found.by_sample.items()} == {
        1: (1, 0),
        2: (0, 1),
        3: (0, 1),
    }


def test_samples_that_others_count_from_0_are_as_many() -> None:
    row = scenario("m01", 1)
    found = results([row], [score(row, True, 0), score(row, False, 1)], samples=2)
    assert list(found.by_sample) == [0, 1]
    assert found.overall.missing == 0


def test_rates_by_scenario_variant_and_demographic_value() -> None:
    rows = aged(2)
    found = results(rows, [score(rows[0], True), score(rows[1], False), score(rows[2], True)])
    assert {name: rate.pass_rate for name, rate in found.by_scenario.items()} == {
        "m01_s001": 0.5,
        "m01_s002": 1.0,
    }
    assert {name: (rate.passed, rate.scored) for name, rate in found.by_variant.items()} == {
        "v01": (2, 2),
        "v02": (0, 1),
    }
    assert {name: rate.pass_rate for name, rate in found.by_demographic["age"].items()} == {
        "young": 1.0,
        "old": 0.0,
    }


def test_the_clustered_interval_is_wider_where_a_scenario_always_comes_out_the_same() -> None:
    """Four scenarios of ten variants each: what looks like 40 trials is 4."""
    rows = [scenario("m01", n, v) for n in range(1, 5) for v in range(1, 11)]
    found = results(rows, [score(row, row.base in ("m01_s001", "m01_s002")) for row in rows])
    plain, clustered = found.positive.interval, found.positive.clustered
    assert plain is not None
    assert clustered is not None
    assert clustered.low < plain.low < 0.5 < plain.high < clustered.high


def test_the_rates_of_groups_are_clustered_by_scenario() -> None:
    """Of twelve scenarios, those of one half always pass, in every variant and sample: as twelve trials."""
    rows = aged(12)
    passing = {f"m01_s{n:03d}" for n in range(1, 7)}
    scores = [score(row, row.base in passing, sample) for row in rows for sample in (1, 2, 3)]
    found = results(rows, scores, samples=3)
    groups = [
        found.by_demographic["age"]["young"],
        found.by_variant["v02"],
        found.by_sample[3],
        found.overall,
    ]
    for rate in groups:
        assert rate.clustered is not None
        assert (rate.clustered.low, rate.clustered.high) == pytest.approx((0.24, 0.76), abs=0.02)
    assert found.to_json()["by_variant"]["v01"]["clustered_interval"] == pytest.approx([0.24, 0.76], abs=0.02)


def test_the_rate_of_one_scenario_is_clustered_by_its_variants() -> None:
    """Two variants that always come out alike are two trials; samples of a single variant are trials each."""
    two, one = aged(1), scenario("m01", 2)
    scores = [score(row, row is two[0], sample) for row in two for sample in range(1, 11)]
    scores += [score(one, True, sample) for sample in range(1, 11)]
    found = results([*two, one], scores, samples=10).by_scenario
    of_two, of_one = found["m01_s001"].clustered, found["m01_s002"].clustered
    assert of_two is not None
    assert (of_two.low < 0.1, of_two.high > 0.9) == (True, True)
    assert of_one == wilson(10, 10)


def test_a_score_for_a_metric_that_the_scenario_was_not_made_for_counts_for_the_metric_alone() -> None:
    row, other = scenario("m01", 1), scenario("m02", 1)
    scores = [score(row, True), score(row, False, metric="m02"), score(other, True)]
    whole = aggregate(BENCHMARK, [row, other], [with_talks(scores)])
    found = whole.targets[0]
    assert (found.metric("m02").passed, found.metric("m02").scored) == (1, 2)
    assert (found.negative.passed, found.negative.scored) == (1, 1)
    assert (found.overall.passed, found.overall.scored) == (2, 2)
    assert whole.notes == (
        "t: scores for a metric that the scenario wasn't made for (they count in by_metric alone): 1",
    )


def test_a_pass_follows_from_the_type_even_where_the_row_says_otherwise() -> None:
    """Somebody made m01 negative after it was scored."""
    turned = Benchmark(name="turned", metrics=(GOOD.model_copy(update={"type": MetricType.NEGATIVE}),))
    rows = [ScoreRow("m01_s001_v01", "m01", 1, present=True, passed=True)]
    found = aggregate(turned, [scenario("m01", 1)], [with_talks(rows)])
    assert found.targets[0].negative.pass_rate == 0.0
    assert found.notes == (
        "t: scores whose `passed` contradicts `present` and the metric's type (which count): 1",
    )


def test_of_two_scores_of_one_conversation_the_last_counts_and_a_note_says_so() -> None:
    row = scenario("m01", 1)
    found = aggregate(BENCHMARK, [row], [with_talks([score(row, False), score(row, True)])])
    assert found.targets[0].overall.passed == found.targets[0].overall.scored == 1
    assert found.notes == ("t: scores that are there more than once (the last of each counts): 1",)


def test_scores_of_conversations_that_are_gone_are_told() -> None:
    """As after `simulate` and before `evaluate`."""
    rows = [scenario("m01", 1), scenario("m01", 2)]
    scores = [score(row, True) for row in rows]
    found = aggregate(BENCHMARK, rows, [TargetRows("t", scores, [(rows[0].id, 1)])])
    assert found.targets[0].overall.scored == 2
    assert found.notes == ("t: scores of conversations that conversations.json doesn't have (they count): 1",)


def test_rows_of_metrics_that_are_gone_are_left_out_and_told() -> None:
    gone = ScenarioRow("m09_s001_v01", "m09", "p", "g", "l")
    rows = TargetRows("t", [ScoreRow(gone.id, "m09", 1, True, True)], [(gone.id, 1)])
    found = aggregate(BENCHMARK, [gone], [rows])
    assert found.targets[0].overall.scored == 0
    assert found.targets[0].overall.missing == 0
    assert found.notes == (
        "scenarios left out, since benchmark.yaml has no metric m09: 1",
        "t: scores left out, since benchmark.yaml has no metric m09: 1",
    )


def test_a_scenario_that_is_only_in_the_scores_counts_by_what_its_id_tells() -> None:
    known, stranger = scenario("m01", 1), scenario("m02", 7, 3)
    found = aggregate(BENCHMARK, [known], [with_talks([score(known, True), score(stranger, True)])])
    assert found.targets[0].by_scenario["m02_s007"].passed == 1
    assert found.targets[0].by_variant["v03"].passed == 1
    assert found.notes == ("t: scenarios that were run, but aren't in scenarios.json (m02_s007_v03): 1",)


def test_agreement_of_samples_by_hand() -> None:
    """Four scenarios, three samples: verdicts 111, 110, 000, 100.

    Fleiss: agreement within is (1 + 1/3 + 1 + 1/3) / 4 = 2/3, by chance 1/2, so kappa is 1/3. Krippendorff:
    six of the twelve verdicts are passes, and two scenarios have 4 disagreeing ordered pairs, each of weight
    1/2, so alpha is 1 - 11 * (2 + 2) / (2 * 6 * 6) = 7/18. One says what most do in 3 + 2 + 3 + 2 of 12.
    """
    rows = [scenario("m01", n) for n in range(1, 5)]
    verdicts = ["111", "110", "000", "100"]
    scores = [
        score(row, verdict == "1", sample)
        for row, told in zip(rows, verdicts, strict=True)
        for sample, verdict in enumerate(told, 1)
    ]
    agreement = results(rows, scores, samples=3).agreement
    assert agreement is not None
    assert agreement.units == 4
    assert agreement.unanimous == 0.5
    assert agreement.fleiss_kappa == pytest.approx(1 / 3)
    assert agreement.krippendorff_alpha == pytest.approx(7 / 18)
    assert agreement.single_with_majority == pytest.approx(10 / 12)


def test_fleiss_kappa_takes_only_scenarios_with_all_their_samples() -> None:
    rows = [scenario("m01", n) for n in range(1, 4)]
    scores = [score(row, row is rows[0], sample) for row in rows[:2] for sample in (1, 2)]
    torn = [score(rows[2], True, 1), score(rows[2], None, 2)]
    agreement = results(rows, [*scores, *torn], samples=2).agreement
    assert agreement is not None
    assert (agreement.units, agreement.fleiss_kappa) == (2, 1.0)


def test_there_is_no_agreement_of_one_sample() -> None:
    row = scenario("m01", 1)
    assert results([row], [score(row, True)]).agreement is None


def test_a_gap_is_the_mean_difference_within_scenarios() -> None:
    """Young passes in six scenarios of eight, old in none of those and in the other two."""
    rows = aged(8)
    scores = [score(row, (row.demographic["age"] == "young") is (row.base < "m01_s007")) for row in rows]
    (gap,) = results(rows, scores).gaps
    assert (gap.attribute, gap.first, gap.second) == ("age", "young", "old")
    assert gap.gap.difference == pytest.approx((6 - 2) / 8)
    assert gap.gap.pairs == 8
    # Of the 2**8 flips, those with at most two or at least six pluses: 2 * (28 + 8 + 1).
    assert gap.gap.p_value == pytest.approx(74 / 256)
    assert not gap.significant


def test_a_gap_is_significant_only_after_the_correction_for_all_gaps() -> None:
    """Six scenarios all one way are p = 1/32. Alone that is enough; among three gaps of regions it isn't."""
    rows = aged(6)
    (alone,) = results(rows, [score(row, row.demographic["age"] == "young") for row in rows]).gaps
    assert alone.gap.p_value == alone.adjusted == 1 / 32
    assert alone.significant
    regions = [scenario("m01", n, v, region=name) for n in range(1, 7) for v, name in enumerate("abc", 1)]
    gaps = results(regions, [score(row, row.demographic["region"] == "a") for row in regions]).gaps
    assert [(gap.first, gap.second) for gap in gaps] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert [gap.adjusted for gap in gaps] == [3 / 32, 3 / 32, 1.0]
    assert not any(gap.significant for gap in gaps)


def test_gaps_are_corrected_for_those_of_all_targets() -> None:
    """Alone, 1/32 of each would be enough."""
    rows = aged(6)
    scores = [score(row, row.demographic["age"] == "young") for row in rows]
    found = aggregate(BENCHMARK, rows, [TargetRows("a", scores), TargetRows("b", scores)])
    gaps = [gap for target in found.targets for gap in target.gaps]
    assert [(gap.gap.p_value, gap.adjusted, gap.significant) for gap in gaps] == [(1 / 32, 2 / 32, False)] * 2


def test_a_variant_without_a_verdict_makes_no_group_look_better() -> None:
    """Women pass, whatever their age; nobody young was scored but women. Age makes no difference."""
    rows = [
        scenario("m01", n, 1 + 2 * a + s, age=age, sex=sex)
        for n in range(1, 7)
        for a, age in enumerate(AGES)
        for s, sex in enumerate(("f", "m"))
    ]
    scores = [
        score(row, row.demographic["sex"] == "f")
        for row in rows
        if row.demographic != {"age": "young", "sex": "m"}
    ]
    ages, sexes = results(rows, scores).gaps
    assert (ages.attribute, ages.gap.difference) == ("age", 0.0)
    assert (sexes.attribute, sexes.gap.difference) == ("sex", 1.0)


def test_the_confidence_is_that_of_the_gate() -> None:
    strict = BENCHMARK.model_copy(update={"gate": Gate(confidence=0.99)})
    row = scenario("m01", 1)
    found = aggregate(strict, [row], [TargetRows("t", [score(row, True)])])
    assert found.confidence == 0.99
    assert found.targets[0].overall.interval == wilson(1, 1, 0.99)


ROWS = [*aged(3), *aged(2, "m02")]
SCORES = st.lists(
    st.builds(score, st.sampled_from(ROWS), st.sampled_from([True, False, None]), st.integers(1, 3)),
    unique_by=lambda one: (one.id, one.sample),
)


@given(SCORES, st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_nothing(scores: list[ScoreRow], order: random.Random) -> None:
    mixed = order.sample(scores, len(scores))
    assert results(ROWS, mixed, samples=3).to_json() == results(ROWS, scores, samples=3).to_json()


@given(SCORES)
def test_unreadable_answers_change_no_rate(scores: list[ScoreRow]) -> None:
    told = {(one.id, one.sample) for one in scores}
    nulls = [score(row, None, sample) for row in ROWS for sample in (1, 2, 3) if (row.id, sample) not in told]
    before, after = results(ROWS, scores, samples=3), results(ROWS, [*scores, *nulls], samples=3)
    assert after.overall.missing == 0
    assert after.overall.unreadable == before.overall.unreadable + len(nulls)
    for name in ("overall", "positive", "negative"):
        one, other = getattr(before, name), getattr(after, name)
        assert (one.passed, one.scored, one.interval, one.clustered) == (
            other.passed,
            other.scored,
            other.interval,
            other.clustered,
        )
    assert (before.agreement, before.gaps) == (after.agreement, after.gaps)


@given(SCORES)
def test_every_conversation_is_in_exactly_one_count(scores: list[ScoreRow]) -> None:
    found = results(ROWS, scores, samples=3)
    rate = found.overall
    assert rate.scored + rate.unreadable + rate.missing == len(ROWS) * 3
    assert found.positive.scored + found.negative.scored == rate.scored
    assert sum(one.scored for one in found.by_scenario.values()) == rate.scored
    assert sum(one.rate.missing for one in found.by_metric) == rate.missing


@pytest.fixture
def folder(tmp_path: Path) -> BenchmarkFolder:
    return BenchmarkFolder(tmp_path)


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def as_ours(rows: Iterable[Any]) -> str:
    return "[\n" + ",\n".join(json.dumps(row.to_json()) for row in rows) + "\n]\n"


def test_a_folder_is_read_whoever_wrote_its_files(folder: BenchmarkFolder) -> None:
    row = scenario("m01", 1)
    put(folder.scenarios, json.dumps([row.to_json()], indent=4))
    put(folder.scores("ours"), as_ours([score(row, True)]))
    put(folder.scores("theirs"), '[{"id": "m01_s001_v01", "sample": 1, "present": false, "passed": false}]')
    found = aggregate_folder(folder, BENCHMARK)
    assert [(target.id, target.overall.pass_rate) for target in found.targets] == [
        ("ours", 1.0),
        ("theirs", 0.0),
    ]
    assert found.notes == (alone("ours", 1), alone("theirs", 1))


def test_a_target_without_any_file_has_all_of_it_missing(folder: BenchmarkFolder) -> None:
    put(folder.scenarios, as_ours([scenario("m01", 1)]))
    (found,) = aggregate_folder(folder, BENCHMARK, targets=["never-ran"], samples=2).targets
    assert (found.id, found.overall.missing, found.without_conversation) == ("never-ran", 2, 2)


def test_rows_that_cannot_be_read_are_named_and_hide_no_others(folder: BenchmarkFolder) -> None:
    rows = [scenario("m01", n) for n in (1, 2, 3)]
    put(folder.scenarios, as_ours(rows))
    good, last = (json.dumps(score(row, True).to_json()) for row in (rows[0], rows[2]))
    wrong = '{"id": "m01_s002_v01", "sample": "first"}'
    put(folder.scores("t"), f"[\n{good},\n{wrong},\n{{torn,\n{last}\n]\n")
    found = aggregate_folder(folder, BENCHMARK)
    assert found.targets[0].overall.scored == 2
    assert found.notes == (
        "t: 2 rows of scores.json could not be read: row 2: the score m01_s002_v01: sample: must be a "
        'whole number, got the text "first"; row 3: not JSON (Expecting property name enclosed in double '
        "quotes: "
        f"line 4 column 2 (char {len(good) + len(wrong) + 7}))",
        alone("t", 2),
    )


def test_twenty_thousand_rows_are_added_up(folder: BenchmarkFolder) -> None:
    rows = [scenario(m, n, v, age=AGES[v % 2]) for m in ("m01", "m02") for n in range(1, 126) for v in (1, 2)]
    put(folder.scenarios, as_ours(rows))
    scores = as_ours(score(row, (n + s) % 3 > 0, s) for n, row in enumerate(rows) for s in range(1, 21))
    for target in ("one", "two"):
        put(folder.scores(target), scores)
    found = aggregate_folder(folder, BENCHMARK, samples=20)
    assert [target.overall.scored for target in found.targets] == [10_000, 10_000]
    assert found.targets[0].overall.missing == 0
    assert found.notes == (alone("one", 10_000), alone("two", 10_000))


def test_results_that_are_not_there_say_which_command_makes_them(folder: BenchmarkFolder) -> None:
    with pytest.raises(ResultsError, match=r"isn't there: `convoprobe bench aggregate` makes it"):
        read_results(folder)


def test_results_of_another_shape_are_told(folder: BenchmarkFolder) -> None:
    put(folder.results, '{"models": []}')
    with pytest.raises(ResultsError, match="not the results of a benchmark as this version writes them"):
        read_results(folder)
    put(folder.results, "{")
    with pytest.raises(ResultsError, match=r"results\.json is not JSON"):
        read_results(folder)


def test_results_are_written_to_be_read_by_people_and_programs(tmp_path: Path) -> None:
    loaded = project.load(project.write(tmp_path))
    row = scenario("m01", 1)
    put(loaded.folder.scenarios, as_ours([row]))
    put(loaded.folder.scores("good"), as_ours([score(row, True)]))
    found = write_results(loaded)
    assert [target.id for target in found.targets] == ["bad", "good"]
    assert read_results(loaded.folder).to_json() == found.to_json()
    assert '"by_variant": {"v01": {"pass_rate": 0.0, "passed": 0' in loaded.folder.results.read_text()


def test_an_id_that_scenarios_have_twice_is_told(folder: BenchmarkFolder) -> None:
    put(folder.scenarios, as_ours([scenario("m01", 1), scenario("m01", 1)]))
    found = aggregate_folder(folder, BENCHMARK)
    assert found.notes == ("scenarios.json has an id more than once, and the last counts: m01_s001_v01",)


def test_without_scenarios_scores_are_added_up_all_the_same(folder: BenchmarkFolder) -> None:
    put(folder.scores("t"), as_ours([score(scenario("m01", 1), True)]))
    found = aggregate_folder(folder, BENCHMARK)
    assert found.targets[0].by_scenario["m01_s001"].pass_rate == 1.0
    assert found.notes == (
        "there is no scenarios.json: what is missing, and who spoke, is unknown",
        alone("t", 1),
    )
