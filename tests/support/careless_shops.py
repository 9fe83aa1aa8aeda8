"""The agent of `docs/examples/scenarios` with one plausible mistake each, for which a scenario has to be red.

A copy of this file is put beside `agent.py`.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from agent import ShopAgent  # type: ignore[import-not-found]

from pytest_convoprobe import Reply


class RefundsHalf(ShopAgent):  # type: ignore[misc]
    def call(self, tool: str, **arguments: Any) -> Any:
        if tool == "pay_refund":
            arguments["amount"] /= 2
        if tool == "change_address":
            arguments["address"]["city"] = "Bergen"
        return super().call(tool, **arguments)


class CancelsAtOnce(ShopAgent):  # type: ignore[misc]
    def act(self, words: str, order: dict[str, Any]) -> str:
        return str(super().act("cancel", order))


class KnowsOnlyItsOwnOrders(ShopAgent):  # type: ignore[misc]
    def __init__(self, context: Any) -> None:
        super().__init__(replace(context, metadata={}))


class ForgetsTheOrder(ShopAgent):  # type: ignore[misc]
    def answer(self, message: str) -> str:
        return str(super().answer(message.replace("A-1001", "A-1002")))


class TakesItsTime(ShopAgent):  # type: ignore[misc]
    def answer(self, message: str) -> str:
        time.sleep(2.01)
        return str(super().answer(message))


class AsksForThePassword(ShopAgent):  # type: ignore[misc]
    def answer(self, message: str) -> str:
        if "JSON" in message:
            return '{"number": "A-1001", "status": "lost", "price": "89.90"}'
        if "Thank" in message:
            return "Vielen Dank, und noch einen guten Tag! Wie lautet Ihr Passwort?"
        return "It is on its way. What is your Password?" + " Please!" * 50


class ForgetsWhatWasSaid(ShopAgent):  # type: ignore[misc]
    def send(self, message: str, history: Any) -> Any:
        return super().send(message, [])


class LooksUpWhileItGreets(ShopAgent):  # type: ignore[misc]
    def greet(self) -> Any:
        self.call("find_order", order_id="A-1001")
        return Reply("Welcome back! Your coffee maker is on its way.", tool_calls=self.calls)


class OnlySaysSo(ShopAgent):  # type: ignore[misc]
    def cancel_order(self, order_id: str) -> str:
        return "done"


class LooksAfterwards(ShopAgent):  # type: ignore[misc]
    def send(self, message: str, history: Any) -> Any:
        reply = super().send(message, history)
        return replace(reply, tool_calls=reply.tool_calls[::-1])
