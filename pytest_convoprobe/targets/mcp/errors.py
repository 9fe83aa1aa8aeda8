"""What goes wrong between us and a server, before it is known whose conversation it breaks."""

from __future__ import annotations


class _ServerProblem(Exception):
    """Its text says what happened, without the name of the server."""


class NotStarted(_ServerProblem):
    """The server's program can't be run, or its package is not installed."""


class Closed(_ServerProblem):
    """The connection is over: no call can be made any more."""


class NoResult(_ServerProblem):
    """A call has no result, and the server is still there: the error is the tool's."""
