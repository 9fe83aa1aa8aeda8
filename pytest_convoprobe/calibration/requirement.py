"""Whether a judge has reached what the project requires of it: `judge.require`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..errors import SettingsError
from ..formatting import counted, number
from ..redaction import Redactor
from ..results.fingerprints import judge_print
from ..settings.effective import LoadedSettings
from ..settings.judge_settings import JudgeRequirement, JudgeSettings
from .agreement import JudgeFigures, LabelAnswer, figures_of
from .measured import Measured, on_labels


@dataclass(frozen=True)
class JudgeOfRun:
    """A judge that a run uses: its `model`, and the fingerprint of all that its answers depend on.

    `owes` says that labels of the same run have to show that it has reached what is required.
    """

    model: str
    print: str
    require: JudgeRequirement | None = None
    owes: bool = False

    @classmethod
    def of(cls, judge: JudgeSettings, loaded: LoadedSettings) -> JudgeOfRun:
        """Of settings, without their secrets."""
        redactor = Redactor(loaded.secrets, environ={})
        return cls(redactor.text(judge.model or ""), judge_print(judge, redactor), judge.require)

    @property
    def key(self) -> tuple[str, str]:
        """What it is known by in a run: files near each other may require different things of one judge."""
        return self.print, self.require.model_dump_json() if self.require else ""

    def owing(self) -> JudgeOfRun:
        """The same, of which labels of this run have to show it."""
        return replace(self, owes=True)

    def and_also(self, other: JudgeOfRun | None) -> JudgeOfRun:
        """What two processes know of one judge."""
        return self if other is None else replace(self, owes=self.owes or other.owes)

    def to_json(self) -> dict[str, Any]:
        require = self.require.model_dump() if self.require else None
        return {"model": self.model, "print": self.print, "require": require, "owes": self.owes}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> JudgeOfRun:
        """What `to_json` gave."""
        require = data["require"]
        return cls(**{**data, "require": JudgeRequirement(**require) if require else None})


def require_reached(judge: JudgeSettings, loaded: LoadedSettings, root: Path) -> None:
    """Raise `SettingsError` if the judge has not reached what is required of it, by what is stored."""
    if judge.require is None:
        return
    one = JudgeOfRun.of(judge, loaded)
    results = root / loaded.settings.results.dir
    if lacking := shortfall(judge.require, on_labels(results, one.print, root)):
        raise unfit(one.model, lacking)


def unfit(model: str, lacking: str) -> SettingsError:
    """The error for a judge that may not gate."""
    return SettingsError.of(
        f"the judge {model} may not gate: {lacking}. Run labels files with this judge, in this run or before "
        "it (`convoprobe label RUN` makes one), or take out `judge.require`",
        path="judge.require",
    )


def shortfall(require: JudgeRequirement, measured: Iterable[Measured]) -> str:
    """What the judge has not reached, in words; empty if it has reached all that is required.

    All labels count together, of whichever files they are. A copy of a file shows nothing more.
    """
    distinct = {found.digest: found for found in measured}
    answers = [one for found in distinct.values() for one in _apart(found)]
    return shortfall_of(require, figures_of(answers))


def shortfall_of(require: JudgeRequirement, reached: JudgeFigures) -> str:
    """The same for figures that are known already."""
    return "; ".join(_missing(require, reached))


def _apart(measured: Measured) -> Iterator[LabelAnswer]:
    """Two files may have conversations of one id: they are different conversations."""
    for one in measured.answers:
        yield LabelAnswer(f"{measured.file}::{one.conversation}", one.criterion, one.holds, one.judged)


def _missing(require: JudgeRequirement, reached: JudgeFigures) -> Iterator[str]:
    labels = counted(reached.labels, "label")
    if reached.labels < require.labels:
        yield f"{labels} of at least {require.labels}"
        return
    wanted = (
        ("kappa", require.kappa, reached.kappa),
        ("sensitivity", require.sensitivity, reached.sensitivity.value),
        ("specificity", require.specificity, reached.specificity.value),
    )
    for name, least, value in wanted:
        if least is None or (value is not None and value >= least):
            continue
        # A figure that can't be computed is not reached: labels that are all alike show nothing.
        said = "cannot be computed" if value is None else f"is {number(value, 3)}"
        yield f"{name} {said} on {labels}, and judge.require wants {number(least)}"
