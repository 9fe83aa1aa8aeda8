"""What is named as changed between two runs."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_convoprobe.results.run_changes import run_changes
from pytest_convoprobe.results.run_info import RunInfo

PYTHON = {"type": "python", "object": "agent.py:Agent"}
HTTP = {"type": "http", "url": "http://shop.test"}


def changes(section: str, before: dict[str, Any], after: dict[str, Any]) -> tuple[str, ...]:
    base, head = (RunInfo("1", 0.0, settings={section: values}) for values in (before, after))
    return run_changes(base, head)


@pytest.mark.parametrize(
    ("target", "new"),
    [(PYTHON, {"thread": "own"}), (HTTP, {"tool_calls_optional": False})],
)
def test_a_setting_that_an_earlier_release_did_not_have_is_no_change(
    target: dict[str, Any], new: dict[str, Any]
) -> None:
    assert changes("target", target, {**target, **new}) == ()
    assert changes("target", {**target, **new}, target) == ()


def test_a_target_that_was_added_has_no_past() -> None:
    base = RunInfo("1", 0.0, settings={"targets.a": PYTHON})
    assert run_changes(base, RunInfo("2", 0.0, settings={"targets.a": PYTHON, "targets.b": HTTP})) == ()


@pytest.mark.parametrize(
    ("section", "before", "after", "words"),
    [
        ("targets.a", PYTHON, {**PYTHON, "thread": "same"}, "targets.a.thread own → same"),
        ("target", PYTHON, {**PYTHON, "thread": "same"}, "target.thread own → same"),
        ("target", HTTP, {**HTTP, "usage": "usage"}, "target.usage not set → usage"),
        ("target", HTTP, {**HTTP, "text": "answer"}, "target.text text → answer"),
        ("judge", {}, {"temperature": 0.7}, "judge.temperature not set → 0.7"),
        ("judge", {"extra_params": {"seed": 1}}, {}, "judge.extra_params {'seed': 1} → not set"),
        ("judge", {"from_a_later_release": 1}, {"x": 1}, "judge.from_a_later_release 1 → not set"),
    ],
)
def test_another_value_is_named_with_both_sides(
    section: str, before: dict[str, Any], after: dict[str, Any], words: str
) -> None:
    assert words in changes(section, {"type": before.get("type"), **before}, after)


def test_how_a_model_is_called_is_no_change() -> None:
    assert changes("judge", {"max_attempts": 6}, {"max_attempts": 2}) == ()
