"""The section `targets`: several agents by name, and what they share."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

from pytest_convoprobe.errors import SettingsError
from pytest_convoprobe.settings.effective import LoadedSettings
from pytest_convoprobe.settings.loading import load_settings
from pytest_convoprobe.settings.merge import scenario_settings, target_settings
from pytest_convoprobe.settings.models import HttpTarget, PythonTarget
from pytest_convoprobe.settings.several_targets import SeveralTargets, each_target, with_target
from pytest_convoprobe.settings.show import masked, show


def load(folder: Path, text: str, name: str = "convoprobe.yaml", **environ: str) -> LoadedSettings:
    (folder / name).write_text(text, encoding="utf-8")
    return load_settings(folder, environ=environ)


def section(text: str, name: str) -> list[str]:
    return text.split(f"\n{name}\n")[1].split("\n\n")[0].splitlines()


def refused(folder: Path, text: str, **environ: str) -> str:
    with pytest.raises(SettingsError) as caught:
        load(folder, text, **environ)
    return str(caught.value)


def values(loaded: LoadedSettings, name: str) -> Any:
    return target_settings(with_target(loaded, name))


def test_each_is_a_whole_target(tmp_path: Path) -> None:
    loaded = load(
        tmp_path,
        """
targets:
  python: {type: python, object: "a.py:A"}
  service: {type: http, url: "http://h/chat", faults: [{tool: search, kind: error}]}
""",
    )
    assert loaded.settings.target is None
    assert isinstance(values(loaded, "python"), PythonTarget)
    assert isinstance(values(loaded, "service"), HttpTarget)
    faults = {name: scenario_settings(with_target(loaded, name)).faults for name in loaded.settings.targets}
    assert [len(faults[name]) for name in ("python", "service")] == [0, 1]


def test_what_they_share_is_in_target(tmp_path: Path) -> None:
    loaded = load(
        tmp_path,
        """
target: {type: http, url: "http://shared", headers: {X-A: one, X-B: two}, timeout: 5}
targets:
  same:
  own: {url: "http://own", headers: {X-A: other}}
  elsewhere: {type: python, object: "a.py:A"}
""",
    )
    assert values(loaded, "same").url == "http://shared"
    own = values(loaded, "own")
    assert (own.url, own.timeout, list(own.headers)) == ("http://own", 5, ["X-A"]), "each key is taken whole"
    assert isinstance(values(loaded, "elsewhere"), PythonTarget)


def test_models_inherit_as_roles_do(tmp_path: Path) -> None:
    loaded = load(
        tmp_path,
        """
llm: {model: openai/judge, api_key: sk-of-llm-12345}
target: {type: model, model: openai/shared, system_prompt: Hi, api_base: "http://shared/v1"}
targets:
  mini: {model: openai/mini}
  haiku: {model: anthropic/haiku}
""",
    )
    mini, haiku = values(loaded, "mini"), values(loaded, "haiku")
    assert (mini.model, mini.api_base, mini.system_prompt) == ("openai/mini", "http://shared/v1", "Hi")
    # The address and the key of another provider are not handed to this one.
    assert (haiku.model, haiku.api_base, haiku.api_key) == ("anthropic/haiku", None, None)
    assert loaded.settings.judge.model == "openai/judge"


def test_toml_has_them_as_tables(tmp_path: Path) -> None:
    text = """
[tool.convoprobe.target]
type = "http"
[tool.convoprobe.targets.a]
url = "http://a"
[tool.convoprobe.targets.b]
url = "http://b"
"""
    loaded = load(tmp_path, text, "pyproject.toml")
    assert [values(loaded, name).url for name in "ab"] == ["http://a", "http://b"]


def test_each_is_shown_with_the_place_of_every_value(tmp_path: Path) -> None:
    text = """
target: {type: http, headers: {X-A: "${TOKEN}"}}
targets:
  a:
    url: "http://${HOST}/a"
  b: {url: "http://b"}
"""
    loaded = load(tmp_path, text, TOKEN="token-1-secret", HOST="host-1")
    rows = {line.split()[0]: line for line in section(show(loaded), "targets.a") if line}
    assert rows["url"].endswith("convoprobe.yaml:5 (targets.a), from $HOST")
    assert rows["headers"].endswith("convoprobe.yaml:2 (target), from $TOKEN")
    assert rows["type"].endswith("convoprobe.yaml:2 (target)")
    assert "\ntarget\n" not in show(loaded)
    assert set(masked(loaded)) >= {"targets.a", "targets.b"}


@pytest.mark.parametrize("name", ["plain", "secret", "api-key", "headers", "env", "token.v2"])
def test_secrets_are_masked_whatever_a_target_is_called(tmp_path: Path, name: str) -> None:
    text = f"""
targets:
  {name}:
    type: http
    url: "https://user:password-7@host/chat?key=in-query-9"
    headers: {{Authorization: "Bearer ${{TOKEN}}"}}
    body: {{api_key: in-body-77, text: public words}}
"""
    loaded = load(tmp_path, text, TOKEN="token-5-secret")
    shown = show(loaded)
    for secret in ("password-7", "in-query-9", "token-5-secret", "in-body-77"):
        assert secret not in shown + repr(loaded)
        assert secret in loaded.secrets
    assert "public words" in shown
    assert "public words" not in loaded.secrets


def test_without_targets_nothing_is_shown_of_them(tmp_path: Path) -> None:
    loaded = load(tmp_path, "targets:\ntarget: {type: python, object: 'a.py:b'}")
    assert "targets" not in show(loaded).split("\n", 1)[1] + str(masked(loaded).keys())
    assert [section for section, _ in each_target(loaded)] == ["target"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("targets: {}", "1:10: targets: a mapping is expected, and it is empty"),
        ("targets: [a]", "targets: a mapping is expected, and it is a list"),
        ("targets: {fast: a.py:b}", "targets.fast: must be a mapping, but it is the text"),
        ("targets: {a b: {type: python, object: 'x:y'}}", "a target's name has letters, digits"),
        ("targets: {'a[1]': {type: python, object: 'x:y'}}", "a target's name has letters, digits"),
        ("targets: {a: {object: 'x:y'}}", "targets.a.type: this key is required"),
        (
            "targets: {a: {type: htp, url: x}}",
            "targets.a.type: must be one of `model`, `python`",
        ),
        ("targets: {a: {type: http, ulr: 'http://x'}}", "targets.a.ulr: unknown key; did you mean `url`?"),
        (
            "targets: {a: {type: http, url: '${NIX}'}}",
            "targets.a.url: the environment variable NIX",
        ),
        ("agents: {a: {type: http}}", "agents: unknown key; did you mean `targets`?"),
        (
            "target: {type: http, url: 'http://x'}\ntargets: {a: {type: python, object: 'a:b'}}",
            "1:1: target: beside `targets`, `target` has what those of its type share",
        ),
        ("target: {url: 'http://x'}\ntargets: {a: {type: http}}", "target.type: this key is required"),
        ("target: x\ntargets: {a: {type: http, url: 'http://a'}}", "target: must be a mapping"),
    ],
)
def test_mistakes_name_their_place(tmp_path: Path, text: str, said: str) -> None:
    assert said in refused(tmp_path, text)


def test_agents_in_this_process_have_models_all_or_none(tmp_path: Path) -> None:
    models = "models: {openai: 'https://api.openai.com/v1'}"
    wired, plain = f"{{type: python, object: 'a:b', {models}}}", "{type: python, object: 'a:c'}"
    said = refused(tmp_path, f"targets: {{one: {wired}, two: {plain}}}")
    assert "targets.two: `targets.one` has `models`, and this one has none" in said
    http = "{type: http, url: 'http://h'}"
    assert load(tmp_path, f"targets: {{one: {wired}, two: {wired}, far: {http}}}").settings.targets
    assert load(tmp_path, f"targets: {{one: {plain}, two: {plain}}}").settings.targets


def test_a_mistake_in_what_they_share_is_said_once(tmp_path: Path) -> None:
    text = "target: {type: http, urll: 'http://x'}\ntargets:\n  a:\n  b: {timeout: 3}\n"
    assert refused(tmp_path, text).count("did you mean `url`?") == 1


def test_a_key_that_only_one_lacks_waits_on_a_replay(tmp_path: Path) -> None:
    text = """
run: {replay: only}
target: {type: model, api_key: "${SHARED}"}
targets:
  a: {model: openai/a}
  b: {model: openai/b, api_key: "${OWN}"}
"""
    loaded = load(tmp_path, text)
    assert "SHARED" in values(loaded, "a").unresolved["api_key"]
    assert "OWN" in values(loaded, "b").unresolved["api_key"]


def test_names_that_are_not_there(tmp_path: Path) -> None:
    loaded = load(tmp_path, "targets: {fast: {type: python, object: 'a:b'}}")
    with pytest.raises(SettingsError, match="there is no target `fats`; did you mean `fast`"):
        with_target(loaded, "fats")
    error = pickle.loads(pickle.dumps(SeveralTargets(("a", "b"))))
    assert "several targets (a, b)" in str(error)
