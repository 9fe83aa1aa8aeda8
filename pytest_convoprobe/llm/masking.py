"""The interface through which `llm` masks secrets in a text before it becomes part of a message."""

from __future__ import annotations

from typing import Protocol


class TextRedactor(Protocol):
    """Masks the secrets in a text."""

    def text(self, text: str, /) -> str: ...


class NoSecrets:
    """A redactor that masks nothing, for fakes and tests."""

    def text(self, text: str, /) -> str:
        return text
