"""Enters every call of one scenario in a ledger."""

from __future__ import annotations

from dataclasses import replace

from ..errors import LLMError
from ..transcript import Usage
from .budget import Budget, Spent
from .ledger import Ledger
from .port import LLM, LLMReply, LLMRequest


class Metered:
    """Wraps an `LLM`: records replies and failures in the ledger, by the role that called.

    `budget` is that of the wrapped `LLM`, which counts calls itself: here it gets what an agent reports. The
    wrapped `LLM` is not closed. It belongs to the run and is used by other scenarios too.
    """

    def __init__(self, inner: LLM, ledger: Ledger, budget: Budget | None = None) -> None:
        self._inner = inner
        self._ledger = ledger
        self._budget = budget or Budget()

    async def complete(self, request: LLMRequest) -> LLMReply:
        role, sent = request.context.role, list[Spent]()

        def on_send(guess: Spent) -> None:
            sent.append(guess)
            self._ledger.record_sent(role, guess)

        try:
            reply = await self._inner.complete(replace(request, on_send=on_send))
        except LLMError as error:
            self._ledger.record_failure(role, error.attempts, error.cost)
            raise
        except BaseException:
            # Cancelled, or out of budget before another attempt. What was sent has to be paid for.
            if sent:
                self._ledger.record_failure(role, len(sent), None)
            raise
        self._ledger.record(role, reply)
        return reply

    def before_agent(self) -> None:
        """An agent is about to be asked. Raises `BudgetExceeded` if nothing more may be spent."""
        self._budget.check()

    def take_agents_own(self, usage: Usage) -> None:
        """Take in the tokens that an agent reports with a reply."""
        if self._ledger.record_agents_own(usage):
            self._budget.add(Spent(tokens=usage.total))

    async def aclose(self) -> None:
        """Do nothing: the run closes the wrapped `LLM`."""
