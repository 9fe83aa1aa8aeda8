"""What a user reads of a `config.yaml`, and what it comes to with the project's settings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from pytest_convoprobe.benchmark.format.models import BenchmarkConfig
from pytest_convoprobe.benchmark.format.project import LoadedBenchmark, load_project
from pytest_convoprobe.errors import SettingsError
from pytest_convoprobe.settings.models import HttpTarget, ModelTarget, PythonTarget

Config = Callable[..., BenchmarkConfig]


@pytest.fixture
def read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., LoadedBenchmark]:
    """`read(config.yaml, convoprobe.yaml)`."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pytest.ini").touch()
    Path("benchmark.yaml").write_text("name: b", encoding="utf-8")

    def _read(
        text: str = "", project: str = "", environ: dict[str, str] | None = None, **options: Any
    ) -> LoadedBenchmark:
        Path("config.yaml").write_text(dedent(text), encoding="utf-8")
        Path("convoprobe.yaml").write_text(dedent(project), encoding="utf-8")
        return load_project(tmp_path, environ=environ or {}, **options)

    return _read


@pytest.fixture
def config(read) -> Config:
    return lambda *texts, **options: read(*texts, **options).config


@pytest.fixture
def refuse(read) -> Callable[..., str]:
    def _refuse(*texts: str, **options: Any) -> str:
        with pytest.raises(SettingsError) as caught:
            read(*texts, **options)
        return str(caught.value)

    return _refuse


def test_a_file_of_the_format(config: Config) -> None:
    found = config(
        """
        generator_model: {model: gpt-5.4-mini, source: openai, apikey: "${OPENAI_API_KEY}"}
        user_model: {model: claude-sonnet-4-6, source: anthropic, base_url: "http://here/v1"}
        evaluator_model: {model: gpt-5.4-mini, source: openai, extra_headers: {X-Team: coaching-1}}
        targets:
          - {model: gpt-4o, source: openai}
          - model: ollama/llama3
        generation: {num_metrics: 4, scenarios_per_metric: 2, turns: 6, num_samples: 3}
        demographics:
          age: ["Child or teenager (6-17)", "Adult (18+)"]
        evaluation: {method: log_odds}
        landmarks: false
        perfunctory: true
        run: {concurrency: 100, max_cost: 5}
        """,
        environ={"OPENAI_API_KEY": "sk-1234567890"},
    )
    generator, user, evaluator = found.generator_model, found.user_model, found.evaluator_model
    assert (generator.model, generator.api_key and generator.api_key.get_secret_value()) == (
        "openai/gpt-5.4-mini",
        "sk-1234567890",
    )
    assert (user.model, user.api_base) == ("anthropic/claude-sonnet-4-6", "http://here/v1")
    assert evaluator.extra_headers["X-Team"].get_secret_value() == "coaching-1"
    assert [(entry.id, entry.model) for entry in found.targets] == [
        ("gpt-4o", "openai/gpt-4o"),
        ("ollama-llama3", "ollama/llama3"),
    ]
    assert (found.generation.turns, found.generation.num_samples) == (6, 3)
    assert found.variants == ({"age": "Child or teenager (6-17)"}, {"age": "Adult (18+)"})
    assert (found.landmarks, found.perfunctory) == (False, True)
    assert found.evaluation.method == "log_odds"
    assert (found.run.concurrency, found.run.max_cost) == (100, 5)


# Levels


PROJECT = """
llm: {model: openai/all, api_base: "http://project/v1", temperature: 0.1, extra_instructions: be brief}
judge: {model: openai/judge, temperature: 0.2}
synthetic_user: {model: openai/user}
run: {concurrency: 5, turn_timeout: 9}
"""


def test_without_a_config_file_everything_comes_from_the_project(read, tmp_path: Path) -> None:
    read(project=PROJECT + "target: {type: python, object: 'agent:answer'}\n")
    Path("config.yaml").unlink()
    found = load_project(tmp_path, environ={}).config
    names = [found.generator_model.model, found.user_model.model, found.evaluator_model.model]
    assert names == ["openai/all", "openai/user", "openai/judge"]
    assert [(entry.id, type(entry.settings)) for entry in found.targets] == [("agent-answer", PythonTarget)]
    assert found.run.concurrency == 5


def test_the_projects_several_targets_are_the_benchmarks_with_their_names(read, tmp_path: Path) -> None:
    targets = "target: {type: model}\ntargets: {mini: {model: openai/mini}, big: {model: openai/big}}\n"
    read(project=PROJECT + targets)
    Path("config.yaml").unlink()
    found = load_project(tmp_path, environ={}).config
    assert [entry.id for entry in found.targets] == ["mini", "big"]
    assert [entry.settings.model for entry in found.targets] == ["openai/mini", "openai/big"]
    assert found.targets[0].settings.api_base == "http://project/v1"


def test_a_role_over_the_files_llm_over_the_project(config: Config) -> None:
    found = config("llm: {temperature: 0.5, max_tokens: 7}\nevaluator_model: {max_tokens: 8}", PROJECT)
    evaluator, user = found.evaluator_model, found.user_model
    assert (evaluator.model, evaluator.temperature, evaluator.max_tokens) == ("openai/judge", 0.5, 8)
    assert (user.model, user.temperature, user.max_tokens) == ("openai/user", 0.5, 7)


def test_address_and_key_do_not_go_to_another_provider(config: Config) -> None:
    found = config("user_model: {model: anthropic/x}\nevaluator_model: {model: openai/y}", PROJECT)
    assert found.user_model.api_base is None
    assert found.evaluator_model.api_base == "http://project/v1"


def test_a_target_takes_what_the_projects_target_has(config: Config) -> None:
    project = PROJECT + "target: {type: model, system_prompt: You help., tools: ['a:b']}\n"
    (entry,) = config("targets: [openai/x]", project).targets
    assert isinstance(entry.settings, ModelTarget)
    assert (entry.settings.model, entry.settings.system_prompt) == ("openai/x", "You help.")
    assert (entry.settings.tools, entry.settings.api_base) == (("a:b",), "http://project/v1")


def test_instructions_for_our_roles_are_not_given_to_what_is_tested(config: Config) -> None:
    (entry,) = config("llm: {extra_instructions: hurry}\ntargets: [openai/x]", PROJECT).targets
    assert isinstance(entry.settings, ModelTarget)
    assert entry.settings.extra_instructions is None
    assert config("llm: {extra_instructions: hurry}", PROJECT).user_model.extra_instructions == (
        "be brief\n\nhurry"
    )


def test_overrides_come_above_the_file(config: Config) -> None:
    found = config(
        "evaluator_model: {model: openai/e}\ngeneration: {num_samples: 2, turns: 3}\nlandmarks: true",
        overrides={
            "evaluator_model.model": "openai/other",
            "generation.num_samples": 5,
            "run.concurrency": 2,
            "run.max_cost": None,
            "landmarks": False,
        },
    )
    assert found.evaluator_model.model == "openai/other"
    assert (found.generation.num_samples, found.generation.turns) == (5, 3)
    assert (found.run.concurrency, found.landmarks) == (2, False)


def test_an_override_for_all_models_leaves_targets_with_their_own(config: Config) -> None:
    found = config(
        "user_model: {model: openai/u}\ntargets: [openai/t]", overrides={"llm.model": "openai/all"}
    )
    assert (found.user_model.model, found.targets[0].model) == ("openai/all", "openai/t")


def test_an_override_that_there_is_not(refuse) -> None:
    overrides = {"evaluator.model": "x", "user.model": "x", "generation.turn": 3}
    sections = (
        "llm, generator_model, user_model, evaluator_model, generation, evaluation, landmarks, "
        "perfunctory, run"
    )
    assert refuse(overrides=overrides).splitlines() == [
        f"command line: evaluator: unknown key; did you mean `evaluator_model`? Valid here: {sections}",
        f"command line: user: unknown key; did you mean `user_model`? Valid here: {sections}",
        "command line: generation.turn: unknown key; did you mean `turns`? Valid here: num_metrics, "
        "scenarios_per_metric, turns, num_samples",
    ]


def test_a_replay_is_asked_for(config: Config) -> None:
    assert config("run: {replay: record}", replay="only").run.replay == "only"


def test_the_projects_own_replay_counts(config: Config) -> None:
    assert config(project="run: {replay: auto}").run.replay == "auto"


# Targets


def test_targets_of_all_kinds(config: Config) -> None:
    found = config(
        """
        targets:
          - openai/gpt-4o
          - {type: python, object: "bots/agent.py:answer"}
          - {type: http, url: "https://u:pw@host.example/chat?token=abc", text: reply}
          - {id: tuned, model: openai/gpt-4o, system_prompt: Be kind.}
        """
    ).targets
    assert [entry.id for entry in found] == [
        "openai-gpt-4o",
        "bots-agent.py-answer",
        "host.example-chat",
        "tuned",
    ]
    assert [type(entry.settings) for entry in found] == [ModelTarget, PythonTarget, HttpTarget, ModelTarget]


def test_ids_that_were_not_given_are_made_unique(config: Config) -> None:
    text = "targets: [openai/x, openai/x, {id: openai-x-2, model: a/b}, OPENAI/X]"
    found = config(text).targets
    assert [entry.id for entry in found] == ["openai-x", "openai-x-3", "openai-x-2", "OPENAI-X-4"]


def test_no_target_is_called_as_all_of_them_are(config: Config) -> None:
    assert [entry.id for entry in config("targets: [all, ALL]").targets] == ["all-2", "ALL-3"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "targets: openai/x",
            'targets: must be a list, got the text "openai/x"; begin each target with `- `',
        ),
        ("targets: [3]", "targets[0]: must be a model's name or a mapping, got the number 3"),
        ("targets: [{id: a, model: x}, {id: A, model: y}]", "the id `A` is that of targets[0], too"),
        ("targets: [{id: 'a b/c', model: x}]", "a target's id is part of file names: letters"),
        ("targets: [{id: 'a b/c', model: x}]", "; `a-b-c` would do"),
        ("targets: [{id: _gaps, model: x}]", "; `gaps` would do"),
        ("targets: [{id: All, model: x}]", "the id `All` means all targets together, in cost.json"),
        ("targets: [{id: 5, model: x}]", "targets[0].id: must be text, got the number 5; put it in quotes"),
        ("targets: [{modle: x}]", "targets[0].modle: unknown key; did you mean `model`?"),
        (
            "targets: [{object: 'a:b'}]",
            "type: this key is required, and it is missing; give it one of "
            "`model`, `python`, `http`, `adk`; for this one write `type: p",
        ),
        ("targets: [{type: pyhton, object: 'a:b'}]", 'got the text "pyhton"; did you mean `python`?'),
        ("targets: [{type: http, text: a}]", "targets[0].url: this key is required, and it is missing"),
        (
            "targets: [{model: a, temperature: hot}]",
            'targets[0].temperature: must be a number, got the text "hot"',
        ),
        ("targets: [{source: a, provider: b}]", "`source` and `provider` say the same; keep one of them"),
        ("- a", "settings are a mapping of sections (generator_model:, targets:, …); the file is a list"),
        ("turns: 3", "turns: this key belongs in `generation`"),
        ("max_cost: 3", "max_cost: this key belongs in `run`"),
        ("judge: {model: x}", "unknown key; did you mean `evaluator_model`?"),
        ("target: [x]", "unknown key; did you mean `targets`?"),
        (
            "generation: {turns: 101}",
            "generation.turns: must be from 1 to 100, got the number 101",
        ),
        ("generation: {num_sample: 1}", "unknown key; did you mean `num_samples`?"),
        (
            "evaluation: {method: log_odd}",
            'evaluation.method: must be one of `answer`, `log_odds`, got the text "log_odd"',
        ),
        ("evaluator: {model: x}", "unknown key; did you mean `evaluator_model`?"),
        ("landmarks: maybe", 'landmarks: must be true or false, got the text "maybe"'),
        ("landmarks: true\ngeneration: {landmarks: false}", "`landmarks` is at the top, too; keep one"),
        (
            "user_model: openai/x",
            'user_model: must be a mapping, but it is the text "openai/x"; write `user_model: {model:',
        ),
        ("evaluator_model: {apikey: 12345678}", "evaluator_model.apikey: must be text, got something else"),
        (
            "demographics: [a]",
            "demographics: must be a mapping of attributes to lists of values, got a list",
        ),
        ("demographics: {age: 18}", "demographics.age: must be a list of values, got the number 18"),
        ("demographics: {age: []}", "demographics.age: must be a list of values, got an empty one"),
        (
            "demographics: {age: [a, a]}",
            "demographics.age[1]: must be a text that is given once, got",
        ),
        ("demographics: {age: [{a: b}]}", "demographics.age[0]: must be a text"),
        (
            "run: {concurrency: {simulate: many}}",
            'run.concurrency.simulate: must be a whole number of 1 or more, got the text "many"',
        ),
        (
            "targets: [{model: a, faults: [{tool: find, kind: empty}]}]",
            "`faults` of a: a benchmark injects none",
        ),
        ("run: {concurrency: {evaluat: 2}}", "unknown stage; did you mean `evaluate`?"),
        ("user_model: {model: '${NAME}'}", "user_model.model: the environment variable NAME is not set"),
    ],
)
def test_words(refuse, text: str, words: str) -> None:
    assert words in refuse(text)


def test_a_problem_has_its_place(refuse) -> None:
    assert refuse("targets:\n  - model: a\n    temprature: 1\n") == (
        "config.yaml:3:5: targets[0].temprature: unknown key; did you mean `temperature`? Valid here: "
        "model, provider, api_base, api_key, temperature, max_tokens, client, timeout, max_attempts, "
        "extra_headers, extra_params, extra_instructions, context_size, reasoning, structured_output, "
        "input_cost_per_token, output_cost_per_token, type, faults, models, model_volatile, greeting_cue, "
        "system_prompt, tools, mcp_servers, max_tool_rounds\n"
        "        temprature: 1\n"
        "        ^"
    )


def test_keys_of_another_system_are_set_aside_with_a_notice(read) -> None:
    loaded = read(
        "version: 2\ntargets:\n  - {model: a/b, comment: x}\nuser_model: {model: a/b, budget_id: 3}\n"
    )
    assert loaded.notices == (
        "config.yaml:1: `version` has no meaning here and was set aside",
        "config.yaml:4: `user_model.budget_id` has no meaning here and was set aside",
        "config.yaml:3: `targets[0].comment` has no meaning here and was set aside",
    )


# The rest


def test_concurrency_by_stage_as_others_have_it(read) -> None:
    loaded = read("run:\n  concurrency: {gen_scenarios: 4, simulate: 8, evaluate: 16, upload: 2}\n")
    names = ("gen-metrics", "draft-scenarios", "gen-scenarios", "simulate", "evaluate")
    assert [loaded.config.at_once(name) for name in names] == [16, 4, 4, 8, 16]
    assert loaded.notices == (
        "config.yaml:2: `run.concurrency.upload` has no meaning here and was set aside",
    )


def test_a_number_for_all_stages_comes_above_those_of_the_file(config: Config) -> None:
    found = config("run: {concurrency: {simulate: 8}}", overrides={"run.concurrency": 3})
    assert found.at_once("simulate") == 3


def test_switches_and_demographics_may_stand_under_generation(config: Config) -> None:
    found = config("generation: {landmarks: false, perfunctory: true, demographics: {age: [old]}, turns: 2}")
    assert (found.landmarks, found.perfunctory, found.generation.turns) == (False, True, 2)
    assert found.demographics == {"age": ("old",)}


def test_a_problem_of_what_stands_under_generation_is_told_there(refuse) -> None:
    assert refuse("generation: {landmarks: maybe}").startswith(
        "config.yaml:1:25: generation.landmarks: must be"
    )


def test_values_of_demographics_are_the_texts_of_the_file(config: Config) -> None:
    found = config("demographics: {age: [6-17, 018, yes, 1.50]}")
    assert found.demographics == {"age": ("6-17", "018", "yes", "1.50")}


def test_a_missing_key_waits_for_a_live_call(config: Config) -> None:
    found = config(
        "llm: {apikey: '${A}'}\nuser_model: {model: a/b}\ntargets: [{model: x/y, api_base: '${B}'}]\n"
    )
    assert "variable A is not set" in found.user_model.unresolved["api_key"]
    assert "variable B is not set" in found.targets[0].settings.unresolved["api_base"]  # type: ignore[union-attr]


def test_a_key_that_is_missing_in_the_project_does_not_matter_to_another_provider(config: Config) -> None:
    project = "llm: {model: openai/x, api_key: '${A}'}"
    found = config("user_model: {model: anthropic/y}", project)
    assert not found.user_model.unresolved
    assert "variable A is not set" in found.evaluator_model.unresolved["api_key"]


def test_a_default_of_a_variable(config: Config) -> None:
    assert config("user_model: {model: '${M:-openai/d}'}").user_model.model == "openai/d"


def test_secrets_are_known_to_the_redactor(read) -> None:
    loaded = read("llm: {apikey: in-config-1}", "judge: {api_key: in-project-1}")
    assert {"in-config-1", "in-project-1"} <= set(loaded.secrets)
    assert "in-config-1" not in repr(loaded)


def test_a_secret_does_not_stand_in_a_message(refuse) -> None:
    text = refuse("llm: {apikey: topsecret-1, modle: x}")
    assert "topsecret-1" not in text
    assert "apikey: ****, modle: x" in text


@pytest.mark.parametrize("in_project", [True, False])
def test_the_name_of_a_targets_folder_has_no_secret(read, in_project: bool) -> None:
    target = "type: http, url: 'https://host.example/hooks/${HOOK}/chat?code=code-of-ours'"
    texts = ("", f"target: {{{target}}}") if in_project else (f"targets: [{{{target}}}]", "")
    loaded = read(*texts, environ={"HOOK": "hook-of-ours"})
    assert [entry.id for entry in loaded.config.targets] == ["host.example-hooks-chat"]
    assert {"hook-of-ours", "code-of-ours"} <= set(loaded.secrets)


def test_public_variables_and_masks_of_the_project_count_in_a_benchmark(read) -> None:
    project = "results: {public: [SHOP], mask: [email]}"
    loaded = read(
        "targets: [{type: http, url: '${SHOP}/chat'}]", project, environ={"SHOP": "https://shop.example"}
    )
    assert [entry.id for entry in loaded.config.targets] == ["shop.example-chat"]
    assert [pattern.name for pattern in loaded.masking.patterns] == ["email"]
