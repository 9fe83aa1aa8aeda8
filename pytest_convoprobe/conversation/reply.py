"""What the simulating model is asked to write."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field


class UserReply(BaseModel):
    """One message of the synthetic user and what it means to do next, both at once."""

    message: str = Field(description="What you say to the assistant, word for word.")
    status: Literal["continue", "done", "gave_up"] = Field(
        description="continue: you go on; done: you have what you wanted; gave_up: you stop without it."
    )
