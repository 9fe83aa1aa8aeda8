from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convoprobe.errors import Blame, Problem, ScenarioFileError
from pytest_convoprobe.scenario.loading import LoadedScenario, load_scenarios, node_name, parse_scenarios

from .examples import (
    FULL,
    INVALID,
    MINIMAL,
    SCRIPTED,
    SKIPPED,
    SKIPPED_WITHOUT_EVALUATION,
    VALID,
    Wrong,
    changed,
)


def problems_of(text: str | bytes) -> list[str]:
    with pytest.raises(ScenarioFileError) as caught:
        parse_scenarios(text, "f.yaml")
    return [str(problem) for problem in caught.value.problems]


@pytest.mark.parametrize("name", VALID)
def test_a_good_file_loads(name: str) -> None:
    (loaded,) = parse_scenarios(VALID[name])
    assert loaded.name


@pytest.mark.parametrize("wrong", INVALID.values(), ids=INVALID)
def test_a_mistake_is_told_with_its_place(wrong: Wrong) -> None:
    told = problems_of(wrong.text)
    assert any(line.startswith(f"f.yaml:{wrong.place}: ") and wrong.words in line for line in told), told


@pytest.mark.parametrize("wrong", INVALID.values(), ids=INVALID)
def test_the_offending_line_is_shown(wrong: Wrong) -> None:
    lines = wrong.text.splitlines()
    for problem in problems_of(wrong.text):
        head, shown, caret = problem.splitlines()
        line, column = head.split(":")[1:3]
        if int(column) <= 60:
            assert shown[4:] == lines[int(line) - 1][:100]
            assert caret.index("^") == 4 + int(column) - 1


def test_everything_of_the_full_example_arrives() -> None:
    (loaded,) = parse_scenarios(FULL, "trip.yaml")
    scenario = loaded.scenario
    assert scenario is not None
    assert scenario.description == "The agent finds out what is missing\nand plans a trip."
    assert scenario.synthetic_user.clarification_behavior.known_facts == (
        "We live in Lyon",
        "We have one week",
    )
    assert scenario.synthetic_user.clarification_behavior.traits.patience == "low"
    assert scenario.evaluation.tool_usage.tool_call_criteria[0].assertions == (
        "Called with 'Lyon' or its airport",
    )
    assert scenario.evaluation.efficiency.max_llm_tokens == 8000
    assert scenario.config is not None
    assert scenario.config.synthetic_user is not None
    assert scenario.config.synthetic_user.temperature == 0.2
    assert (loaded.tags, loaded.skip, loaded.file, loaded.line) == (
        ("travel", "clarification"),
        None,
        "trip.yaml",
        1,
    )


def test_what_is_not_given_has_the_formats_defaults() -> None:
    (loaded,) = parse_scenarios(MINIMAL)
    assert loaded.scenario is not None
    user, evaluation = loaded.scenario.synthetic_user, loaded.scenario.evaluation
    traits = user.clarification_behavior.traits
    assert (user.max_turns, user.script, user.landmarks) == (10, (), ())
    assert (traits.patience, traits.verbosity, traits.expertise) == ("medium", "concise", "novice")
    assert evaluation.failure_criteria == evaluation.tool_usage.required_tools == ()
    assert evaluation.efficiency.max_tool_calls is None
    assert loaded.scenario.config is None


def test_conditions_on_arguments() -> None:
    (loaded,) = parse_scenarios(SCRIPTED)
    assert loaded.scenario is not None
    args = loaded.scenario.evaluation.tool_usage.tool_call_criteria[0].assertions[2].args  # type: ignore[union-attr]
    assert args["order_id"].equals == "A-1001"
    assert args["gift"].model_fields_set == {"equals"}
    assert args["colours"].equals == ["red", "blue"]
    assert args["note"].model_fields_set == {"matches", "contains", "not_contains", "not_matches"}
    address = args["address"].includes
    assert isinstance(address, dict)
    assert address["city"].equals == "Oslo"
    assert args["range"].includes.keys() == {"min", "max"}  # type: ignore[union-attr]


def test_a_date_stays_text() -> None:
    (loaded,) = parse_scenarios(SCRIPTED)
    assert loaded.scenario is not None
    assert loaded.scenario.metadata["nested"] == {"since": "2024-01-31"}


def test_a_reason_to_skip_is_kept() -> None:
    (loaded,) = parse_scenarios(SKIPPED)
    assert loaded.skip == "Waits for the new search"
    assert loaded.scenario is not None


def test_a_skipped_scenario_may_be_unfinished() -> None:
    (loaded,) = parse_scenarios(SKIPPED_WITHOUT_EVALUATION)
    assert loaded.scenario is None
    assert loaded.name == "Greeting"
    assert loaded.skip == "the scenario file says `skip: true`"


def test_a_skipped_scenario_without_a_name_is_called_like_its_file(tmp_path: Path) -> None:
    file = tmp_path / "refund.yaml"
    file.write_text(
        "skip: not written yet\nevaluation:\nsynthetic_user: {persona: '', script: }\ntags: [a,]\n"
    )
    (loaded,) = load_scenarios(file)
    assert (loaded.id, loaded.tags, loaded.skip) == ("refund", ("a",), "not written yet")


def test_all_problems_are_told_at_once() -> None:
    text = changed("initial_query", "inital_query").replace("name: Greeting", "name: [1]") + "skip: 3\n"
    assert [problem.split(": ")[0] for problem in problems_of(text)] == [
        "f.yaml:1:7",
        "f.yaml:5:3",
        "f.yaml:9:7",
    ]


def test_a_misspelt_key_is_not_told_as_missing_too() -> None:
    assert len(problems_of(changed("initial_query", "inital_query"))) == 1


def test_more_problems_than_anyone_reads_are_cut() -> None:
    told = problems_of(MINIMAL + "".join(f"zz{number}: 1\n" for number in range(500)))
    assert len(told) == 101
    assert told[-1] == "f.yaml: there are more problems than the 100 above; put these right first"


def test_a_good_document_beside_broken_ones_hides_nothing() -> None:
    broken = changed("Greeting", "a: b")
    misspelt = changed("persona", "persone")
    told = problems_of(f"{broken}---\n{MINIMAL}---\n{misspelt}---\nname: [\n")
    assert [problem.split(": ")[0] for problem in told] == ["f.yaml:1:8", "f.yaml:22:3", "f.yaml:28:8"]


def test_several_scenarios_in_a_file() -> None:
    second = changed("Greeting", "Farewell")
    loaded = parse_scenarios(f"# first\n{MINIMAL}---\n# nothing\n---\n{second}---\n")
    assert [(scenario.name, scenario.line) for scenario in loaded] == [("Greeting", 2), ("Farewell", 13)]


def test_scenarios_of_one_name_get_ids_of_their_own() -> None:
    taken = changed("Greeting", "Greeting[2]")
    loaded = parse_scenarios("---\n".join([taken, MINIMAL, MINIMAL, MINIMAL]))
    assert [scenario.id for scenario in loaded] == ["Greeting[2]", "Greeting", "Greeting[3]", "Greeting[4]"]
    assert [scenario.name for scenario in loaded[1:]] == ["Greeting"] * 3


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a  b\n c", "a b c"),
        ("a::b:::c", "a:b:c"),
        ("bell\x07 \x1b[31mred", "bell_ _[31mred"),
        ("turned\u202ename", "turned_name"),
        ("Größe 😀", "Größe 😀"),
        ("x" * 300, "x" * 199 + "…"),
    ],
)
def test_a_node_name_is_safe(name: str, expected: str) -> None:
    assert node_name(name) == expected


@given(st.text(min_size=1))
def test_every_node_name_is_one_part_of_a_node_id(name: str) -> None:
    safe = node_name(name)
    assert safe.isprintable()
    assert "::" not in safe
    assert safe == node_name(safe)


@pytest.mark.parametrize("text", ["", "\n\n", "# a comment\n", "---\n---\n", "\ufeff"])
def test_an_empty_file_is_an_error(text: str) -> None:
    assert problems_of(text) == ["f.yaml:1:1: the file is empty; a scenario is expected"]


def test_a_byte_order_mark_is_accepted() -> None:
    assert parse_scenarios(b"\xef\xbb\xbf" + MINIMAL.encode())[0].name == "Greeting"


def test_windows_line_ends_are_accepted() -> None:
    (loaded,) = parse_scenarios(FULL.replace("\n", "\r\n").encode())
    assert loaded.scenario is not None
    assert loaded.scenario.description == "The agent finds out what is missing\nand plans a trip."


def test_an_alias_may_be_used_for_common_parts() -> None:
    text = MINIMAL.replace("persona: Someone", "persona: &who Someone") + "metadata: {who: *who}\n"
    (loaded,) = parse_scenarios(text)
    assert loaded.scenario is not None
    assert loaded.scenario.metadata == {"who": "Someone who likes a chat"}


def test_a_merge_key_brings_its_keys_and_their_mistakes() -> None:
    text = MINIMAL.replace("  persona:", "  <<: {max_turns: 3, patience: low}\n  persona:")
    home = "synthetic_user.clarification_behavior.traits"
    (told,) = problems_of(text)
    assert told.startswith(f"f.yaml:4:22: synthetic_user.patience: this key belongs in `{home}`")


def test_a_file_is_named_as_asked(tmp_path: Path) -> None:
    file = tmp_path / "broken.yaml"
    file.write_text("- a\n")
    with pytest.raises(ScenarioFileError, match=r"^here/broken\.yaml:1:1: "):
        load_scenarios(file, file="here/broken.yaml")


def test_a_broken_scenario_is_the_scenarios_fault() -> None:
    with pytest.raises(ScenarioFileError) as caught:
        parse_scenarios("")
    assert caught.value.blame is Blame.SCENARIO


def test_nothing_changes_a_loaded_scenario() -> None:
    (loaded,) = parse_scenarios(MINIMAL)
    with pytest.raises(dataclasses.FrozenInstanceError):
        loaded.name = "x"  # type: ignore[misc]


@given(st.binary(max_size=200) | st.text(alphabet="-: \n#&*a[]{}'\"|>!%@`?,\t0", max_size=80).map(str.encode))
def test_whatever_a_file_holds_there_is_an_answer(data: bytes) -> None:
    problems: tuple[Problem, ...] = ()
    loaded: tuple[LoadedScenario, ...] = ()
    try:
        loaded = parse_scenarios(data, "f.yaml")
    except ScenarioFileError as error:
        problems = error.problems
    assert bool(loaded) != bool(problems)


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("persona: ", "persona: Somebody on {{ today }}"),
        ("initial_query: ", "initial_query: Refund ${ORDER}, please"),
        ("- ", "- The agent says {% if x %}yes{% endif %}"),
    ],
)
def test_a_placeholder_that_nobody_fills_in(key: str, text: str) -> None:
    lines = [
        f"{line[: line.index(key)]}{text}" if line.lstrip().startswith(key) else line
        for line in MINIMAL.splitlines()
    ]
    with pytest.raises(ScenarioFileError, match="would reach the model as it is: nothing is filled in here"):
        parse_scenarios("\n".join(lines))


def test_a_placeholder_that_is_meant() -> None:
    (loaded,) = parse_scenarios(changed("name: Greeting", "name: 'About {% raw %}{{ x }}{% endraw %}'"))
    assert loaded.name == "About {{ x }}"
