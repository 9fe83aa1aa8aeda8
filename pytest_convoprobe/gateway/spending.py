"""What an agent's own calls of models cost: asked before each call, and entered after it."""

from __future__ import annotations

from collections.abc import Iterable

from ..llm.budget import Spent
from ..llm.metered import Metered
from ..llm.protocols import ModelProtocol
from .call_reading import ReadCall, read_call
from .exchange import Asked, WireCall
from .prices import Prices, price_of

# English has some four bytes a token, other languages fewer. Too many is better than too few here.
_BYTES_PER_TOKEN = 3


class WireSpending:
    """Enters the calls of one conversation's agent in its ledger, and in the budget of the run."""

    def __init__(self, metered: Metered, prices: Prices) -> None:
        self._metered = metered
        self._prices = prices

    def before(self, asked: Asked) -> None:
        """A call is about to be made, and not to be replayed.

        Raises `BudgetExceeded`, or `SettingsError` where a limit on money can't be enforced.
        """
        self._metered.before_agents_call(lambda: _priced(asked, self._prices))

    def after(self, call: WireCall) -> None:
        """A call has ended, in whatever way."""
        read = read_call(0, call)
        if read is not None and call.costs_nothing:
            self._metered.take_no_call()
        elif read is not None:
            self._metered.take_agents_call(
                read.usage, read.cost(self._prices), call.replayed, _guess(read, self._prices)
            )


def _priced(asked: Asked, prices: Prices) -> tuple[str, bool]:
    """The model's name, and whether the price of the call will be known."""
    call = read_call(0, WireCall(0, asked))
    if call is None:
        return "", True  # a list of models and the like
    is_read = call.request.protocol is not ModelProtocol.UNKNOWN
    return call.model, is_read and price_of(call.model, prices) is not None


def _guess(call: ReadCall, prices: Prices) -> Spent:
    """What a call has used whose answer doesn't say so: a model has not worked for nothing."""
    said = [call.answer.text, *(one.arguments for one in call.asked_tools)] if call.answer else []
    prompt, completion = _tokens(call.request.texts), _tokens(said)
    price = price_of(call.model, prices) or (0.0, 0.0)
    return Spent(prompt * price[0] + completion * price[1], prompt + completion)


def _tokens(texts: Iterable[str]) -> int:
    return sum(len(text.encode("utf-8", "replace")) for text in texts) // _BYTES_PER_TOKEN
