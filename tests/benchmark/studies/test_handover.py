"""The settings that a project lacks to test a benchmark's target, as text."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_convoprobe.benchmark.format.project import load_project
from pytest_convoprobe.benchmark.studies.handover import lacking
from pytest_convoprobe.settings.effective import LoadedSettings

HEAD = "llm: {model: openai/m, extra_instructions: Be brief.}\ntargets:\n"
ENVIRON = {"T": "abc-123-def", "HOST": "a.b", "SUFFIX": "z", "C": "c", "X": "x"}


def written(folder: Path, target: str, *, old: str = "", new: str = "") -> tuple[dict[str, Any], list[str]]:
    """The target's section and the variables in it; `old` and `new` are the roots."""
    (folder / "benchmark.yaml").write_text("name: Any\n")
    config = folder / "config.yaml"
    config.write_text(f"{HEAD}  - {{id: other, model: openai/o}}\n  - {target}\n")
    loaded = load_project(folder, root=folder / old, environ=ENVIRON)
    found = lacking(loaded, config, loaded.config.targets[1].id, LoadedSettings(), folder / new)
    assert found is not None
    section: dict[str, Any] = yaml.safe_load(found.text)["target"]
    return section, [name for name in found.variables if name.startswith("TARGET") or "_" not in name]


def test_instructions_for_our_roles_are_not_for_the_target(tmp_path: Path) -> None:
    assert written(tmp_path, "openai/t")[0] == {"type": "model", "model": "openai/t"}


@pytest.mark.parametrize(
    ("given", "section", "variables"),
    [
        (
            '{type: http, url: "http://u:hunter2-x@a.b/c", headers: {X-Key: "abc-123-def", accept: text}}',
            {"url": "${TARGET_URL}", "headers": {"X-Key": "${TARGET_HEADERS_X_KEY}", "accept": "text"}},
            ["TARGET_URL", "TARGET_HEADERS_X_KEY"],
        ),
        (
            '{type: http, url: "${A:-http://a.b}", headers: {authorization: "Basic ${T}"}, body: {token: 7}}',
            {
                "url": "${A:-http://a.b}",
                "headers": {"authorization": "Basic ${T}"},
                "body": {"token": "${TARGET_BODY_TOKEN}"},
            },
            ["TARGET_BODY_TOKEN"],
        ),
        (
            '{type: http, url: "http://u:hunter2-x@${HOST}/c"}',
            {"url": "${TARGET_URL}"},
            ["TARGET_URL"],
        ),
        (
            '{type: http, url: "http://a.b/${C}", headers: {authorization: "Bearer sk-real-1234-${SUFFIX}"}}',
            {"url": "http://a.b/${C}", "headers": {"authorization": "${TARGET_HEADERS_AUTHORIZATION}"}},
            ["TARGET_HEADERS_AUTHORIZATION"],
        ),
        (
            '{type: http, url: "http://a.b", body: {api_key: "sk-abc123-${X}", token: "$${X}${T}"}}',
            {
                "url": "http://a.b",
                "body": {"api_key": "${TARGET_BODY_API_KEY}", "token": "${TARGET_BODY_TOKEN}"},
            },
            ["TARGET_BODY_API_KEY", "TARGET_BODY_TOKEN"],
        ),
        (
            '{type: http, url: "http://a.b", headers: {authorization: "bearer ${T:-sk-real-1234}"}}',
            {"url": "http://a.b", "headers": {"authorization": "bearer ${T}"}},
            ["T"],
        ),
    ],
)
def test_secrets_become_references_and_references_stay(
    tmp_path: Path, given: str, section: dict[str, Any], variables: list[str]
) -> None:
    assert written(tmp_path, given) == ({"type": "http", **section}, variables)


def test_python_files_are_named_as_the_project_sees_them(tmp_path: Path) -> None:
    agent = written(tmp_path, '{type: python, object: "a/agent.py:Agent"}', old="bench")[0]
    assert agent["object"] == "bench/a/agent.py:Agent"
    tools = written(tmp_path, '{model: openai/t, tools: ["t.py:f", "package.module:g"]}', old="bench")[0]
    assert tools["tools"] == ["bench/t.py:f", "package.module:g"]


def test_tables_are_toml_whatever_is_in_them(tmp_path: Path) -> None:
    tomllib = pytest.importorskip("tomllib")
    text = '\U0001f600 \u20ac "a\\b" \x7f\x85\u202e\n\t'
    body = {text: text, "list": [1, None, "x"], "none": None, "much": 1e20, "most": math.inf, "yes": True}
    target = {"type": "http", "url": "http://a.b", "body": body, "reply": None}
    (tmp_path / "benchmark.yaml").write_text("name: Any\n")
    config = tmp_path / "config.yaml"
    config.write_text(yaml.safe_dump({"llm": {"model": "openai/m"}, "targets": [target]}))
    loaded = load_project(tmp_path, environ={})
    project = LoadedSettings(file=tmp_path / "pyproject.toml")
    found = lacking(loaded, config, loaded.config.targets[0].id, project, tmp_path)
    assert found is not None
    section = tomllib.loads(found.text)["tool"]["convoprobe"]["target"]
    kept = {text: text, "list": [1, "x"], "much": 1e20, "most": math.inf, "yes": True}
    assert section == {"type": "http", "url": "http://a.b", "body": kept}
