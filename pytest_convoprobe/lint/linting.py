"""From files to findings. A broken file is a finding, and hides no other file."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

from ..errors import Problem, ScenarioFileError
from ..problems import by_place
from ..scenario.loading import load_documents
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
    found = once_each([list(_of(subject, ignore)) for subject in subjects])
    return sorted(found, key=lambda one: by_place(one.problem))


def once_each(findings: Iterable[Sequence[LintFinding]]) -> list[LintFinding]:
    """The findings of several scenarios or files, without those of a place that an earlier one has had.

    Each set of parameters has the faults of its document, and each scenario those of the files it includes.
    """
    seen: set[tuple[str, str, int, int]] = set()
    kept: list[LintFinding] = []
    for found in findings:
        new = [(finding.at, finding) for finding in found if finding.at not in seen]
        kept += [finding for _, finding in new]
        seen.update(at for at, _ in new)
    return kept


def subjects_of(path: Path, file: str | None = None) -> list[Subject]:
    """The finished scenarios of a file, with their places. Raises `ScenarioFileError`."""
    return [
        Subject(loaded.id, loaded.scenario, document)
        for loaded, document in load_documents(path, file=file)
        if loaded.scenario is not None
    ]


def finding_of(
    subject: Subject, rule: str, level: Level, fault: Fault, ignore: Collection[str] = ()
) -> LintFinding | None:
    """A fault with its place; None where somebody said that it is to be ignored."""
    problem = subject.document.problem(fault.loc, fault.message)
    if rule in ignore or any(subject.ignores(rule, *place) for place in _places(subject, fault, problem)):
        return None
    return LintFinding(rule, level, problem, fault.advice, subject.id)


def _places(subject: Subject, fault: Fault, problem: Problem) -> set[tuple[str, int]]:
    """The files and lines where people put a comment on it: at the value, at its key, at the item of a list
    with the key, or where the file is included.
    """
    item = [fault.loc[:-1]] if len(fault.loc) > 1 and isinstance(fault.loc[-2], int) else []
    keys = [subject.document.problem(loc, "", at_key=True) for loc in (fault.loc, *item)]
    included = [(one.file, one.line) for one in problem.included_from]
    return {*included, *((one.file, one.line) for one in (problem, *keys))}


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
