"""The demo's agent: order support in plain Python, without a language model.

It takes the place of your own agent. It uses rules instead of a model, so the demo needs no key and always
answers the same. The tests don't depend on how the agent works inside.

`OrderSupportAgent` works. `CarelessAgent` is the same agent with a plausible mistake: it no longer
checks the return window before it pays a refund.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from pytest_convoprobe import Reply, ToolCall

from .shop import RETURN_WINDOW_DAYS, Shop

_INTENTS = (
    ("refund", re.compile(r"\b(refund|return|money back|send (it|them) back)", re.I)),
    ("cancel", re.compile(r"\bcancel", re.I)),
    ("status", re.compile(r"\b(where|when|status|track|arriv|deliver|shipped|parcel|package)", re.I)),
)
_ORDER_ID = re.compile(r"\b([A-Z])-?\s?(\d{4})\b", re.I)
_YES = re.compile(r"\b(yes|yeah|yep|sure|please do|go ahead|confirm|do it|correct|okay|ok)\b", re.I)
_NO = re.compile(r"\b(no|don't|do not|never mind|stop)\b", re.I)
_THANKS = re.compile(r"\b(thanks|thank you|thx|bye|goodbye|great|perfect|that's all|appreciate)", re.I)


class OrderSupportAgent:
    """One conversation about orders: call it with a message, it answers with a `Reply`."""

    checks_return_window = True

    def __init__(self) -> None:
        self._shop = Shop()
        self._calls: list[ToolCall] = []
        self._intent: str | None = None
        self._order_id: str | None = None
        self._to_confirm: str | None = None

    def __call__(self, message: str) -> Reply:
        self._calls = []
        text = self._answer(message)
        return Reply(text, tuple(self._calls))

    def _answer(self, message: str) -> str:
        if self._to_confirm is not None:
            return self._confirmed(message)
        if self._understand(message):
            return self._act()
        if _THANKS.search(message):
            return "You're welcome! Have a good day."
        return "I can look up, cancel or refund an order. What do you need, and for which order number?"

    def _understand(self, message: str) -> bool:
        """Take the intent and the order number from a message. Returns whether it had either."""
        intent = next((name for name, pattern in _INTENTS if pattern.search(message)), None)
        order = _ORDER_ID.search(message)
        if order is None and (intent is None or _THANKS.search(message)):
            return False
        self._intent = intent or self._intent or "status"
        if order is not None:
            self._order_id = f"{order[1].upper()}-{order[2]}"
        return True

    def _act(self) -> str:
        if self._order_id is None:
            return "I'm happy to help. What is your order number? It is in your confirmation mail."
        order = self._use(self._shop.get_order, order_id=self._order_id)
        if order is None:
            missing, self._order_id = self._order_id, None
            return f"I can't find order {missing}. Could you check the number?"
        acts = {"status": self._status, "cancel": self._cancel, "refund": self._refund}
        return acts[self._intent or "status"](order)

    def _status(self, order: dict[str, Any]) -> str:
        when = f"and arrives on {order['arrives']}" if "arrives" in order else f"on {order.get('delivered')}"
        return f"Your order {order['order_id']} ({order['item']}) is {order['status']} {when}."

    def _cancel(self, order: dict[str, Any]) -> str:
        if order["status"] != "processing":
            return (
                f"I'm sorry, order {order['order_id']} is already {order['status']}, so I cannot cancel it. "
                "You can refuse the parcel or return it once it has arrived."
            )
        self._to_confirm = order["order_id"]
        return f"Order {order['order_id']} ({order['item']}) can still be cancelled. Shall I cancel it?"

    def _refund(self, order: dict[str, Any]) -> str:
        if self.checks_return_window:
            window = self._use(self._shop.check_return_window, order_id=order["order_id"]) or {}
            if not window.get("returnable"):
                return self._refusal(order, window)
        refund = self._use(self._shop.refund_order, order_id=order["order_id"]) or {}
        return f"I have refunded ${refund['refunded']:.2f} for order {order['order_id']} ({order['item']})."

    def _refusal(self, order: dict[str, Any], window: dict[str, Any]) -> str:
        if "days_since_delivery" not in window:
            return f"Order {order['order_id']} has not been delivered yet, so I cannot refund it."
        return (
            f"I'm sorry, I cannot refund order {order['order_id']} ({order['item']}). It was delivered "
            f"{window['days_since_delivery']} days ago and our return window is {RETURN_WINDOW_DAYS} days."
        )

    def _confirmed(self, message: str) -> str:
        order_id, self._to_confirm = self._to_confirm, None
        if _NO.search(message) or not _YES.search(message):
            return f"All right, order {order_id} stays as it is."
        self._use(self._shop.cancel_order, order_id=order_id)
        return f"Done: order {order_id} is cancelled and you will not be charged."

    def _use(self, tool: Callable[..., dict[str, Any]], **arguments: Any) -> dict[str, Any] | None:
        """Call a tool and keep a record of it, as an agent's framework would."""
        try:
            result = tool(**arguments)
        except (LookupError, ValueError) as error:
            self._calls.append(ToolCall(tool.__name__, arguments, error=str(error)))
            return None
        self._calls.append(ToolCall(tool.__name__, arguments, result=result))
        return result


class CarelessAgent(OrderSupportAgent):
    """The agent with a bug: it pays refunds without checking the return window."""

    checks_return_window = False
