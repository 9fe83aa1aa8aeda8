"""`python -m pytest_convoprobe.cli`."""

from __future__ import annotations

from .app import main

main(prog_name="convoprobe")
