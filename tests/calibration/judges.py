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


def answers(prompt: str, *, wrong: Collection[str] = (), unsure: Collection[str] = ()) -> str:
    """The reply of a judge that finds each criterion in order, but those whose text is in `wrong`.

    It cannot tell those of `unsure`.
    """
    asked = dict(re.findall(r"\[([cf]\d+)\] (.+)", prompt))
    return json.dumps({"answers": [_answer(key, text, wrong, unsure) for key, text in asked.items()]})


def _answer(key: str, text: str, wrong: Collection[str], unsure: Collection[str]) -> dict[str, object]:
    good, bad = ("not_triggered", "triggered") if key[0] == "f" else ("met", "not_met")
    verdict = bad if any(one in text for one in wrong) else good
    if any(one in text for one in unsure):
        verdict = "cannot_tell"
    return {"id": key, "finding": f"As I see {key}", "quote": AGENT, "turn": 1, "verdict": verdict}
