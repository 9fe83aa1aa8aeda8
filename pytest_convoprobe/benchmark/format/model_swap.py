"""The model that a validation puts in the place of another, and the file in its folder that says so."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ...files import read_file

SwappedRole = Literal["generator", "user-model", "evaluator"]
"""Whose model a validation replaces."""

FILE = "validation.json"
"""The comparison, in the second folder. A folder with this file is not a benchmark of its own."""

_SECTIONS: dict[SwappedRole, str] = {
    "generator": "generator_model",
    "user-model": "user_model",
    "evaluator": "evaluator_model",
}


@dataclass(frozen=True)
class Swap:
    """Another `model` in the place of the generator, the user model or the evaluator."""

    role: SwappedRole
    model: str

    @property
    def section(self) -> str:
        """The part of `config.yaml` that has the model: `evaluator_model`."""
        return _SECTIONS[self.role]


def swap_of(folder: Path) -> Swap | None:
    """The swap that a folder was made for: its `config.yaml` is a copy, and still has the other model.

    None for a benchmark of its own, and where the file does not say so.
    """
    try:
        found = json.loads(read_file(folder / FILE))
        role, model = found["role"], found["second"]
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None
    known = next((one for one in _SECTIONS if one == role), None)
    return Swap(known, model) if known and isinstance(model, str) and model.strip() else None
