"""What YAML's parser complains of, in the words of someone who writes a file by hand."""

from __future__ import annotations

import re

import yaml

from ..errors import Problem
from ..suggest import did_you_mean
from .text import Text

_ANCHOR = re.compile(r"(?:^|[\s\[{,])&([^\s,\[\]{}]+)")
_PARAMETER = re.compile(r"\$\{\w+\}")
_QUOTE_IT = "put the text in quotes"


def syntax_problem(error: yaml.YAMLError | RecursionError, text: Text, line_offset: int) -> Problem:
    """The problem of one parser error; `line_offset` lines of the file are before what was parsed."""
    if not isinstance(error, yaml.MarkedYAMLError) or error.problem_mark is None:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        return text.problem(f"invalid YAML: {reason}", line_offset + 1, 1)
    if parameter := _unquoted_parameter(error.problem_mark, text, line_offset):
        return parameter
    mark = _mark(error) or error.problem_mark
    line, column = mark.line + line_offset, mark.column
    source = text.lines[line] if line < len(text.lines) else ""
    message = _message(error, source, column, text)
    return text.problem(f"invalid YAML: {message}", line + 1, column + 1)


def _unquoted_parameter(mark: yaml.Mark, text: Text, line_offset: int) -> Problem | None:
    """A `${name}` in `{…}` or `[…]`, where its brace is a mistake; None if the mistake is another."""
    line, begin = mark.line + line_offset, max(mark.column - 1, 0)
    source = text.lines[line] if line < len(text.lines) else ""
    if (found := _PARAMETER.match(source, begin)) is None:
        return None
    advice = f'within `{{…}}` and `[…]`, a text with a parameter needs quotes: `"{found[0]}"`'
    return text.problem(f"invalid YAML: {advice}", line + 1, begin + 1)


def _mark(error: yaml.MarkedYAMLError) -> yaml.Mark | None:
    """Where the mistake is: for what is never closed, that is where it began."""
    context, problem = error.context or "", error.problem or ""
    unclosed = "quoted scalar" in context and "unexpected" in problem
    begins = unclosed or "flow" in context or "simple key" in context
    return error.context_mark if begins else None


def _message(error: yaml.MarkedYAMLError, source: str, column: int, text: Text) -> str:
    problem, context = error.problem or "", error.context or ""
    if "mapping values are not allowed" in problem:
        return _stray_colon(source, column)
    if "cannot start any token" in problem or "expected node content" in problem or "node content" in problem:
        return _bad_start(source, column)
    if "undefined alias" in problem:
        return _undefined_alias(source, column, text)
    for wanted, words in _KNOWN:
        if wanted in problem or wanted in context:
            return words
    return ", ".join(part for part in (context, problem) if part)


_KNOWN = (
    ("incompatible YAML", "the version of a `%YAML` line has to be 1.1 or 1.2; best leave the line out"),
    ("<document start>", "this can't follow what is above it; a document is one mapping of `key: value`"),
    ("tab character", "a tab; YAML is indented with spaces only"),
    ("nesting depth", "nested too deeply"),
    (
        "unknown escape",
        r"an unknown escape in double quotes; use single quotes, or `\\` for a backslash",
    ),
    ("quoted scalar", "a quote that is never closed"),
    ("flow sequence", "a `[` that is never closed, or an item after it that needs quotes"),
    ("flow mapping", "a `{` that is never closed, or something in it that needs quotes"),
    (
        "simple key",
        "a line that is neither `key: value` nor an item of a list; if it continues a text, indent it more",
    ),
    (
        "block collection",
        "this doesn't fit into the list: an item begins with `- ` at the same indentation as the others, "
        "and a text with something after its closing quote has to be quoted as a whole",
    ),
    (
        "block mapping",
        "this doesn't fit into the mapping: keys of one mapping have the same indentation, and a text "
        "with something after its closing quote has to be quoted as a whole",
    ),
)


def _stray_colon(source: str, column: int) -> str:
    if re.search(r":\s", source[:column]):
        return f"an unquoted `: ` within a text; {_QUOTE_IT}"
    return "a key is not allowed here; check the indentation of this line and of the one above"


def _bad_start(source: str, column: int) -> str:
    character = source[column : column + 1]
    if character == "\t":
        return "a tab; YAML is indented with spaces only"
    if not character.strip():
        return "something is missing here: a value, or a `]` or `}` that closes what is open"
    if source.startswith(("---", "...")):
        return "the document ends here, but a `[` or `{` above is still open"
    return f"a text can't start with {character!r}; {_QUOTE_IT}"


def _undefined_alias(source: str, column: int, text: Text) -> str:
    found = re.match(r"\*?([^\s,\[\]{}]*)", source[column:])
    name = found.group(1) if found else ""
    anchors = _ANCHOR.findall(text.content)
    hint = did_you_mean(f"*{name}", [f"*{anchor}" for anchor in anchors if anchor != name])
    return (
        f"the anchor `&{name}` of the alias `*{name}` isn't defined above it in this document{hint or '.'} "
        f"If the `*` is part of a text, {_QUOTE_IT}"
    )
