"""What a user reads of a `benchmark.yaml`, and how the two files of a folder come together."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

from pytest_convoprobe.benchmark.format.models import Gate, MetricType
from pytest_convoprobe.benchmark.format.project import (
    LoadedBenchmark,
    load_project,
    require_complete,
    require_models,
)
from pytest_convoprobe.benchmark.stages.registry import models_of_stages
from pytest_convoprobe.errors import SettingsError

Load = Callable[..., LoadedBenchmark]
WHOLE = "{id: m01, name: Asks, definition: It asks., examples: [Why?]}"


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Load:
    """`load(benchmark.yaml, config.yaml, convoprobe.yaml)` reads the folder `bench` of a project."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pytest.ini").touch()
    (tmp_path / "bench").mkdir()

    def _load(
        text: str = "name: b", config: str | None = None, project: str = "", **options
    ) -> LoadedBenchmark:
        Path("bench/benchmark.yaml").write_text(dedent(text), encoding="utf-8")
        if config is not None:
            Path("bench/config.yaml").write_text(dedent(config), encoding="utf-8")
        Path("convoprobe.yaml").write_text(dedent(project), encoding="utf-8")
        return load_project("bench", environ={}, **options)

    return _load


@pytest.fixture
def refuse(load: Load) -> Callable[..., str]:
    """The words of the error."""

    def _refuse(*texts: str, **options) -> str:
        with pytest.raises(SettingsError) as caught:
            load(*texts, **options)
        return str(caught.value)

    return _refuse


def test_a_whole_file_is_read(load: Load) -> None:
    loaded = load(
        """
        name: Coaching
        description: A coach that doesn't flatter.
        scenario: {user_context: People at work.}
        gate: {min_pass_rate: 0.8, max_group_gap: 0.1, bound: lower}
        metrics:
          - id: flattery
            name: Avoid flattery
            type: negative
            definition: It flatters.
            examples: [Great idea!]
        """
    )
    (metric,) = loaded.benchmark.metrics
    assert (metric.id, metric.type, metric.examples) == ("flattery", MetricType.NEGATIVE, ("Great idea!",))
    assert loaded.benchmark.scenario.user_context == "People at work."
    assert loaded.benchmark.gate == Gate(min_pass_rate=0.8, max_group_gap=0.1, bound="lower")
    assert loaded.notices == ()


def test_a_metric_without_an_id_is_called_by_its_place(load: Load) -> None:
    loaded = load("name: b\nmetrics: [{id: x}, {name: Second}, {id: '', name: Third}]")
    assert [metric.id for metric in loaded.benchmark.metrics] == ["x", "m02", "m03"]


def test_what_was_begun_but_left_empty_is_not_there_yet(load: Load) -> None:
    loaded = load(
        "name: b\ndescription:\nscenario:\ngate:\nmetrics:\n- name: x\n  definition:\n  examples:\n"
    )
    assert loaded.benchmark.metrics[0].examples == ()
    assert loaded.benchmark.gate is None


def test_a_key_that_is_nearly_ours_is_a_problem(refuse) -> None:
    assert refuse("name: b\nmetrics:\n  - name: x\n    definitoin: y\n") == (
        "bench/benchmark.yaml:4:5: metrics[0].definitoin: unknown key; did you mean `definition`? "
        "Valid here: id, name, type, definition, examples\n"
        "        definitoin: y\n"
        "        ^"
    )


def test_a_key_of_another_system_is_set_aside_with_a_notice(load: Load) -> None:
    loaded = load("name: b\nweight: 3\nmetrics:\n  - name: x\n    rationale: y\n")
    assert loaded.notices == (
        "bench/benchmark.yaml:2: `weight` has no meaning here and was set aside",
        "bench/benchmark.yaml:5: `metrics[0].rationale` has no meaning here and was set aside",
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "bench/benchmark.yaml:1:1: the file is empty; a benchmark has at least a `name`"),
        ("- a", "bench/benchmark.yaml:1:1: a benchmark is a mapping (name:, description:, metrics:)"),
        ("name: a\n---\nname: b", "a benchmark is one YAML document; this begins another one"),
        ("description: x", "name: this key is required, and it is missing"),
        ("name: ' '", "name: the benchmark's name must not be empty"),
        ("name: 5", "name: must be text, got the number 5; put it in quotes if you mean the text"),
        ("name: b\nname: c", "the key `name` is given twice"),
        ("name: b\nmetrics: Asks", 'metrics: must be a list, got the text "Asks"; begin each item with `- `'),
        (
            "name: b\nmetrics: [Asks]",
            "metrics[0]: must be a mapping with the keys id, name, type, definition",
        ),
        ("name: b\nmetrics: [{type: positiv}]", 'got the text "positiv"; did you mean `positive`?'),
        ("name: b\nmetrics: [{examples: Hi}]", "metrics[0].examples: must be a list, got the text"),
        ("name: b\nmetrics: [{examples: [Hi, '']}]", "metrics[0].examples[1]: an example must not be empty"),
        ("name: b\nmetrics: [{examples: [No. 1: x, 3]}]", "must be text, got the number 3"),
        ("name: b\nmetrics: [{examples: [{Say: hi}]}]", "put it in quotes: 'Say: hi'"),
        ("name: b\nmetrics: [{id: a}, {id: A}]", "the id `A` is given twice (first in line 2)"),
        ("name: b\nmetrics: [{name: x}, {id: m01}]", "one without an id is called by its place in the list"),
        ("name: b\nmetrics: [{id: a/b}]", "an id is part of file names: letters, digits, `.`, `-` and `_`"),
        ("name: b\nmetrics: [{id: ..}]", "an id is part of file names"),
        ("name: b\nmetrics: [{id: a_s1_v2}]", "has `_s1_v2` in it, and that is how the ids of scenarios end"),
        ("name: b\nmetrics: [{id: 7}]", "metrics[0].id: must be text, got the number 7"),
        ("name: b\ngate: {min_pass_rate: 80}", "gate.min_pass_rate: must be from 0 to 1, got the number 80"),
        ("name: b\ngate: {confidence: 1}", "gate.confidence: must be more than 0 and less than 1"),
        (
            "name: b\ngate: {min_pass_rate: yes}",
            "gate.min_pass_rate: must be a number, got the boolean `yes`",
        ),
        ("name: b\ngate: {min_passrate: 1}", "gate.min_passrate: unknown key; did you mean `min_pass_rate`?"),
        ("name: b\ngate: {bound: uper}", "must be one of `point`, `lower`"),
    ],
)
def test_words(refuse, text: str, words: str) -> None:
    assert words in refuse(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "name: b\ndescription: Today is {{ today }}",
            "2:14: description: `{{ today }}` would reach the model",
        ),
        ("name: b\nscenario: {user_context: 'In ${CITY}'}", "2:26: scenario.user_context: `${CITY}` would"),
    ],
)
def test_a_placeholder_that_nobody_fills_in(refuse, text: str, words: str) -> None:
    assert words in refuse(text)


def test_braces_that_are_meant(load: Load) -> None:
    loaded = load("name: b\ndescription: 'It writes {% raw %}{{ x }}{% endraw %}'")
    assert loaded.benchmark.description == "It writes {{ x }}"


def test_problems_of_both_files_are_told_at_once(refuse) -> None:
    text = refuse("name: ''", "generation: {turns: 0}")
    places = [line.split(": ")[0] for line in text.splitlines() if line.startswith("bench")]
    assert places == ["bench/benchmark.yaml:1:7", "bench/config.yaml:1:21"]


def test_a_folder_without_a_benchmark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SettingsError, match=r"there is no benchmark.yaml in it; `convoprobe bench init`"):
        load_project(tmp_path)
    with pytest.raises(SettingsError, match="nowhere: there is no such folder"):
        load_project("nowhere")


def test_the_file_stands_for_its_folder(load: Load, tmp_path: Path) -> None:
    load()
    assert load_project("bench/benchmark.yaml", environ={}).folder.path == tmp_path / "bench"


def test_the_root_is_where_pytest_has_it(load: Load, tmp_path: Path) -> None:
    assert load().root == tmp_path


def test_another_config_file(load: Load, tmp_path: Path) -> None:
    Path("other.yaml").write_text("targets: [openai/x]", encoding="utf-8")
    loaded = load(config="targets: [openai/y]", config_file=Path("other.yaml"))
    assert [entry.model for entry in loaded.config.targets] == ["openai/x"]


def test_another_config_file_that_is_not_there(refuse) -> None:
    assert refuse(config_file=Path("no.yaml")) == "no.yaml: cannot be read: No such file or directory"


def test_only_some_targets(load: Load) -> None:
    config = "targets: [openai/a, openai/b, openai/c]"
    loaded = load(config=config, target="openai-c, openai-a")
    assert [entry.id for entry in loaded.config.targets] == ["openai-a", "openai-c"]


def test_a_target_that_there_is_not(refuse) -> None:
    assert refuse("name: b", "targets: [openai/a, openai/b]", target="openai-q") == (
        "there is no target `openai-q`; did you mean `openai-b`? Known targets: openai-a, openai-b"
    )


def test_the_projects_command_line_comes_above_both_files(load: Load) -> None:
    loaded = load(
        config="evaluator_model: {model: openai/file}\nrun: {concurrency: 7, max_cost: 2, replay: record}",
        project="llm: {model: openai/project}\nrun: {replay: auto}",
        command_line={"judge.model": "openai/said", "run.concurrency": 3},
    )
    run = loaded.config.run
    assert (loaded.config.evaluator_model.model, loaded.config.user_model.model) == (
        "openai/said",
        "openai/project",
    )
    assert (run.concurrency, run.max_cost, run.replay) == (3, 2, "record")


def test_the_projects_command_line_may_ask_for_a_replay(load: Load) -> None:
    loaded = load(config="run: {replay: record}", command_line={"run.replay": "only"})
    assert loaded.config.run.replay == "only"


def test_another_settings_file_of_the_project(load: Load) -> None:
    Path("other.yaml").write_text("judge: {model: openai/other}", encoding="utf-8")
    loaded = load(project="judge: {model: openai/own}", settings_file=Path("other.yaml"))
    assert loaded.config.evaluator_model.model == "openai/other"


def test_metrics_that_lack_something_are_named_with_what_to_do(load: Load, tmp_path: Path) -> None:
    loaded = load(f"name: b\nmetrics: [{WHOLE}, {{name: x}}, {{definition: y, examples: [z]}}]")
    with pytest.raises(SettingsError) as caught:
        require_complete(loaded.benchmark, loaded.folder.path)
    assert str(caught.value) == (
        "bench/benchmark.yaml: the metric m02 lacks a definition and examples\n"
        "bench/benchmark.yaml: the metric m03 lacks a name\n"
        "    convoprobe bench gen-metrics bench\n"
        "writes what is missing."
    )


def test_a_benchmark_without_metrics_is_not_complete(load: Load) -> None:
    with pytest.raises(SettingsError, match="there are no metrics yet"):
        require_complete(load().benchmark)


def test_complete_metrics_are_fine(load: Load) -> None:
    require_complete(load(f"name: b\nmetrics: [{WHOLE}]").benchmark)


def test_the_models_that_a_stage_needs_are_asked_for_by_their_section(load: Load) -> None:
    config = load(config="targets: [{model: openai/x, api_key: k}]").config
    with pytest.raises(SettingsError) as caught:
        require_models(config, models_of_stages(["simulate"]))
    assert str(caught.value) == (
        "config.yaml: no model is set for the user, and a live call needs one. Set it:\n"
        "    user_model:\n"
        "      model: openai/gpt-4o-mini      # any LiteLLM model"
    )


def test_a_stage_does_not_ask_for_the_models_of_others(load: Load) -> None:
    config = load(config="evaluator_model: {model: openai/e, api_key: k}").config
    require_models(config, models_of_stages(["evaluate", "aggregate"]))
    with pytest.raises(SettingsError, match="no model is set for the generator"):
        require_models(config, models_of_stages(["gen_scenarios"]))


def test_all_stages_need_all_models_and_a_target(load: Load) -> None:
    with pytest.raises(SettingsError) as caught:
        require_models(load(config="").config, models_of_stages(["all"]))
    heads = [problem.message.split(",")[0] for problem in caught.value.problems]
    assert heads == [
        "no model is set for the generator",
        "no model is set for the user",
        "no model is set for the evaluator",
        "convoprobe does not know what to test: no target is named. Name it in config.yaml:",
    ]


def test_a_target_without_a_model(load: Load) -> None:
    config = load(config="user_model: {model: a/b}\ntargets: [{id: x, system_prompt: Hi}]").config
    with pytest.raises(SettingsError, match="no model is set for the target x"):
        require_models(config, models_of_stages(["simulate"]))


def test_a_replay_needs_no_model_but_a_target(load: Load) -> None:
    config = load(config="targets: [openai/x]", replay="only").config
    require_models(config, models_of_stages(["all"]))
    with pytest.raises(
        SettingsError, match=r"no target is named\. Name it in config\.yaml:\n\n    targets:\n      - model: "
    ):
        require_models(load(config="targets: []", replay="only").config, models_of_stages(["simulate"]))


def test_a_variable_that_a_live_call_needs_is_asked_for_then(load: Load) -> None:
    config = load(config="evaluator_model: {model: a/b, api_key: '${KEY}'}").config
    require_models(config, models_of_stages(["aggregate"]))
    with pytest.raises(SettingsError, match="the environment variable KEY is not set; set it"):
        require_models(config, models_of_stages(["evaluate"]))
