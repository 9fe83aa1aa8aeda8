"""Whether the functions that scenarios name as checks are there, as far as that shows without an import."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

from ..errors import Problem, ScenarioFileError
from ..files import shown_path
from ..project_code.references import Reference, read_reference
from ..scenario.loading import LoadedScenario
from ..source_trees import source_tree
from ..suggest import did_you_mean


def reference_of(name: str, folder: Path) -> Reference:
    """Where the function is. A file is looked for beside the scenario first."""
    reference = read_reference(name)
    beside = folder / reference.module
    is_beside = reference.is_file and beside.is_file()
    return Reference(str(beside.resolve()), reference.attribute) if is_beside else reference


def require_checks(scenarios: Iterable[LoadedScenario], root: Path) -> None:
    """Raise `ScenarioFileError` for names that are certainly wrong; `root` is where files start from."""
    problems = tuple(problem for one in scenarios for problem in wrong_checks(one, root))
    if problems:
        raise ScenarioFileError(problems)


def wrong_checks(scenario: LoadedScenario, root: Path) -> Iterator[Problem]:
    """Each function that is certainly not there."""
    names = scenario.scenario.evaluation.checks if scenario.scenario else ()
    for place, name in enumerate(names):
        words = _complaint(reference_of(name, Path(scenario.file).parent), name, root)
        if words:
            shown = scenario.file if scenario.file.startswith("<") else shown_path(Path(scenario.file))
            yield Problem(words, shown, scenario.line, path=f"evaluation.checks[{place}]")


def _complaint(reference: Reference, name: str, root: Path) -> str:
    file = _file(reference, root)
    if file is None:
        return ""  # an installed module: it shows when it is imported
    if not file.is_file():
        return f"`{name}`: there is no file {file}"
    try:
        known = _names(source_tree(file.read_bytes()))
    except (SyntaxError, ValueError, RecursionError, OSError):
        return ""  # the import says it better
    wanted = reference.attribute.partition(".")[0]
    if known is None or wanted in known:
        return ""
    return f"`{name}`: there is no `{wanted}` in {shown_path(file)}{did_you_mean(wanted, sorted(known))}"


def _file(reference: Reference, root: Path) -> Path | None:
    if reference.is_file:
        return root / reference.module
    path = root.joinpath(*reference.module.split("."))
    return next((one for one in (path.with_suffix(".py"), path / "__init__.py") if one.is_file()), None)


def _names(tree: ast.Module) -> set[str] | None:
    """The names that a module may have; None where only its import shows them."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            found |= {(one.asname or one.name).partition(".")[0] for one in node.names}
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
    return None if found & {"*", "__getattr__"} else found
