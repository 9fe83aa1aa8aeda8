"""Labelled conversations about opening hours, and judges of which it is known where they are wrong."""

from __future__ import annotations

import json
import re
from collections.abc import Collection

AGENT = "On Sunday we open at ten."
SAYS = "The agent says when the shop opens"
ASKS = "The agent asks for a password"


def labelled(name: str, *, says: bool = True, asks: bool | None = None) -> str:
    """A conversation as YAML, with the truth about one or two criteria; `name` is its id and in its words."""
    criteria = [_criterion("correctness", f"{SAYS} {name}", truth=says)]
    if asks is not None:
        criteria.append(_criterion("failure", f"{ASKS} {name}", truth=asks))
    turns = [{"user": f"When, {name}?", "agent": AGENT}]
    return json.dumps({"id": name, "turns": turns, "criteria": criteria})


def _criterion(kind: str, text: str, *, truth: bool) -> dict[str, object]:
    known = {"about": "agent", "shows": "presence", "opposite": f"It is not so: {text}"}
    return {"type": kind, "text": text, "truth": truth, **known}


def answers(
    prompt: str,
    *,
    wrong: Collection[str] = (),
    unsure: Collection[str] = (),
    fickle: Collection[str] = (),
) -> str:
    """The reply of a judge that finds each criterion in order, but those whose text is in `wrong`.

    It cannot tell those of `unsure`. Those of `fickle` it gets wrong until it is asked about the opposite.
    """
    asked = re.findall(r"\[([cf]\d+)\] [a-z ]+\((\w+) / (\w+) / cannot_tell\): (.+)", prompt)
    said = [_answer(*one, wrong, unsure, fickle) for one in asked]
    return json.dumps({"answers": said})


def _answer(
    key: str,
    yes: str,
    no: str,
    text: str,
    wrong: Collection[str],
    unsure: Collection[str],
    fickle: Collection[str],
) -> dict[str, object]:
    opposite = yes == "true"
    errs = _is_in(text, wrong) or (_is_in(text, fickle) and not opposite)
    # In order is `met`, `not_triggered`, and of the opposite `false` for the one and `true` for the other.
    in_order = (key[0] == "c") is not opposite
    verdict = "cannot_tell" if _is_in(text, unsure) else yes if in_order is not errs else no
    return {"id": key, "finding": f"As I see {key}", "quote": AGENT, "turn": 1, "verdict": verdict}


def _is_in(text: str, parts: Collection[str]) -> bool:
    return any(part in text for part in parts)
