"""Reads `benchmark.yaml`: every problem at once, each with its place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ...errors import Problem, SettingsError
from ...files import shown_path
from ...scenario.top_keys import keys_of
from ...settings.file_formats import in_order
from ...suggest import suggest
from ...yaml_source import Document, Loc, dotted, read
from ...yaml_source.explain import describe, explain, unknown_key
from ...yaml_source.model_keys import known_keys
from ...yaml_source.placeholders import complaint, fill
from .models import Benchmark, BenchmarkConfig, Gate, MetricType, ScenarioContext
from .naming import unfit

_SIGNS = frozenset(("metrics", "scenario", "gate"))
# Without `run` and `evaluation`, which many a config.yaml has.
_OF_CONFIG = frozenset(BenchmarkConfig.model_fields) - {"run", "evaluation", "concurrency"}
_OF_A_SCENARIO = re.compile(r"_s\d+_v\d+")


def read_benchmark(path: Path) -> tuple[Benchmark, tuple[str, ...]]:
    """The benchmark and notices on keys that say nothing here.

    Raises `SettingsError` with everything that is wrong with the file.
    """
    document = read_document(path)
    reading = _BenchmarkReader(document, shown_path(path))
    return reading.benchmark(), tuple(reading.notices)


def read_document(path: Path) -> Document:
    """The file's only document, a mapping. Raises `SettingsError`."""
    file = shown_path(path)
    parsed = read(path, file)
    if parsed.problems:
        raise SettingsError(parsed.problems)
    if not parsed.documents:
        message = "the file is empty; a benchmark has at least a `name` and a `description`"
        raise SettingsError((Problem(message, file, 1, 1),))
    document, *others = parsed.documents
    if others:
        message = "a benchmark is one YAML document; this begins another one"
        raise SettingsError((others[0].problem((), message),))
    if not isinstance(document.value, dict):
        message = (
            f"a benchmark is a mapping (name:, description:, metrics:), but it is {describe(document.value)}"
        )
        raise SettingsError((document.problem((), message),))
    return document


def looks_like_benchmark(path: Path) -> bool:
    """Whether a file has what only a benchmark has, or so it seems; other programs use the name, too."""
    parsed = read(path)
    if len(parsed.documents) != 1:
        return bool(parsed.problems)
    value = parsed.documents[0].value
    return isinstance(value, dict) and "name" in value and bool(value.keys() & _SIGNS)


def is_surely_benchmark(path: Path) -> bool:
    """Whether a file has what a benchmark of another program has not: the parts of ours, or our config.yaml.

    Other programs have a `benchmark.yaml` with a name and metrics, too, and templates that are no YAML.
    """
    if keys_of(path.parent / "config.yaml") & _OF_CONFIG:
        return True
    values = [document.value for document in read(path).documents]
    return any(isinstance(value, dict) and _has_our_parts(value) for value in values)


def _has_our_parts(value: dict[str, Any]) -> bool:
    metrics = value.get("metrics")
    return (
        any(_is_metric(item) for item in (metrics if isinstance(metrics, list) else ()))
        or _has_any(value.get("scenario"), ScenarioContext.model_fields)
        or _has_any(value.get("gate"), Gate.model_fields)
    )


def _is_metric(item: object) -> bool:
    return _has_any(item, ("definition", "examples")) or (
        isinstance(item, dict) and item.get("type") in tuple(MetricType)
    )


def _has_any(part: object, keys: Iterable[str]) -> bool:
    return isinstance(part, dict) and any(key in part for key in keys)


def metric_id(item: Any, index: int) -> str:
    """The id of the metric at a place of the list (from 0); without one of its own it is `m01`, `m02`…"""
    given = item.get("id") if isinstance(item, dict) else None
    return f"m{index + 1:02d}" if given in (None, "") else given


class _BenchmarkReader:
    """One reading; problems are collected and reported together."""

    def __init__(self, document: Document, file: str) -> None:
        self._document = document
        self._file = file
        self._problems: list[Problem] = []
        self.notices: list[str] = []

    def benchmark(self) -> Benchmark:
        data = self._filled(self._cleaned(self._document.value, ()))
        benchmark = self._checked(data)
        for check in (self._names, self._ids, self._examples):
            self._problems += check(data)
        if self._problems or benchmark is None:
            raise SettingsError(in_order(self._problems))
        self._note_bound(benchmark.gate)
        return benchmark

    def _note_bound(self, gate: Gate | None) -> None:
        """Say of `bound: point` that it no longer decides; `lower` has the same effect as before."""
        if gate is not None and gate.bound == "point":
            where = f"{self._file}:{self._document.line_of(('gate', 'bound'))}"
            self.notices.append(
                f"{where}: `gate.bound: point` has no meaning any more: gates are decided by intervals, and "
                "`gate.undecided` says what an undecided one does"
            )

    def _checked(self, data: dict[str, Any]) -> Benchmark | None:
        try:
            return Benchmark.model_validate(data)
        except ValidationError as error:
            self._problems += explain(error, self._document, Benchmark)
            return None

    def _filled(self, data: dict[str, Any]) -> dict[str, Any]:
        """The data, with the texts that only people write checked for placeholders and without their marks.

        Metrics are left as they are: a model may have written them, and to it braces are nothing special.
        """
        scenario = data.get("scenario")
        self._fill(data, ("description",))
        if isinstance(scenario, dict):
            self._fill(scenario, ("scenario", "user_context"))
        return data

    def _fill(self, part: dict[str, Any], loc: Loc) -> None:
        key = str(loc[-1])
        if not isinstance(text := part.get(key), str):
            return
        if words := complaint(text, variables=True):
            self._problems.append(self._document.problem(loc, words))
        part[key] = fill(text, {})

    def _cleaned(self, values: dict[str, Any], path: Loc) -> dict[str, Any]:
        """Without keys that are empty or not ours, and with an id for each metric."""
        known = known_keys(Benchmark, path)
        ours = {key: values[key] for key in values if key in known or self._stranger(key, known, path)}
        return {key: self._part(value, (*path, key)) for key, value in ours.items() if value is not None}

    def _part(self, value: Any, path: Loc) -> Any:
        if path == ("metrics",) and isinstance(value, list):
            return [self._metric(item, (*path, index)) for index, item in enumerate(value)]
        return (
            self._cleaned(value, path) if isinstance(value, dict) and known_keys(Benchmark, path) else value
        )

    def _metric(self, item: Any, path: Loc) -> Any:
        if not isinstance(item, dict):
            return item
        return {**self._cleaned(item, path), "id": metric_id(item, int(path[-1]))}

    def _stranger(self, key: str, known: tuple[str, ...], path: Loc) -> bool:
        """Report an unknown key: a misspelt one as a problem, any other as another system's. Never ours."""
        loc = (*path, key)
        if suggest(key, known):
            self._problems.append(self._document.problem(loc, unknown_key(key, known), at_key=True))
        else:
            where = f"{self._file}:{self._document.line_of(loc)}"
            self.notices.append(f"{where}: `{dotted(loc)}` has no meaning here and was set aside")
        return False

    def _names(self, data: dict[str, Any]) -> Iterator[Problem]:
        if isinstance(name := data.get("name"), str) and not name.strip():
            yield self._document.problem(("name",), "the benchmark's name must not be empty")

    def _ids(self, data: dict[str, Any]) -> Iterator[Problem]:
        seen: dict[str, int] = {}
        for index, item in _mappings(data.get("metrics")):
            own = item["id"]
            if not isinstance(own, str):
                continue
            if complaint := _complaint(own):
                yield self._document.problem(("metrics", index, "id"), complaint)
            elif own.lower() in seen:
                first = seen[own.lower()]
                yield self._document.problem(("metrics", index, "id"), self._twice(own, first, index))
            seen.setdefault(own.lower(), index)

    def _twice(self, own: str, first: int, second: int) -> str:
        line = self._document.line_of(("metrics", first))
        if all(self._document.has(("metrics", index, "id")) for index in (first, second)):
            return f"the id `{own}` is given twice (first in line {line}); case makes no difference"
        return (
            f"two metrics have the id `{own}` (the first is in line {line}): "
            "one without an id is called by its place in the list. Give each its own"
        )

    def _examples(self, data: dict[str, Any]) -> Iterator[Problem]:
        for index, item in _mappings(data.get("metrics")):
            examples = item.get("examples")
            for place, example in enumerate(examples if isinstance(examples, list) else ()):
                if isinstance(example, str) and not example.strip():
                    loc = ("metrics", index, "examples", place)
                    yield self._document.problem(loc, "an example must not be empty")


def _mappings(metrics: Any) -> Iterator[tuple[int, dict[str, Any]]]:
    for index, item in enumerate(metrics if isinstance(metrics, list) else ()):
        if isinstance(item, dict):
            yield index, item


def _complaint(own: str) -> str | None:
    if found := _OF_A_SCENARIO.search(own):
        return (
            f"the id `{own}` has `{found[0]}` in it, and that is how the ids of scenarios end; leave it out"
        )
    return unfit(own, "an id", "m01")
