"""What was said and done in a conversation: data for all other parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Any, Literal

from .cutting import exceeds
from .text import is_blank
from .thoughts import without_thoughts

MOST_TOKENS = 10**9
"""More than any model takes in and writes in one call: a larger count is a mistake of whoever reports it."""


_LARGE = 100_000


def token_count(value: object) -> int | None:
    """The value, if it can be a count of one call's tokens: a whole number from 0 to `MOST_TOKENS`."""
    # A negative count would give a budget back what it has spent, and a huge one would use it up.
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return int(value) if 0 <= value <= MOST_TOKENS else None


@dataclass(frozen=True)
class Usage:
    """Tokens of one call or of many."""

    prompt_tokens: int = 0
    completion_tokens: int = 0

    @property
    def total(self) -> int:
        return self.prompt_tokens + self.completion_tokens

    def beyond(self, other: Usage) -> Usage:
        """What is left of these tokens without the others; nothing is less than zero."""
        return Usage(
            max(0, self.prompt_tokens - other.prompt_tokens),
            max(0, self.completion_tokens - other.completion_tokens),
        )

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
        )


class CallKind(str, Enum):
    """What an agent called: a tool, another agent that goes on in its place, or one that works for it."""

    TOOL = "tool"
    HANDOFF = "handoff"
    SUB_AGENT = "sub_agent"


@dataclass(frozen=True)
class ToolCall:
    """One call of a tool by the target.

    `arguments` are the parsed arguments. `result` is the tool's return value (any JSON value or text),
    `error` the text of its exception. `latency` is in seconds, None if unknown. `executed` is False for a
    call that was never carried out: the tool doesn't exist, its arguments can't be used, or it was refused.
    `unreported` names the parts, `"arguments"` and `"result"`, of which the target says nothing, and `cut`
    those of which only a part was kept, since they are longer than `run.max_text`.

    `id` is the call's own id, and `parent` the id of the call inside which it was made, both empty if the
    target doesn't report them. `agent` is the name of the agent that called. Calls that were asked for
    together share a `group`. `fault` says in words which fault was injected (see `faults:` of a scenario).
    `on_wire` says that the target does not report the call: the gateway saw the agent's model ask for it.
    """

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    result: Any = None
    error: str | None = None
    latency: float | None = None
    executed: bool = True
    unreported: tuple[str, ...] = field(default=(), compare=False)
    cut: tuple[str, ...] = field(default=(), compare=False)
    id: str = field(default="", compare=False)
    parent: str = field(default="", compare=False)
    agent: str = ""
    group: str = field(default="", compare=False)
    kind: CallKind = CallKind.TOOL
    fault: str = ""
    on_wire: bool = False

    @property
    def failed(self) -> bool:
        """Whether it did nothing: it was never carried out, or it ended in an error."""
        return self.error is not None or not self.executed

    @property
    def is_unanswered(self) -> bool:
        """Whether a model asked for it, and nobody knows whether it was carried out."""
        return self.on_wire and "result" in self.unreported


@dataclass(frozen=True)
class ModelCall:
    """One call of the agent to a model, as the gateway saw it.

    `model` is the name that the agent asked for. `protocol` is `chat_completions`, `responses`, `messages`,
    `embeddings`, or empty for anything else. `usage` is None if the answer does not say it, and `cost`, in US
    dollars, if the price is not known; a call without an answer, and one that was refused, used nothing.
    `seconds` is the time until the last byte. `fault` says in words which fault was injected. `problem` says
    why the agent got no usable answer, be it by that fault. `lost` says that this was a failure of the
    provider after which no equal request was answered. `unrecorded` says that no replay finds the call: it
    was made, and neither it nor an equal later one is in the recording.
    """

    model: str = ""
    protocol: str = ""
    usage: Usage | None = None
    cost: float | None = None
    seconds: float = 0.0
    replayed: bool = False
    fault: str = ""
    problem: str = ""
    lost: bool = False
    unrecorded: bool = False


@dataclass(frozen=True)
class WireSeen:
    """What the gateway saw of the agent's own calls to models in one turn; empty if there were none.

    `gives` names the parts of the reply, `"tool_calls"` and `"usage"`, that come from here, because the
    target does not report them. `unclear` says in words why there may be tool calls that the gateway did not
    see. `remarks` say where this and the target's own report differ.
    """

    calls: tuple[ModelCall, ...] = ()
    gives: tuple[str, ...] = ()
    unclear: str = ""
    remarks: tuple[str, ...] = ()

    @property
    def usage(self) -> Usage | None:
        """The tokens of all calls; None if one of them is not known, or if there was no call."""
        known = [call.usage for call in self.calls if call.usage is not None]
        return sum(known, Usage()) if known and len(known) == len(self.calls) else None

    @property
    def cost(self) -> float | None:
        """US dollars for all calls; None if one of them is not known, or if there was no call."""
        known = [call.cost for call in self.calls if call.cost is not None]
        return sum(known) if known and len(known) == len(self.calls) else None

    @property
    def seconds(self) -> float:
        """The time of all calls together: more than the turn took, where some were made at once."""
        return sum(call.seconds for call in self.calls)

    @property
    def models(self) -> tuple[str, ...]:
        """The names of the models that were called, each once."""
        return tuple(dict.fromkeys(call.model for call in self.calls if call.model))


@dataclass(frozen=True)
class PendingRequest:
    """Something for which the agent waits for a person: a permission to call a tool, or an answer.

    `kind` is `"approval"` or `"question"`. `text` is what the agent asks, `tool` and `arguments` the call
    that waits, `choices` the answers that it offers. `answer` is None while it waits, then `"approve"`,
    `"reject"` or the words that were given, which permit nothing; `reason` was said with it. `after` says how
    many calls of the turn were made before it came up.
    """

    id: str
    kind: Literal["approval", "question"] = "approval"
    text: str = ""
    tool: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    choices: tuple[str, ...] = ()
    answer: str | None = None
    reason: str = ""
    after: int = field(default=0, compare=False)

    @property
    def is_approval(self) -> bool:
        """Whether a call of a tool waits for it."""
        return self.kind == "approval"

    @property
    def waits(self) -> bool:
        """Whether nobody has answered it yet."""
        return self.answer is None


@dataclass(frozen=True)
class Reply:
    """What a target answers to one message.

    `tool_calls` are in the order of the calls. `None` means that the target doesn't report tool calls,
    `()` that it made none. `usage` is None if the target doesn't report tokens. `ended` says that the agent
    has closed the conversation with this reply: it gets no further message. `thoughts` are what the target
    wrote for itself alone: neither the user nor the judge gets them. A `text` with `<think>…</think>` is
    divided into both. `gaps` says in words why `tool_calls` or `usage` is None, by the name of the part; it
    is not stored. `cut` names the parts, `"text"` and `"thoughts"`, of which only a part was kept, since they
    are longer than `run.max_text`. `pending` are the requests to a person that came up with this reply,
    answered or not. `startup` is the time in seconds that was spent on starting something, such as a
    server: it isn't part of the turn's latency. `wire` is what the gateway saw; None without a gateway. A
    target leaves it alone.
    """

    text: str
    # Not `()`: what nobody mentions must not pass for "no tool was called".
    tool_calls: tuple[ToolCall, ...] | None = None
    usage: Usage | None = None
    ended: bool = False
    thoughts: str = ""
    gaps: Mapping[str, str] = field(default_factory=dict, compare=False)
    cut: tuple[str, ...] = field(default=(), compare=False)
    pending: tuple[PendingRequest, ...] = ()
    startup: float = field(default=0.0, compare=False)
    wire: WireSeen | None = None

    def __post_init__(self) -> None:
        if self.tool_calls is not None and not isinstance(self.tool_calls, tuple):
            object.__setattr__(self, "tool_calls", tuple(self.tool_calls))
        # Here, because replies are made in many places: no door can hand thoughts on as words. Code of a
        # project may put anything into `text`; whoever reads the reply says that it is wrong.
        said, thought = without_thoughts(self.text) if isinstance(self.text, str) else (self.text, "")
        if thought or said != self.text:
            object.__setattr__(self, "text", said)
            object.__setattr__(self, "thoughts", "\n\n".join(filter(None, (self.thoughts, thought))))

    @property
    def knows_calls(self) -> bool:
        """Whether `tool_calls` are all there were: they are reported, or were seen without a gap."""
        unclear = self.wire is not None and "tool_calls" in self.wire.gives and bool(self.wire.unclear)
        return self.tool_calls is not None and not unclear


def not_kept(parts: tuple[str, ...]) -> str:
    """What a report says about parts that were cut: `only a part was kept (run.max_text): text`."""
    return f"only a part was kept (run.max_text): {', '.join(parts)}"


class Origin(str, Enum):
    """Where a user message comes from."""

    INITIAL = "initial"
    SCRIPT = "script"
    SIMULATED = "simulated"
    GREETING = "greeting"
    """There is no message: the agent speaks first."""


GREETING_TURN = 0
"""The number of the turn in which the agent speaks first."""


@dataclass(frozen=True)
class Turn:
    """One user message and the target's reply to it; `number` counts from 1, `latency` in seconds.

    Where the agent speaks first, its greeting is the reply of turn 0, in which `user` is empty. That turn
    isn't one of those that limits of turns count.
    """

    number: int
    user: str
    reply: Reply
    origin: Origin = Origin.SIMULATED
    latency: float = 0.0

    @property
    def is_greeting(self) -> bool:
        """Whether the agent spoke first, and no user message is part of it."""
        return self.number == GREETING_TURN


def with_user(turns: Sequence[Turn]) -> tuple[Turn, ...]:
    """The turns in which the user said something: all but the greeting."""
    return tuple(turn for turn in turns if not turn.is_greeting)


@dataclass(frozen=True)
class SaidBefore:
    """A message from before the conversation, which the scenario gives (`synthetic_user.history`).

    `by_agent` says which side wrote it, `tool_calls` what the agent called before. None of it is evidence.
    """

    text: str
    by_agent: bool = False
    tool_calls: tuple[ToolCall, ...] = ()


class Termination(str, Enum):
    """Why a conversation ended."""

    USER_DONE = "user_done"
    USER_GAVE_UP = "user_gave_up"
    MAX_TURNS = "max_turns"
    AGENT_ENDED = "agent_ended"
    LOOP = "loop"
    TARGET_ERROR = "target_error"
    TIMEOUT = "timeout"
    BUDGET = "budget"
    SIMULATOR_ERROR = "simulator_error"
    INFRASTRUCTURE_ERROR = "infrastructure_error"
    CANCELLED = "cancelled"


@dataclass(frozen=True)
class Transcript:
    """A conversation: its turns, why it ended, and the message without a reply, if there is one.

    `pending` is the user message that was waiting for a reply when the conversation was interrupted, and
    `pending_calls` and `pending_usage` are the tool calls and the tokens that the target had made and used
    for it by then, as far as it reports them. `pending_requests` are what it asked a person meanwhile.
    `unsaid` counts the messages of the script that were not sent, since the agent ended the conversation.
    `now` is when the conversation began, with the zone: the user and the judge were given that time. It is
    None for one that was recorded or stored before that was known. `pending_wire` is what the gateway saw
    for the message without a reply. `replayed` says that calls of the agent's model were answered from a
    recording: then it was faster than it is. It is not stored: what was spent says the same. `pending` is
    empty where an agent that was to speak first did not. `history` was said before, and isn't evidence.
    """

    turns: tuple[Turn, ...] = ()
    termination: Termination | None = None
    pending: str | None = None
    unsaid: int = 0
    now: datetime | None = None
    pending_calls: tuple[ToolCall, ...] = ()
    pending_usage: Usage | None = None
    pending_requests: tuple[PendingRequest, ...] = ()
    pending_wire: WireSeen | None = None
    replayed: bool = field(default=False, compare=False)
    history: tuple[SaidBefore, ...] = ()

    @property
    def user_turns(self) -> tuple[Turn, ...]:
        """The turns that limits of turns count: all but the agent's greeting."""
        return with_user(self.turns)

    @property
    def last_turn(self) -> int:
        """The number of the last turn, including one without a reply; 0 if there is none, or a greeting."""
        last = self.turns[-1].number if self.turns else 0
        return last if self.pending is None or self.awaits_greeting else last + 1

    @property
    def awaits_greeting(self) -> bool:
        """Whether the agent was to speak first, and said nothing."""
        return self.pending == "" and not self.turns

    @property
    def wire(self) -> tuple[tuple[int, WireSeen], ...]:
        """What the gateway saw in each turn, with the number of the turn; empty without a gateway."""
        seen = [(turn.number, turn.reply.wire) for turn in self.turns]
        pending = (self.last_turn, self.pending_wire)
        return tuple((number, one) for number, one in (*seen, pending) if one is not None)

    @property
    def tool_calls(self) -> tuple[tuple[int, ToolCall], ...]:
        """Every tool call with the number of its turn, in order."""
        return tuple((turn.number, call) for turn in self.turns for call in turn.reply.tool_calls or ())

    @property
    def is_large(self) -> bool:
        """Whether to go over its texts would keep others waiting on the same event loop."""
        calls = [*(call for _, call in self.tool_calls), *self.pending_calls]
        said = [[turn.user, turn.reply.text, turn.reply.thoughts] for turn in self.turns]
        requests = [*(one for turn in self.turns for one in turn.reply.pending), *self.pending_requests]
        asked = [[one.text, dict(one.arguments)] for one in requests]
        return exceeds(
            [said, asked, [[dict(call.arguments), call.result, call.error] for call in calls]], _LARGE
        )

    @property
    def is_silent(self) -> bool:
        """Whether the target was asked, and no reply has anything that can be seen."""
        # An agent that only greets gives no user an answer.
        turns = self.user_turns or self.turns
        return bool(turns) and all(is_blank(turn.reply.text) for turn in turns)

    @property
    def reports_tools(self) -> bool:
        """Whether the target reports tool calls in at least one reply."""
        return any(turn.reply.tool_calls is not None for turn in self.turns)

    @property
    def usage(self) -> Usage | None:
        """The target's tokens, or None if it did not report them in every turn."""
        known = [turn.reply.usage for turn in self.turns if turn.reply.usage is not None]
        # A sum over some of the turns would look like a small total.
        return sum(known, Usage()) if known and len(known) == len(self.turns) else None
