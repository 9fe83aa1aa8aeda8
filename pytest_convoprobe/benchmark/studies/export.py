"""Rows of a benchmark as ordinary scenario files: what it has found becomes a regression test."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from ...errors import ResultsError
from ...files import locked, read_text, shown_path, write_atomically
from ...text import is_blank, one_line
from ...yaml_source.placeholders import word_for_word
from ..format.folder import target_id
from ..format.models import MOST_TURNS, Metric, MetricType
from ..format.naming import numbered
from ..format.project import LoadedBenchmark
from ..format.yaml_writing import block
from ..rows.arrays import read_rows, unread_notes
from ..rows.row_types import ConversationRow, ScenarioRow, ScoreRow
from ..rows.score_file import read_scores
from ..rows.work import Place
from ..stages.options import Options

T = TypeVar("T")

Samples = Mapping[str, Collection[int]]
"""The conversations of one scenario that failed: their samples, by target."""

_ANSWERS = "The agent responds to what the user says."
"""What can be asked of any agent: the format wants something that the agent must do."""

_QUOTED = re.compile(r"\"([^\"]+)\"|\u201c([^\u201d]+)\u201d|(?<!\w)'([^']{15,})'(?!\w)")
_FEWEST_WORDS = 4


def export_scenarios(
    loaded: LoadedBenchmark, out_dir: Path, *, only: str | None = None, failed_only: bool = True
) -> list[Path]:
    """Write a scenario file for each row that a target failed; the files, in the order of the rows.

    `only` chooses rows as in a run; without `failed_only` those that nobody failed are written, too. A file
    that is there with another content stays as it is: then nothing is written at all, and `ResultsError`
    names it. It is also raised for rows that cannot be read.
    """
    rows = _chosen(loaded, only)
    failed = _failures(loaded, rows)
    if failed_only:
        rows = [row for row in rows if row.id in failed]
    openings = _openings(loaded, {row.id for row in rows}, failed)
    files = {
        out_dir / f"{name}.yaml": _file(loaded, row, failed.get(row.id, {}), openings.get(row.id))
        for name, row in zip(_names(rows), rows, strict=True)
    }
    # All or nothing: half an export would look like a whole one.
    _refuse_edited(files)
    if files:
        _write(out_dir, files)
    return list(files)


def failing_targets(loaded: LoadedBenchmark, only: str | None = None) -> tuple[str, ...]:
    """Who failed any of the rows that `only` chooses, in the order of the settings."""
    failed = _failures(loaded, _chosen(loaded, only)).values()
    return tuple(name for name in _targets(loaded) if any(name in samples for samples in failed))


@dataclass(frozen=True)
class _Opening:
    """A user's first message in a conversation, whether the target failed it, the tools it called."""

    text: str
    failed: bool
    tools: tuple[str, ...] = ()


def _chosen(loaded: LoadedBenchmark, only: str | None) -> list[ScenarioRow]:
    options = Options(only=only or "")
    rows = _read(loaded.folder.scenarios, ScenarioRow.from_json)
    return [row for row in rows if options.choose(Place(row.id, metric_id=row.metric_id))]


def _targets(loaded: LoadedBenchmark) -> tuple[str, ...]:
    """Those of the configuration that were run; all that were run where it has none."""
    configured = tuple(entry.id for entry in loaded.config.targets)
    there = loaded.folder.targets_with_runs()
    return tuple(name for name in configured if name in there) if configured else there


def _failures(loaded: LoadedBenchmark, rows: Iterable[ScenarioRow]) -> dict[str, Samples]:
    """By the scenario's id; only the metric that a scenario was made for counts."""
    metrics = {row.id: row.metric_id for row in rows}
    kinds = {metric.id: metric.type for metric in loaded.benchmark.metrics}
    found: dict[str, dict[str, set[int]]] = {}
    for target in _targets(loaded):
        for score in _scores(loaded, target):
            kind = kinds.get(score.metric_id)
            passed = score.passed if kind is None else score.counts_as(kind)
            if passed is False and metrics.get(score.id) == score.metric_id:
                found.setdefault(score.id, {}).setdefault(target, set()).add(score.sample)
    return dict(found)


def _openings(
    loaded: LoadedBenchmark, wanted: Collection[str], failed: Mapping[str, Samples]
) -> dict[str, _Opening]:
    """What the users said first, by the scenario's id: in the first conversation that failed, if one did."""
    found: dict[str, _Opening] = {}
    for target in _targets(loaded):
        for row in _read(loaded.folder.conversations(target), ConversationRow.from_json):
            text = next((said.content for said in row.messages if said.role == "user"), "").strip()
            # A half of a character is written as a question mark, which can be seen.
            if row.id not in wanted or is_blank(_encodable(text)):
                continue
            is_failure = row.sample in failed.get(row.id, {}).get(target, ())
            if row.id not in found or (is_failure and not found[row.id].failed):
                tools = dict.fromkeys(call.name for said in row.messages for call in said.tool_calls)
                found[row.id] = _Opening(text, is_failure, tuple(tools))
    return found


def _names(rows: Iterable[ScenarioRow]) -> list[str]:
    """A file name for each row; ids that become the same one are numbered, whatever the case of letters."""
    taken: set[str] = set()
    return [numbered(target_id(row.id), taken) for row in rows]


def _read(path: Path, parse: Callable[[Any], T]) -> Iterator[T]:
    unread: list[str] = []
    yield from read_rows(path, parse, unread)
    _refuse_unread(path, unread)


def _refuse_unread(path: Path, unread: Sequence[str]) -> None:
    if unread:
        raise ResultsError(f"{unread_notes(shown_path(path), unread)[0]}; correct the file first")


def _scores(loaded: LoadedBenchmark, target: str) -> Iterator[ScoreRow]:
    unread: list[str] = []
    yield from read_scores(loaded.folder, target, unread)
    _refuse_unread(loaded.folder.scores(target), unread)


def _file(loaded: LoadedBenchmark, row: ScenarioRow, failed: Samples, opening: _Opening | None) -> str:
    """The whole text of a scenario file."""
    metric = loaded.benchmark.metric(row.metric_id)
    if metric is None or not metric.definition.strip():
        raise ResultsError(
            f"{row.id} belongs to the metric {row.metric_id}, which {shown_path(loaded.folder.benchmark)} "
            "doesn't define; add it there, or choose other rows"
        )
    who = list(failed)
    data = {
        "name": one_line(f"{metric.name or metric.id} ({row.id})"),
        "description": _description(metric),
        "synthetic_user": _user(row, opening, loaded.config.generation.turns),
        "evaluation": _evaluation(metric),
        "tags": _tags(loaded.benchmark.name, row),
    }
    # What a model wrote may look like a placeholder, which scenario files refuse; metadata is read as it is.
    data = {**_marked(data), "metadata": _metadata(loaded.benchmark.name, metric, row, who, opening)}
    return f"{_comment(loaded.benchmark.name, row, who, opening)}\n{block(_encodable(data), 0)}\n"


def _marked(data: Any) -> Any:
    if isinstance(data, str):
        return word_for_word(data)
    if isinstance(data, dict):
        return {key: _marked(value) for key, value in data.items()}
    return [_marked(item) for item in data] if isinstance(data, list) else data


def _encodable(data: Any) -> Any:
    """The data with `?` for lone surrogates, which UTF-8 cannot encode."""
    if isinstance(data, str):
        return data.encode("utf-8", "replace").decode("utf-8")
    if isinstance(data, dict):
        return {_encodable(key): _encodable(value) for key, value in data.items()}
    return [_encodable(item) for item in data] if isinstance(data, list) else data


def _comment(name: str, row: ScenarioRow, who: Sequence[str], opening: _Opening | None) -> str:
    failed = f", failed by {', '.join(who)}" if who else ""
    lines = [f"From the benchmark {one_line(name)}: {row.id}{failed}."]
    if opening is None:
        lines.append("No conversation of it was found: put initial_query into the user's own words.")
    if row.target_system_prompt:
        lines.append("The benchmark gave the agent a system prompt of its own, see metadata.")
    # A line break in a name must not end the comment.
    return "\n".join(f"# {''.join(c if c.isprintable() else '?' for c in line)}" for line in lines)


def _description(metric: Metric) -> str:
    wanted = "Not wanted" if metric.type is MetricType.NEGATIVE else "Wanted"
    return f"{wanted}: {metric.definition.strip()}"


def _user(row: ScenarioRow, opening: _Opening | None, turns: int) -> dict[str, Any]:
    landmarks = _landmarks(row)
    first = landmarks.pop(1, "")
    user: dict[str, Any] = {
        "persona": _persona(row),
        "initial_query": opening.text if opening else _made_up(first, row.user_goal),
        "max_turns": min(MOST_TURNS, max([turns, *landmarks])),
    }
    if opening is None and first:
        # The words are ours: whoever plays the user has to know what was to be said.
        landmarks[1] = first
    if landmarks:
        user["landmarks"] = [
            {"turn": turn, "instruction": instruction} for turn, instruction in sorted(landmarks.items())
        ]
    return user


def _landmarks(row: ScenarioRow) -> dict[int, str]:
    """One instruction a turn, within what the format allows."""
    found: dict[int, str] = {}
    for landmark in row.landmarks:
        turn, instruction = max(1, min(landmark.turn, MOST_TURNS)), landmark.instruction.strip()
        if not is_blank(instruction):  # a scenario file refuses a text in which there is nothing to see
            found[turn] = f"{found[turn]} {instruction}" if turn in found else instruction
    return found


def _persona(row: ScenarioRow) -> str:
    parts = [
        row.persona.strip() or "Somebody who talks with the agent.",
        f"What you want: {row.user_goal.strip()}" if row.user_goal.strip() else "",
        f"What you try to bring about: {row.latent_adversarial_goal.strip()}"
        if row.latent_adversarial_goal.strip()
        else "",
    ]
    return "\n".join(part for part in parts if part)


def _made_up(landmark: str, goal: str) -> str:
    """A first message where no conversation has one: what the landmark quotes, or else the user's goal."""
    for found in _QUOTED.finditer(landmark):
        said = next(text for text in found.groups() if text)
        if len(said.split()) >= _FEWEST_WORDS:
            return said.strip()
    aim = (goal or landmark).strip()
    return f"I need your help with this: {aim}" if aim else "Hello, I need your help."


def _evaluation(metric: Metric) -> dict[str, Any]:
    definition = metric.definition.strip()
    if metric.type is MetricType.POSITIVE:
        return {"correctness_criteria": [definition]}
    return {"correctness_criteria": [_ANSWERS], "failure_criteria": [definition]}


def _tags(name: str, row: ScenarioRow) -> list[str]:
    words = (name, row.metric_id, *row.demographic.values())
    slugs = (re.sub(r"[^\w]+", "-", word.lower()).strip("-") for word in words)
    return list(dict.fromkeys(slug for slug in slugs if slug))


def _metadata(
    name: str, metric: Metric, row: ScenarioRow, who: Sequence[str], opening: _Opening | None
) -> dict[str, Any]:
    data = {
        "benchmark": name,
        "scenario": row.id,
        "metric": metric.id,
        "type": metric.type.value,
        "definition": metric.definition,
        "demographic": dict(row.demographic),
        "failed_by": list(who),
        "tools_called": list(opening.tools) if opening else [],
        "target_system_prompt": row.target_system_prompt,
    }
    return {key: value for key, value in data.items() if value}


def _refuse_edited(files: Mapping[Path, str]) -> None:
    other = [path for path, text in files.items() if path.exists() and _content(path) != text]
    if other:
        names = ", ".join(shown_path(path) for path in other)
        raise ResultsError(
            f"there already, with another content: {names}. Nothing was written; move them away if they "
            "aren't wanted as they are, or choose another folder"
        )


def _content(path: Path) -> str | None:
    """The content of a file, with the line breaks that we write; None if it is not UTF-8 text."""
    try:
        return read_text(path)
    except (OSError, UnicodeDecodeError):
        return None


def _write(folder: Path, files: Mapping[Path, str]) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder):
            for path, text in files.items():
                if not path.exists():
                    write_atomically(path, text.encode("utf-8"))
    except (OSError, TimeoutError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ResultsError(f"{shown_path(folder)} cannot be written: {reason}") from None
