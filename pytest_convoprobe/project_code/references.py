"""How an object of the project is named in a file: `package.module:object` or `path/file.py:object`."""

from __future__ import annotations

import re
from dataclasses import dataclass

_WRITE = "write `package.module:object` or `path/file.py:object`"
_DOTTED = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")


@dataclass(frozen=True)
class Reference:
    """Where an object is: a dotted module or a file, and the dotted path of the object in it."""

    module: str
    attribute: str

    @property
    def is_file(self) -> bool:
        return self.module.endswith(".py") or "/" in self.module or "\\" in self.module

    def __str__(self) -> str:
        return f"{self.module}:{self.attribute}"


def read_reference(text: str) -> Reference:
    """Raises `ValueError` for a text that is not a reference; nothing is imported."""
    module, colon, attribute = text.strip().rpartition(":")
    if not colon or not module or not attribute:
        raise ValueError(f"`{text}` names no object: {_WRITE}")
    reference = Reference(module, attribute)
    if not is_dotted(attribute):
        raise ValueError(f"`{text}`: `{attribute}` is not the name of an object: {_WRITE}")
    if not reference.is_file and not is_dotted(module):
        raise ValueError(f"`{text}`: `{module}` is neither a module nor a .py file: {_WRITE}")
    return reference


def is_dotted(name: str) -> bool:
    """Whether it is a name of Python's, or several with dots between them."""
    return _DOTTED.fullmatch(name) is not None
