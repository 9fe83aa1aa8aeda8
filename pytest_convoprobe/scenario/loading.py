"""From a file to its scenarios, or to everything that is wrong with it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from ..errors import Problem, ScenarioFileError
from ..formatting import counted
from ..problems import by_place
from ..suggest import suggest
from ..yaml_source import Document, IncludedFiles, Parsed, parse, read
from ..yaml_source.explain import REQUIRED_HERE, describe, explain
from .document_model import ScenarioDocument
from .filling import CharactersLeft, filled
from .models import Scenario
from .parameters import PARAMETERS
from .root import tree_of
from .rules import skip_complaint

DEFAULT_SKIP_REASON = "the scenario file says `skip: true`"
MAX_ID_LENGTH = 200
MAX_PROBLEMS = 100
LOOKED_AT = 30
_REAL_USER = {"persona": "A real user", "initial_query": "What the user said"}
_UNFINISHED = frozenset(("missing", "too_short", "string_too_short", REQUIRED_HERE))


@dataclass(frozen=True)
class LoadedScenario:
    """A scenario with its place. `scenario` is None only for a skipped one that isn't finished.

    `id` is unique within the file and safe in a pytest node id: no control characters, no `::`,
    single spaces. `skip` is the reason, None if the scenario is to be run. `file` is the name
    under which the file was loaded, `line` (from 1) where the scenario begins. `parameters` names those of
    the test's fixtures that it is run with; id and name then contain them. `target` is the name of its target
    if there are several; id and name then contain it in brackets. `configured` is the same if the target is
    one of `targets` in the settings. `included` are the paths of the files that its file includes or extends.
    """

    id: str
    name: str
    description: str
    skip: str | None
    tags: tuple[str, ...]
    scenario: Scenario | None
    file: str
    line: int
    parameters: str = ""
    target: str = ""
    configured: str = ""
    included: tuple[str, ...] = ()


def load_scenarios(path: Path | str, *, file: str | None = None) -> tuple[LoadedScenario, ...]:
    """The scenarios of a file, in its order; `file` is the file's name in messages.

    Raises `ScenarioFileError` with every problem of the file and of those that it includes.
    """
    return tuple(loaded for loaded, _ in load_documents(path, file=file))


def load_documents(
    path: Path | str, *, file: str | None = None
) -> tuple[tuple[LoadedScenario, Document], ...]:
    """As `load_scenarios`, each scenario with the document that it was made of: complete and filled in."""
    name = str(path) if file is None else file
    return _load(read(Path(path), name, IncludedFiles(Path(path), name, tree_of)), name)


def load_criteria(path: Path | str, *, file: str | None = None) -> tuple[LoadedScenario, ...]:
    """The scenarios of a file in which nobody has to talk: a `synthetic_user` may be left out.

    Raises `ScenarioFileError`.
    """
    name = str(path) if file is None else file
    parsed = read(Path(path), name, IncludedFiles(Path(path), name, tree_of))
    for document in parsed.documents:
        if isinstance(document.value, dict) and "evaluation" in document.value:
            document.value.setdefault("synthetic_user", _REAL_USER)
    return tuple(loaded for loaded, _ in _load(parsed, name))


def parse_scenarios(
    text: str | bytes, file: str = "<text>", *, base: Path | str | None = None
) -> tuple[LoadedScenario, ...]:
    """The scenarios of a YAML text. With a `base`, the folder they are relative to, it can include files.

    Raises `ScenarioFileError` with every problem of the text and of what it includes.
    """
    includes = IncludedFiles(None if base is None else Path(base) / "text", file, tree_of)
    return tuple(loaded for loaded, _ in _load(parse(text, file, includes), file))


def _load(parsed: Parsed, file: str) -> tuple[tuple[LoadedScenario, Document], ...]:
    problems = list(parsed.problems)
    found: list[tuple[LoadedScenario, Document]] = []
    room = CharactersLeft()
    for document in parsed.documents:
        if len(problems) > MAX_PROBLEMS:
            break
        try:
            found += _scenarios(document, file, room)
        except ScenarioFileError as error:
            problems += error.problems
    if not parsed.documents and not problems:
        problems.append(Problem("the file is empty; a scenario is expected", file, 1, 1))
    if problems:
        raise ScenarioFileError(in_order(problems, file))
    included = tuple(map(str, parsed.files))
    distinct = with_distinct_ids([replace(loaded, included=included) for loaded, _ in found])
    return tuple(zip(distinct, (document for _, document in found), strict=True))


def in_order(problems: list[Problem], file: str) -> tuple[Problem, ...]:
    """The problems of a file from its top, and a word about those that are too many to be read."""
    ordered = sorted(problems, key=by_place)
    if len(ordered) <= MAX_PROBLEMS:
        return tuple(ordered)
    more = Problem(f"there are more problems than the {MAX_PROBLEMS} above; put these right first", file)
    return (*ordered[:MAX_PROBLEMS], more)


def _scenarios(document: Document, file: str, room: CharactersLeft) -> list[tuple[LoadedScenario, Document]]:
    """The scenario of a document, or those that its parameters make of it."""
    _expect_scenario(document)
    found: list[tuple[LoadedScenario, Document]] = []
    problems: dict[Problem, list[str]] = {}
    made = filled(document, room, unfinished=_skipped(document.value))
    for set_id, one in made:
        try:
            found.append((with_set(_scenario(one, file), set_id), one))
        except ScenarioFileError as error:
            for problem in error.problems:
                problems.setdefault(problem, []).append(set_id)
        if len(problems) > MAX_PROBLEMS:
            break
    if problems:
        raise ScenarioFileError(tuple(_of_sets(problem, ids, len(made)) for problem, ids in problems.items()))
    return found


def _of_sets(problem: Problem, ids: list[str], count: int) -> Problem:
    """A problem that not all sets of parameters have, with those that do."""
    # The place of a value says enough.
    if len(ids) == count or problem.path.startswith(PARAMETERS):
        return problem
    others = f" and {counted(len(ids) - 1, 'other')}" if len(ids) > 1 else ""
    return replace(problem, message=f"{problem.message} (with the parameters `{ids[0]}`{others})")


def _scenario(document: Document, file: str) -> LoadedScenario:
    data: dict[str, Any] = document.value
    scenario: Scenario | None = None
    try:
        scenario = Scenario.model_validate(data)
    except ValidationError as error:
        forgive = _is_unfinished if _skipped(data) else lambda _: False
        problems = explain(error, document, ScenarioDocument, forgive)
        if problems:
            raise ScenarioFileError(tuple(problems)) from None
    return _loaded(scenario, data, file, document.first_line)


def _loaded(scenario: Scenario | None, data: Mapping[str, Any], file: str, line: int) -> LoadedScenario:
    name = scenario.name if scenario else _text(data.get("name")) or Path(file).stem
    tags = scenario.tags if scenario else tuple(_text(tag) for tag in data.get("tags") or ())
    skip = data.get("skip", False)
    return LoadedScenario(
        id=node_name(name),
        name=name,
        description=scenario.description if scenario else _text(data.get("description")),
        skip=DEFAULT_SKIP_REASON if skip is True else _text(skip) or None,
        tags=tags,
        scenario=scenario,
        file=file,
        line=line,
    )


def _expect_scenario(document: Document) -> None:
    """A document of another kind gets one clear problem instead of one a key."""
    known, value = tuple(ScenarioDocument.model_fields), document.value
    if isinstance(value, dict) and (not value or _knows_one_of(known, value)):
        return
    if isinstance(value, dict):
        keys = ", ".join(list(value)[:5])
        what = f"none of its keys ({keys}) is one of a scenario"
    else:
        what = f"it is {describe(value)}, and a scenario is a mapping"
    message = (
        f"this isn't a scenario: {what}. A scenario has name, description, synthetic_user and evaluation; "
        "a file that isn't meant to be one is left out if its name begins with `_`"
    )
    raise ScenarioFileError((document.problem((), message),))


def _knows_one_of(known: Collection[str], keys: Iterable[str]) -> bool:
    """Whether a key is known or nearly so; looking for near ones is slow, and a good file needs none."""
    first = list(keys)[:LOOKED_AT]
    return any(key in known for key in first) or any(suggest(key, known) for key in first)


def _skipped(data: Mapping[str, Any]) -> bool:
    skip = data.get("skip", False)
    return skip is not False and skip_complaint(skip) is None


def _is_unfinished(detail: ErrorDetails) -> bool:
    """Whether something isn't there yet, as opposed to being wrong."""
    kind = detail["type"]
    return kind in _UNFINISHED or (detail["input"] is None and kind != "extra_forbidden")


def _text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""


def node_name(name: str) -> str:
    """A name as part of a node id: printable, on one line, without the `::` that separates its parts."""
    line = re.sub(":{2,}", ":", " ".join(name.split()))
    shown = "".join(character if character.isprintable() else "_" for character in line)
    return shown if len(shown) <= MAX_ID_LENGTH else f"{shown[: MAX_ID_LENGTH - 1]}…"


def with_set(scenario: LoadedScenario, set_id: str) -> LoadedScenario:
    """The scenario under the id and name of one set of its own parameters; empty for none."""
    if not set_id:
        return scenario
    shown = node_name(set_id)
    return replace(scenario, id=f"{scenario.id}[{shown}]", name=f"{scenario.name} [{shown}]")


def with_parameters(scenario: LoadedScenario, parameters: str, *, of_target: bool = False) -> LoadedScenario:
    """The scenario under another id and name, for one set of parameters that it is run with.

    `parameters` names them, as in pytest's ids (`gpt-5-mini`); empty for none. `of_target` says that they
    decide which target it is.
    """
    if not parameters:
        return scenario
    shown = node_name(parameters)
    new_id, name = f"{scenario.id}[{shown}]", f"{scenario.name} [{shown}]"
    return replace(scenario, id=new_id, name=name, parameters=shown, target=shown if of_target else "")


def with_target(scenario: LoadedScenario, name: str) -> LoadedScenario:
    """The scenario under another id and name, with one of the targets that the settings name."""
    new_id, shown = f"{scenario.id}[{name}]", f"{scenario.name} [{name}]"
    return replace(scenario, id=new_id, name=shown, target=name, configured=name)


def with_distinct_ids(scenarios: list[LoadedScenario]) -> tuple[LoadedScenario, ...]:
    """The second scenario of a name gets `name[2]`, and so on."""
    taken: set[str] = set()
    counts: dict[str, int] = {}
    named: list[LoadedScenario] = []
    for loaded in scenarios:
        unique = loaded.id
        while unique in taken:
            counts[loaded.id] = counts.get(loaded.id, 1) + 1
            unique = f"{loaded.id}[{counts[loaded.id]}]"
        taken.add(unique)
        named.append(loaded if unique == loaded.id else replace(loaded, id=unique))
    return tuple(named)
