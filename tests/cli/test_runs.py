from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from .conftest import Convoprobe
from .stored import failed, passed, store

COMMIT = "1a2b3c4d" * 5


def test_the_newest_run_comes_first(folder: Path, convoprobe: Convoprobe) -> None:
    store(folder, 1, [passed("one"), failed("two")])
    store(folder, 2, [passed("one"), passed("two")], commit=COMMIT)
    result = convoprobe("runs")
    head, *rows = result.output.splitlines()
    assert result.exit_code == 0
    assert head.split() == "RUN STARTED ENDED PASSED FAILED ERROR SKIPPED TOOK COMMIT".split()
    assert [row.split()[0] for row in rows] == ["20261102T120000Z-000002", "20261101T120000Z-000001"]
    assert rows[0].split()[4:] == "finished 2 0 0 0 1 min 5 s main 1a2b3c4d".split()
    assert rows[1].split()[4:9] == "finished 1 1 0 0".split()


def test_a_run_that_never_ended_is_counted(folder: Path, convoprobe: Convoprobe) -> None:
    store(folder, 1, [passed("one"), failed("two")], ended=False)
    assert "broken off       1       1      0" in convoprobe("runs").output


def test_only_so_many(folder: Path, convoprobe: Convoprobe) -> None:
    for day in (1, 2, 3):
        store(folder, day, [passed("one")])
    result = convoprobe("runs", "--limit", "1")
    assert len(result.stdout.splitlines()) == 2
    assert "2 older ones are not shown: --all shows them" in result.stderr
    assert len(convoprobe("runs", "-n", "1", "--all").output.splitlines()) == 4


def test_no_runs(folder: Path, convoprobe: Convoprobe) -> None:
    result = convoprobe("runs")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "no stored runs in" in result.stderr
    assert convoprobe("runs", "--json").stdout == "[]\n"


def test_json(folder: Path, convoprobe: Convoprobe) -> None:
    run = store(folder, 1, [passed("one"), failed("two")])
    (found,) = json.loads(convoprobe("runs", "--json").stdout)
    assert found["id"] == run
    assert found["counts"] == {"passed": 1, "failed": 1}
    assert found["path"].endswith(run)


def test_from_a_folder_below(folder: Path, convoprobe: Convoprobe, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    store(folder, 1, [passed("one")])
    (folder / "scenarios").mkdir()
    monkeypatch.chdir(folder / "scenarios")
    assert "20261101T120000Z-000001" in convoprobe("runs").output


def test_the_settings_say_where_and_a_missing_key_does_not_matter(
    folder: Path, convoprobe: Convoprobe
) -> None:
    settings = "llm: {model: openai/x, api_key: '${NOT_SET_ANYWHERE}'}\nresults: {dir: kept/.convoprobe}\n"
    (folder / "convoprobe.yaml").write_text(settings)
    store(folder / "kept", 1, [passed("one")])
    assert "20261101T120000Z-000001" in convoprobe("runs").output


def test_another_folder(folder: Path, convoprobe: Convoprobe) -> None:
    store(folder / "download", 1, [passed("one")])
    assert "20261101T120000Z-000001" in convoprobe("runs", "--results", "download/.convoprobe").output


def test_a_terminal_is_never_too_narrow(folder: Path, on_terminal: Callable[..., str]) -> None:
    store(folder, 1, [passed("one")], commit=COMMIT)
    for columns in (40, 60, 100):
        lines = on_terminal("runs", columns=columns, env={"NO_COLOR": "1"}).splitlines()
        assert lines[1].startswith("20261101T120000Z-000001")
        assert max(map(len, lines)) <= max(columns, 50)


def test_colours_on_a_terminal_unless_unwanted(folder: Path, on_terminal: Callable[..., str]) -> None:
    store(folder, 1, [passed("one")])
    assert "\x1b[32m1\x1b[0m" in on_terminal("runs", columns=120)
    assert "\x1b" not in on_terminal("runs", columns=120, env={"NO_COLOR": "1"})
