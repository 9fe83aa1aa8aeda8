"""What a command says beside the advice to name a target: pytest has a fixture for it, a command has not."""

from __future__ import annotations

_FIXTURE = "fixture convoprobe_target in conftest.py"

WRITE_A_FIXTURE = f"or write a {_FIXTURE}."
"""For a command that looks at what pytest will find."""

FIXTURE_IS_FOR_PYTEST = f"A {_FIXTURE} is for pytest alone."
"""For a command that talks with the target itself."""
