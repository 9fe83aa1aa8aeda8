from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convoprobe.judging.threshold import learned_threshold


def test_what_can_be_parted_is_parted_in_the_middle_of_the_gap() -> None:
    learned = learned_threshold([-2.0, -1.0, 1.5, 3.0], [False, False, True, True])
    assert learned is not None
    assert (learned.value, learned.right, learned.expected) == (0.25, 1.0, 1.0)
    assert learned.sentence() == (
        "judge.threshold: 0.25 (learned from 4 labels, 2 true and 2 false: 100 % right on these, "
        "100 % expected on others)"
    )


def test_both_kinds_count_alike_however_many_there_are() -> None:
    # One false statement among nine scores higher than the true ones: more right, were they counted singly.
    scores = [1.0, 1.1, *[0.1 * n for n in range(8)]]
    learned = learned_threshold(scores, [True, True, *[False] * 8])
    assert learned is not None
    assert learned.value == pytest.approx(0.85)


def test_a_judge_that_knows_nothing_has_no_threshold_to_recommend() -> None:
    for scores in ([1.0, 2.0, 1.5, 2.5], [1.0] * 4):
        learned = learned_threshold(scores, [True, False] * 2)
        assert learned is not None
        assert learned.sentence() == (
            "no judge.threshold parts the statements of 4 labels (2 true and 2 false) better than a guess"
        )


@pytest.mark.parametrize("truths", [[True, True, True], [True, False, True], [False] * 3, []])
def test_too_few_labels_of_one_kind_teach_nothing(truths: list[bool]) -> None:
    assert learned_threshold([0.5] * len(truths), truths) is None


# No model's log-probability is finer; between neighbouring floats there is no threshold.
scores_of_models = st.floats(-10, 10).map(lambda score: round(score, 9))
labels = st.lists(st.tuples(scores_of_models, st.booleans()), min_size=4, max_size=20)


@given(labels)
def test_no_other_threshold_is_better(given_labels: list[tuple[float, bool]]) -> None:
    scores, truths = zip(*given_labels, strict=True)
    learned = learned_threshold(scores, truths)
    if learned is None:
        return
    for other in scores:
        hits = [(score > other) is true for score, true in given_labels]
        shares = [
            [hit for hit, (_, true) in zip(hits, given_labels, strict=True) if true is kind]
            for kind in (True, False)
        ]
        assert sum(sum(share) / len(share) for share in shares) / 2 <= max(learned.right, 0.5) + 1e-9
