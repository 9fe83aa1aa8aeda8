"""`faults:` as people write it: what is accepted, and what is said about mistakes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from pytest_convoprobe.errors import ScenarioFileError, SettingsError
from pytest_convoprobe.faults.rules import FaultRule
from pytest_convoprobe.scenario.loading import parse_scenarios
from pytest_convoprobe.scenario.schema import scenario_schema
from pytest_convoprobe.settings.loading import load_settings

SCENARIO = """\
name: A
description: B
synthetic_user: {persona: C, initial_query: D}
evaluation: {correctness_criteria: [The agent helps]}
faults:
"""


def faults_of(text: str) -> tuple[FaultRule, ...]:
    (loaded,) = parse_scenarios(f"{SCENARIO}  - {text}")
    assert loaded.scenario is not None
    return loaded.scenario.faults


def follows_schema(text: str) -> bool:
    try:
        jsonschema.validate(yaml.safe_load(f"{SCENARIO}  - {text}"), scenario_schema())
    except jsonschema.ValidationError:
        return False
    return True


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{tool: find, call: 1, kind: error}", "error: internal error"),
        ("{tool: find, call: [1, 3], kind: timeout, message: no answer}", "timeout: no answer"),
        ("{tool: 'find_*', chance: 0.5, seed: 3, kind: truncated, length: 10}", "truncated result"),
        ("{tool: find, kind: delay, seconds: 2}", "delayed by 2 s"),
        ("{tool: find, kind: result, result: null}", "fixed result"),
        (
            "{model: 'gpt-4o*', kind: error}",
            "error 500: The server had an error while processing your request",
        ),
        ("{model: 'a/b:1', kind: rate_limit, seconds: 3, message: slow down}", "rate limit: slow down"),
        ("{model: gpt, kind: timeout, seconds: 2, call: 1}", "no answer"),
        ("{model: gpt, kind: truncated, chance: 0.5}", "answer cut off"),
        ("{model: gpt, kind: empty}", "empty answer"),
        ("{model: gpt, tool: null, kind: corrupted}", "corrupted answer"),
        ("{model: gpt, kind: delay, seconds: 2}", "delayed by 2 s"),
    ],
)
def test_a_fault_has_a_tool_a_kind_and_calls(text: str, words: str) -> None:
    (rule,) = faults_of(text)
    assert rule.words == words
    assert follows_schema(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{tool: find, kind: tiemout}", "`timeout`"),
        ("{tool: find, kind: error, cal: 1}", "did you mean `call`?"),
        ("{tool: find, kind: error, call: 0}", "must be the number of a call, from 1"),
        ("{tool: find, kind: error, call: []}", "must be the number of a call, from 1"),
        ("{tool: find, kind: error, call: 1, chance: 0.5}", "give `call` or `chance`, not both"),
        ("{tool: find, kind: error, chance: 2}", "chance"),
        ("{tool: find, kind: delay}", "a delay needs `seconds`"),
        ("{tool: find, kind: result}", "needs a `result`"),
        ("{tool: 'a, b', kind: error}", "this matches no tool"),
        ("{model: 'a, b', kind: error}", "this matches no model"),
        ("{kind: error}", "needs `tool` or `model`"),
        ("{tool: find, model: gpt, kind: error}", "give `tool` or `model`, not both"),
        ("{model: gpt, kind: result, result: 1}", "`result` is for tools"),
        ("{model: gpt, kind: delay}", "a delay needs `seconds`"),
        ("{modle: gpt, kind: error}", "did you mean `model`?"),
    ],
)
def test_a_mistake_is_named_with_its_line(text: str, said: str) -> None:
    with pytest.raises(ScenarioFileError) as raised:
        faults_of(text)
    assert said in str(raised.value)
    assert raised.value.problems[0].line == 6
    assert not follows_schema(text) or "a, b" in text


def test_a_key_of_another_kind_is_a_mistake() -> None:
    with pytest.raises(ScenarioFileError, match="a fault of the kind `error` has no `seconds`"):
        faults_of("{tool: find, kind: error, seconds: 3}")
    with pytest.raises(ScenarioFileError, match="a fault of the kind `rate_limit` has no `seconds`"):
        faults_of("{tool: find, kind: rate_limit, seconds: 3}")
    with pytest.raises(ScenarioFileError, match="a fault of the kind `timeout` has no `message`"):
        faults_of("{model: gpt, kind: timeout, message: no answer}")
    with pytest.raises(
        ScenarioFileError, match="a fault of a model has no `length`; it belongs to faults of"
    ):
        faults_of("{model: gpt, kind: truncated, length: 3}")


def test_a_target_has_faults_too(tmp_path: Path) -> None:
    def load(fault: dict[str, Any]) -> Any:
        settings = {"target": {"type": "http", "url": "http://localhost/", "faults": [fault]}}
        (tmp_path / "convoprobe.yaml").write_text(yaml.safe_dump(settings))
        return load_settings(tmp_path, environ={}).settings.target

    assert load({"tool": "find", "kind": "empty"}).faults == (FaultRule(tool="find", kind="empty"),)
    with pytest.raises(SettingsError, match=r"target\.faults\[0\]\.knd: unknown key; did you mean `kind`"):
        load({"tool": "find", "knd": "empty"})
