from __future__ import annotations

import json
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convoprobe.benchmark.format.folder import BenchmarkFolder
from pytest_convoprobe.benchmark.rows.table import Table
from pytest_convoprobe.benchmark.rows.work import Place, RowResult, Unit
from pytest_convoprobe.benchmark.stages.tables import Tables
from pytest_convoprobe.errors import ResultsError
from pytest_convoprobe.llm.ledger import Spending
from pytest_convoprobe.transcript import Usage

from ..echo import conversation, failed, made, place, table, unit

TODAY = datetime.now(timezone.utc).date().isoformat()


def array(folder: Path) -> Path:
    return BenchmarkFolder(folder).conversations("t1")


def lines(folder: Path) -> Path:
    return folder / ".rows" / "simulate" / "t1.jsonl"


def told(folder: Path) -> dict[str, str]:
    """By id, what the assistant says in the file for people."""
    return {row["id"]: row["conversation"][1]["content"] for row in json.loads(array(folder).read_bytes())}


def written(folder: Path, rows: list[Any]) -> None:
    array(folder).parent.mkdir(parents=True, exist_ok=True)
    array(folder).write_text(json.dumps(rows, indent=2))


def filled(folder: Path, count: int = 2) -> Table:
    """A table with exported rows."""
    filled = table(folder)
    for number in range(1, count + 1):
        filled.put(made(number))
    filled.export([unit(number) for number in range(1, count + 1)])
    return filled


class TestLines:
    def test_a_row_is_there_again_after_a_restart(self, tmp_path: Path) -> None:
        table(tmp_path).put(made(1, "Good day"))
        again = table(tmp_path)
        assert again.done(unit(1))
        assert again.row(place(1)) == {**conversation(1, "Good day"), "key": "k1", "made": TODAY}

    def test_a_row_made_of_something_else_is_not_the_row_of_the_unit(self, tmp_path: Path) -> None:
        table(tmp_path).put(made(1))
        assert not table(tmp_path).done(unit(1, key="other"))

    def test_a_row_of_earlier_settings_is_found_again(self, tmp_path: Path) -> None:
        first = table(tmp_path)
        first.put(made(1, "old", key="a"))
        first.put(made(1, "new", key="b"))
        assert table(tmp_path).done(unit(1, key="a"))
        again = table(tmp_path)
        again.export([unit(1, key="a")])
        assert told(tmp_path) == {place(1).id: "old"}
        assert again.row(place(1))["key"] == "a1"
        assert table(tmp_path).spending()["target"].calls == 2

    def test_a_failure_is_not_done_and_says_why(self, tmp_path: Path) -> None:
        table(tmp_path).put(failed(1, 'it said ,"row": no'))
        again = table(tmp_path)
        assert not again.done(unit(1))
        assert again.failures() == [(place(1), 'it said ,"row": no')]
        with pytest.raises(KeyError):
            again.row(place(1))

    def test_a_failure_is_forgotten_once_the_row_is_made(self, tmp_path: Path) -> None:
        first = table(tmp_path)
        first.put(failed(1))
        first.put(made(1))
        assert first.failures() == []
        assert table(tmp_path).failures() == []

    def test_spending_counts_failures_and_rows_made_again(self, tmp_path: Path) -> None:
        first = table(tmp_path)
        for outcome in (failed(1), made(1), made(1, key="other")):
            first.put(outcome)
        expected = {"target": Spending(3, 3, 0, Usage(30, 15), 0.75)}
        assert first.spending() == expected
        assert table(tmp_path).spending() == expected

    def test_one_unknown_price_makes_the_cost_unknown(self, tmp_path: Path) -> None:
        first = table(tmp_path)
        first.put(made(1))
        first.put(RowResult(unit(2), conversation(2), spending={"target": Spending(1, 1, cost=None)}))
        assert table(tmp_path).spending()["target"].cost is None

    def test_a_line_torn_by_a_kill_is_none_and_the_next_one_stands_alone(self, tmp_path: Path) -> None:
        first = table(tmp_path)
        first.put(made(1))
        first.put(made(2))
        whole = lines(tmp_path).read_bytes()
        lines(tmp_path).write_bytes(whole[:-10])
        again = table(tmp_path)
        assert again.done(unit(1))
        assert not again.done(unit(2))
        again.put(made(3, "after"))
        assert table(tmp_path).row(place(3))["conversation"][1]["content"] == "after"
        assert len(lines(tmp_path).read_bytes().splitlines()) == 2

    @given(cut=st.integers(0, 2000))
    def test_wherever_the_file_breaks_off_only_whole_rows_are_there(
        self, cut: int, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        folder = tmp_path_factory.mktemp("cut")
        first = table(folder)
        for number in range(1, 5):
            first.put(made(number, f'}}}}\n{{"row":{{}}}} {number} ü'))
        first.close()
        whole = lines(folder).read_bytes()
        kept = whole[: cut % (len(whole) + 1)]
        lines(folder).write_bytes(kept)
        again = table(folder)
        found = [number for number in range(1, 5) if again.done(unit(number))]
        assert found == list(range(1, kept.count(b"\n") + 1))
        again.put(made(4, "anew", key="z"))
        again.close()
        assert table(folder).row(place(4))["conversation"][1]["content"] == "anew"

    @pytest.mark.parametrize(
        "line",
        [
            b'{"a":1,"row":{}}',
            b'[1,"row":2}',
            b'{"key":"k","id":5,"sample":1,"metric":"","digest":"d","row":{}}',
            b'{"key":"k","id":"a","sample":"1","metric":"","digest":"d","row":{}}',
            b'{"key":"k","id":"a","sample":1,"metric":"","digest":"d","spent":[1],"row":{}}',
            b'{"key":"k","id":"a","sample":1,"metric":"","digest":"d","spent":{"target":[1]},"row":{}}',
        ],
    )
    def test_a_line_that_is_not_ours_is_none(self, tmp_path: Path, line: bytes) -> None:
        filled(tmp_path).close()
        with lines(tmp_path).open("ab") as file:
            file.write(line + b"\n")
        again = table(tmp_path)
        assert [place.id for place in again.heads()] == [place(1).id, place(2).id]
        assert again.spending()["target"].calls == 2


class TestStamp:
    def stamp(self, folder: Path) -> Path:
        return lines(folder).with_suffix(".stamp")

    def test_rows_whose_lines_are_lost_are_still_in_their_array(self, tmp_path: Path) -> None:
        filled(tmp_path).close()
        lines(tmp_path).unlink()
        again = table(tmp_path)
        assert again.done(unit(1))
        assert again.row(place(2)) == {**conversation(2), "key": "k2", "made": TODAY}

    def test_rows_of_others_survive_the_loss_of_the_lines(self, tmp_path: Path) -> None:
        written(tmp_path, [conversation(1, "by hand")])
        table(tmp_path).close()
        lines(tmp_path).unlink()
        again = table(tmp_path)
        again.put(made(2))
        again.export([unit(1), unit(2)])
        assert told(tmp_path) == {place(1).id: "by hand", place(2).id: "Hello"}

    def test_a_line_that_is_lost_from_the_end_is_not_made_again(self, tmp_path: Path) -> None:
        filled(tmp_path).close()
        content = lines(tmp_path).read_bytes()
        lines(tmp_path).write_bytes(content[: content.index(b"\n") + 1])
        assert table(tmp_path).done(unit(2))

    def test_a_row_that_the_disk_has_spoilt_is_taken_from_the_array(self, tmp_path: Path) -> None:
        filled(tmp_path).close()
        lines(tmp_path).write_bytes(lines(tmp_path).read_bytes().replace(b'"row":{', b'"row":\0', 1))
        self.stamp(tmp_path).unlink()
        assert table(tmp_path).row(place(1)) == {**conversation(1), "key": "k1", "made": TODAY}

    @pytest.mark.parametrize("text", ["", "null", "[]", "{}", '{"file": [1, 2]}', "OFFSETS"])
    def test_one_that_is_not_ours_is_made_anew(self, tmp_path: Path, text: str) -> None:
        filled(tmp_path).close()
        seen = json.loads(self.stamp(tmp_path).read_bytes())["file"]
        self.stamp(tmp_path).write_text(text.replace("OFFSETS", json.dumps({"file": seen, "offsets": [[1]]})))
        assert table(tmp_path).done(unit(1))
        assert json.loads(self.stamp(tmp_path).read_bytes())["file"] == seen


class TestExport:
    def test_one_row_a_line_in_the_order_of_the_units(self, tmp_path: Path) -> None:
        first = table(tmp_path)
        for number in (2, 3, 1):
            first.put(made(number, "Grüß Gott"))
        assert first.export([unit(1), unit(2), unit(3), unit(4)])
        text = array(tmp_path).read_text("utf-8")
        head, *rows, tail = text.splitlines()
        assert (head, tail) == ("[", "]")
        assert [json.loads(row.rstrip(","))["id"] for row in rows] == [place(n).id for n in (1, 2, 3)]
        assert "Grüß Gott" in text

    def test_a_row_whose_unit_has_changed_is_left_out(self, tmp_path: Path) -> None:
        filled(tmp_path, 2).export([unit(1), unit(2, key="other")])
        assert list(told(tmp_path)) == [place(1).id]
        assert table(tmp_path).done(unit(2))

    def test_one_whose_place_is_spared_stays_where_it_was(self, tmp_path: Path) -> None:
        units = [unit(1, key="other"), unit(2)]
        filled(tmp_path, 3).export(units, lambda where: where != place(2))
        assert list(told(tmp_path)) == [place(1).id, place(2).id, place(3).id]

    def test_an_array_that_would_not_change_is_not_written(self, tmp_path: Path) -> None:
        filled(tmp_path, 2)
        before = array(tmp_path).stat()
        assert not table(tmp_path).export([unit(1), unit(2)])
        assert array(tmp_path).stat() == before

    def test_a_new_order_is_written(self, tmp_path: Path) -> None:
        filled(tmp_path, 2).export([unit(2), unit(1)])
        assert list(told(tmp_path)) == [place(2).id, place(1).id]

    def test_a_deleted_array_is_written_again(self, tmp_path: Path) -> None:
        filled(tmp_path, 2)
        array(tmp_path).unlink()
        assert table(tmp_path).export([unit(1), unit(2)])
        assert list(told(tmp_path)) == [place(1).id, place(2).id]

    def test_nothing_leaves_no_file(self, tmp_path: Path) -> None:
        assert not table(tmp_path).export([unit(1)])
        assert not array(tmp_path).exists()

    def test_halves_of_characters_are_kept(self, tmp_path: Path) -> None:
        first = table(tmp_path)
        first.put(made(1, "\ud83d"))
        first.export([unit(1)])
        assert told(tmp_path) == {place(1).id: "\ud83d"}

    def test_heads_are_what_the_array_holds(self, tmp_path: Path) -> None:
        first = filled(tmp_path, 2)
        first.put(made(3))
        assert list(first.heads()) == [place(1), place(2)]
        assert list(table(tmp_path).heads()) == [place(1), place(2)]
        assert [row["id"] for row in table(tmp_path).rows()] == [place(1).id, place(2).id]

    def test_a_row_that_cannot_be_written_is_told_by_its_file(self, tmp_path: Path) -> None:
        first = table(tmp_path)
        first.put(made(1))
        (tmp_path / "runs").write_text("in the way")
        with pytest.raises(ResultsError, match=r"conversations\.json cannot be written"):
            first.export([unit(1)])


class TestFilesOfOthers:
    def test_an_array_that_cannot_be_read_is_told_by_its_file(self, tmp_path: Path) -> None:
        array(tmp_path).mkdir(parents=True)
        with pytest.raises(ResultsError, match=r"conversations\.json cannot be read"):
            table(tmp_path)

    def test_a_row_without_a_key_is_done_whatever_the_unit_is_made_of(self, tmp_path: Path) -> None:
        written(tmp_path, [conversation(1, "theirs")])
        first = table(tmp_path)
        assert first.done(unit(1, key="any"))
        first.put(made(2, "ours"))
        first.export([unit(1), unit(2)])
        assert told(tmp_path) == {place(1).id: "theirs", place(2).id: "ours"}
        assert "key" not in table(tmp_path).row(place(1))
        assert table(tmp_path).done(unit(1, key="any"))

    def test_an_array_in_another_order_is_left_alone_while_nothing_is_added(self, tmp_path: Path) -> None:
        written(tmp_path, [conversation(2), conversation(1)])
        before = array(tmp_path).read_bytes()
        assert not table(tmp_path).export([unit(1), unit(2)])
        assert array(tmp_path).read_bytes() == before
        again = table(tmp_path)
        again.put(made(3))
        assert again.export([unit(1), unit(2), unit(3)])
        assert list(told(tmp_path)) == [place(number).id for number in (1, 2, 3)]

    def test_a_row_with_a_key_is_done_only_if_it_is_the_units(self, tmp_path: Path) -> None:
        written(tmp_path, [{**conversation(1), "key": "k1"}])
        assert table(tmp_path).done(unit(1))
        assert not table(tmp_path).done(unit(1, key="other"))

    def test_fields_that_we_do_not_know_survive(self, tmp_path: Path) -> None:
        written(tmp_path, [conversation(1, rating={"stars": 5})])
        first = table(tmp_path)
        first.put(made(2))
        first.export([unit(1), unit(2)])
        assert json.loads(array(tmp_path).read_bytes())[0]["rating"] == {"stars": 5}

    def test_a_row_edited_by_hand_stays_as_edited(self, tmp_path: Path) -> None:
        filled(tmp_path, 2)
        text = array(tmp_path).read_text("utf-8").replace("Hello", "Corrected", 1)
        array(tmp_path).write_text(text, "utf-8")
        first = table(tmp_path)
        assert first.done(unit(1))
        first.put(made(3))
        first.export([unit(1), unit(2), unit(3)])
        assert list(told(tmp_path).values()) == ["Corrected", "Hello", "Hello"]

    def test_a_row_edited_while_a_run_goes_on_stays_as_edited(self, tmp_path: Path) -> None:
        first = filled(tmp_path, 1)
        array(tmp_path).write_text(array(tmp_path).read_text("utf-8").replace("Hello", "Corrected"), "utf-8")
        first.put(made(2))
        first.export([unit(1), unit(2)])
        assert list(told(tmp_path).values()) == ["Corrected", "Hello"]

    def test_a_row_that_no_unit_asks_for_survives_at_the_end(self, tmp_path: Path) -> None:
        written(tmp_path, [conversation(9, "by hand")])
        first = table(tmp_path)
        first.put(made(1))
        first.export([unit(1)])
        assert table(tmp_path).export([unit(1), unit(2)]) is False
        assert told(tmp_path) == {place(1).id: "Hello", place(9).id: "by hand"}

    def test_a_row_by_hand_is_gone_once_it_is_deleted(self, tmp_path: Path) -> None:
        written(tmp_path, [conversation(1), conversation(9)])
        table(tmp_path).export([unit(1)])
        written(tmp_path, [])
        first = table(tmp_path)
        assert not first.done(unit(1))
        first.put(made(2))
        first.export([unit(1), unit(2)])
        assert list(told(tmp_path)) == [place(2).id]

    def test_a_touched_file_adds_no_lines(self, tmp_path: Path) -> None:
        filled(tmp_path, 2)
        before = lines(tmp_path).read_bytes()
        written(tmp_path, json.loads(array(tmp_path).read_bytes()))
        assert table(tmp_path).done(unit(2))
        assert lines(tmp_path).read_bytes() == before

    def test_what_was_adopted_has_cost_nothing(self, tmp_path: Path) -> None:
        written(tmp_path, [conversation(1)])
        first = table(tmp_path)
        assert first.spending() == {}
        assert first.paid_rows == 0

    def test_a_broken_file_is_an_error_and_stays(self, tmp_path: Path) -> None:
        filled(tmp_path, 2)
        array(tmp_path).write_text('[\n{"id": "m01_s001_v01", oops},\n{"id": "m01_s002_v01"}]')
        with pytest.raises(ResultsError, match=r"conversations\.json: row 1: .*correct the file"):
            table(tmp_path)
        assert "oops" in array(tmp_path).read_text()

    def test_a_row_without_an_id_is_told_by_its_number(self, tmp_path: Path) -> None:
        written(tmp_path, [conversation(1), {"conversation": []}])
        with pytest.raises(
            ResultsError, match="row 2: the conversation: id: this key is required, and it is missing"
        ):
            table(tmp_path)

    def test_two_rows_of_one_place_are_an_error(self, tmp_path: Path) -> None:
        written(tmp_path, [conversation(1), conversation(1)])
        with pytest.raises(ResultsError, match="row 2 is the second one for m01_s001_v01#1"):
            table(tmp_path)


class TestScores:
    def score(self, metric: str, scenario: str = "m01_s001_v01") -> dict[str, Any]:
        return {"id": scenario, "metric_id": metric, "sample": 1, "present": True, "passed": True}

    def opened(self, folder: Path, rows: list[Any]) -> Table:
        file = BenchmarkFolder(folder).scores("t1")
        file.parent.mkdir(parents=True)
        file.write_text(json.dumps(rows))
        return Tables(BenchmarkFolder(folder))("evaluate", "t1")

    def test_a_score_for_another_metric_has_a_place_of_its_own(self, tmp_path: Path) -> None:
        opened = self.opened(tmp_path, [self.score("m01"), self.score("m02")])
        assert list(opened.heads()) == [place(1), Place("m01_s001_v01", 1, "m02", "t1")]

    def test_where_the_id_tells_no_metric_the_first_score_is_its_own(self, tmp_path: Path) -> None:
        opened = self.opened(tmp_path, [self.score("m01", "refund"), self.score("m02", "refund")])
        assert list(opened.heads()) == [
            Place("refund", 1, target="t1"),
            Place("refund", 1, "m02", "t1"),
        ]


class TestTablesWithoutAFile:
    def test_all_rows_are_there_and_nothing_is_exported(self, tmp_path: Path) -> None:
        drafts = Tables(BenchmarkFolder(tmp_path))("draft-scenarios")
        wanted = Unit(Place("m01"), "k")
        drafts.put(RowResult(wanted, {"id": "m01", "scenarios": []}))
        assert list(drafts.heads()) == [Place("m01")]
        assert not drafts.export([wanted])
        assert [path.name for path in tmp_path.iterdir()] == [".rows"]

    def test_the_digest_tells_rows_of_different_content_apart(self, tmp_path: Path) -> None:
        first = filled(tmp_path, 1).heads()[place(1)]
        other = table(tmp_path)
        other.put(made(1, "Something else"))
        other.export([unit(1)])
        assert other.heads()[place(1)].digest != first.digest
