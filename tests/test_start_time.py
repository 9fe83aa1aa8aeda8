"""When a conversation began, from what people write and to what prompts say."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone

import pytest

from pytest_convoprobe.start_time import in_words, present, read_time, template_values

OSLO = timezone(timedelta(hours=1))


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("2026-11-28T14:30:00+01:00", "Saturday, 28 November 2026, 14:30 (UTC+01:00)"),
        ("2026-11-29 09:05Z", "Sunday, 29 November 2026, 09:05 (UTC)"),
        ("2024-02-29T23:59:59.123-03:30", "Thursday, 29 February 2024, 23:59 (UTC-03:30)"),
        (datetime(2026, 1, 1, 0, 0, tzinfo=OSLO), "Thursday, 1 January 2026, 00:00 (UTC+01:00)"),
    ],
)
def test_a_time_in_words(value: object, words: str) -> None:
    assert in_words(read_time(value)) == words


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("2026-11-28T14:30:00", "the zone is missing"),
        ("2026-11-28", "the time is missing"),
        (date(2026, 11, 28), "the time is missing"),
        ("tomorrow", "must be a date and a time"),
        (20261128, "must be a date and a time"),
        (True, "must be a date and a time"),
        ("2026-02-30T10:00:00Z", "must be a date and a time"),
    ],
)
def test_what_is_not_a_time_with_its_zone(value: object, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        read_time(value)


def test_the_present_has_a_zone_and_can_be_read_again() -> None:
    now = present()
    assert now.tzinfo is not None
    assert read_time(now.isoformat()) == now


def test_what_templates_may_name() -> None:
    values = template_values(datetime(2026, 11, 28, 14, 30, tzinfo=OSLO))
    assert values == {"now": "2026-11-28T14:30:00+01:00", "today": "2026-11-28"}
