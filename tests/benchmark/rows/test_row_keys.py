"""The part of a key that comes from settings: a stored row is only done as long as it stays the same."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_convoprobe.benchmark.format.models import TargetEntry
from pytest_convoprobe.benchmark.rows.row_keys import digest, model_print, target_print
from pytest_convoprobe.settings.model_settings import ModelSettings

MODEL = {
    "type": "model",
    "model": "openai/a",
    "temperature": 0,
    "extra_params": {"seed": 1},
    "reasoning": True,
    "system_prompt": "",
    "tools": ("a:b",),
}
SERVICE = {
    "type": "http",
    "url": "http://h/c",
    "method": "PUT",
    "body": {"m": "{{ message }}"},
    "tool_calls": "t",
}


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({**MODEL, "api_key": "x", "timeout": 3}, "1080e0a5c8a0bc0163845bab78f1420c"),
        ({"type": "model"}, "644133e002d91fbc45250fb18972f93f"),
        ({"type": "python", "object": "a:b"}, "1841b11228b75a8f6f17b727b3e03620"),
        ({"type": "http", "url": "http://h/c"}, "4a3f94de998568b2d4b405add2e11a9c"),
        (
            {**SERVICE, "headers": {"A": "b"}, "usage": "u", "timeout": 4},
            "63263d82c5146a2395169d85bd0e8549",
        ),
        (
            {**SERVICE, "start": {"url": "/new", "keep": {"a": "b"}, "text": "greeting"}},
            "ea04e2879b5cda7a5262700afd1c6864",
        ),
    ],
)
def test_a_targets_part_is_what_it_was_in_earlier_versions(settings: dict[str, Any], expected: str) -> None:
    entry = TargetEntry.model_validate({"id": "t", "settings": settings})
    assert digest(target_print(entry)) == expected


def test_how_a_session_and_a_stream_are_read_is_a_part_but_for_headers() -> None:
    def part(**more: Any) -> str:
        settings = {**SERVICE, **more}
        return digest(target_print(TargetEntry.model_validate({"id": "t", "settings": settings})))

    start = {"url": "/new", "headers": {"A": "b"}}
    known = [part(), part(stream="sse"), part(history_in_answer=True), part(start=start)]
    assert len(set(known)) == len(known)
    assert part(start={**start, "headers": {"A": "other"}}) == part(start=start)


def test_a_models_part_is_what_it_was_in_earlier_versions() -> None:
    settings = ModelSettings(model="m", temperature=0.5, max_tokens=4, extra_instructions="x", context_size=3)
    assert digest(model_print(settings)) == "a553d21341b4dfe0bcc127d67aed9325"
