"""What a judge is asked besides its verdict, answered so that a scripted verdict counts as it is.

Most tests script one thing: what the judge says of a conversation. The question what the criteria are about,
look-ups in long texts and the second vote are routine for them: `JudgeRoutine` answers all of these. Any
speaker's words are evidence, and a vote repeats what was said first. A test about the judge itself does
without it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

_ASKED = re.compile(r"\[([cft]\d+)\]")
_FENCE = re.compile(r"<<<conversation ([0-9a-f]+)>>>")
_FLIPPED = {
    "met": "false",
    "not_met": "true",
    "triggered": "false",
    "not_triggered": "true",
    "cannot_tell": "cannot_tell",
}


class JudgeRoutine:
    """Knows by the prompts what is asked, and by the conversation's fence what was said of it before.

    `shows` is what a correctness criterion is about: with `presence`, `met` needs a quote and `not_met` none.
    """

    def __init__(self, shows: str = "absence") -> None:
        # By default so that `met` counts with a quote and without one.
        self._shows = shows
        self._said: dict[str, dict[str, Any]] = {}

    def answer(self, contents: Iterable[str]) -> str | None:
        """The reply to a routine question; None for every other one."""
        system, *others = [*contents, ""]
        asked = "\n".join(others)
        if system.startswith("You read criteria for conversations"):
            return json.dumps({one: self._aspects(one) for one in _ids(asked)})
        if system.startswith("You prepare the examination"):
            return json.dumps({"look_up": []})
        fence = _FENCE.search(asked)
        if fence is None or "] statement (true / false" not in asked:
            return None
        known = self._said.get(fence[1], {})
        ids = _ids(asked.rpartition("Criteria:")[2])
        return json.dumps({one: _repeated(known[one]) for one in ids}) if set(ids) <= set(known) else None

    def _aspects(self, identifier: str) -> dict[str, str]:
        shows = "presence" if identifier.startswith("f") else self._shows
        return {"about": "any", "shows": shows, "opposite": f"The opposite of {identifier}"}

    def heard(self, contents: Iterable[str], reply: str) -> None:
        """Keep what was said of a conversation."""
        fence = _FENCE.search("\n".join(contents))
        if fence is not None:
            with suppress(ValueError, TypeError, KeyError, AttributeError):
                self._said.setdefault(fence[1], {}).update(_by_id(json.loads(reply)))


def _by_id(reply: Any) -> dict[str, Any]:
    answers = reply.get("answers", reply)
    found = {one["id"]: one for one in answers} if isinstance(answers, list) else answers
    return {key: one for key, one in found.items() if one["verdict"] in _FLIPPED}


def _ids(text: str) -> list[str]:
    return list(dict.fromkeys(_ASKED.findall(text)))


def _repeated(answer: Mapping[str, Any]) -> dict[str, Any]:
    return {**answer, "verdict": _FLIPPED[answer["verdict"]]}
