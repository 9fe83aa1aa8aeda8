from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convoprobe.suggest import did_you_mean, suggest

KEYS = ("initial_query", "max_turns", "persona")


@pytest.mark.parametrize(
    "word", ["inital_query", "initialQuery", "initial-query", "Initial Query", "INITIAL_QUERY"]
)
def test_a_misspelt_key(word: str) -> None:
    assert suggest(word, KEYS) == "initial_query"


@pytest.mark.parametrize("word", ["", "colour", "x", "the agent says"])
def test_a_word_that_is_no_misspelling(word: str) -> None:
    assert suggest(word, KEYS) is None


@given(st.text(max_size=30))
def test_a_suggestion_is_a_known_key(word: str) -> None:
    assert suggest(word, KEYS) in (None, *KEYS)


OTHERS = {"user": "synthetic_user", "base_url": "api_base"}


@pytest.mark.parametrize(
    ("word", "known", "near"),
    [
        ("user", ("synthetic_user", "judge"), "synthetic_user"),
        ("base_ulr", ("api_base", "api_key"), "api_base"),
        ("user", ("judge",), None),
        ("judges", ("synthetic_user", "judge"), "judge"),
    ],
)
def test_the_names_of_other_systems(word: str, known: tuple[str, ...], near: str | None) -> None:
    assert suggest(word, known, OTHERS) == near


def test_the_words_behind_a_message() -> None:
    assert did_you_mean("simulat", ("simulate", "evaluate")) == "; did you mean `simulate`?"
    assert did_you_mean("x", ("simulate", "evaluate")) == ""
