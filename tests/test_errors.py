"""The tree of exceptions is drawn as it is, and errors leave the names of options to the doors."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace

import click
import pytest

import pytest_convoprobe
from pytest_convoprobe import errors
from pytest_convoprobe.cli.app import main
from pytest_convoprobe.cli.exits import advice as cli_advice
from pytest_convoprobe.cli.lazy import LazyGroup
from pytest_convoprobe.errors import ConvoprobeError, Problem, SettingsError
from pytest_convoprobe.plugin.error_text import advice as plugin_advice
from pytest_convoprobe.plugin.error_text import error_text
from pytest_convoprobe.remedies import options_for
from pytest_convoprobe.source_trees import source_tree

PACKAGE = Path(pytest_convoprobe.__file__).parent
_DRAWN = re.compile(r"    (?P<branch>(?:[│ ]   )*(?:[├└]── )?)(?P<name>[A-Z]\w+)")


def _drawn() -> dict[str, str]:
    """The parent of each class of the drawings, by name; empty for those at the left."""
    parents: dict[str, str] = {}
    above: list[str] = []
    for line in inspect.cleandoc(errors.__doc__ or "").splitlines():
        found = _DRAWN.match(line)
        if found:
            depth = len(found["branch"]) // 4
            above[depth:] = [found["name"]]
            parents[found["name"]] = above[depth - 1] if depth else ""
    return parents


def _classes() -> dict[str, type[BaseException]]:
    """Every exception of the package that isn't private, by name."""
    found: dict[str, type[BaseException]] = {}
    for module in pkgutil.walk_packages([str(PACKAGE)], "pytest_convoprobe."):
        if module.name.endswith(("__main__", "starter")) or ".starter." in module.name:
            continue
        for name, value in vars(_imported(module.name)).items():
            ours = inspect.isclass(value) and value.__module__.startswith("pytest_convoprobe")
            if ours and issubclass(value, BaseException) and not name.startswith("_"):
                found[value.__name__] = value
    return found


def _imported(name: str) -> ModuleType | SimpleNamespace:
    """The module; an empty one for an adapter of a framework that isn't installed."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if ".targets.adapters." not in name or (error.name or "").startswith("pytest_convoprobe"):
            raise
        return SimpleNamespace()


def _parent(found: type[BaseException]) -> str:
    bases = [base for base in found.__mro__[1:] if base.__module__.startswith("pytest_convoprobe")]
    return next((base.__name__ for base in bases if not base.__name__.startswith("_")), "")


def test_the_drawing_is_the_tree() -> None:
    assert _drawn() == {name: _parent(found) for name, found in _classes().items()}


def test_what_is_raised_on_purpose_has_one_root() -> None:
    apart = {name for name, found in _classes().items() if not issubclass(found, ConvoprobeError)}
    second = errors.__doc__.partition("not in the tree")[2] if errors.__doc__ else ""
    assert apart == {name for name in _drawn() if re.search(rf"\b{name} ", second)}


OPTIONS = {"run.max_cost": ("--max-cost",), "judge.model": ("--model", "--judge-model"), "run.replay": ["-r"]}


@pytest.mark.parametrize(
    ("remedies", "shown"),
    [
        (("run.max_cost",), "for this run: --max-cost"),
        (("judge.model",), "for this run: --model or --judge-model"),
        (("judge.model", "run.replay=only"), "for this run: --model, --judge-model or -r=only"),
        (("run.max_tokens",), ""),
        ((), ""),
    ],
)
def test_settings_as_options_of_a_door(remedies: tuple[str, ...], shown: str) -> None:
    assert options_for(remedies, OPTIONS) == shown


def test_an_error_has_the_remedies_of_all_its_problems_each_once() -> None:
    problems = (Problem("a", remedies=("x", "y")), Problem("b", remedies=("y", "z")), Problem("c"))
    assert SettingsError(problems).remedies == ("x", "y", "z")


def test_pytest_names_its_own_options() -> None:
    assert plugin_advice(["run.max_cost"]) == "for this run: --convoprobe-max-cost"
    error = SettingsError.of("no model", remedies=("judge.model", "run.replay=only"))
    assert error_text(error).splitlines() == [
        "no model",
        "for this run: --convoprobe-model, --convoprobe-judge-model or --convoprobe-replay=only",
    ]


def test_a_command_names_only_options_that_it_has() -> None:
    remedies = ["run.max_cost", "run.max_tokens", "run.replay=record"]
    stability = _command("stability")
    simulate = _command("bench", "simulate")
    assert cli_advice(remedies, stability) == "for this run: --max-cost or --replay=record"
    assert cli_advice(remedies, simulate) == "for this run: --max-cost, --max-tokens or --replay=record"
    assert cli_advice(remedies, _command("doctor")) == ""
    assert cli_advice(remedies) == ""


def _command(*names: str) -> click.Command:
    found: click.Command = main
    for name in names:
        assert isinstance(found, LazyGroup)
        found = found.get_command(click.Context(found), name)  # type: ignore[assignment]
    return found


def _options(command: click.Command) -> Iterator[str]:
    for parameter in command.params:
        yield from (name for name in parameter.opts if name.startswith("--"))
    if isinstance(command, LazyGroup):
        for name in command.list_commands(click.Context(command)):
            yield from _options(_command_of(command, name))


def _command_of(group: LazyGroup, name: str) -> click.Command:
    found = group.get_command(click.Context(group), name)
    assert found is not None
    return found


def _texts(path: Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(source_tree(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


# Options of git; commands that a reader pastes, which are commands of pytest wherever they are shown.
# The last says what to do at each door, since any of them may be asked for one of several targets.
_MAY_NAME_OPTIONS = ("results/provenance.py", "reports/paste_command.py", "settings/several_targets.py")
# What is imported comes by one command alone.
_DOORS = ("plugin", "cli", "importing")


def test_nothing_below_the_doors_names_an_option_of_one() -> None:
    own = set(_options(main))
    assert {"--max-cost", "--only", "--target", "--json"} <= own
    found = [
        f"{path.relative_to(PACKAGE)}:{line}: {option}"
        for path in PACKAGE.rglob("*.py")
        if path.relative_to(PACKAGE).parts[0] not in _DOORS
        if str(path.relative_to(PACKAGE)) not in _MAY_NAME_OPTIONS
        for line, text in _texts(path)
        for option in re.findall(r"(?<![\w-])--[a-z][a-z-]+", text)
        if option in own or option.startswith("--convoprobe")
    ]
    assert found == []


def test_no_door_edits_options_in_a_text() -> None:
    """A door adds its options below a text; it never looks for other doors' options in it."""
    edits = {"sub", "subn", "compile", "replace", "removeprefix"}
    found = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}"
        for door in ("plugin", "cli")
        for path in (PACKAGE / door).rglob("*.py")
        for node in ast.walk(source_tree(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") in edits
        if any(
            isinstance(part, ast.Constant) and isinstance(part.value, str) and "--convoprobe" in part.value
            for argument in node.args
            for part in ast.walk(argument)
        )
    ]
    assert found == []
