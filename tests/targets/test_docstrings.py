from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convoprobe.targets.docstrings import Documented, read_docstring

GOOGLE = """Cancel an order.

    Only orders that were not sent can be cancelled.

    Args:
        number (int): The number of the order,
            as on the invoice.
        reason: Why: the customer's words.
        **options: More.

    Returns:
        What is left: nothing.
    """

NUMPY = """
    Cancel an order.

    Only orders that were not sent can be cancelled.

    Parameters
    ----------
    number : int, optional
        The number of the order,
        as on the invoice.
    reason
        Why: the customer's words.
    **options
        More.

    Returns
    -------
    str
        What is left.
    """

SPHINX = """Cancel an order.

    Only orders that were not sent can be cancelled.

    :param int number: The number of the order,
        as on the invoice.
    :param reason: Why: the customer's words.
    :param options: More.
    :returns: What is left.
    :raises KeyError: Never.
    """


@pytest.mark.parametrize("text", [GOOGLE, NUMPY, SPHINX], ids=["google", "numpy", "sphinx"])
def test_the_three_styles_say_the_same(text: str) -> None:
    assert read_docstring(text) == Documented(
        "Cancel an order.\n\nOnly orders that were not sent can be cancelled.",
        {
            "number": "The number of the order, as on the invoice.",
            "reason": "Why: the customer's words.",
            "options": "More.",
        },
    )


@pytest.mark.parametrize("text", [None, "", "   \n"])
def test_without_a_docstring_nothing_is_said(text: str | None) -> None:
    assert read_docstring(text) == Documented()


def test_a_colon_in_the_text_begins_no_section() -> None:
    text = "Look up: the weather.\n\nCities: Paris, Rome."
    assert read_docstring(text) == Documented(text)


@given(st.text())
def test_any_text_can_be_read(text: str) -> None:
    assert isinstance(read_docstring(text), Documented)
