"""What rows of other systems may look like."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_convoprobe.benchmark.rows.messages import Said
from pytest_convoprobe.benchmark.rows.row_types import ConversationRow, ScenarioRow, ScoreRow
from pytest_convoprobe.errors import ResultsError

ID = "m01_s001_v01"


@pytest.mark.parametrize("name", ["content", "text", "message"])
def test_a_message_of_null_says_nothing(name: str) -> None:
    said = [{"role": "user", name: "Hi"}, {"role": "assistant", name: None}]
    row = ConversationRow.from_json({"id": ID, "conversation": said})
    assert row.messages == (Said("user", "Hi"), Said("assistant", ""))


def test_a_message_without_any_text_is_told() -> None:
    with pytest.raises(ResultsError, match="content: this key is required, and it is missing"):
        ConversationRow.from_json({"id": ID, "conversation": [{"role": "user"}]})


def test_an_attribute_of_null_is_none() -> None:
    row = ScenarioRow.from_json({"id": ID, "demographic": {"age": None, "mood": "calm"}})
    assert row.demographic == {"mood": "calm"}


@pytest.mark.parametrize("name", ["metric_id", "sample", "present", "passed", "justification", "key"])
def test_a_field_of_a_score_that_is_null_is_as_if_it_was_not_there(name: str) -> None:
    row: dict[str, Any] = {"id": ID}
    assert ScoreRow.from_json({**row, name: None}) == ScoreRow.from_json(row)
