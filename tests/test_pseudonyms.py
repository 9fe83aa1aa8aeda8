from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_convoprobe.pseudonyms import WITHHELD, Masking, Pseudonyms
from pytest_convoprobe.redaction import Redactor
from pytest_convoprobe.settings.mask_rules import patterns_of
from pytest_convoprobe.settings.models import ResultsSettings
from pytest_convoprobe.transcript import Reply, ToolCall, Turn

ALL = ("email", "card", "iban", "phone")


def masking(*rules: Any, own: Any = None) -> Masking:
    return Masking(patterns_of(ResultsSettings(mask=rules).mask), own)


def pseudonyms(*rules: Any, own: Any = None) -> Pseudonyms:
    return Pseudonyms(masking(*(rules or ALL), own=own))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Write to bob@example.com, or Bob@Example.COM.", "Write to [email 1], or [email 1]."),
        ("mailto:zoë.b+x@sub.example.co.uk?a user%40example.com", "mailto:[email 1]?a [email 2]"),
        ("4111 1111 1111 1111, 12/28 and 4111-1111-1111-1111", "[card 1], 12/28 and [card 1]"),
        ("378282246310005 5555555555554444", "[card 1] [card 2]"),
        ("DE89 3704 0044 0532 0130 00 please, de89370400440532013000", "[iban 1] please, [iban 1]"),
        ("GB82WEST12345698765432.", "[iban 1]."),
        ("+49 (0)30 123456, 0049 30 123456 or 030 123456", "[phone 1], [phone 1] or [phone 2]"),
        ("(555) 123-4567, 555-123-4567, +1 555 123 4567", "[phone 1], [phone 1], [phone 2]"),
    ],
)
def test_what_is_personal_has_the_same_placeholder_again(text: str, expected: str) -> None:
    assert pseudonyms().mask(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "4111 1111 1111 1112 is not a card, nor is 0000000000000000",
        "DE89 3704 0044 0532 0130 02 has wrong check digits, XX89370400440532013000 no country",
        "on 2026-11-28, 01-02-2026 or 01.02.2026 at 10:30, for 1,234,567.00",
        "order 12345678 at 1732800000000, version 1.2.3-4, a@b, @someone, [email 3]",
    ],
)
def test_what_only_looks_like_it_stays(text: str) -> None:
    assert pseudonyms().mask(text) == text


def test_json_stays_json() -> None:
    text = json.dumps({"a": "line\nbob@example.com\tzoe@example.com", "b": "<é\u2028bob@example.com>"})
    masked = json.loads(pseudonyms().mask(text))
    assert masked == {"a": "line\n[email 1]\t[email 2]", "b": "<é\u2028[email 1]>"}


def test_masking_twice_changes_nothing_more() -> None:
    one = pseudonyms(r"\d", {"word": "email"}, "email")
    masked = one.mask("bob@example.com 7 email [masked 5]")
    assert masked == "[email 1] [masked 6] [word 1] [masked 5]"
    assert one.mask(masked) == masked


def test_patterns_of_the_project() -> None:
    masked = pseudonyms({"order": r"ORD-\d+"}, r"secret \w+").mask("ORD-12 ORD-13 ORD-12: secret agent")
    assert masked == "[order 1] [order 2] [order 1]: [masked 1]"


def test_numbers_in_a_text_that_was_masked_before_are_taken() -> None:
    one = pseudonyms("email")
    assert one.mask("[email 2] and bob@example.com") == "[email 2] and [email 3]"
    assert one.restore("[email 3], [email 2]") == "bob@example.com, [email 2]"


def test_a_record_is_masked_and_restored_in_every_depth() -> None:
    call = ToolCall("pay", {"card": 4111111111111111, "to": ["bob@example.com"]}, {"bob@example.com": 200})
    turn = Turn(1, "I am bob@example.com", Reply("Hello bob@example.com", (call,)))
    redactor = masking(*ALL).redactor(Redactor(environ={}))
    masked = redactor.record(turn)
    assert masked.reply.tool_calls[0] == ToolCall(
        "pay", {"card": "[card 1]", "to": ["[email 1]"]}, {"[email 1]": 200}
    )
    assert redactor.personal(turn) == masked
    assert redactor.restored(masked).user == turn.user


def test_a_text_of_no_conversation_has_placeholders_without_numbers() -> None:
    assert masking("email").anonymous("a@b.example c@d.example [email 3]") == "[email] [email] [email 3]"


def test_a_pattern_without_an_end_withholds_every_text_from_then_on() -> None:
    one = pseudonyms({"slow": "(a|aa)+$"})
    assert one.mask("a" * 60 + "!") == WITHHELD
    assert one.mask("harmless") == WITHHELD
    assert "results.mask: the pattern /(a|aa)+$/ was looked for in a text of 61 char" in str(one.problem)


def test_the_projects_own_masking_comes_first_and_only_once() -> None:
    one = pseudonyms("email", own=lambda text: f"<{text.replace('Bob', '[name]')}>")
    masked = one.mask("Bob bob@example.com")
    assert masked == "<[name] [email 1]>"
    assert one.mask(masked) == masked


@pytest.mark.parametrize(
    ("own", "why"), [(lambda text: 1 / 0, "raised ZeroDivisionError"), (len, "returned int")]
)
def test_a_masking_that_fails_withholds_the_text(own: Any, why: str) -> None:
    one = pseudonyms(own=own)
    assert one.mask("Bob") == WITHHELD
    assert why in str(one.problem)
