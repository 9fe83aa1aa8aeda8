"""The built-in conversations that show whether a judge can be trusted at all."""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files

from .labels_file import LabelsFile, parse_labels
from .measured import CANARIES


@lru_cache(maxsize=1)
def canaries() -> LabelsFile:
    """All of them, read as any labels file is."""
    data = files("pytest_convoprobe").joinpath("calibration").joinpath("canaries.yaml").read_bytes()
    return parse_labels(data, CANARIES)
