"""`!include` and `extends`: what they make of a scenario, and where mistakes in such files are."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_convoprobe.errors import ScenarioFileError
from pytest_convoprobe.lint.linting import lint_file
from pytest_convoprobe.scenario import coerce
from pytest_convoprobe.scenario.discovery import SCENARIO_KEYS, looks_like_labels, looks_like_scenario
from pytest_convoprobe.scenario.document_model import ScenarioDocument
from pytest_convoprobe.scenario.loading import LoadedScenario, load_documents, load_scenarios, parse_scenarios
from pytest_convoprobe.scenario.models import Scenario
from pytest_convoprobe.yaml_source import MAX_BYTES, Loc, parse
from pytest_convoprobe.yaml_source.included_files import MAX_FILES

from .examples import INVALID, VALID, Wrong

REST = """\
description: d
synthetic_user: {persona: p, initial_query: q}
evaluation: {correctness_criteria: [The agent answers]}
"""


class Project:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "pyproject.toml").touch()

    def write(self, **files: str) -> Project:
        """Files of `scenarios`, by their names without the ending."""
        for name, text in files.items():
            path = self.folder / "scenarios" / f"{name}.yaml"
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return self

    def load(self, name: str = "a") -> list[LoadedScenario]:
        return list(load_scenarios(self.folder / "scenarios" / f"{name}.yaml", file=f"scenarios/{name}.yaml"))

    def one(self, name: str = "a") -> Scenario:
        (loaded,) = self.load(name)
        assert loaded.scenario is not None
        return loaded.scenario

    def problems(self, name: str = "a") -> list[str]:
        """Each with the chain of files, without the excerpt."""
        with pytest.raises(ScenarioFileError) as caught:
            self.load(name)
        lines = [str(problem).splitlines() for problem in caught.value.problems]
        return [
            " | ".join([one[0], *(line.strip() for line in one if "included from" in line)]) for one in lines
        ]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


# What is included.


def test_a_file_or_a_part_of_it_stands_for_any_value(project: Project) -> None:
    project.write(
        a="""\
            name: !include _texts.yaml#names.0
            description: !include "_texts.yaml#deep.description"
            synthetic_user: !include _user.yaml
            evaluation:
              correctness_criteria: !include _texts.yaml#criteria
              tool_usage: {required_tools: [!<!include> _texts.yaml#tool]}
        """,
        _texts="names: [N]\ndeep: {description: D}\ncriteria: [says so]\ntool: get\n",
        _user="persona: P\ninitial_query: !include _texts.yaml#deep.description\nmax_turns: 3\n",
    )
    one = project.one()
    assert (one.name, one.description, one.synthetic_user.persona) == ("N", "D", "P")
    assert (one.synthetic_user.initial_query, one.synthetic_user.max_turns) == ("D", 3)
    assert one.evaluation.correctness_criteria == ("says so",)
    assert one.evaluation.tool_usage.required_tools == ("get",)


def test_a_list_in_a_list_is_spliced(project: Project) -> None:
    project.write(
        a="name: n\ndescription: d\nsynthetic_user: {persona: p, initial_query: q}\nevaluation:\n"
        "  correctness_criteria: [first, !include _c.yaml, last, !include _c.yaml#1]\n",
        _c="- one\n- two\n",
    )
    assert project.one().evaluation.correctness_criteria == ("first", "one", "two", "last", "two")


def test_an_empty_list_adds_nothing(project: Project) -> None:
    project.write(a=f"name: n\n{REST}tags: [a, !include _t.yaml]\n", _t="[]\n")
    assert project.one().tags == ("a",)


def test_json_can_be_included(project: Project) -> None:
    project.write(a=f"name: n\n{REST}metadata: !include data.json#rows\n")
    (project.folder / "scenarios" / "data.json").write_text('{"rows": {"a": [1, null]}}')
    assert project.one().metadata == {"a": [1, None]}


def test_merge_keys_and_aliases_work_with_it(project: Project) -> None:
    project.write(
        a=f"name: n\n{REST}metadata:\n  x: &x !include _m.yaml\n  y: *x\n"
        "  z: {<<: !include _m.yaml, k: own}\n"
        "  w: {<<: [*x, !include _m.yaml#deep]}\n",
        _m="k: v\ndeep: &d {e: 1}\nagain: *d\n",
    )
    theirs = {"k": "v", "deep": {"e": 1}, "again": {"e": 1}}
    expected = {"x": theirs, "y": theirs, "z": {**theirs, "k": "own"}, "w": {**theirs, "e": 1}}
    assert project.one().metadata == expected


def test_a_whole_document_may_be_included(project: Project) -> None:
    project.write(a=f"!include _b.yaml\n---\nname: second\n{REST}", _b=f"name: first\n{REST}")
    assert [one.name for one in project.load()] == ["first", "second"]


def test_names_are_relative_to_the_file_that_has_them(project: Project) -> None:
    project.write(a=f"name: n\n{REST}metadata: {{x: !include ../shared/_one.yaml}}\n")
    (project.folder / "shared").mkdir()
    (project.folder / "shared" / "_one.yaml").write_text("!include _two.yaml")
    (project.folder / "shared" / "_two.yaml").write_text("!include ../scenarios/_three.yaml")
    project.write(_three="3")
    assert project.one().metadata == {"x": 3}
    (loaded,) = project.load()
    assert [Path(file).name for file in loaded.included] == ["_three.yaml", "_one.yaml", "_two.yaml"]


# What is extended.


def test_mappings_are_merged_and_lists_replaced(project: Project) -> None:
    project.write(
        a="extends: _b.yaml\nname: n\nsynthetic_user: {persona: own}\ntags: [c]\n"
        "metadata: {m: {y: 2}, l: []}\n",
        _b=f"{REST}tags: [a, b]\nmetadata: {{m: {{x: 1, y: 1}}, l: [1], only: 1}}\n",
    )
    one = project.one()
    assert (one.name, one.synthetic_user.persona, one.synthetic_user.initial_query) == ("n", "own", "q")
    assert one.tags == ("c",)
    assert one.metadata == {"m": {"x": 1, "y": 2}, "l": [], "only": 1}


def test_later_bases_come_before_earlier_ones(project: Project) -> None:
    project.write(
        a="extends: [_b.yaml, '_c.yaml#part']\nname: n\nmetadata: {d: own}\n",
        _b=f"{REST}metadata: {{a: b, c: b, m: {{x: b, y: b}}}}\n",
        _c="part:\n  extends: ignored\n  metadata: {c: c, d: c, m: {y: c}}\nextends: _d.yaml\n",
        _d="part: {metadata: {e: d, c: d}}\n",
    )
    project.write(_c="part: {metadata: {c: c, d: c, m: {y: c}}}\nextends: _d.yaml\n")
    expected = {"a": "b", "c": "c", "d": "own", "e": "d", "m": {"x": "b", "y": "c"}}
    assert project.one().metadata == expected


def test_what_is_merged_in_comes_before_the_base(project: Project) -> None:
    project.write(
        a=f"extends: _b.yaml\nname: n\n{REST}metadata: {{k: &k {{x: own}}, m: {{<<: *k}}}}\n",
        _b="metadata: {m: {x: base, y: base}}\n",
    )
    assert project.one().metadata["m"] == {"x": "own", "y": "base"}


@given(
    own=st.recursive(st.integers() | st.none(), lambda inner: st.dictionaries(st.sampled_from("abc"), inner)),
    base=st.recursive(st.integers(), lambda inner: st.dictionaries(st.sampled_from("abc"), inner)),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_it_merges_as_mappings_do(tmp_path: Path, own: Any, base: Any) -> None:
    project = Project(tmp_path)
    project.write(
        a=f"name: n\nextends: _b.yaml\n{REST}{yaml.safe_dump({'metadata': {'r': own}})}",
        _b=yaml.safe_dump({"metadata": {"r": base}}),
    )
    assert project.one().metadata["r"] == _merged(base, own)


def _merged(base: Any, own: Any) -> Any:
    if not isinstance(base, dict) or not isinstance(own, dict):
        return own
    return {**base, **own, **{key: _merged(base[key], own[key]) for key in base if key in own}}


def test_parameters_fill_in_what_is_included(project: Project) -> None:
    project.write(
        a="extends: _b.yaml\nname: n\nparameters: !include _rows.yaml\n",
        _b=REST.replace("p,", "'I want ${item}',"),
        _rows="- {item: a shoe}\n- {item: a hat}\n",
    )
    assert [one.id for one in project.load()] == ["n[a shoe]", "n[a hat]"]
    assert [one.scenario.synthetic_user.persona for one in project.load() if one.scenario] == [
        "I want a shoe",
        "I want a hat",
    ]


# The place of a mistake.


IN_A_SCENARIO = {
    # What is missing at the top is missing in the scenario, wherever the rest is.
    name: one
    for name, one in INVALID.items()
    if one.text.startswith("name: Greeting") and one.place != "1:1"
}


@pytest.mark.parametrize("wrong", IN_A_SCENARIO.values(), ids=IN_A_SCENARIO)
def test_a_mistake_in_a_base_is_there(project: Project, wrong: Wrong) -> None:
    project.write(a="# one\nextends: b.yaml\n", b=wrong.text)
    found = project.problems()
    assert any(
        one.startswith(f"scenarios/b.yaml:{wrong.place}: ")
        and wrong.words in one
        and one.endswith(" | included from scenarios/a.yaml:2")
        for one in found
    ), found


@pytest.mark.parametrize("name", VALID)
def test_what_is_valid_is_so_as_a_base(project: Project, name: str) -> None:
    project.write(a="extends: b.yaml\nname: Another\n", b=VALID[name], c="!include b.yaml")
    assert project.one("c") == project.one("b") if project.load("b")[0].scenario else True
    assert [one.skip for one in project.load()] == [one.skip for one in project.load("b")]


def test_the_way_to_a_mistake_is_named(project: Project) -> None:
    project.write(
        a=f"name: n\n{REST}tags:\n  - !include _one.yaml#deep.tags\n",
        _one="deep:\n  tags: !include _two.yaml\n",
        _two="- good\n- 7\n",
    )
    assert project.problems() == [
        "scenarios/_two.yaml:2:3: tags[1]: must be text, got the number 7; put it in quotes if you mean "
        'the text: "7" | included from scenarios/_one.yaml:2 | included from scenarios/a.yaml:6'
    ]


def test_a_file_that_is_included_twice_is_named_with_both_ways(project: Project) -> None:
    project.write(
        a=f"name: n\n{REST}config:\n  judge: !include _m.yaml\n  synthetic_user: !include _m.yaml\n",
        _m="temperature: 9\n",
    )
    assert [one.split("|")[1] for one in project.problems()] == [
        " included from scenarios/a.yaml:6",
        " included from scenarios/a.yaml:7",
    ]


def test_a_key_in_our_file_is_ours_though_its_value_is_included(project: Project) -> None:
    project.write(a=f"name: n\n{REST}colour: !include _c.yaml\n", _c="red\n")
    (problem,) = project.problems()
    assert problem.startswith("scenarios/a.yaml:5:1: colour: unknown key")


def test_bases_of_bases(project: Project) -> None:
    project.write(
        a="extends: _b.yaml\nname: n\nsynthetic_user: {max_turns: 4}\n",
        _b="extends: _c.yaml\nsynthetic_user: {persona: 5}\n",
        _c=REST.replace("initial_query: q", "initial_query: 6") + "tags: 3\n",
    )
    found = [one.partition(" | ") for one in project.problems()]
    assert [(place.partition(", got")[0], chain) for place, _, chain in found] == [
        (
            "scenarios/_b.yaml:2:27: synthetic_user.persona: must be text",
            "included from scenarios/a.yaml:1",
        ),
        (
            "scenarios/_c.yaml:2:45: synthetic_user.initial_query: must be text",
            "included from scenarios/_b.yaml:1 | included from scenarios/a.yaml:1",
        ),
        (
            "scenarios/_c.yaml:4:7: tags: must be a list",
            "included from scenarios/_b.yaml:1 | included from scenarios/a.yaml:1",
        ),
    ]


def test_mistakes_of_yaml_in_an_included_file(project: Project) -> None:
    project.write(
        a=f"name: n\n{REST}metadata: {{x: !include _x.yaml, y: !include _y.yaml, z: !include _z.yaml}}\n"
        "---\nextends: _x.yaml\n",
        _x="a: b: c\n",
        _y="a: 1\na: 2\n",
        _z="a: !secret x\n",
    )
    assert project.problems() == [
        "scenarios/_x.yaml:1:5: invalid YAML: an unquoted `: ` within a text; put the text in quotes"
        " | included from scenarios/a.yaml:5"
    ]
    project.write(_x="a: 1\n")
    found = sorted(project.problems())
    assert found[0].startswith("scenarios/_y.yaml:2:1: metadata.y.a: the key `a` is given twice")
    assert found[1].startswith("scenarios/_z.yaml:1:4: metadata.z.a: the tag `!secret` isn't supported here")
    assert all(one.endswith("included from scenarios/a.yaml:5") for one in found[:2])


def test_lines_are_right_in_a_broken_file(project: Project) -> None:
    project.write(
        a=f"a: b: c\n---\nname: n\n{REST}tags: [!include _t.yaml, !include _none.yaml]\n", _t="- 7\n"
    )
    first, second = project.problems()
    assert first.startswith("scenarios/a.yaml:1:5: invalid YAML")
    assert second.startswith("scenarios/a.yaml:7:26: tags[1]: there is no file scenarios/_none.yaml")
    project.write(_none="- ok\n")
    assert project.problems()[1].endswith("included from scenarios/a.yaml:7")


REFUSED = {
    "missing": ("_persona.yaml", "there is no file scenarios/_persona.yaml; did you mean `_personas.yaml`?"),
    "missing folder": ("no/_p.yaml", "there is no file scenarios/no/_p.yaml; there is no folder `no` either"),
    "no name": ("", "`!include` names no file; write `!include _persona.yaml`"),
    "only a key": ("'#a'", "`!include` names no file; for a part of the same file, use an anchor"),
    "absolute": ("/etc/passwd.yaml", "it has to be relative to this file"),
    "home": ("~/x.yaml", "it has to be relative to this file"),
    "drive": ("C:/x.yaml", "it has to be relative to this file"),
    "backslash": ("sub\\x.yaml", "write `/` between folders"),
    "address": ("https://example.com/x.yaml", "only files of the project can be included, not addresses"),
    "other ending": ("../.env", "only files of YAML and JSON can be included"),
    "outside": ("../../outside.yaml", "it is outside of the project, which is "),
    "parameter": ("'_${x}.yaml'", "files are included before parameters are filled in"),
    "control character": ('"a\\0.yaml"', "that can't be the name of a file"),
    "a mapping": ("{file: _p.yaml}", "`!include` takes the name of a file"),
    "a list": ("[_p.yaml]", "`!include` takes the name of a file"),
    "no such key": ("_personas.yaml#calmm", "scenarios/_personas.yaml has no `calmm`; did you mean `calm`?"),
    "no such key below": ("_personas.yaml#calm.x", "scenarios/_personas.yaml has no `calm.x`"),
    "nothing after the mark": ("'_personas.yaml#'", "scenarios/_personas.yaml has no ``; it has calm"),
    "two documents": ("_two.yaml", "it has 2 documents; what is included is one"),
    "an empty file": ("_empty.yaml", "this file can't be included: it is empty"),
    "itself": (
        "a.yaml",
        "this is a circle: scenarios/a.yaml → scenarios/a.yaml; for a part of the same file",
    ),
    "a circle": (
        "_circle.yaml",
        "this is a circle: scenarios/a.yaml → scenarios/_circle.yaml → scenarios/a.yaml",
    ),
    "a folder": ("_folder.yaml", "this is a folder, not a file"),
    "a long name": ("x" * 300 + ".yaml", "there is no file"),
}


@pytest.fixture
def files(project: Project, tmp_path: Path) -> Project:
    (tmp_path.parent / "outside.yaml").write_text("secret: 1")
    (tmp_path / "scenarios" / "_folder.yaml").mkdir(parents=True)
    return project.write(
        _personas="calm: c\n", _two="a: 1\n---\nb: 2\n", _empty="# nothing\n", _circle="x: !include a.yaml\n"
    )


@pytest.mark.parametrize("name", REFUSED)
def test_what_cant_be_included_is_said(files: Project, name: str) -> None:
    reference, words = REFUSED[name]
    files.write(a=f"name: n\n{REST}metadata: {{x: !include {reference} }}\n")
    (problem,) = files.problems()
    assert words in problem
    assert "scenarios/a.yaml:5" in problem
    assert "secret" not in problem


@pytest.mark.parametrize("name", [name for name in REFUSED if name not in ("a mapping", "a list")])
def test_what_cant_be_extended_is_said(files: Project, name: str) -> None:
    reference, words = REFUSED[name]
    files.write(a=f"name: n\nextends:\n  - {reference or chr(39) * 2}\n{REST}")
    (problem,) = files.problems()
    assert words.replace("!include", "extends").partition("; write")[0] in problem
    assert "scenarios/a.yaml:3" in problem


@pytest.mark.parametrize(
    ("extends", "words"),
    [
        ("[]", "a.yaml:2:10: extends: names no file; leave out `extends`"),
        ("", "a.yaml:2:9: extends: `extends` names no file; write `extends: _base.yaml`"),
        ("{a: b}", "a.yaml:2:10: extends: `extends` takes the name of a file"),
        ("[[_b.yaml]]", "a.yaml:2:11: extends[0]: `extends` takes the name of a file"),
        ("_list.yaml", "a.yaml:2:10: extends: `_list.yaml` isn't a mapping, so nothing can extend it"),
        ("_b.yaml\nextends: _b.yaml", "a.yaml:3:1: extends: the key `extends` is given twice"),
    ],
)
def test_wrong_forms_of_extends(project: Project, extends: str, words: str) -> None:
    project.write(a=f"name: n\nextends: {extends}\n{REST}", _b="tags: [x]\n", _list="- x\n")
    assert [one for one in project.problems() if words in one]


def test_links_within_the_project_are_followed(project: Project) -> None:
    project.write(a=f"name: n\n{REST}metadata: {{x: !include _link.yaml}}\n", _real="1")
    (project.folder / "scenarios" / "_link.yaml").symlink_to("_real.yaml")
    assert project.one().metadata == {"x": 1}


def test_links_out_of_the_project_are_not(files: Project, tmp_path: Path) -> None:
    (tmp_path / "scenarios" / "_link.yaml").symlink_to(tmp_path.parent / "outside.yaml")
    files.write(a=f"name: n\n{REST}metadata: {{x: !include _link.yaml}}\n")
    (problem,) = files.problems()
    assert "through a symbolic link it leads outside of the project" in problem


def test_a_circle_through_a_link_is_one(project: Project) -> None:
    project.write(a=f"name: n\n{REST}metadata: {{x: !include _link.yaml}}\n")
    (project.folder / "scenarios" / "_link.yaml").symlink_to("a.yaml")
    (problem,) = project.problems()
    assert "this is a circle" in problem


def test_a_build_in_a_folder_of_links_works(tmp_path: Path) -> None:
    source = Project(tmp_path / "source") if (tmp_path / "source").mkdir() is None else None
    assert source is not None
    source.write(a=f"name: n\n{REST}metadata: {{x: !include _x.yaml}}\n", _x="1")
    sandbox = tmp_path / "sandbox"
    (sandbox / "scenarios").mkdir(parents=True)
    for name in ("a.yaml", "_x.yaml"):
        (sandbox / "scenarios" / name).symlink_to(source.folder / "scenarios" / name)
    (loaded,) = load_scenarios(sandbox / "scenarios" / "a.yaml")
    assert loaded.scenario is not None
    assert loaded.scenario.metadata == {"x": 1}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_a_pipe_is_no_file(project: Project) -> None:
    project.write(a=f"name: n\n{REST}metadata: {{x: !include _pipe.yaml}}\n")
    os.mkfifo(project.folder / "scenarios" / "_pipe.yaml")
    assert "named pipe" in project.problems()[0]


def test_a_shared_folder_of_a_checkout_may_be_used(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "_x.yaml").write_text("1")
    (tmp_path / "package").mkdir()
    project = Project(tmp_path / "package").write(
        a=f"name: n\n{REST}metadata: {{x: !include ../../_x.yaml}}\n"
    )
    assert project.one().metadata == {"x": 1}


# Limits hold for all files together.


def test_the_bytes_of_all_files_count(project: Project) -> None:
    project.write(
        a=f"name: n\n{REST}metadata: {{x: !include _x.yaml, y: !include _y.yaml}}\n",
        _x=f"'{'x' * (MAX_BYTES // 2)}'",
        _y=f"'{'y' * (MAX_BYTES // 2)}'",
    )
    (problem,) = project.problems()
    assert "the files together have more than 1 MB" in problem
    assert problem.endswith("included from scenarios/a.yaml:5")
    project.write(_y="1")
    assert project.one().metadata["y"] == 1


def test_the_number_of_files_has_a_limit(project: Project) -> None:
    project.write(
        a=f"name: n\n{REST}tags: [{', '.join(f'!include _{n}.yaml' for n in range(MAX_FILES + 1))}]\n"
    )
    project.write(**{f"_{number}": "x" for number in range(MAX_FILES + 1)})
    (problem,) = project.problems()
    assert f"more than {MAX_FILES} files are included" in problem


def test_files_in_a_row_have_a_limit(project: Project) -> None:
    project.write(a=f"name: n\n{REST}metadata: !include _0.yaml\n")
    project.write(**{f"_{number}": f"x: !include _{number + 1}.yaml\n" for number in range(30)}, _30="1")
    (problem,) = project.problems()
    assert "more than 20 files include each other in a row" in problem


def test_nesting_counts_over_files(project: Project) -> None:
    deep = "[" * 40 + "]" * 40
    project.write(a=f"name: n\n{REST}metadata: {{x: {deep[:40]}!include _x.yaml {deep[40:]}}}\n", _x=deep)
    assert "nested more than 60 levels deep" in project.problems()[0]


@pytest.mark.parametrize("kind", ["lists", "mappings", "bases"])
def test_a_small_bomb_does_no_harm(project: Project, kind: str) -> None:
    def level(number: int) -> str:
        if kind == "lists":
            return "\n".join(f"- !include _{number}.yaml" for _ in range(30))
        if kind == "mappings":
            return "\n".join(f"k{index}: !include _{number}.yaml" for index in range(30))
        return (
            f"extends: [{', '.join([f'_{number}.yaml'] * 30)}]\nk{number}: {{x: !include _{number}.yaml}}\n"
        )

    last = "k: {x: {y: {z: long text}}}" if kind != "lists" else "- x"
    project.write(a=f"name: n\n{REST}metadata: {{x: !include _1.yaml}}\n", _9=last)
    project.write(**{f"_{number}": level(number + 1) for number in range(1, 9)})
    found = [*project.problems()] if kind != "bases" else []
    assert kind == "bases" or "more than" in found[0]
    if kind == "bases":
        project.load()


def test_a_cycle_of_aliases_is_found_in_a_base(project: Project) -> None:
    project.write(a="extends: _b.yaml\nname: n\nmetadata: &m {m: *m}\n", _b=f"{REST}metadata: &m {{m: *m}}\n")
    assert "nested more than 60 levels" in project.problems()[0]


# Every door.


def test_a_text_without_a_folder_cant_include(tmp_path: Path) -> None:
    text = f"name: n\n{REST}metadata: {{x: !include _x.yaml}}\n"
    for door in (parse_scenarios, coerce.loaded):
        with pytest.raises(ScenarioFileError, match="a text that isn't in a file can't include one"):
            door(text)  # type: ignore[operator]
    (tmp_path / "_x.yaml").write_text("1")
    (loaded,) = parse_scenarios(text, base=tmp_path)
    assert loaded.scenario is not None
    assert loaded.scenario.metadata == {"x": 1}


def test_a_mapping_cant_extend() -> None:
    given = {"name": "n", **yaml.safe_load(REST), "extends": "_b.yaml"}
    with pytest.raises(ScenarioFileError, match="a text that isn't in a file can't include one"):
        coerce.loaded(given)


def test_an_include_in_quotes_is_a_mistake(project: Project) -> None:
    project.write(a=f"name: n\n{REST}tags: ['!include _t.yaml#x']\n")
    (problem,) = project.problems()
    assert problem.endswith("tags[0]: in quotes, this is a text; write `!include _t.yaml#x` without them")


@pytest.mark.parametrize("tag", ["!Include", "!includes", "!inlcude"])
def test_a_misspelt_tag_is_named(project: Project, tag: str) -> None:
    project.write(a=f"name: n\n{REST}metadata: {{x: {tag} _t.yaml}}\n")
    (problem,) = project.problems()
    assert problem.endswith(f"the tag `{tag}` isn't supported here; did you mean `!include`?")


def test_a_mapping_that_is_merged_into_itself(project: Project) -> None:
    project.write(a=f"name: n\n{REST}metadata: !include _b.yaml#a.zzz\n", _b="a: &a {<<: *a, x: 1}\n")
    (problem,) = project.problems()
    assert "scenarios/_b.yaml has no `a.zzz`" in problem
    project.write(a=f"extends: _b.yaml\nname: n\n{REST}", _b="metadata: &a {<<: *a, x: 1}\n")
    (problem,) = project.problems()
    assert "this has no end" in problem


def test_other_files_of_ours_cant_include() -> None:
    (problem,) = parse("a: !include b.yaml\n", "labels.yaml").problems
    assert "the tag `!include` isn't supported here" in problem.message


def test_every_value_has_its_place(project: Project) -> None:
    project.write(
        a=f"name: n\nextends: _b.yaml\n{REST}"
        "metadata: {x: !include _x.yaml#part, l: [!include _l.yaml, own]}\n",
        _b="metadata: {base: {deep: [1]}}\ntags: [t]\n",
        _x="part: {one: 1, two: [2, {three: 3}]}\n",
        _l="- first\n- {second: 2}\n",
    )
    ((_, document),) = load_documents(project.folder / "scenarios" / "a.yaml", file="scenarios/a.yaml")
    for loc, value in _leaves(document.value, ()):
        assert document.has(loc)
        assert yaml.safe_load(document.written(loc)) == value
        problem = document.problem(loc, "x")
        line = document.content_of(problem.file).splitlines()[problem.line - 1]
        assert line[problem.column - 1 :].startswith(document.written(loc))


def _leaves(value: Any, loc: Loc) -> list[tuple[Loc, Any]]:
    if isinstance(value, dict):
        return [leaf for key, inner in value.items() for leaf in _leaves(inner, (*loc, key))]
    if isinstance(value, list):
        return [leaf for index, inner in enumerate(value) for leaf in _leaves(inner, (*loc, index))]
    return [(loc, value)]


VAGUE = """\
synthetic_user: {persona: p, initial_query: q}
evaluation:
  correctness_criteria:
    - The agent is helpful
"""


def test_lint_finds_a_fault_once_and_where_it_is(project: Project) -> None:
    one = "name: %s\ndescription: d\nextends: _b.yaml\nparameters: %s\n"
    project.write(
        a=one % ("n", "{q: [x, y]}") + "---\n" + one % ("m", "[{q: z}]"),
        _b=VAGUE.replace("query: q", "query: '${q}'"),
    )
    found = lint_file(project.folder / "scenarios" / "a.yaml", file="scenarios/a.yaml")
    at_criterion = [(one.problem.file, one.scenario) for one in found if one.problem.line == 4]
    assert at_criterion == [("scenarios/_b.yaml", "n[x]")]


def test_lint_reads_comments_where_the_fault_is(project: Project) -> None:
    short = "name: n\ndescription: d\nextends: _b.yaml%s\n"
    project.write(a=short % "", _b=VAGUE)
    path = project.folder / "scenarios" / "a.yaml"
    rules = {one.rule for one in lint_file(path) if one.problem.line == 4}
    assert rules
    comment = f"# convoprobe: ignore={','.join(rules)}"
    project.write(_b=VAGUE.replace("    - The", f"    {comment}\n    - The"))
    assert not rules & {one.rule for one in lint_file(path)}
    project.write(a=short % f" {comment}", _b=VAGUE)
    assert not rules & {one.rule for one in lint_file(path)}


# Which files are scenario files.


def test_all_keys_of_a_scenario_are_known() -> None:
    assert set(ScenarioDocument.model_fields) == SCENARIO_KEYS


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("name: n\nextends: _base.yaml\n", True),
        ("extends: _base.yaml\nname: n\nparameters: []\ntags: []\n", True),
        ("name: n\n---\nname: m\nextends: _base.yaml\n", True),
        ("extends: _base.yaml\n", False),
        ("name: n\nextends: other\nservices: {}\n", False),
        ("name: n\nparameters: []\n", False),
    ],
)
def test_a_file_that_only_extends_is_a_scenario_file(tmp_path: Path, text: str, is_one: bool) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(text)
    assert looks_like_scenario(path) is is_one
    if is_one:
        assert not looks_like_labels(path, known=True)
