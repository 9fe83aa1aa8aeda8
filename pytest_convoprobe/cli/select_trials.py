"""Which stored trials somebody means."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from .exits import UsageProblem

if TYPE_CHECKING:
    from ..results.store import IndexRow

_SHOWN = 8


def named(rows: Iterable[IndexRow], text: str) -> list[IndexRow]:
    """The rows of scenarios that a text means: an id, a name, or else a part of an id or name.

    Raises `UsageProblem` if there are none.
    """
    known = list(rows)
    exact = [row for row in known if text in (row.scenario_id, row.name, row.scenario_id.partition("::")[2])]
    if exact:
        return exact
    wanted = text.casefold()
    found = [row for row in known if wanted in row.scenario_id.casefold() or wanted in row.name.casefold()]
    if not found:
        raise UsageProblem(_nothing(text, known))
    return found


def one_scenario(rows: Iterable[IndexRow], text: str) -> list[IndexRow]:
    """The trials of the one scenario that a text means. Raises `UsageProblem` if it means none or several."""
    found = named(rows, text)
    ids = _ids(found)
    if len(ids) > 1:
        raise UsageProblem(
            f"{text!r} may be one of several scenarios; say more of the one that you mean:\n{_list(ids)}"
        )
    return sorted(found, key=lambda row: row.trial)


def pick_trial(rows: list[IndexRow], trial: int | None) -> IndexRow:
    """The trial of that number, or the first that didn't pass. Raises `UsageProblem` if it isn't there."""
    if trial is None:
        return next((row for row in rows if not row.passed), rows[0])
    for row in rows:
        if row.trial == trial:
            return row
    known = ", ".join(str(row.trial) for row in rows)
    raise UsageProblem(f"no trial {trial} of it is stored; there are: {known}")


def _nothing(text: str, known: Sequence[IndexRow]) -> str:
    ids = _ids(known)
    if not ids:
        return f"no scenario {text!r}: there are no stored trials"
    return f"no scenario {text!r}; there are:\n{_list(ids)}"


def _ids(rows: Iterable[IndexRow]) -> list[str]:
    return list(dict.fromkeys(row.scenario_id for row in rows))


def _list(ids: Sequence[str]) -> str:
    from ..text import harmless, one_line

    lines = [f"  {one_line(harmless(name))}" for name in ids[:_SHOWN]]
    more = [f"  and {len(ids) - _SHOWN} more"] if len(ids) > _SHOWN else []
    return "\n".join(lines + more)
