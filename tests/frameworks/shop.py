"""The shop that the agents of all frameworks work for: its tools, and the model that decides about them."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.support.chat_server import Completion

VARIABLE = "CONVOPROBE_FRAMEWORK"


def only_for(framework: str) -> None:
    """Skip the module unless this framework is tested: then a package that is missing is a failure.

    To be called before the framework is imported. `.ci/frameworks NAME` makes an environment with it.
    """
    if os.environ.get(VARIABLE) != framework:
        pytest.skip(f"{VARIABLE} is not {framework}", allow_module_level=True)


@dataclass
class Shop:
    """The tools, as plain functions that frameworks can read. `done` lists the calls that ran."""

    done: list[str] = field(default_factory=list)

    def lookup(self, order: str) -> str:
        """Look up an order.

        Args:
            order: The number of the order.
        """
        self.done.append(f"lookup {order}")
        return f"{order} is on its way"

    def weather(self, city: str) -> str:
        """Say how the weather is.

        Args:
            city: The city.
        """
        self.done.append(f"weather {city}")
        return f"sunny in {city}"

    def broken(self, order: str) -> str:
        """Ask the warehouse, which fails.

        Args:
            order: The number of the order.
        """
        self.done.append(f"broken {order}")
        raise ValueError("the warehouse is closed")

    def refund(self, order: str) -> str:
        """Pay the money back; a person has to agree.

        Args:
            order: The number of the order.
        """
        self.done.append(f"refund {order}")
        return f"paid back {order}"


def call(name: str, **arguments: object) -> str:
    """The words of a user that make the model call this tool: `call lookup {"order": "1"}`."""
    return f"call {name} {json.dumps(arguments)}"


def model(body: dict[str, Any]) -> Completion:
    """What the agents' model answers.

    It calls the tools that a user's message asks for (see `call`), all at once. Else it says who it is (the
    word after "You are" in its instructions), all that users have said, and what tools gave since then:
    `helper | hello | what now? -> 7 is on its way`.
    """
    messages = body["messages"]
    if messages[-1]["role"] == "user" and (calls := tuple(_asked(text_of(messages[-1]), _offered(body)))):
        return Completion(None, calls)
    name = next((found[1] for one in messages if (found := re.search(r"You are (\w+)", text_of(one)))), "?")
    said = [text_of(one) for one in messages if one["role"] == "user"]
    last = max(number for number, one in enumerate(messages) if one["role"] == "user")
    results = [text_of(one) for one in messages[last:] if one["role"] == "tool"]
    return Completion(" | ".join([name, *said]) + "".join(f" -> {result}" for result in results))


def text_of(message: Mapping[str, Any]) -> str:
    """The text of a message; its content may be in parts."""
    content = message.get("content") or ""
    return content if isinstance(content, str) else "".join(str(part.get("text", "")) for part in content)


def _offered(body: Mapping[str, Any]) -> set[str]:
    return {tool["function"]["name"] for tool in body.get("tools") or ()}


def _asked(text: str, offered: set[str]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Calls in a text. Those inside the arguments of another one are for somebody else."""
    start = 0
    while (found := re.compile(r"call (\w+) (?=\{)").search(text, start)) is not None:
        arguments, start = json.JSONDecoder().raw_decode(text, found.end())
        if found[1] in offered:
            yield found[1], arguments
