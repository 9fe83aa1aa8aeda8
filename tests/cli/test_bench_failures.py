from __future__ import annotations

from pytest_convoprobe.cli.bench.shared.failures import reason_text
from pytest_convoprobe.cli.console import Console


def test_a_reason_moves_no_terminal_and_commands_no_ci_system() -> None:
    shown = reason_text(Console.of(), "\x1b[2J\n::error::boom\r")
    assert "\x1b" not in shown
    assert not {"\n", "\r"} & set(shown)
    assert not shown.startswith("::")
