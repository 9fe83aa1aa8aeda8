"""Which places of settings contain secrets, and the secrets that are there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from pydantic import BaseModel, SecretStr

from ..redaction import is_plain, is_secret_name
from ..yaml_source import Loc

_HEADERS = frozenset(("extra_headers", "headers"))
# They describe a request and contain no secret; their values occur in many ordinary texts.
_PUBLIC_HEADERS = frozenset(
    "accept accept-charset accept-encoding accept-language cache-control connection content-encoding "
    "content-language content-type date host origin pragma prefer referer te user-agent".split()
)
SCHEME = re.compile(r"(?:Bearer|Basic|Token|ApiKey)\s+(\S+)", re.IGNORECASE)
"""The token behind the name of its kind, as `Authorization` has it."""


def secrets_in(data: Any, path: Loc = ()) -> list[str]:
    """The texts in secret positions, with the token of `Bearer …` and the password of a URL apart.

    A header's value is one whatever the header's name, unless it says nothing but a plain word.
    """
    if isinstance(data, Mapping):
        return [secret for key, item in data.items() for secret in secrets_in(item, (*path, str(key)))]
    if isinstance(data, (list, tuple)):
        return [secret for index, item in enumerate(data) for secret in secrets_in(item, (*path, index))]
    if not isinstance(data, str):
        return [str(data)] if _named_secret(path) and type(data) in (int, float) else []
    if _named_secret(path) or (_is_header(path) and not is_plain(data)):
        return [data, *SCHEME.findall(data)]
    return [password] if (password := _url_password(data)) else []


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


def _is_header(path: Loc) -> bool:
    below_headers = any(part in _HEADERS for part in path[:-1])
    return below_headers and str(path[-1]).lower() not in _PUBLIC_HEADERS


def _named_secret(path: Loc) -> bool:
    return any(
        isinstance(part, str) and is_secret_name(part) for part in (*path, "".join(map(str, path[-1:])))
    )


def _url_password(text: str) -> str | None:
    try:
        return urlsplit(text).password if "://" in text and "@" in text else None
    except ValueError:
        return None
