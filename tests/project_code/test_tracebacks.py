from __future__ import annotations

import json
from pathlib import Path

from pytest_convoprobe.project_code.tracebacks import describe, short_trace


def caught(code: str, file: str = "agent.py") -> BaseException:
    try:
        exec(compile(code, file, "exec"), {})
    except Exception as error:  # noqa: BLE001 - whatever the code of a test raises
        return error
    raise AssertionError("the code was to raise")


def test_an_error_is_its_type_and_text() -> None:
    assert describe(KeyError("gizmo")) == "KeyError: 'gizmo'"


def test_an_error_without_text_is_its_type() -> None:
    assert describe(TimeoutError()) == "TimeoutError"


def test_a_text_of_many_lines_becomes_one() -> None:
    assert describe(ValueError("one\n  two")) == "ValueError: one two"


def test_a_key_in_the_text_is_masked() -> None:
    shown = describe(ValueError("bad key sk-abcdefghijklmnopqrstuvwx1234 given"))
    assert "abcdefghij" not in shown
    assert shown.startswith("ValueError: bad key ")


def test_escape_sequences_are_made_visible() -> None:
    assert describe(ValueError("\x1b[2J")) == "ValueError: \\x1b[2J"


def test_a_long_text_is_cut() -> None:
    assert len(describe(ValueError("x" * 10_000))) < 600


def test_a_broken_str_loses_nothing_but_the_text() -> None:
    class Broken(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    assert describe(Broken()).endswith("Broken: (its text can't be had)")


def test_the_standard_library_is_left_out() -> None:
    try:
        json.loads("{")
    except ValueError as error:
        lines = short_trace(error).splitlines()
    assert [line for line in lines if "test_tracebacks.py" in line]
    assert not [line for line in lines if "decoder.py" in line]


def test_never_more_than_eight_lines() -> None:
    depth = "\n".join(f"def f{number}(): f{number + 1}()" for number in range(20))
    error = caught(f"{depth}\ndef f20():\n    raise ValueError('x') from KeyError('y')\nf0()")
    lines = short_trace(error).splitlines()
    assert len(lines) <= 8
    assert lines[-2:] == ["ValueError: x", "caused by KeyError: 'y'"]


def test_files_below_the_working_directory_are_shown_relative() -> None:
    error = caught("1 / 0", str(Path.cwd() / "bots" / "agent.py"))
    assert str(Path("bots", "agent.py:1: in <module>")) in short_trace(error).splitlines()
