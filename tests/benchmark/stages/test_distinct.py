"""How alike two texts are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convoprobe.benchmark.stages.distinct import (
    content_words,
    overlap,
    same_words,
    shingles,
    words,
)

TEXTS = st.text(max_size=60)


@given(TEXTS, TEXTS)
def test_overlap_is_symmetric_and_a_share(one: str, other: str) -> None:
    found = overlap(shingles(one), shingles(other))
    assert found == overlap(shingles(other), shingles(one))
    assert 0 <= found <= 1


@given(TEXTS.filter(words))
def test_a_text_overlaps_itself_wholly(text: str) -> None:
    assert overlap(shingles(text), shingles(text)) == 1
    assert overlap(content_words(text), content_words(text)) == 1


@given(st.lists(st.sampled_from(["a", "b", "c"]), max_size=9), st.integers(1, 4))
def test_shingles_are_the_runs_of_words(parts: list[str], size: int) -> None:
    runs = {tuple(parts[at : at + size]) for at in range(max(0, len(parts) - size) + 1)}
    assert shingles(" ".join(parts), size) == {run for run in runs if run}


@pytest.mark.parametrize(
    ("one", "other"),
    [("Don't do it!", "dont do it"), ("Say  yes.", "SAY YES"), ("it\u2019s fine", "it's fine")],
)
def test_capitals_and_punctuation_make_no_difference(one: str, other: str) -> None:
    assert same_words(one, other)


def test_another_order_is_another_text() -> None:
    assert not same_words("dog bites man", "man bites dog")


def test_scripts_without_blanks_are_taken_character_by_character() -> None:
    assert words("あなたは誰") == ["あ", "な", "た", "は", "誰"]
    assert 0 < overlap(shingles("あなたは誰ですか"), shingles("あなたは何ですか")) < 1


def test_words_that_all_sentences_have_say_nothing() -> None:
    assert content_words("The assistant praises the user") == {"praises"}


def test_a_text_of_such_words_alone_keeps_them() -> None:
    assert content_words("what is it") == {"what", "is", "it"}
