"""Goes on from a turn of a stored conversation, against the target as it is now.

A target's inner state was not stored, and most targets can't be given a history. So the user messages
before that turn are sent again, in order and word for word, in a new conversation. The target answers
them anew: its replies, and what its tools do, may differ from those that were stored, and whatever the
agent does in the world it does once more. From the turn on the user is live, and goes on from the new
replies.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ..errors import ResultsError, SettingsError
from ..llm.port import LLM
from ..result import ScenarioResult
from ..results.index import IndexRow
from ..results.reading import StoredRun
from ..settings.loaded import LoadedSettings
from ..settings.merge import target_settings
from ..targets.factory import build_target
from ..targets.port import Target
from .current_scenarios import Scenarios, live_settings
from .trial import Job, Runner


async def rerun(
    run: StoredRun,
    row: IndexRow,
    settings: LoadedSettings,
    *,
    root: Path,
    from_turn: int,
    target: Target | None = None,
    llm: LLM | None = None,
) -> ScenarioResult:
    """Hold a stored trial's conversation again, live from turn `from_turn` on, and judge it.

    The scenario is the one in today's file, found from `root`; the target is the one that the settings name,
    unless `target` is given, which is left open. Raises `ResultsError` for a turn that the trial
    doesn't lead up to, `ScenarioFileError`, `SettingsError`, `TargetStartError`.
    """
    old = run.trial(row).result
    turns = old.transcript.turns
    if not 1 <= from_turn <= len(turns) + 1:
        raise ResultsError(
            f"turn {from_turn} cannot be gone on from: the stored conversation has {len(turns)} turns, "
            f"so any from 1 to {len(turns) + 1} can"
        )
    loaded = Scenarios(root).of(row)
    used = _configured(settings, root) if target is None else target
    runner = Runner(settings, llm=llm)
    job = Job(
        loaded=loaded,
        scenario_id=row.scenario_id,
        target=used,
        settings=live_settings(settings, loaded),
        trial=row.trial,
        earlier=turns[: from_turn - 1],
    )
    try:
        return replace(await runner.run(job), file=old.file)
    finally:
        if target is None:
            await used.aclose()
        await runner.aclose()


def _configured(settings: LoadedSettings, root: Path) -> Target:
    named = target_settings(settings)
    if named is None:
        raise SettingsError.of(
            "no target is named: a stored conversation can only be gone on with from the command line where "
            "the settings name the target (a fixture in conftest.py is for pytest alone)",
            path="target",
        )
    return build_target(named, rootdir=root)
