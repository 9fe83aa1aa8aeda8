from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_convoprobe.calibration.agreement import LabelAnswer, figures_of
from pytest_convoprobe.calibration.measured import Measured
from pytest_convoprobe.calibration.requirement import shortfall, shortfall_of
from pytest_convoprobe.settings.judge_settings import JudgeRequirement


def answers(*groups: tuple[int, bool, bool | None]) -> list[LabelAnswer]:
    """So many conversations of one criterion each, with the truth and the judge's answer."""
    pairs = [(holds, judged) for number, holds, judged in groups for _ in range(number)]
    return [LabelAnswer(f"t{n}", "It answers", holds, judged) for n, (holds, judged) in enumerate(pairs)]


def test_the_figures_of_a_judge() -> None:
    # 10 faults, of which it finds 7, and 30 right answers, of which it accepts 27.
    found = figures_of(
        answers((7, False, False), (2, False, True), (1, False, None), (27, True, True), (3, True, False))
    )
    assert (found.labels, found.conversations, found.undecided) == (40, 40, 1)
    assert (found.agreed.part, found.sensitivity.value, found.specificity.value) == (34, 0.7, 0.9)
    # By hand: agreement 34/40, by chance (30*29 + 10*10 + 0*1) / 1600.
    assert found.kappa == pytest.approx((34 / 40 - 970 / 1600) / (1 - 970 / 1600))
    interval = found.agreed.interval
    assert interval is not None
    assert interval.low < 34 / 40 < interval.high


def test_what_is_undecided_never_counts_as_agreement() -> None:
    found = figures_of(answers((5, True, None), (5, False, None)))
    assert (found.agreed.value, found.sensitivity.value, found.specificity.value) == (0, 0, 0)


def test_without_labels_nothing_is_known() -> None:
    found = figures_of([])
    assert (found.labels, found.agreed.value, found.kappa) == (0, None, None)


@pytest.mark.parametrize(
    ("require", "said"),
    [
        ({"labels": 40, "kappa": 0.6}, ""),
        ({"labels": 41, "kappa": 0.6}, "40 labels of at least 41"),
        (
            {"kappa": 0.9, "sensitivity": 0.75, "specificity": 0.9},
            "kappa is 0.619 on 40 labels, and judge.require wants 0.90; "
            "sensitivity is 0.700 on 40 labels, and judge.require wants 0.75",
        ),
    ],
)
def test_what_is_required_of_a_judge(require: dict[str, float], said: str) -> None:
    given = answers((7, False, False), (2, False, True), (1, False, None), (27, True, True), (3, True, False))
    assert shortfall_of(JudgeRequirement(**require), figures_of(given)) == said  # type: ignore[arg-type]


def test_what_cannot_be_computed_is_not_reached() -> None:
    all_alike = figures_of(answers((30, True, True)))
    assert shortfall_of(JudgeRequirement(kappa=0.1), all_alike) == (
        "kappa cannot be computed on 30 labels, and judge.require wants 0.10"
    )
    assert shortfall_of(JudgeRequirement(), figures_of([])) == "0 labels of at least 20"


def test_files_count_together() -> None:
    one = answers((6, True, True), (6, False, False))
    files = [Measured("m", "print", name, f"digest of {name}", 0.0, tuple(one)) for name in ("a", "b")]
    assert shortfall(JudgeRequirement(labels=24, kappa=1), files) == ""
    assert shortfall(JudgeRequirement(labels=24, kappa=1), files[:1]) == "12 labels of at least 24"
    copy = replace(files[0], file="copy of a")
    assert shortfall(JudgeRequirement(labels=24, kappa=1), [files[0], copy]) == "12 labels of at least 24"
    assert Measured.from_json(files[0].to_json()) == files[0]
