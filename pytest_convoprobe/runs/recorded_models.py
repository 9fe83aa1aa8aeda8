"""The models of one process, for pieces of work that are recorded one by one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import TypeVar

from ..cutting import MOST_TEXT
from ..llm.agent_replay import AgentModelCalls
from ..llm.bounded import Bounded
from ..llm.budget import Budget
from ..llm.ledger import Ledger
from ..llm.metered import Metered
from ..llm.port import LLM
from ..llm.recording import Mode, Recording
from ..llm.replay import Replaying
from ..llm.sharing import Sharing
from ..llm.stack import LiveLLM
from ..redaction import Redactor
from ..settings.model_settings import ModelSettings
from ..settings.models import RunSettings
from ..start_time import present

T = TypeVar("T")


class RecordedModels:
    """The way of a trial, or of a benchmark's row, to its models: metered, and by way of its recording.

    `budget` is the one that the models keep to, `max_text` how many characters of a text of theirs are kept.
    """

    def __init__(
        self, llm: LLM, redactor: Redactor, budget: Budget | None = None, max_text: int = MOST_TEXT
    ) -> None:
        self._llm = llm
        self._shared = Sharing(llm)
        self._max_text = max_text
        self._redactor = redactor
        self._budget = budget

    @property
    def live(self) -> bool:
        """Whether these are models over the network, and no replacement of them."""
        return isinstance(self._llm, LiveLLM)

    def preload(self, *models: ModelSettings) -> None:
        """Start the slow imports that calls of these models need, in the background."""
        if isinstance(self._llm, LiveLLM):
            self._llm.preload(*models)

    async def loaded(self) -> None:
        """Wait for an import that has begun. It must not count as the time of anybody's turn."""
        if isinstance(self._llm, LiveLLM):
            await self._llm.loaded()

    async def around(
        self,
        recording: Recording,
        mode: Mode,
        ledger: Ledger,
        work: Callable[[LLM], Awaitable[T]],
        redactor: Redactor | None = None,
        agent: AgentModelCalls | None = None,
    ) -> T:
        """Do a piece of work with the models, with a recording around it; the ledger learns what it costs.

        `redactor` is the one of this work, if it has personal data of its own to mask. `agent` are the calls
        that the agent makes itself, if it has a gateway.
        """
        replaying = Replaying(self._shared, recording, mode, redactor or self._redactor, agent)
        # Live replies are cut already. A recording may have been written by anybody.
        bounded = Bounded(replaying, self._max_text)
        return await replaying.around(work(Metered(bounded, ledger, self._budget)))

    async def aclose(self) -> None:
        """Close the models."""
        await self._llm.aclose()


def start_time(recording: Recording, run: RunSettings, trial: int) -> datetime | None:
    """When a trial's conversation begins; None if it was recorded before that was known.

    A replay has the recorded time: prompts with another one would not fit the recording. Raises
    `RecordingUnusable`.
    """
    replayed = not run.calls_live and recording.has(trial)
    now = run.now or (recording.start_of(trial) if replayed else present())
    if now is not None:
        recording.begin(trial, now)
    return now
