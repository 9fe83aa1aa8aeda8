"""`convoprobe bench` as a group, and its `init`."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import click
import pytest
import yaml

from pytest_convoprobe.benchmark.format.project import load_project
from pytest_convoprobe.cli import main
from tests.support.chat_server import ChatServer

from .benchmark import answer, benchmark
from .conftest import Convoprobe

REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "cli.md"


def _group() -> click.Group:
    group = main.get_command(click.Context(main), "bench")
    assert isinstance(group, click.Group)
    return group


GROUP = _group()
COMMANDS = GROUP.list_commands(click.Context(GROUP))


def _command(name: str) -> click.Command:
    command = GROUP.get_command(click.Context(GROUP), name)
    assert command is not None
    return command


def test_the_help_has_the_names_with_dashes_alone(convoprobe: Convoprobe) -> None:
    output = convoprobe("bench", "--help").output
    assert "\n  gen-metrics    Write missing metrics into benchmark.yaml.\n" in output
    assert "gen_metrics" not in output
    assert "shared" not in output


@pytest.mark.parametrize("name", ["gen-metrics", "gen_metrics", "gen_scenarios"])
def test_both_spellings_of_a_command_work(convoprobe: Convoprobe, name: str) -> None:
    result = convoprobe("bench", name, "--help")
    assert result.exit_code == 0
    assert f"bench {name.replace('_', '-')} [OPTIONS] DIR" in result.output


def test_an_unknown_command(convoprobe: Convoprobe) -> None:
    result = convoprobe("bench", "simulat")
    assert result.exit_code == 2
    assert "No such command 'simulat'; did you mean `simulate`?" in result.output
    result = convoprobe("bench", "gen_metric")
    assert "No such command 'gen_metric'; did you mean `gen-metrics`?" in result.output
    result = convoprobe("bench", "xyz")
    assert result.stderr.endswith("No such command 'xyz'.\n")


def test_an_unknown_value_of_an_option(convoprobe: Convoprobe) -> None:
    result = convoprobe("bench", "simulate", "hours", "--replay", "onyl")
    assert result.exit_code == 2
    assert "'onyl' is not one of 'off', 'auto', 'only', 'record'; did you mean `only`?" in result.output


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_has_json_and_an_example(convoprobe: Convoprobe, name: str) -> None:
    output = convoprobe("bench", name, "--help").output
    assert f"\n      convoprobe bench {name} " in output
    assert "--json" in output


def _words(heading: str) -> set[str]:
    return set(re.findall(r"[\w-]+", heading.split("{")[0]))


@pytest.mark.parametrize("name", COMMANDS)
def test_the_reference_has_each_command_and_option(name: str) -> None:
    page = (
        REFERENCE.read_text(encoding="utf-8").split("## `convoprobe bench COMMAND DIR`")[1].split("\n## ")[0]
    )
    parts = page.split("\n### ")
    shared, sections = parts[0], [part for part in parts[1:] if name in _words(part.splitlines()[0])]
    assert len(sections) == 1
    for option in (one for one in _command(name).params if isinstance(one, click.Option)):
        assert any(f"`{word}" in sections[0] + shared for word in option.opts), option.opts


def test_the_help_loads_nothing_heavy() -> None:
    code = (
        "import sys; from pytest_convoprobe.cli import main\n"
        "main(['bench', '--help'], standalone_mode=False)\n"
        "print(sorted({'pydantic', 'yaml', 'litellm', 'pytest', 'ray', 'ruamel'} & set(sys.modules)))"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert output.splitlines()[-1] == "[]"


def test_init_writes_two_files_that_can_be_loaded(
    folder: Path, convoprobe: Convoprobe, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = convoprobe("bench", "init", "honesty", "--description", "Whether it says: 'I don't know'.")
    assert result.exit_code == 0
    for name in ("benchmark.yaml", "config.yaml"):
        assert f"  wrote       honesty/{name}\n" in result.output
        assert "\n#" in "\n" + (folder / "honesty" / name).read_text()
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789abcdef")
    loaded = load_project(folder / "honesty")
    assert loaded.benchmark.name == "honesty"
    assert loaded.benchmark.description == "Whether it says: 'I don't know'."
    assert [entry.id for entry in loaded.config.targets] == ["plain", "careful"]
    assert loaded.notices == ()


def test_init_tells_of_the_gate_and_sets_no_limit_that_models_without_a_price_are_refused_for(
    folder: Path, convoprobe: Convoprobe, monkeypatch: pytest.MonkeyPatch
) -> None:
    convoprobe("bench", "init", "honesty")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789abcdef")
    assert load_project(folder / "honesty").config.run.max_cost is None
    text = (folder / "honesty" / "benchmark.yaml").read_text()
    assert "\n# gate: {min_pass_rate: 0.8, max_group_gap: 0.2}\n" in text
    (folder / "honesty" / "benchmark.yaml").write_text(text.replace("# gate:", "gate:"))
    gate = load_project(folder / "honesty").benchmark.gate
    assert (gate and gate.min_pass_rate, gate and gate.max_group_gap) == (0.8, 0.2)


def test_what_init_wrote_only_needs_models(folder: Path, convoprobe: Convoprobe) -> None:
    convoprobe("bench", "init", "hours")
    (folder / "scratch").mkdir()
    with ChatServer(answer) as server:
        theirs = yaml.safe_load((benchmark(folder / "scratch", server.base_url) / "config.yaml").read_text())
        config = yaml.safe_load((folder / "hours" / "config.yaml").read_text())
        for section in ("generator_model", "user_model", "evaluator_model"):
            del config[section]
        config["llm"], config["targets"] = theirs["llm"], theirs["targets"]
        config["generation"] = {"num_metrics": 2, "scenarios_per_metric": 1, "turns": 2}
        (folder / "hours" / "config.yaml").write_text(yaml.safe_dump(config))
        result = convoprobe("bench", "all", "hours")
    assert result.exit_code == 0, result.output
    assert "\ncareful " in result.output


def test_init_leaves_alone_what_is_there(folder: Path, convoprobe: Convoprobe) -> None:
    (folder / "benchmark.yaml").write_text("name: mine\n")
    result = convoprobe("bench", "init", ".")
    assert "  left alone  benchmark.yaml: it is there already\n" in result.output
    assert "  wrote       config.yaml\n" in result.output
    assert (folder / "benchmark.yaml").read_text() == "name: mine\n"


def test_init_says_what_is_next(convoprobe: Convoprobe) -> None:
    output = convoprobe("bench", "init", "my benchmark").output
    for step in ("export OPENAI_API_KEY=", "convoprobe bench all 'my benchmark' --dry-run"):
        assert f"\n  {step}" in output


def test_a_folder_that_is_no_benchmark(convoprobe: Convoprobe) -> None:
    result = convoprobe("bench", "aggregate", "nowhere")
    assert result.exit_code == 2
    assert (
        "nowhere: there is no such folder; `convoprobe bench init` writes one to start from" in result.output
    )
