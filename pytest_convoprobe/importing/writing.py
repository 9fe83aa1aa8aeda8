"""Imported tests as scenario files: valid, named safely, and never in the place of another file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..scenario.new_files import as_comment, file_name, find_same, write_new
from .loadable import loadable
from .notes import Fate, ImportedSuite, ImportedTest

# What a scenario file may have at most is a little more.
_MOST_DOCUMENTS = 500
_MOST_BYTES = 900_000
_TAKEN = frozenset(("convoprobe", "mcprobe", "benchmark"))
_FATES = {
    Fate.LOST: "no longer checked",
    Fate.CHANGED: "checked in another way",
    Fate.LEFT_OUT: "not taken over",
}


@dataclass(frozen=True)
class WrittenFile:
    """A file of scenarios. `kept`: it was there already, with the same content."""

    path: Path
    scenarios: int
    kept: bool = False


def checked(suite: ImportedSuite, version: str) -> tuple[ImportedSuite, list[tuple[ImportedTest, str]]]:
    """The suite with only such scenarios as can be loaded, and the text of each."""
    found = [loadable(test) for test in suite.tests]
    texts = [(test, as_comment(_comment(suite, test, version)) + text) for test, text in found if text]
    return replace(suite, tests=tuple(test for test, _ in found)), texts


def _comment(suite: ImportedSuite, test: ImportedTest, version: str) -> Iterator[str]:
    """The lines above a scenario: where it comes from, and what it doesn't check."""
    yield f"Imported by convoprobe {version} from {suite.format}: {suite.file}, {test.place}."
    for fate, words in _FATES.items():
        notes = [note for note in test.notes if note.fate is fate]
        if notes:
            yield f"{words.capitalize()}:"
        for note in notes:
            yield f"- {note.place}: {note.kind}: {note.why}{f'. To do: {note.advice}' if note.advice else ''}"


def write(
    suite: ImportedSuite, texts: Sequence[tuple[ImportedTest, str]], folder: Path, *, split: bool
) -> list[WrittenFile]:
    """Write the scenarios of a suite: in one file, or in one for each below a folder. Raises `OSError`."""
    stem = _stem(suite.file)
    if split:
        below = folder / stem
        return [_write(below, file_name(test.source_id), text, 1) for test, text in texts]
    return [_write(folder, stem, "---\n".join(part), len(part)) for part in _parts(text for _, text in texts)]


def _stem(file: str) -> str:
    """A name for the files of a source that isn't one of settings or of a benchmark."""
    stem = file_name(Path(file).name.split(".")[0])
    return f"{stem}-scenarios" if stem in _TAKEN else stem


def _parts(texts: Iterable[str]) -> Iterator[list[str]]:
    """As many scenarios as one file may have, and then the next ones."""
    part: list[str] = []
    size = 0
    for text in texts:
        length = len(text.encode()) + 4
        if part and (len(part) >= _MOST_DOCUMENTS or size + length > _MOST_BYTES):
            yield part
            part, size = [], 0
        part.append(text)
        size += length
    if part:
        yield part


def _write(folder: Path, name: str, text: str, scenarios: int) -> WrittenFile:
    """Write a file that isn't there yet. One with the same text is as good."""
    if (same := find_same(folder, name, text)) is not None:
        return WrittenFile(same, scenarios, kept=True)
    return WrittenFile(write_new(folder, name, text), scenarios)
