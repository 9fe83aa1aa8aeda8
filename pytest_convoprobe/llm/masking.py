"""What this part needs of whoever knows the secrets: a way to mask a text before it becomes a message."""

from __future__ import annotations

from typing import Protocol


class TextRedactor(Protocol):
    """Masks the secrets that a text holds."""

    def text(self, text: str, /) -> str: ...


class NoSecrets:
    """A redactor for where there is nothing to mask (fakes, tests)."""

    def text(self, text: str, /) -> str:
        return text
