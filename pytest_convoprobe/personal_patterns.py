"""Personal data that is found by its form: mail addresses, cards, IBANs, phone numbers, a project's own.

A form alone is not enough where numbers are common: cards and IBANs have check digits, which decide.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from urllib.parse import unquote

from .timed_patterns import compiled

SECONDS = 1.0
"""How long a pattern of a project's own may be looked for in one text of ordinary length."""

_ORDINARY = 250_000

_IBAN_LENGTHS = dict(
    (entry[:2], int(entry[2:]))
    for entry in (
        "AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 "
        "EE20 EG29 ES24 FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 "
        "JO30 KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 "
        "NO15 OM23 PK24 PL28 PS29 PT25 QA29 RO24 RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 "
        "TL23 TN24 TR26 UA29 VA22 VG24 XK20"
    ).split()
)
_DATE = re.compile(r"\d{1,2}[./ -]\d{1,2}[./ -]\d{2,4}|\d{4}[./ -]\d{1,2}[./ -]\d{1,2}")
_LONGEST_PHONE = 15
_TWICE = (0, 2, 4, 6, 8, 1, 3, 5, 7, 9)  # the digits of twice a digit, added


@dataclass(frozen=True)
class Pattern:
    """A kind of personal data.

    `expression` finds candidates; `fitting` says how many characters of one belong to it, 0 if it is none.
    `normal` gives the same text for two spellings of the same thing. Each has one of the `hints` in it. A
    `linear` one takes time by the length of a text, whatever is in it: it needs no time limit.
    """

    name: str
    expression: str
    hints: tuple[str, ...] = ()
    fitting: Callable[[str], int] = len
    normal: Callable[[str], str] = str
    linear: bool = True

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Where it is found, from the left, without overlaps. Raises TimeoutError if that takes too long."""
        if self.hints and not any(hint in text for hint in self.hints):
            return
        search, start = compiled(self.expression).search, 0
        until = time.thread_time() + self.seconds_for(text)
        # The time of this thread alone: on a busy machine, others take most of a second.
        while found := search(text, start, timeout=self._left(until)):
            begin = found.start() + _escape_before(text, found.start())
            length = self.fitting(text[begin : found.end()])
            if length:
                yield begin, begin + length
            # A candidate that is none may have one in it that begins later.
            start = begin + length if length else found.start() + 1

    @staticmethod
    def seconds_for(text: str) -> float:
        """How long one that isn't `linear` may be looked for in this text."""
        return SECONDS * max(1.0, len(text) / _ORDINARY)

    def _left(self, until: float) -> float | None:
        if self.linear:
            return None
        if (left := until - time.thread_time()) <= 0:
            raise TimeoutError  # many finds take as long as one that never ends
        return left


def own_pattern(name: str, expression: str) -> Pattern:
    """A pattern of the project's own. Raises `ValueError` in words for one that can't be used."""
    import regex

    try:
        found = compiled(expression)
    except (regex.error, RecursionError, OverflowError) as error:
        raise ValueError(f"this is not a regular expression: {error}") from None
    if found.fullmatch("", timeout=SECONDS):
        raise ValueError("the pattern also fits where there is no text: it would be found everywhere")
    return Pattern(name, expression, linear=False)


def _escape_before(text: str, begin: int) -> int:
    r"""How many of the first characters belong to an escape of JSON: `\nbob@…` has the address `bob@…`."""
    if begin == 0 or text[begin - 1] != "\\":
        return 0
    if re.match(r"u[0-9a-fA-F]{4}", text[begin : begin + 5]):
        return 5
    return 1 if text[begin : begin + 1] in tuple("nrtbf") else 0


# A text may be a megabyte of candidates that are none, so each is gone over once.
def _card(text: str) -> int:
    """Where the longest card number ends that the text begins with, by Luhn's check; 0 without one."""
    sums, found, end = [0, 0], 0, 0
    places = [place for place, letter in enumerate(text) if letter.isdecimal()][:19]
    for number, place in enumerate(places):
        digit, parity = int(text[place]), number % 2
        # Every second digit before the last one counts twice: which ones, depends on which is the last.
        sums[parity] += digit
        sums[1 - parity] += _TWICE[digit]
        found |= 1 << digit
        next_one = text[place + 1 : place + 2]
        if number >= 12 and sums[parity] % 10 == 0 and not next_one.isdecimal() and found & (found - 1):
            end = place + 1
    return end


def _iban(text: str) -> int:
    length = _IBAN_LENGTHS.get(text[:2].upper(), 0)
    places = [place for place, letter in enumerate(text) if letter.isalnum()][:length] if length else []
    end = places[-1] + 1 if places else 0
    if len(places) < length or not length or text[end : end + 1].isalnum():
        return 0
    # Lower case last: the sign of Kelvin fits the expression, and only its small letter is one of ASCII.
    bare = "".join([text[place] for place in (*places[4:], *places[:4])]).upper().lower()
    # The check of ISO 13616: letters are numbers from 10, and the first four characters come last.
    return end if int("".join([str(int(letter, 36)) for letter in bare])) % 97 == 1 else 0


def _mail_normal(text: str) -> str:
    return unquote(text).lower()


def _phone(text: str) -> int:
    if _DATE.fullmatch(text) or not 7 <= sum(map(str.isdecimal, text)) <= _LONGEST_PHONE:
        return 0
    return len(text)


def _phone_normal(text: str) -> str:
    digits = "".join(filter(str.isdecimal, text.replace("(0)", "")))
    return f"+{digits}" if text.startswith("+") else f"+{digits[2:]}" if digits.startswith("00") else digits


def _only_signs(text: str) -> str:
    return "".join(filter(str.isalnum, text)).upper()


_PHONE = (
    # With the code of a country; national, with a zero or in brackets first; and as in North America.
    r"(?<![\w.+-])(?<!\d[ ./-])(?:(?:\+|00)[1-9](?:[ ./-]{0,2}(?:\(0\))?[ ./-]{0,2}\d){6,13}"
    r"|0\d{1,5}[ /-]{1,3}\d(?:[ /-]{0,2}\d){3,10}|0\d{8,12}"
    r"|\(\d{2,6}\)[ /-]{0,2}\d(?:[ /-]{0,2}\d){4,10}"
    r"|\d{3}[ .-]\d{3}[ .-]\d{4})(?![\w@]|[.-]\d)"
)

BUILT_IN = {
    pattern.name: pattern
    for pattern in (
        Pattern(
            "email",
            r"(?<![\w.+-])[\w+-](?:[\w.+-]{0,62}[\w+-])?(?:@|%40)(?:[\w-]{1,63}\.){1,8}[^\W\d_]{2,24}(?![\w-])",
            ("@", "%40"),
            normal=_mail_normal,
        ),
        Pattern(
            "iban",
            r"(?i)(?<![A-Z0-9])[A-Z]{2}\d{2}(?:[ -]?[A-Z0-9]){11,30}",
            fitting=_iban,
            normal=_only_signs,
        ),
        Pattern("card", r"(?<![\w.+-])[2-6](?:[ -]?\d){12,24}", fitting=_card, normal=_only_signs),
        Pattern("phone", _PHONE, fitting=_phone, normal=_phone_normal),
    )
}
"""The patterns that a project can name. Those with check digits come before a mere look."""

OTHER_NAMES = {
    "mail": "email", "e-mail": "email", "email_address": "email", "emails": "email", "credit_card": "card",
    "cards": "card", "ibans": "iban", "bank_account": "iban", "telephone": "phone", "phone_number": "phone",
    "phones": "phone",
}  # fmt: skip
