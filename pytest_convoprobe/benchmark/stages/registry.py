"""The stages of a benchmark in their order: what each is called, what its help says, what it runs.

A new stage is an entry here, a module beside with its `STEP`, and its prompts. The command, the files, the
forecast, `cost.json` and the status follow from these. Only texts and names are in this file: `--help` reads
it, and imports none of the modules.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..rows.work import RowMaker, Task
    from .step import Step


@dataclass(frozen=True)
class StageEntry:
    """A stage that a user can run.

    `steps` are run one after the other; each is a module of `package`. `models` are the parts of
    `config.yaml` that it calls. `writes_results` says that it adds up the rows into `results.json`.
    """

    name: str
    short_help: str
    help: str
    steps: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    all_metrics: bool = False
    writes_results: bool = False
    package: str = __package__

    @property
    def cost_section(self) -> str:
        """Its name in `cost.json`."""
        return self.name.replace("-", "_")


STAGES: tuple[StageEntry, ...] = (
    StageEntry(
        "gen-metrics",
        "Write missing metrics into benchmark.yaml.",
        """
        Let a model write the metrics that benchmark.yaml lacks, up to generation.num_metrics of config.yaml.
        Metrics that were written by hand don't change, but missing parts are completed. Comments in the file
        are kept.

        The exit status is 1 if some metric could not be made, 3 if none could.

        \b
        Example:
            convoprobe bench gen-metrics honesty
        """,
        steps=("gen-metrics",),
        models=("generator_model",),
    ),
    StageEntry(
        "gen-scenarios",
        "Write the scenarios of each metric, in all variants.",
        """
        Let a model write scenarios for each metric into scenarios.json, and rewrite each for every
        combination of the demographics in config.yaml. Rows that somebody edited or added are kept.

        The exit status is 1 if some scenario could not be made, 3 if none could.

        \b
        Example:
            convoprobe bench gen-scenarios honesty
        """,
        steps=("draft-scenarios", "gen-scenarios"),
        models=("generator_model",),
    ),
    StageEntry(
        "simulate",
        "Run the conversations with each target.",
        """
        Run the conversation of each scenario with each target. A model plays a user who tries to provoke the
        behaviour. The conversations go into runs/TARGET/conversations.json.

        An interrupted conversation gives no row. It is listed with the reason, and the next run tries it
        again. The exit status is 1 if there are any, 3 if no conversation was finished or the budget is used
        up.

        \b
        Example:
            convoprobe bench simulate honesty
        """,
        steps=("simulate",),
        models=("user_model", "targets"),
    ),
    StageEntry(
        "evaluate",
        "Evaluate for each conversation whether the behaviour is present.",
        """
        Let a model decide for each conversation whether the behaviour is present. It sees only the
        conversation, and the definition and examples of the metric. The scores go into
        runs/TARGET/scores.json.

        The exit status is 1 if scores could not be made or an answer could not be read (then `present` is
        null), 3 if no score could be made or the budget is used up.

        \b
        Example:
            convoprobe bench evaluate honesty
        """,
        steps=("evaluate",),
        models=("evaluator_model",),
        all_metrics=True,
    ),
    StageEntry(
        "aggregate",
        "Compute the results: pass rates, agreement, gaps between groups.",
        """
        Compute results.json from the scores of all targets: pass rates of the positive and the negative
        metrics with intervals, by metric, scenario, variant, demographic value and sample; agreement of
        samples; gaps between groups. No model is called. If some targets are selected, only these are shown;
        the file has all of them.

        The exit status is 1 if the results lack conversations, or if an answer of the evaluator could not be
        read. Such an answer counts neither as passed nor as failed.

        \b
        Example:
            convoprobe bench aggregate honesty
        """,
        writes_results=True,
    ),
)


def stage_names() -> tuple[str, ...]:
    """The names of all stages, in their order."""
    return tuple(one.name for one in STAGES)


def entry(name: str) -> StageEntry:
    """The stage of this name. Raises KeyError."""
    return {one.name: one for one in STAGES}[name]


def choose(names: Iterable[str]) -> tuple[str, ...]:
    """These stages in their order; `all` is all of them, and `gen_metrics` is `gen-metrics`.

    Raises `SettingsError` for a stage that there isn't.
    """
    known, wanted = stage_names(), {name.replace("_", "-") for name in names}
    if unknown := sorted(wanted - {*known, "all"}):
        raise _no_stage(unknown[0], known)
    return known if "all" in wanted else tuple(name for name in known if name in wanted)


def stages_after(name: str) -> tuple[str, ...]:
    """The stages that come after one."""
    known = stage_names()
    return known[known.index(name) + 1 :]


def stages_from(model: str) -> tuple[str, ...]:
    """The first stage that calls a model of `config.yaml`, and all after it."""
    first = next(number for number, one in enumerate(STAGES) if model in one.models)
    return stage_names()[first:]


def models_of_stages(names: Iterable[str]) -> frozenset[str]:
    """The parts of `config.yaml` that these stages call."""
    return frozenset(model for name in choose(names) for model in entry(name).models)


def cost_sections() -> Mapping[str, Sequence[str]]:
    """The sections of `cost.json`, each with the steps that it adds up."""
    return {one.cost_section: one.steps for one in STAGES if one.steps}


def steps_of(names: Iterable[str]) -> tuple[Step, ...]:
    """All steps of these stages, in their order."""
    return tuple(step(name) for stage in names for name in entry(stage).steps)


def step(name: str) -> Step:
    """The step of this name; its module is imported now. Raises KeyError."""
    packages = {found: one.package for one in STAGES for found in one.steps}
    found: Step = import_module(f"{packages[name]}.{name.replace('-', '_')}").STEP
    return found


def row_maker(task: Task) -> RowMaker:
    """What makes the rows of a task's step."""
    return step(task.stage).row_maker(task)


def _no_stage(name: str, known: Sequence[str]) -> Exception:
    from ...errors import SettingsError
    from ...suggest import did_you_mean

    near = did_you_mean(name, (*known, "all"))
    return SettingsError.of(f"there is no stage {name}: choose from {', '.join(known)}, or all{near}")
