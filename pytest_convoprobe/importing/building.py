"""One scenario while it is made of another tool's test, with the account of the test's checks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ..text import has_words, is_blank, shorten
from ..tool_patterns import name_complaint
from ..yaml_source import Loc
from .literal_text import healed, literal
from .notes import Fate, ImportedTest, ImportNote
from .noting import note, plain, redactor
from .options import ImportOptions
from .sources import ForeignFile

MOST_TURNS = 100
"""The most turns of a scenario."""

OWN_CHECK = "write a check of your own and name it in `evaluation.checks`"
"""What to do about a check that only code can make."""

_ANSWERS = "The agent answers what the user writes"
NO_CHECK = "nothing that the imported test checked could be taken over"
NOTHING = "the imported test checks nothing"


class ScenarioBuilder:
    """Collects the parts of a scenario. `loc` is the place of the test in `source`.

    Each check of the test is counted once: as `taken`, or by a note that it is `changed` or `lost`.
    """

    def __init__(
        self, source: ForeignFile, loc: Loc, source_id: str, name: str, suite: ForeignFile | None = None
    ) -> None:
        self._source, self._loc, self._suite = source, loc, suite or source
        self._at = source, loc
        self._source_id = source_id
        self._taken = 0
        self._notes: list[ImportNote] = []
        self._refusal = ""
        self._tools: dict[str, Any] = {}
        self.name = name
        self.description = ""
        self.persona = ""
        self.initial_query = ""
        self.agent_first = False
        self.max_turns = 1
        self.script: list[str] = []
        self.history: list[dict[str, Any]] = []
        self.known_facts: list[str] = []
        self.unknown_facts: list[str] = []
        self.traits: dict[str, str] = {}
        self.metadata: dict[str, Any] = {}
        self.tags: list[str] = []
        self._criteria: list[str] = []
        self._failures: list[str] = []
        self._replies: list[dict[str, Any]] = []
        self._efficiency: dict[str, Any] = {}

    # The account

    def taken(self) -> None:
        """Count a check that is made as it was."""
        self._taken += 1

    def lost(self, loc: Loc, kind: str, why: str, advice: str = OWN_CHECK) -> None:
        """Note a check that is no longer made. `loc` is below the test."""
        self._note(Fate.LOST, loc, kind, why, advice)

    def changed(self, loc: Loc, kind: str, why: str, advice: str = "") -> None:
        """Note a check that is made in another way."""
        self._note(Fate.CHANGED, loc, kind, why, advice)

    def left_out(self, loc: Loc, kind: str, why: str, advice: str = "") -> None:
        """Note something that isn't a check."""
        self._note(Fate.LEFT_OUT, loc, kind, why, advice)

    def refuse(self, why: str) -> None:
        """No scenario can be made of the test; the first reason counts."""
        self._refusal = self._refusal or why

    @contextmanager
    def at(self, source: ForeignFile, loc: Loc) -> Iterator[None]:
        """Meanwhile, places are below another one: the test's defaults are elsewhere."""
        before = self._at
        self._at = source, loc
        yield
        self._at = before

    def _note(self, fate: Fate, loc: Loc, kind: str, why: str, advice: str) -> None:
        source, above = self._at
        self._notes.append(note(fate, self._place(source, (*above, *loc)), kind, why, advice))

    def _place(self, source: ForeignFile, loc: Loc) -> str:
        """The place, with the name of the file if it is another one than the suite's."""
        return source.place(loc) if source is self._suite else f"{source.name}: {source.place(loc)}"

    # The checks

    def must(self, sentence: str) -> None:
        """The judge decides whether it is true."""
        self._criteria.append(sentence)

    def must_not(self, sentence: str) -> None:
        """The judge decides that it is not true."""
        self._failures.append(sentence)

    def reply(self, **check: Any) -> None:
        """A check by code of what the agent says."""
        texts = ("contains", "not_contains", "equals")
        self._replies.append({key: literal(item) if key in texts else item for key, item in check.items()})

    def limit(self, name: str, value: float) -> None:
        """A limit of `efficiency`; the smaller of two counts."""
        self._efficiency[name] = min(value, self._efficiency.get(name, value))

    def tools(self, **usage: Any) -> None:
        """Parts of `tool_usage`; lists are continued."""
        for key, value in usage.items():
            known = self._tools.get(key)
            self._tools[key] = [*known, *value] if isinstance(known, list) else value

    def expect_calls(self, order: str, calls: Sequence[Mapping[str, Any]], loc: Loc, kind: str) -> bool:
        """A list of calls; False, and a note, if there is another one already."""
        wanted = {"order": order, "calls": list(calls)}
        if self._tools.get("expected_calls", wanted) != wanted:
            self.lost(loc, kind, "a scenario has one list of expected calls, and this would be another")
            return False
        self._tools["expected_calls"] = wanted
        return True

    # The scenario

    def begin_unknown(self, options: ImportOptions) -> None:
        """The source's simulated user makes up its first message: say what happens here."""
        if self.history and "user" in self.history[-1]:
            self.initial_query = str(self.history.pop()["user"])
            return
        if options.agent_first and not self.history:
            self.agent_first = True
            return
        self.initial_query = options.first_message
        self.max_turns += 1
        self.left_out(
            (),
            "first message",
            f"the source has none, since its user makes one up; here it is {quoted(options.first_message)}, "
            "and the user says what it wants from the second turn on",
            "write one into the scenario, or give --first-message; --agent-first if your agent greets",
        )

    def build(self) -> ImportedTest:
        """The test as it was taken over, valid or refused."""
        if not self._refusal and is_blank(self.initial_query) and not self.agent_first:
            self.refuse("it has no message of the user")
        place = self._place(self._source, self._loc)
        if self._refusal:
            return ImportedTest(place, self._source_id, None, 0, self._all_lost())
        scenario = self._masked(_filled(self._mapping()))
        return ImportedTest(place, self._source_id, scenario, self._taken, tuple(self._notes))

    def _all_lost(self) -> tuple[ImportNote, ...]:
        """Without a scenario, nothing is checked: also what would have been taken over."""
        place, why = (
            self._place(self._source, self._loc),
            f"no scenario could be made of this test: {self._refusal}",
        )
        checks = self._taken + sum(one.fate is not Fate.LEFT_OUT for one in self._notes)
        return nothing_checked(place, plain(why), checks, self._notes)

    def _mapping(self) -> dict[str, Any]:
        checks = self._evaluation()
        had_some = any(one.fate is Fate.LOST for one in self._notes)
        unchecked = {} if _checks_something(checks) else {"skip": NO_CHECK if had_some else NOTHING}
        imported = {"file": self._source.name, "place": self._source.place(self._loc), "id": self._source_id}
        return {
            "name": shorten_name(self.name) or self._source_id,
            "description": literal(self.description) or "Imported.",
            **unchecked,
            "synthetic_user": self._user(),
            "evaluation": checks,
            "tags": list(dict.fromkeys(["imported", *self.tags])),
            "metadata": {**self.metadata, "imported": _filled(imported)},
        }

    def _user(self) -> dict[str, Any]:
        facts = {
            "known_facts": _literals(self.known_facts),
            "unknown_facts": _literals(self.unknown_facts),
            "traits": self.traits,
        }
        user = {
            "persona": literal(self.persona) or "A user of the agent.",
            "history": [_earlier_message(one) for one in self.history],
            "first": "agent" if self.agent_first else "",
            "initial_query": literal(self.initial_query),
            "max_turns": min(max(self.max_turns, 1), MOST_TURNS),
            "clarification_behavior": _filled(facts),
            "script": [literal(text) for text in self.script],
        }
        return _filled(user)

    def _evaluation(self) -> dict[str, Any]:
        if self._failures and not self._criteria:
            self._criteria = [_ANSWERS]
            why = "a scenario with failure criteria needs one that says what must be"
            self.left_out((), "criterion that was added", f"{why}: {_ANSWERS}", "write a better one")
        return _filled(
            {
                "correctness_criteria": _literals(self._criteria),
                "failure_criteria": _literals(self._failures),
                "replies": self._replies,
                "tool_usage": self._tools,
                "efficiency": self._efficiency,
            }
        )

    def _masked(self, scenario: dict[str, Any]) -> dict[str, Any]:
        """The scenario without secrets, and notes where there were some."""
        clean = _healed(scenario)
        checks = clean.get("evaluation", {})
        kept = self._without_secrets(checks)
        masked: dict[str, Any] = redactor().data({**clean, "evaluation": kept})
        if masked != {**clean, "evaluation": kept}:
            self.left_out(
                (),
                "secret",
                "something here looks like a key or a password, and stands as `****` in the scenario",
                "use an invented value, or have the target read it from its environment",
            )
        return {**masked, **({} if kept else {"skip": NO_CHECK})} if checks else masked

    def _without_secrets(self, checks: dict[str, Any]) -> dict[str, Any]:
        """The checks but those that compare with a secret: masked, they could never hold."""
        found: dict[str, Any] = {}
        for key, value in checks.items():
            if isinstance(value, list):
                found[key] = [item for item in value if self._is_sayable(item)]
            elif key == "tool_usage":
                found[key] = self._without_secrets(value)
            elif self._is_sayable({key: value}):
                found[key] = value
        return _filled(found)

    def _is_sayable(self, check: Any) -> bool:
        if redactor().data(check) == check:
            return True
        self._taken = max(0, self._taken - 1)
        why = "it compares with something that looks like a key or a password"
        self.lost((), "check with a secret", why, "use an invented value")
        return False


def nothing_checked(place: str, why: str, checks: int, notes: Sequence[ImportNote]) -> tuple[ImportNote, ...]:
    """The notes of a test of which no scenario could be made: each of its checks is lost."""
    lost = note(Fate.LOST, place, "whole test", why, "write it by hand")
    others = tuple(one for one in notes if one.fate is Fate.LEFT_OUT)
    return (*(lost for _ in range(max(1, checks))), *others)


def shorten_name(text: str) -> str:
    """A text as the name of a scenario: one line, not too long."""
    return literal(shorten_line(text, 80))


def shorten_line(text: str, limit: int) -> str:
    """The beginning of a text on one line."""
    line = " ".join(healed(text).split())
    return line if len(line) <= limit else f"{line[: limit - 1].rstrip()}…"


def quoted(text: str, limit: int = 60) -> str:
    """A text of the source in a note."""
    return f"`{shorten(shorten_line(text, limit), limit)}`"


def is_tool_name(name: object) -> bool:
    """Whether a scenario can name a tool like this."""
    return isinstance(name, str) and bool(name.strip()) and name_complaint(name) is None


def _earlier_message(message: Mapping[str, Any]) -> dict[str, Any]:
    return {key: literal(value) if isinstance(value, str) else value for key, value in message.items()}


def _checks_something(checks: Mapping[str, Any]) -> bool:
    return bool(checks.keys() - {"failure_criteria"}) or bool(checks.get("failure_criteria"))


def _literals(texts: Sequence[str]) -> list[str]:
    """Texts of a scenario, without those in which nothing is said."""
    return list(dict.fromkeys(literal(text) for text in texts if has_words(text)))


def _filled(values: Mapping[str, Any]) -> dict[str, Any]:
    """Without empty parts, in mappings below as well; other data stays as it is."""
    return {name: value for name, value in values.items() if value not in (None, [], {}, "")}


def _healed(value: Any) -> Any:
    if isinstance(value, str):
        return healed(value)
    if isinstance(value, Mapping):
        return {healed(str(key)): _healed(item) for key, item in value.items()}
    return [_healed(item) for item in value] if isinstance(value, (list, tuple)) else value
