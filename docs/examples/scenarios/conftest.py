import agent
import pytest


@pytest.fixture
def convoprobe_state(monkeypatch):
    """The messages that the warehouse gets in this conversation."""
    messages = []
    monkeypatch.setattr(agent, "WAREHOUSE", messages)
    return messages
