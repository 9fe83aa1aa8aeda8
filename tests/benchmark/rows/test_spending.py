from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from pytest_convoprobe.benchmark.rows.spending import Sum, as_numbers
from pytest_convoprobe.llm.ledger import Spending
from pytest_convoprobe.llm.port import Role
from pytest_convoprobe.transcript import Usage

costs = st.none() | st.floats(0, 10)
spendings = st.builds(
    Spending,
    st.integers(0, 9),
    st.integers(0, 9),
    st.integers(0, 9),
    st.builds(Usage, st.integers(0, 10**6), st.integers(0, 10**6)),
    costs,
)
parts = st.lists(st.dictionaries(st.sampled_from(list(Role)), spendings, min_size=1), min_size=1)


def added(parts: list[dict[Role, Spending]]) -> Sum:
    total = Sum()
    for part in parts:
        total.add(as_numbers({role.value: spent for role, spent in part.items()}))
    return total


@given(parts, st.randoms())
def test_the_order_makes_no_difference(parts: list[dict[Role, Spending]], chance: Random) -> None:
    shuffled = list(parts)
    chance.shuffle(shuffled)
    assert added(shuffled).by_role() == added(parts).by_role()


@given(parts)
def test_sums_of_sums_are_the_sum(parts: list[dict[Role, Spending]]) -> None:
    half = len(parts) // 2
    together = Sum()
    for some in (parts[:half], parts[half:]):
        together.add(as_numbers(added(some).by_role()))
    assert together.by_role() == added(parts).by_role()


def test_tokens_and_money_are_added_by_role() -> None:
    one = Spending(1, 2, 1, Usage(10, 5), 0.1)
    total = added([{Role.TARGET: one}, {Role.TARGET: one, Role.EVALUATOR: Spending(1, 1, cost=None)}])
    assert total.by_role() == {
        "evaluator": Spending(1, 1, cost=None),
        "target": Spending(2, 4, 2, Usage(20, 10), 0.2),
    }
