"""Fixtures for the tests of the frameworks' adapters."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.chat_server import ChatServer

pytest.register_assert_rewrite("tests.frameworks.contract")

from .shop import Shop, model  # noqa: E402 - after the line above, which has to come first


@pytest.fixture
def server() -> Iterator[ChatServer]:
    """The model of the agents; see `shop.model`."""
    with ChatServer(model, routine=False) as server:
        yield server


@pytest.fixture
def shop() -> Shop:
    return Shop()
