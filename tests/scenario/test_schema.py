from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from pytest_convoprobe.scenario.schema import scenario_schema
from pytest_convoprobe.yaml_source import parse

from .examples import INVALID, VALID


@pytest.fixture(scope="module")
def validator() -> Draft202012Validator:
    return Draft202012Validator(scenario_schema())


def _value(text: str) -> Any:
    (document,) = parse(text).documents
    return document.value


def test_it_is_a_schema_of_draft_2020_12() -> None:
    schema = scenario_schema()
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize("name", VALID)
def test_it_accepts_what_loads(validator: Draft202012Validator, name: str) -> None:
    assert [error.message for error in validator.iter_errors(_value(VALID[name]))] == []


@pytest.mark.parametrize("name", [name for name, wrong in INVALID.items() if wrong.schema])
def test_it_refuses_what_does_not_load(validator: Draft202012Validator, name: str) -> None:
    assert not validator.is_valid(_value(INVALID[name].text))


@pytest.mark.parametrize("name", [name for name, wrong in INVALID.items() if not wrong.schema])
def test_what_a_schema_cannot_say_is_left_to_loading(validator: Draft202012Validator, name: str) -> None:
    assert validator.is_valid(_value(INVALID[name].text))


@pytest.mark.parametrize(
    ("value", "valid"),
    [
        ({"name": "n", "extends": "_base.yaml"}, True),
        ({"name": "n", "extends": ["_base.yaml", "_more.yaml#a.b"]}, True),
        ({"name": "n", "extends": 3}, False),
        ({"name": "n"}, False),
        ({"extends": "_b.yaml", "synthetic_user": "_user.yaml#hurried"}, True),
        ({"extends": "_b.yaml", "synthetic_user": "hurried"}, False),
        ({"extends": "_b.yaml", "synthetic_user": {"max_turns": "${n}"}}, True),
        ({"extends": "_b.yaml", "synthetic_user": {"max_turns": "n"}}, False),
        ({"extends": "_b.yaml", "parameters": [{"a": 1}]}, True),
        ({"extends": "_b.yaml", "parameters": {"a": [1]}}, True),
        ({"extends": "_b.yaml", "parameters": {"a": 1}}, False),
        ({"extends": "_b.yaml", "parameters": ["a"]}, False),
    ],
)
def test_values_may_come_from_elsewhere(validator: Draft202012Validator, value: Any, valid: bool) -> None:
    assert validator.is_valid(value) is valid


def _fields(schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for owner, part in {"Scenario": schema, **schema["$defs"]}.items():
        for name, field in part.get("properties", {}).items():
            yield f"{owner}.{name}", field


def test_every_field_says_what_it_is() -> None:
    silent = [name for name, field in _fields(scenario_schema()) if not field.get("description")]
    assert silent == []


def test_editors_get_examples() -> None:
    fields = dict(_fields(scenario_schema()))
    assert fields["SyntheticUser.script"]["examples"][0][0] == "And the blue one?"
