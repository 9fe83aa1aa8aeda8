"""A scenario in whatever form a caller has it: a file, YAML text, a mapping or an object."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..suggest import suggest
from .loading import DEFAULT_SKIP_REASON, LoadedScenario, load_scenarios, node_name, parse_scenarios
from .models import Scenario

AnyScenario = str | Path | Mapping[str, Any] | Scenario | LoadedScenario
"""The path of a file (with `::name` behind it if the file has several), YAML text of more than one
line, a mapping with the same keys, or a scenario."""


def loaded(scenario: AnyScenario, find: Callable[[str], Path] = Path) -> LoadedScenario:
    """The scenario with its place; `file` is in angle brackets where it has no file of its own.

    `find` makes a path of the text before `::`. Raises `ScenarioFileError` for one that is broken,
    and ValueError where a file has several scenarios and none of them is named.
    """
    if isinstance(scenario, LoadedScenario):
        return scenario
    if isinstance(scenario, Scenario):
        return _of_object(scenario)
    if isinstance(scenario, Mapping):
        # JSON is YAML: the same reader checks it, with the same messages.
        return _only(parse_scenarios(_as_yaml(scenario), "<mapping>"), "")
    if isinstance(scenario, str) and "\n" in scenario:
        return _only(parse_scenarios(scenario, "<text>"), "")
    path, _, name = str(scenario).partition("::")
    return _only(load_scenarios(find(path)), name)


def _as_yaml(scenario: Mapping[str, Any]) -> str:
    """JSON with characters as they are: YAML doesn't know the pairs by which JSON escapes an emoji."""
    text = json.dumps(scenario, indent=2, ensure_ascii=False)
    return "".join(one if one.isprintable() or one == "\n" else f"\\U{ord(one):08x}" for one in text)


def _of_object(scenario: Scenario) -> LoadedScenario:
    skip = DEFAULT_SKIP_REASON if scenario.skip is True else scenario.skip or None
    return LoadedScenario(
        id=node_name(scenario.name),
        name=scenario.name,
        description=scenario.description,
        skip=skip,
        tags=scenario.tags,
        scenario=scenario,
        file="<scenario>",
        line=0,
    )


def _only(found: tuple[LoadedScenario, ...], name: str) -> LoadedScenario:
    """The scenario of that id or name, or the only one."""
    fitting = [one for one in found if not name or name in (one.id, one.name)]
    if len(fitting) == 1:
        return fitting[0]
    ids = [one.id for one in found]
    if not name and found[0].file.startswith("<"):
        raise ValueError(
            f"this makes {len(ids)} scenarios, and one can be run: put them into a file, and name one as "
            f"`file.yaml::name`. {_list(ids)}"
        )
    if not name:
        raise ValueError(
            f"{found[0].file} has {len(ids)} scenarios: name one, as `file.yaml::name`. {_list(ids)}"
        )
    near = suggest(name, tuple(ids))
    hint = f"; did you mean {near!r}?" if near else "."
    raise ValueError(f"{found[0].file} has no scenario {name!r}{hint} {_list(ids)}")


def _list(ids: Sequence[str]) -> str:
    return f"It has: {', '.join(map(repr, ids))}"
