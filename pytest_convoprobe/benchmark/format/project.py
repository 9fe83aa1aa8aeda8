"""A benchmark's folder as a run needs it: both files read, checked, merged with the project's settings."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ...errors import NoTarget, Problem, SettingsError
from ...files import read_file, shown_path
from ...llm.known_models import complaint_on
from ...project_code.agent_environment import own_environment
from ...pseudonyms import Masking
from ...scenario.root import find_root
from ...settings.effective import LoadedSettings
from ...settings.file_formats import empty, parse_yaml
from ...settings.mask_rules import patterns_of
from ...settings.model_settings import ModelSettings
from ...settings.nearest import ProjectSettings
from ...suggest import did_you_mean
from ...yaml_source import Document
from .config import ReadConfig, read_config
from .definition import read_benchmark
from .folder import BenchmarkFolder
from .model_swap import swap_of
from .models import Benchmark, BenchmarkConfig, Metric

_SECTIONS = "generator_model:, targets:, …"
_TARGETS = "targets:\n  - model: openai/gpt-4o-mini\n"


@dataclass(frozen=True)
class LoadedBenchmark:
    """A benchmark that can be run.

    `secrets` are for the redactor, `notices` for the user, such as keys that were set aside. `root` is where
    relative files of targets start from. `masking` is that of the project's `results.mask`.
    """

    folder: BenchmarkFolder
    benchmark: Benchmark
    config: BenchmarkConfig
    secrets: tuple[str, ...] = field(default=(), repr=False)
    notices: tuple[str, ...] = ()
    root: Path = field(default_factory=Path)
    masking: Masking = field(default_factory=Masking)


def load_project(
    dir: Path | str,
    *,
    config_file: Path | None = None,
    target: str | None = None,
    root: Path | None = None,
    replay: str | None = None,
    overrides: Mapping[str, Any] | None = None,
    settings_file: Path | None = None,
    command_line: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
) -> LoadedBenchmark:
    """The benchmark of a folder. Raises `SettingsError` with everything that is wrong with its files.

    `config_file` is read instead of the folder's `config.yaml`; without either, everything comes from the
    project's settings. `target` leaves only targets of these ids (separated by commas). `root` is the
    project's, by default the one around the folder. `overrides` are values by dotted path that come above the
    file (`{"run.concurrency": 4}`); None means not given; `replay` is short for one of them.
    `settings_file` is read instead of the project's own, and `command_line` are overrides of those settings
    (`judge.model`), which come above both files. `environ` is `os.environ` by default.
    In a folder that a validation made, its model is in the place of the one that `config.yaml` names.
    """
    folder = _folder(Path(dir))
    base = find_root(folder.path) if root is None else root
    # Read as for a replay: a variable that is missing matters only if the benchmark makes use of it.
    words = {**(command_line or {}), "run.replay": "only"}
    source = ProjectSettings(base, config_file=settings_file, overrides=words, environ=environ)
    project = _project_settings(source.of(str(folder.benchmark)), (command_line or {}).get("run.replay"))
    # A swapped model comes first: whoever names another one for a run of that folder means it.
    above = {**_swapped(folder), **(overrides or {}), **({"run.replay": replay} if replay else {})}
    (benchmark, notices), found = _both(folder, config_file, project, above, environ)
    return LoadedBenchmark(
        folder,
        benchmark,
        restrict(found.config, target) if target else found.config,
        secrets=(*project.secrets, *found.secrets),
        notices=(*project.notices, *notices, *found.notices),
        root=project.root or base,
        masking=Masking(
            patterns_of(project.settings.results.mask), place=project.origins.get("results.mask", "")
        ),
    )


def restrict(config: BenchmarkConfig, target: str) -> BenchmarkConfig:
    """The configuration with only the targets of the given ids, in its own order. Raises `SettingsError`."""
    known = [entry.id for entry in config.targets]
    wanted = [name.strip() for name in target.split(",") if name.strip()]
    for name in wanted:
        if name not in known:
            near = did_you_mean(name, known) or "."
            targets = ", ".join(known) or "none: `targets` is empty"
            raise SettingsError.of(f"there is no target `{name}`{near} Known targets: {targets}")
    chosen = tuple(entry for entry in config.targets if entry.id in wanted)
    return config.model_copy(update={"targets": chosen}) if wanted else config


def require_complete(benchmark: Benchmark, folder: Path | None = None) -> None:
    """Raises `SettingsError` naming the metrics that lack something, and the command that fills it in."""
    place = shown_path(folder / "benchmark.yaml") if folder else "benchmark.yaml"
    advice = (
        f"    convoprobe bench gen-metrics {shown_path(folder) if folder else 'DIR'}\nwrites what is missing."
    )
    lines = [
        f"the metric {metric.id} lacks {_listed(_lacking(metric))}"
        for metric in benchmark.metrics
        if not metric.complete
    ]
    if not benchmark.metrics:
        lines = ["there are no metrics yet"]
    if lines:
        *first, last = (Problem(line, place) for line in lines)
        raise SettingsError((*first, replace(last, advice=advice)))


def require_models(config: BenchmarkConfig, needed: Collection[str]) -> None:
    """Raises `SettingsError` if a live call of one of these parts of `config.yaml` could not be made.

    They are `targets` and the models, `user_model`. On a replay nothing is missing before a recording is.
    """
    problems = [problem for need in _NEEDED if need in needed for problem in _missing(config, need)]
    if problems:
        # Several roles often lack the same key.
        raise SettingsError(tuple(dict.fromkeys(problems)))


_NEEDED = ("generator_model", "user_model", "evaluator_model", "targets")


def _missing(config: BenchmarkConfig, need: str) -> list[Problem]:
    live = config.run.calls_live
    if need != "targets":
        return _cannot_call(getattr(config, need), need, f"{need}:\n      model: ") if live else []
    if not config.targets:
        return list(NoTarget(file="config.yaml", example=_TARGETS).problems)
    return [
        problem
        for entry in config.targets
        if live and (model := entry.settings.as_model) is not None
        for problem in _cannot_call(model, f"target {entry.id}", "targets:\n      - model: ")
    ]


def _cannot_call(settings: ModelSettings, who: str, section: str) -> list[Problem]:
    if settings.model is None:
        message = f"no model is set for the {who.replace('_model', '')}, and a live call needs one. Set it:"
        return [
            Problem(
                message, "config.yaml", advice=f"    {section}openai/gpt-4o-mini      # any LiteLLM model"
            )
        ]
    unknown = None if settings.unresolved else complaint_on(settings)
    return [
        *(Problem(message) for message in settings.unresolved.values()),
        *([Problem(f"{who.replace('_model', '')}: {unknown}", "config.yaml")] if unknown else []),
    ]


def _lacking(metric: Metric) -> list[str]:
    parts = {
        "a name": metric.name.strip(),
        "a definition": metric.definition.strip(),
        "examples": metric.examples,
    }
    return [what for what, value in parts.items() if not value]


def _listed(words: list[str]) -> str:
    return " and ".join(part for part in (", ".join(words[:-1]), words[-1]) if part)


def _folder(path: Path) -> BenchmarkFolder:
    folder = BenchmarkFolder(Path(os.path.abspath(path.parent if path.name == "benchmark.yaml" else path)))
    if not folder.benchmark.exists():
        what = "there is no benchmark.yaml in it" if folder.path.is_dir() else "there is no such folder"
        message = f"{what}; `convoprobe bench init` writes one to start from"
        raise SettingsError.of(message, file=shown_path(folder.path))
    return folder


def _swapped(folder: BenchmarkFolder) -> dict[str, str]:
    swap = swap_of(folder.path)
    return {f"{swap.section}.model": swap.model} if swap else {}


def _project_settings(loaded: LoadedSettings, replay: str | None) -> LoadedSettings:
    """The settings of the project, with the way to replay that the command line gave."""
    in_file, above = loaded.layers["run"]
    own = above.without("replay")
    above = replace(own, values={**own.values, "replay": replay}) if replay else own
    return replace(loaded, layers={**loaded.layers, "run": (in_file, above)})


def _both(
    folder: BenchmarkFolder,
    config_file: Path | None,
    project: LoadedSettings,
    above: Mapping[str, Any],
    environ: Mapping[str, str] | None,
) -> tuple[tuple[Benchmark, tuple[str, ...]], ReadConfig]:
    """Both files; the problems of both are reported at once."""
    problems: list[Problem] = []
    definition, found = None, None
    try:
        definition = read_benchmark(folder.benchmark)
    except SettingsError as error:
        problems += error.problems
    try:
        document = _config_document(folder, config_file)
        found = read_config(document, project, above, own_environment() if environ is None else environ)
    except SettingsError as error:
        problems += error.problems
    if definition is None or found is None:
        raise SettingsError(tuple(problems))
    return definition, found


def _config_document(folder: BenchmarkFolder, config_file: Path | None) -> Document:
    path = config_file or folder.config
    if config_file is None and not path.exists():
        return empty()
    shown = shown_path(path)
    try:
        return parse_yaml(read_file(path), shown, _SECTIONS)
    except OSError as error:
        raise SettingsError.of(f"cannot be read: {error.strerror}", file=shown) from None
