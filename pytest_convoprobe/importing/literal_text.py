"""Texts of others as texts of a scenario: what looks like a placeholder there is meant word for word."""

from __future__ import annotations

import re

from ..yaml_source.placeholders import complaint, fill

# A text that ends such a part itself is cut in the middle of its mark: no part then contains a whole one.
_END_OF_RAW = re.compile(r"(?<=endraw)(?=\s*-?%\})")


def literal(text: str) -> str:
    """A text as it has to be written in a scenario so that it is read as it is. Outer whitespace is cut."""
    clean = healed(text).strip()
    if fill(clean, {}) == clean and not complaint(clean, variables=True):
        return clean
    return "".join(f"{{% raw %}}{part}{{% endraw %}}" for part in _END_OF_RAW.split(clean))


def healed(text: str) -> str:
    """The text with whole characters only: half of a pair, as JSON may escape it, can't be written."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
