"""What a user reads when the settings can't be used."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_convoprobe.errors import SettingsError
from pytest_convoprobe.settings.loading import load_settings

MODEL_KEYS = (
    "model, provider, api_base, api_key, temperature, max_tokens, client, timeout, max_attempts, "
    "extra_headers, extra_params, extra_instructions, context_size, reasoning, structured_output, "
    "input_cost_per_token, output_cost_per_token"
)


def test_an_unknown_key_names_its_place_and_the_nearest_one(refuse) -> None:
    assert refuse("llm:\n  modle: openai/x\n") == (
        "convoprobe.yaml:2:3: llm.modle: unknown key; did you mean `model`? Valid here: "
        f"{MODEL_KEYS}\n"
        "      modle: openai/x\n"
        "      ^"
    )


def test_an_unknown_key_that_is_like_none_lists_them(refuse) -> None:
    assert "unknown key. Valid here: concurrency, turn_timeout," in refuse("run: {zzz: 1}")


def test_an_unknown_section(refuse) -> None:
    assert "unknown key; did you mean `judge`?" in refuse("judges: {}")


def test_the_word_of_another_system_is_led_to_ours(refuse) -> None:
    assert "unknown key; did you mean `target`?" in refuse("agent: {type: simple}")


def test_all_problems_are_told_at_once_in_their_order(refuse) -> None:
    text = refuse("llm: {temperature: hot}\nrun:\n  concurrency: 0\njudge: {modle: x}\n")
    places = [line.split(": ")[0] for line in text.splitlines() if line.startswith("convoprobe")]
    assert places == ["convoprobe.yaml:1:20", "convoprobe.yaml:3:16", "convoprobe.yaml:4:9"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("llm: {model: 5}", "llm.model: must be text, got the number 5; put it in quotes"),
        ("llm: {model: on}", "llm.model: must be text, got the boolean `on`; put it in quotes"),
        ("llm: {model: ''}", "llm.model: must not be empty"),
        ("llm: {temperature: hot}", 'llm.temperature: must be a number, got the text "hot"'),
        ("llm: {temperature: 3}", "llm.temperature: must be from 0 to 2, got the number 3"),
        ("llm: {max_tokens: yes}", "llm.max_tokens: must be a number, got the boolean `yes`"),
        ("llm: {max_tokens: 1.5}", "llm.max_tokens: must be a whole number, got the number 1.5"),
        ("llm: {timeout: 0}", "llm.timeout: must be more than 0, got the number 0"),
        ("llm: {timeout: .inf}", "llm.timeout: must be a finite number"),
        (
            "target: {type: python, object: a:b, models: {prices: {m: {input_cost_per_token: 1}}}}",
            "target.models.prices.m.output_cost_per_token: this key is required, and it is missing",
        ),
        (
            "target: {type: python, object: a:b, models: {prices: {}}}",
            "target.models: names no provider: give it `openai`, `anthropic` or both",
        ),
        ("llm: {extra_headers: [a]}", "llm.extra_headers: must be a mapping, but it is a list"),
        ("llm: {api_base: 'http://localhost:99999/v1'}", "complete address, with a host and at most a port"),
        ("llm: {api_base: 'http://[::1/v1'}", "complete address, with a host and at most a port"),
        ("llm: {api_base: 'http:///v1'}", "complete address, with a host and at most a port"),
        ("llm: {extra_params: {messages: []}}", "`messages`: the conversation decides about it"),
        ("llm: {extra_params: {num_retries: 3}}", "`num_retries`: write `max_attempts` beside it"),
        ("llm: {extra_params: {stream: true}}", "`stream`: replies are read whole"),
        ("llm: {extra_params: {extra_body: {top: [.nan]}}}", "`extra_body` must be data that JSON has"),
        ("llm: {api_base: 'localhost:80'}", 'begins with http:// or https://, got the text "localhost:80"'),
        ("llm: {reasoning: hihg}", 'got the text "hihg"; did you mean `high`?'),
        (
            "llm: openai/x",
            'llm: must be a mapping, but it is the text "openai/x"; write `llm: {model: openai/gpt-4o-mini}`',
        ),
        (
            "run: {inconclusive: fial}",
            'must be one of `error`, `fail`, `skip`, got the text "fial"; did you mean `fail`?',
        ),
        ("run: {max_cost: -1}", "run.max_cost: must be at least 0, got the number -1"),
        (
            "target: {type: pyton}",
            'must be one of `model`, `python`, `http`, `adk`, got the text "pyton"; did you mean `python`?',
        ),
        (
            "target: {type: Pydantic-AI, object: a:b}",
            'got the text "Pydantic-AI"; for an agent of a framework write `type: python` and its `object`',
        ),
        ("target: {type: mcp}", "for an MCP server write `type: model` and `mcp_servers`"),
        (
            "target: {object: a:b}",
            "type: this key is required, and it is missing; give it one of "
            "`model`, `python`, `http`, `adk`; for this one write `type: python`",
        ),
        ("target: {type: python}", "target.object: this key is required, and it is missing"),
        (
            "target: a:b",
            'target: must be a mapping, but it is the text "a:b"; write `target: {type: python, object:',
        ),
        ("target: {type: model, tools: a:b}", 'target.tools: must be a list, got the text "a:b"'),
        ("target: {type: model, tools: [a, 3]}", "target.tools[1]: must be text, got the number 3"),
        ("target: {type: http, url: x, boddy: 1}", "unknown key; did you mean `body`?"),
        ("llm: {model: a, model: b}", "the key `model` is given twice"),
        ("- a\n- b", "settings are a mapping of sections (llm:, judge:, …); the file is a list"),
        ("llm: {model: [a", "invalid YAML: a `[` that is never closed"),
        ("llm:\n\tmodel: a", "invalid YAML: a tab; YAML is indented with spaces"),
        ("llm: *nowhere", "the alias `*nowhere` isn't defined above it"),
        ("llm: !!python/name:os.system", "the tag `!!python/name:os.system` isn't supported here"),
        ("a: &a [*a]", "an alias inside of what it refers to"),
        ("llm: {}\n---\nrun: {}", "settings are one YAML document; this begins another one"),
    ],
)
def test_words(refuse, text: str, words: str) -> None:
    assert words in refuse(text)


def test_a_secret_of_the_wrong_type_is_not_shown(refuse) -> None:
    text = refuse("llm: {api_key: 73519482}\n")
    assert "llm.api_key: must be text, got something else" in text
    assert "73519482" not in text


def test_a_secret_under_a_misspelt_key_on_a_quoted_line_is_masked(refuse) -> None:
    text = refuse("llm: {api_key: topsecret-1, modle: x}\n")
    assert "topsecret-1" not in text
    assert "api_key: ****, modle: x" in text


def test_a_secret_in_a_file_with_bad_syntax_is_masked(refuse) -> None:
    assert "topsecret-1" not in refuse("llm: {api_key: topsecret-1, model: [a}\n")


def test_problems_of_a_toml_file_have_a_line(refuse) -> None:
    text = refuse('[tool.convoprobe.llm]\nmodel = "a"\nmodle = "b"\n', name="pyproject.toml")
    assert (
        text == f"pyproject.toml:3:1: llm.modle: unknown key; did you mean `model`? Valid here: {MODEL_KEYS}"
    )


def test_invalid_toml(refuse) -> None:
    text = refuse("[tool.convoprobe]\nllm = ?\n", name="pyproject.toml")
    assert text == "pyproject.toml:2:7: not valid TOML: Invalid value"


@pytest.mark.parametrize(
    ("lines", "place"),
    [
        ('llm.timeout = "soon"', "2:15: llm.timeout"),
        ("[tool.convoprobe.llm]\n  timeout   =   true", "3:17: llm.timeout"),
        ("llm = {timeout = true}", "2:7: llm.timeout"),
        ("[tool.convoprobe.llmm]", "2:2: llmm"),
    ],
)
def test_problems_of_a_toml_file_have_a_column(refuse, lines: str, place: str) -> None:
    text = refuse(f"[tool.convoprobe]\n{lines}\n", name="pyproject.toml")
    assert text.startswith(f"pyproject.toml:{place}: ")


def test_bytes_that_are_not_utf8(folder: Path) -> None:
    (folder / "convoprobe.yaml").write_bytes(b"llm:\n  model: caf\xe9\n")
    with pytest.raises(SettingsError, match=r"convoprobe.yaml:2:13: this isn't UTF-8"):
        load_settings(folder)


def test_a_byte_order_mark_is_accepted(folder: Path) -> None:
    (folder / "convoprobe.yaml").write_bytes(b"\xef\xbb\xbfllm: {model: openai/x}\n")
    assert load_settings(folder).settings.llm.model == "openai/x"


def test_a_huge_file_is_refused(folder: Path) -> None:
    (folder / "convoprobe.yaml").write_bytes(b"#" * 1_000_001)
    with pytest.raises(SettingsError, match="the file is too large"):
        load_settings(folder)


def test_problems_of_the_command_line(refuse) -> None:
    text = refuse(overrides={"run.concurency": 3, "foo.bar": 1, "llm.temperature": "x"})
    assert text.splitlines() == [
        "command line: foo: unknown key. Valid here: llm, judge, synthetic_user, target, targets, run, "
        "gate, results",
        "command line: run.concurency: unknown key; did you mean `concurrency`? Valid here: concurrency, "
        "turn_timeout, scenario_timeout, max_cost, max_tokens, inconclusive, now, replay, max_text, "
        "recordings",
        'command line: llm.temperature: must be a number, got the text "x"',
    ]


def test_an_empty_file_and_empty_sections_are_fine(load) -> None:
    assert load("llm:\njudge: {model: null}\n").settings.judge.model is None


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (
            'judge: {extra_instructions: "Today is {{ today }}"}',
            "convoprobe.yaml:1:29: judge.extra_instructions",
        ),
        (
            'target: {type: model, system_prompt: "It is {{ date }}"}',
            "convoprobe.yaml:1:38: target.system_prompt",
        ),
    ],
)
def test_a_placeholder_that_nobody_fills_in(refuse, text: str, place: str) -> None:
    assert f"{place}: `{{{{ " in refuse(text)


def test_placeholders_that_are_filled_in_or_meant(load) -> None:
    prompt = "{{ today }}, {{ now }} or {% raw %}{{ name }}{% endraw %}"
    loaded = load(
        f"llm: {{extra_instructions: '{prompt[26:]}'}}\ntarget: {{type: model, system_prompt: '{prompt}'}}"
    )
    assert loaded.settings.llm.extra_instructions == "{{ name }}"
    assert loaded.settings.judge.extra_instructions == "{{ name }}"
    assert loaded.settings.target.system_prompt == prompt


def test_a_dollar_that_is_meant_is_no_placeholder(load) -> None:
    assert load("llm: {extra_instructions: 'a $${B}'}").settings.llm.extra_instructions == "a ${B}"


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("emial", "must be `email`, `iban`, `card`, `phone`, a regular expression, or a name with one"),
        ("emial", "did you mean `email`?"),
        ("'ORD-(\\d+'", "this is not a regular expression: missing )"),
        ("'x*'", "the pattern also fits where there is no text"),
        ("{email: x+}", "`email` is the name of a built-in pattern: give yours another one"),
        ("{order: 5}", "the pattern `order` must be a regular expression"),
        ("'('", 'missing ) at position 1, got the text "("'),
        ("{order: A, client: B}", "a mapping must have one name with its expression"),
    ],
)
def test_a_mask_that_cannot_be_used(refuse, rule: str, words: str) -> None:
    text = refuse(f"results:\n  mask:\n    - card\n    - {rule}\n")
    assert "convoprobe.yaml:4:7: results.mask[1]" in text
    assert words in text
