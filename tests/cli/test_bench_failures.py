from __future__ import annotations

import pytest

from pytest_convoprobe.cli.bench.shared.failures import reason_text
from pytest_convoprobe.cli.console import Console


@pytest.mark.parametrize(
    ("reason", "shown"),
    [
        ("run the same with --convoprobe-replay=record.", "run the same with --replay=record."),
        ("105 tokens spent of --convoprobe-max-tokens 100", "105 tokens spent of --max-tokens 100"),
        ("--convoprobe-max-cost cannot be kept", "--max-cost cannot be kept"),
    ],
)
def test_options_are_named_as_these_commands_have_them(reason: str, shown: str) -> None:
    assert reason_text(Console.of(), reason) == shown


def test_a_reason_moves_no_terminal_and_commands_no_ci_system() -> None:
    shown = reason_text(Console.of(), "\x1b[2J\n::error::boom\r")
    assert "\x1b" not in shown
    assert not {"\n", "\r"} & set(shown)
    assert not shown.startswith("::")
