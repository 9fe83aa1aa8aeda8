"""What the simulating model is asked to write."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, Field, model_validator


class UserReply(BaseModel):
    """One message of the synthetic user and what it means to do next, both at once."""

    message: str = Field(description="What you say to the assistant, word for word.")
    status: Literal["continue", "done", "gave_up"] = Field(
        description="continue: you go on; done: you have what you wanted; gave_up: you stop without it."
    )

    @model_validator(mode="before")
    @classmethod
    def _leaving_without_a_word(cls, data: Any) -> Any:
        """Who ends the conversation may leave the message out: that is an empty one."""
        if not isinstance(data, Mapping) or data.get("status") not in ("done", "gave_up"):
            return data
        return {**data, "message": ""} if data.get("message") is None else data
