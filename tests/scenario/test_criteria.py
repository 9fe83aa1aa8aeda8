"""Criteria with what their author knows about them."""

from __future__ import annotations

import pytest

from pytest_convoprobe.errors import ScenarioFileError
from pytest_convoprobe.judging.criteria import criteria_of
from pytest_convoprobe.judging.types import About, Shows
from pytest_convoprobe.scenario.loading import parse_scenarios

SCENARIO = """\
name: a
description: b
synthetic_user: {{persona: c, initial_query: d}}
evaluation:
  {evaluation}
"""
ASSERTION = (
    "{{correctness_criteria: [The agent answers], "
    "tool_usage: {{tool_call_criteria: [{{tool: t, assertions: [{}]}}]}}}}"
)


def parsed(evaluation: str) -> list[tuple[str, About | None, Shows | None, str | None]]:
    (loaded,) = parse_scenarios(SCENARIO.format(evaluation=evaluation))
    assert loaded.scenario is not None
    return [(one.text, one.about, one.shows, one.opposite) for one in criteria_of(loaded.scenario.evaluation)]


def test_texts_and_mappings_may_be_mixed() -> None:
    known = "{text: Never asks, about: agent, shows: absence, opposite: Asks}"
    found = parsed(f"{{correctness_criteria: [Answers, {known}], failure_criteria: [{{text: Guesses}}]}}")
    assert found == [
        ("Answers", None, None, None),
        ("Never asks", About.AGENT, Shows.ABSENCE, "Asks"),
        ("Guesses", None, None, None),
    ]


def test_a_sentence_about_a_tool_may_be_a_mapping_beside_conditions_for_code() -> None:
    sentences = "Called well, {text: Called late, shows: presence, opposite: Called early}, {times: 1}"
    assert parsed(ASSERTION.format(sentences))[1:] == [
        ("Called well", About.TOOL, None, None),
        ("Called late", About.TOOL, Shows.PRESENCE, "Called early"),
    ]


@pytest.mark.parametrize(
    ("evaluation", "problem"),
    [
        ("{correctness_criteria: [{text: A b, abuot: agent}]}", "unknown key; did you mean `about`?"),
        (
            "{correctness_criteria: [{text: A b, about: judge}]}",
            "must be one of `agent`, `user`, `tool`, `any`",
        ),
        ("{correctness_criteria: [{text: A b, opposite: a B}]}", "is the same as `text`"),
        ("{correctness_criteria: [{text: A b, opposite: A  b.}]}", "is the same as `text`"),
        ("{correctness_criteria: [{about: agent}]}", "this key is required"),
        ("{correctness_criteria: [{The agent says: hello}]}", "put it in quotes: 'The agent says: hello'"),
        (ASSERTION.format("{text: Called well, shwos: presence}"), "did you mean `shows`?"),
        (ASSERTION.format("{tims: 1}"), "did you mean `times`?"),
    ],
)
def test_mistakes_are_named(evaluation: str, problem: str) -> None:
    with pytest.raises(ScenarioFileError) as caught:
        parsed(evaluation)
    assert len(caught.value.problems) == 1
    assert problem in str(caught.value)
