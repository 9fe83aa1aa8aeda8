"""Commands in a project whose settings name several targets."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from pytest_convoprobe.cli import main
from tests.plugin.suite import REST
from tests.support.chat_server import ChatServer

SHOP = '''
def find(number: str) -> str:
    """Finds an order by its number."""
    return number


def cancel(number: str) -> str:
    """Cancels an order by its number."""
    return number


def fast(message):
    return "fast: " + message


def slow(message):
    return "slow: " + message
'''
OF_MODELS = """
target: {type: model, model: openai/x}
targets:
  finds: {tools: ["shop.py:find"]}
  cancels: {tools: ["shop.py:cancel"]}
"""
IN_PYTHON = """
targets:
  fast: {type: python, object: "shop.py:fast"}
  slow: {type: python, object: "shop.py:slow"}
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "shop.py").write_text(SHOP)
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "convoprobe.yaml").write_text(OF_MODELS)
    (tmp_path / "scenarios").mkdir()
    write_scenario(tmp_path, {})
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_scenario(folder: Path, usage: dict[str, object]) -> None:
    evaluation = {**REST["evaluation"], "tool_usage": usage} if usage else REST["evaluation"]
    text = yaml.safe_dump({"name": "one", **REST, "evaluation": evaluation})
    (folder / "scenarios" / "one.yaml").write_text(text)


def run(*words: str) -> Result:
    return CliRunner().invoke(main, list(words))


@pytest.mark.usefixtures("project")
def test_tools_of_one_of_them() -> None:
    assert "find" in run("tools", "--target", "finds").output
    result = run("tools", "--target", "cancels")
    assert "cancel" in result.output
    assert "1 tool reviewed" in result.output


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "the settings name several targets (finds, cancels), and nothing says which one is meant"),
        (("--target", "find"), "there is no target `find`; did you mean `finds`?"),
        (("--target", "shop.py:fast"), "`shop.py:fast` is a reference to Python code"),
    ],
)
def test_a_command_that_needs_one_says_so(words: tuple[str, ...], said: str) -> None:
    result = run("tools", *words)
    assert result.exit_code not in (0, 1)
    assert said in result.stderr


def test_validate_looks_at_each(project: Path) -> None:
    write_scenario(project, {"required_tools": ["find"]})
    result = run("validate", "--with-target", "scenarios")
    assert result.exit_code == 1
    assert "targets.cancels: " in result.output
    assert "targets.finds: " not in result.output


@pytest.mark.usefixtures("project")
def test_doctor_looks_at_each_without_a_call() -> None:
    found = json.loads(run("doctor", "--offline", "--json").stdout)
    assert {one["what"] for one in found} >= {"target finds", "target cancels"}


def test_doctor_talks_with_each(project: Path) -> None:
    (project / "convoprobe.yaml").write_text(IN_PYTHON + "  gone: {type: python, object: 'shop.py:gone'}\n")
    found = {one["what"]: one for one in json.loads(run("doctor", "--json").stdout)}
    assert [found[f"target {name}"]["works"] for name in ("fast", "slow", "gone")] == [True, True, False]


@pytest.mark.usefixtures("project")
def test_generate_takes_a_name_too() -> None:
    said = run("generate", "-o", "made", "--target", "find").stderr
    assert "no model is set" in said or "there is no target `find`" in said


def test_a_scenario_is_run_often_with_one_of_them_and_repeated_with_it(project: Path) -> None:
    with ChatServer() as server:
        model = (
            f"llm: {{model: openai/fake, api_base: '{server.base_url}', api_key: sk-not-a-real-key-123}}\n"
        )
        (project / "convoprobe.yaml").write_text(model + IN_PYTHON)
        refused = run("stability", "scenarios/one.yaml", "--trials", "2")
        assert "the settings name several targets (fast, slow)" in refused.stderr
        assert run("stability", "scenarios/one.yaml", "--trials", "2", "--target", "slow").exit_code == 0
        again = run("rerun", "latest", "one", "--from-turn", "1", "--trial", "1", "--json")
        assert again.exit_code == 0, again.output
        judged = run("rejudge", "latest", "--json")
        assert judged.exit_code == 0, judged.output
    repeated = json.loads(again.stdout)
    assert (repeated["scenario_id"], repeated["target_name"]) == ("scenarios/one.yaml::one[slow]", "slow")
    assert repeated["transcript"]["turns"][0]["reply"].startswith("slow: ")


@pytest.mark.usefixtures("project")
def test_settings_are_shown_for_each() -> None:
    from pytest_convoprobe.llm.clients_in_use import clients_in_use
    from pytest_convoprobe.settings.loading import load_settings

    assert [one.role for one in clients_in_use(load_settings(Path.cwd()))] == [
        "targets.finds",
        "targets.cancels",
    ]
