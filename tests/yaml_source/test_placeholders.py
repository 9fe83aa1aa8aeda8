"""Placeholders that nobody would fill in are refused; what is marked as word for word is read as it is."""

from __future__ import annotations

import pytest

from pytest_convoprobe.yaml_source.placeholders import complaint, fill, word_for_word

NAMES = ("now", "today")


@pytest.mark.parametrize(
    "text",
    [
        "Today is {{ today }}",
        "{{name}}",
        "{{- user.name | upper -}}",
        "{% if x %}a{% endif %}",
        "on ${DAY}",
        "${A:-b}",
        "Today is {today}",
        "{ current_date }",
    ],
)
def test_what_nobody_fills_in(text: str) -> None:
    assert complaint(text, variables=True)
    marked = word_for_word(text)
    assert complaint(marked, variables=True) is None
    assert fill(marked, {"today": "x", "name": "y"}) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "$5 {a}",
        '{"a": {"b": 1}}',
        "{{}}",
        "a{2}",
        "100 % {sure}",
        "/days/{date}",
        "{{today}",
        "function() { return {}; }",
        "${1}",
    ],
)
def test_what_is_no_placeholder(text: str) -> None:
    assert complaint(text, variables=True) is None
    assert word_for_word(text) == text
    assert fill(text, {}) == text


def test_the_words() -> None:
    assert complaint("Now: {{ time }}") == (
        "`{{ time }}` would reach the model as it is: nothing is filled in here. Write the value itself, or "
        "`{% raw %}{{ time }}{% endraw %}` if these characters are meant"
    )
    assert "only `{{ now }}` and `{{ today }}` get a value here; did you mean `today`?" in str(
        complaint("{{ todya }}", NAMES)
    )


def test_known_names_are_filled_in() -> None:
    text = "{{ today }} {{today}} {% raw %}{{ today }}{% endraw %}"
    assert complaint(text, NAMES) is None
    assert fill(text, {"today": "2026-11-28"}) == "2026-11-28 2026-11-28 {{ today }}"
