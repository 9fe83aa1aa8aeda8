"""Source is parsed although other threads parse at the same time."""

from __future__ import annotations

import ast
import gc
import inspect
import sys
import threading
from collections.abc import Iterator

import pytest

from pytest_convoprobe import redaction
from pytest_convoprobe.source_trees import source_tree

SOURCE = inspect.getsource(redaction)


@pytest.fixture
def threads_take_turns() -> Iterator[None]:
    """Each collection of garbage, in the middle of parsing, gives another thread its turn."""

    def turn(phase: str, info: dict[str, int]) -> None:
        sum(range(30))

    interval, threshold = sys.getswitchinterval(), gc.get_threshold()
    gc.callbacks.append(turn)
    sys.setswitchinterval(1e-6)
    gc.set_threshold(50)
    try:
        yield
    finally:
        gc.set_threshold(*threshold)
        sys.setswitchinterval(interval)
        gc.callbacks.remove(turn)


@pytest.mark.usefixtures("threads_take_turns")
def test_threads_that_parse_at_once_all_get_their_tree() -> None:
    found: list[object] = []

    def parse() -> None:
        for _ in range(10):
            try:
                found.append(type(source_tree(SOURCE)))
            except SystemError as error:
                found.append(error)

    threads = [threading.Thread(target=parse) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [ast.Module] * 40


def test_a_parser_that_is_disturbed_by_others_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    parse, faults = ast.parse, [SystemError("AST constructor recursion depth mismatch")] * 4

    def disturbed(source: str) -> ast.Module:
        if faults:
            raise faults.pop()
        return parse(source)

    monkeypatch.setattr(ast, "parse", disturbed)
    assert isinstance(source_tree("a = 1"), ast.Module)
    faults += [SystemError("AST constructor recursion depth mismatch")] * 5
    with pytest.raises(SystemError):
        source_tree("a = 1")


@pytest.mark.parametrize(("source", "error"), [("def (", SyntaxError), ("a\0b", (SyntaxError, ValueError))])
def test_what_is_wrong_with_the_source_is_said_at_once(source: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        source_tree(source)
