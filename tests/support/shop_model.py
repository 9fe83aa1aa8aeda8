"""The model of the projects that `convoprobe init` writes, by rules: as agent, synthetic user and judge.

As the agent it keeps to its instructions: as long as nothing says that an order has to be looked up first, it
refunds. As the judge it reads what the agent said.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from .chat_server import Answer, Completion
from .default_answers import default_answer

REFUSED = "I'm sorry, but order {order} can't be refunded: it can no longer be returned."
REFUNDED = "I've refunded order {order}. The money will be back in three days."
GIVES_UP = {"message": "That's a pity. Thank you anyway.", "status": "gave_up"}
CONTENT = {"message": "Great, thanks!", "status": "done"}


def shop_model(body: dict[str, Any]) -> Answer:
    """The answer to a request, for a `ChatServer`."""
    if body.get("tools"):
        return _agent(body)
    asked = ((body.get("response_format") or {}).get("json_schema") or {}).get("name")
    last = str(body["messages"][-1]["content"])
    if asked == "user_reply":
        return GIVES_UP if "can't" in last else CONTENT
    if asked == "answers":
        criteria = re.findall(r"^\[(\w\d+)\] .*?\): (.*)$", last, re.MULTILINE)
        return {name: _verdict(sentence, last) for name, sentence in criteria}
    answer = default_answer(body)
    assert isinstance(answer, str)
    return answer


def _agent(body: Mapping[str, Any]) -> Answer:
    messages = body["messages"]
    orders = re.findall(r"A-\d+", " ".join(str(m["content"]) for m in messages if m["role"] == "user"))
    if not orders:
        return "Hello! What is the number of your order?"
    order = {"order": orders[-1]}
    results = [str(message["content"]) for message in messages if message["role"] == "tool"]
    careful = "Look an order up first" in json.dumps([messages, body["tools"]])
    if not results:
        return Completion(None, (("find_order" if careful else "refund_order", order),))
    if re.search(r"can_be_returned\W+false", results[-1]):
        return REFUSED.format(**order)
    if "refunded" in results[-1]:
        return REFUNDED.format(**order)
    return Completion(None, (("refund_order", order),))


def _verdict(criterion: str, question: str) -> dict[str, Any]:
    """By what the agent said first: that it refunded the order, or that it can't."""
    turn, reply = re.findall(r"Turn (\d+)\n.*?  agent:\n  \| ([^\n]*)", question, re.S)[0]
    refused = "can't be refunded" in reply
    if "can't" in criterion:
        verdict = "met" if refused else "not_met"
    else:
        verdict = "not_triggered" if refused else "triggered"
    finding = f"The agent {'refuses the refund' if refused else 'refunds the order'}."
    return {"finding": finding, "quote": reply, "turn": int(turn), "absence": False, "verdict": verdict}
