"""What is known of a run as a whole: `run.json`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from enum import Enum
from typing import Any, TypeVar

from ..errors import ResultsError

VERSION = 1

T = TypeVar("T")


class RunState(str, Enum):
    """How a run ended, or that it hasn't."""

    RUNNING = "running"
    FINISHED = "finished"
    STOPPED = "stopped"  # by -x or --maxfail, before all had their turn
    INTERRUPTED = "interrupted"  # by Ctrl-C, an internal error, a plug-in, or the death of a worker
    BROKEN_OFF = "broken off"  # it never said that it ended, and its process is gone


ENDED_EARLY = {
    RunState.RUNNING: "is still running",
    RunState.STOPPED: "was stopped early",
    RunState.INTERRUPTED: "was interrupted",
    RunState.BROKEN_OFF: "broke off: its process ended without a word",
}
"""What to say of a run that is not finished."""


@dataclass(frozen=True)
class Git:
    """The checkout. `dirty`: it had uncommitted changes."""

    commit: str
    branch: str | None = None
    dirty: bool = False

    @property
    def label(self) -> str:
        """`main 1a2b3c4d+`; the plus marks uncommitted changes."""
        commit = self.commit[:8] + ("+" if self.dirty else "")
        return f"{self.branch} {commit}" if self.branch else commit


@dataclass(frozen=True)
class Ci:
    """The job that ran it: `provider` in the provider's own words, the page of the run, the pull request."""

    provider: str
    url: str | None = None
    pull_request: str | None = None


@dataclass(frozen=True)
class Selection:
    """How much of its project a run was to run.

    `scenarios` are those that were selected, each counted once, and `existing` those that there are. A file
    that was not collected counts as one scenario, for nobody looked into it. `trials` are the selected
    scenarios times their trials; scenarios inside tests are not among them. A scenario that the gate decides
    has one, whatever number of conversations that takes. `in_files` are the `scenarios` without tests; None
    where it isn't known.
    """

    scenarios: int
    existing: int
    trials: int
    in_files: int | None = None

    @property
    def partial(self) -> bool:
        return self.scenarios < self.existing


@dataclass(frozen=True)
class RunInfo:
    """A run's facts. Times are seconds since the epoch; `ended` is None until it ends.

    `versions` maps packages (and `python`) to versions, `settings` sections to their values with
    secrets masked, `models` roles to models, `prices` roles to US dollars per token as far as the
    settings say them, and once it ended also as LiteLLM lists them, if models could be called.
    `counts` has the number of trials by outcome, the last attempt of each counted, and `reruns` the number of
    the attempts before. `judges` has a line on each judge that was called, as the summary had it: what was
    known of it when the run ended. `command` is the command line, masked. `selection` is None where it isn't
    known: earlier releases did not store it.
    """

    id: str
    started: float
    state: RunState = RunState.RUNNING
    ended: float | None = None
    exit_status: int | None = None
    command: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    models: Mapping[str, str] = field(default_factory=dict)
    prices: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    git: Git | None = None
    ci: Ci | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    selection: Selection | None = None
    reruns: int = 0
    judges: tuple[str, ...] = ()

    @property
    def commit(self) -> str | None:
        return self.git.commit if self.git else None

    @property
    def came_to_its_end(self) -> bool:
        """Whether every scenario that was to run had its turn."""
        return self.state is RunState.FINISHED

    def to_json(self) -> dict[str, Any]:
        """Plain data, with the version of the format."""
        data = {"version": VERSION, **asdict(self), "state": self.state.value, "command": list(self.command)}
        data["judges"] = list(self.judges)
        # Runs without any stay what they were to earlier releases.
        return {name: value for name, value in data.items() if value or name not in ("reruns", "judges")}

    @classmethod
    def from_json(cls, data: Any) -> RunInfo:
        """What `to_json` gave; unknown keys are ignored. Raises `ResultsError`."""
        if not isinstance(data, dict) or not isinstance(data.get("version", 1), int):
            raise ResultsError("not a description of a run")
        if data.get("version", 1) > VERSION:
            raise ResultsError(
                f"it has version {data['version']} of the format, this release reads up to {VERSION}"
            )
        try:
            return _info(cls, data)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ResultsError(f"not a description of a run ({type(error).__name__}: {error})") from None


_MAPPINGS = ("versions", "settings", "models", "prices")


def _info(cls: type[RunInfo], data: dict[str, Any]) -> RunInfo:
    known = _known(cls, data)
    return cls(
        **{
            **known,
            "id": str(data["id"]),
            "started": float(data["started"]),
            "ended": None if data.get("ended") is None else float(data["ended"]),
            **{name: dict(data.get(name) or {}) for name in _MAPPINGS},
            "counts": {str(outcome): int(number) for outcome, number in (data.get("counts") or {}).items()},
            "state": RunState(data.get("state", RunState.RUNNING.value)),
            "command": tuple(data.get("command", ())),
            "judges": tuple(map(str, data.get("judges", ()))),
            "git": Git(**_known(Git, data["git"])) if data.get("git") else None,
            "ci": Ci(**_known(Ci, data["ci"])) if data.get("ci") else None,
            "selection": Selection(**_known(Selection, chosen))
            if (chosen := data.get("selection"))
            else None,
        }
    )


def _known(cls: type[Any], data: Mapping[str, Any]) -> dict[str, Any]:
    """Only the fields of the class: a later release may have added others."""
    names = {one.name for one in fields(cls)}
    return {name: value for name, value in data.items() if name in names}
