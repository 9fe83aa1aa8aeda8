"""Parameters of a scenario: what they make of it, under which ids, and what is wrong with them."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from hypothesis import event, given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from pytest_convoprobe.errors import ScenarioFileError
from pytest_convoprobe.scenario import coerce
from pytest_convoprobe.scenario.loading import LoadedScenario, load_scenarios, node_name, parse_scenarios
from pytest_convoprobe.scenario.models import Scenario
from pytest_convoprobe.scenario.parameters import MAX_SETS
from pytest_convoprobe.scenario.schema import scenario_schema
from pytest_convoprobe.yaml_source import parse

from .examples import MINIMAL, changed

QUERY = changed("Good morning!", "I am ${who}.")


def loaded(text: str) -> list[LoadedScenario]:
    return list(parse_scenarios(text, "f.yaml"))


def scenarios(text: str) -> list[Scenario]:
    found = [one.scenario for one in loaded(text)]
    return [one for one in found if one is not None]


def ids(text: str) -> list[str]:
    return [one.id for one in loaded(text)]


def problems(text: str) -> list[str]:
    with pytest.raises(ScenarioFileError) as caught:
        parse_scenarios(text, "f.yaml")
    return [str(problem).splitlines()[0] for problem in caught.value.problems]


def queries(text: str) -> list[str]:
    return [one.synthetic_user.initial_query for one in scenarios(text)]


def test_a_list_makes_one_scenario_of_each_entry() -> None:
    text = QUERY + "parameters:\n  - {who: Ada}\n  - {who: Bob}\n"
    assert queries(text) == ["I am Ada.", "I am Bob."]
    assert [(one.id, one.name, one.line) for one in loaded(text)] == [
        ("Greeting[Ada]", "Greeting [Ada]", 1),
        ("Greeting[Bob]", "Greeting [Bob]", 1),
    ]


def test_a_mapping_of_lists_makes_every_combination() -> None:
    text = changed("Good morning!", "${who} ${n}") + "parameters: {who: [Ada, Bob], n: [1, 2]}\n"
    assert queries(text) == ["Ada 1", "Ada 2", "Bob 1", "Bob 2"]
    assert ids(text) == [f"Greeting[{who}-n={n}]" for who in ("Ada", "Bob") for n in (1, 2)]


EVERYWHERE = """\
name: For ${a}
description: Of ${a}
parameters: [{a: x, n: 3, flag: true, list: [p, q], low: low, map: {deep: [1]}, none: null}]
skip: Not for ${a}
synthetic_user:
  persona: "${a}"
  initial_query: "${a}${a} ${n} ${flag}"
  max_turns: ${n}
  clarification_behavior: {known_facts: "${list}", traits: {patience: "${low}"}}
  script: [{simulate: "${n}", instruction: "do ${a}"}]
evaluation:
  correctness_criteria: ["says ${a}", {text: "and ${a}", about: agent}]
  tool_usage:
    required_tools: ["get_${a}"]
    only_listed: ${flag}
    tool_call_criteria:
      - tool: get_${a}
        assertions:
          - times: "${n}"
            args: {k: "${map}", m: "<${a}>", t: {matches: "^${a}"}, none: "${none}"}
tags: ["t-${a}", "${a}"]
faults: [{tool: "get_${a}", call: "${n}", kind: timeout}]
metadata: {a: "${a}", n: "${n}", deep: [{x: "${list}"}]}
config: {judge: {model: "m/${a}"}}
"""


def test_every_text_is_filled_in() -> None:
    (one,) = loaded(EVERYWHERE.replace("max_turns: ${n}", "max_turns: 9"))
    assert one.scenario is not None
    data = one.scenario.model_dump(mode="json", exclude_defaults=True)
    assert "${" not in json.dumps(data)
    assert (one.id, one.skip) == (
        'For x[x-n=3-flag=true-list=["p", "q"]-low-map={"deep": [1]}-none=null]',
        "Not for x",
    )
    assert data["synthetic_user"]["initial_query"] == "xx 3 true"
    assert data["synthetic_user"]["clarification_behavior"] == {
        "known_facts": ["p", "q"],
        "traits": {"patience": "low"},
    }
    args = data["evaluation"]["tool_usage"]["tool_call_criteria"][0]["assertions"][0]["args"]
    assert args["k"] == {"includes": {"deep": {"equals": [1]}}}
    assert args["m"] == {"equals": "<x>"}
    assert data["metadata"] == {"a": "x", "n": 3, "deep": [{"x": ["p", "q"]}]}
    assert data["faults"][0]["call"] == [3]


def test_the_schema_allows_what_is_filled_in() -> None:
    (document,) = parse(EVERYWHERE).documents
    found = Draft202012Validator(scenario_schema()).iter_errors(document.value)
    assert [error.message for error in found] == []


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("1.50", "1.50"),
        ("007", "007"),
        ("yes", "yes"),
        ("2027-01-31", "2027-01-31"),
        ("'a: b'", "a: b"),
        ("|\n      x\n", "x"),
    ],
)
def test_within_a_text_a_value_is_as_it_is_written(written: str, shown: str) -> None:
    text = QUERY + f"parameters:\n  - who: {written}\n"
    assert queries(text) == [f"I am {shown}."] or queries(text) == [f"I am {shown}\n."]


def test_a_value_is_filled_in_once() -> None:
    args = "  tool_usage: {tool_call_criteria: [{tool: t, assertions: [{args: {x: '${a} ${b}'}}]}]}\n"
    text = MINIMAL + args + "parameters:\n  - {a: '${b}', b: '${a}'}\n"
    assertion = scenarios(text)[0].evaluation.tool_usage.tool_call_criteria[0].assertions[0]
    assert assertion.args["x"].equals == "${b} ${a}"  # type: ignore[union-attr]


def test_a_value_with_a_placeholder_reaches_no_model() -> None:
    (problem,) = problems(QUERY + "parameters:\n  - {who: '${secret}'}\n")
    assert problem.startswith("f.yaml:5:18: synthetic_user.initial_query: `${secret}` would reach the model")


def test_what_is_meant_word_for_word_stays() -> None:
    raw = "{% raw %}${who} {{ x }}{% endraw %}"
    assertions = f"assertions: [{{args: {{x: '{raw} ${{who}}'}}}}]"
    args = f"  tool_usage: {{tool_call_criteria: [{{tool: t, {assertions}}}]}}\n"
    text = (
        changed("Good morning!", f"'{raw} ${{who}}'")
        + args
        + f"metadata: {{x: '{raw}'}}\nparameters: [{{who: Ada}}]\n"
    )
    (one,) = scenarios(text)
    assertion = one.evaluation.tool_usage.tool_call_criteria[0].assertions[0]
    assert one.synthetic_user.initial_query == "${who} {{ x }} Ada"
    assert assertion.args["x"].equals == "${who} {{ x }} Ada"  # type: ignore[union-attr]
    assert one.metadata == {"x": "${who} {{ x }}"}
    dumped = one.model_dump(mode="json")
    assert yaml.safe_dump(dumped["metadata"])
    assert json.loads(json.dumps(dumped))["metadata"] == {"x": "${who} {{ x }}"}


def test_without_parameters_marks_in_arguments_stay_as_they_are() -> None:
    raw = "{% raw %}${who}{% endraw %}"
    assert scenarios(MINIMAL + f"metadata: {{x: '{raw}', y: '${{y}}'}}\n")[0].metadata == {
        "x": raw,
        "y": "${y}",
    }


def test_without_parameters_the_error_names_them() -> None:
    (problem,) = problems(QUERY)
    assert "`${who}` would reach the model as it is" in problem
    assert "give the scenario `parameters` with this name" in problem


# Ids.


def test_an_id_depends_on_its_entry_alone() -> None:
    before = ids(QUERY + "parameters: [{who: Ada}, {who: Bob}]\n")
    after = ids(QUERY + "parameters: [{who: Zoe}, {who: Ada}, {who: 'trial-2'}, {who: Bob}]\n")
    assert set(before) < set(after)


def test_an_entry_may_have_an_id() -> None:
    text = QUERY + "parameters: [{id: first, who: Ada}, {id: 2.0, who: Ada}, {who: Cy}]\n"
    assert ids(text) == ["Greeting[first]", "Greeting[2.0]", "Greeting[Cy]"]


def test_the_id_can_be_filled_in_too() -> None:
    assert queries(changed("Good morning!", "'${id}: ${who}'") + "parameters: [{id: a, who: b}]\n") == [
        "a: b"
    ]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("a::b", "a:b"),
        ("' a  b '", "a b"),
        ("''", "who="),
        ("'2'", "who=2"),
        ("trial-3", "who=trial-3"),
        ("[1, {a: b}]", 'who=[1, {"a": "b"}]'),
        ("null", "who=null"),
        ('"\\u001bx"', "_x"),
    ],
)
def test_ids_are_safe_in_node_ids(value: str, shown: str) -> None:
    text = changed("    - The agent greets the user", '    - "The agent greets the user"')
    assert ids(text + f"metadata: {{x: '${{who}}'}}\nparameters: [{{who: {value}}}]\n") == [
        f"Greeting[{shown}]"
    ]


def test_long_values_that_begin_alike_stay_two() -> None:
    text = QUERY + f"parameters: {{who: ['{'x' * 100}1', '{'x' * 100}2']}}\n"
    one, other = ids(text)
    assert one != other
    assert len(one) < 60


@given(
    st.lists(st.text(max_size=60), min_size=1, max_size=6, unique_by=lambda text: node_name(text).casefold())
)
def test_ids_are_distinct_and_printable(values: list[str]) -> None:
    data = {
        **yaml.safe_load(MINIMAL),
        "metadata": {"x": "${v}"},
        "parameters": [{"v": one} for one in values],
    }
    try:
        found = parse_scenarios(yaml.safe_dump(data))
    except ScenarioFileError as error:
        alike = all("give one of them an `id`" in one.message for one in error.problems)
        event("two of one id")
    else:
        alike = False
    if alike:
        return
    assert [one.scenario.metadata["x"] for one in found if one.scenario] == values
    assert len({one.id for one in found}) == len(values)
    assert all(one.id.isprintable() and "::" not in one.id for one in found)


def test_two_scenarios_of_one_name_keep_their_suffix() -> None:
    text = QUERY + "parameters: [{who: Ada}]\n---\n" + QUERY + "parameters: [{who: Ada}, {who: Bob}]\n"
    assert ids(text) == ["Greeting[Ada]", "Greeting[Ada][2]", "Greeting[Bob]"]


# Skipped ones.


def test_single_sets_may_be_skipped() -> None:
    text = (
        QUERY
        + "skip: ${skip}\nparameters:\n  - {who: Ada, skip: false}\n  - {who: Bob, skip: Waits for Bob}\n"
    )
    assert [one.skip for one in loaded(text)] == [None, "Waits for Bob"]


@pytest.mark.parametrize("given", ["[]", "{}", "null", "[{who: Ada}]"])
def test_a_skipped_scenario_may_be_unfinished(given: str) -> None:
    (one,) = loaded(f"name: Later\nskip: true\nparameters: {given}\n")
    assert (one.scenario, one.name.startswith("Later")) == (None, True)


# What is wrong.

WRONG = {
    "unknown": (
        QUERY + "parameters: [{whom: x}]\n",
        "f.yaml:5:18: synthetic_user.initial_query: `${who}` has no value: "
        "`parameters` has no such name; "
        "did you mean `whom`?",
    ),
    "unused": (
        QUERY + "parameters: [{who: x, tier: gold}]\n",
        "f.yaml:9:23: parameters[0].tier: nothing uses this parameter: write `${tier}`",
    ),
    "unused in a combination": (
        QUERY + "parameters: {who: [x], tier: [gold]}\n",
        "f.yaml:9:24: parameters.tier: nothing uses",
    ),
    "default": (
        changed("Good morning!", "${who:-x}") + "parameters: [{who: x}]\n",
        "f.yaml:5:18: synthetic_user.initial_query: `${who:-x}` has no value: "
        "a parameter has a value in every entry",
    ),
    "spaces": (
        changed("Good morning!", "${ who }") + "parameters: [{who: x}]\n",
        "write `${who}`, without spaces",
    ),
    "key": (
        QUERY + "metadata: {'${who}': 1}\nparameters: [{who: x}]\n",
        "f.yaml:9:12: metadata.${who}: `${who}` in a key",
    ),
    "list in a text": (
        QUERY + "parameters: [{who: [a]}]\n",
        "f.yaml:9:20: parameters[0].who: a list can't be put into a text, "
        "and at synthetic_user.initial_query",
    ),
    "mapping in a text": (
        QUERY + "parameters: {who: [x, {a: 1}]}\n",
        "f.yaml:9:23: parameters.who[1]: a mapping can't be put into a text",
    ),
    "nothing in a text": (
        QUERY + "parameters: [{who: }]\n",
        "parameters[0].who: nothing can't be put into a text",
    ),
    "text": (QUERY + "parameters: Ada\n", "f.yaml:9:13: parameters: must be a list of mappings"),
    "empty list": (
        QUERY + "parameters: []\n",
        "f.yaml:9:13: parameters: there are none, so the scenario would never run",
    ),
    "empty mapping": (QUERY + "parameters: {}\n", "f.yaml:9:13: parameters: there are none"),
    "nothing": (QUERY + "parameters:\n", "parameters: must be a list of mappings"),
    "no mapping": (
        QUERY + "parameters: [Ada]\n",
        "f.yaml:9:14: parameters[0]: must be a mapping of names and values",
    ),
    "empty entry": (QUERY + "parameters: [{}]\n", "f.yaml:9:14: parameters[0]: this entry has no values"),
    "only an id": (QUERY + "parameters: [{id: a}]\n", "parameters[0]: this entry has no values"),
    "missing name": (
        QUERY + "parameters: [{who: a}, {id: b}]\n",
        "f.yaml:9:24: parameters[1]: this entry has no values",
    ),
    "another name": (
        QUERY + "parameters: [{who: a}, {whom: b}]\n",
        "f.yaml:9:24: parameters[1]: this entry has no `who`, which the first one has",
    ),
    "one more name": (
        QUERY + "parameters: [{who: a}, {who: b, x: c}]\n",
        "f.yaml:9:33: parameters[1].x: the first entry has no `x`",
    ),
    "bad name": (
        QUERY + "parameters: [{who: a, order-id: b}]\n",
        "f.yaml:9:23: parameters[0].order-id: the name of a parameter has letters, digits "
        "and `_` only, and begins with a letter: `order_id`",
    ),
    "single value": (
        QUERY + "parameters: {who: Ada}\n",
        "f.yaml:9:19: parameters.who: must be a list of values, got the text",
    ),
    "no values": (QUERY + "parameters: {who: []}\n", "f.yaml:9:19: parameters.who: must not be empty"),
    "id of a combination": (
        QUERY + "parameters: {who: [a], id: [b]}\n",
        "f.yaml:9:24: parameters.id: an `id` belongs to one entry",
    ),
    "id as a list": (
        QUERY + "parameters: [{who: a, id: [b]}]\n",
        "f.yaml:9:27: parameters[0].id: must be a text that names this entry",
    ),
    "blank id": (
        QUERY + "parameters: [{who: a, id: ' '}]\n",
        "f.yaml:9:27: parameters[0].id: must be a text that names this entry",
    ),
    "the same id": (
        QUERY + "parameters: [{who: a, id: x}, {who: b, id: X}]\n",
        "f.yaml:9:31: parameters[1]: two sets have the id `X`; give one of them an `id` of its own",
    ),
    "the same id in node ids": (
        QUERY + "parameters: [{who: 'a::b'}, {who: 'a:b'}]\n",
        "f.yaml:9:29: parameters[1]: two sets have the id `a:b`; give one of them an `id` of its own",
    ),
    "the same id to the eye": (
        QUERY + 'parameters: [{who: "\\u00e9"}, {who: "e\\u0301"}]\n',
        "parameters[1]: two sets have the id `e\u0301`; give one of them an `id` of its own",
    ),
    "the same entry": (
        QUERY + "parameters: [{who: a}, {who: a}]\n",
        "f.yaml:9:24: parameters[1]: `parameters[0]` has the same values; leave one of them out",
    ),
    "the same value": (
        QUERY + "parameters: {who: [a, a]}\n",
        "parameters: two sets have the id `a`; leave one of them out",
    ),
    "too many": (
        QUERY + f"parameters: {{who: {list(range(MAX_SETS + 1))}}}\n",
        f"parameters: these make {MAX_SETS + 1:,} scenarios",
    ),
    "misplaced": (
        MINIMAL + "  parameters: [{who: a}]\n",
        "evaluation.parameters: this key belongs at the top",
    ),
    "misspelt": (MINIMAL + "parameter: [{who: a}]\n", "did you mean `parameters`?"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_mistake_has_its_place(name: str) -> None:
    text, words = WRONG[name]
    found = problems(text)
    assert any(words in one for one in found), found


def test_a_wrong_value_is_wrong_where_it_is_written() -> None:
    text = (
        changed("Good morning!", "${who}\n  max_turns: ${n}")
        + "parameters:\n  - {who: a, n: 3}\n  - {who: b, n: 300}\n"
    )
    assert problems(text) == [
        "f.yaml:12:17: parameters[1].n: must be from 1 to 100, got the number 300 "
        "(filled in at synthetic_user.max_turns)"
    ]


def test_a_mistake_below_a_value_has_its_place() -> None:
    text = (
        MINIMAL
        + "metadata: {x: '${n}'}\nconfig: ${c}\nparameters:\n  - n: 1\n    c: {judge: {temperature: 7}}\n"
    )
    (problem,) = problems(text)
    assert problem.startswith(
        "f.yaml:13:30: parameters[0].c.judge.temperature: must be from 0 to 2, got the number 7"
    )


def test_a_mistake_of_some_sets_names_them() -> None:
    tools = "  tool_usage: {required_tools: ['${a}_x'], prohibited_tools: ['nope_${b}']}\n"
    text = MINIMAL + tools + "parameters: [{a: get, b: x}, {a: nope, b: x}, {a: nope, b: '*'}]\n"
    (first, second) = problems(text)
    assert first.startswith("f.yaml:9:")
    assert first.endswith("(with the parameters `nope-x`)")
    assert second.endswith("(with the parameters `nope-b=*`)")


def test_a_mistake_of_all_sets_is_said_once() -> None:
    text = QUERY + "colour: red\nparameters: [{who: a}, {who: b}]\n"
    (problem,) = problems(text)
    assert problem.startswith("f.yaml:9:1: colour: unknown key. Valid here: name,")
    assert "with the parameters" not in problem


@pytest.mark.parametrize(
    "parameters",
    [
        {"who": ["x" * 100_000], "n": list(range(1000))},
        {"who": [["x" * 1000] * 100], "n": list(range(1000))},
    ],
)
def test_what_grows_beyond_measure_is_refused(parameters: dict[str, Any]) -> None:
    data = {**yaml.safe_load(MINIMAL), "metadata": {"x": ["${who}", "${n}"]}, "parameters": parameters}
    (problem,) = problems(json.dumps(data))
    assert "make more than 5,000,000 characters" in problem


def test_many_uses_of_a_long_value_are_refused_at_once() -> None:
    data = {
        **yaml.safe_load(MINIMAL),
        "metadata": {"x": "${v}" * 100_000},
        "parameters": [{"v": "y" * 500_000}],
    }
    (problem,) = problems(json.dumps(data))
    assert "make more than 5,000,000 characters" in problem


def test_a_file_of_the_seed_is_as_it_was() -> None:
    (one,) = loaded(MINIMAL)
    assert (one.id, one.name, one.included) == ("Greeting", "Greeting", ())


def test_a_mapping_may_have_any_character() -> None:
    name = 'Smile \U0001f600 "\x7f\x85\u2028'
    given = {**yaml.safe_load(MINIMAL), "metadata": {"x": name}, "description": "\U0001f600"}
    scenario = coerce.loaded(given).scenario
    assert scenario is not None
    assert (scenario.metadata, scenario.description) == ({"x": name}, "\U0001f600")


def test_from_a_file(tmp_path: Any) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(QUERY + "parameters: [{who: Ada}]\n")
    assert [one.id for one in load_scenarios(path)] == ["Greeting[Ada]"]
