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

    async def list_runs(self, limit: int = 20) -> str:
        """List the stored test runs, the newest first: when they ran, how they ended, counts of outcomes."""
        return answer(await self._output("runs", f"--limit={limit}"))

    async def show_run(self, run: str = "latest", page: int = 1) -> str:
        """Show a stored run: each scenario with its outcome, its reason and its gate's decision.

        `run` is an id or the beginning of one, `latest`, `latest~1`, or a git branch, tag or commit.
        """
        return answer(await self._output("show", "--", run), page)

    async def show_conversation(
        self, scenario: str, run: str = "latest", trial: int | None = None, page: int = 1
    ) -> str:
        """Show a conversation of a stored run with its verdict: turns, tool calls, criteria, quotes, checks.

        `scenario` is an id, a name, or a part of one. Without `trial`, it is the first that didn't pass.
        """
        which = () if trial is None else (f"--trial={trial}",)
        return answer(await self._output("show", *which, "--", run, scenario), page)

    async def compare_runs(
        self,
        base: str,
        head: str = "latest",
        fail_on: Literal["regression", "new-failure", "none"] = "regression",
        page: int = 1,
    ) -> str:
        """Compare two stored runs scenario by scenario: what got worse or better, and what else changed."""
        return answer(await self._output("compare", f"--fail-on={fail_on}", "--", base, head), page)

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
            file = path.partition("::")[0]
            if not (self._root / file).resolve().is_relative_to(self._root):
                raise ValueError(f"{path} is not in the project, {self._root}")
        return list(paths)

    async def _output(self, command: str, *words: str) -> str:
        return await output_of((command, "--json", *words), self._root)
