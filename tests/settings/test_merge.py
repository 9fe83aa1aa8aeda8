from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convoprobe.settings.effective import Layer, LoadedSettings
from pytest_convoprobe.settings.merge import merge, scenario_settings, target_settings
from pytest_convoprobe.settings.model_settings import ModelSettings
from pytest_convoprobe.settings.models import ModelTarget, Settings


@dataclass
class Override:
    model: str | None = None
    temperature: float | None = None
    extra_instructions: str | None = None


@dataclass
class Config:
    judge: Override | None = None
    synthetic_user: Override | None = None


LEVELS = """
llm: {model: openai/llm, temperature: 0.1, max_tokens: 10, extra_instructions: from llm}
judge: {model: openai/judge, temperature: 0.2, extra_instructions: from judge}
"""


def test_a_role_overrides_what_it_sets_and_inherits_the_rest(load) -> None:
    judge = load(LEVELS).settings.judge
    assert (judge.model, judge.temperature, judge.max_tokens) == ("openai/judge", 0.2, 10)


def test_a_scenario_overrides_the_role(load) -> None:
    settings = scenario_settings(load(LEVELS), Config(judge=Override(model="openai/scenario")))
    assert (settings.judge.model, settings.judge.temperature) == ("openai/scenario", 0.2)


def test_the_command_line_overrides_the_scenario(load) -> None:
    loaded = load(LEVELS, overrides={"judge.model": "openai/command"})
    settings = scenario_settings(loaded, Config(judge=Override("openai/scenario", 0.9)))
    assert (settings.judge.model, settings.judge.temperature) == ("openai/command", 0.9)


def test_a_model_for_all_roles_on_the_command_line_overrides_the_roles_own(load) -> None:
    loaded = load(LEVELS, overrides={"llm.model": "openai/all", "judge.model": "openai/one"})
    assert (loaded.settings.judge.model, loaded.settings.synthetic_user.model) == ("openai/one", "openai/all")


def test_extra_instructions_of_all_levels_are_appended_in_order(load) -> None:
    loaded = load(LEVELS, overrides={"judge.extra_instructions": "from command line"})
    settings = scenario_settings(loaded, Config(judge=Override(extra_instructions="from scenario")))
    assert settings.judge.extra_instructions == "from llm\n\nfrom judge\n\nfrom scenario\n\nfrom command line"


def test_an_option_that_was_not_given_changes_nothing(load) -> None:
    assert load(LEVELS, overrides={"judge.model": None}).settings.judge.model == "openai/judge"


def test_null_in_a_file_is_not_set(load) -> None:
    assert load("llm: {temperature: 0.1}\njudge: {temperature: null}").settings.judge.temperature == 0.1


def test_settings_made_by_hand_work_without_layers() -> None:
    loaded = LoadedSettings(Settings(judge=ModelSettings(model="openai/x", temperature=0.1)))
    settings = scenario_settings(loaded, Config(judge=Override(temperature=0.5)))
    assert (settings.judge.model, settings.judge.temperature) == ("openai/x", 0.5)


def test_a_target_inherits_from_llm_but_not_the_instructions(load) -> None:
    target = target_settings(load(LEVELS + "target: {type: model, system_prompt: hi, temperature: 0.5}"))
    assert isinstance(target, ModelTarget)
    assert (target.model, target.max_tokens, target.temperature) == ("openai/llm", 10, 0.5)
    assert (target.system_prompt, target.extra_instructions) == ("hi", None)


def test_no_target_stays_none(load) -> None:
    assert target_settings(load(LEVELS)) is None


def test_a_target_from_the_command_line(load) -> None:
    loaded = load("target: {type: model, model: openai/a}", overrides={"target.model": "openai/b"})
    assert target_settings(loaded).model == "openai/b"
    assert loaded.origins["target.model"] == "command line"


WITH_KEY = (
    "llm: {model: openai/a, api_key: the-key-1, api_base: 'http://h', context_size: 5, "
    "extra_headers: {X: y}, temperature: 0.3}\n"
)


def test_a_key_is_not_handed_to_another_provider(load) -> None:
    judge = load(WITH_KEY + "judge: {model: anthropic/b}").settings.judge
    assert (judge.api_key, judge.api_base, judge.extra_headers) == (None, None, {})
    assert judge.temperature == 0.3


def test_a_key_goes_along_to_another_model_of_the_same_provider(load) -> None:
    judge = load(WITH_KEY + "judge: {model: openai/b}").settings.judge
    assert judge.api_key is not None
    assert (judge.api_base, judge.context_size) == ("http://h", None)


@pytest.mark.parametrize(
    ("llm", "judge", "expected"),
    [
        ("provider: ollama, model: llama3", "temperature: 0", "ollama/llama3"),
        ("provider: ollama, model: llama3", "model: mistral", "ollama/mistral"),
        ("source: openai, model: openai/gpt", "temperature: 0", "openai/gpt"),
        ("provider: ollama, model: llama3", "model: openai/gpt", "openai/gpt"),
        ("provider: ollama, model: llama3", "provider: openai, model: gpt", "openai/gpt"),
        ("provider: openrouter, model: openai/gpt", "model: anthropic/c", "openrouter/anthropic/c"),
        ("provider: openai, model: meta/llama", "temperature: 0", "openai/meta/llama"),
        ("provider: ollama", "model: llama3", "ollama/llama3"),
        ("model: llama3", "provider: ollama", "ollama/llama3"),
        ("model: openai/gpt", "provider: azure", "azure/gpt"),
    ],
)
def test_a_provider_beside_the_model(load, llm: str, judge: str, expected: str) -> None:
    assert load(f"llm: {{{llm}}}\njudge: {{{judge}}}").settings.judge.model == expected


def test_a_model_of_its_own_ends_the_inherited_provider(load) -> None:
    loaded = load("llm: {provider: ollama, model: a}\njudge: {model: openai/gpt}")
    assert scenario_settings(loaded, Config(judge=Override(model="gpt-4o"))).judge.model == "gpt-4o"


@pytest.mark.parametrize(
    ("written", "field", "expected"),
    [
        ("base_url: 'http://h'", "api_base", "http://h"),
        ("context_size: 4096", "context_size", 4096),
        ("reasoning: off", "reasoning", "none"),
        ("reasoning: true", "reasoning", "medium"),
        ("reasoning: High", "reasoning", "high"),
    ],
)
def test_other_spellings(load, written: str, field: str, expected: object) -> None:
    assert getattr(load(f"llm: {{{written}}}").settings.judge, field) == expected


def test_apikey_is_api_key(load) -> None:
    assert load("llm: {apikey: abc}").settings.judge.api_key.get_secret_value() == "abc"


def test_two_spellings_of_one_key_are_a_problem(refuse) -> None:
    text = refuse("llm: {api_base: 'http://a', base_url: 'http://b'}")
    assert "llm.base_url: `base_url` and `api_base` say the same; keep one of them" in text


FIELDS = st.fixed_dictionaries(
    {},
    optional={
        "temperature": st.floats(0, 2),
        "max_tokens": st.integers(1, 9),
        "timeout": st.floats(1, 9),
        "api_base": st.sampled_from(["http://a", "http://b"]),
    },
)


@given(st.lists(FIELDS, max_size=5))
def test_the_strongest_level_that_sets_a_field_wins(levels: list[dict[str, object]]) -> None:
    merged = merge(Layer(level, {key: str(at) for key in level}) for at, level in enumerate(levels))
    for name in {key for level in levels for key in level}:
        strongest = max(at for at, level in enumerate(levels) if name in level)
        assert (merged.values[name], merged.origins[name]) == (levels[strongest][name], str(strongest))


@given(st.lists(st.text("ab", min_size=1), min_size=1, max_size=4))
def test_every_instruction_is_kept(texts: list[str]) -> None:
    merged = merge(Layer({"extra_instructions": text}) for text in texts)
    assert merged.values["extra_instructions"].split("\n\n") == texts
