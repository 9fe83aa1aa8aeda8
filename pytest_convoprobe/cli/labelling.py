"""The questions of `convoprobe label`: a conversation, its criteria one by one, and then the judge's word."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..calibration.labelling import Mask, answered_in, append_labels, labelled_data, truth_key
from ..judging.criteria import criteria_of
from ..judging.types import Criterion, CriterionKind, CriterionResult
from ..reports.talk import Detail, add_conversation
from ..reports.terminal_page import Page
from ..result import ScenarioResult, answer_word
from ..results.store import IndexRow, StoredRun
from ..scenario.loading import LoadedScenario
from .console import Console

_ANSWERS = {"y": True, "yes": True, "n": False, "no": False}
_SKIP, _QUIT = ("s", "skip", ""), ("q", "quit")
_ASKED = "Is this true of the conversation? [y]es, [n]o, [s]kip, [q]uit: "
_WIDTH = 100


class _Quit(Exception):
    """The person wants to stop."""


@dataclass
class Labelling:
    """One sitting. `ask` shows a question and returns the line that was typed; None at the end of input.

    `scenario_of` gives the scenario of a stored conversation as it is today, as far as it is known.
    """

    run: StoredRun
    file: Path
    console: Console
    ask: Callable[[str], str | None]
    mask: Mask = str
    scenario_of: Callable[[IndexRow], LoadedScenario | None] = lambda _: None
    labels: int = field(default=0, init=False)

    def go_through(self, rows: Sequence[IndexRow]) -> None:
        """Ask about each criterion that the file has no truth for yet. What was answered is kept at once.

        That holds for the conversation in the middle of which somebody stops, too. Raises `ScenarioFileError`
        for a file that is broken, and `ResultsError`.
        """
        known = answered_in(self.file)
        try:
            for number, row in enumerate(rows, start=1):
                self._one(row, known.get(truth_key(row), []), f"conversation {number} of {len(rows)}")
        except _Quit:
            return

    def _one(self, row: IndexRow, before: list[set[str]], where: str) -> None:
        result, seen = self.run.trial(row).result, set[str]().union(*before)
        asked = [one for one in self._criteria(row, result) if self.mask(one.criterion.text) not in seen]
        if not asked or not result.transcript.turns:
            return
        self._show(row, result, where)
        truths: list[tuple[Criterion, bool]] = []
        try:
            for found in asked:
                if (truth := self._truth(found)) is not None:
                    truths.append((found.criterion, truth))
        finally:
            # Ctrl-C too: nobody wants to read the same conversation twice.
            self._keep(row, result, truths, part=len(before) + 1)

    def _criteria(self, row: IndexRow, result: ScenarioResult) -> tuple[CriterionResult, ...]:
        """What the judge answered. Where it gave no verdict, today's criteria: such cases matter."""
        loaded = self.scenario_of(row)
        if result.criteria or loaded is None or loaded.scenario is None:
            return result.criteria
        criteria = criteria_of(loaded.scenario.evaluation)
        return tuple(CriterionResult(one, "cannot_tell", None, "it gave no verdict") for one in criteria)

    def _keep(
        self, row: IndexRow, result: ScenarioResult, truths: list[tuple[Criterion, bool]], part: int
    ) -> None:
        if not truths:
            return
        loaded = self.scenario_of(row)
        description = loaded.description if loaded else ""
        data = labelled_data(row, result, truths, description=description, part=part, mask=self.mask)
        append_labels(self.file, data)
        self.labels += len(truths)

    def _truth(self, found: CriterionResult) -> bool | None:
        """What the person says; None for skipped. Only then the judge's word is shown."""
        must = "must not" if found.criterion.kind is CriterionKind.FAILURE else "must"
        tool = f" (calls of {found.criterion.tool})" if found.criterion.tool else ""
        self.console.say(
            f"\n{must}{self.console.safe(tool)}: {self.console.safe(found.criterion.text)}", "bold"
        )
        truth = self._answer()
        self._show_judge(found, truth)
        return truth

    def _answer(self) -> bool | None:
        while True:
            line = self.ask(_ASKED)
            word = "q" if line is None else line.strip().lower()
            if word in _QUIT:
                raise _Quit
            if word in _SKIP:
                return None
            if word in _ANSWERS:
                return _ANSWERS[word]
            self.console.say("Please answer y, n, s or q.")

    def _show_judge(self, found: CriterionResult, truth: bool | None) -> None:
        place = f' ("{found.quote}" in turn {found.turn})' if found.quote else ""
        said = self.console.safe(f"{answer_word(found.answer)}: {found.finding}{place}")
        holds = None if truth is None else truth is (found.criterion.kind is not CriterionKind.FAILURE)
        beside = "" if holds is None else "as you do, " if holds is found.holds else "otherwise than you, "
        self.console.say(f"the judge says, {beside}{said}", "faint")

    def _show(self, row: IndexRow, result: ScenarioResult, where: str) -> None:
        """The whole conversation, without a word of the judge, and without what nobody but the agent saw."""
        width, ascii_only = self.console.width or _WIDTH, not self.console.unicode
        page = Page(width, ascii_only=ascii_only, color=self.console.color)
        turns = tuple(
            replace(turn, reply=replace(turn.reply, thoughts="")) for turn in result.transcript.turns
        )
        talk = replace(result, transcript=replace(result.transcript, turns=turns), criteria=(), checks=())
        add_conversation(page, talk, Detail.of(2))
        self.console.say(f"\n{where}: {self.console.safe(row.scenario_id)}", "bold")
        self.console.write(page.text().split("\n"))
