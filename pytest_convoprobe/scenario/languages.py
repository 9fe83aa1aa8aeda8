"""The languages that a reply can be checked for, by their codes of ISO 639-1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..suggest import suggest

LANGUAGES = {
    "af": "Afrikaans", "ar": "Arabic", "az": "Azerbaijani", "be": "Belarusian", "bg": "Bulgarian",
    "bn": "Bengali", "bs": "Bosnian", "ca": "Catalan", "cs": "Czech", "cy": "Welsh", "da": "Danish",
    "de": "German", "el": "Greek", "en": "English", "eo": "Esperanto", "es": "Spanish", "et": "Estonian",
    "eu": "Basque", "fa": "Persian", "fi": "Finnish", "fr": "French", "ga": "Irish", "gu": "Gujarati",
    "he": "Hebrew", "hi": "Hindi", "hr": "Croatian", "hu": "Hungarian", "hy": "Armenian",
    "id": "Indonesian", "is": "Icelandic", "it": "Italian", "ja": "Japanese", "ka": "Georgian",
    "kk": "Kazakh", "ko": "Korean", "la": "Latin", "lg": "Ganda", "lt": "Lithuanian", "lv": "Latvian",
    "mi": "Māori", "mk": "Macedonian", "mn": "Mongolian", "mr": "Marathi", "ms": "Malay",
    "nb": "Norwegian Bokmål", "nl": "Dutch", "nn": "Norwegian Nynorsk", "pa": "Punjabi", "pl": "Polish",
    "pt": "Portuguese", "ro": "Romanian", "ru": "Russian", "sk": "Slovak", "sl": "Slovene", "sn": "Shona",
    "so": "Somali", "sq": "Albanian", "sr": "Serbian", "st": "Sotho", "sv": "Swedish", "sw": "Swahili",
    "ta": "Tamil", "te": "Telugu", "th": "Thai", "tl": "Tagalog", "tn": "Tswana", "tr": "Turkish",
    "ts": "Tsonga", "uk": "Ukrainian", "ur": "Urdu", "vi": "Vietnamese", "xh": "Xhosa", "yo": "Yoruba",
    "zh": "Chinese", "zu": "Zulu",
}  # fmt: skip

_CODES = {name.casefold(): code for code, name in LANGUAGES.items()} | {"norwegian": "nb", "bokmål": "nb"}


def language_name(code: str) -> str:
    """`German` for `de`."""
    return LANGUAGES[code]


def language_complaint(value: Any) -> str | None:
    """What is wrong with the code of a language, if anything."""
    if value is False:
        return "`no` is a boolean in YAML; for Norwegian write `nb` (Bokmål) or `nn` (Nynorsk)"
    if not isinstance(value, str):
        return "must be the code of a language, such as `en`"
    if value in LANGUAGES:
        return None
    return (
        f"must be the code of a language with two letters, such as `en`; {_advice(value.strip().casefold())}"
    )


def _advice(word: str) -> str:
    code = word if word in LANGUAGES else _CODES.get(word, "")
    region = word[:2] if word[2:3] in ("-", "_") and word[:2] in LANGUAGES else ""
    near = suggest(word, _CODES) if len(word) > 3 else None
    if region:
        return f"regions and scripts are not distinguished, so write `{region}`"
    if code or near:
        return f"did you mean `{code or _CODES[near or '']}`?"
    if word == "no":
        return "for Norwegian write `nb` (Bokmål) or `nn` (Nynorsk)"
    return f"known are {', '.join(LANGUAGES)}"


def in_words(codes: Sequence[str]) -> str:
    """`German`, `Norwegian Bokmål or Danish`."""
    return " or ".join(map(language_name, codes))
