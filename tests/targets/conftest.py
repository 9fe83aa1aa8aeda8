from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

from pytest_convoprobe.llm.fake import FakeLLM
from pytest_convoprobe.llm.port import LLM
from pytest_convoprobe.targets.port import ConversationContext

_NUMBERS = itertools.count(1)


@pytest.fixture
def context() -> Callable[..., ConversationContext]:
    """Makes the context of a new conversation; its `llm` has no answers unless one is given."""

    def make(llm: LLM | None = None, scenario: str = "shop.yaml::refund") -> ConversationContext:
        return ConversationContext(id=f"c{next(_NUMBERS)}", llm=llm or FakeLLM([]), scenario=scenario)

    return make
