"""A page of text for a terminal or a CI log: bounded in width, safe whatever is written on it."""

from __future__ import annotations

from ..text import fold, harmless, to_ascii

NARROWEST, WIDEST = 60, 120

_ASCII = {"✓": "[ok]", "✗": "[x]", "?": "[?]", "│": "|", "─": "-", "…": "...", "—": "-", "→": "->", "·": "-"}
_COLOURS = {"red": "31", "green": "32", "yellow": "33", "bold": "1", "faint": "2"}

MARKS: dict[bool | None, tuple[str, str]] = {True: ("✓", "green"), False: ("✗", "red"), None: ("?", "yellow")}
"""The mark and its colour for what holds, what does not, and what is unclear."""


class Page:
    """Collects lines. What is passed as `text` may be hostile; what is passed as a prefix is ours."""

    def __init__(self, width: int, *, ascii_only: bool = False, color: bool = False) -> None:
        self.width = max(NARROWEST, min(WIDEST, width))
        self._ascii_only = ascii_only
        self._color = color
        self._lines: list[str] = []

    def blank(self) -> None:
        """An empty line, unless there is one already or nothing before it."""
        if self._lines and self._lines[-1]:
            self._lines.append("")

    def title(self, text: str) -> None:
        """The heading of a section, with an empty line before it."""
        self.blank()
        self.add(text, color="bold")

    def add(self, text: str, first: str = "", rest: str | None = None, color: str = "") -> None:
        """The text, wrapped; `first` is put before its first line, `rest` before the others."""
        self._write(text, self._glyphs(first), None if rest is None else self._glyphs(rest), color)

    def marked(self, holds: bool | None, text: str) -> None:
        """A line that begins with the mark for `holds`, in its colour."""
        mark, color = MARKS[holds]
        shown = _ASCII[mark].ljust(4) if self._ascii_only else mark
        self._write(text, f"  {shown} ", None, color)

    def pair(self, label: str, text: str) -> None:
        """A labelled value in a column of its own: `where   scenarios/a.yaml:3`."""
        self.add(text, f"  {label:<9}")

    def command(self, label: str, command: str) -> None:
        """A command to copy: neither wrapped nor escaped, for then it can't be pasted."""
        self._lines.append(self._glyphs(label) + harmless(command))

    def text(self) -> str:
        """All of it, without an empty line at the end."""
        return "\n".join(self._lines).rstrip("\n")

    def _write(self, text: str, first: str, rest: str | None, color: str) -> None:
        for line in fold(self._safe(text), self.width, first, rest):
            self._lines.append(self._colored(line, color))

    def _glyphs(self, ours: str) -> str:
        return to_ascii("".join(_ASCII.get(mark, mark) for mark in ours)) if self._ascii_only else ours

    def _safe(self, text: str) -> str:
        shown = harmless(text)
        if not self._ascii_only:
            return shown
        # Typographic signs of our own sentences have plain spellings; letters are escaped.
        return to_ascii("".join(_ASCII[mark] if mark in "…—→│·" else mark for mark in shown))

    def _colored(self, line: str, color: str) -> str:
        return f"\x1b[{_COLOURS[color]}m{line}\x1b[0m" if self._color and color and line else line
