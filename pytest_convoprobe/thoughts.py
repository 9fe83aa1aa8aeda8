"""What a model writes for itself (`<think>…</think>`), parted from what it says.

Thoughts are neither read by the other side nor evidence, so they are taken out where a text becomes a
message.
"""

from __future__ import annotations

import re

_NAMES = (
    "(?:[a-z]+:)?(?:think|thinking|thoughts?|reasoning|reflection|scratchpad"
    "|inner_monologue|inner_thoughts?|antthinking)"
)

# Tags that come in pairs. Those of models that mark thoughts by special tokens are written in their own way.
_OPENING = rf"<{_NAMES}(?:\s[^<>]*)?>|\u25c1think\u25b7|\[think\]|<\|begin_of_thought\|>"
_OPENING += r"|<\|START_THINKING\|>|<\|channel\|>\s*analysis\s*<\|message\|>"
_CLOSING = rf"</{_NAMES}\s*>|\u25c1/think\u25b7|\[/think\]|<\|end_of_thought\|>"
# `<|end|>` alone ends a whole message of other models: only what follows shows that it ends a thought.
_CLOSING += r"|<\|END_THINKING\|>|<\|end\|>\s*<\|start\|>\s*assistant\s*<\|channel\|>\s*final\s*<\|message\|>"

# Code is not searched: an answer about HTML, or about these tags, may name them there.
_CODE = r"```.*?(?:```|\Z)|`[^`\n]*`"
_PIECE = re.compile(
    rf"(?P<open>{_OPENING})|(?P<close>{_CLOSING})|(?P<code>{_CODE})", re.IGNORECASE | re.DOTALL
)
_TAG = re.compile(rf"(?P<open>{_OPENING})|(?P<close>{_CLOSING})", re.IGNORECASE)

# To look for the first character alone is some fifty times as fast, and a text may be many megabytes.
_FIRST_OF_TAG = re.compile("[<\\[\u25c1]")
_FIRST_OF_PIECE = re.compile("[<\\[\u25c1`]")

_MOST_ROUNDS = 12


def without_thoughts(text: str) -> tuple[str, str]:
    """What is said, and what was only thought (empty where nothing was).

    A block that is never closed goes on to the end, if it begins a line. A closing tag without an opening one
    ends a block that began with the text: some servers remove the first tag. A text without such tags comes
    back as it is.
    """
    thoughts: list[str] = []
    # What is left may make a new block: a tag that was in the middle of a line may begin one now.
    for _ in range(_MOST_ROUNDS):
        blocks = _blocks(text)
        if not blocks:
            break
        text, thought = _parted(text, blocks)
        thoughts.append(thought)
    return text, "\n\n".join(filter(None, thoughts))


def _parted(text: str, blocks: list[tuple[int, int]]) -> tuple[str, str]:
    said, thought, position = [], [], 0
    for start, end in blocks:
        said.append(text[position:start])
        thought.append(_TAG.sub("", text[start:end]).strip())
        position = end
    said.append(text[position:])
    return "".join(said).strip(), "\n\n".join(filter(None, thought))


def _blocks(text: str) -> list[tuple[int, int]]:
    """Where the outermost blocks are, tags included, in order and without overlaps."""
    found: list[tuple[int, int]] = []
    opened: list[int] = []
    position = 0
    while (tag := _next_tag(text, position, thinking=bool(opened))) is not None:
        position = tag.end()
        if tag["open"]:
            opened.append(tag.start())
        else:
            found.append((opened.pop() if opened else 0, position))
    unclosed = next((start for start in opened if _begins_line(text, start)), None)
    if unclosed is not None:
        found.append((unclosed, len(text)))
    return _outermost(found)


def _outermost(blocks: list[tuple[int, int]]) -> list[tuple[int, int]]:
    kept: list[tuple[int, int]] = []
    for start, end in sorted(blocks, key=lambda block: (block[0], -block[1])):
        if not kept or start >= kept[-1][1]:
            kept.append((start, end))
    return kept


def _next_tag(text: str, position: int, *, thinking: bool) -> re.Match[str] | None:
    """The next tag. In what is said, code is passed over; in thoughts, a backtick means nothing."""
    first, whole = (_FIRST_OF_TAG, _TAG) if thinking else (_FIRST_OF_PIECE, _PIECE)
    while (start := first.search(text, position)) is not None:
        found = whole.match(text, start.start())
        if found is not None and (thinking or not found["code"]):
            return found
        position = found.end() if found is not None else start.end()
    return None


def _begins_line(text: str, position: int) -> bool:
    while position and text[position - 1] in " \t":
        position -= 1
    return not position or text[position - 1] == "\n"
