from __future__ import annotations

from pathlib import Path

import pytest

from pytest_convoprobe import run_scenario
from pytest_convoprobe.errors import SettingsError


def test_a_judge_without_labels_judges_nothing_in_code_either(tmp_path: Path) -> None:
    scenario = {
        "name": "Talk",
        "description": "d",
        "synthetic_user": {"persona": "p", "initial_query": "Hi"},
        "evaluation": {"correctness_criteria": ["It answers"]},
    }
    settings = {"judge.model": "openai/x", "judge.require": {"labels": 5, "kappa": 0.5}}
    with pytest.raises(SettingsError, match="the judge openai/x may not gate: 0 labels of at least 5"):
        run_scenario(scenario, target=pytest.fail, settings=settings, rootdir=tmp_path)
