"""What the faults of a conversation do to each call of its agent to a model."""

from __future__ import annotations

import math

from ..faults.model_plan import ModelFaultPlan
from ..faults.rules import FaultRule
from ..llm.protocols.events import EVENT_STREAM
from ..llm.protocols.types import ModelProtocol, ModelRequest
from ..llm.protocols.writing import empty_answer, error_body
from .exchange import Answered, Asked
from .port import Injection

_LOST = "\N{REPLACEMENT CHARACTER}" * 8
_GARBAGE = f'{{"id": "{_LOST}", "{_LOST}'
# Clients of these read nothing else of an event without a name.
_FIRST_EVENTS = {ModelProtocol.RESPONSES: "response.created", ModelProtocol.MESSAGES: "message_start"}


class PlannedFaults:
    """The faults of a plan, as answers in the protocol of each call. See `WireFaults`.

    Only what a model answers counts as a call: lists of models, counts of tokens and files go on as they are.
    """

    def __init__(self, plan: ModelFaultPlan) -> None:
        self._plan = plan

    def strike(self, asked: Asked) -> Injection | None:
        """What happens to this request; None for nothing."""
        request = asked.request
        if asked.method != "POST" or request.protocol is ModelProtocol.UNKNOWN:
            return None
        rule = self._plan.next_call(request.model)
        return None if rule is None else _injection(rule, request)


def _injection(rule: FaultRule, request: ModelRequest) -> Injection:
    answer = _answer(rule, request)
    if answer is not None:
        return Injection(rule.words, answer=answer)
    kind = rule.kind
    return Injection(rule.words, delay=rule.wait, closes=kind == "timeout", cut=kind == "truncated")


def _answer(rule: FaultRule, request: ModelRequest) -> Answered | None:
    """What comes in place of the model's answer; None where no other one does."""
    if rule.kind == "rate_limit":
        return _refused(429, request, rule.error, "rate_limit_error", rule.seconds)
    if rule.kind == "error":
        return _refused(500, request, rule.error, "api_error")
    if rule.kind == "empty":
        kind, body = empty_answer(request.protocol, stream=request.stream, model=request.model)
        return Answered(200, body, {"content-type": kind})
    return _garbage(request) if rule.kind == "corrupted" else None


def _refused(
    status: int, request: ModelRequest, words: str, kind: str, wait: float | None = None
) -> Answered:
    body = error_body(request.protocol, words, kind)
    after = {} if wait is None else {"retry-after": str(math.ceil(wait))}
    return Answered(status, body, {"content-type": "application/json", **after})


def _garbage(request: ModelRequest) -> Answered:
    """An answer that nobody can read, as a stream where one was asked for."""
    if not request.stream:
        return Answered(200, _GARBAGE.encode(), {"content-type": "application/json"})
    name = _FIRST_EVENTS.get(request.protocol)
    event = f"event: {name}\n" if name else ""
    return Answered(200, f"{event}data: {_GARBAGE}\n\n".encode(), {"content-type": EVENT_STREAM})
