"""Placeholders for personal data: `[email 1]`, the same one wherever a conversation has the same address.

A conversation is masked as it leaves the process: for the store, the recording, reports, and the judge. The
placeholders are numbered in the order in which a conversation has what they are for. So the judge can still
compare, and a replay, which sees the same texts in the same order, has the same ones.
"""

from __future__ import annotations

import re
import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import Enum
from typing import Any, TypeVar

from .errors import ConvoprobeError, SettingsError
from .formatting import exact_seconds
from .personal_patterns import Pattern
from .redaction import Redactor
from .timed_patterns import without_an_end

T = TypeVar("T")

WITHHELD = "(not shown, since personal data in it could not be masked)"

_HOOK = "pytest_convoprobe_mask"
_HOOK_SECONDS = 5.0
# Shorter numbers are counts and times, which reports need as numbers.
_LEAST_NUMBER = 10**8

MaskText = Callable[[str], "str | None"]
"""The project's own masking of a text; None leaves it as it is."""


@dataclass(frozen=True)
class Masking:
    """What to mask in a conversation. `place` is where the settings name the patterns."""

    patterns: tuple[Pattern, ...] = ()
    own: MaskText | None = None
    place: str = ""

    def redactor(self, secrets: Redactor) -> Redactor:
        """A redactor for one conversation, which masks the secrets too."""
        if not self.patterns and self.own is None:
            return secrets
        return PersonalRedactor(secrets, Pseudonyms(self))

    def anonymous(self, text: str) -> str:
        """A text that belongs to no conversation: what is found in it gets a placeholder without a number."""
        return Pseudonyms(self, numbered=False).mask(text)


class Pseudonyms:
    """The placeholders of one conversation.

    `problem` is set once a pattern takes too long or the project's own function fails. From then on no text
    is let through: one that nobody has looked at may have anything in it.
    """

    def __init__(self, masking: Masking, *, numbered: bool = True) -> None:
        self._numbered = numbered
        self.problem: ConvoprobeError | None = None
        self._masking = masking
        names = "|".join(re.escape(pattern.name) for pattern in masking.patterns) or "(?!)"
        self.any_number = re.compile(rf"\[({names}) (\d+)\]")
        self._numbers: dict[tuple[str, str], int] = {}
        self._originals: dict[str, str] = {}
        self._highest: Counter[str] = Counter()
        # The judge gets the same texts as the report, and what is masked is masked again when it is stored.
        self._masked: dict[str, str] = {}
        self._by_hook: dict[str, str] = {}

    def mask(self, text: str) -> str:
        """The text with placeholders. What was masked before stays as it is."""
        if not text or text in self._masked:
            return self._masked.get(text, text)
        if self.problem is None:
            try:
                masked = self.by_patterns(self._by_project(text))
                self._masked[text] = self._masked[masked] = masked
                return masked
            except ConvoprobeError as error:
                self.problem = error
        return WITHHELD

    def meet(self, text: str) -> str:
        """Give numbers to what is in a text; the text itself stays."""
        try:
            self.by_patterns(text)
        except ConvoprobeError as error:
            self.problem = error
        return text

    def by_patterns(self, text: str) -> str:
        """The text without what the patterns find. Raises `SettingsError` if that takes too long."""
        self._reserve(text)
        parts, end = [], 0
        for begin, stop, pattern in self._found(text):
            parts += [text[end:begin], self._placeholder(pattern, text[begin:stop])]
            end = stop
        return "".join((*parts, text[end:])) if parts else text

    def restore(self, text: str) -> str:
        """The text with the values of those placeholders that this conversation knows."""
        self._reserve(text)
        return self.any_number.sub(lambda found: self._originals.get(found[0], found[0]), text)

    def _found(self, text: str) -> Iterator[tuple[int, int, Pattern]]:
        """What is to be replaced, from the left. Of two that overlap, that of the first pattern counts."""
        taken = [found.span() for found in self.any_number.finditer(text)]
        found: list[tuple[int, int, Pattern]] = []
        for pattern in self._masking.patterns:
            try:
                spans = list(pattern.spans(text))
            except TimeoutError:
                raise self._too_slow(pattern, text) from None
            free = list(_apart_from(taken, spans))
            taken = sorted(taken + free)
            found += [(*span, pattern) for span in free]
        yield from sorted(found, key=lambda one: one[0])

    def _too_slow(self, pattern: Pattern, text: str) -> SettingsError:
        return SettingsError.of(
            without_an_end(
                pattern.expression,
                f"a text of {len(text):,} characters",
                round(pattern.seconds_for(text)),
            ),
            file=self._masking.place,
            path="results.mask",
        )

    def _placeholder(self, pattern: Pattern, original: str) -> str:
        if not self._numbered:
            return f"[{pattern.name}]"
        key = (pattern.name, pattern.normal(original))
        if key not in self._numbers:
            self._highest[pattern.name] += 1
            self._numbers[key] = self._highest[pattern.name]
        placeholder = f"[{pattern.name} {self._numbers[key]}]"
        self._originals.setdefault(placeholder, original)
        return placeholder

    def _reserve(self, text: str) -> None:
        """Numbers that a replayed text has already are those of something else."""
        if "[" in text:
            for found in self.any_number.finditer(text):
                self._highest[found[1]] = max(self._highest[found[1]], int(found[2]))

    def _by_project(self, text: str) -> str:
        own = self._masking.own
        if own is None:
            return text
        if text not in self._by_hook:
            self._by_hook[text] = _in_time(own, text)
        return self._by_hook[text]


def _in_time(own: MaskText, text: str) -> str:
    """What the project's function makes of a text, within a time limit: others wait for it meanwhile."""
    outcome: list[Any] = []

    def call() -> None:
        try:
            outcome.append(own(text))
        except BaseException as error:  # noqa: BLE001 - code of the project, in a thread that is only its own
            outcome.append(error)

    thread = threading.Thread(target=call, name="convoprobe-mask", daemon=True)
    thread.start()
    thread.join(_HOOK_SECONDS)
    if not outcome:
        raise SettingsError.of(f"{_HOOK} took longer than {exact_seconds(_HOOK_SECONDS)} for a text")
    masked = text if outcome[0] is None else outcome[0]
    if isinstance(masked, BaseException):
        # Not with its words: they may quote what was to be masked.
        raise SettingsError.of(f"{_HOOK} raised {type(masked).__name__}")
    if not isinstance(masked, str):
        raise SettingsError.of(f"{_HOOK} returned {type(masked).__name__}; it must return a text, or None")
    return masked


class PersonalRedactor(Redactor):
    """Masks secrets and the personal data of one conversation."""

    def __init__(self, secrets: Redactor, pseudonyms: Pseudonyms) -> None:
        self._of_secrets = secrets
        self._pseudonyms = pseudonyms

    @property
    def problem(self) -> ConvoprobeError | None:
        return self._pseudonyms.problem

    def learn(self, secrets: Iterable[str]) -> None:
        self._of_secrets.learn(secrets)

    def earlier(self) -> tuple[Redactor, ...]:
        return self._of_secrets, *self._of_secrets.earlier()

    def meet(self, value: object) -> None:
        _changed(value, self._pseudonyms.meet)

    def text(self, text: str) -> str:
        return self._pseudonyms.mask(self._of_secrets.text(text))

    def personal(self, value: T) -> T:
        masked: T = _changed(value, self._pseudonyms.mask)
        return masked

    def restored(self, value: T) -> T:
        restored: T = _changed(value, self._pseudonyms.restore)
        return restored

    def _key(self, key: Any) -> Any:
        # Each time: which placeholders there are may have changed.
        return self.text(key) if isinstance(key, str) else key

    def _data(self, value: Any, depth: int) -> Any:
        if type(value) is int and depth and abs(value) >= _LEAST_NUMBER:
            masked = self._pseudonyms.mask(str(value))
            return value if masked == str(value) else masked
        return super()._data(value, depth)


def _changed(value: Any, change: Callable[[str], str], depth: int = 0) -> Any:
    """A copy of a value, and of all that it contains, with its texts changed."""
    if isinstance(value, (Enum, type)) or depth > 40:
        return value
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {
            _changed(key, change, depth + 1): _changed(one, change, depth + 1) for key, one in value.items()
        }
    if isinstance(value, (list, tuple)):
        return type(value)([_changed(one, change, depth + 1) for one in value])
    if type(value) is int and abs(value) >= _LEAST_NUMBER:
        masked = change(str(value))
        return value if masked == str(value) else masked
    if is_dataclass(value):
        parts = {one.name: getattr(value, one.name) for one in fields(value) if one.init}
        return replace(value, **{name: _changed(part, change, depth + 1) for name, part in parts.items()})  # type: ignore[type-var]
    if hasattr(value, "model_copy"):
        names = type(value).model_fields
        return value.model_copy(
            update={name: _changed(getattr(value, name), change, depth + 1) for name in names}
        )
    return value


def _apart_from(taken: list[tuple[int, int]], spans: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Those that overlap with none of the taken ones, which are in order and apart from one another."""
    starts = [begin for begin, _ in taken]
    for begin, end in spans:
        # Only the last one that begins before the end may reach into it: a text may have 100,000 of them.
        before = bisect_left(starts, end) - 1
        if before < 0 or taken[before][1] <= begin:
            yield begin, end
