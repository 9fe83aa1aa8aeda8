"""Goes on from a turn of a stored conversation, against the target as it is now.

A target's inner state was not stored, and most targets can't be given a history. So the user messages
before that turn are sent again, in order and word for word, in a new conversation. The target answers
them again: its replies, and what its tools do, may differ from those that were stored. Whatever the
agent does in the world it does once more. From the turn on the user is live, and goes on from the new
replies.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import replace

from ..errors import ResultsError
from ..result import ScenarioResult
from ..results.index import IndexRow
from ..results.reading import StoredRun
from ..targets.port import Target
from .current_scenarios import Scenarios, live_settings, of_named_target
from .session import Session


def rerun(
    run: StoredRun,
    row: IndexRow,
    session: Session,
    *,
    from_turn: int,
    target: Target | None = None,
    tick: Callable[[], object] = bool,
) -> ScenarioResult:
    """Repeat a stored trial's conversation, live from turn `from_turn` on, and judge it.

    The scenario is the one in today's file, found from the session's rootdir. The target is the one that the
    settings name, unless `target` is given, which is left open. Raises `ResultsError` for a turn that the
    trial doesn't lead up to, `ScenarioFileError`, `SettingsError`, `TargetStartError`.
    """
    old = run.trial(row).result
    turns = old.transcript.user_turns
    _require_turn(from_turn, len(turns))
    loaded = Scenarios(session.rootdir).of(row)
    loaded = of_named_target(loaded, session.settings_of(loaded.file))
    if loaded.parameters and target is None:
        # The target of the settings would answer in its place, and nobody would notice.
        raise ResultsError(
            f"{row.scenario_id} ran with a target that only pytest can make: its fixtures have the "
            f"parameters {loaded.parameters}. Run it with pytest: pytest {shlex.quote(row.scenario_id)}"
        )
    settings = live_settings(session.settings_of(loaded.file, loaded.configured), loaded)
    with session.target(target, loaded.file, loaded.configured) as used:
        job = session.job(
            loaded, row.scenario_id, used, settings, trial=row.trial, earlier=turns[: from_turn - 1]
        )
        result = session.wait(session.submit(job), tick)
        return replace(result, file=old.file, target_name=old.target_name)


def _require_turn(turn: int, turns: int) -> None:
    if not 1 <= turn <= turns + 1:
        raise ResultsError(
            f"the conversation cannot continue from turn {turn}: the stored one has {turns} turns, "
            f"so choose one from 1 to {turns + 1}"
        )
