"""The shop behind the demo agent: a few orders and the tools that work on them.

The data and the current day are fixed, so that conversations replay unchanged at any time.
Every conversation has its own `Shop`.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field
from datetime import date
from typing import Any

TODAY = date(2026, 11, 2)
RETURN_WINDOW_DAYS = 30

_ORDERS: dict[str, dict[str, Any]] = {
    "A-1042": {"item": "trail shoes", "total": 89.0, "status": "shipped", "arrives": "2026-11-04"},
    "A-1043": {"item": "rain jacket", "total": 129.0, "status": "processing", "arrives": "2026-11-09"},
    "A-1044": {"item": "camping stove", "total": 54.0, "status": "delivered", "delivered": "2026-10-20"},
    "A-1045": {"item": "sleeping bag", "total": 149.0, "status": "delivered", "delivered": "2026-08-15"},
}


@dataclass
class Shop:
    """The tools of the agent. Each returns plain data and raises LookupError for an unknown order."""

    orders: dict[str, dict[str, Any]] = field(default_factory=lambda: deepcopy(_ORDERS))

    def get_order(self, order_id: str) -> dict[str, Any]:
        """All data of an order."""
        if order_id not in self.orders:
            raise LookupError(f"there is no order {order_id}")
        return {"order_id": order_id, **self.orders[order_id]}

    def check_return_window(self, order_id: str) -> dict[str, Any]:
        """Whether a delivered order can still be returned, and how long ago it came."""
        delivered = self.get_order(order_id).get("delivered")
        if delivered is None:
            return {"order_id": order_id, "returnable": False, "why": "not delivered yet"}
        days = (TODAY - date.fromisoformat(delivered)).days
        return {"order_id": order_id, "returnable": days <= RETURN_WINDOW_DAYS, "days_since_delivery": days}

    def refund_order(self, order_id: str) -> dict[str, Any]:
        """Pay the customer back. It checks no rules: that is the agent's job."""
        order = self.get_order(order_id)
        self.orders[order_id]["status"] = "refunded"
        return {"order_id": order_id, "refunded": order["total"]}

    def cancel_order(self, order_id: str) -> dict[str, Any]:
        """Stop an order that has not left the warehouse."""
        if self.get_order(order_id)["status"] != "processing":
            raise ValueError(f"order {order_id} has left the warehouse")
        self.orders[order_id]["status"] = "cancelled"
        return {"order_id": order_id, "status": "cancelled"}
