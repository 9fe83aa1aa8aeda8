"""Texts of others that once took time by the square of their length: these tests would not end."""

from __future__ import annotations

import pytest

from pytest_convoprobe.conversation.guard import fault
from pytest_convoprobe.conversation.port import Status, UserMessage
from pytest_convoprobe.conversation.repetition import normalised
from pytest_convoprobe.excerpts import as_json
from pytest_convoprobe.judging.evidence import NotFound, Sources
from pytest_convoprobe.personal_patterns import BUILT_IN, own_pattern
from pytest_convoprobe.pseudonyms import _apart_from
from pytest_convoprobe.redaction import Redactor
from pytest_convoprobe.text import fold, harmless, visible

LENGTH = 300_000


@pytest.mark.parametrize("piece", ["\n", " \n", "\r\n", "\x1b", "é", "##a"])
def test_making_a_text_harmless(piece: str) -> None:
    assert harmless(piece * LENGTH)


def test_breaking_one_long_line() -> None:
    assert len(fold("word " * LENGTH, 80)) == LENGTH // 16
    assert visible("\x1b\u202e" * 3) == "\\x1b\\u202e" * 3


def test_a_message_that_nobody_would_write_is_a_fault() -> None:
    for text in ("<" * LENGTH, "\u201c" * LENGTH, "hello, " * LENGTH):
        assert (fault(UserMessage(text, Status.CONTINUE), ()) or "").startswith("it is far too long")
    assert normalised("<" * LENGTH) == "<" * LENGTH


def test_a_quote_without_end_is_no_evidence() -> None:
    text = "the quick brown fox " * LENGTH
    assert isinstance(Sources({1: (text,)}).locate(text, 1), NotFound)
    assert not isinstance(
        Sources({1: ("\ufdfa" * LENGTH + " all is well",)}).locate("all is well", 1), NotFound
    )


@pytest.mark.parametrize("piece", ["sk-", "api_key: ", 'token="', "-----BEGIN A ", "eyJaaaaaaaa.", "://a:"])
def test_looking_for_secrets(piece: str) -> None:
    assert Redactor(["secret-thing"], environ={}).text(piece * (LENGTH // len(piece)))


def test_many_places_with_personal_data() -> None:
    text = "bob@example.com " * 20_000
    taken = [(place, place + 3) for place in range(0, len(text), 16)]
    spans = list(own_pattern("mail", r"\S+@\S+").spans(text))
    assert len(spans) == 20_000
    assert not list(_apart_from(taken, spans))
    assert list(_apart_from([], spans)) == spans


@pytest.mark.parametrize(
    ("name", "near"), [("card", "4111 1111 1111 1112 "), ("iban", "DE89370400440532013001 ")]
)
def test_many_numbers_that_are_nearly_personal_data(name: str, near: str) -> None:
    assert list(BUILT_IN[name].spans(near * 10_000)) == []


def test_a_number_with_a_letter_that_only_looks_like_one_of_ascii() -> None:
    assert list(BUILT_IN["iban"].spans("DE89\u212a70400440532013000, DE89370400440532013000")) == [(24, 46)]


def test_a_number_that_python_refuses_to_write() -> None:
    assert as_json([10**5000]) == "(a list that can't be shown)"


def test_a_pattern_nested_too_deeply_is_refused_in_words() -> None:
    with pytest.raises(ValueError, match="this is not a regular expression: "):
        own_pattern("deep", "(" * 5000 + ")" * 5000)
