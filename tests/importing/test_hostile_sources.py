"""Files that are broken, of another kind, or made by somebody who means harm."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from pytest_convoprobe.errors import ScenarioFileError
from pytest_convoprobe.importing.formats import FORMATS
from pytest_convoprobe.importing.literal_text import literal
from pytest_convoprobe.importing.notes import Fate
from pytest_convoprobe.scenario.new_files import as_yaml
from pytest_convoprobe.yaml_source.placeholders import complaint, fill

from .reading import SAMPLES, from_data, imported, kinds, only, scenario_of

SECRET = "sk-live-0123456789abcdefABCD"
OF_EACH = {
    "promptfoo": SAMPLES / "promptfoo" / "promptfooconfig.yaml",
    "adk": SAMPLES / "adk" / "shop.evalset.json",
    "tau2": SAMPLES / "tau2" / "tasks.json",
    "deepeval": SAMPLES / "deepeval" / "goldens.json",
}


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("other", FORMATS)
def test_a_file_of_another_format_is_recognised(kind: str, other: str) -> None:
    if kind == other:
        assert imported(kind, OF_EACH[other]).tests
        return
    with pytest.raises(ScenarioFileError, match=f"convoprobe import {other} ") as caught:
        imported(kind, OF_EACH[other])
    assert FORMATS[other].title in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("a.json", "{", "a.json:1:2: this is not JSON"),
        ("a.json", "[1, 2", "this is not JSON"),
        ("a.json", '{"id": 1, "id": 2}', "`id` is given twice"),
        ("a.json", "[" * 100_000, "nested too deeply"),
        ("a.json", "7", "this doesn't look like"),
        ("a.json", "[]", "this doesn't look like"),
        ("a.jsonl", '{"a": 1}\n{', "a.jsonl:2: the line is not JSON"),
        ("a.yaml", "a: [", "a.yaml:"),
        ("a.yaml", "a: 1\na: 2", "given twice"),
        ("a.yaml", "a: 1\n---\nb: 2", "2 documents"),
        ("a.yaml", "", "there is nothing"),
        ("a.csv", "a,b\n1,2,3", "a.csv:2: this row has 3 cells"),
        ("a.csv", 'a,b\n"1,2', "this is not CSV"),
        ("a.csv", "a,a\n1,2", "a.csv:1: the column `a` is given twice"),
        ("a.js", "module.exports = {}", "code in JavaScript"),
        ("a.py", "", "code in Python"),
        ("a.json", b"\xff\xfe", "not UTF-8"),
        ("a.yaml", "synthetic_user: {}", "a scenario of this tool already"),
        ("a.json", '{"criteria": {}}', "give the eval set, and this file with --criteria"),
        ("a.json", '{"evalId": 1, "results": {}}', "looks like results of promptfoo"),
    ],
)
@pytest.mark.parametrize("kind", ["adk", "deepeval"])
def test_broken_files_are_errors_with_a_place(
    tmp_path: Path, kind: str, name: str, content: str | bytes, complaint: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ScenarioFileError) as caught:
        imported(kind, path)
    assert complaint in str(caught.value)


def test_a_broken_line_with_a_key_is_shown_without_it(tmp_path: Path) -> None:
    path = tmp_path / "promptfooconfig.yaml"
    path.write_text(f"providers:\n- apiKey: {SECRET}: oops\n")
    with pytest.raises(ScenarioFileError) as caught:
        imported("promptfoo", path)
    assert "promptfooconfig.yaml:2" in str(caught.value)
    assert SECRET not in str(caught.value)


def test_notes_are_short_lines_without_secrets(tmp_path: Path) -> None:
    reference = f"https://kim:{SECRET}@example.com/tests.csv"
    odd = "x" * 5000 + "\nname: evil\n---\n"
    test = {
        "vars": {"prompt": "Hi"},
        "assert": [{"type": "is-json"}],
        odd: 1,
        "description": "a\n---\nname: evil",
    }
    suite = from_data("promptfoo", tmp_path, {"tests": [test, reference], odd: 1})
    assert suite.every_note
    for note in suite.every_note:
        shown = f"{note.place} {note.kind} {note.why} {note.advice}"
        assert SECRET not in shown
        assert "\n" not in shown
        assert len(shown) < 2000


def test_a_pipe_is_no_file(tmp_path: Path) -> None:
    import os

    os.mkfifo(tmp_path / "a.json")
    with pytest.raises(ScenarioFileError, match="a named pipe"):
        imported("adk", tmp_path / "a.json")


MESSAGES = [
    "{{ today }}",
    "{% if x %}",
    "${HOME}",
    "{today}",
    "{% raw %}a{% endraw %}",
    "a {% endraw %} {{b}}",
]


@pytest.mark.parametrize(
    "said", [*MESSAGES, "- a: b\n--- \n# c", "\ud83d alone", "::error::x", "'", '"', "\x1b[2J!"]
)
def test_what_the_user_says_arrives_word_for_word(tmp_path: Path, said: str) -> None:
    from pytest_convoprobe.scenario.loading import parse_scenarios

    suite = from_data("deepeval", tmp_path, [{"input": said, "expected_output": said}])
    (loaded,) = parse_scenarios(as_yaml(scenario_of(only(suite)), []))
    assert loaded.scenario is not None
    assert loaded.scenario.synthetic_user.initial_query == said.replace("\ud83d", "\ufffd").strip()


@given(st.text(st.sampled_from("{}% -raw\nendx$'") | st.characters(codec="utf-8"), max_size=60))
def test_any_text_is_read_as_it_is(text: str) -> None:
    written = literal(text)
    assert complaint(written, variables=True) is None
    assert fill(written, {}) == text.strip()


@pytest.mark.parametrize(
    "piece", ["{% raw %}", "{% endraw %}", "{%- endraw -%}", "{{x}}", "${X}", "{now}", " ", "a"]
)
@pytest.mark.parametrize("other", ["{% raw %}", "{% endraw %}", "{{x}}", "${X}", "endraw"])
def test_marks_of_templates_are_read_as_they_are(piece: str, other: str) -> None:
    for text in (piece + other, other + piece, piece + other + piece):
        assert fill(literal(text), {}) == text.strip()
        assert complaint(literal(text), variables=True) is None


def secrets_in(kind: str) -> Any:
    if kind == "promptfoo":
        test = {
            "vars": {"prompt": "Hi", "api_key": SECRET},
            "assert": [{"type": "contains", "value": SECRET}],
        }
        return {
            "providers": [{"id": "x", "config": {"apiKey": SECRET}}],
            "env": {"K": SECRET},
            "tests": [test],
        }
    if kind == "adk":
        turn = {
            "user_content": {"parts": [{"text": f"My key is {SECRET}"}]},
            "final_response": {"parts": [{"text": "k"}]},
        }
        turn["intermediate_data"] = {"tool_uses": [{"name": "f", "args": {"token": "hunter2-hunter2"}}]}
        session = {"app_name": "a", "user_id": "u", "state": {"password": "hunter2-hunter2"}}
        return {
            "eval_set_id": "s",
            "eval_cases": [{"eval_id": "c", "conversation": [turn], "session_input": session}],
        }
    if kind == "tau2":
        user = {"instructions": {"task_instructions": f"Use {SECRET}", "known_info": f"key: {SECRET}"}}
        return [{"id": "1", "user_scenario": user, "evaluation_criteria": {"communicate_info": [SECRET]}}]
    return [
        {
            "input": f"Use {SECRET}",
            "expected_output": "x",
            "additional_metadata": {"token": "hunter2-hunter2"},
        }
    ]


@pytest.mark.parametrize("kind", FORMATS)
def test_secrets_get_into_no_scenario_and_no_note(tmp_path: Path, kind: str) -> None:
    suite = from_data(kind, tmp_path, secrets_in(kind))
    test = only(suite)
    written = yaml.safe_dump(scenario_of(test)) + str(suite)
    assert SECRET not in written
    assert "hunter2" not in written
    assert "secret" in str([note.kind for note in test.notes])


def test_a_check_that_compares_with_a_secret_is_lost_and_not_red_for_ever(tmp_path: Path) -> None:
    test = only(from_data("promptfoo", tmp_path, secrets_in("promptfoo")))
    assert "****" not in str(scenario_of(test)["evaluation"])
    assert kinds(test, Fate.LOST) == {"check with a secret": 1}
    assert test.taken == 0


def test_a_part_that_cannot_be_loaded_is_taken_out_alone(tmp_path: Path) -> None:
    checks = [{"type": "contains", "value": "\u200b"}, {"type": "contains", "value": "Oslo"}]
    suite = from_data("promptfoo", tmp_path, {"tests": [{"vars": {"prompt": "Hi"}, "assert": checks}]})
    test = only(suite)
    assert [one["contains"] for one in scenario_of(test)["evaluation"]["replies"]] == ["Oslo"]
    assert kinds(test, Fate.LOST) == {"check that can't be loaded": 1}
    assert (test.taken, test.lost) == (1, 1)


@pytest.mark.parametrize("name", ["", " ", "a b", "x" * 300, "{a,b}", None, 7])
def test_names_that_no_tool_can_have(tmp_path: Path, name: Any) -> None:
    golden = {"input": "Hi", "expected_output": "x", "expected_tools": [{"name": name}]}
    test = only(from_data("deepeval", tmp_path, [golden]))
    assert test.lost + test.taken == 1


@pytest.mark.parametrize("kind", FORMATS)
def test_odd_types_raise_nothing(tmp_path: Path, kind: str) -> None:
    """Every value of the sample in turn is replaced by one of a type that nobody expects there."""
    data = json.loads(json.dumps(yaml.safe_load(OF_EACH[kind].read_text(encoding="utf-8"))))
    for loc in list(_places(data, ())):
        for odd in (7, [None], {"x": None}):
            broken = _with(data, loc, odd)
            try:
                suite = from_data(kind, tmp_path, broken)
            except ScenarioFileError:
                continue
            assert all(test.scenario is not None or test.lost for test in suite.tests), (loc, odd)


def _places(data: Any, loc: tuple[Any, ...]) -> Any:
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        yield (*loc, key)
        yield from _places(value, (*loc, key))


def _with(data: Any, loc: tuple[Any, ...], odd: Any) -> Any:
    copied = json.loads(json.dumps(data))
    at = copied
    for step in loc[:-1]:
        at = at[step]
    at[loc[-1]] = odd
    return copied


@pytest.mark.parametrize("kind", FORMATS)
def test_every_value_of_a_sample_is_in_a_scenario_or_in_a_note(kind: str) -> None:
    """A value that is in neither was dropped in silence."""
    path = OF_EACH[kind]
    suite = imported(kind, path)
    written = json.dumps([test.scenario for test in suite.tests], ensure_ascii=False)
    places = [note.place.split(" (")[0] for note in suite.every_note]
    data = yaml.safe_load(path.read_text(encoding="utf-8"))
    silent = []
    for loc, value in _leaves(data, ()):
        place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in loc).lstrip(".")
        noted = any(place == one or place.startswith((f"{one}.", f"{one}[")) for one in places)
        if "{{" in str(value) or "(?<" in str(value) or str(value).startswith(("file://", "#/")):
            continue  # filled in, written in Python's way, or what is there
        if not noted and not _is_written(value, written) and loc[-1] not in _BOOKKEEPING:
            silent.append(place)
    assert silent == []


# Ids and times that tools write for themselves, and words that say what the value beside them is.
_BOOKKEEPING = frozenset(
    "invocation_id creation_timestamp role id rubric_id type file eval_set_id name requestor threshold "
    "maxTurns assert_value env_type".split()
)


def _leaves(data: Any, loc: tuple[Any, ...]) -> Any:
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else None
    if items is None:
        if data not in (None, ""):
            yield loc, data
        return
    for key, value in items:
        yield from _leaves(value, (*loc, key))


def _is_written(value: Any, written: str) -> bool:
    shown = json.dumps(str(value), ensure_ascii=False)[1:-1]
    return (
        all(line.strip() in written for line in shown.split("\\n")) or str(value).lower() in written.lower()
    )
