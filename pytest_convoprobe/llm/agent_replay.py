"""Answers the agent's own model calls from a recording, and records those that were made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from ..errors import ReplayMiss
from ..formatting import counted as number_of
from ..redaction import Redactor
from ..settings.volatile_parts import VolatileParts
from .agent_fingerprint import AgentFingerprints
from .fingerprint import Fingerprint
from .misses import miss
from .port import CallContext, Role
from .protocols import ModelAnswer, ModelProtocol, protocol_of, read_answer
from .protocols.failing import is_providers_failure
from .protocols.rewriting import with_texts
from .recorded_answer import RecordedAnswer
from .recording import Mode, Recording
from .recording_format import RecordedCall


@dataclass(frozen=True)
class AgentRequest:
    """One call of the agent, as it came. `said` are the user's messages until then."""

    method: str
    path: str
    body: bytes = field(repr=False)
    turn: int
    said: Sequence[str] = field(default=(), repr=False)

    @property
    def protocol(self) -> ModelProtocol:
        return protocol_of(self.path)

    def fingerprint(self, fingerprints: AgentFingerprints) -> Fingerprint:
        return fingerprints.of(self.method, self.path, self.body, self.said)


@dataclass(frozen=True)
class CountedCall:
    """A call of the agent's and its numbers: in its turn, and among equal ones of the trial, from 1."""

    call: AgentRequest
    fingerprint: Fingerprint
    ordinal: int
    repeat: int


class AgentModelCalls:
    """The agent's own model calls in one trial, by way of the trial's recording.

    The modes are those of `Replaying`, which writes the recording for both. Nothing here awaits anything:
    which call gets which answer depends on the order of the calls alone.
    """

    def __init__(
        self,
        recording: Recording,
        mode: Mode,
        redactor: Redactor,
        trial: int = 1,
        volatile: VolatileParts | None = None,
    ) -> None:
        self.trial = trial
        self.redactor = redactor
        self.replayed: list[RecordedCall] = []
        """The recorded calls that were answered with, at the place that they have now."""
        self.added = False
        """Whether the recording has new calls."""
        self._recording = recording
        self.mode = mode
        self._fingerprints = AgentFingerprints(redactor, volatile)
        # When an old recording was made, less was masked: there, the same call has another fingerprint.
        self._earlier = [AgentFingerprints(one, volatile) for one in redactor.earlier()]
        self._made: Counter[int] = Counter()
        self._equal: Counter[str] = Counter()

    @property
    def may_replay(self) -> bool:
        """Whether recorded answers are used."""
        return self.mode in ("auto", "only")

    def begin(self, call: AgentRequest) -> CountedCall:
        """A call has come. Raises `SettingsError` if an expression of the project's takes too long."""
        fingerprint = call.fingerprint(self._fingerprints)
        self._made[call.turn] += 1
        self._equal[fingerprint.digest] += 1
        return CountedCall(call, fingerprint, self._made[call.turn], self._equal[fingerprint.digest])

    def answer(self, counted: CountedCall) -> RecordedAnswer | None:
        """The recorded answer, with known personal data in it again; None if the call is to be made.

        Of equal calls in the trial, the first gets the first recorded answer, in whichever turn. Raises
        `ReplayMiss`, and `RecordingUnusable`.
        """
        if self.mode == "record" and not self.added:
            # Before money is spent: the file may come from a later release, and must not be overwritten.
            self._recording.check()
        if not self.may_replay:
            return None
        found = self._recorded(counted)
        if found is not None and found.answer is not None:
            self.replayed.append(replace(found, turn=counted.call.turn, ordinal=counted.ordinal))
            return self._as_sent(found.answer, counted)
        if self.mode == "only":
            raise ReplayMiss(self._miss(counted))
        return None

    def _recorded(self, counted: CountedCall) -> RecordedCall | None:
        recorded = self._recording.of_role(self.trial, Role.AGENT)
        found = _nth(recorded, counted.fingerprint, counted.repeat)
        for earlier in () if found else self._earlier:
            found = found or _nth(recorded, counted.call.fingerprint(earlier), counted.repeat)
        return found

    def _miss(self, counted: CountedCall) -> str:
        context = CallContext(Role.AGENT, trial=self.trial, turn=counted.call.turn)
        used = frozenset(used.request.digest for used in self.replayed)
        return miss(self._recording, context, counted.fingerprint, counted.ordinal, counted.repeat, used)

    def none_came(self) -> None:
        """No call came in the whole conversation. Raises `ReplayMiss` if a replay has some.

        An agent that calls models in another way was not replayed, whatever it said.
        """
        recorded = len(self._recording.of_role(self.trial, Role.AGENT)) if self.mode == "only" else 0
        if recorded:
            raise ReplayMiss(_NONE_CAME.format(number_of(recorded, "model call")))

    def keep(self, counted: CountedCall, answer: RecordedAnswer) -> bool:
        """Take in the whole answer to a call that was made; False if it is a failure that passes."""
        if self.mode == "off" or _passes(answer, counted.call.protocol):
            return False
        self._learn(answer, counted)
        stored = replace(
            answer,
            body=self._changed(answer, self.redactor.text, masks=True),
            packed=counted.call.protocol is ModelProtocol.EMBEDDINGS,
        )
        place = self.trial, Role.AGENT, counted.call.turn, counted.ordinal
        self._recording.add(RecordedCall(*place, counted.fingerprint, answer=stored))
        self.added = True
        return True

    def _as_sent(self, answer: RecordedAnswer, counted: CountedCall) -> RecordedAnswer:
        self._learn(answer, counted)
        return replace(answer, body=self._changed(answer, self.redactor.restored))

    def _learn(self, answer: RecordedAnswer, counted: CountedCall) -> None:
        """A later call may continue this answer by its id alone."""
        if counted.call.protocol is ModelProtocol.RESPONSES:
            identifier = _read(answer, counted.call.protocol).response_id
            for fingerprints in (self._fingerprints, *self._earlier):
                fingerprints.answered(identifier, counted.fingerprint)

    @staticmethod
    def _changed(answer: RecordedAnswer, change: Callable[[str], str], *, masks: bool = False) -> bytes:
        return with_texts(_content_type(answer), answer.body, change, masks=masks)


_NONE_CAME = (
    "the recording has {} of the agent in this trial, but none came through the gateway (target.models) now: "
    "the agent no longer uses the gateway, so it was not replayed. Usual reasons: an address is written in "
    "its code; its client was made before the first scenario; or it is a service that wasn't started by "
    "`convoprobe gateway -- COMMAND` and doesn't use `{{{{ model_url }}}}`. Have it use the gateway again; "
    "if it doesn't call models any more, record again"
)


def _nth(recorded: Sequence[RecordedCall], fingerprint: Fingerprint, number: int) -> RecordedCall | None:
    same = [call for call in recorded if call.request.digest == fingerprint.digest]
    return same[number - 1] if number <= len(same) else None


def _passes(answer: RecordedAnswer, protocol: ModelProtocol) -> bool:
    """Whether the answer is a failure of the moment, or of the key: a replay would only repeat it."""
    if is_providers_failure(answer.status):
        return True
    if answer.status >= 300 or protocol is ModelProtocol.UNKNOWN:
        return False
    read = _read(answer, protocol)
    return read.error is not None or not read.complete


def _read(answer: RecordedAnswer, protocol: ModelProtocol) -> ModelAnswer:
    return read_answer(protocol, _content_type(answer), answer.body)


def _content_type(answer: RecordedAnswer) -> str:
    return answer.headers.get("content-type", "")
