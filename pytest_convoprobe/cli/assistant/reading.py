"""The tools that only read: stored runs, and scenario files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from .answers import answer
from .commands import output_of


class Reading:
    """Tools on the project at `root`. Their docstrings are what an assistant knows of them."""

    def __init__(self, root: Path) -> None:
        self._root = root

    async def list_runs(self, limit: int = 20, page: int = 1) -> str:
        """List the stored test runs, the newest first: when they ran, how they ended, counts of outcomes."""
        return answer(await self._output("runs", f"--limit={limit}"), page)

    async def show_run(self, run: str = "latest", page: int = 1) -> str:
        """Show a stored run: each scenario with its outcome, its reason and its gate's decision.

        `run` is an id or the beginning of one, `latest`, `latest~1`, or a git branch, tag or commit.
        """
        return answer(await self._output("show", "--", self._own_run(run)), page)

    async def show_conversation(
        self, scenario: str, run: str = "latest", trial: int | None = None, page: int = 1
    ) -> str:
        """Show a conversation of a stored run with its verdict: turns, tool calls, criteria, quotes, checks.

        `scenario` is an id, a name, or a part of one. Without `trial`, it is the first that didn't pass.
        """
        which = () if trial is None else (f"--trial={trial}",)
        return answer(await self._output("show", *which, "--", self._own_run(run), scenario), page)

    async def compare_runs(
        self,
        base: str,
        head: str = "latest",
        fail_on: Literal["regression", "new-failure", "none"] = "regression",
        page: int = 1,
    ) -> str:
        """Compare two stored runs scenario by scenario: what got worse or better, and what else changed."""
        runs = map(self._own_run, (base, head))
        return answer(await self._output("compare", f"--fail-on={fail_on}", "--", *runs), page)

    async def show_trends(self, scenario: str = "", window: int = 20, page: int = 1) -> str:
        """Show pass rates of scenarios over the stored runs; `scenario` is a part of an id or a name."""
        chosen = (f"--scenario={scenario}",) if scenario else ()
        return answer(await self._output("trends", f"--window={window}", *chosen), page)

    async def validate_scenarios(self, paths: list[str], page: int = 1) -> str:
        """Check scenario files without running them: mistakes with file, line and column."""
        return answer(await self._output("validate", "--", *self.inside(paths)), page)

    async def lint_scenarios(self, paths: list[str], page: int = 1) -> str:
        """Find criteria in scenario files that can't notice a wrong agent, and what to do about them."""
        return answer(await self._output("lint", "--", *self.inside(paths)), page)

    def inside(self, paths: Sequence[str]) -> list[str]:
        """The paths, if they are in the project. Raises `ValueError` for others."""
        for path in paths:
            self._require_inside(path, path.partition("::")[0])
        # pytest takes words for options also behind `--`, and reads more of them from a file behind an `@`.
        # One of them would lift the limit of the budget.
        return [f"./{path}" if path.startswith(("-", "@")) else path for path in paths]

    def _own_run(self, run: str) -> str:
        """The name of a run, which may be the path of its folder. Raises `ValueError` for other folders."""
        if (self._root / run).exists():
            self._require_inside(run, run)
        return run

    def _require_inside(self, named: str, file: str) -> None:
        if not (self._root / file).resolve().is_relative_to(self._root):
            raise ValueError(f"{named} is not in the project, {self._root}")

    async def _output(self, command: str, *words: str) -> str:
        return await output_of((command, "--json", *words), self._root)
