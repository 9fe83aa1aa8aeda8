"""Fixtures for all parts' tests."""

from .support.fixtures import chat_server

__all__ = ["chat_server"]
