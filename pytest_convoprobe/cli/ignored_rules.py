"""The rules that a command leaves out, of lint and of the review of tools."""

from __future__ import annotations

from collections.abc import Collection

from ..suggest import did_you_mean
from .exits import UsageProblem


def require_rules(ignored: Collection[str], known: Collection[str]) -> None:
    """Raise `UsageProblem` for an id in `--ignore` that no rule has."""
    for name in ignored:
        if name not in known:
            raise UsageProblem(
                f"--ignore: there is no rule {name!r}{did_you_mean(name, known) or '.'} "
                f"The rules are {', '.join(known)}."
            )
