"""`${VAR}` and `${VAR:-default}` in the texts of a settings file."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..errors import Problem
from ..redaction import Expanded, Redactor
from ..yaml_source import Document, Loc
from .secret_places import SCHEME, is_public, is_secret, secrets_in

_REFERENCE = re.compile(
    r"\$(?:(?P<dollar>\$)|\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>[^}]*))?\}|(?P<bad>\{))"
)


@dataclass
class Expansion:
    """What came of filling in the variables.

    `missing` says, by the path of a text, which variable it lacks: the text itself is left out of the
    data. `variables` are the names that a text was made from. `secrets` are for the redactor.
    """

    missing: dict[Loc, str] = field(default_factory=dict)
    variables: dict[Loc, tuple[str, ...]] = field(default_factory=dict)
    secrets: list[str] = field(default_factory=list, repr=False)
    problems: list[Problem] = field(default_factory=list)


_LEFT_OUT = object()


def fill_in(
    document: Document,
    command_line: Document,
    environ: Mapping[str, str],
    public: Iterable[str] = (),
) -> tuple[Expansion, tuple[str, ...]]:
    """Fill in the variables of a file. Also gives all secrets, of the command line's values too.

    They are known from here on, so messages of both documents leave them out. `public` are names of variables
    and query parameters that are not secret, beside those in `results.public` of the file itself.
    """
    known = frozenset((*public, *_declared_public(document.value), *_declared_public(command_line.value)))
    expansion = expand(document, environ, known)
    given = secrets_in(document.value, (), known) + secrets_in(command_line.value, (), known)
    # The others first: what is a secret anyway was masked by earlier releases, too.
    secrets = tuple(dict.fromkeys(sorted(expansion.secrets + given, key=lambda one: type(one) is Expanded)))
    document.mask = command_line.mask = Redactor(secrets, environ={}).text
    return expansion, secrets


def _declared_public(data: Any) -> list[str]:
    """`results.public`, needed before anything is checked: messages of the check leave secrets out."""
    results = data.get("results") if isinstance(data, Mapping) else None
    names = results.get("public") if isinstance(results, Mapping) else None
    return [name for name in names if isinstance(name, str)] if isinstance(names, (list, tuple)) else []


def expand(document: Document, environ: Mapping[str, str], public: Collection[str] = ()) -> Expansion:
    """Fill in the variables of a document's texts, in place; keys are left as they are.

    What is filled in is a secret, unless the variable is one of `public` or the field is public. An empty
    result counts as not set: that is how CI systems hand over a secret that isn't there.
    """
    walker = _Walker(document, environ, public)
    filled = walker.value(document.value, ())
    document.value = filled if isinstance(filled, dict) else {}
    return walker.expansion


class _Walker:
    def __init__(self, document: Document, environ: Mapping[str, str], public: Collection[str]) -> None:
        self._document = document
        self._environ = environ
        self._public = public
        self.expansion = Expansion()

    def value(self, value: Any, path: Loc) -> Any:
        if isinstance(value, dict):
            return self._present({key: self.value(item, (*path, key)) for key, item in value.items()})
        if isinstance(value, list):
            items = [self.value(item, (*path, index)) for index, item in enumerate(value)]
            return [item for item in items if item is not _LEFT_OUT]
        return self._text(value, path) if isinstance(value, str) and "$" in value else value

    @staticmethod
    def _present(filled: dict[Any, Any]) -> dict[Any, Any]:
        return {key: item for key, item in filled.items() if item is not _LEFT_OUT}

    def _text(self, text: str, path: Loc) -> Any:
        names: list[str] = []
        result = _REFERENCE.sub(lambda match: self._reference(match, path, names), text)
        if names:
            self.expansion.variables[path] = tuple(names)
        # An empty key would be sent; one that isn't there is asked for in our own words.
        if path in self.expansion.missing or (names and not result):
            return _LEFT_OUT
        if names and is_secret(path):
            # The token alone too: servers quote it without the word before it.
            self.expansion.secrets += [result, *SCHEME.findall(result)]
        return result

    def _reference(self, match: re.Match[str], path: Loc, names: list[str]) -> str:
        if match["dollar"]:
            return "$"
        if match["bad"]:
            message = "`${` begins no variable; write ${NAME}, ${NAME:-default}, or $${ for the characters"
            self.expansion.problems.append(self._document.problem(path, message))
            return match[0]
        names.append(match["name"])
        return self._lookup(match["name"], match["default"], path)

    def _lookup(self, name: str, default: str | None, path: Loc) -> str:
        value = self._environ.get(name)
        if value:
            self._learn(name, value, path)
        if default is not None:
            return value or default
        if value is None:
            self.expansion.missing.setdefault(
                path,
                # Not with this name: what follows `KEY:` in a text looks like a key, and would be masked.
                f"the environment variable {name} is not set; set it, or give a default: ${{NAME:-default}}",
            )
            return ""
        return value

    def _learn(self, name: str, value: str, path: Loc) -> None:
        if is_secret(path):
            self.expansion.secrets.append(value)
        elif name not in self._public and not is_public(path):
            self.expansion.secrets.append(Expanded(value))


def describe_missing(document: Document, path: Loc, message: str) -> str:
    """The same words in one line, with the place, for a problem that is reported later."""
    return str(replace(document.problem(path, message), source_line=""))
