"""The shape of `results.json`."""

from __future__ import annotations

import json

import pytest

from pytest_convoprobe.benchmark.analysis.figures import json_text
from pytest_convoprobe.benchmark.analysis.results import (
    Agreement,
    DemographicGap,
    MetricInfo,
    MetricRate,
    Rate,
    Results,
    TargetResults,
)
from pytest_convoprobe.benchmark.format.models import MetricType
from pytest_convoprobe.errors import ResultsError
from pytest_convoprobe.stats import Gap, Interval

METRIC = MetricInfo("m01", "Is polite", MetricType.POSITIVE)
RATE = Rate(2, 3, 1, 0, Interval(0.2, 0.9), Interval(0.1, 0.95))
RESULTS = Results(
    "politeness",
    "Manners.",
    0.9,
    (METRIC,),
    (
        TargetResults(
            "t",
            4,
            1,
            0,
            0,
            RATE,
            RATE,
            Rate(),
            by_metric=(MetricRate(METRIC, RATE),),
            by_scenario={"m01_s001": Rate(1, 1)},
            by_variant={"v01": Rate()},
            by_demographic={"age": {"young": Rate(0, 2)}},
            by_sample={1: Rate(), 2: Rate(1, 2)},
            agreement=Agreement(3, 0.5, None, 0.25, 0.75),
            gaps=(DemographicGap("age", "young", "old", Gap(0.5, None, 0.25, 4), 0.5, False),),
        ),
    ),
    ("a note",),
)


def test_results_are_read_back_as_they_were_written() -> None:
    assert Results.from_json(json.loads(json_text(RESULTS.to_json()))) == RESULTS


def test_a_target_and_a_metric_are_found_by_id() -> None:
    target = RESULTS.target("t")
    assert target is not None
    assert target.metric("m01") == RATE
    assert target.metric("m02").pass_rate is None
    assert RESULTS.target("u") is None


def test_numbers_have_six_digits_and_what_is_not_known_is_null() -> None:
    assert Rate(2, 3).to_json() == {
        "pass_rate": 0.666667,
        "passed": 2,
        "scored": 3,
        "unreadable": 0,
        "missing": 0,
        "interval": None,
        "clustered_interval": None,
    }
    assert Rate().to_json()["pass_rate"] is None


def test_a_rate_stands_on_one_line_of_the_file() -> None:
    lines = json_text(RESULTS.to_json()).splitlines()
    expected = '"pass_rate": 1.0, "passed": 1, "scored": 1, "unreadable": 0, "missing": 0, "interval": null'
    assert f'      "by_scenario": {{"m01_s001": {{{expected}}}}},' in lines


@pytest.mark.parametrize("data", [None, [], {}, {"benchmark": "b", "targets": [{}]}])
def test_other_json_is_not_taken_for_results(data: object) -> None:
    with pytest.raises(ResultsError, match="write them again with `convoprobe bench aggregate`"):
        Results.from_json(data)


def test_the_text_can_be_written_whatever_is_in_it() -> None:
    data = {"half a character \ud800": ["é\udfff"]}
    assert "é" in json_text(data)
    assert json.loads(json_text(data).encode("utf-8")) == data
