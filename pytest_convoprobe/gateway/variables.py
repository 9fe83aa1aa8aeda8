"""The environment variables by which agents in this process find the gateway."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager

from ..project_code.agent_environment import agent_environment, own_variable
from .paths import KEYS, VARIABLES

_LOOPBACK = ("127.0.0.1", "localhost")

NO_KEY = "convoprobe-replays-without-a-key"
"""What clients find in place of a key. Providers refuse it, and no refusal of a key is recorded."""


def variables_of(url: str, upstreams: Iterable[str]) -> dict[str, str]:
    """What the clients of these upstreams' protocols have to find in the environment to call `url`."""
    found = {variable: url for name in upstreams for variable in VARIABLES[name]}
    # Only where it matters: with a proxy, a client would look for our loopback address there.
    proxied = any(own_variable(name) for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"))
    return found | {name: _with_loopback(name) for name in ("no_proxy", "NO_PROXY") if proxied}


def key_of(upstream: str) -> dict[str, str]:
    """A key that no provider accepts, where there is none: most clients can't be made without one.

    An empty one counts as none: CI systems give secrets like that to those who may not have them.
    """
    name = KEYS[upstream]
    return {} if own_variable(name) else {name: NO_KEY}


def _with_loopback(name: str) -> str:
    known = own_variable(name) or ""
    hosts = [host.strip() for host in known.split(",") if host.strip()]
    return known if "*" in hosts else ",".join(dict.fromkeys((*hosts, *_LOOPBACK)))


class AgentVariables:
    """Sets the variables of an address while somebody needs them. Used from any thread."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._lock = threading.Lock()
        self._needed: Counter[tuple[str, bool]] = Counter()
        self._set: dict[tuple[str, bool], ExitStack] = {}

    @contextmanager
    def needed(self, upstreams: Iterable[str], *, keyless: bool = False) -> Iterator[None]:
        """A time in which those of these upstreams are set. Of several such times, the last one ends it."""
        names = tuple(dict.fromkeys(upstreams))
        wanted = [*((name, False) for name in names), *((name, True) for name in names if keyless)]
        with self._lock:
            for one in wanted:
                self._begin(*one)
        try:
            yield
        finally:
            with self._lock:
                for one in wanted:
                    self._end(*one)

    def _begin(self, name: str, is_key: bool) -> None:
        self._needed[name, is_key] += 1
        if (name, is_key) not in self._set:
            stack = self._set[name, is_key] = ExitStack()
            values = key_of(name) if is_key else variables_of(self._url, (name,))
            stack.enter_context(agent_environment(values))

    def _end(self, name: str, is_key: bool) -> None:
        self._needed[name, is_key] -= 1
        if not self._needed[name, is_key]:
            self._set.pop((name, is_key)).close()
