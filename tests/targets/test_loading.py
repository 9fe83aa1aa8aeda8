from __future__ import annotations

import asyncio
import dataclasses
import importlib
import pickle
import sys
import threading
from pathlib import Path
from types import ModuleType

import pytest

from pytest_convoprobe.errors import TargetStartError
from pytest_convoprobe.targets.loading import Once, load_object, parse_reference


def load(text: str, rootdir: Path) -> object:
    return load_object(parse_reference(text), rootdir)


@pytest.fixture(autouse=True)
def _modules() -> object:
    """What a test imports is forgotten again: the folders of the tests differ, the names don't."""
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        del sys.modules[name]


@pytest.mark.parametrize("text", ["agent", "agent:", ":answer", "a b:c", "agent:1x", "agent:a.", "-m:x", ""])
def test_what_is_no_reference_says_how_to_write_one(text: str) -> None:
    with pytest.raises(TargetStartError, match=r"write `package.module:object` or `path/file.py:object`"):
        parse_reference(text)


def test_a_windows_path_is_a_file() -> None:
    reference = parse_reference(r"C:\agents\shop.py:Agent")
    assert (reference.module, reference.attribute, reference.is_file) == (r"C:\agents\shop.py", "Agent", True)


def test_an_object_of_an_installed_module(tmp_path: Path) -> None:
    import json

    assert load("json:dumps", tmp_path) is json.dumps


def test_a_module_beside_the_settings(tmp_path: Path) -> None:
    (tmp_path / "my_agent.py").write_text("def answer(message): return message")
    assert load("my_agent:answer", tmp_path).__name__ == "answer"  # type: ignore[attr-defined]


def test_a_file_relative_to_the_root(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "my agent-v2.py").write_text("class Agent:\n    class Inner:\n        size = 3")
    assert load("src/my agent-v2.py:Agent.Inner.size", tmp_path) == 3


def test_a_file_imports_its_neighbours(tmp_path: Path) -> None:
    (tmp_path / "helpers_beside.py").write_text("word = 'beside'")
    (tmp_path / "agent.py").write_text("import helpers_beside\nword = helpers_beside.word")
    assert load("agent.py:word", tmp_path) == "beside"


def test_a_file_in_a_package_may_import_relatively(tmp_path: Path) -> None:
    package = tmp_path / "src" / "shop_package" / "bots"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package.parent / "__init__.py").touch()
    (package.parent / "stock.py").write_text("word = 'stock'")
    (package / "agent.py").write_text("from ..stock import word\nname = __name__")
    assert load("src/shop_package/bots/agent.py:word", tmp_path) == "stock"
    assert load("src/shop_package/bots/agent.py:name", tmp_path) == "shop_package.bots.agent"


def test_a_package_hidden_by_another_of_its_name_is_an_error(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        package = tmp_path / folder / "same_package"
        package.mkdir(parents=True)
        (package / "__init__.py").touch()
        (package / "agent.py").write_text(f"word = '{folder}'")
    load("one/same_package/agent.py:word", tmp_path)
    with pytest.raises(TargetStartError, match=r"`same_package.agent` is already .*one"):
        load("two/same_package/agent.py:word", tmp_path)


def test_the_path_is_left_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text("x = 1")
    before = list(sys.path)
    load("agent.py:x", tmp_path)
    assert sys.path == before


def test_a_file_is_loaded_once(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text("def one(): ...\ndef two(): ...")
    one, two = load("agent.py:one", tmp_path), load("agent.py:two", tmp_path)
    assert one.__globals__ is two.__globals__  # type: ignore[attr-defined]


def test_two_files_of_one_name_stay_apart(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "agent.py").write_text(f"word = '{folder}'")
    assert [load(f"{folder}/agent.py:word", tmp_path) for folder in ("a", "b")] == ["a", "b"]


def test_classes_of_a_file_can_be_pickled(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(
        "from __future__ import annotations\nimport dataclasses\n"
        "@dataclasses.dataclass\nclass Order:\n    number: int"
    )
    order = load("agent.py:Order", tmp_path)(7)  # type: ignore[operator]
    assert dataclasses.asdict(pickle.loads(pickle.dumps(order))) == {"number": 7}


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(TargetStartError, match=r"`gone.py:x`: there is no file .*gone\.py"):
        load("gone.py:x", tmp_path)


def test_a_missing_module_is_named_with_the_places_that_were_searched(tmp_path: Path) -> None:
    with pytest.raises(TargetStartError) as caught:
        load("no_such_module.sub:x", tmp_path)
    assert str(caught.value) == (
        f"can't import `no_such_module.sub`: there is no module `no_such_module` in {tmp_path} "
        "or on Python's path"
    )


def test_a_module_that_another_one_misses_is_shown_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "needy.py").write_text("import no_such_module\n")
    with pytest.raises(TargetStartError, match=r"can't import `needy`: ModuleNotFoundError") as caught:
        load("needy:x", tmp_path)
    assert "    import no_such_module" in caught.value.trace.splitlines()


def test_a_missing_object_suggests_a_near_one(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text("def answer(message): ...")
    with pytest.raises(TargetStartError, match=r"no `anwser` in .*agent.py; did you mean `answer`\?"):
        load("agent.py:anwser", tmp_path)


def test_an_error_while_importing_shows_the_users_lines(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text("import json\n\nsettings = json.loads('{')\n")
    with pytest.raises(TargetStartError, match=r"can't import `agent.py`: JSONDecodeError") as caught:
        load("agent.py:answer", tmp_path)
    lines = caught.value.trace.splitlines()
    assert lines[0].endswith("agent.py:3: in <module>")
    assert lines[1] == "    settings = json.loads('{')"
    assert len(lines) == 3


def test_a_syntax_error_shows_its_line(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text("def answer(message)\n    return message\n")
    with pytest.raises(TargetStartError, match="SyntaxError") as caught:
        load("agent.py:answer", tmp_path)
    assert "agent.py:1" in caught.value.trace
    assert "def answer(message)" in caught.value.trace


def test_a_module_that_exits_does_not_end_the_run(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text("raise SystemExit('usage: agent')")
    with pytest.raises(TargetStartError, match="SystemExit: usage: agent"):
        load("agent.py:answer", tmp_path)


def test_a_file_that_failed_can_be_loaded_after_it_was_mended(tmp_path: Path) -> None:
    file = tmp_path / "agent.py"
    file.write_text("1 / 0")
    with pytest.raises(TargetStartError):
        load("agent.py:x", tmp_path)
    file.write_text("x = 'mended now'")
    assert load("agent.py:x", tmp_path) == "mended now"


# One module, however it is named


def test_a_file_that_is_imported_already_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "agent_of_tests.py").write_text("URL = 'real'\ndef url(): return URL")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("agent_of_tests.URL", "fake")
    assert load("agent_of_tests.py:url", tmp_path)() == "fake"  # type: ignore[operator]


def test_a_file_that_python_would_find_has_its_natural_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "agent_of_tests.py").write_text("URL = 'real'\ndef url(): return URL")
    monkeypatch.syspath_prepend(tmp_path)
    url = load("agent_of_tests.py:url", tmp_path)
    monkeypatch.setattr("agent_of_tests.URL", "fake")
    assert (url(), url.__module__) == ("fake", "agent_of_tests")  # type: ignore[operator]


def test_folders_without_an_init_file_are_part_of_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "space" / "inner").mkdir(parents=True)
    (tmp_path / "space" / "inner" / "agent.py").write_text("name = __name__")
    monkeypatch.syspath_prepend(tmp_path)
    assert load("space/inner/agent.py:name", tmp_path) == "space.inner.agent"


def test_a_file_imported_under_another_name_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shop_of_tests").mkdir()
    (tmp_path / "shop_of_tests" / "__init__.py").touch()
    (tmp_path / "shop_of_tests" / "agent.py").write_text("name = __name__")
    monkeypatch.syspath_prepend(tmp_path / "shop_of_tests")
    importlib.import_module("agent")
    assert load("shop_of_tests/agent.py:name", tmp_path) == "agent"


def test_what_only_looks_like_a_module_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Library:
        __slots__ = ()
        __class__ = ModuleType  # type: ignore[assignment]

    monkeypatch.setitem(sys.modules, "_library_of_tests", Library())  # type: ignore[arg-type]
    (tmp_path / "agent.py").write_text("word = 'found'")
    assert load("agent.py:word", tmp_path) == "found"


def test_a_module_and_its_file_are_one(tmp_path: Path) -> None:
    (tmp_path / "agent_of_tests.py").write_text("class Agent: ...")
    assert load("agent_of_tests.py:Agent", tmp_path) is load("agent_of_tests:Agent", tmp_path)


def test_a_module_of_that_name_from_elsewhere_is_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "agent.py").write_text(f"word = '{folder}'")
        monkeypatch.syspath_prepend(tmp_path / folder)
    assert [load(f"{folder}/agent.py:word", tmp_path) for folder in ("a", "b")] == ["a", "b"]
    assert importlib.import_module("agent").word == "b"


def test_a_name_of_the_standard_library_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "json.py").write_text("word = 'mine'")
    monkeypatch.syspath_prepend(tmp_path)
    assert load("json.py:word", tmp_path) == "mine"
    assert load("json:dumps", tmp_path).__module__ == "json"  # type: ignore[attr-defined]


async def test_once_makes_it_once_for_all_who_ask() -> None:
    made: list[int] = []
    once = Once(lambda: made.append(1) or object())  # type: ignore[func-returns-value]
    first, *others = await asyncio.gather(*(once.get() for _ in range(10)))
    assert all(other is first for other in others)
    assert made == [1]


async def test_once_fails_alike_for_all_who_ask() -> None:
    made: list[int] = []

    def make() -> object:
        made.append(1)
        raise TargetStartError("no", trace="agent.py:1")

    once = Once(make)
    errors = await asyncio.gather(*(once.get() for _ in range(3)), return_exceptions=True)
    assert [(str(error), error.trace) for error in errors] == [("no", "agent.py:1")] * 3  # type: ignore[union-attr]
    assert made == [1]


async def test_who_stops_waiting_takes_it_from_nobody() -> None:
    gate = threading.Event()
    once = Once(lambda: gate.wait(30) and "made")
    impatient, patient = asyncio.ensure_future(once.get()), asyncio.ensure_future(once.get())
    await asyncio.sleep(0)
    impatient.cancel()
    await asyncio.sleep(0)
    gate.set()
    assert await patient == "made"
