from __future__ import annotations

import os
from pathlib import Path

import pytest
import yaml

from pytest_convoprobe.yaml_source import MAX_BYTES, parse, read
from pytest_convoprobe.yaml_source.nodes import MAX_PROBLEMS
from pytest_convoprobe.yaml_source.text import Text

PARSE_MODULE = "pytest_convoprobe.yaml_source.nodes"

SYNTAX = {
    "a: b: c": ("1:5", "an unquoted `: ` within a text; put the text in quotes"),
    "é😀: b: c": ("1:6", "an unquoted `: ` within a text"),
    "a: b\n c: d": ("2:3", "check the indentation"),
    "a:\n\t- b": ("2:1", "a tab; YAML is indented with spaces only"),
    "- @me": ("1:3", "a text can't start with '@'; put the text in quotes"),
    "- `x`": ("1:3", "a text can't start with '`'"),
    "- '": ("1:3", "a quote that is never closed"),
    "a: 'x\nb: 2\n": ("1:4", "a quote that is never closed"),
    "a: [1": ("1:4", "a `[` that is never closed"),
    "a: {b: 1": ("1:4", "a `{` that is never closed"),
    "a: {b: ${c}}": ("1:8", 'within `{…}` and `[…]`, a text with a parameter needs quotes: `"${c}"`'),
    "a:\n  [x, y ${c} z]": ("2:9", "a text with a parameter needs quotes"),
    "a: {b: x {c} }": ("1:4", "something in it that needs quotes"),
    '- "x" y': ("1:7", "something after its closing quote"),
    "a: 1\n- b": ("2:1", "keys of one mapping have the same indentation"),
    "a: 1\nb\nc: 2": ("2:1", "neither `key: value` nor an item of a list"),
    'a: "\\q"': ("1:5", "an unknown escape in double quotes"),
    "- *x": ("1:3", "the anchor `&x` of the alias `*x` isn't defined"),
    "a: &foo 1\nb: *fo": ("2:4", "did you mean `*foo`?"),
    "%YAML 3.0\n---\na: 1": ("1:1", "`%YAML`"),
    "[" * 2000: ("1:1001", "nested too deeply"),
}


def told(data: str | bytes) -> list[str]:
    return [str(problem).splitlines()[0] for problem in parse(data, "f.yaml").problems]


@pytest.mark.parametrize("text", SYNTAX, ids=lambda text: repr(text[:20]))
def test_an_error_of_syntax_in_words(text: str) -> None:
    place, words = SYNTAX[text]
    (line,) = told(text)
    assert line.startswith(f"f.yaml:{place}: invalid YAML: ")
    assert words in line


@pytest.mark.parametrize("text", [text for text in SYNTAX if len(text) < 100], ids=repr)
def test_the_parser_in_python_leads_to_the_same_line(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{PARSE_MODULE}._Loader", yaml.SafeLoader)
    (problem,) = parse(text, "f.yaml").problems
    assert problem.line == int(SYNTAX[text][0].split(":")[0])
    assert problem.message.startswith("invalid YAML: ")


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ("a: 1\nb: 2\na: 3", "f.yaml:3:1: a: the key `a` is given twice (the first is 2 lines above)"),
        ("{a: 1, a: 2}", "f.yaml:1:8: a: the key `a` is given twice (the first is on the same line)"),
        ("x: {yes: 1}", "f.yaml:1:5: x: a key must be text, but YAML reads `yes` as a boolean; quote it"),
        ("5: 1", "f.yaml:1:1: a key must be text, but YAML reads `5` as a number; quote it"),
        ("? [a]\n: b", "f.yaml:1:3: a key must be text, got a list"),
        ("a: !secret x", "f.yaml:1:4: a: the tag `!secret` isn't supported here"),
        ("a: !!python/object/apply:os.getcwd []", "f.yaml:1:4: a: the tag `!!python/object/apply:os.getcwd`"),
        ("a: !!int x", "f.yaml:1:4: a: `x` can't be read as int; quote it"),
        ("<<: 5", "f.yaml:1:5: `<<` merges mappings only"),
        ("a: &x [*x]", "f.yaml:1:4: a[0]: an alias inside of what it refers to"),
        ("a: &x {<<: *x}", "f.yaml:1:4: a: an alias inside of what it refers to"),
        ("- " * 80 + "a", "nested more than 60 levels deep"),
        ("a: \x07", "f.yaml:1:4: the control character U+0007 isn't allowed in YAML"),
        (b"a: 1\nb: caf\xe9\n", "f.yaml:2:7: this isn't UTF-8 (the byte 0xE9 at offset 11)"),
        (b"a: b\0c", "f.yaml:1:5: a NUL character: this isn't a text file"),
        ("a: b".encode("utf-16"), "f.yaml:1:1: the file is in UTF-16 or UTF-32; save it as UTF-8"),
    ],
)
def test_what_may_not_stand_in_a_file(data: str | bytes, expected: str) -> None:
    (line,) = told(data)
    assert expected in line


def test_nothing_of_a_tag_is_carried_out(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    parse(f"a: !!python/object/apply:os.mkdir [{mark}]")
    assert not mark.exists()


def test_aliases_that_expand_without_end() -> None:
    levels = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 30))
    (line,) = told(f"a0: &a0 [lol]\n{levels}")
    assert "written out, the aliases make more than 5,000,000 characters" in line


def test_merges_that_expand_without_end() -> None:
    levels = "".join(f"a{n}: &a{n} {{<<: [*a{n - 1}, *a{n - 1}]}}\n" for n in range(1, 60))
    (line,) = told(f"a0: &a0 {{x: 1}}\n{levels}")
    assert "written out, the aliases make more than" in line


def test_a_few_aliases_are_fine() -> None:
    parsed = parse("a: &x [1, 2]\nb: *x\nc: {<<: {d: 1}, e: 2}\nf: {<<: [{g: 1}, {g: 2}], g: 3}")
    assert parsed.problems == ()
    assert parsed.documents[0].value == {"a": [1, 2], "b": [1, 2], "c": {"d": 1, "e": 2}, "f": {"g": 3}}


def test_the_first_of_merged_mappings_wins() -> None:
    assert parse("{<<: [{g: 1}, {g: 2}]}").documents[0].value == {"g": 1}


def test_plain_values() -> None:
    text = "{a: 1, b: 1.5, c: yes, d: ~, e: 2024-01-31, f: 12:30, g: '1', h: 0x1F, i: =}"
    assert parse(text).documents[0].value == {
        "a": 1,
        "b": 1.5,
        "c": True,
        "d": None,
        "e": "2024-01-31",
        "f": "12:30",
        "g": "1",
        "h": 31,
        "i": "=",
    }


def test_the_documents_beside_a_broken_one_are_read() -> None:
    parsed = parse("---\na: b: c\n---\ngood: 1\n--- # comment\nz: [\n", "f.yaml")
    assert [document.value for document in parsed.documents] == [{"good": 1}]
    assert parsed.documents[0].first_line == 4
    assert [problem.line for problem in parsed.problems] == [2, 6]


def test_dashes_in_a_text_do_not_begin_a_document() -> None:
    parsed = parse("a: |\n  ---\n  b\nc: [\n", "f.yaml")
    assert [problem.line for problem in parsed.problems] == [4]


def test_too_many_problems_are_cut() -> None:
    assert len(parse("---\na: [\n" * 5000).problems) == MAX_PROBLEMS


def test_too_many_documents_are_cut() -> None:
    parsed = parse("---\na: 1\n" * 1002, "f.yaml")
    assert len(parsed.documents) == 1000
    assert [str(problem).splitlines()[0] for problem in parsed.problems] == [
        "f.yaml:2002:1: more than 1,000 documents; split the file"
    ]


def test_a_large_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "large.yaml"
    file.write_bytes(b"- some text\n" * 850_000)
    (problem,) = read(file).problems
    assert "the file is too large: 10.2 MB, and at most 1 MB are read" in problem.message


def test_a_file_of_the_largest_size_is_read(tmp_path: Path) -> None:
    file = tmp_path / "large.yaml"
    file.write_bytes(b"a: |\n  " + b"x" * (MAX_BYTES - 7))
    assert read(file).problems == ()


def test_a_folder(tmp_path: Path) -> None:
    assert str(read(tmp_path, "here").problems[0]) == "here: this is a folder, not a file"


def test_a_missing_file(tmp_path: Path) -> None:
    (problem,) = read(tmp_path / "none.yaml", "none.yaml").problems
    assert str(problem) == "none.yaml: the file can't be read: No such file or directory"


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="everything is readable here")
def test_an_unreadable_file(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text("a: 1")
    file.chmod(0)
    assert "Permission denied" in read(file).problems[0].message


def test_a_problem_past_the_end_is_shown_at_the_end() -> None:
    problem = Text("f.yaml", "a: [\n\n").problem("x", 9, 1)
    assert (problem.line, problem.column, problem.source_line) == (1, 5, "a: [")


def test_the_caret_stands_below_what_it_means() -> None:
    (problem,) = parse("中文: b: c", "f.yaml").problems
    assert str(problem).splitlines()[1:] == ["    中文: b: c", "           ^"]


def test_a_long_line_is_cut_around_the_place() -> None:
    (problem,) = parse("a: " + "x" * 200 + ": y", "f.yaml").problems
    shown, caret = str(problem).splitlines()[1:]
    assert len(shown) <= 104
    assert shown[caret.index("^")] == ":"


def test_a_source_line_cannot_move_the_cursor() -> None:
    (problem,) = parse("a: \u202eb: c", "f.yaml").problems
    assert "\u202e" not in str(problem)
