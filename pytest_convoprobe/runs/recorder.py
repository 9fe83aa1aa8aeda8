"""Stores a run while it goes on.

The process that runs a trial writes it down; the process that the user started describes the run. Under
xdist these are several processes, which know of each other by the run's id alone.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from ..errors import TimeLimitExceeded
from ..files import relative_name
from ..formatting import counted
from ..gate.types import Decision
from ..llm.budget import Spent
from ..llm.ledger import Spending
from ..llm.port import Role
from ..llm.price_list import listed_price
from ..project_code.tracebacks import describe
from ..redaction import Redactor
from ..result import Outcome, ScenarioResult
from ..results.describe_run import describe_run, with_listed_prices
from ..results.fingerprints import NO_PRINTS, Prints, take_prints
from ..results.provenance import new_run_id
from ..results.reading import StoredRun
from ..results.records import TrialRecord, from_record
from ..results.run_info import RunInfo, RunState, Selection
from ..results.spent_calls import add_spending, spent_live
from ..results.writer import MAIN, Entry, RunWriter
from ..settings.loading import LoadedSettings
from ..targets.about import ask_description
from ..targets.port import Description, Target
from ..threads import aside
from .job import Job


class RunRecorder:
    """The part of a stored run that is this process's.

    `command` are the words of the command line, `run_id` and `worker` come from the process that started
    this one, if any. `results` is the folder of stored runs, by default the one of the settings. Without
    `wanted` nothing is stored. Evidence is worth less than a verdict: whatever keeps a trial from being
    stored is one of the `problems`, and never raised.
    """

    def __init__(
        self,
        root: Path,
        load: Callable[[], LoadedSettings],
        *,
        command: Sequence[str],
        run_id: str | None = None,
        worker: str = MAIN,
        results: Path | None = None,
        wanted: bool = True,
    ) -> None:
        self.run_id = run_id or new_run_id()
        self.wanted = wanted
        self.selection: Callable[[], Selection | None] = lambda: None
        """Says what the run selected; asked when the run is described."""
        self.judges: Callable[[], Sequence[str]] = tuple
        """Says what is known of the run's judges, in lines; asked when the run ends."""
        self._root = root
        self._load = load
        self._command = command
        self._worker = worker
        self._results = results
        self._lock = threading.RLock()
        self._waiting: list[TrialRecord] = []
        self._info: RunInfo | None = None
        self._written: RunInfo | None = None
        self._problems: dict[str, None] = {}
        self._prints: dict[tuple[str, int], Prints] = {}
        self._tools_stored: set[str] = set()
        self._describe_targets = True
        self._unstored: list[TrialRecord] = []
        self._carried_away = 0
        self._expected: set[tuple[str, int]] = set()
        self._calls: dict[Role, Spending] = {}
        self._decided: dict[str, Decision] = {}
        self._stopped = False

    @property
    def folder(self) -> Path | None:
        """Where the run is stored; None if nothing of it is."""
        made = "_writer" in self.__dict__ and self._writer.begun
        return self._writer.folder if made else None

    @property
    def problems(self) -> list[str]:
        """What could not be stored and why, in lines for people; those of xdist's workers included."""
        own = self._writer.problem if "_writer" in self.__dict__ else None
        return list(dict.fromkeys([*self._problems, *([own] if own else [])]))

    def take_problem(self, text: str) -> None:
        """A problem that a worker had."""
        self._problems[text] = None

    def expect(self, trials: Iterable[tuple[str, int]]) -> None:
        """These trials were reported, by scenario and number: the stored run must have them."""
        self._expected.update(trials)

    def take_unstored(self, record: Mapping[str, Any]) -> None:
        """A trial that a worker could not store."""
        self._unstored.append(from_record(record))

    def decide(self, decision: Decision) -> None:
        """Store what the gate decided about a scenario that this process ran."""
        self._decided[decision.scenario_id] = decision
        if self.wanted and not self._stopped:
            self._guarded(lambda: self._writer.add_decision(decision))

    @property
    def decided(self) -> Mapping[str, Decision]:
        """All decisions until now, by scenario id; after a rerun the last one."""
        return self._decided

    def take_decision(self, decision: Decision) -> None:
        """A decision of a worker, which stored it itself if the disk took it."""
        self._decided[decision.scenario_id] = decision

    def unstored(self) -> list[dict[str, Any]]:
        """The masked records that could not be stored and that nobody has asked for yet."""
        records = self._writer.unwritten if "_writer" in self.__dict__ else []
        begin, self._carried_away = self._carried_away, len(records)
        return records[begin:]

    def known_run(self) -> StoredRun | None:
        """The run as this process knows it: what is stored, and what could not be; None without either."""
        if "_writer" not in self.__dict__ or self._info is None:
            return None
        records = [*self._unstored, *map(from_record, self._writer.unwritten)]
        if not records and not self._writer.begun:
            return None
        notes = [f"{counted(len(records), 'trial')} of this run could not be stored"] if records else []
        return StoredRun(
            self._writer.folder,
            self._written or self._info,
            notes,
            unstored=records,
            # As they are stored: a name may hold what is masked.
            expected={(self._redactor.text(scenario), trial) for scenario, trial in self._expected},
            decided=self._decided_masked(),
        )

    def _decided_masked(self) -> dict[str, Decision]:
        every = map(self._redactor.record, self._decided.values())
        return {one.scenario_id: one for one in every}

    def begin(self) -> None:
        """Prepare for the first trial, on a thread that may wait: git is asked."""
        if self.wanted and self._info is None:
            self._guarded(self._prepare)

    def describe(self) -> None:
        """Describe the run, if that isn't done: a trial is stored here or in a worker, or soon will be."""
        self.begin()
        if self._written is None or self._waiting:
            self._guarded(self._describe_once)

    async def run(
        self, run: Callable[[Job], Coroutine[Any, Any, ScenarioResult]], job: Job
    ) -> ScenarioResult:
        """Run a job and store its result at once: whoever asked for it may look much later, or never."""
        result = await run(replace(job, on_spent=partial(self._spent, job)))
        if self.wanted and not self._stopped:
            self._guarded(lambda: self._redactor.learn(job.secrets))
            description = Description()
            try:
                description = await self._description(job.target)
            finally:  # also when the run is cancelled meanwhile
                await aside(result.transcript.is_large, lambda: self._store(job, result, description))
        return result

    @property
    def calls(self) -> dict[Role, Spending]:
        """By role, what all calls of the run cost until now, as far as this process knows."""
        known = self.known_run()
        # Workers of xdist have files of their own. The disk may have refused this process's file.
        stored = {} if known is None else known.calls
        return stored if _calls_in(stored) >= _calls_in(self._calls) else dict(self._calls)

    def spent_by(self, worker: str) -> Spent:
        """What a worker of this run has spent, as far as it wrote that down."""
        spent = [Spent()]
        if self.wanted:  # otherwise there is no file that says so
            self._guarded(lambda: spent.append(spent_live(self._writer.folder, worker)))
        return spent[-1]

    def _spent(self, job: Job, role: Role, spent: Spending) -> None:
        with self._lock:
            add_spending(self._calls, {role: spent})
        if self.wanted:
            self._guarded(lambda: self._writer.add_call(job.scenario_id, job.trial, role, spent))

    def unrun(self, record: str) -> None:
        """Store a scenario that had no conversation. `record` is JSON of a stored trial.

        A skipped one alone makes no run: it waits for one that ran.
        """
        trial = from_record(json.loads(record))
        self._waiting.append(trial)
        if trial.result.outcome is not Outcome.SKIPPED:
            self.begin()
        elif self._written is None:
            return
        self._guarded(self._flush)

    def finish(self, state: RunState, exit_status: int) -> None:
        """The run is over; may be called again with another exit status."""
        if self.wanted and self._is_main:
            self._guarded(lambda: self._end(state, exit_status))

    def stop(self) -> None:
        """Store nothing from now on, whatever still ends: the run is over."""
        with self._lock:  # what is being stored at this moment is stored whole
            self._stopped = True

    def close(self) -> None:
        """Let go of the files."""
        if "_writer" in self.__dict__:
            self._writer.close()

    def prints(self, job: Job) -> Prints:
        """The fingerprints of what a trial is made of, as they were stored with it."""
        return self.stored_prints(job.scenario_id, job.trial) or NO_PRINTS

    def stored_prints(self, scenario_id: str, trial: int) -> Prints | None:
        """The fingerprints that were stored with a trial; None if it wasn't stored."""
        return self._prints.get((scenario_id, trial))

    async def _description(self, target: Target) -> Description:
        """How the target describes itself. After one that took too long, none is asked any more."""
        try:
            return await ask_description(target) if self._describe_targets else Description()
        except Exception as error:  # noqa: BLE001 - the project's code, whatever it raises
            self._describe_targets = not isinstance(error, TimeLimitExceeded)
            # The text is the project's: it may hold a secret.
            text = self._redactor.text(describe(error))
            self._problems[f"the target's description is not stored: {text}"] = None
            return Description()

    def _store(self, job: Job, result: ScenarioResult, description: Description) -> None:
        with self._reported():
            prints = take_prints(job.loaded.scenario, job.settings, description, self._redactor)
            entry = self._entry(result, prints)
            with self._lock:
                if not self._stopped:
                    self._prints[job.scenario_id, job.trial] = prints
                    self._writer.append(entry)
                    self._store_tools(prints, description)
                    self._describe_once()

    def _store_tools(self, prints: Prints, description: Description) -> None:
        """Once for each set of tools: it is the same for all trials of a target."""
        if prints.target_tools and prints.target_tools not in self._tools_stored:
            self._tools_stored.add(prints.target_tools)
            self._writer.add_tools(prints.target_tools, description.tools or ())

    @property
    def results(self) -> Path:
        """The folder of stored runs."""
        return self._results or self._root / self._settings.settings.results.dir

    @cached_property
    def _writer(self) -> RunWriter:
        return RunWriter(self.results, self.run_id, worker=self._worker, redactor=self._redactor)

    @cached_property
    def _settings(self) -> LoadedSettings:
        return self._load()

    @cached_property
    def _redactor(self) -> Redactor:
        return Redactor(self._settings.secrets)

    @property
    def _is_main(self) -> bool:
        return self._worker == MAIN

    def _guarded(self, act: Callable[[], None]) -> None:
        with self._lock, self._reported():
            act()

    @contextlib.contextmanager
    def _reported(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # noqa: BLE001
            self._problems[f"this run is not stored whole: {type(error).__name__}: {error}"] = None

    def _prepare(self) -> None:
        """Make the writer, and look around once."""
        if self._info is None and self._writer and self._is_main:
            info = describe_run(self.run_id, self._settings, command=self._command, folder=self._root)
            # Here, and not only when it is written: the page of this run is made of what is known by heart.
            self._info = self._redactor.record(replace(info, selection=self.selection()))

    def _entry(self, result: ScenarioResult, prints: Prints) -> Entry:
        return self._writer.entry(replace(result, file=relative_name(result.file, self._root)), prints)

    def _describe_once(self) -> None:
        """Describe the run as soon as there is something to describe."""
        if self._info is not None and self._written is None:
            self._written = self._info
            self._writer.write_info(self._info)
        if self._is_main:
            self._flush()

    def _flush(self) -> None:
        """Write down what had no conversation."""
        while self._waiting:
            trial = self._waiting.pop(0)
            self._writer.append(self._entry(trial.result, trial.prints))
            self._describe_once()

    def _end(self, state: RunState, exit_status: int) -> None:
        known = self.known_run()
        if known is None or self._info is None:
            return
        if self._written and self._written.exit_status == exit_status:
            return
        self._describe_once()
        self._written = replace(
            with_listed_prices(self._info, self._settings, listed_price),
            state=state,
            ended=time.time(),
            exit_status=exit_status,
            counts=known.counts,
            reruns=known.reruns,
            selection=self._info.selection or self.selection(),
            judges=tuple(map(self._redactor.text, self.judges())),
        )
        self._writer.write_info(self._written)


def _calls_in(spent: Mapping[Role, Spending]) -> int:
    return sum(one.calls for one in spent.values())
