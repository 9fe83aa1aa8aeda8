"""Fixtures for all parts' tests."""

from hypothesis import settings

from .support.fixtures import chat_server

__all__ = ["chat_server"]

# How long an example takes says more about the machine than about the code.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
