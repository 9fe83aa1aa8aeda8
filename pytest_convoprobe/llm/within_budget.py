"""Holds every attempt of a call against the budget of the run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

from ..errors import LLMError, LLMTimeout, SettingsError
from ..settings.model_settings import ModelSettings
from .budget import Budget, Reservation, Spent
from .estimates import Estimates
from .port import LLM, LLMReply, LLMRequest, Price, PriceOf

KnowsPrice = Callable[[ModelSettings], Awaitable[bool]]


class Budgeted:
    """Wraps an `LLM`: each call reserves what it may use, and none is sent once the budget is used up.

    With a limit on money, a model whose price is unknown (according to `knows_price`, or because a reply had
    no cost) raises `SettingsError`, because the limit could not be enforced. `price_of` makes estimates of
    the cost better.
    """

    def __init__(
        self,
        inner: LLM,
        budget: Budget,
        knows_price: KnowsPrice | None = None,
        price_of: PriceOf | None = None,
    ) -> None:
        self._inner = inner
        self._budget = budget
        self._knows_price = knows_price
        self._price_of = price_of
        self._estimates = Estimates()
        self._unpriced: str | None = None

    async def complete(self, request: LLMRequest) -> LLMReply:
        # Inside the retries: each attempt costs, so each reserves.
        self._budget.check()
        await self._require_price(request.model)
        price = await self._price(request.model)
        reservation = await self._budget.reserve(partial(self._estimates.of, request, price))
        request.on_send(self._expected(request, reservation, price))
        try:
            reply = await self._inner.complete(request)
        except LLMError as error:
            # A refusal costs nothing. But a provider may charge for an attempt that nobody waited for.
            if isinstance(error, LLMTimeout) or error.answered:
                self._settle_unknown(request, reservation, price)
            else:
                self._budget.settle(reservation, Spent())
                error.cost = await self._cost_of_refusal(request.model)
            raise
        except BaseException:
            # Cancelled, most likely. The provider goes on and charges for it.
            self._settle_unknown(request, reservation, price)
            raise
        self._settle(request, reservation, reply, price)
        return reply

    async def aclose(self) -> None:
        await self._inner.aclose()

    def _expected(self, request: LLMRequest, reservation: Reservation, price: Price | None) -> Spent:
        guess = reservation.estimate or self._estimates.guess(request, price)
        return guess if price is not None or guess.cost else Spent(None, guess.tokens)

    def _settle(
        self, request: LLMRequest, reservation: Reservation, reply: LLMReply, price: Price | None
    ) -> None:
        self._estimates.learn(request, reply)
        if reply.usage.total:
            self._budget.settle(reservation, Spent(reply.cost, reply.usage.total))
            # The reply itself is good. Only the next call is refused, as it could not be counted.
            if reply.cost is None:
                self._unpriced = request.model.model
        else:
            # A provider that reports no tokens has not worked for nothing.
            self._budget.settle(reservation, self._estimates.used(request, reply, price), guessed=True)

    def _settle_unknown(self, request: LLMRequest, reservation: Reservation, price: Price | None) -> None:
        """Nobody knows what the call has used: what was reserved for it stays spent."""
        self._estimates.tried(request)
        kept = reservation.estimate or self._estimates.guess(request, price)
        self._budget.settle(reservation, kept, guessed=True)

    async def _price(self, settings: ModelSettings) -> Price | None:
        return await self._price_of(settings) if settings.model and self._price_of is not None else None

    async def _cost_of_refusal(self, settings: ModelSettings) -> float | None:
        if self._knows_price is None or not settings.model:
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
