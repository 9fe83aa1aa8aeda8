from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_convoprobe.cli.exits import UsageProblem
from pytest_convoprobe.cli.keyword_expression import selects
from pytest_convoprobe.results.index import row_of
from pytest_convoprobe.results.records import TrialRecord
from pytest_convoprobe.results.store import IndexRow

from .stored import passed


def row(name: str, *tags: str) -> IndexRow:
    return replace(row_of(TrialRecord(passed(name)), run="r", offset=0, length=0), tags=tags)


@pytest.mark.parametrize(
    ("expression", "selected"),
    [
        ("refund", True),
        ("REFUND", True),
        ("refund late", True),
        ("smoke", True),
        ("order", False),
        ("not refund", False),
        ("refund and slow", False),
        ("refund or slow", True),
        ("refund and not slow", True),
        ("not (refund and smoke)", False),
        ("slow or refund and smoke", True),
        ("not not refund", True),
        ("", True),
    ],
)
def test_what_is_selected(expression: str, selected: bool) -> None:
    assert selects(expression)(row("A refund late", "smoke")) is selected


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("refund and", "a name is missing at the end"),
        ("and refund", "a name is missing before 'and'"),
        ("(refund", "a bracket is not closed"),
        ("refund)", "')' is one too many"),
        ("not", "a name is missing at the end"),
    ],
)
def test_what_makes_no_sense(expression: str, why: str) -> None:
    with pytest.raises(UsageProblem, match="with and, or, not and parentheses") as caught:
        selects(expression)
    assert why in caught.value.message
