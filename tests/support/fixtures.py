"""Fixtures for the tests of every part, which `tests/conftest.py` passes on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .chat_server import ChatServer


@pytest.fixture
def chat_server() -> Iterator[ChatServer]:
    """A running server that answers by the default rules; for anything else make a `ChatServer` yourself."""
    with ChatServer() as server:
        yield server
