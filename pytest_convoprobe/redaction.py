"""Takes secrets out of whatever is about to be shown, logged or written.

What counts as a secret:

* the values that the settings name (`api_key`, headers, anything called token, secret or
  password, what a variable was filled in with, the values of a URL's query) when they have six characters
  or more. They are found as they are, in upper and in lower case, with line breaks in them, and as
  others write them (`escapes.py`): in JSON, URLs, HTML, Python's `repr`, base64 (Basic auth);
* environment variables whose name ends in KEY, TOKEN, SECRET, PASSWORD and the like, when
  the value has eight characters or more and doesn't look like a plain word or an existing path;
* text of a known shape: `sk-…`, `Bearer …`, `Basic …`, `AKIA…`, `ghp_…`, `AIza…`, JSON web tokens,
  private keys, the password in a URL;
* any value in a key position: `{"api_key": "test"}` as data, `api_key=test` or
  `"password": "test"` as text. This is the only place where a shorter secret, or a usual
  placeholder such as `ollama` or `not-needed`, is masked: elsewhere it may be an ordinary word.

A secret made of asterisks is not looked for, since it looks like the mask.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from .errors import ConvoprobeError
from .escapes import expressions_of

MASK = "****"

T = TypeVar("T")

_MIN_SECRET = 6
_MIN_ENVIRONMENT = 8
_MIN_LINE = 16
_MAX_DEPTH = 64
_MOST_KEYS, _LONGEST_KEY = 1024, 64

_PLACEHOLDERS = frozenset(
    "anything anthropic api-key apikey changeme customer default developer development disabled dummy-key "
    "enabled english fake-key foobar french german letmein lm-studio local-key localhost "
    "message no-key no-key-needed not-needed not-set not-used notneeded notused ollama openai optional "
    "password placeholder preview production release required sandbox secret server session spanish staging "
    "string support testing unused your-api-key".split()
)

# The end of a line and the begin of the next: with an indent, or as a stream of events writes its lines. The
# numbers keep the search short in a text that is mostly spaces.
_BREAKS = re.compile(r"(?:[ \t\r]{0,40}\n[ \t]{0,40}(?:data:[ \t]?)?){1,3}")

_SECRET_NAME = re.compile(
    r"(?:^|_)(?:api_?key|access_?key|secret_?key|private_?key|signing_?key|authorization|auth|"
    r"password|passwd|passphrase|secret|token|jwt|cookie|credentials?)$"
)
_ENVIRONMENT_NAME = re.compile(r"(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?|_PAT|_DSN)$")
_ALWAYS_SECRET_NAME = re.compile(r"(?:SECRET|PASSWORD|PASSWD|PASSPHRASE)$")
_PLAIN_WORDS = re.compile(r"[a-z]+(?:[ ._-][a-z]+)*|[A-Z]+(?:[ ._-][A-Z]+)*")

# Names that no prose uses: what follows them after a colon or an equals sign is a secret. The others
# are words of everyday language and need quotes (JSON) or an equals sign without spaces.
_TECHNICAL = r"(?:api[_-]?key|access[_-](?:key|token)|auth[_-]token|client[_-]secret|secret[_-]key)"
_EVERYDAY = r"(?:authorization|password|passwd|passphrase|secret|token|cookie)"
_ASSIGNED = rf"(?=[aAcCpPsStT])(?i:{_TECHNICAL}\s?[:=]\s?|{_EVERYDAY}=)"
# After a colon and a space may also come a sentence about the key: `llm.api_key: the environment variable X
# is not set`. Its first word is a short plain one, and another word follows.
_NO_SENTENCE = r"(?:(?<!:\s)|(?![^\W\d_](?:[a-zß-ÿ'-]{0,14})[,.]?[ \t]+[^\W\d_]))"
_UNTIL_QUOTE = r"(?:(?!(?<!\\)(?P={0})).)+"

_SHORTEST_SHAPE = 6
"""Characters of the shortest text that one of these matches: `?key=1`, `://:p@`."""

# Shapes of secrets by what a text must contain, in small letters, before the expression is worth a
# try: looking for these words first is some fifty times faster, and most text has none of them.
# The group `keep` stays, the rest of a match is masked.
_SHAPES: tuple[tuple[tuple[str, ...], re.Pattern[str]], ...] = (
    (
        ("key", "token", "secret", "passw", "passphrase", "authorization", "cookie"),
        re.compile(
            rf"(?P<keep>(?=[aAcCpPsStT])(?i:{_TECHNICAL}|{_EVERYDAY})(?P<q>\\*[\"'])\s*:\s*(?P=q))"
            rf"(?!\$\{{){_UNTIL_QUOTE.format('q')}"
            rf"|(?P<keep_quoted>{_ASSIGNED}(?P<r>[\"']))(?!\$\{{){_UNTIL_QUOTE.format('r')}"
            rf"|(?P<keep_bare>{_ASSIGNED}){_NO_SENTENCE}(?!(?:str|string|None|null)\b|\$\{{)[^\s\"'&,;)}}\]\\]+"
            r"|(?P<keep_query>[?&]key=)[^\s\"'&#]+",
            re.DOTALL,
        ),
    ),
    (("bearer ",), re.compile(r"(?P<keep>\b(?i:Bearer)\s+)(?=\S*\d|\S{20})[\w.~+/=-]{6,}")),
    (("basic ",), re.compile(r"(?P<keep>\b(?i:Basic)\s+)(?=\S*[\d=])[A-Za-z0-9+/]{6,}={0,2}")),
    (("://",), re.compile(r"(?P<keep>://[^\s/:@\"']*:)[^\s/@\"']+(?=@)")),
    (("signature=", "sig="), re.compile(r"(?P<keep>[?&](?i:X-Amz-Signature|signature|sig)=)[^\s\"'&#]+")),
    (("sk-",), re.compile(r"(?<![A-Za-z0-9])sk-(?=[\w-]{0,60}[\dA-Z])[\w-]{12,}")),
    (("akia", "asia"), re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b")),
    (("aiza",), re.compile(r"(?<![\w-])AIza[\w-]{30,}")),
    (("eyj",), re.compile(r"(?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*")),
    (("xox",), re.compile(r"(?<![\w-])xox[abeoprs]-[\w-]{10,}")),
    (
        ("gh", "glpat-", "hf_", "gsk_", "xai-", "pplx-", "npm_", "pypi-"),
        re.compile(r"(?<![\w-])(?:gh[pousr]_|github_pat_|glpat-|hf_|gsk_|xai-|pplx-|npm_|pypi-)[\w-]{20,}"),
    ),
    (
        ("-----begin",),
        re.compile(
            r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?:(?!-----END).)*(?:-----END [A-Z ]*PRIVATE KEY-----)?",
            re.DOTALL,
        ),
    ),
)


@lru_cache(maxsize=1024)
def is_secret_name(name: str) -> bool:
    """Whether a value under this key is a secret: `api_key`, `X-Auth-Token`, `clientSecret`…

    `max_tokens` and `input_cost_per_token` are not.
    """
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.strip()).lower()
    words = re.sub(r"[^a-z0-9]+", "_", words)
    return bool(_SECRET_NAME.search(words)) and not words.endswith("per_token")


class Expanded(str):
    """A secret for no other reason than that it is the value of a variable.

    Releases before this one did not mask it: their recordings have it in what requests are recognised by.
    """


class Redactor:
    """Masks secrets in text and data; made once for a run and used on everything that leaves it.

    `environ` is where values that look like keys are taken from, `os.environ` by default.
    """

    def __init__(self, secrets: Iterable[str] = (), *, environ: Mapping[str, str] | None = None) -> None:
        self._secrets: frozenset[str] = frozenset()
        self._known: re.Pattern[str] | None = None
        self._broken: tuple[frozenset[str], re.Pattern[str]] | None = None
        self._keys: dict[str, str] = {}
        self.learn((*secrets, *_environment_secrets(os.environ if environ is None else environ)))

    def learn(self, secrets: Iterable[str]) -> None:
        """Mask these from now on, too: keys that come up in the middle of a run."""
        every = (*self._secrets, *(secret for secret in secrets if is_worth_masking(secret)))
        # The first of two equal ones stays: what is a secret for another reason too is not just `Expanded`.
        found = frozenset(sorted(every, key=lambda secret: isinstance(secret, Expanded)))
        if found == self._secrets:
            return
        wholes = {whole for secret in found for whole in _wholes(secret)}
        # The longest first, so that a secret which begins like another is masked as a whole.
        ordered = sorted(wholes, key=lambda whole: (-len(whole), whole))
        forms = dict.fromkeys(form for whole in ordered for form in expressions_of(whole))
        self._secrets, self._known = found, re.compile("|".join(forms))
        self._keys = {}

    @property
    def problem(self) -> ConvoprobeError | None:
        """Why texts are withheld; None as long as all could be masked."""
        return None

    def earlier(self) -> tuple[Redactor, ...]:
        """What masked less, and may have masked the requests of a recording: settings and releases change.

        Releases once did not take the value of every variable for a secret.
        """
        known = (secret for secret in self._secrets if not isinstance(secret, Expanded))
        return (Redactor(known, environ={}),)

    def meet(self, value: object) -> None:
        """Take in what a conversation will be about: placeholders are numbered in the order of its texts."""

    def personal(self, value: T) -> T:
        """A copy of a value without personal data, and with its secrets."""
        return value

    def restored(self, value: T) -> T:
        """A copy of a value with what the known placeholders for personal data are for."""
        return value

    def text(self, text: str) -> str:
        """The text with every secret replaced by `****`."""
        if self._known is not None:
            text = self._known.sub(MASK, text)
            if "\n" in text:
                text = self._without_broken(text)
        if len(text) < _SHORTEST_SHAPE:
            return text
        lowered = text.lower()
        for hints, shape in _SHAPES:
            for hint in hints:  # plain loops: every text and every key of a run comes through here
                if hint in lowered:
                    text = shape.sub(_keep_and_mask, text)
                    break
        return text

    def _without_broken(self, text: str) -> str:
        """The text without secrets that are divided among lines, as a stream or a narrow display does it."""
        # Another thread may have learned more in the meantime.
        joined, secrets, broken = _BREAKS.sub("", text), self._secrets, self._broken
        if not any(secret.strip() in joined for secret in secrets):
            return text
        if broken is None or broken[0] is not secrets:
            ordered = sorted(secrets, key=lambda secret: (-len(secret), secret))
            between = f"(?:{_BREAKS.pattern})?"
            every = "|".join(between.join(map(re.escape, secret.strip())) for secret in ordered)
            broken = self._broken = secrets, re.compile(every)
        return broken[1].sub(MASK, text)

    def data(self, value: Any) -> Any:
        """A copy of JSON-like data (mappings, lists, tuples, sets, text) without secrets.

        Values under a key such as `authorization` or `password` are masked whatever they are;
        objects of other types are handed back as they came.
        """
        return self._data(value, 0)

    def record(self, value: T) -> T:
        """A copy of a frozen dataclass, and of all that it contains, without secrets."""
        masked: T = self._record(value)
        return masked

    def _record(self, value: Any) -> Any:
        if isinstance(value, Enum):
            return value  # one that is text too would lose its type
        if isinstance(value, tuple):
            return tuple(map(self._record, value))
        if not is_dataclass(value) or isinstance(value, type):
            return self.data(value)
        return replace(
            value, **{part.name: self._record(getattr(value, part.name)) for part in fields(value)}
        )

    def _data(self, value: Any, depth: int) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, bytes):
            return self.text(value.decode("utf-8", "backslashreplace"))
        if value is None or isinstance(value, (bool, int, float)):
            return value
        if not isinstance(value, (Mapping, list, tuple, Set)):
            return MASK if hasattr(value, "get_secret_value") else value
        if depth >= _MAX_DEPTH:
            return self.text(repr(value))
        if isinstance(value, Mapping):
            return {self._key(key): self._entry(key, item, depth) for key, item in value.items()}
        items = [self._data(item, depth + 1) for item in value]
        return items if isinstance(value, list) else tuple(items)

    def _key(self, key: Any) -> Any:
        if not isinstance(key, str):
            return key
        known, keys = self._keys.get(key), self._keys
        if known is None:
            # Two thirds of all texts are keys, and nearly always the same ones.
            known = self.text(key)
            if len(keys) < _MOST_KEYS and len(key) <= _LONGEST_KEY:
                keys[key] = known
        return known

    def _entry(self, key: Any, item: Any, depth: int) -> Any:
        if isinstance(key, str) and is_secret_name(key):
            return _mask_leaves(item, depth)
        return self._data(item, depth + 1)


def is_worth_masking(secret: str) -> bool:
    """Whether the secret can be looked for everywhere without hitting ordinary words."""
    bare = secret.strip()
    return len(bare) >= _MIN_SECRET and bare.lower() not in _PLACEHOLDERS and bool(bare.strip("*"))


def is_plain(text: str) -> bool:
    """Whether the text is short and made of words only: `order-support`, `staging`."""
    return len(text) < 24 and bool(_PLAIN_WORDS.fullmatch(text))


def _mask_leaves(value: Any, depth: int) -> Any:
    """The value of a secret key: the shape stays, every value goes."""
    if value is None or isinstance(value, bool) or value == "":
        return value
    if depth < _MAX_DEPTH and isinstance(value, Mapping):
        return {key: _mask_leaves(item, depth + 1) for key, item in value.items()}
    if depth < _MAX_DEPTH and isinstance(value, (list, tuple)):
        return type(value)([_mask_leaves(item, depth + 1) for item in value])
    return MASK


def _keep_and_mask(match: re.Match[str]) -> str:
    kept = (text for name, text in match.groupdict().items() if name.startswith("keep") and text)
    return next(kept, "") + MASK


def _environment_secrets(environ: Mapping[str, str]) -> Iterator[str]:
    for name, value in environ.items():
        upper = name.upper()
        if len(value) < _MIN_ENVIRONMENT or not _ENVIRONMENT_NAME.search(upper):
            continue
        if is_worth_masking(value) and not _looks_harmless(upper, value):
            yield value


def _looks_harmless(name: str, value: str) -> bool:
    """`SORT_KEY=created_at` and `TLS_KEY=/etc/tls/key.pem` contain no secret; `DB_PASSWORD` always does."""
    if _ALWAYS_SECRET_NAME.search(name):
        return False
    if value[0] in "/~." and len(value) < 500 and _exists(value):
        return True
    return is_plain(value)


def _exists(path: str) -> bool:
    try:
        return Path(path).exists()
    except (OSError, ValueError):
        return False


def _wholes(secret: str) -> set[str]:
    """What is looked for: the secret, its long lines, and both in upper and in lower case."""
    bare = secret.strip()
    lines = [line.strip() for line in bare.splitlines()]
    wholes = {bare, *(line for line in lines if len(line) >= _MIN_LINE)}
    if len(lines) > 1:
        return wholes
    # Servers and frameworks that echo a header or a name may change its case.
    return wholes | {changed for whole in wholes for changed in (whole.upper(), whole.lower())}
