"""A service behind HTTP as the target; the only place for an HTTP client and its templates."""

from .agent import HttpAgent

__all__ = ["HttpAgent"]
