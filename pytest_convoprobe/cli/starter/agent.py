"""The agent under test: a small example. Call your own agent from here.

`answer` is called with each message of the user. It may be async, and may have the history as a second
parameter. It may also be a class; then each conversation has its own instance.
"""

from __future__ import annotations

from pytest_convoprobe import Reply, ToolCall

HOURS = {"monday": "9 to 18", "saturday": "10 to 14", "sunday": None}


def opening_hours(day: str) -> str:
    """A tool of the agent: when the shop is open."""
    hours = HOURS.get(day, HOURS["monday"])
    return f"open from {hours}" if hours else "closed"


def answer(message: str) -> Reply:
    """The reply to a message, and the tools that were called for it."""
    days = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
    day = next((day for day in days if day in message.lower()), None)
    if day is None:
        return Reply("I know when the shop is open. Which day do you mean?", ())
    found = opening_hours(day)
    call = ToolCall("opening_hours", {"day": day}, result=found)
    return Reply(f"On {day.capitalize()} the shop is {found}.", (call,))
