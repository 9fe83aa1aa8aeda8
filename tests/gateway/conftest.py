from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from pytest_convoprobe.gateway.server import Gateway
from tests.support.model_server import ModelServer


@pytest.fixture
async def gateway() -> AsyncIterator[Gateway]:
    made = Gateway()
    await made.start()
    yield made
    await made.aclose()


@pytest.fixture
def provider() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server
