"""Reading files that people wrote: plain data, every problem at once, and the place of each value.

Shared by every part that reads such files. `parse` never raises for what a file contains: what is
wrong is among the `problems`, and what could be read is there all the same, so that one run names
everything that is to be put right.
"""

from __future__ import annotations

from .document import Document, Loc, Nowhere, dotted
from .included_files import IncludedFiles
from .json_lines import read_json_lines
from .parsing import Parsed, parse, read
from .text import MAX_BYTES

__all__ = [
    "MAX_BYTES",
    "Document",
    "IncludedFiles",
    "Loc",
    "Nowhere",
    "Parsed",
    "dotted",
    "parse",
    "read",
    "read_json_lines",
]
