"""How servers are reached: trusted certificates and proxies, as the environment names them; and no further.

The variables are those that LiteLLM honours, so a change of the lane changes nothing.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import ssl
from functools import lru_cache
from urllib.parse import urljoin, urlsplit
from urllib.request import getproxies, proxy_bypass

from ..cutting import most_bytes
from ..formatting import size

_NO = frozenset(("0", "false", "no", "off", "n", "f"))
# The algorithms, DEFAULT@SECLEVEL=1 for example, and the curve of the exchange of keys.
_LEVEL, _CURVE = "SSL_SECURITY_LEVEL", "SSL_ECDH_CURVE"


class UnusableEnvironment(OSError):
    """A variable about proxies or certificates that no connection can be made with."""


def trust() -> ssl.SSLContext | bool:
    """How a server's certificate is checked; False if `SSL_VERIFY` says that it isn't.

    `SSL_VERIFY` or `SSL_CERT_FILE` may name a file of certificate authorities. Raises `UnusableEnvironment`
    for a file that isn't one.
    """
    verify = os.environ.get("SSL_VERIFY", "")
    if verify.strip().lower() in _NO:
        return False
    named = (verify, os.environ.get("SSL_CERT_FILE", ""))
    file = next((name for name in named if name and os.path.exists(name)), None)
    others = tuple(os.environ.get(name, "") for name in (_LEVEL, _CURVE, "SSL_CERTIFICATE"))
    try:
        return _context(file or _usual_authorities(), *others)
    except OSError as error:
        reason = str(error)
    names = f"SSL_VERIFY, SSL_CERT_FILE, SSL_CERTIFICATE or {_LEVEL}"
    raise UnusableEnvironment(f"what one of the variables {names} has for TLS cannot be used: {reason}")


@lru_cache(maxsize=4)
def _context(file: str | None, level: str, curve: str, own_certificate: str) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=file)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if level:
        context.set_ciphers(level)
    if curve:
        with contextlib.suppress(ValueError):  # a name that OpenSSL doesn't know: as if it were not set
            context.set_ecdh_curve(curve)
    if own_certificate and os.path.exists(own_certificate):
        context.load_cert_chain(own_certificate)
    return context


def _usual_authorities() -> str | None:
    """The file of the package that LiteLLM takes; None for those of the system."""
    try:
        return str(importlib.import_module("certifi").where())
    except ImportError:
        return None


def proxy_for(address: str) -> str | None:
    """The proxy of an address by `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`; None for none.

    Raises `UnusableEnvironment` for one that isn't an address.
    """
    parts = urlsplit(address)
    if parts.hostname is None or proxy_bypass(parts.netloc.rpartition("@")[2]):
        return None
    proxies = getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if not proxy:
        return None
    return _checked(proxy if "://" in proxy else f"http://{proxy}")


def _checked(proxy: str) -> str:
    try:
        parts = urlsplit(proxy)
        if parts.hostname and parts.port != 0:
            return proxy
    except ValueError:
        pass
    # Not the address itself: there may be a password in it.
    raise UnusableEnvironment("the proxy in HTTP_PROXY, HTTPS_PROXY or ALL_PROXY is not an address")


def too_large(most_text: int) -> str:
    """Why a server's answer was not read to its end, in words that follow the model's name."""
    allowed = f"the most that is read with `run.max_text: {most_text}`"
    return f"sent an answer of more than {size(most_bytes(most_text))}, {allowed}"


def redirected(host: str) -> str:
    """Why a redirect to another host was not followed, in words that follow the model's name."""
    return (
        f"redirects to another host ({host}), which is not followed: it would take the conversation and the "
        "key along. If that host is right, set it in `api_base`"
    )


def other_host(address: str, location: str) -> str:
    """The scheme, host and port that a redirect leads to, if they are others; nothing that may be secret."""
    try:
        here, there = _origin(address), _origin(urljoin(address, location))
    except ValueError:
        return "an address that can't be read"
    port = "" if there[2] is None else f":{there[2]}"
    return "" if here == there else f"{there[0]}://{there[1]}{port}"


def _origin(address: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(address)
    return parts.scheme, parts.hostname, parts.port
