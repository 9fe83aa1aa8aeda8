"""The same mistake has the same sentence in every file that people write or keep."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_convoprobe.benchmark.format.labels import read_labels
from pytest_convoprobe.benchmark.format.project import load_project
from pytest_convoprobe.benchmark.rows.row_types import ScoreRow
from pytest_convoprobe.errors import RecordingUnusable, ResultsError, ScenarioFileError, SettingsError
from pytest_convoprobe.llm.fingerprint import Fingerprint
from pytest_convoprobe.llm.port import LLMReply, Role
from pytest_convoprobe.llm.recording import Recording
from pytest_convoprobe.llm.recording_format import RecordedCall, dumps
from pytest_convoprobe.scenario.loading import load_scenarios
from pytest_convoprobe.settings.loading import load_settings

SCENARIO = """\
name: a
description: b
synthetic_user: {{persona: c, initial_query: d, {user}}}
evaluation: {{correctness_criteria: [e]}}
"""


def _scenario(folder: Path, text: str) -> None:
    (folder / "a.yaml").write_text(SCENARIO.format(user=text))
    load_scenarios(folder / "a.yaml")


def _settings(folder: Path, text: str) -> None:
    (folder / "convoprobe.yaml").write_text(text)
    load_settings(folder)


def _toml(folder: Path, text: str) -> None:
    (folder / "pyproject.toml").write_text(f"[tool.convoprobe.run]\n{text}\n")
    load_settings(folder)


def _benchmark(folder: Path, text: str) -> None:
    (folder / "benchmark.yaml").write_text(text)
    load_project(folder, root=folder)


def _config(folder: Path, text: str) -> None:
    (folder / "benchmark.yaml").write_text("name: a\n")
    (folder / "config.yaml").write_text(text)
    load_project(folder, root=folder)


def _recording(folder: Path, text: str) -> None:
    old, _, new = text.partition(" -> ")
    call = RecordedCall(1, Role.JUDGE, 0, 1, Fingerprint("openai/x", {}, ()), LLMReply("yes"))
    whole = dumps([call], recorded="2026-01-01")
    assert old in whole
    (folder / "a.json").write_text(whole.replace(old, new))
    assert Recording(folder / "a.json").calls


def _labels(folder: Path, text: str) -> None:
    (folder / "labels.csv").write_text(text)
    read_labels(folder / "labels.csv")


def _row(folder: Path, text: str) -> None:
    ScoreRow.from_json({"id": "m01_s001_v01", **json.loads(text)})


Read = Callable[[Path, str], None]


@pytest.mark.parametrize(
    ("read", "text", "sentence"),
    [
        (
            _scenario,
            "max_trns: 3",
            "synthetic_user.max_trns: unknown key; did you mean `max_turns`? Valid here: ",
        ),
        (_settings, "run: {max_csot: 3}", "run.max_csot: unknown key; did you mean `max_cost`? Valid here: "),
        (_toml, "max_csot = 3", "run.max_csot: unknown key; did you mean `max_cost`? Valid here: "),
        (_benchmark, "name: a\nmetric: []", "metric: unknown key; did you mean `metrics`? Valid here: "),
        (_config, "run: {max_csot: 3}", "run.max_csot: unknown key; did you mean `max_cost`? Valid here: "),
        (
            _recording,
            '"ordinal" -> "ordnial"',
            "calls[0].ordnial: unknown key; did you mean `ordinal`? Valid",
        ),
        (
            _labels,
            "conversation,metric,presnt\na,m01,yes\n",
            "labels.csv:1:21: presnt: unknown key; did you mean `present`? Valid here: ",
        ),
        (
            _labels,
            "conversation,metric,present,smaple\na,m01,yes,2\n",
            "labels.csv:1:29: smaple: unknown key; did you mean `sample`? Valid here: ",
        ),
    ],
)
def test_a_misspelt_key(tmp_path: Path, read: Read, text: str, sentence: str) -> None:
    assert sentence in _refusal(tmp_path, read, text)


@pytest.mark.parametrize(
    ("read", "text", "sentence"),
    [
        (_scenario, "max_turns: many", 'max_turns: must be a whole number, got the text "many"'),
        (
            _settings,
            "run: {concurrency: many}",
            'run.concurrency: must be a whole number, got the text "many"',
        ),
        (_toml, "concurrency = 'many'", 'run.concurrency: must be a whole number, got the text "many"'),
        (_benchmark, "name: a\ngate: {min_pass_rate: all}", 'must be a number, got the text "all"'),
        (
            _config,
            "generation: {turns: many}",
            'generation.turns: must be a whole number, got the text "many"',
        ),
        (
            _recording,
            '"turn": 0 -> "turn": "many"',
            'calls[0].turn: must be a whole number, got the text "many"',
        ),
        (_row, '{"sample": "many"}', 'm01_s001_v01: sample: must be a whole number, got the text "many"'),
    ],
)
def test_a_value_of_another_kind(tmp_path: Path, read: Read, text: str, sentence: str) -> None:
    assert sentence in _refusal(tmp_path, read, text)


@pytest.mark.parametrize(
    ("read", "text", "sentence"),
    [
        (_scenario, "max_turns: 0", "max_turns: must be from 1 to 100, got the number 0"),
        (_settings, "llm: {temperature: 3}", "llm.temperature: must be from 0 to 2, got the number 3"),
        (_config, "generation: {turns: 101}", "generation.turns: must be from 1 to 100, got the number 101"),
        (_benchmark, "name: a\ngate: {min_pass_rate: 2}", "must be from 0 to 1, got the number 2"),
        (_recording, '"trial": 1 -> "trial": 0', "calls[0].trial: must be at least 1, got the number 0"),
    ],
)
def test_a_number_beyond_its_limits(tmp_path: Path, read: Read, text: str, sentence: str) -> None:
    assert sentence in _refusal(tmp_path, read, text)


@pytest.mark.parametrize(
    ("read", "text", "sentence"),
    [
        (
            _settings,
            "run: {replay: atuo}",
            "run.replay: must be one of `off`, `auto`, `only`, `record`, got the text ",
        ),
        (
            _benchmark,
            "name: a\ngate: {bound: pont}",
            "gate.bound: must be one of `point`, `lower`, got the text ",
        ),
        (_config, "evaluation: {method: answr}", "must be one of `answer`, `log_odds`, got the text "),
    ],
)
def test_a_word_that_is_no_choice_names_the_nearest(
    tmp_path: Path, read: Read, text: str, sentence: str
) -> None:
    found = _refusal(tmp_path, read, text)
    assert sentence in found
    assert "; did you mean `" in found


def test_a_mistake_in_a_recording_has_its_line(tmp_path: Path) -> None:
    found = _refusal(tmp_path, _recording, '"trial": 1 -> "trial": 0')
    assert "a.json:9:16: the recording cannot be read: calls[0].trial: must be at least 1" in found


def _refusal(folder: Path, read: Read, text: str) -> str:
    with pytest.raises((ScenarioFileError, SettingsError, RecordingUnusable, ResultsError)) as caught:
        read(folder, text)
    return str(caught.value)
