"""The versions that CI installs to test the lower bounds are the lower bounds."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

try:
    import tomllib
except ImportError:  # Python 3.10
    import tomli as tomllib

REPOSITORY = Path(__file__).resolve().parents[1]
PROJECT: dict[str, Any] = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["project"]


def bounds(requirements: Iterable[str], operator: str) -> dict[str, Version]:
    found = map(Requirement, requirements)
    return {
        re.sub(r"[-_.]+", "-", one.name).lower(): Version(part.version)
        for one in found
        for part in one.specifier
        if part.operator == operator
    }


@pytest.mark.parametrize("extra", ["", "test", "mcp", "ray"])
def test_each_lower_bound_is_what_ci_installs(extra: str) -> None:
    lines = (REPOSITORY / ".ci" / "lowest.txt").read_text("utf-8").splitlines()
    installed = bounds((line for line in lines if line and not line.startswith("#")), "==")
    declared = PROJECT["optional-dependencies"][extra] if extra else PROJECT["dependencies"]
    lowest = bounds(declared, ">=")
    assert {name: installed[name] for name in lowest} == lowest
