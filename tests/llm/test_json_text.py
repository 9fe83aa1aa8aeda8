from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convoprobe.llm.json_text import json_objects, without_thinking

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(codec="utf-8"), max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=5), VALUES, max_size=4)


@given(OBJECTS, st.sampled_from([None, 2]))
def test_an_object_is_found_wherever_it_stands(value: dict[str, object], indent: int | None) -> None:
    text = json.dumps(value, indent=indent)
    forms = [
        text,
        f"\n {text} \n",
        f"Here you are:\n```json\n{text}\n```\nAnything else?",
        f"My answer is {text} as asked.",
        f'<think>maybe {{"a": 1}}?</think>\n{text}',
    ]
    for form in forms:
        assert json_objects(form)[0] == value


@given(st.text())
def test_no_text_breaks_it(text: str) -> None:
    assert all(isinstance(found, dict) for found in json_objects(text))


@given(OBJECTS.filter(len), st.data())
def test_a_cut_object_is_not_found_in_parts(value: dict[str, object], data: st.DataObject) -> None:
    text = json.dumps({"outer": {"inner": value}})
    cut = data.draw(st.integers(0, len(text) - 1))
    assert json_objects(text[:cut]) == []


def test_the_last_object_is_the_answer() -> None:
    assert json_objects('For example {"a": 1}. So: {"a": 2}') == [{"a": 2}, {"a": 1}]


def test_a_brace_in_prose_does_not_hide_the_object() -> None:
    assert json_objects('The {name} was asked for. {"a": 1}') == [{"a": 1}]


def test_raw_line_breaks_in_strings_are_read() -> None:
    assert json_objects('{"a": "one\ntwo"}') == [{"a": "one\ntwo"}]


@pytest.mark.parametrize("text", ["", "[1, 2]", "no", '{"a": ', "{" * 5000, '{"a":' * 5000])
def test_what_is_no_object(text: str) -> None:
    assert json_objects(text) == []


def test_thinking_without_its_first_tag_is_cut() -> None:
    assert without_thinking("I wonder {}</think>\nanswer").strip() == "answer"
