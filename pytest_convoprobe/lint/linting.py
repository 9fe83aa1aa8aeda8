"""From files to findings. A broken file is a finding, and hides no other file."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from ..errors import Problem, ScenarioFileError
from ..scenario.loading import LoadedScenario, load_scenarios
from ..yaml_source import Document, read
from .finding import Fault, Level, LintFinding
from .rules import INVALID_FILE, RULES
from .subject import Subject


def lint_file(path: Path, *, file: str | None = None, ignore: Collection[str] = ()) -> list[LintFinding]:
    """What is wrong with the scenarios of a file, in the order of its lines.

    `file` is its name in findings. `ignore` are ids of rules; a comment `# convoprobe: ignore=RULE` in the
    file does the same for the line below or beside it, or at the head of a scenario for the whole of it.
    """
    try:
        subjects = subjects_of(path, file)
    except ScenarioFileError as error:
        return _broken(error, ignore)
    found = [finding for subject in subjects for finding in _of(subject, ignore)]
    return sorted(found, key=lambda one: (one.problem.line, one.problem.column))


def subjects_of(path: Path, file: str | None = None) -> list[Subject]:
    """The finished scenarios of a file, with their places. Raises `ScenarioFileError`."""
    loaded = load_scenarios(path, file=file)
    documents: Iterable[Document] = read(path, file).documents
    return [_subject(one, document) for one, document in zip(loaded, documents, strict=True) if one.scenario]


def _subject(loaded: LoadedScenario, document: Document) -> Subject:
    assert loaded.scenario is not None  # noqa: S101 - asked before
    return Subject(loaded.id, loaded.scenario, document)


def finding_of(
    subject: Subject, rule: str, level: Level, fault: Fault, ignore: Collection[str] = ()
) -> LintFinding | None:
    """A fault with its place; None where somebody said that it is to be ignored."""
    problem = subject.document.problem(fault.loc, fault.message)
    if rule in ignore or any(subject.ignores(rule, line) for line in _lines(subject, fault, problem)):
        return None
    return LintFinding(rule, level, problem, fault.advice, subject.id)


def _lines(subject: Subject, fault: Fault, problem: Problem) -> set[int]:
    """Where people put a comment on it: at the value, at its key, or at the item of a list with the key."""
    item = [fault.loc[:-1]] if len(fault.loc) > 1 and isinstance(fault.loc[-2], int) else []
    return {problem.line, *map(subject.document.line_of, [fault.loc, *item])}


def _of(subject: Subject, ignore: Collection[str]) -> Iterator[LintFinding]:
    for rule in RULES:
        for fault in rule.find(subject):
            finding = finding_of(subject, rule.id, rule.level, fault, ignore)
            if finding is not None:
                yield finding


def _broken(error: ScenarioFileError, ignore: Collection[str]) -> list[LintFinding]:
    if INVALID_FILE in ignore:
        return []
    advice = "Put the file right: until then, none of its scenarios was looked at."
    return [LintFinding(INVALID_FILE, Level.ERROR, problem, advice) for problem in error.problems]
