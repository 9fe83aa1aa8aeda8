"""The limits on what a run may spend, checked before every attempt."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from ..errors import BudgetExceeded, LLMError, LLMTimeout, SettingsError
from ..formatting import dollars
from ..settings.models import ModelSettings
from .port import LLM, LLMReply, LLMRequest

KnowsPrice = Callable[[ModelSettings], Awaitable[bool]]


@dataclass(frozen=True)
class Spent:
    """What a run has used so far: US dollars (None once a call's price was unknown) and tokens."""

    cost: float | None = 0.0
    tokens: int = 0

    def __add__(self, other: Spent) -> Spent:
        known = self.cost is not None and other.cost is not None
        cost = (self.cost or 0.0) + (other.cost or 0.0) if known else None
        return Spent(cost, self.tokens + other.tokens)


class Budget:
    """The limits of a run, in US dollars and in tokens (None: no limit), and what was spent.

    `workers` processes divide the limits evenly: each keeps to its own share. Or they report to each other
    what they spend: `elsewhere` is what the other processes have spent of the same limits. A call counts when
    its reply arrives, so the last calls of a run may exceed a limit, each by at most its own cost.
    """

    def __init__(
        self, max_cost: float | None = None, max_tokens: int | None = None, *, workers: int = 1
    ) -> None:
        self.max_cost = max_cost
        self.max_tokens = max_tokens
        self._workers = workers
        self._spent = Spent()
        self.elsewhere = Spent()

    @property
    def spent(self) -> Spent:
        return self._spent

    def check(self) -> None:
        """Raises `BudgetExceeded` if nothing more may be spent."""
        spent = self._spent + self.elsewhere
        cost, tokens = spent.cost, spent.tokens
        # An unknown cost doesn't end the run here: `Budgeted` refuses the next call with its own words.
        if self.max_cost is not None and cost is not None and cost >= self.max_cost / self._workers:
            raise self._exceeded(f"{dollars(cost)} spent", "run.max_cost", f"{self.max_cost:g}")
        if self.max_tokens is not None and tokens >= self.max_tokens / self._workers:
            raise self._exceeded(f"{tokens:,} tokens spent", "run.max_tokens", str(self.max_tokens))

    def _exceeded(self, spent: str, limit: str, allowed: str) -> BudgetExceeded:
        share = f"this worker's share, 1 in {self._workers}, of " if self._workers > 1 else ""
        return BudgetExceeded(
            f"the run's budget is used up: {spent} of {share}{limit} {allowed}; raise it to continue",
            limit=limit,
        )

    def add(self, reply: LLMReply) -> None:
        """Add what a reply cost."""
        self._spent += Spent(reply.cost, reply.usage.total)

    def add_tokens(self, tokens: int) -> None:
        """Add tokens that an agent reports of its own calls: they count for `run.max_tokens` alone."""
        self._spent += Spent(tokens=tokens)


class Budgeted:
    """Wraps an `LLM`: no call once the budget is used up.

    With a limit on money, a model whose price is unknown (according to `knows_price`, or because a reply had
    no cost) raises `SettingsError`, because the limit could not be enforced.
    """

    def __init__(self, inner: LLM, budget: Budget, knows_price: KnowsPrice | None = None) -> None:
        self._inner = inner
        self._budget = budget
        self._knows_price = knows_price
        self._unpriced: str | None = None

    async def complete(self, request: LLMRequest) -> LLMReply:
        # Inside the retries: each attempt costs, so each is checked.
        self._budget.check()
        await self._require_price(request.model)
        try:
            reply = await self._inner.complete(request)
        except LLMError as error:
            error.cost = await self._cost_of(error, request.model)
            raise
        self._budget.add(reply)
        # The reply itself is good. Only the next call is refused, as it could not be counted.
        if reply.cost is None:
            self._unpriced = request.model.model
        return reply

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def _cost_of(self, error: LLMError, settings: ModelSettings) -> float | None:
        """Nothing if it was refused. But a provider may charge for an attempt that nobody waited for."""
        if isinstance(error, LLMTimeout) or self._knows_price is None or not settings.model:
            return None
        return 0.0 if await self._knows_price(settings) else None

    async def _require_price(self, settings: ModelSettings) -> None:
        if self._budget.max_cost is None or not settings.model:
            return
        if self._unpriced is not None:
            raise _unknown_price(self._unpriced)
        if self._knows_price is not None and not await self._knows_price(settings):
            raise _unknown_price(settings.model)


def _unknown_price(model: str | None) -> SettingsError:
    return SettingsError.of(
        f"cannot enforce run.max_cost: the price of {model} is unknown; set input_cost_per_token and "
        "output_cost_per_token for it (0 for a free one), or limit the run by run.max_tokens instead",
        path="run.max_cost",
        remedies=("run.max_tokens",),
    )
