"""The ids of scenarios: the metric, the scenario and the variant that an id is made of.

Gaps compare variants of one scenario and intervals are clustered by it, so an id that isn't understood makes
each variant a scenario of its own.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_FORMS = (
    re.compile(r"(?P<base>(?P<metric>.+)_s(?P<number>\d+))_v(?P<variant>\d+)"),
    # As earlier versions of the format have it: `scenario_001_m01_v01`.
    re.compile(r"(?P<base>scenario_(?P<number>\d+)_(?P<metric>.+))_v(?P<variant>\d+)"),
    re.compile(r"(?P<base>(?P<metric>.+)_scenario_(?P<number>\d+))_v(?P<variant>\d+)"),
)
# The row, not the id, says which metric these are for: `scenario_001_v01`.
_WITHOUT_METRIC = re.compile(r"(?P<base>.*[^_])_v(?P<variant>\d+)")


class IdParts(NamedTuple):
    """The parts of an id; `base` is the id without its variant, `variant` begins with `v`.

    `metric` is empty where the id doesn't contain it, and `variant` where there is none. `number` is the
    scenario's, None where it isn't known.
    """

    base: str
    metric: str = ""
    variant: str = ""
    number: int | None = None


def scenario_id(metric_id: str, scenario: int, variant: int) -> str:
    """`m01_s002_v01`: metric, scenario and variant, the numbers counted from 1."""
    return f"{metric_id}_s{scenario:03d}_v{variant:02d}"


def older_id(metric_id: str, scenario: int, variant: int) -> str:
    """`scenario_002_m01_v01`, as earlier versions of the format have it."""
    return f"scenario_{scenario:03d}_{metric_id}_v{variant:02d}"


def parts_of(row_id: str) -> IdParts:
    """The parts of an id in any of the known forms; of another id, the whole is the `base`."""
    for form in _FORMS:
        if found := form.fullmatch(row_id):
            return IdParts(found["base"], found["metric"], f"v{found['variant']}", int(found["number"]))
    found = _WITHOUT_METRIC.fullmatch(row_id)
    return IdParts(found["base"], variant=f"v{found['variant']}") if found else IdParts(row_id)
