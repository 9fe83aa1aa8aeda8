"""One test of promptfoo with the defaults that count for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice, product
from math import prod
from typing import Any

from ...yaml_source import Loc
from ..building import shorten_line
from ..sources import ForeignFile
from .cases import PromptfooCase
from .files import NotRead, SuiteFiles
from .templates import as_text

SIMULATED_USER = "promptfoo:simulated-user"
MOST_VARIANTS = 1_000
"""The most tests that one test with lists of values becomes."""


@dataclass(frozen=True)
class WholeTest:
    """A test with its defaults. `assertions` have the source and place that they come from.

    `faults` are values that can't be had, by the names of their variables.
    """

    data: Mapping[str, Any]
    values: Mapping[str, Any]
    assertions: tuple[tuple[ForeignFile, Loc, Any], ...]
    faults: Mapping[str, str]

    @property
    def options(self) -> Mapping[str, Any]:
        """Its `options`."""
        found = self.data.get("options")
        return found if isinstance(found, Mapping) else {}


def merged(
    case: PromptfooCase, default: Mapping[str, Any], config: ForeignFile, files: SuiteFiles
) -> WholeTest:
    """The test with the defaults of its scenario and of the configuration."""
    layers = (default, case.above, case.data)
    data: dict[str, Any] = {}
    for layer in layers:
        data.update(layer)
    for key in ("options", "metadata"):
        parts = [layer[key] for layer in layers if isinstance(layer.get(key), Mapping)]
        if parts:
            data[key] = {name: value for part in parts for name, value in part.items()}
    faults: dict[str, str] = {}
    values = {
        name: value for layer in layers for name, value in _values(layer.get("vars"), files, faults).items()
    }
    return WholeTest(data, values, tuple(_assertions(case, default, data, config)), faults)


def _assertions(
    case: PromptfooCase, default: Mapping[str, Any], data: Mapping[str, Any], config: ForeignFile
) -> Iterator[tuple[ForeignFile, Loc, Any]]:
    options = data.get("options") or {}
    places: list[tuple[ForeignFile, Loc, Any]] = [
        (config, ("defaultTest", "assert"), default.get("assert")),
        (config, ("scenarios",), case.above.get("assert")),
        (case.source, (*case.loc, "assert"), case.data.get("assert")),
    ]
    for source, loc, found in places[1:] if options.get("disableDefaultAsserts") else places:
        for index, one in enumerate(found if isinstance(found, list) else [found] if found else []):
            yield source, (*loc, index), one


def _values(found: Any, files: SuiteFiles, faults: dict[str, str]) -> dict[str, Any]:
    if isinstance(found, str):
        found = _read(found, "vars", files, faults)
    if not isinstance(found, Mapping):
        return {}
    return {str(name): _read(value, str(name), files, faults) for name, value in found.items()}


def _read(value: Any, name: str, files: SuiteFiles, faults: dict[str, str]) -> Any:
    if not isinstance(value, str) or not value.startswith("file://"):
        return value
    try:
        return files.value(value)
    except NotRead as error:
        faults[name] = f"the value of `{name}` comes from {value[:80]}: {error}"
        return None


def variants(test: WholeTest) -> Iterator[tuple[Mapping[str, Any], str]]:
    """The values of each test that promptfoo makes of one, and what tells it from the others.

    A list is one value after the other.
    """
    lists = _lists(test)
    if not lists or test.options.get("disableVarExpansion"):
        yield test.values, ""
        return
    for chosen in islice(product(*lists.values()), MOST_VARIANTS):
        varied = dict(zip(lists, chosen, strict=True))
        yield {**test.values, **varied}, ", ".join(shorten_line(as_text(value), 30) for value in chosen)


def _lists(test: WholeTest) -> dict[str, list[Any]]:
    """The values that are lists of plain values."""
    return {
        name: value
        for name, value in test.values.items()
        if isinstance(value, list) and value and not any(isinstance(one, (list, dict)) for one in value)
    }


def left_out_variants(test: WholeTest) -> int:
    """How many of its tests are more than `variants` gives."""
    return (
        0
        if test.options.get("disableVarExpansion")
        else max(0, prod(map(len, _lists(test).values())) - MOST_VARIANTS)
    )


def simulated_user(test: WholeTest, config: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The settings of the simulated user that talks in this test; None if there is none."""
    asked = [test.data.get("provider"), test.options.get("provider")]
    providers = config.get("providers") or config.get("targets")
    asked += providers if isinstance(providers, list) else [providers]
    for one in asked:
        if one == SIMULATED_USER:
            return {}
        if isinstance(one, Mapping) and one.get("id") == SIMULATED_USER:
            settings = one.get("config")
            return settings if isinstance(settings, Mapping) else {}
    return None
