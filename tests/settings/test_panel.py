from __future__ import annotations

from pytest_convoprobe.settings.model_settings import ModelSettings
from pytest_convoprobe.settings.panel import members_of

JUDGE = """
llm: {model: openai/llm, temperature: 0.1}
judge:
  model: openai/a
  api_base: http://127.0.0.1:9/v1
  api_key: sk-of-the-judge
  input_cost_per_token: 0.1
  output_cost_per_token: 0.2
  extra_instructions: Be strict.
  panel: [openai/b, anthropic/c, openai/a]
"""


def test_members_have_the_judges_settings_but_no_key_of_another_provider(load) -> None:
    first, same, other = members_of(load(JUDGE).settings.judge)
    assert (first.model, same.model, other.model) == ("openai/a", "openai/b", "anthropic/c")
    assert same.api_key.get_secret_value() == "sk-of-the-judge"
    assert (same.api_base, other.api_base, other.api_key) == ("http://127.0.0.1:9/v1", None, None)
    assert (first.input_cost_per_token, same.input_cost_per_token) == (0.1, None)
    assert {member.temperature for member in (same, other)} == {0.1}
    assert {member.extra_instructions for member in (same, other)} == {"Be strict."}
    assert (same.panel, other.panel) == ((), ())


def test_a_provider_set_apart_is_that_of_the_panel_too(load) -> None:
    judge = load("judge: {provider: ollama_chat, model: a, panel: [b, openai/c]}").settings.judge
    assert [member.model for member in members_of(judge)] == ["ollama_chat/a", "ollama_chat/b", "openai/c"]


def test_an_option_names_a_panel_in_one_text(load) -> None:
    loaded = load("judge: {model: openai/a}", overrides={"judge.panel": "openai/b, openai/c"})
    assert loaded.settings.judge.panel == ("openai/b", "openai/c")


def test_without_a_panel_there_is_the_judge_alone(load) -> None:
    judge = load("judge: {model: openai/a}").settings.judge
    assert members_of(judge) == (judge,)
    model = ModelSettings(model="openai/a")
    assert members_of(model) == (model,)
