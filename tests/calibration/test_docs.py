"""The reference of labels files is complete, and its example can be read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pydantic import BaseModel

from pytest_convoprobe.calibration.labels_file import parse_labels
from pytest_convoprobe.calibration.labels_format import (
    LabelledCall,
    LabelledConversation,
    LabelledCriterion,
    LabelledTurn,
    StoredConversation,
)
from pytest_convoprobe.settings.judge_settings import JudgeRequirement

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "labels.md").read_text(encoding="utf-8")
MODELS: tuple[type[BaseModel], ...] = (
    LabelledConversation,
    LabelledTurn,
    LabelledCall,
    LabelledCriterion,
    StoredConversation,
    JudgeRequirement,
)


@pytest.mark.parametrize("model", MODELS)
def test_every_key_is_documented(model: type[BaseModel]) -> None:
    assert [name for name in model.model_fields if f"`{name}`" not in PAGE] == []


def test_the_example_can_be_read() -> None:
    example = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)[0]
    assert [one.id for one in parse_labels(example).conversations] == [
        "refund-promised-not-made",
        "tracking-kept-back",
    ]
