"""Personal data in a conversation, replaced by invented values of the same form, the same one everywhere."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from pydantic import BaseModel, Field

from .. import prompts
from ..llm.port import LLM, CallContext, LLMRequest, Message, Role
from ..llm.structured import ask
from ..personal_patterns import BUILT_IN
from ..redaction import Redactor
from ..settings.model_settings import ModelSettings
from ..transcript import Reply, ToolCall, Transcript, Turn
from .numbers_meant import identifying
from .occurrences import Occurrences, key_of

_NAMES = ("Robin Fields", "Sam Rivers", "Alex Meadows", "Kim Harbor", "Jo Winters", "Chris Vale", "Max Stone")
_PLACES = (
    "12 Sample Street, Newtown",
    "7 Garden Lane, Oldport",
    "31 Mill Road, Eastfield",
    "5 Lake View, Norton",
)
_GROUPS = ("Blue Finch Ltd", "Northgate Club", "Harrow & Pine", "Silver Oak Inc")
_INVENTED = {"name": _NAMES, "address": _PLACES, "organization": _GROUPS}
_TRIES = 200


class _Personal(BaseModel):
    text: str = Field(description="The words exactly as they are in the conversation.")
    kind: str = Field(description="name, address, organization, or other.")


class _AllPersonal(BaseModel):
    found: list[_Personal]


class Replacements:
    """What is replaced by what. `originals` are the texts that must be gone afterwards."""

    def __init__(self) -> None:
        self._by: dict[str, str] = {}
        self._keys: set[str] = set()
        self._used: dict[str, int] = {}
        self._found: tuple[int, Occurrences] | None = None

    @property
    def originals(self) -> tuple[str, ...]:
        return tuple(self._by)

    def learn_people(self, found: Iterable[_Personal], shown: str) -> None:
        """Take in what a model found: names with each of their words, addresses, organizations."""
        for one in found:
            text = one.text.strip()
            if len(text) < 2 or text in self._by:
                continue
            invented = self._invented(one.kind, text, shown)
            if invented == text:
                continue  # there is nothing in it that could be another value
            self._by[text] = invented
            if one.kind == "name":
                self._learn_parts(text, invented)

    def _learn_parts(self, name: str, invented: str) -> None:
        """Somebody who is once "Ann Lee" is "Ann" the next time."""
        parts, others = name.split(), invented.split()
        for place, part in enumerate(parts if len(parts) > 1 else ()):
            if len(part) > 2:
                self._by.setdefault(part, others[min(place, len(others) - 1)])

    def learn_forms(self, text: str) -> None:
        """Take in what has the form of personal data: mail addresses, numbers of cards and orders, keys."""
        for pattern in BUILT_IN.values():
            for begin, end in pattern.spans(text):
                self._learn_form(text[begin:end], text)
        for code in identifying(text):
            self._learn_form(code, text)

    def _learn_form(self, found: str, shown: str) -> None:
        if key_of(found) not in self._keys:
            self._keys.add(key_of(found))
            self._by[found] = self._free(_mail if "@" in found else _same_form, found, shown)

    def _free(self, make: Callable[[str, int], str], text: str, shown: str) -> str:
        """Another value that nothing else has: two orders must not become one, nor one become another."""
        taken = {*self._by, *self._by.values()}
        made = (make(text, number) for number in range(_TRIES))
        return next((one for one in made if one not in taken and one not in shown), make(text, 0))

    def _invented(self, kind: str, text: str, shown: str) -> str:
        # Somebody may really have one of the invented names.
        choices = [one for one in _INVENTED.get(kind, ()) if not any(word in shown for word in one.split())]
        if not choices:
            return self._free(_same_form, text, shown)
        number = self._used[kind] = self._used.get(kind, 0) + 1
        chosen = choices[(number - 1) % len(choices)]
        name = chosen if kind != "name" or " " in text else chosen.split()[0]
        return name if number <= len(choices) else f"{name} {number}"

    def text(self, text: str) -> str:
        """The text with everything replaced, the longest first."""
        return self._occurrences().replaced(text, self._by.__getitem__)

    def _occurrences(self) -> Occurrences:
        if self._found is None or self._found[0] != len(self._by):
            self._found = len(self._by), Occurrences(self._by)
        return self._found[1]

    def data(self, value: Any) -> Any:
        """The same for data of any shape."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.text(str(key)): self.data(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.data(item) for item in value]
        return self._number(value) if type(value) in (int, float) else value

    def _number(self, value: float) -> Any:
        found = self._by.get(str(value))
        return value if found is None or not found.isdigit() else int(found)


async def without_personal_data(
    llm: LLM, model: ModelSettings, transcript: Transcript, redactor: Redactor
) -> tuple[Transcript, Replacements]:
    """The conversation with invented names, addresses, numbers and keys. Raises what the model raises.

    The model that names them gets the conversation as it is, without secrets.
    """
    clean = _mapped(transcript, redactor.text, redactor.data)
    shown = "\n".join(_texts(clean))
    question = prompts.render("generate/personal", conversation=shown)
    request = LLMRequest(
        model, (Message("user", question),), CallContext(Role.GENERATOR), schema_name="personal_data"
    )
    answer = await ask(llm, request, _AllPersonal)
    found = Replacements()
    found.learn_people((one for one in answer.found if one.text.strip() in shown), shown)
    found.learn_forms(found.text(shown))
    return _mapped(clean, found.text, found.data), found


def _texts(transcript: Transcript) -> Iterable[str]:
    for turn in transcript.turns:
        if not turn.is_greeting:
            yield f"user: {turn.user}"
        for call in turn.reply.tool_calls or ():
            outcome = call.result if call.error is None else call.error
            yield f"tool {call.name}: {dict(call.arguments)} -> {outcome}"
        yield f"agent: {turn.reply.text}"


def _mapped(transcript: Transcript, text: Any, data: Any) -> Transcript:
    return replace(transcript, turns=tuple(_turn(turn, text, data) for turn in transcript.turns))


def _turn(turn: Turn, text: Any, data: Any) -> Turn:
    calls: Sequence[ToolCall] | None = turn.reply.tool_calls
    mapped = None if calls is None else tuple(_call(call, text, data) for call in calls)
    reply = Reply(text(turn.reply.text), mapped, turn.reply.usage, turn.reply.ended)
    return replace(turn, user=text(turn.user), reply=reply)


def _call(call: ToolCall, text: Any, data: Any) -> ToolCall:
    error = None if call.error is None else text(call.error)
    return replace(call, arguments=data(dict(call.arguments)), result=data(call.result), error=error)


def _mail(text: str, number: int) -> str:
    return f"person{_digest(text.casefold())[0] % 90 + 10 + number}@example.com"


def _same_form(text: str, number: int = 0) -> str:
    """Other digits in the same places, always the same for the same text and number."""
    digits = _endless(f"{text}#{number}" if number else text)
    return "".join(_other(one, digit) for one, digit in zip(text, digits, strict=False))


def _other(character: str, number: int) -> str:
    """Another digit. Letters stay: they say what kind of number it is, as in `ORD-1001`."""
    return str((int(character) + 1 + number % 8) % 10) if character in "0123456789" else character


def _endless(text: str) -> Iterable[int]:
    digest = _digest(text)
    return (digest[place % len(digest)] for place in range(len(text)))


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
