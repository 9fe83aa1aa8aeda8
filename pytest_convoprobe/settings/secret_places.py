"""Which places of settings contain secrets, and the secrets that are there."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import unquote_plus, urlsplit

from pydantic import BaseModel, SecretStr

from ..redaction import is_plain, is_secret_name
from ..yaml_source import Loc

_HEADERS = frozenset(("extra_headers", "headers"))
# They describe a request and contain no secret; their values occur in many ordinary texts.
_PUBLIC_HEADERS = frozenset(
    "accept accept-charset accept-encoding accept-language cache-control connection content-encoding "
    "content-language content-type date host origin pragma prefer referer te user-agent".split()
)
PUBLIC_FIELDS = frozenset(
    "agreement context id method model name object panel provider reasoning source structured_output thread "
    "tools type".split()
)
"""Fields that name something which reports have to show: a variable in one of them is not a secret."""

# Of the settings, and of a benchmark's configuration.
_PUBLIC_SECTIONS = frozenset(("run", "gate", "results", "generation", "evaluation", "demographics"))
_OF_OTHERS = frozenset(("body", "extra_params", "env", *_HEADERS))
_SERVERS = frozenset(("mcp_servers", "mcp_server"))
_PUBLIC_QUERY = frozenset(("api-version",))  # Azure's: a date
_TEMPLATE = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)
_URL = re.compile(r"[A-Za-z][\w+.-]*://[^\s?#]*(?P<query>[?#]\S*)?")

SCHEME = re.compile(r"(?:Bearer|Basic|Token|ApiKey)\s+(\S+)", re.IGNORECASE)
"""The token behind the name of its kind, as `Authorization` has it."""


def secrets_in(data: Any, path: Loc = (), public: Collection[str] = ()) -> list[str]:
    """The texts in secret positions, with the token of `Bearer …` and the secrets of a URL apart.

    A header's value is one whatever the header's name, unless it says nothing but a plain word. `public` are
    names of query parameters whose values are not secret.
    """
    if isinstance(data, Mapping):
        pairs = ((str(key), item) for key, item in data.items())
        return [secret for key, item in pairs for secret in secrets_in(item, (*path, key), public)]
    if isinstance(data, (list, tuple)):
        if path[-1:] == ("args",):
            return list(_argument_secrets(data, public))
        return [
            secret for index, item in enumerate(data) for secret in secrets_in(item, (*path, index), public)
        ]
    if not isinstance(data, str):
        return [str(data)] if _named_secret(path) and type(data) in (int, float) else []
    if _named_secret(path) or (_is_header(path) and not is_plain(data)):
        return [data, *SCHEME.findall(data)]
    return list(_url_secrets(data, public))


def _argument_secrets(arguments: Sequence[Any], public: Collection[str]) -> Iterator[str]:
    """The secrets on a command line: `--api-key KEY`, `--api-key=KEY`, and those of addresses."""
    before = ""
    for argument in map(str, arguments):
        name, sign, value = argument.partition("=")
        if sign and is_secret_name(name):
            yield value
        elif before.startswith("-") and is_secret_name(before) and not argument.startswith("-"):
            yield argument
        else:
            yield from _url_secrets(argument, public)
        before = argument


def secrets_of(section: BaseModel) -> list[str]:
    """The same of settings that were made in the middle of a run: by a hook, or for one call."""
    return secrets_in(_unwrapped(section.model_dump(exclude_unset=True)))


def _unwrapped(value: Any) -> Any:
    if isinstance(value, SecretStr):
        return value.get_secret_value()
    if isinstance(value, Mapping):
        return {key: _unwrapped(item) for key, item in value.items()}
    return [_unwrapped(item) for item in value] if isinstance(value, (list, tuple)) else value


def is_secret(path: Loc) -> bool:
    """Whether a value at this path is shown to nobody: keys, tokens, passwords, all headers."""
    return _named_secret(path) or _is_header(path)


def is_public(path: Loc) -> bool:
    """Whether a value at this path is shown to everybody even if it comes from a variable."""
    names = [part for part in _without_name(path) if isinstance(part, str)]
    if not names or _OF_OTHERS.intersection(names):
        return False
    return names[0] in _PUBLIC_SECTIONS or names[-1] in PUBLIC_FIELDS


def _is_header(path: Loc) -> bool:
    path = _without_name(path)
    below_headers = any(part in _HEADERS for part in path[:-1])
    if "env" in path[:-1] and _SERVERS.intersection(map(str, path)):
        return True  # the variables of a process are how it gets its keys
    return below_headers and str(path[-1]).lower() not in _PUBLIC_HEADERS


def _named_secret(path: Loc) -> bool:
    path = _without_name(path)
    return any(
        isinstance(part, str) and is_secret_name(part) for part in (*path, "".join(map(str, path[-1:])))
    )


def _without_name(path: Loc) -> Loc:
    """The way to a value in one of several targets: what that is called says nothing of what is in it."""
    return ("target", *path[2:]) if path[:1] == ("targets",) else path


def _url_secrets(text: str, public: Collection[str]) -> Iterator[str]:
    """The password of a URL, or the user's name where that is all, and the values of its query.

    The templates of an address are no part of a value.
    """
    plain = _TEMPLATE.sub("\0", text.strip())
    if "://" not in plain or not (found := _URL.fullmatch(plain)):
        return
    for value in (_user_secret(plain), *_query_values(found["query"] or "", public)):
        for piece in value.split("\0"):
            yield from {piece, unquote_plus(piece)} - {""}


def _user_secret(url: str) -> str:
    try:
        parts = urlsplit(url)
        return parts.password or parts.username or ""
    except ValueError:
        return ""


def _query_values(query: str, public: Collection[str]) -> Iterator[str]:
    for pair in re.split("[?&;#]", query):
        name, separator, value = pair.partition("=")
        if unquote_plus(name) not in {*public, *_PUBLIC_QUERY}:
            yield value if separator else name
