from __future__ import annotations

from datetime import datetime, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convoprobe.errors import LLMRejected
from pytest_convoprobe.llm.provider_errors import failure_of, retry_after_seconds
from pytest_convoprobe.settings.model_settings import ModelSettings

NOW = datetime(2030, 1, 1, 12, 0, 0, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("3", 3.0),
        ("0.5", 0.5),
        ("-1", 0.0),
        ("Tue, 01 Jan 2030 12:00:30 GMT", 30.0),
        ("Tue, 01 Jan 2030 11:00:00 GMT", 0.0),
        ("", None),
        ("soon", None),
    ],
)
def test_retry_after_is_seconds_or_a_date(value: str, seconds: float | None) -> None:
    assert retry_after_seconds({"retry-after": value}, NOW) == seconds


def test_forbidden_sockets_are_final_and_say_what_to_allow() -> None:
    error = RuntimeError('A test tried to use socket.socket.connect() with host "10.0.0.1" (allowed: "").')
    found = failure_of(error, ModelSettings(model="openai/m"), "masked")
    assert type(found) is LLMRejected
    assert "pytest-socket's `--allow-hosts`" in str(found)


def test_no_header_is_no_wish() -> None:
    assert retry_after_seconds({}) is None


@given(st.text())
def test_no_header_breaks_it(value: str) -> None:
    seconds = retry_after_seconds({"retry-after": value}, NOW)
    assert seconds is None or seconds >= 0
