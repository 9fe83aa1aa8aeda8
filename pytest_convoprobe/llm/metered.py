"""Enters every call of one scenario in a ledger."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ..errors import LLMError, SettingsError
from ..transcript import Usage
from .budget import Budget, Spent
from .ledger import Ledger, Spending
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
        self._seen = Usage()

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
        self._seen = Usage()

    def take_agents_own(self, usage: Usage) -> None:
        """Take in the tokens that an agent reports with a reply, but those that were seen count already."""
        rest = usage.beyond(self._seen)
        if self._ledger.record_agents_own(rest):
            self._budget.add(Spent(tokens=rest.total))

    def before_agents_call(self, model: Callable[[], tuple[str, bool]]) -> None:
        """The agent is about to call a model. Raises what a call of ours would raise.

        That is `BudgetExceeded`, or `SettingsError` for an unknown price if there is a limit on money. Only
        then `model` is called for its name, and for whether its price is known.
        """
        self._budget.check()
        if self._budget.max_cost is None:
            return
        name, is_priced = model()
        if not is_priced:
            raise SettingsError.of(
                f"cannot enforce run.max_cost: the price of {name or 'a model'}, which the agent calls "
                "itself, is not in LiteLLM's list of prices; set it in target.models.prices (0 for a free "
                "one), or limit the run by run.max_tokens instead",
                path="run.max_cost",
                remedies=("run.max_tokens",),
            )

    def take_agents_call(self, usage: Usage | None, cost: float | None, replayed: bool, guess: Spent) -> None:
        """Take in a call that the agent made itself, and that was seen.

        `usage` and `cost` are None where nobody knows them. Then the budget counts the `guess`.
        """
        known = usage or Usage()
        self._seen += known
        self._ledger.record_agents_call(Spending(1, 1, int(replayed), known, cost))
        if not replayed:
            guessed = usage is None
            self._budget.add(guess if usage is None else Spent(cost, usage.total), guessed=guessed)

    def take_no_call(self) -> None:
        """The agent made a call that nobody answered: nothing was spent, and that is known."""
        self._ledger.record_agents_call(Spending())

    async def aclose(self) -> None:
        """Do nothing: the run closes the wrapped `LLM`."""
