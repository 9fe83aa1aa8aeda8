"""The command that runs one item again, in characters that a terminal can show and a shell reads back."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath

from ..errors import Blame
from ..result import ScenarioResult
from ..results.trial_filter import REAL
from ..text import harmless

_REPLAY = "--convoprobe-replay="
_OPERATORS = frozenset({"and", "or", "not"})


def pytest_words(path: str, name: str, encoding: str) -> list[str]:
    """`pytest` and what selects the item `name` of the file `path`.

    That is its id, or, where the terminal's `encoding` can't encode the id, the file and a `-k` of the plain
    words in the name. An unprintable file is replaced by the nearest printable folder above it.
    """
    node_id = f"{path}::{name}" if name else path
    if _can_be_pasted(node_id, encoding):
        return ["pytest", node_id]
    places = [path, *map(str, PurePosixPath(path).parents)]
    place = next((place for place in places if _can_be_pasted(place, encoding)), ".")
    keywords = _keywords(name)
    return ["pytest", place, "-k", keywords] if keywords else ["pytest", place]


def records_again(result: ScenarioResult) -> bool:
    """Whether the scenario has to be recorded again: to replay it once more could only miss once more."""
    return result.blame is Blame.RECORDING


def fitting_words(words: Sequence[str], result: ScenarioResult) -> list[str]:
    """The command of `words` as this result needs it: it records where only a new recording helps."""
    if not records_again(result):
        return list(words)
    return [*(word for word in words if not word.startswith(_REPLAY)), f"{_REPLAY}record"]


def stored_words(result: ScenarioResult, encoding: str = "utf-8") -> list[str]:
    """The command for a stored result, which knows nothing of the options of its run but the trial.

    Empty for a conversation that really happened: nobody can repeat it.
    """
    if result.target_name == REAL:
        return []
    path, _, name = result.scenario_id.partition("::")
    if result.trial == 1:
        return fitting_words(pytest_words(path, name, encoding), result)
    words = pytest_words(path, f"{name}[trial-{result.trial}]", encoding)
    return fitting_words([*words, f"--convoprobe-trials={result.trial}"], result)


def _can_be_pasted(text: str, encoding: str) -> bool:
    """Whether the text can be shown as it is: neither its encoding nor `harmless` changes it."""
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return False
    return harmless(text) == text


def _keywords(name: str) -> str:
    """An expression for `-k` that matches the name: all of its plain words, each once."""
    words = dict.fromkeys(re.findall(r"[A-Za-z0-9_]+", name))
    return " and ".join(word for word in words if word not in _OPERATORS)
