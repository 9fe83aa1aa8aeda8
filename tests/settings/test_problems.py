"""What a user reads when the settings can't be used."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_convoprobe.errors import SettingsError
from pytest_convoprobe.settings.loading import load_settings


def test_an_unknown_key_names_its_place_and_the_nearest_one(refuse) -> None:
    assert refuse("llm:\n  modle: openai/x\n") == (
        "convoprobe.yaml:2:3: llm.modle: unknown key `modle`. Did you mean `model`?\n"
        "      modle: openai/x\n"
        "      ^"
    )


def test_an_unknown_key_that_is_like_none_lists_them(refuse) -> None:
    assert "unknown key `zzz`. Known keys: concurrency, turn_timeout," in refuse("run: {zzz: 1}")


def test_an_unknown_section(refuse) -> None:
    assert "unknown section `judges`. Did you mean `judge`?" in refuse("judges: {}")


def test_the_word_of_another_system_is_led_to_ours(refuse) -> None:
    assert "unknown section `agent`. Did you mean `target`?" in refuse("agent: {type: simple}")


def test_all_problems_are_told_at_once_in_their_order(refuse) -> None:
    text = refuse("llm: {temperature: hot}\nrun:\n  concurrency: 0\njudge: {modle: x}\n")
    places = [line.split(": ")[0] for line in text.splitlines() if line.startswith("convoprobe")]
    assert places == ["convoprobe.yaml:1:20", "convoprobe.yaml:3:16", "convoprobe.yaml:4:9"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("llm: {model: 5}", "llm.model: expected text, got the number 5; put it in quotes"),
        ("llm: {model: on}", "llm.model: expected text, got true; put it in quotes"),
        ("llm: {model: ''}", "llm.model: expected text, got none"),
        ("llm: {temperature: hot}", "llm.temperature: expected a number, got 'hot'"),
        ("llm: {temperature: 3}", "llm.temperature: expected a number of at most 2, got the number 3"),
        ("llm: {max_tokens: yes}", "llm.max_tokens: expected a number, got true"),
        ("llm: {max_tokens: 1.5}", "llm.max_tokens: expected a whole number, got the number 1.5"),
        ("llm: {timeout: 0}", "llm.timeout: expected a number of more than 0, got the number 0"),
        ("llm: {timeout: .inf}", "llm.timeout: expected a finite number"),
        ("llm: {extra_headers: [a]}", "llm.extra_headers: expected a mapping, got a list"),
        ("llm: {api_base: 'localhost:80'}", "begins with http:// or https://, got 'localhost:80'"),
        ("llm: {reasoning: hihg}", "got 'hihg'. Did you mean `high`?"),
        (
            "llm: openai/x",
            "llm: expected a mapping, got 'openai/x'; write `llm: {model: openai/gpt-4o-mini}`",
        ),
        ("run: {inconclusive: fial}", "expected error, fail or skip, got 'fial'. Did you mean `fail`?"),
        ("run: {max_cost: -1}", "run.max_cost: expected a number of at least 0, got the number -1"),
        ("target: {type: pyton}", "expected model, python or http, got 'pyton'. Did you mean `python`?"),
        (
            "target: {object: a:b}",
            "`type` is missing: model, python or http; for this one write `type: python`",
        ),
        ("target: {type: python}", "target: `object` is missing"),
        ("target: a:b", "target: expected a mapping, got 'a:b'; write `target: {type: python, object:"),
        ("target: {type: model, tools: a:b}", "target.tools: expected a list, got 'a:b'"),
        ("target: {type: model, tools: [a, 3]}", "target.tools[1]: expected text, got the number 3"),
        ("target: {type: http, url: x, boddy: 1}", "unknown key `boddy`. Did you mean `body`?"),
        ("llm: {model: a, model: b}", "the key `model` is given twice"),
        ("- a\n- b", "settings are a mapping of sections (llm:, judge:, …); the file holds a list"),
        ("llm: {model: [a", "invalid YAML: a `[` that is never closed"),
        ("llm:\n\tmodel: a", "invalid YAML: a tab; YAML is indented with spaces"),
        ("llm: *nowhere", "the alias `*nowhere` isn't defined above it"),
        ("llm: !!python/name:os.system", "the tag `!!python/name:os.system` isn't supported here"),
        ("a: &a [*a]", "an alias inside of what it stands for"),
        ("llm: {}\n---\nrun: {}", "settings are one YAML document; this begins another one"),
    ],
)
def test_words(refuse, text: str, words: str) -> None:
    assert words in refuse(text)


def test_a_secret_of_the_wrong_type_is_not_shown(refuse) -> None:
    text = refuse("llm: {api_key: 73519482}\n")
    assert "llm.api_key: expected text, got something else; put it in quotes" in text
    assert "73519482" not in text


def test_a_secret_under_a_misspelt_key_on_a_quoted_line_is_masked(refuse) -> None:
    text = refuse("llm: {api_key: topsecret-1, modle: x}\n")
    assert "topsecret-1" not in text
    assert "api_key: ****, modle: x" in text


def test_a_secret_in_a_file_with_bad_syntax_is_masked(refuse) -> None:
    assert "topsecret-1" not in refuse("llm: {api_key: topsecret-1, model: [a}\n")


def test_problems_of_a_toml_file_have_a_line(refuse) -> None:
    text = refuse('[tool.convoprobe.llm]\nmodel = "a"\nmodle = "b"\n', name="pyproject.toml")
    assert text == "pyproject.toml:3: llm.modle: unknown key `modle`. Did you mean `model`?"


def test_invalid_toml(refuse) -> None:
    assert "pyproject.toml: not valid TOML: " in refuse("[tool.convoprobe]\nllm = ", name="pyproject.toml")


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
        "command line: foo: unknown section `foo`. Known sections: llm, judge, synthetic_user, target, run, "
        "results",
        "command line: run.concurency: unknown key `concurency`. Did you mean `concurrency`?",
        "command line: llm.temperature: expected a number, got 'x'",
    ]


def test_an_empty_file_and_empty_sections_are_fine(load) -> None:
    assert load("llm:\njudge: {model: null}\n").settings.judge.model is None
