"""What `convoprobe init` says of a folder that wasn't empty: what CI and the scenarios need there."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from pathlib import Path

from .starters import SCENARIO, WORKFLOW, Kind, found_by_setuptools, not_required

Note = tuple[str, ...]
"""Its lines."""


def notes(folder: Path, kind: Kind, written: Collection[str], left: Collection[str]) -> Iterator[Note]:
    """What is left to do beyond the steps, by the files that were written and those that were left alone."""
    if kind.agent in left:
        yield from _of_an_own_agent(kind, written)
    elif kind.agent in written and (lacking := not_required(kind, folder)):
        yield (f"CI installs what your project requires. Add to it: {' '.join(lacking)}",)
    if found := found_by_setuptools(folder):
        yield _packages(found)
    place = folder.resolve()
    top = next((one for one in (place, *place.parents) if (one / ".git").exists()), place)
    if WORKFLOW in written and top != place:
        yield _below(top, place.relative_to(top).as_posix())


def _of_an_own_agent(kind: Kind, written: Collection[str]) -> Iterator[Note]:
    if "convoprobe.yaml" in written:
        yield (f"Name your agent in convoprobe.yaml: it says `{kind.named}` now.",)
    if SCENARIO in written:
        yield (f"{SCENARIO} is about the shop of the example: change it, or delete it.",)


def _packages(found: Collection[str]) -> Note:
    return (
        "With scenarios/ beside it, setuptools can't tell what your package is. Name it in pyproject.toml:",
        "[tool.setuptools.packages.find]",
        f"include = {json.dumps([f'{name}*' for name in found])}",
    )


def _below(top: Path, place: str) -> Note:
    return (
        f"GitHub reads workflows only in {(top / WORKFLOW).parent}: move {Path(WORKFLOW).name} there.",
        f"Put {place}/ before each path in it,",
        f"and add: defaults: {{run: {{working-directory: {place}}}}}",
    )
