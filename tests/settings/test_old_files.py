"""An mcprobe.yaml works as it is."""

from __future__ import annotations

import pytest

from pytest_convoprobe.errors import SettingsError
from pytest_convoprobe.settings.merge import target_settings

OLD = """
agent:
  type: simple
llm:
  provider: ollama
  model: llama3.2
  base_url: http://localhost:11434
  context_size: 4096
  reasoning: low
judge:
  temperature: 0.0
synthetic_user:
  model: mistral
orchestrator:
  max_turns: 10
results:
  dir: test-results
  save_trends: true
prompts:
  old: "yes"
"""


def test_it_becomes_our_sections(load) -> None:
    settings = load(OLD, name="mcprobe.yaml").settings
    assert (settings.judge.model, settings.judge.api_base) == ("ollama/llama3.2", "http://localhost:11434")
    assert (settings.judge.context_size, settings.judge.reasoning) == (4096, "low")
    assert settings.synthetic_user.model == "ollama/mistral"
    assert settings.results.dir == "test-results"


def test_what_has_no_meaning_here_is_set_aside_with_a_notice(load) -> None:
    assert load(OLD, name="mcprobe.yaml").notices == (
        "mcprobe.yaml:14: `orchestrator` has no meaning here and was set aside",
        "mcprobe.yaml:19: `prompts` has no meaning here and was set aside",
        "mcprobe.yaml:18: `results.save_trends` has no meaning here and was set aside",
    )


def test_a_simple_agent_is_a_model_on_llm(load) -> None:
    target = target_settings(load(OLD, name="mcprobe.yaml"))
    assert (target.type, target.model) == ("model", "ollama/llama3.2")


@pytest.mark.parametrize(
    ("server", "command", "args", "url"),
    [
        ("{command: python, args: [server.py], env: {KEY: v}}", "python", ("server.py",), None),
        ("{command: npx some-server, transport: stdio}", "npx some-server", (), None),
        ("npx some-server", "npx some-server", (), None),
        ("{url: 'https://x.y/mcp', headers: {A: b}}", None, (), "https://x.y/mcp"),
        ("https://x.y/mcp", None, (), "https://x.y/mcp"),
    ],
)
@pytest.mark.parametrize("place", ["agent: {{type: simple, mcp_server: {}}}", "mcp_server: {}"])
def test_a_server_gives_its_tools_to_the_model(
    load, place: str, server: str, command: str | None, args: tuple[str, ...], url: str | None
) -> None:
    loaded = load(place.format(server) + "\nllm: {model: openai/x}\n", name="mcprobe.yaml")
    target = target_settings(loaded)
    (found,) = target.mcp_servers.values()
    assert (found.command, found.args, found.url) == (command, args, url)
    assert loaded.notices == ()
    assert (target.type, target.model) == ("model", "openai/x")


def test_a_mistake_in_a_server_is_reported_where_it_is_written(load) -> None:
    text = "agent:\n  type: simple\n  mcp_server:\n    command: x\n    arg: [y]\n"
    with pytest.raises(SettingsError, match=r"mcprobe.yaml:5:.*arg"):
        load(text, name="mcprobe.yaml")


def test_no_agent_is_a_model_on_llm(load) -> None:
    target = target_settings(load("llm: {model: openai/x}", name="mcprobe.yaml"))
    assert (target.type, target.model) == ("model", "openai/x")


@pytest.mark.parametrize(
    ("factory", "taken"),
    [("my/agent.py", "my/agent.py:create_agent"), ("my.agents:make_shop", "my.agents:make_shop")],
)
def test_an_agent_of_adk_is_made_by_its_factory(load, factory: str, taken: str) -> None:
    text = f"agent:\n  type: adk\n  factory: {factory}\n  name: shop\n"
    loaded = load(text, name="mcprobe.yaml")
    target = target_settings(loaded)
    assert (target.type, target.factory) == ("adk", taken)
    assert loaded.notices == ("mcprobe.yaml:4: `agent.name` has no meaning here and was set aside",)


def test_a_factory_that_is_no_text_is_an_error_at_its_place(refuse) -> None:
    assert "mcprobe.yaml:3:12: " in refuse("agent:\n  type: adk\n  factory: [1]\n", name="mcprobe.yaml")


def test_an_agent_of_another_type_is_named_in_our_way(load) -> None:
    loaded = load("agent:\n  type: own\n  factory: my/agent.py\n", name="mcprobe.yaml")
    assert target_settings(loaded) is None
    (notice,) = loaded.notices
    assert notice.startswith("mcprobe.yaml:1: an agent of type 'own' is not built from this file")
    assert notice.endswith("\n      type: python\n      object: my/agent.py:create_agent")


def test_our_target_works_in_it_too(load) -> None:
    loaded = load("agent: {type: adk}\ntarget: {type: python, object: 'a:b'}", name="mcprobe.yaml")
    assert target_settings(loaded).object == "a:b"


def test_wrong_values_are_still_errors(refuse) -> None:
    assert "mcprobe.yaml:1:20: llm.temperature" in refuse("llm: {temperature: hot}", name="mcprobe.yaml")


def test_an_old_file_may_say_that_nothing_is_stored(load) -> None:
    loaded = load("results: {save: false, dir: out}", name="mcprobe.yaml")
    assert (loaded.settings.results.save, loaded.settings.results.dir, loaded.notices) == (False, "out", ())
