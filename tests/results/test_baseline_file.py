from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_convoprobe.errors import ResultsError
from pytest_convoprobe.results.baseline_file import (
    Accepted,
    BaselineFile,
    KeptPast,
    dumps,
    file_for,
    new_file_for,
    read_baseline,
    write_baseline,
)
from pytest_convoprobe.results.fingerprints import Prints
from pytest_convoprobe.scenario.discovery import matches

PRINTS = Prints(
    scenario="a" * 16, own_prompts="c" * 16, judge="d" * 16, judge_model="openai/j", user="e" * 16
)  # fmt: skip
ENTRY = KeptPast("....x...", "20261128T120000Z-000001", PRINTS)
HOSTILE = 'a.yaml::"quoted"\\ \u202eturned\u2028 é'


def test_the_text_is_for_review_and_always_the_same() -> None:
    text = dumps({"b.yaml::B": ENTRY, "a.yaml::A": replace(ENTRY, accepted=Accepted("2026-11-20", "#12"))})
    assert text.splitlines()[3:] == [
        '  "scenarios": {',
        '    "a.yaml::A": {',
        '      "failed": 1, "of": 8, "talks": "....x...", "newest": "20261128T120000Z-000001",',
        '      "judge": "openai/j", "user": null,',
        '      "prints": {"scenario": "aaaaaaaaaaaaaaaa", "prompts": "cccccccccccccccc", '
        '"judge": "dddddddddddddddd", "user": "eeeeeeeeeeeeeeee"},',
        '      "accepted": {"date": "2026-11-20", "reason": "#12"}',
        "    },",
        '    "b.yaml::B": {',
        '      "failed": 1, "of": 8, "talks": "....x...", "newest": "20261128T120000Z-000001",',
        '      "judge": "openai/j", "user": null,',
        '      "prints": {"scenario": "aaaaaaaaaaaaaaaa", "prompts": "cccccccccccccccc", '
        '"judge": "dddddddddddddddd", "user": "eeeeeeeeeeeeeeee"}',
        "    }",
        "  }",
        "}",
    ]


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    entries = {HOSTILE: replace(ENTRY, accepted=Accepted("2026-11-20", HOSTILE)), "b": ENTRY}
    path = tmp_path / "_baseline.json"
    write_baseline(path, entries)
    assert read_baseline(path).entries == entries
    assert "\u202e" not in path.read_text("utf-8")
    assert [one.name for one in tmp_path.iterdir()] == ["_baseline.json"]


@pytest.mark.parametrize(
    ("old", "new", "place", "words"),
    [
        ('"version": 1', '"version": 2', "", "version 2 of the format, and this release reads up to 1"),
        ('"failed": 1', '"failed": 0', ":5:", "say 0 of 8, and `talks` has 1 of 8"),
        ("....x...", "....y...", ":6:", "talks"),
        ('"failed": 1', '"faild": 1', ":6:", "did you mean `failed`"),
        ('"prints"', '"failed": 1, "prints"', ":8: ", 'the key "failed" is given twice'),
        ("    }\n", "<<<<<<< HEAD\n    }\n", ":9: ", "keep one of the two sides"),
        ("    }\n  }\n}\n", "", ":9:", "it is not whole JSON"),
        ('"scenarios": {', '"scenarios": [{', ":11:", "it is not whole JSON"),
        ('"scenarios"', '"scenario"', "", "scenarios"),
    ],
)
def test_a_broken_file_is_an_error_with_its_place(
    tmp_path: Path, old: str, new: str, place: str, words: str
) -> None:
    path = tmp_path / "_baseline.json"
    text = dumps({"a.yaml::A": ENTRY})
    assert old in text
    path.write_text(text.replace(old, new, 1), "utf-8")
    with pytest.raises(ResultsError) as caught:
        read_baseline(path)
    message = str(caught.value)
    assert f"_baseline.json{place}" in message
    assert words in message
    assert "A broken baseline is not the same as none" in message


@pytest.mark.parametrize("name", ["a" * 3000, "\x00\x7f\x85\ufeff", "<<::&a *b # c", "caf\udce9.yaml::x"])
def test_any_name_is_kept(tmp_path: Path, name: str) -> None:
    file = BaselineFile(tmp_path / "_baseline.json")
    key = file.key_of(tmp_path, name)
    write_baseline(file.path, {key: ENTRY})
    assert read_baseline(file.path).entries[key] == ENTRY


def test_what_is_not_a_file_is_an_error_too(tmp_path: Path) -> None:
    (tmp_path / "_baseline.json").symlink_to(tmp_path / "gone")
    assert file_for(tmp_path, "a.yaml::A") == tmp_path / "_baseline.json"
    with pytest.raises(ResultsError, match="cannot be read"):
        read_baseline(tmp_path / "_baseline.json")


def test_where_a_new_file_is_written(tmp_path: Path) -> None:
    assert file_for(tmp_path, "scenarios/shop/a.yaml::A") is None
    assert new_file_for(tmp_path, "scenarios/shop/a.yaml::A") == tmp_path / "scenarios" / "_baseline.json"
    assert new_file_for(tmp_path, "bot/a.scenario.yaml::A") == tmp_path / "bot" / "_baseline.json"


def test_it_is_neither_a_scenario_nor_larger_than_a_review() -> None:
    assert not matches(Path("scenarios/_baseline.json"), ("**/*.json",))
    assert len(dumps({f"{number}.yaml::A": ENTRY for number in range(100)}).splitlines()) < 600
    assert json.loads(dumps({})) == {"version": 1, "about": json.loads(dumps({}))["about"], "scenarios": {}}
