"""What a judge answered for a labels file, kept in the results folder.

`<results.dir>/calibration/<fingerprint of the judge>/<file>.json`: with another model, other settings or
other prompts it is another judge, of which nothing is known yet.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ..errors import ResultsError, ScenarioFileError
from ..llm.ledger import Spending
from ..llm.recording import file_name
from ..results.kept_json import read_kept, replace_kept
from ..results.records import read_spending, spending_record
from .agreement import LabelAnswer

VERSION = 1
FOLDER = "calibration"
CANARIES = "canaries"
"""In place of a file's name: the built-in conversations."""


@dataclass(frozen=True)
class Measured:
    """The answers of one judge for one labels file.

    `judge` is the model, `print` the fingerprint of all that its answers depend on. `file` is the labels
    file's name below the project's root, and `digest` that of its content. `at` is in seconds since 1970.
    `spent` is what the calls for it cost.
    """

    judge: str
    print: str
    file: str
    digest: str
    at: float
    answers: tuple[LabelAnswer, ...]
    spent: Spending = field(default_factory=Spending)

    def to_json(self) -> dict[str, Any]:
        return {"version": VERSION, **asdict(self), "spent": spending_record(self.spent)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Measured:
        """What `to_json` gave. Raises `ValueError`, `LookupError` or `TypeError` for anything else."""
        if data["version"] > VERSION:
            raise ValueError("a later release wrote it")
        answers = tuple(_answer(one) for one in data["answers"])
        judge, print_, file, digest = (str(data[name]) for name in ("judge", "print", "file", "digest"))
        spent = read_spending(data["spent"])
        return cls(judge, print_, file, digest, float(data["at"]), answers, spent)


def _answer(data: Mapping[str, Any]) -> LabelAnswer:
    holds, judged = data["holds"], data["judged"]
    # A text would be unlike both answers, and so pass for a judge's mistake.
    if not isinstance(holds, bool) or not (judged is None or isinstance(judged, bool)):
        raise TypeError("a label is true or false, and so is an answer")
    return LabelAnswer(
        str(data["conversation"]),
        str(data["criterion"]),
        holds,
        judged,
        kind=str(data.get("kind", "")),
        why=str(data.get("why", "")),
        score=None if data.get("score") is None else float(data["score"]),
        truth=None if data.get("truth") is None else bool(data["truth"]),
    )


def keep(results: Path, measured: Measured) -> None:
    """Store it in place of an earlier one. Raises `ResultsError` if the disk refuses."""
    path = _folder(results, measured.print) / f"{file_name(measured.file)}.json"
    replace_kept(results, path, measured.to_json)


def kept(results: Path, judge_print: str) -> Iterator[Measured]:
    """All that is stored of a judge. What can't be read isn't known."""
    folder = _folder(results, judge_print)
    for path in sorted(folder.glob("*.json")) if folder.is_dir() else ():
        try:
            found = read_kept(path, Measured.from_json, writer="convoprobe doctor")
        except ResultsError:
            continue
        if found is not None and found.print == judge_print:
            yield found


def canaries_of(results: Path, judge_print: str, digest: str) -> Measured | None:
    """What is stored of a judge's answers for the built-in conversations, as they are in this release."""
    found = (one for one in kept(results, judge_print) if one.file == CANARIES)
    return next((one for one in found if one.digest == digest), None)


def on_labels(results: Path, judge_print: str, root: Path) -> list[Measured]:
    """What is stored of a judge for the project's labels files, as they are now.

    A file that has changed or is gone counts for nothing: nobody knows what the judge says of it today.
    """
    found = (one for one in kept(results, judge_print) if one.file != CANARIES)
    return [one for one in found if _digest_now(root / one.file) == one.digest]


def _digest_now(path: Path) -> str | None:
    from .labels_file import load_labels  # here, since most runs have no labels

    try:
        return load_labels(path).digest
    except ScenarioFileError:
        return None


def _folder(results: Path, judge_print: str) -> Path:
    return results / FOLDER / judge_print
