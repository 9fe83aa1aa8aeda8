"""What a scenario answers where its agent waits for a person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..judging.arguments import unmet
from ..scenario.approvals import APPROVE, REJECT, ApprovalRule
from ..scenario.models import SyntheticUser
from ..scenario.rules import ScriptAnswer, answers_by_turn
from ..tool_patterns import matches
from ..transcript import PendingRequest


class ScenarioApprover:
    """Answers by the script first, then by `synthetic_user.approvals`; see `conversation.port.Approver`."""

    advice = (
        "Set `synthetic_user.approvals` to `approve`, to `reject`, or to rules by tool, or write "
        "`answer: approve` into the script, behind the message"
    )

    def __init__(self, user: SyntheticUser) -> None:
        self._scripted = answers_by_turn(user.script)
        self._rules = _rules(user)

    def answered(
        self, requests: tuple[PendingRequest, ...], *, turn: int, pause: int
    ) -> tuple[PendingRequest, ...]:
        scripted = self._scripted.get(turn, [])[pause : pause + 1]
        return tuple(self._answered(request, scripted) for request in requests)

    def _answered(self, request: PendingRequest, scripted: Sequence[ScriptAnswer]) -> PendingRequest:
        rules = [rule for rule in self._rules if _fits(rule, request)]
        possible: tuple[ScriptAnswer, ...] = (*scripted, *rules)
        found = next((one for one in possible if _answers(one.answer, request)), None)
        return request if found is None else replace(request, answer=found.answer, reason=found.reason or "")


def _rules(user: SyntheticUser) -> tuple[ApprovalRule, ...]:
    given = user.approvals
    if isinstance(given, str):
        return (ApprovalRule(tool="*", answer=given),)
    return given or ()


def _fits(rule: ApprovalRule, request: PendingRequest) -> bool:
    return matches(rule.tool, request.tool) and not unmet(rule.args, request.arguments)


def _answers(answer: str, request: PendingRequest) -> bool:
    """Whether it can be the answer: permissions are no words that a question asks for."""
    return request.is_approval or answer not in (APPROVE, REJECT) or answer in request.choices
