"""Which item goes out when, and what becomes of those that are lost."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from pytest_convoprobe.benchmark.engines.work_queue import MOST_LOSSES, Batch, WorkQueue
from pytest_convoprobe.benchmark.rows.work import RowResult

from ..cluster_doubles import items

ITEMS = items(12)


def numbers(batch: Batch | None) -> list[int]:
    assert batch is not None
    return [int(item.payload["number"]) for item in batch.items]


def taken(queue: WorkQueue, most: int = 4, *, idle: bool = True) -> Batch:
    batch = queue.take(most, idle=idle)
    assert batch is not None
    return batch


def deliver(queue: WorkQueue, batch: Batch) -> list[bool]:
    return [queue.delivered(RowResult(item.unit, {})) for item in batch.items]


def test_items_go_out_in_order_and_only_as_they_are_asked_for() -> None:
    source = iter(ITEMS)
    queue = WorkQueue(source)
    assert numbers(queue.take(5, idle=True)) == [0, 1, 2, 3, 4]
    assert next(source).payload["number"] == 5


def test_it_is_finished_when_there_is_an_outcome_of_each() -> None:
    queue = WorkQueue(iter(ITEMS[:3]))
    batch = taken(queue)
    assert not queue.finished
    deliver(queue, batch)
    assert queue.finished


def test_what_was_lost_goes_out_again_before_anything_else() -> None:
    queue = WorkQueue(iter(ITEMS))
    lost = taken(queue)
    assert queue.lost(lost, "killed") == []
    assert numbers(queue.take(6, idle=False)) == [0, 1, 2, 3, 4, 5]


def test_what_was_delivered_of_a_lost_batch_does_not_go_out_again() -> None:
    queue = WorkQueue(iter(ITEMS))
    lost = taken(queue)
    queue.delivered(RowResult(ITEMS[1].unit, {}))
    queue.lost(lost, "killed")
    assert numbers(queue.take(4, idle=False)) == [0, 2, 3, 4]


def test_of_two_outcomes_of_a_unit_the_first_counts() -> None:
    queue = WorkQueue(iter(ITEMS[:1]))
    batch = taken(queue)
    assert deliver(queue, batch) + deliver(queue, batch) == [True, False]


def test_what_was_lost_twice_comes_last_and_alone() -> None:
    queue = WorkQueue(iter(ITEMS[:3]))
    for _ in range(2):
        queue.lost(taken(queue, 2), "killed")
    assert numbers(queue.take(4, idle=True)) == [2]
    assert queue.take(4, idle=False) is None
    alone = taken(queue)
    assert (numbers(alone), alone.alone) == ([0], True)


def test_what_was_lost_three_times_is_given_up_with_the_reason() -> None:
    queue = WorkQueue(iter(ITEMS[:1]))
    given_up: list[RowResult] = []
    while not queue.finished:
        given_up += queue.lost(taken(queue), "out of memory")
    assert [(one.unit, one.row) for one in given_up] == [(ITEMS[0].unit, None)]
    assert given_up[0].failure == (
        "3 worker processes were lost while they did this; the last: out of memory"
    )


@given(st.sets(st.integers(0, 11)), st.integers(1, 5), st.randoms(use_true_random=False))
def test_only_what_kills_is_given_up(deadly: set[int], most: int, chance) -> None:  # type: ignore[no-untyped-def]
    """One process: it dies with all it has when a deadly item is done; else it delivers some of them."""
    queue = WorkQueue(iter(ITEMS))
    outcomes: Counter[int] = Counter()
    given_up: set[int] = set()
    out: list[Batch] = []
    while not queue.finished:
        while batch := queue.take(most, idle=not out):
            out.append(batch)
            if batch.alone or chance.random() < 0.5:
                break
        batch = out.pop(chance.randrange(len(out)))
        if deadly.intersection(numbers(batch)):
            for lost in (batch, *out):
                for outcome in queue.lost(lost, "killed"):
                    given_up.add(next(n for n, item in enumerate(ITEMS) if item.unit == outcome.unit))
            out = []
        else:
            deliver(queue, batch)
            outcomes.update(numbers(batch))
    assert given_up == deadly
    assert outcomes == Counter(set(range(12)) - deadly)
    assert MOST_LOSSES == 3
