"""Requests to build tests from."""

from __future__ import annotations

from typing import Any

from pytest_convoprobe.llm.port import CallContext, LLMRequest, Message, Role
from pytest_convoprobe.settings.model_settings import ModelSettings

KEY = "sk-very-secret-123456"


def settings(**fields: Any) -> ModelSettings:
    return ModelSettings.model_validate({"model": "openai/fake", "api_key": KEY, **fields})


def request(text: str = "hello", *, role: Role = Role.JUDGE, turn: int = 0, **fields: Any) -> LLMRequest:
    """A call with one user message; keywords of `LLMRequest` as they are, those of a model in `model`."""
    model = fields.pop("model", None) or settings()
    return LLMRequest(model, (Message("user", text),), CallContext(role, "s1", 1, turn), **fields)
