"""Looks at scenarios that somebody else wrote, or edited, before conversations are made of them.

Other systems' rows may have fields that we don't know. What looks like a misspelt field of ours is none of
these: it would be left out of every conversation without a word.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ...errors import Problem, SettingsError
from ...suggest import did_you_mean, suggest
from ...text import harmless, shorten
from ..rows.row_types import ScenarioRow
from ..rows.work import Row

NEEDED = ("persona", "user_goal", "latent_adversarial_goal")
"""Fields without which there is nobody to talk, or nothing to talk about."""

_FIELDS = (*NEEDED, "landmarks", "demographic", "target_system_prompt")
_OF_A_LANDMARK = ("turn", "instruction")
_MOST = 10


def require_sound(rows: Iterable[Row], file: str) -> None:
    """Raises `SettingsError` with what rows of a file lack or misspell, each with its row and field."""
    found = [Problem(f"{shown(row.get('id'))}: {text}", file) for row in rows for text in _problems(row)]
    if len(found) > _MOST:
        found[_MOST:] = [Problem(f"and {len(found) - _MOST} more", file)]
    if found:
        raise SettingsError(tuple(found))


def unknown_demographics(rows: Iterable[Row], known: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """A note for each attribute or value that the settings don't name; none where they name nothing."""
    notes: dict[str, str] = {}  # by the note, the first row that has it
    for row in rows if known else ():
        for attribute, value in (row.get("demographic") or {}).items():
            if value is not None and (note := _unknown(attribute, str(value), known)):
                notes.setdefault(note, shown(row.get("id")))
    listed = [f"scenarios.json: {first}: {note}" for note, first in notes.items()]
    more = [f"scenarios.json: and {len(listed) - _MOST} more of the kind"] if len(listed) > _MOST else []
    return (*listed[:_MOST], *more)


def never_reached(scenarios: Iterable[ScenarioRow], turns: int) -> tuple[str, ...]:
    """A note of landmarks that lie beyond the last turn; none where there are none."""
    last = {one.id: max((mark.turn for mark in one.landmarks), default=0) for one in scenarios}
    beyond = {name: turn for name, turn in last.items() if turn > turns}
    if not beyond:
        return ()
    name = max(beyond, key=lambda one: beyond[one])
    has = "1 scenario has" if len(beyond) == 1 else f"{len(beyond):,} scenarios have"
    return (
        f"{has} landmarks that are never reached: conversations end after turn {turns} (generation.turns), "
        f"and the highest is for turn {beyond[name]}, in {shown(name)}. Raise generation.turns to that, or "
        "move landmarks to earlier turns in scenarios.json",
    )


def shown(value: Any) -> str:
    """A text of a file, fit for a line of a message."""
    return shorten(harmless(str(value)), 60)


def _problems(row: Row) -> Iterator[str]:
    misspelt = dict(_misspelt(row, _FIELDS))
    for name, meant in misspelt.items():
        yield f"`{shown(name)}` is not a field of a scenario; did you mean `{meant}`?"
    for name in NEEDED:
        if not str(row.get(name) or "").strip() and name not in misspelt.values():
            found = "empty" if name in row else "missing"
            yield f"`{name}` is {found}, and a conversation needs it: write one"
    for number, mark in enumerate(row.get("landmarks") or (), 1):
        yield from (f"landmark {number}: {text}" for text in _of_a_landmark(mark))


def _of_a_landmark(mark: Mapping[str, Any]) -> Iterator[str]:
    misspelt = dict(_misspelt(mark, _OF_A_LANDMARK))
    for name, meant in misspelt.items():
        yield f"`{shown(name)}` is not a field of a landmark; did you mean `{meant}`?"
    turn = mark.get("turn")
    if turn is None and "turn" not in misspelt.values():
        yield "`turn` is missing: write in which turn the user is to do this, counted from 1"
    elif turn is not None and turn < 1:
        yield f"`turn` is {turn}, but turns count from 1"
    if not mark["instruction"].strip():
        yield "`instruction` is empty: write what the user is to do"


def _misspelt(data: Mapping[str, Any], fields: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Unknown names, each with the missing field that it most likely means."""
    missing = [name for name in fields if name not in data]
    for name in data:
        if name not in _KNOWN and (meant := suggest(name, missing)):
            yield name, meant


_KNOWN = frozenset((*_FIELDS, *_OF_A_LANDMARK, "id", "metric_id", "draft", "key"))


def _unknown(attribute: str, value: str, known: Mapping[str, Sequence[str]]) -> str:
    """What to say of a value that the settings don't have; nothing of one that they do."""
    if attribute not in known:
        unknown = f"config.yaml has no demographic attribute `{shown(attribute)}`"
        return f"{unknown}{_near(attribute, known)}"
    if value in known[attribute]:
        return ""
    unknown = f"config.yaml has no value `{shown(value)}` of the attribute `{shown(attribute)}`"
    return f"{unknown}{_near(value, known[attribute])}"


def _near(word: str, known: Iterable[str]) -> str:
    # The values are a file's own texts, which may be long or hostile.
    return did_you_mean(word, map(shown, known))
