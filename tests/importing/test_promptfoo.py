from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_convoprobe.importing.notes import Account, Fate, ImportedTest
from pytest_convoprobe.importing.options import ImportOptions

from .reading import SAMPLES, from_data, imported, kinds, only, scenario_of


def of_assertion(folder: Path, *assertions: Any, **config: Any) -> ImportedTest:
    """The test with these assertions, and one that is always there."""
    tests = [
        {"vars": {"question": "Hi"}, "assert": [{"type": "llm-rubric", "value": "Is kind"}, *assertions]}
    ]
    return only(from_data("promptfoo", folder, {"prompts": ["{{question}}"], "tests": tests, **config}))


@pytest.mark.parametrize(
    ("assertion", "replies"),
    [
        ({"type": "contains", "value": "Oslo"}, [{"contains": "Oslo"}]),
        ({"type": "contains", "value": 0}, [{"contains": "0"}]),
        ({"type": "not-contains", "value": "Oslo"}, [{"not_contains": "Oslo"}]),
        ({"type": "icontains", "value": "Oslo"}, [{"contains": "Oslo", "ignore_case": True}]),
        ({"type": "contains-all", "value": ["a", "b"]}, [{"contains": "a"}, {"contains": "b"}]),
        ({"type": "contains-any", "value": ["a.", "b"]}, [{"matches": "a\\.|b"}]),
        ({"type": "not-contains-any", "value": ["a", "b"]}, [{"not_contains": "a"}, {"not_contains": "b"}]),
        ({"type": "not-contains-all", "value": ["a", "b"]}, [{"not_matches": "(?s)^(?=.*a)(?=.*b)"}]),
        ({"type": "starts-with", "value": "Hi"}, [{"matches": "\\A\\s*Hi"}]),
        ({"type": "equals", "value": "Yes"}, [{"equals": "Yes"}]),
        ({"type": "not-equals", "value": "No."}, [{"not_matches": "\\A\\s*No\\.\\s*\\Z"}]),
        ({"type": "regex", "value": "(?<day>\\d+)\\/x"}, [{"matches": "(?P<day>\\d+)/x"}]),
        ({"type": "is-json"}, [{"json": True}]),
        ({"type": "word-count", "value": 3}, [{"length": {"words": {"at_least": 3, "at_most": 3}}}]),
        ({"type": "word-count", "value": {"max": 9}}, [{"length": {"words": {"at_most": 9}}}]),
    ],
)
def test_checks_of_a_text(tmp_path: Path, assertion: Any, replies: list[dict[str, Any]]) -> None:
    test = of_assertion(tmp_path, assertion)
    found = scenario_of(test)["evaluation"]["replies"]
    assert found == [{**one, "turn": "last"} for one in replies]
    assert (test.taken, test.changed, test.lost) == (2, 0, 0)


@pytest.mark.parametrize(
    ("assertion", "usage"),
    [
        ({"type": "trajectory:tool-used", "value": ["a", "b_*"]}, {"required_tools": ["a", "b_*"]}),
        ({"type": "not-trajectory:tool-used", "value": {"name": "a"}}, {"prohibited_tools": ["a"]}),
        (
            {"type": "trajectory:tool-used", "value": {"pattern": "a*", "min": 1, "max": 2}},
            {"tool_call_criteria": [{"tool": "a*", "assertions": [{"at_least": 1, "at_most": 2}]}]},
        ),
        (
            {"type": "trajectory:tool-args-match", "value": {"name": "a", "args": {"n": 1}}},
            {"tool_call_criteria": [{"tool": "a", "assertions": [{"args": {"n": {"equals": 1}}}]}]},
        ),
        ({"type": "tool-call-f1", "value": ["a", "b"]}, {"required_tools": ["a", "b"], "only_listed": True}),
    ],
)
def test_checks_of_calls(tmp_path: Path, assertion: Any, usage: dict[str, Any]) -> None:
    test = of_assertion(tmp_path, assertion)
    assert scenario_of(test)["evaluation"]["tool_usage"] == usage
    assert (test.taken, test.changed, test.lost) == (2, 0, 0)


def test_a_sequence_of_calls_is_a_list_and_a_scenario_has_one(tmp_path: Path) -> None:
    first = {"type": "trajectory:tool-sequence", "value": {"steps": ["a", "b"]}}
    exact = {"type": "trajectory:tool-sequence", "value": {"mode": "exact", "steps": ["a"]}}
    test = of_assertion(tmp_path, first, exact)
    calls = scenario_of(test)["evaluation"]["tool_usage"]["expected_calls"]
    assert [call["tool"] for call in calls["calls"]] == ["a", "b"]
    assert kinds(test, Fate.LOST) == {"trajectory:tool-sequence": 1}


def test_a_limit_of_time_is_one_of_seconds(tmp_path: Path) -> None:
    test = of_assertion(tmp_path, {"type": "latency", "threshold": 2500})
    assert scenario_of(test)["evaluation"]["efficiency"] == {"max_turn_latency": 2.5}


@pytest.mark.parametrize(
    ("assertion", "sentence"),
    [
        ({"type": "g-eval", "value": "Is short"}, "Is short"),
        ({"type": "llm-rubric", "value": "Is short", "threshold": 0.8}, "Is short"),
        ({"type": "similar", "value": "It is blue", "threshold": 0.9}, "It is blue"),
        ({"type": "rouge-n", "value": "It is blue"}, "It is blue"),
        ({"type": "factuality", "value": "It is blue"}, "contradicts nothing of it: It is blue"),
        ({"type": "is-refusal"}, "refuses"),
    ],
)
def test_scores_become_criteria_and_say_so(tmp_path: Path, assertion: Any, sentence: str) -> None:
    test = of_assertion(tmp_path, assertion)
    criteria = scenario_of(test)["evaluation"]["correctness_criteria"]
    assert sentence in criteria[-1]
    assert (test.taken, test.changed, test.lost) == (1, 1, 0)


def test_a_rubric_that_must_not_hold_is_a_failure_criterion(tmp_path: Path) -> None:
    test = of_assertion(tmp_path, {"type": "not-llm-rubric", "value": "Is rude"})
    assert scenario_of(test)["evaluation"]["failure_criteria"] == ["Is rude"]
    assert test.taken == 2


def test_a_failure_criterion_alone_gets_one_beside_it(tmp_path: Path) -> None:
    checks = [{"type": "not-llm-rubric", "value": "Is rude"}]
    config = {"tests": [{"vars": {"prompt": "Hi"}, "assert": checks}]}
    test = only(from_data("promptfoo", tmp_path, config))
    assert scenario_of(test)["evaluation"]["correctness_criteria"]
    assert kinds(test, Fate.LEFT_OUT) == {"criterion that was added": 1}
    assert (test.taken, test.lost) == (1, 0)


def test_lists_that_make_too_many_tests_are_cut_and_counted(tmp_path: Path) -> None:
    values = [str(number) for number in range(40)]
    config = {
        "prompts": ["{{a}}{{b}}"],
        "tests": [{"vars": {"a": values, "b": values}, "assert": [{"type": "is-json"}]}],
    }
    suite = from_data("promptfoo", tmp_path, config)
    assert len(suite.tests) == 1000
    assert "600 tests more" in next(note.why for note in suite.notes if note.fate is Fate.LOST)


@pytest.mark.parametrize(
    "assertion",
    [
        {"type": "javascript", "value": "true"},
        {"type": "python", "value": "file://check.py"},
        {"type": "cost", "threshold": 0.1},
        {"type": "perplexity", "threshold": 2},
        {"type": "moderation"},
        {"type": "context-recall", "value": "x"},
        {"type": "trace-span-count", "value": {"pattern": "*", "min": 1}},
        {"type": "is-sql"},
        {"type": "not-is-json"},
        {"type": "select-best", "value": "x"},
        {"type": "human", "value": "x"},
        {"type": "promptfoo:redteam:harmful"},
        {"type": "no-such-thing", "value": "x"},
        {"type": "contains"},
        {"type": "contains-any", "values": ["a"]},
        {"type": "regex", "value": "(?<!a+)b"},
        {"type": "trajectory:tool-used", "value": {"min": 1}},
        {"type": "latency"},
        {"type": "not-latency", "threshold": 5},
        {"type": "contains", "value": "{{ missing }}"},
        {"type": "contains", "value": "{% if x %}a{% endif %}"},
        {"type": "contains", "value": "file://nowhere.txt"},
        {"type": "contains", "value": "a", "transform": "output.trim()"},
        {"value": "no type"},
        "no mapping",
        {"$ref": "#/assertionTemplates/none"},
        {"type": "assert-set"},
    ],
)
def test_what_nothing_checks_any_more_is_counted_with_a_reason(tmp_path: Path, assertion: Any) -> None:
    test = of_assertion(tmp_path, assertion)
    assert (test.taken, test.changed, test.lost) == (1, 0, 1)
    (note,) = (note for note in test.notes if note.fate is Fate.LOST)
    assert note.why
    assert note.place.startswith("tests[0].assert[1]")


def test_a_misspelt_type_is_suggested(tmp_path: Path) -> None:
    test = of_assertion(tmp_path, {"type": "icontain", "value": "x"})
    assert "did you mean `icontains`?" in str(test.notes)


def test_what_could_not_fail_is_no_check(tmp_path: Path) -> None:
    test = of_assertion(tmp_path, {"type": "contains", "value": "x", "weight": 0})
    assert (test.taken, test.lost) == (1, 0)
    assert kinds(test, Fate.LEFT_OUT) == {"weight 0": 1}


def test_a_test_without_checks_is_skipped_and_never_green(tmp_path: Path) -> None:
    tests = [
        {"vars": {"prompt": "Hi"}},
        {"vars": {"prompt": "Ho"}, "assert": [{"type": "javascript", "value": "1"}]},
    ]
    suite = from_data("promptfoo", tmp_path, {"tests": tests})
    assert [scenario_of(test)["skip"] for test in suite.tests] == [
        "the imported test checks nothing",
        "nothing that the imported test checked could be taken over",
    ]


def test_the_whole_sample() -> None:
    suite = imported("promptfoo", SAMPLES / "promptfoo" / "promptfooconfig.yaml")
    assert Account.of([suite]) == Account(
        tests=7, scenarios=7, taken=33, changed=2, lost=6, left_out=Account.of([suite]).left_out
    )
    assert kinds(suite, Fate.LOST) == {
        "cost": 1,
        "javascript": 1,
        "contains": 1,
        "unknown assertion": 1,
        "tests that aren't read": 2,
    }
    names = [test.name for test in suite.tests]
    assert names[:3] == ["Where is it", "Cities (Bergen)", "Cities (Oslo)"]
    table = next(test for test in suite.tests if test.name == "As JSON")
    assert table.place.endswith("more.csv: [1]")
    assert scenario_of(table)["metadata"]["imported"]["file"].endswith("more.csv")
    where = scenario_of(suite.tests[0])
    assert where["synthetic_user"]["initial_query"] == "Where is my order A-1001?"
    assert where["metadata"]["team"] == "orders"
    assert where["metadata"]["vars"] == {
        "shop": "Nordwind",
        "question": "Where is my order {{number}}?",
        "number": "A-1001",
    }
    assert {"not_contains": "Nordwind password", "ignore_case": True, "turn": "last"} in where["evaluation"][
        "replies"
    ]


def test_keys_that_nobody_knows_are_named(tmp_path: Path) -> None:
    test = {
        "vars": {"prompt": "Hi"},
        "asert": [],
        "options": {"newOption": 1},
        "assert": [{"type": "is-json", "valu": 1}],
    }
    suite = from_data("promptfoo", tmp_path, {"tests": [test], "sharring": True, "providers": ["x"]})
    notes = {note.place.split(" (")[0]: note.why for note in suite.every_note}
    assert "did you mean `sharing`?" in notes["sharring"]
    assert "did you mean `assert`?" in notes["tests[0].asert"]
    assert "did you mean `value`?" in notes["tests[0].assert[0].valu"]
    assert "tests[0].options.newOption" in notes
    assert "providers" in notes


def test_a_simulated_user_talks_with_its_instructions() -> None:
    suite = imported("promptfoo", SAMPLES / "promptfoo" / "simulated.yaml")
    first, second = (scenario_of(test) for test in suite.tests)
    assert first["synthetic_user"]["persona"] == "You are Kim. You want to know when order A-1001 arrives."
    assert first["synthetic_user"]["max_turns"] == 4
    assert [one["turn"] for one in first["evaluation"]["replies"]] == ["any", "all"]
    assert second["synthetic_user"]["initial_query"] == "When does it arrive?"
    assert second["synthetic_user"]["history"] == [
        {"user": "My order is A-1002."},
        {"agent": "What about it?"},
    ]


def test_chats_and_files_with_several_prompts() -> None:
    suite = imported("promptfoo", SAMPLES / "promptfoo" / "chat.yaml")
    chat, one, two = (scenario_of(test)["synthetic_user"] for test in suite.tests)
    assert chat["history"] == [{"user": "My order is A-1001."}, {"agent": "What about it?"}]
    assert one["initial_query"] == "Answer in one sentence: Where is A-1001?"
    assert two["initial_query"] == "Answer kindly: Where is A-1001?"
    assert kinds(suite, Fate.LEFT_OUT) == {"system prompt": 1, "words of a prompt": 2}


def test_the_message_can_be_said_by_an_option(tmp_path: Path) -> None:
    config = {
        "prompts": ["file://prompt.js"],
        "tests": [{"vars": {"question": "Hi"}, "assert": [{"type": "contains", "value": "x"}]}],
    }
    (refused,) = from_data("promptfoo", tmp_path, config).tests
    assert refused.scenario is None
    assert "made by code" in refused.notes[0].why
    assert "--message" in refused.notes[0].why
    suite = from_data("promptfoo", tmp_path, config, ImportOptions(message="{{question}}!"))
    assert scenario_of(only(suite))["synthetic_user"]["initial_query"] == "Hi!"


@pytest.mark.parametrize(
    ("template", "values", "said"),
    [
        ("{{ a.b[0] }}", {"a": {"b": ["x"]}}, "x"),
        ("{{a}}", {"a": {"b": 1}}, '{"b": 1}'),
        ("{{ a | trim | upper }}", {"a": " x "}, "X"),
        ("{{a}}", {"a": "{{b}}", "b": "c"}, "c"),
        ("{# note #}{{a}}", {"a": "x"}, "x"),
        ("{{a}}{{missing}}", {"a": "x"}, "x"),
        ("{% raw %}{{a}}{% endraw %}", {"a": "x"}, "{% raw %}{{a}}{% endraw %}"),
    ],
)
def test_templates(tmp_path: Path, template: str, values: dict[str, Any], said: str) -> None:
    tests = [{"vars": values, "assert": [{"type": "contains", "value": "x"}]}]
    suite = from_data("promptfoo", tmp_path, {"prompts": [template], "tests": tests})
    assert scenario_of(only(suite))["synthetic_user"]["initial_query"] == said


@pytest.mark.parametrize(
    "template", ["{% for x in y %}{{x}}{% endfor %}", "{{ a | replace('x') }}", "{{ env.KEY }}"]
)
def test_logic_is_not_run(tmp_path: Path, template: str) -> None:
    tests = [{"vars": {"a": "x"}, "assert": [{"type": "contains", "value": "x"}]}]
    (test,) = from_data("promptfoo", tmp_path, {"prompts": [template], "tests": tests}).tests
    assert test.scenario is None
    assert test.lost == 1


def test_values_that_name_themselves_come_to_an_end(tmp_path: Path) -> None:
    tests = [{"vars": {"a": "{{a}}" * 1000}, "assert": [{"type": "contains", "value": "x"}]}]
    (test,) = from_data("promptfoo", tmp_path, {"prompts": ["{{a}}"], "tests": tests}).tests
    assert test.scenario is None
    assert "too many of them" in test.notes[0].why


@pytest.mark.parametrize("written", ["yes", "No", "on", "1_000", "010"])
def test_values_are_read_as_javascript_reads_them(tmp_path: Path, written: str) -> None:
    path = tmp_path / "promptfooconfig.yaml"
    path.write_text(
        f"prompts: ['{{{{a}}}}']\ntests:\n- vars: {{a: {written}}}\n  assert: [{{type: is-json}}]\n"
    )
    said = scenario_of(only(imported("promptfoo", path)))["synthetic_user"]["initial_query"]
    assert said == {"010": "10"}.get(written, written)


def test_files_are_read_from_the_suite_alone(tmp_path: Path) -> None:
    suite = tmp_path / "suite"
    suite.mkdir()
    (tmp_path / "secret.txt").write_text("hidden words")
    (suite / "link.txt").symlink_to(tmp_path / "secret.txt")
    (suite / "own.txt").write_text("own words")
    values = [
        {"type": "contains", "value": f"file://{name}"} for name in ("own.txt", "../secret.txt", "link.txt")
    ]
    values += [{"type": "contains", "value": f"file://{tmp_path}/secret.txt"}]
    test = of_assertion(suite, *values)
    assert "hidden words" not in str(test)
    assert [one["contains"] for one in scenario_of(test)["evaluation"]["replies"]] == ["own words"]
    assert test.lost == 3


def test_scenarios_of_promptfoo_are_every_combination(tmp_path: Path) -> None:
    config = {
        "prompts": ["{{text}} in {{language}}"],
        "scenarios": [
            {
                "config": [{"vars": {"language": "German"}}, {"vars": {"language": "French"}}],
                "tests": [
                    {"vars": {"text": text}, "assert": [{"type": "is-json"}]} for text in ("Hi", "Bye")
                ],
            }
        ],
    }
    suite = from_data("promptfoo", tmp_path, config)
    said = [scenario_of(test)["synthetic_user"]["initial_query"] for test in suite.tests]
    assert said == ["Hi in German", "Bye in German", "Hi in French", "Bye in French"]


def test_places_have_lines() -> None:
    path = SAMPLES / "promptfoo" / "promptfooconfig.yaml"
    suite = imported("promptfoo", path)
    (cost,) = (note for note in suite.every_note if note.kind == "cost")
    line = int(cost.place.rpartition("line ")[2].rstrip(")"))
    assert "type: cost" in path.read_text(encoding="utf-8").splitlines()[line - 1]


def test_settings_of_providers_are_not_in_any_scenario() -> None:
    suite = imported("promptfoo", SAMPLES / "promptfoo" / "promptfooconfig.yaml")
    text = yaml.safe_dump([test.scenario for test in suite.tests]) + str(suite.every_note)
    assert "sk-live" not in text
    assert "shop.example" not in text
