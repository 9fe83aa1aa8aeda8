"""The questions of `convoprobe new`, and the scenario that the answers make."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import TypeAdapter, ValidationError

from ..scenario.fields import Sentence, Text, ToolPattern
from ..scenario.new_files import MOST_NAME
from ..text import one_line, shorten
from ..yaml_source.placeholders import fill, word_for_word

Ask = Callable[[str], str]
"""Puts a question and returns the line of the answer, without its end."""

_LIST_HINT = "one sentence a line, an empty line at the end"
_TOOLS_HINT = "names with commas between them, or nothing"


class BadAnswer(Exception):
    """An answer that no scenario can have; its text says why."""


@dataclass(frozen=True)
class ScenarioAnswers:
    """What is known of a scenario. None is a question that nobody has answered."""

    persona: str | None = None
    says: str | None = None
    must: tuple[str, ...] | None = None
    never: tuple[str, ...] | None = None
    tools: tuple[str, ...] | None = None
    no_tools: tuple[str, ...] | None = None
    name: str | None = None
    description: str | None = None
    tags: tuple[str, ...] = field(default=())

    @property
    def suffice(self) -> bool:
        """Whether they make a scenario: then nothing is asked."""
        return self.persona is not None and self.says is not None and bool(self.must or self.tools)

    def checked(self) -> ScenarioAnswers:
        """The same as a scenario has them. Raises `BadAnswer`, which begins with the name of the answer."""
        return ScenarioAnswers(
            persona=_each("persona", self.persona, text),
            says=_each("says", self.says, text),
            must=_all("must", self.must, sentence),
            never=_all("never", self.never, sentence),
            tools=_all("tool", self.tools, tool),
            no_tools=_all("no-tool", self.no_tools, tool),
            name=_each("name", self.name, text),
            description=_each("description", self.description, text),
            tags=_all("tag", self.tags, text) or (),
        )


def _each(option: str, value: str | None, check: Callable[[str], str]) -> str | None:
    if value is None:
        return None
    try:
        return check(value)
    except BadAnswer as error:
        raise BadAnswer(f"--{option} {error}") from None


def _all(option: str, values: Sequence[str] | None, check: Callable[[str], str]) -> tuple[str, ...] | None:
    if values is None:
        return None
    return tuple(dict.fromkeys(_each(option, value, check) or "" for value in values))


def text(answer: str) -> str:
    """A text of a scenario. Raises `BadAnswer`."""
    return _as(_TEXT, answer)


def sentence(answer: str) -> str:
    """A criterion. Raises `BadAnswer`."""
    return _as(_SENTENCE, answer)


def tool(answer: str) -> str:
    """The name of a tool, or a pattern of names. Raises `BadAnswer`."""
    return _as(_TOOL, answer)


_TEXT: TypeAdapter[str] = TypeAdapter(Text)
_SENTENCE: TypeAdapter[str] = TypeAdapter(Sentence)
_TOOL: TypeAdapter[str] = TypeAdapter(ToolPattern)


def _as(kind: TypeAdapter[str], answer: str) -> str:
    if not answer.strip():
        raise BadAnswer("must not be empty")
    try:
        answer.encode()
    except UnicodeEncodeError:
        raise BadAnswer("has characters that aren't valid; is the terminal's encoding UTF-8?") from None
    # What somebody types is meant as it is: nothing would fill it in.
    written = word_for_word(answer.strip())
    try:
        kind.validate_python(written)
    except ValidationError as error:
        raise BadAnswer(str(error.errors(include_url=False)[0]["msg"])) from None
    return written


class Interview:
    """Asks for what isn't known, until each answer can be used. `say` shows why one can't."""

    def __init__(self, ask: Ask, say: Callable[[str], None]) -> None:
        self._ask = ask
        self._say = say

    def complete(self, known: ScenarioAnswers) -> ScenarioAnswers:
        """All answers. `known` has those of options, which aren't asked for."""
        known = replace(
            known,
            persona=known.persona or self._one("1. Who is the user, and what do they want?", text),
            says=known.says or self._one("2. What do they say first?", text),
        )
        if known.must is None:
            must = self._list(f"3. What must the agent do? ({_LIST_HINT})", least=0 if known.tools else 1)
            known = replace(known, must=must)
        if known.never is None:
            never = self._list(f"4. What must it never do? ({_LIST_HINT})")
            known = replace(known, never=never)
        return self._named(self._with_tools(known))

    def _with_tools(self, known: ScenarioAnswers) -> ScenarioAnswers:
        tools, no_tools = known.tools, known.no_tools
        if tools is None:
            tools = self._names(f"5. Which tools must it call? ({_TOOLS_HINT})", ())
        if no_tools is None:
            no_tools = self._names("   And which must it not call?", tools)
        return replace(known, tools=tools, no_tools=no_tools)

    def _named(self, known: ScenarioAnswers) -> ScenarioAnswers:
        if known.name is not None:
            return known
        proposed = default_name(known)
        name = self._one(f"A name for it? (nothing: {proposed})", lambda answer: text(answer or proposed))
        return replace(known, name=name)

    def _one(self, question: str, check: Callable[[str], str]) -> str:
        while True:
            try:
                return check(self._ask(question))
            except BadAnswer as error:
                self._say(f"This {error}.")

    def _list(self, question: str, least: int = 0) -> tuple[str, ...]:
        found: list[str] = []
        while True:
            answer = self._ask(question if not found else "")
            if not answer.strip() and len(found) >= least:
                return tuple(dict.fromkeys(found))
            try:
                found.append(sentence(answer))
            except BadAnswer as error:
                self._say(f"This {error}.")

    def _names(self, question: str, not_these: Sequence[str]) -> tuple[str, ...]:
        while True:
            try:
                names = [tool(name) for name in self._ask(question).split(",") if name.strip()]
            except BadAnswer as error:
                self._say(f"This {error}.")
                continue
            if not (both := [name for name in names if name in not_these]):
                return tuple(dict.fromkeys(names))
            self._say(f"It must call {', '.join(both)}, as you said above.")


def default_name(answers: ScenarioAnswers) -> str:
    """A name from what the user says first, as it is meant: without marks."""
    return shorten(one_line(fill(answers.says or "", {})), MOST_NAME)


def as_mapping(answers: ScenarioAnswers) -> dict[str, Any]:
    """The scenario, without empty parts."""
    must, never = list(answers.must or ()), list(answers.never or ())
    tools = {"required_tools": list(answers.tools or ()), "prohibited_tools": list(answers.no_tools or ())}
    evaluation = {
        "correctness_criteria": must,
        "failure_criteria": never,
        "tool_usage": {key: names for key, names in tools.items() if names},
    }
    first = must[0] if must else f"The agent calls {', '.join(answers.tools or ())}."
    scenario = {
        "name": answers.name or text(default_name(answers)),
        "description": answers.description or first,
        "synthetic_user": {"persona": answers.persona, "initial_query": answers.says},
        "evaluation": {key: value for key, value in evaluation.items() if value},
        "tags": list(answers.tags),
    }
    return {key: value for key, value in scenario.items() if value}
