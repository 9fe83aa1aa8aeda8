"""Scenarios that are run with several values, and those with parts from other files, as pytest has them."""

from __future__ import annotations

import json

import pytest

from .suite import Suite
from .test_collection import ids
from .test_parameters import MATRIX, said, stored
from .test_several_targets import AGENTS, SETTINGS

SCENARIO = """
    name: Refund
    description: d
    parameters:
      - {order: A-1001, tier: gold}
      - {order: A-1002, tier: silver}
    synthetic_user: {persona: p, initial_query: "Where is ${order}?"}
    evaluation: {correctness_criteria: ["It names ${order}"]}
    tags: ["${tier}"]
    metadata: {outcome: passed}
    """
SAYS = """
def pytest_convoprobe_result(item, result):
    log(f"{item.name}: {item.loaded.scenario.synthetic_user.initial_query}")
"""


@pytest.fixture
def refunds(suite: Suite) -> Suite:
    suite.write("scenarios/a.yaml", SCENARIO)
    suite.conftest(SAYS)
    return suite


def test_each_set_is_an_item(refunds: Suite) -> None:
    assert ids(refunds.run("--collect-only", "-q")) == [
        "scenarios/a.yaml::Refund[A-1001-gold]",
        "scenarios/a.yaml::Refund[A-1002-silver]",
    ]
    refunds.run().assert_outcomes(passed=2)
    assert [line for line in refunds.log if "Where" in line] == [
        "Refund[A-1001-gold]: Where is A-1001?",
        "Refund[A-1002-silver]: Where is A-1002?",
    ]
    assert stored(refunds) == {
        ("scenarios/a.yaml::Refund[A-1001-gold]", 1): "Refund [A-1001-gold]",
        ("scenarios/a.yaml::Refund[A-1002-silver]", 1): "Refund [A-1002-silver]",
    }


@pytest.mark.parametrize(
    ("words", "order"),
    [
        (("-k", "A-1002"), "A-1002"),
        (("-k", "Refund and not 1001"), "A-1002"),
        (("-m", "silver"), "A-1002"),
        (("scenarios/a.yaml::Refund[A-1002-silver]",), "A-1002"),
        (("--deselect", "scenarios/a.yaml::Refund[A-1001-gold]"), "A-1002"),
    ],
)
def test_one_set_can_be_chosen(refunds: Suite, words: tuple[str, ...], order: str) -> None:
    found = ids(refunds.run("--collect-only", "-q", *words))
    assert [one for one in found if one.startswith("scenarios/a.yaml::")] == [
        f"scenarios/a.yaml::Refund[{order}-silver]"
    ]


def test_the_name_alone_means_all_sets(refunds: Suite) -> None:
    assert len(ids(refunds.run("--collect-only", "-q", "scenarios/a.yaml::Refund"))) == 2


def test_the_order_of_suffixes(refunds: Suite) -> None:
    refunds.conftest(MATRIX, target="")
    found = ids(refunds.run("--collect-only", "-q", "--convoprobe-trials=2", "-k", "gold"))
    assert sorted(found) == [
        f"scenarios/a.yaml::Refund[A-1001-gold][{model}]{trial}"
        for model in ("large", "small")
        for trial in ("", "[trial-2]")
    ]
    refunds.run("-k", "gold").assert_outcomes(passed=2)
    assert len(said(refunds)) == 2


def test_targets_come_after_the_parameters(refunds: Suite) -> None:
    refunds.conftest("", target="")
    refunds.write("agents.py", AGENTS)
    refunds.write("convoprobe.yaml", SETTINGS)
    found = ids(refunds.run("--collect-only", "-q", "--convoprobe-trials=2", "-k", "gold"))
    assert sorted(found) == [
        f"scenarios/a.yaml::Refund[A-1001-gold][{target}]{trial}"
        for target in ("fast", "slow")
        for trial in ("", "[trial-2]")
    ]
    refunds.run("-k", "gold", "--convoprobe-target=slow").assert_outcomes(passed=1, deselected=3)


def test_workers_share_the_sets(refunds: Suite) -> None:
    result = refunds.run_process("-n2", plugins=["xdist"])
    result.assert_outcomes(passed=2)
    assert len(stored(refunds)) == 2


def test_only_what_failed_runs_again(refunds: Suite) -> None:
    refunds.write(
        "scenarios/a.yaml",
        SCENARIO.replace("outcome: passed", 'outcome: "${tier}"')
        .replace("gold", "passed")
        .replace("silver", "failed"),
    )
    refunds.run("-p", "cacheprovider").assert_outcomes(passed=1, failed=1)
    refunds.run("-p", "cacheprovider", "--lf").assert_outcomes(failed=1)


def test_a_mistake_in_an_included_file_has_names_as_pytest_shows_them(suite: Suite) -> None:
    suite.write(
        "scenarios/a.yaml",
        SCENARIO.replace("metadata:", "config: !include ../shared/_judge.yaml\n    metadata:"),
    )
    suite.write("shared/_judge.yaml", "judge:\n  temperature: 7\n")
    result = suite.run()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        [
            "*shared/_judge.yaml:2:16: config.judge.temperature: must be from 0 to 2, got the number 7",
            "*    included from scenarios/a.yaml:10",
        ]
    )
    assert str(suite.path) not in result.stdout.str().partition("ERROR collecting")[2].partition("=====")[0]


def test_a_scenario_that_only_extends_is_collected_without_settings(suite: Suite) -> None:
    suite.write("scenarios/a.yaml", "extends: _base.yaml\nname: Short\n")
    suite.write(
        "scenarios/_base.yaml",
        SCENARIO.partition("parameters")[0]
        + "synthetic_user: {persona: p, initial_query: q}\n    evaluation: {correctness_criteria: [x y]}\n",
    )
    suite.write("scenarios/other.yaml", "extends: _base.yaml\nname: Not ours\nservices: {}\n")
    suite.conftest("", target="")
    assert ids(suite.run("--collect-only", "-q")) == ["scenarios/a.yaml::Short"]


def test_a_change_of_an_included_file_is_a_change_of_the_scenario(suite: Suite) -> None:
    suite.write("scenarios/a.yaml", "extends: _base.yaml\nname: Short\n")
    user = "synthetic_user: {persona: p, initial_query: q}"
    base = f"description: d\n{user}\nevaluation: {{correctness_criteria: [%s]}}\n"
    prints = []
    for criterion in ("It answers", "It answers", "It answers well"):
        suite.write("scenarios/_base.yaml", base % criterion)
        suite.run().assert_outcomes(passed=1)
        prints.append(_newest_print(suite))
    assert prints[0] == prints[1] != prints[2]


def _newest_print(suite: Suite) -> str:
    newest = max(
        (suite.path / ".convoprobe").rglob("trials-*.jsonl"), key=lambda path: path.stat().st_mtime_ns
    )
    rows = [json.loads(line) for line in newest.read_text("utf-8").splitlines()]
    return next(str(row["prints"]["scenario"]) for row in rows if "prints" in row)
