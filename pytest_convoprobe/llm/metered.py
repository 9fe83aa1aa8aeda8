"""Enters every call of one scenario in a ledger."""

from __future__ import annotations

from ..errors import LLMError
from .ledger import Ledger
from .port import LLM, LLMReply, LLMRequest


class Metered:
    """Wraps an `LLM`: records replies and failures in the ledger, by the role that called.

    It does not close the wrapped `LLM`, which belongs to the run and is used by other scenarios too.
    """

    def __init__(self, inner: LLM, ledger: Ledger) -> None:
        self._inner = inner
        self._ledger = ledger

    async def complete(self, request: LLMRequest) -> LLMReply:
        try:
            reply = await self._inner.complete(request)
        except LLMError as error:
            self._ledger.record_failure(request.context.role, error.attempts, error.cost)
            raise
        self._ledger.record(request.context.role, reply)
        return reply

    async def aclose(self) -> None:
        """Do nothing: the run closes the wrapped `LLM`."""
