from __future__ import annotations

import re
import textwrap

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_convoprobe.errors import SettingsError
from pytest_convoprobe.settings.effective import LoadedSettings
from pytest_convoprobe.settings.model_settings import ModelSettings
from pytest_convoprobe.settings.models import HttpTarget, Settings
from pytest_convoprobe.settings.show import masked, show


def row(text: str, section: str, name: str) -> list[str]:
    """The columns of one value."""
    block = text.split(f"\n{section}\n")[1].split("\n\n")[0]
    (line,) = [line for line in block.splitlines() if line.strip().startswith(f"{name} ")]
    return re.split(r" {2,}", line.strip())


def test_each_value_with_its_source(load, folder) -> None:
    text = show(
        load(
            "llm:\n  model: openai/x\n  temperature: ${T}\n"
            "judge:\n  model: openai/y\nrun: {turn_timeout: 2}\n",
            overrides={"run.concurrency": 4},
            environ={"T": "0.5"},
        )
    )
    assert text.startswith(f"convoprobe settings from {folder / 'convoprobe.yaml'}\n")
    assert row(text, "judge", "model") == ["model", "openai/y", "convoprobe.yaml:5 (judge)"]
    assert row(text, "judge", "temperature") == [
        "temperature",
        "0.5",
        "llm section, convoprobe.yaml:3, from $T",
    ]
    assert row(text, "run", "concurrency") == ["concurrency", "4", "command line"]
    assert row(text, "run", "turn_timeout") == ["turn_timeout", "2.0", "convoprobe.yaml:6 (run)"]
    assert row(text, "synthetic_user", "max_tokens") == ["max_tokens", "-", "default"]


def test_prices_of_the_agents_models_are_shown(load) -> None:
    models = (
        "{openai: http://127.0.0.1:1/v1, prices: {m: {input_cost_per_token: 0.5, output_cost_per_token: 0}}}"
    )
    text = show(load(f"target: {{type: python, object: a:b, models: {models}}}"))
    assert "127.0.0.1:1/v1" in text
    assert '"prices": {"m": ' in text


def test_columns_are_aligned(load) -> None:
    text = show(load("llm: {model: openai/a-rather-long-name}"))
    starts = {line.index("default") for line in text.splitlines() if line.endswith(" default")}
    assert len(starts) == 1


def test_no_file_and_no_target_are_said(folder) -> None:
    text = show(LoadedSettings())
    assert text.startswith("convoprobe settings from defaults: no settings file was found")
    assert "\ntarget\n  not set\n" in text


def test_secrets_are_masked_even_short_ones(load) -> None:
    text = show(load("llm: {api_key: abc, extra_headers: {X-A: defg}, extra_params: {my_token: hij}}"))
    assert row(text, "llm", "api_key")[1] == "****"
    assert row(text, "llm", "extra_headers")[1] == '{"X-A": "****"}'
    assert row(text, "llm", "extra_params")[1] == '{"my_token": "****"}'


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text("abcxyz0123456789", min_size=12, max_size=20))
def test_a_secret_is_shown_nowhere(secret: str) -> None:
    made = Settings(
        llm=ModelSettings(
            api_key=secret, api_base=f"http://u:{secret}@h", extra_instructions=f"say {secret}"
        ),
        target=HttpTarget(url=f"http://h/?key={secret}", headers={"A": secret}),
    )
    assert secret not in show(LoadedSettings(made, secrets=(secret,)))


def test_long_and_odd_texts_take_one_line(load) -> None:
    text = show(load('llm: {extra_instructions: "a\\nb\\e[31m"}\njudge: {model: ' + "x" * 200 + "}"))
    assert row(text, "llm", "extra_instructions")[1] == '"a\\nb\\u001b[31m"'
    assert row(text, "judge", "model")[1] == "x" * 59 + "…"


def test_notices_are_shown(load) -> None:
    text = show(load("mcp_server: {}", name="mcprobe.yaml"))
    assert "notices\n  mcprobe.yaml:1: `mcp_server` has no meaning here" in text


def test_masked_settings_are_whole_but_for_their_secrets(load) -> None:
    prompt = "You are an agent. " * 20
    text = (
        "llm: {model: openai/x, api_key: sk-secret-key-1, extra_headers: {X-Team: blue-team-secret}}\n"
        f"target: {{type: model, system_prompt: '{prompt}'}}\n"
    )
    sections = masked(load(text))
    assert sections["judge"]["model"] == "openai/x"
    assert (sections["judge"]["api_key"], sections["judge"]["extra_headers"]) == ("****", {"X-Team": "****"})
    assert sections["target"]["system_prompt"] == prompt
    assert sections["run"]["concurrency"] == 16


def test_masked_settings_without_a_target(load) -> None:
    assert masked(load(""))["target"] is None


def test_secrets_of_servers_are_masked(load) -> None:
    text = """
    target:
      type: model
      mcp_servers:
        shop:
          command: uvx
          args: [shop, --api-key, key-on-the-line, --token=token-on-the-line, --mode, fast]
          env: {SHOP_KEY: key-5-in-env, MODE: a-mode-5}
        bank: {url: "https://u:pass-in-url@bank.example/mcp", headers: {X-Any: value-5-in-header}}
    """
    loaded = load(textwrap.dedent(text))
    shown = show(loaded)
    hidden = (
        "key-on-the-line",
        "token-on-the-line",
        "key-5-in-env",
        "a-mode-5",
        "pass-in-url",
        "value-5-in-header",
    )
    assert [one for one in hidden if one in shown or one in repr(loaded.settings)] == []
    assert set(hidden) <= set(loaded.secrets)


@pytest.mark.parametrize(
    ("server", "said"),
    [
        ("shop: {command: x, alow: [y]}", "shop.alow: unknown key; did you mean `allow`?"),
        ("shop: {args: [x]}", "shop: give a `command` that starts the server, or the `url` of one"),
        ("shop: {command: x, headers: {a: b}}", "shop: `headers` goes with `url` only"),
        ("'a b': x", "a b: a server's name has letters, digits, `_` and `-` only"),
        ("shop: {url: 'https://x.y', sampling: model}", "shop: `sampling: model` needs `lifetime"),
    ],
)
def test_a_mistake_in_a_server_is_explained(load, server: str, said: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load(f"target:\n  type: model\n  mcp_servers:\n    {server}\n")
    assert f"target.mcp_servers.{said}" in str(caught.value)
