"""`run.concurrency` as a mapping of stages to numbers, as other systems have it in `config.yaml`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter, ValidationError

from ...errors import Problem
from ...settings.aliases import set_aside
from ...settings.field_types import Count
from ...suggest import suggest
from ...yaml_source import Document
from ...yaml_source.explain import must_be

STAGES = ("gen-metrics", "gen-scenarios", "simulate", "evaluate")
_PATH = ("run", "concurrency")
_NUMBER: TypeAdapter[int] = TypeAdapter(Count)


def take_by_stage(document: Document) -> tuple[dict[str, int], list[Problem], list[str]]:
    """The numbers by stage, what is wrong with them, and notes of keys that name no stage.

    In the document, the largest number takes the place of the mapping: that of a stage without its own. A
    number alone is left as it is.
    """
    run = document.value.get("run")
    given = run.get("concurrency") if isinstance(run, Mapping) else None
    if not isinstance(given, Mapping):
        return {}, [], []
    found: dict[str, int] = {}
    problems: list[Problem] = []
    notices: list[str] = []
    for key, value in given.items():
        stage = str(key).replace("_", "-")
        if stage not in STAGES:
            if (near := suggest(stage, STAGES)) is None:
                notices.append(set_aside(document, (*_PATH, key)))
            else:
                message = f"unknown stage; did you mean `{near}`?"
                problems.append(document.problem((*_PATH, key), message, at_key=True))
        elif (number := _number(value)) is None:
            problems.append(document.problem((*_PATH, key), must_be("a whole number of 1 or more", value)))
        else:
            found[stage] = number
    document.value["run"] = {**run, "concurrency": max(found.values(), default=None)}
    return found, problems, notices


def _number(value: Any) -> int | None:
    try:
        return _NUMBER.validate_python(value)
    except ValidationError:
        return None
