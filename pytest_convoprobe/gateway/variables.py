"""The environment variables by which agents in this process find the gateway."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager

from ..project_code.agent_environment import agent_environment, own_variable
from .paths import VARIABLES

_LOOPBACK = ("127.0.0.1", "localhost")


def variables_of(url: str, upstreams: Iterable[str]) -> dict[str, str]:
    """What the clients of these upstreams' protocols have to find in the environment to call `url`."""
    found = {variable: url for name in upstreams for variable in VARIABLES[name]}
    # Only where it matters: with a proxy, a client would look for our loopback address there.
    proxied = any(own_variable(name) for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"))
    return found | {name: _with_loopback(name) for name in ("no_proxy", "NO_PROXY") if proxied}


def _with_loopback(name: str) -> str:
    known = own_variable(name) or ""
    hosts = [host.strip() for host in known.split(",") if host.strip()]
    return known if "*" in hosts else ",".join(dict.fromkeys((*hosts, *_LOOPBACK)))


class AgentVariables:
    """Sets the variables of an address while somebody needs them. Used from any thread."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._lock = threading.Lock()
        self._needed: Counter[str] = Counter()
        self._set: dict[str, ExitStack] = {}

    @contextmanager
    def needed(self, upstreams: Iterable[str]) -> Iterator[None]:
        """A time in which those of these upstreams are set. Of several such times, the last one ends it."""
        names = tuple(dict.fromkeys(upstreams))
        with self._lock:
            for name in names:
                self._begin(name)
        try:
            yield
        finally:
            with self._lock:
                for name in names:
                    self._end(name)

    def _begin(self, name: str) -> None:
        self._needed[name] += 1
        if name not in self._set:
            self._set[name] = ExitStack()
            self._set[name].enter_context(agent_environment(variables_of(self._url, (name,))))

    def _end(self, name: str) -> None:
        self._needed[name] -= 1
        if not self._needed[name]:
            self._set.pop(name).close()
