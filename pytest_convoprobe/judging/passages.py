"""What can be quoted from a conversation, and whose words each part is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from ..excerpts import fitting, whole_text
from ..tool_patterns import matches
from ..transcript import PendingRequest, Termination, ToolCall, Transcript, Turn
from .evidence import Located, NotFound, Sources
from .transcript_view import EMPTY, NO_REPLY, answer_words, asked_in, call_line, end_line, last_turn
from .types import About, Criterion

_ENDED_BY = {
    Termination.AGENT_ENDED: About.AGENT,
    Termination.USER_DONE: About.USER,
    Termination.USER_GAVE_UP: About.USER,
}
_NAMES = {About.AGENT: "the agent", About.USER: "the user", About.TOOL: "the tool"}


@dataclass(frozen=True)
class Passage:
    """Texts of one turn that one side wrote.

    `voice` is None for our own words. `tool` is the one that was called.
    """

    turn: int
    voice: About | None
    texts: tuple[str, ...]
    tool: str | None = None


def passages_of(transcript: Transcript) -> tuple[Passage, ...]:
    """All that can be quoted: the user's texts, each tool call with its result, the agent's replies.

    They are whole, also where the view is cut: a judge may know the rest from another place, such as a reply
    that repeats a result. What the view has in place of the rest can be quoted, too. So can our own words for
    an empty text and for the end (in the last turn): if nothing was said, they are the only evidence.

    A call is there twice: to make it is a deed of the agent, what it returns is the tool's word alone.
    """
    return tuple(_passages(transcript))


def texts_by_turn(transcript: Transcript) -> dict[int, tuple[str, ...]]:
    """The texts of all sides in each turn."""
    return _by_turn(passage for passage in passages_of(transcript) if not _is_deed(passage))


@dataclass(frozen=True)
class Quotable:
    """Looks quotes up: by whom a criterion is about, and by anybody."""

    passages: tuple[Passage, ...]
    before: tuple[str, ...] = ()
    """Texts from before the conversation, which aren't evidence."""
    _sources: dict[tuple[About | None, str | None], Sources] = field(default_factory=dict, repr=False)

    @classmethod
    def ready(cls, transcript: Transcript) -> Quotable:
        """With the texts brought to one spelling already, which takes time."""
        quotable = cls(passages_of(transcript), tuple(_texts_before(transcript)))
        for voice in (About.AGENT, About.USER, About.TOOL):
            quotable._of(voice, None).prepare()
        return quotable

    def locate(self, criterion: Criterion, quote: str | None, turn: int | None) -> Located | NotFound:
        """Find the quote among the words of those whom the criterion is about."""
        found = self._located(criterion, quote, turn)
        if isinstance(found, Located) or found.turns or found.others or not self._was_before(quote):
            return found
        return NotFound(
            f"the quote {quote!r} is from before the conversation, which proves nothing: quote what was said "
            "or done in one of the turns"
        )

    def _was_before(self, quote: str | None) -> bool:
        return bool(self.before) and isinstance(Sources({0: self.before}).locate(quote, 0), Located)

    def _located(self, criterion: Criterion, quote: str | None, turn: int | None) -> Located | NotFound:
        about = criterion.about or About.ANY
        if about is About.ANY:
            return self._everybody.locate(quote, turn)
        found = self._of(about, criterion.tool).locate(quote, turn)
        if isinstance(found, Located) or found.turns:
            return found
        elsewhere = self._everybody.locate(quote, turn)
        turns = (elsewhere.turn,) if isinstance(elsewhere, Located) else elsewhere.turns
        return NotFound(_not_theirs(quote or "", turns[0], about), others=turns) if turns else found

    @cached_property
    def _everybody(self) -> Sources:
        return Sources(
            _by_turn(passage for passage in self.passages if not _is_deed(passage)), self._spellings
        )

    @cached_property
    def _spellings(self) -> dict[str, str]:
        """Shared by all sources: most texts are in two of them."""
        return {}

    def _of(self, voice: About, tool: str | None) -> Sources:
        key = (voice, tool)
        if key not in self._sources:
            theirs = (one for one in self.passages if one.voice is voice and _is_of(tool, one))
            self._sources[key] = Sources(_by_turn(theirs), self._spellings)
        return self._sources[key]


def _is_of(tool: str | None, passage: Passage) -> bool:
    """A sentence about the calls of a tool is not proven by those of another."""
    return tool is None or (passage.tool is not None and matches(tool, passage.tool))


def _not_theirs(quote: str, turn: int, about: About) -> str:
    who = _NAMES[about]
    return f"the quote {quote!r} is in turn {turn}, but not in the words of {who}, whom this is about"


def _is_deed(passage: Passage) -> bool:
    return passage.voice is About.AGENT and passage.tool is not None


def _by_turn(passages: Iterator[Passage]) -> dict[int, tuple[str, ...]]:
    texts: dict[int, tuple[str, ...]] = {}
    for passage in passages:
        texts[passage.turn] = (*texts.get(passage.turn, ()), *passage.texts)
    return texts


def _texts_before(transcript: Transcript) -> Iterator[str]:
    for said in transcript.history:
        yield from (text for call in said.tool_calls for text in _call_texts(call))
        yield from _quotable(said.text)


def _passages(transcript: Transcript) -> Iterator[Passage]:
    for turn in transcript.turns:
        yield from _of_turn(turn)
    last = last_turn(transcript)
    if transcript.pending is not None:
        if not transcript.awaits_greeting:
            yield Passage(last, About.USER, _quotable(transcript.pending))
        yield Passage(last, About.AGENT, (NO_REPLY,))
    ended_by = _ENDED_BY.get(transcript.termination) if transcript.termination else None
    yield Passage(last, ended_by, (end_line(transcript),))


def _of_turn(turn: Turn) -> Iterator[Passage]:
    if not turn.is_greeting:
        yield Passage(turn.number, About.USER, _quotable(turn.user))
    for call in turn.reply.tool_calls or ():
        yield Passage(turn.number, About.TOOL, _call_texts(call), call.name)
        yield Passage(turn.number, About.AGENT, _different(_whole_call(call), call_line(call)), call.name)
        if call.agent:
            yield Passage(turn.number, About.AGENT, _quotable(call.agent))
    for request in turn.reply.pending:
        yield from _of_request(turn.number, request)
    yield Passage(turn.number, About.AGENT, _quotable(turn.reply.text))


def _of_request(turn: int, request: PendingRequest) -> Iterator[Passage]:
    """What the agent asked is its word, and the answer the user's. To ask for a call isn't to make it."""
    if request.waits:
        return
    yield Passage(turn, About.AGENT, _different(_whole_request(request), asked_in(request)))
    yield Passage(turn, About.USER, _different(answer_words(request, whole_text), answer_words(request)))
    # Apart from the answer: a second text of one passage means that the first was shown only in part.
    if request.reason:
        yield Passage(turn, About.USER, _quotable(request.reason))


def _whole_request(request: PendingRequest) -> str:
    call = f"{request.tool}({whole_text(dict(request.arguments))})" if request.tool else ""
    return "\n".join(filter(None, (call, whole_text(request.text), *map(whole_text, request.choices))))


def _call_texts(call: ToolCall) -> tuple[str, ...]:
    """The whole call, and the call as it is shown where that differs."""
    outcome = call.result if call.error is None else call.error
    return _different(f"{_whole_call(call)}\n{whole_text(outcome)}", f"{call_line(call)}\n{fitting(outcome)}")


def _whole_call(call: ToolCall) -> str:
    return f"{call.name}({whole_text(dict(call.arguments))})"


def _quotable(text: str) -> tuple[str, ...]:
    return _different(whole_text(text), fitting(text))


def _different(whole: str, shown: str) -> tuple[str, ...]:
    texts = (whole,) if whole == shown else (whole, shown)
    return tuple(text if text.strip() else EMPTY for text in texts)
