"""What the stages have cost, as `cost.json` says."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...files import read_file
from ...formatting import dollars
from ...reports.html.spending import figures
from ...reports.html.turns import shown
from ...reports.money import ROLE_NAMES
from ...text import one_line
from ..format.folder import BenchmarkFolder
from ..rows.cost import CALIBRATE
from ..rows.spending import read_spending
from ..stages.registry import cost_sections

_WRONG = (ValueError, RecursionError, KeyError, TypeError, AttributeError)


@dataclass(frozen=True)
class CostLine:
    """A stage, or the part of it that one role has; `numbers` are its calls, tokens and dollars as text."""

    label: str
    numbers: Mapping[str, str]
    part: bool = False


@dataclass(frozen=True)
class Costs:
    """Of the stages and their roles, of all, of each target; `missing` says why there is nothing."""

    lines: tuple[CostLine, ...] = ()
    total: CostLine | None = None
    by_target: Mapping[str, str] = field(default_factory=dict)
    missing: str = ""


def read_costs(folder: BenchmarkFolder) -> Costs:
    """Never raises for what is in the file: others write a `cost.json`, too."""
    try:
        data = json.loads(read_file(folder.cost))
        return _costs(data)
    except FileNotFoundError:
        return Costs(missing="There is no cost.json: the cost is unknown.")
    except _WRONG:
        return Costs(missing="cost.json has another shape than ours, so it isn't shown here.")


def _costs(data: Any) -> Costs:
    names = (*cost_sections(), *((CALIBRATE,) if CALIBRATE in data else ()))
    lines = [line for name in names for line in _lines(name.replace("_", "-"), data[name])]
    by_target = data["total"]["by_target"].items()
    return Costs(
        tuple(lines),
        CostLine("all stages", figures(read_spending(data["total"]))),
        {target: dollars(read_spending(one).cost) for target, one in by_target if target != "all"},
    )


def _lines(label: str, section: Any) -> Iterator[CostLine]:
    spent = read_spending(section)
    if not spent.attempts:
        return
    yield CostLine(label, figures(spent))
    roles = section["by_role"].items()
    if len(roles) > 1:
        for role, one in roles:
            yield CostLine(_role(role), figures(read_spending(one)), part=True)


def _role(name: str) -> str:
    known = {role.value: word for role, word in ROLE_NAMES.items()}
    return known.get(name) or shown(one_line(name.replace("_", " ")))
