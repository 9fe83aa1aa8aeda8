from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pytest_convoprobe.cli.console import Console
from pytest_convoprobe.cli.tables import Cell, Column, cut_middle, table_lines
from pytest_convoprobe.text import cell_width

COLUMNS = (Column("NAME", flexible=True), Column("N", right=True), Column("WHY", flexible=True, rank=1))


def test_a_pipe_gets_all_of_it() -> None:
    rows = [("a" * 200, "1", "b" * 200), ("c", "22", "d")]
    lines = table_lines(Console(), COLUMNS, rows)
    assert lines[1] == f"{'a' * 200}   1  {'b' * 200}"
    assert lines[2] == f"c{' ' * 199}  22  d"


def test_a_terminal_cuts_the_middle_of_flexible_columns() -> None:
    rows = [("scenarios/orders/status.yaml::Order status", "1", "why")]
    assert table_lines(Console(width=40), COLUMNS, rows)[1] == "scenarios/…us.yaml::Order status  1  why"


def test_then_columns_go() -> None:
    rows = [("a" * 30, "1", "b" * 30)]
    assert table_lines(Console(width=30), COLUMNS, rows)[0].split() == ["NAME", "N"]


def test_colours_take_no_room() -> None:
    lines = table_lines(Console(width=40, color=True), COLUMNS, [(Cell("a", "red"), "1", "b")])
    assert lines[1] == "\x1b[31ma\x1b[0m     1  b"


@given(st.lists(st.tuples(*[st.text(max_size=60)] * 3), max_size=5), st.integers(30, 100))
def test_a_table_is_never_wider_than_the_terminal(rows: list[tuple[str, str, str]], width: int) -> None:
    columns = (Column("A", flexible=True), Column("B", flexible=True, rank=1), Column("C", flexible=True))
    for line in table_lines(Console(width=width), columns, rows):
        assert cell_width(line) <= width
        assert "\n" not in line
        assert "\x1b" not in line


@given(st.text(alphabet="ab字é", max_size=80), st.integers(4, 60))
def test_a_cut_text_fits(text: str, width: int) -> None:
    assert cell_width(cut_middle(text, width, Console())) <= width
