"""Settings that may put an error right, as the options of the door that shows it.

Errors name settings only (`remedies` in `errors.py`): they are raised where nobody knows whether pytest, a
command or the Python API started the run. Texts are not edited; a door prints this line below them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence


def options_for(remedies: Iterable[str], options: Mapping[str, Sequence[str]]) -> str:
    """What a door adds below a text that names settings: `for this run: --cost`.

    `options` are the door's own, by the setting that each overrides. Empty if the door has none that helps.
    """
    found = [_with_value(option, remedy) for remedy in remedies for option in options.get(_key(remedy), ())]
    *others, last = dict.fromkeys(found) or ("",)
    shown = f"{', '.join(others)} or {last}" if others else last
    return f"for this run: {shown}" if shown else ""


def _key(remedy: str) -> str:
    return remedy.partition("=")[0]


def _with_value(option: str, remedy: str) -> str:
    _, equals, value = remedy.partition("=")
    return f"{option}{equals}{value}"
