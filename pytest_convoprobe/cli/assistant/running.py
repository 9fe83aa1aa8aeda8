"""The tools that run scenarios, within a budget for the whole life of the server."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from ..project import Project
from .answers import answer
from .commands import Finished, RunningCommand, output_of
from .reading import Reading

_MOST_WAIT = 50.0
"""Seconds. Many clients give up on a tool after a minute."""
_TAIL = 4_000
_LOOKED_AT = 50
_SPENT_NOTHING = (4, 5)
"""Exit statuses of pytest: a wrong command line, and nothing to run. After another one, a run was stored, or
its spending isn't known."""


@dataclass(frozen=True)
class ServerBudget:
    """What runs may spend in all: US dollars, tokens, or both; None is no limit."""

    cost: float | None = None
    tokens: int | None = None

    def less(self, cost: float, tokens: int) -> ServerBudget:
        """What is left after so much was spent."""
        return ServerBudget(
            None if self.cost is None else self.cost - cost,
            None if self.tokens is None else self.tokens - tokens,
        )

    @property
    def used_up(self) -> bool:
        """Whether nothing is left."""
        return (self.cost is not None and self.cost <= 0) or (self.tokens is not None and self.tokens <= 0)

    def options(self) -> list[str]:
        """The options that keep a run of pytest within it."""
        limits = {"cost": self.cost, "tokens": self.tokens}
        return [f"--convoprobe-max-{name}={value}" for name, value in limits.items() if value is not None]


_NOTHING = ServerBudget(0.0, 0)


@dataclass
class _Run:
    """A run that was started. `token` is in its command line, so that its stored run is known from others."""

    command: RunningCommand
    token: str
    end: asyncio.Task[str] | None = None


class ScenarioRuns:
    """Runs pytest on scenarios, one run at a time. A run is started, and asked for until it has ended."""

    def __init__(self, root: Path, budget: ServerBudget) -> None:
        self._root = root
        self._left = budget
        self._paths = Reading(root)
        self._starting = asyncio.Lock()
        self._run: _Run | None = None

    async def run_scenarios(self, paths: list[str], keyword: str = "", wait: float = 30.0) -> str:
        """Run scenarios with pytest, within the server's budget. Talking and judging cost money and time.

        `paths` are scenario files, folders, or ids such as `scenarios/a.yaml::Refund`; `keyword` is pytest's
        -k.
        If it has not ended after `wait` seconds (at most 50), ask `run_status` for it.
        """
        # An assistant may call twice at once, and two runs would spend what is left twice.
        async with self._starting:
            await self._start(paths, keyword)
        return await self.run_status(wait)

    async def run_status(self, wait: float = 30.0) -> str:
        """Whether the run of `run_scenarios` has ended; then its output, and its id for `show_run`."""
        run = self._run
        if run is None:
            raise ValueError("no run is going on")
        finished = await run.command.finished(min(max(wait, 0.0), _MOST_WAIT))
        if finished is None:
            return json.dumps({"state": "running", "next": "ask `run_status` again"})
        # A task of its own, and only one: what was spent is counted once, also if nobody waits for it.
        run.end = run.end or asyncio.ensure_future(self._ended(finished, run))
        return await asyncio.shield(run.end)

    async def stop(self) -> None:
        """End a run that is going on."""
        if self._run is not None:
            await self._run.command.stop()

    async def _start(self, paths: list[str], keyword: str) -> None:
        if self._run is not None:
            raise ValueError("a run is going on: ask `run_status` for it first")
        if self._left.used_up:
            raise ValueError("the budget of this server is used up: a person has to start it again")
        if not paths:
            raise ValueError("name at least one file, folder or id of a scenario")
        # As one word, so that no keyword is taken for an option.
        chosen = [f"-k{keyword}"] if keyword else []
        token = f"no:assistant-{uuid4().hex[:12]}"
        words = ["-q", "-p", token, *self._left.options(), *chosen, "--", *self._paths.inside(paths)]
        self._run = _Run(await RunningCommand.start(("-m", "pytest", *words), self._root), token)

    async def _ended(self, finished: Finished, run: _Run) -> str:
        try:
            stored = await asyncio.to_thread(self._stored, run.token)
            if stored is not None:
                await self._count(stored)
            elif finished.status not in _SPENT_NOTHING:
                self._left = _NOTHING
        except BaseException:
            # What can't be counted may have been everything.
            self._left = _NOTHING
            raise
        finally:
            self._run = None
        found = {
            "state": "ended",
            "exit_status": finished.status,
            "run": stored,
            "left": {"cost": self._left.cost, "tokens": self._left.tokens},
            "output": f"{finished.output}{finished.complaint}"[-_TAIL:],
        }
        return answer(json.dumps(found, ensure_ascii=False))

    def _stored(self, token: str) -> str | None:
        """The id of the stored run whose command has this word: somebody else may run scenarios meanwhile."""
        runs = Project(self._root).runs()
        return next((run.id for run in runs[:_LOOKED_AT] if token in run.info.command), None)

    async def _count(self, run: str) -> None:
        """Take what a run has spent from the budget. What isn't known uses all of it up."""
        report = json.loads(await output_of(("report", "--json", run), self._root))
        spent = [*report["totals"]["spent"].values(), *report["totals"]["without_result"].values()]
        costs = [one["cost"] for one in spent]
        cost = self._left.cost or 0.0 if None in costs else sum(costs)
        tokens = sum(one["prompt_tokens"] + one["completion_tokens"] for one in spent)
        self._left = self._left.less(cost, tokens)
