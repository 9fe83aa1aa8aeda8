"""What `bench export` says is to be done next, done to the letter: pytest then runs the scenarios."""

from __future__ import annotations

import os
import re
import shlex
from glob import glob
from pathlib import Path
from typing import Any

import yaml
from click.testing import Result

from tests.support import warm_process
from tests.support.chat_server import ChatServer

from .benchmark import CARELESS
from .conftest import Convoprobe
from .test_bench_stages import done, finished, finishing, server

__all__ = ["done", "finished", "finishing", "server"]  # fixtures

KEY = "sk-verysecret1234567890"
MODEL = {"model": "openai/fake", "source": "openai", "base_url": "${ADDRESS}", "max_attempts": 1}
TARGET = {"id": "careless", "system_prompt": CARELESS}


def configure(path: Path, **sections: Any) -> None:
    config = yaml.safe_load((path / "config.yaml").read_text())
    del config["llm"]
    (path / "config.yaml").write_text(yaml.safe_dump({**config, **sections}, sort_keys=False))


def block(output: str) -> str:
    """The settings that are to be written."""
    return "".join(f"{line[4:]}\n" for line in output.splitlines() if line.startswith("    ") or not line)


def follow(result: Result, folder: Path, **environ: str) -> str:
    """Does what stands below Next; the last line of what pytest says."""
    assert result.exit_code == 0, result.output
    steps = result.stdout.partition("\nNext\n")[2]
    if found := re.search(r"  (?:add to|write into a new) (\S+) ", steps):
        with (folder / found[1]).open("a") as file:
            file.write(block(steps))
    told = set(re.findall(r"^  export (\w+)=", steps, re.MULTILINE))
    assert told == environ.keys() - {"ADDRESS"}
    [command] = re.findall(r"^  (pytest \S+)", steps, re.MULTILINE)
    env = {**os.environ, **environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    options = ("-q", "-p", "no:cacheprovider", "-p", "convoprobe")
    # What a shell makes of the pattern for several files.
    words = [path for word in shlex.split(command) for path in glob(word, root_dir=folder) or [word]]
    ran = warm_process.run(*words, *options, cwd=folder, env=env)
    return ran.stdout.strip().splitlines()[-1] if ran.stdout.strip() else ran.stderr


def export(convoprobe: Convoprobe, server: ChatServer, out: str = "scenarios/hours") -> Result:
    environ = {"ADDRESS": server.base_url}
    only = ("--only", "m02_s001_v01", "--target", "careless")
    return convoprobe("bench", "export", "hours", "--to-scenarios", out, *only, env=environ)


def test_in_a_folder_without_settings(
    done: Path, folder: Path, convoprobe: Convoprobe, server: ChatServer
) -> None:
    (folder / "pytest.ini").unlink()
    configure(done, llm={**MODEL, "apikey": KEY}, targets=[{"id": "careful", **MODEL}, TARGET])
    result = export(convoprobe, server)
    assert result.stderr == ""
    written = yaml.safe_load(block(result.stdout.partition("\nNext\n")[2]))
    assert list(written) == ["synthetic_user", "judge", "target"]
    assert written["target"] == {
        "type": "model",
        "model": "openai/fake",
        "provider": "openai",
        "api_base": "${ADDRESS}",
        "max_attempts": 1,
        "api_key": "${TARGET_API_KEY}",
        "system_prompt": CARELESS,
    }
    assert KEY not in result.output
    keys = dict.fromkeys(("SYNTHETIC_USER_API_KEY", "JUDGE_API_KEY", "TARGET_API_KEY"), KEY)
    last = follow(result, folder, ADDRESS=server.base_url, **keys)
    assert re.match(r"1 (passed|failed) ", last), last


def test_where_the_settings_lack_only_the_target_it_is_an_agent_of_python(
    done: Path, folder: Path, convoprobe: Convoprobe, server: ChatServer
) -> None:
    settings = {"llm": {"model": "openai/fake", "api_base": server.base_url, "api_key": "none"}}
    (folder / "convoprobe.yaml").write_text(yaml.safe_dump(settings))
    (folder / "agent.py").write_text("def answer(message):\n    return 'It opens at nine.'\n")
    configure(done, llm=MODEL, targets=[{"id": "careless", "type": "python", "object": "agent.py:answer"}])
    result = export(convoprobe, server, "out")
    assert block(result.stdout.partition("\nNext\n")[2]).split() == [
        "target:", "type:", "python", "object:", "agent.py:answer",
    ]  # fmt: skip
    last = follow(result, folder, ADDRESS=server.base_url)
    assert re.match(r"1 (passed|failed) ", last), last


def test_settings_in_pyproject_get_tables(
    done: Path, folder: Path, convoprobe: Convoprobe, server: ChatServer
) -> None:
    (folder / "pytest.ini").unlink()
    own = f'model = "openai/fake"\napi_base = "{server.base_url}"\napi_key = "none"'
    (folder / "pyproject.toml").write_text(f"[tool.convoprobe.llm]\n{own}\n")
    key = {"apikey": "${MY_KEY:-sk-a-default-123456}", "extra_params": {"seed": 7}}
    configure(done, llm=MODEL, targets=[{**TARGET, **key}])
    result = export(convoprobe, server)
    assert "[tool.convoprobe.target]\n" in block(result.stdout)
    assert 'extra_params = { "seed" = 7 }' in result.stdout
    assert "sk-a-default" not in result.output
    last = follow(result, folder, ADDRESS=server.base_url, MY_KEY="sk-mine")
    assert re.match(r"1 (passed|failed) ", last), last


def test_settings_that_lack_nothing_are_left_alone(
    done: Path, folder: Path, convoprobe: Convoprobe, server: ChatServer
) -> None:
    model = {"model": "openai/fake", "api_base": server.base_url, "api_key": "none"}
    (folder / "convoprobe.yaml").write_text(yaml.safe_dump({"llm": model, "target": {"type": "model"}}))
    configure(done, llm=MODEL, targets=[TARGET])
    result = export(convoprobe, server)
    steps = result.stdout.partition("\nNext\n")[2]
    assert steps.split() == "pytest scenarios/hours talk with the target of convoprobe.yaml".split()


def test_no_target_anywhere_is_told(
    done: Path, folder: Path, convoprobe: Convoprobe, server: ChatServer
) -> None:
    configure(done, llm=MODEL, targets=[])
    result = convoprobe("bench", "export", "hours", "--to-scenarios", "scenarios", "--only", "m02_s001_v01")
    steps = result.stdout.partition("\nNext\n")[2]
    assert "no target is named. Name it in convoprobe.yaml:\n\n      target:\n        type: python\n" in steps


def test_settings_that_cannot_be_read_end_it_before_anything_is_written(
    done: Path, folder: Path, convoprobe: Convoprobe
) -> None:
    other = folder / "other"
    other.mkdir()
    done.rename(other / "hours")
    (other / "pytest.ini").write_text("[pytest]\n")
    (other / "convoprobe.yaml").write_text("")
    (folder / "convoprobe.yaml").write_text("judge: {modle: x}\n")
    result = convoprobe("bench", "export", "other/hours", "--to-scenarios", "out", "--only", "m02_s001_v01")
    assert result.exit_code == 2
    assert "modle: unknown key; did you mean `model`?" in result.stderr
    assert not (folder / "out").exists()
