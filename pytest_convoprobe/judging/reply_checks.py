"""The checks of what the agent says: which replies they are about, and what they come to. Pure functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..errors import ScenarioError
from ..scenario.reply_checks import ReplyCheck
from ..scenario.reply_rules import PRESENCE
from ..text import one_line, shorten
from ..transcript import Reply, Termination, Transcript
from .absent_turns import ended
from .reply_conditions import Fulfilled, ReplyFinding, looked_at, words_of
from .types import CheckResult

REPLY_NAMES = (
    r"(?:a|every|the last|the|each) reply (?:in turns? [\d and]+ )?(?:contains|doesn't|matches|is|has) .+"
)
"""What the names of these checks look like, as a regular expression."""
_NAME = 160


def reply_checks(
    checks: Sequence[ReplyCheck], transcript: Transcript
) -> tuple[tuple[CheckResult, ...], tuple[ScenarioError, ...]]:
    """The results of the checks that can be decided, and an error for each other one.

    Raises `MissingPackage` if languages can't be recognised here.
    """
    results: list[CheckResult] = []
    errors: list[ScenarioError] = []
    for index, check in enumerate(checks):
        found = _Looked(index, check, transcript).outcome()
        if isinstance(found, CheckResult):
            results.append(found)
        else:
            errors.append(found)
    return tuple(results), tuple(errors)


@dataclass(frozen=True)
class _Looked:
    """One check beside a conversation."""

    index: int
    check: ReplyCheck
    transcript: Transcript

    def outcome(self) -> CheckResult | ScenarioError:
        """The result, or why there is none."""
        replies = {turn.number: turn.reply for turn in self.transcript.turns}
        missing = [turn for turn in self._turns(replies) if turn not in replies]
        if missing or not replies:
            return self._absent(missing[0] if missing else 1)
        findings = {turn: _of_reply(self.check, replies[turn], turn) for turn in self._turns(replies)}
        return self._any(findings) if self.check.turns == "any" else self._all(findings)

    def _turns(self, replies: Mapping[int, Reply]) -> Sequence[int]:
        which = self.check.turns
        if isinstance(which, tuple):
            return which
        return list(replies)[-1:] if which == "last" else list(replies)

    def _absent(self, turn: int) -> CheckResult | ScenarioError:
        """An agent that ended the conversation had every chance to say what it had to say."""
        asked = any(getattr(self.check, "in_json" if key == "json" else key) is not None for key in PRESENCE)
        if asked and self.transcript.termination is Termination.AGENT_ENDED:
            return self._result(False, _ONE, f"no turn {turn}: the agent ended the conversation")
        return self._error(
            f"{ended(self.transcript)}, so turn {turn} never took place",
            "Have the user go on until then (`synthetic_user.script`), or write `turn: last`",
        )

    def _any(self, findings: Mapping[int, ReplyFinding]) -> CheckResult | ScenarioError:
        expected = "at least 1 reply like that"
        good = [turn for turn, one in findings.items() if one.answer is Fulfilled.YES]
        if good:
            return self._result(True, expected, findings[good[0]].found, good[0])
        if unclear := next((one for one in findings.values() if one.answer is not Fulfilled.NO), None):
            return self._unclear(unclear)
        *others, (turn, last) = findings.items()
        found = f"none of {len(findings)}; the last: {last.found}" if others else last.found
        return self._result(False, expected, found, None if others else turn)

    def _all(self, findings: Mapping[int, ReplyFinding]) -> CheckResult | ScenarioError:
        number = len(findings)
        expected = f"all {number} replies like that" if number > 1 else _ONE
        if wrong := [turn for turn, one in findings.items() if one.answer is Fulfilled.NO]:
            others = f"{number - len(wrong)} of {number} like that; turn {wrong[0]}: " if number > 1 else ""
            return self._result(False, expected, f"{others}{findings[wrong[0]].found}", wrong[0])
        unclear = [one for one in findings.values() if one.answer is Fulfilled.UNCLEAR]
        silent = [one for one in findings.values() if one.answer is Fulfilled.SAYS_NOTHING]
        if unclear or len(silent) == number or (silent and self.check.turns != "all"):
            return self._unclear((*unclear, *silent)[0])
        if number == 1:
            (turn, one) = next(iter(findings.items()))
            return self._result(True, expected, one.found, turn)
        passed_over = f", and {len(silent)} in no language" if silent else ""
        return self._result(True, expected, f"{number - len(silent)} of {number} like that{passed_over}")

    def _result(self, holds: bool, expected: str, found: str, turn: int | None = None) -> CheckResult:
        return CheckResult(
            shorten(one_line(f"{self._which()} {words_of(self.check)}"), _NAME), holds, expected, found, turn
        )

    def _which(self) -> str:
        which = self.check.turns
        if isinstance(which, tuple):
            numbers = " and ".join(map(str, which))
            return f"the reply in turn {numbers}" if len(which) == 1 else f"each reply in turns {numbers}"
        return {"any": "a reply", "all": "every reply", "last": "the last reply"}[which]

    def _unclear(self, finding: ReplyFinding) -> ScenarioError:
        error = self._error(finding.found, finding.advice)
        error.remedies = ("run.max_text",) if finding.advice == _RAISE else ()
        return error

    def _error(self, why: str, advice: str) -> ScenarioError:
        what = f"evaluation.replies[{self.index}] ({words_of(self.check)}) cannot be checked"
        return ScenarioError(f"{what}: {why}. {advice}, or take it out of the scenario")


_RAISE = "Raise the setting"
_ONE = "a reply like that"


def _of_reply(check: ReplyCheck, reply: Reply, turn: int) -> ReplyFinding:
    if "text" in reply.cut:
        # Whatever the part that was kept shows: the rest could make each condition true or false.
        long = f"the reply in turn {turn} is longer than `run.max_text`, so only a part of it was kept"
        return ReplyFinding(Fulfilled.UNCLEAR, long, _RAISE)
    found = looked_at(check, reply.text)
    if found.answer in (Fulfilled.YES, Fulfilled.NO):
        return found
    return ReplyFinding(found.answer, f"the reply in turn {turn} {found.found}", found.advice)
