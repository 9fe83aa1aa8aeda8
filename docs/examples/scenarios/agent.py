import json
import re

from pytest_convoprobe import Reply, ToolCall

ORDER = re.compile(r"[A-Z]-\d{4}")
ORDERS = {
    "A-1001": {"item": "coffee maker", "price": 89.9, "status": "shipped", "arrives": "Monday"},
    "A-1002": {"item": "toaster", "price": 34.5, "status": "in the warehouse", "arrives": "Thursday"},
}
WAREHOUSE = []


class ShopAgent:
    """A shop's agent with rules in place of a model: it costs nothing, and answers the same in every run."""

    def __init__(self, context):
        known = {**ORDERS, **context.metadata.get("orders", {})}
        self.orders = {number: {"number": number, **order} for number, order in known.items()}
        self.calls = []
        self.number = None

    def greet(self):
        return Reply("Welcome to the shop! What can I do for you?", tool_calls=[])

    def send(self, message, history):
        self.calls = []
        earlier = ORDER.findall(" ".join(one["content"] for one in history))
        self.number = self.number or (earlier[-1] if earlier else None)
        text = self.answer(message)
        return Reply(text, tool_calls=self.calls)

    def answer(self, message):
        if "thank" in message.lower():
            return "You're welcome! Have a good day."
        named = ORDER.search(message)
        self.number = named[0] if named else self.number
        if self.number is None:
            return "I'm happy to help. What is your order number?"
        order = self.call("find_order", order_id=self.number)
        if "error" in order:
            return f"I can't find the order {self.number}."
        return self.act(message.lower(), order)

    def act(self, words, order):
        number = order["number"]
        if "cancel" in words:
            self.call("cancel_order", order_id=number)
            return f"I have cancelled the order {number}."
        if "refund" in words or "broken" in words:
            self.call("pay_refund", order_id=number, amount=order["price"], reason="broken")
            return f"I have refunded ${order['price']:.2f} for the {order['item']}."
        if city := re.search(r"moved? to (\w+)", words):
            address = {"city": city[1].title(), "country": "NO"}
            self.call("change_address", order_id=number, address=address)
            return f"The order {number} now goes to {address['city']}."
        if "json" in words:
            return f"```json\n{json.dumps(order)}\n```"
        return f"Your {order['item']} is {order['status']} and arrives on {order['arrives']}."

    def call(self, tool, **arguments):
        result = getattr(self, tool)(**arguments)
        self.calls.append(ToolCall(tool, arguments, result))
        return result

    def find_order(self, order_id):
        return self.orders.get(order_id, {"error": "there is no such order"})

    def cancel_order(self, order_id):
        self.orders[order_id]["status"] = "cancelled"
        WAREHOUSE.append(f"cancel {order_id}")
        return "done"

    def pay_refund(self, order_id, amount, reason):
        self.orders[order_id]["refunded"] = amount
        return "done"

    def change_address(self, order_id, address):
        self.orders[order_id]["address"] = address
        return "done"
