"""The prompts of a promptfoo configuration: what is sent to the agent, with places for values."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import yaml

from ...yaml_source import Loc
from ..building import quoted
from ..sources import ForeignFile
from .cases import Note
from .files import NotRead, SuiteFiles

_FILE = re.compile(
    r"[^\n{}]{1,200}\.(?:txt|md|json|jsonl|ya?ml|j2|jinja2?|njk|js|cjs|mjs|ts|py|csv)(?::\w+)?\Z"
)
_CODE = re.compile(r"\.(?:js|cjs|mjs|ts|py)(?::\w+)?\Z")
_BETWEEN = re.compile(r"^---[ \t]*$", re.MULTILINE)


@dataclass(frozen=True)
class PromptTemplate:
    """One prompt: a text, or the messages of a chat. `fault` says why it can't be used."""

    text: str
    label: str = ""
    chat: tuple[Mapping[str, Any], ...] = ()
    fault: str = ""

    def is_meant(self, names: Any) -> bool:
        """Whether a test that names its prompts means this one."""
        if not isinstance(names, list):
            return True
        own = {self.label, self.text}
        return any(fnmatchcase(name, str(pattern)) for name in own if name for pattern in names)


def prompts_of(
    config: Mapping[str, Any], source: ForeignFile, files: SuiteFiles, note: Note
) -> list[PromptTemplate]:
    """The prompts of a configuration; without any, promptfoo sends the variable `prompt`."""
    value = config.get("prompts")
    if isinstance(value, Mapping):  # file: label
        value = [{"id": name, "label": label} for name, label in value.items()]
    items = value if isinstance(value, list) else [value] if value else []
    found = [
        one
        for index, item in enumerate(items)
        for one in _prompts(item, ("prompts", index), source, files, note)
    ]
    return found or [PromptTemplate("{{prompt}}")]


def _prompts(
    item: Any, loc: Loc, source: ForeignFile, files: SuiteFiles, note: Note
) -> Iterator[PromptTemplate]:
    if isinstance(item, Mapping):
        text = item.get("raw") or item.get("id") or item.get("prompt")
        label = str(item.get("label") or item.get("display") or "")
        for key in item.keys() - {"raw", "id", "label", "display", "prompt"}:
            note(source, (*loc, key), f"`{key}` of a prompt", "it is a setting of promptfoo", "")
        found = _prompts(text, loc, source, files, note) if isinstance(text, str) else iter(())
        yield from (replace(one, label=label or one.label) for one in found)
    elif isinstance(item, str) and (item.startswith(("file://", "exec:")) or _is_file(item, files)):
        yield from _in_file(item, files)
    elif isinstance(item, str):
        yield _of_text(item)
    else:
        note(
            source, loc, "unknown form", "a prompt is a text, `file://…`, or a mapping with `raw` or `id`", ""
        )


def _is_file(text: str, files: SuiteFiles) -> bool:
    """Whether a text without `file://` names a file all the same, as promptfoo allows."""
    return bool(_FILE.match(text)) and ("*" in text or bool(_CODE.search(text)) or files.exists(text))


def _in_file(reference: str, files: SuiteFiles) -> Iterator[PromptTemplate]:
    if _CODE.search(reference) or reference.startswith("exec:"):
        yield PromptTemplate("", reference, fault=f"its prompt is made by code ({quoted(reference)})")
        return
    try:
        for path, text in files.texts(reference):
            yield from _of_file(path, text)
    except NotRead as error:
        yield PromptTemplate("", reference, fault=f"its prompt {quoted(reference)} can't be read: {error}")


def _of_file(path: Path, text: str) -> Iterator[PromptTemplate]:
    suffix = path.suffix.lower()
    if suffix == ".jsonl":
        texts = [line for line in text.split("\n") if line.strip()]
    elif suffix in (".json", ".yaml", ".yml"):
        texts = [text]
    else:
        texts = [part for part in _BETWEEN.split(text) if part.strip()]
    for number, one in enumerate(texts, start=1):
        label = path.stem if len(texts) == 1 else f"{path.stem} {number}"
        yield replace(_of_text(one.strip()), label=label)


def _of_text(text: str) -> PromptTemplate:
    return PromptTemplate(text, chat=_chat(text))


def _chat(text: str) -> tuple[Mapping[str, Any], ...]:
    """The messages in a text, if it is JSON or YAML with messages of a chat."""
    if "role" not in text or "content" not in text:
        return ()
    try:
        data = json.loads(text) if text.lstrip()[:1] in "[{" else yaml.safe_load(text)
    except (ValueError, yaml.YAMLError, RecursionError):
        return ()
    data = data.get("messages") if isinstance(data, dict) else data
    messages = data if isinstance(data, list) else []
    return tuple(messages) if all(isinstance(one, dict) and "role" in one for one in messages) else ()
