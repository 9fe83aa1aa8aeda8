"""What is wrong with a scenario that a model wrote, in words that the model can use."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import ScenarioFileError
from ..lint.finding import Level, LintFinding
from ..lint.linting import lint_file
from ..scenario.loading import load_scenarios
from ..scenario.models import Scenario
from ..scenario.tool_names import compare_names
from .kind_rules import unfit
from .known import KnownScenarios
from .occurrences import Occurrences


@dataclass(frozen=True)
class Checked:
    """A text that was looked at. `errors` keep it from being written; `warnings` are worth another try."""

    text: str
    scenario: Scenario | None
    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def complaints(self) -> tuple[str, ...]:
        return (*self.errors, *self.warnings)


def check(
    text: str,
    tools: Sequence[str] | None,
    known: KnownScenarios,
    forbidden: Sequence[str] = (),
    kind: str = "",
) -> Checked:
    """Load and lint the text of a scenario, and compare it with the tools and the scenarios that there are.

    `forbidden` are texts that must not be in it, such as names of people. With `kind`, it has to be of that.
    """
    with tempfile.TemporaryDirectory(prefix="convoprobe-") as folder:
        file = Path(folder) / "scenario.yaml"
        file.write_text(text, encoding="utf-8")
        try:
            (loaded,) = load_scenarios(file, file="scenario")
        except ScenarioFileError as error:
            return Checked(text, None, tuple(f"{one.path}: {one.message}" for one in error.problems))
        found = lint_file(file, file="scenario")
    lint = {level: [_in_words(one) for one in found if one.level is level] for level in Level}
    scenario = loaded.scenario
    assert scenario is not None  # noqa: S101 - only a skipped one may be unfinished
    errors = [*lint[Level.ERROR], *_errors(scenario, tools, known), *unfit(kind, scenario)]
    has = (one for one in forbidden if Occurrences([one]).any_in(text))
    errors += [f"it contains {one!r}, which must be replaced" for one in has]
    return Checked(text, scenario, tuple(errors), tuple(lint[Level.WARNING]))


def _in_words(finding: LintFinding) -> str:
    problem = finding.problem
    return f"{problem.path}: {problem.message}. {finding.advice}"


def _errors(scenario: Scenario, tools: Sequence[str] | None, known: KnownScenarios) -> list[str]:
    errors = []
    if tools is not None:
        usage, ends = scenario.evaluation.tool_usage, scenario.synthetic_user.ends_with_tools
        names = compare_names(usage, tools, ends)
        errors += [*names.problems, *names.notes]
    if (other := known.repeated_by(scenario)) is not None:
        errors.append(f"another scenario begins like this already: {other!r}. Think of another situation")
    return errors
