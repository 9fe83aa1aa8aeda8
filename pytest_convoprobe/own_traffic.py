"""Keeps the clients of others from logging our own calls.

HTTP clients log whole addresses, and at level DEBUG the headers of answers too. There may be secrets in them
that nobody knows beforehand: the address of a redirect, a cookie. So nothing can be masked, and what they
have to say about our calls is left out. What they log for code of the project stays.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

T = TypeVar("T")

_CLIENTS = frozenset((
    "aiohttp", "anthropic", "botocore", "google", "h11", "hpack", "httpcore", "httpcore2", "httpx", "httpx2",
    "mcp", "openai", "urllib3",
))  # fmt: skip
# A logger's filter isn't asked about records of the loggers below it, and these are made by the first call.
_MADE_LATER = (
    "httpcore.connection", "httpcore.http11", "httpcore.http2", "httpcore.proxy", "httpcore.socks",
    "httpcore2.connection", "httpcore2.http11", "httpcore2.http2", "httpcore2.proxy", "httpcore2.socks",
    "anthropic._base_client", "mcp.client.streamable_http", "openai._base_client", "openai._legacy_response",
    "openai._response",
)  # fmt: skip
LITELLM_LOGGERS = ("LiteLLM", "LiteLLM Proxy", "LiteLLM Router")

_is_ours: ContextVar[bool] = ContextVar("convoprobe_is_ours", default=False)


@contextmanager
def unlogged() -> Iterator[None]:
    """For the time of a block, and in the tasks that it starts, these clients log nothing."""
    for logger in _loggers():
        if _is_of_others not in logger.filters:
            logger.addFilter(_is_of_others)
    token = _is_ours.set(True)
    try:
        yield
    finally:
        _is_ours.reset(token)


def begun_unlogged(call: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
    """A task for a call during which these clients log nothing."""
    with unlogged():
        return asyncio.ensure_future(call)


def _is_of_others(_: logging.LogRecord) -> bool:
    return not _is_ours.get()


def _loggers() -> Iterator[logging.Logger]:
    known = logging.root.manager.loggerDict
    # Whoever sets this variable asks for all that LiteLLM sends and gets.
    of_litellm = () if "LITELLM_LOG" in os.environ else LITELLM_LOGGERS
    for name in (*_CLIENTS, *_MADE_LATER, *of_litellm):
        # Looked at before: `getLogger` takes a lock, and this is done for each call.
        if not isinstance(known.get(name), logging.Logger):
            logging.getLogger(name)
    for name, logger in list(known.items()):
        ours = name.partition(".")[0] in _CLIENTS or name in of_litellm
        if ours and isinstance(logger, logging.Logger):
            yield logger
