"""Which policy decides where the settings say `auto`."""

from __future__ import annotations

from typing import Literal

Chosen = Literal["paired", "confirm", "each"]


def choose(
    policy: Literal["auto", "paired", "confirm", "each"],
    *,
    has_baseline: bool,
    only_recordings: bool,
    trials_asked: bool,
) -> Chosen:
    """The policy of a run. A policy that was asked for stays, whatever the run has.

    `only_recordings`: no model is called. `trials_asked`: somebody asked for a number of trials.
    """
    if policy != "auto":
        return policy
    # A recording answers the same each time: a second conversation would confirm nothing.
    if only_recordings or trials_asked:
        return "each"
    return "paired" if has_baseline else "confirm"
