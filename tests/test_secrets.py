"""Canaries in every text of the settings: none may come out anywhere, and all must be sent.

The fields are found by walking the models, so a new one has a canary without anybody thinking of it.
"""

from __future__ import annotations

import base64
import json
import os
import sys
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

import pytest
import yaml
from click.testing import CliRunner
from pydantic import BaseModel, SecretStr

from pytest_convoprobe.cli import main
from pytest_convoprobe.settings.aliases import known_fields
from pytest_convoprobe.settings.loading import load_settings
from pytest_convoprobe.settings.model_settings import ModelSettings
from pytest_convoprobe.settings.models import HttpTarget, ModelTarget, PythonTarget, Settings, TargetSection
from pytest_convoprobe.settings.secret_places import PUBLIC_FIELDS
from pytest_convoprobe.settings.show import masked, show

from .support import plain_mcp_server, warm_process
from .support.agent_server import AgentServer, Request
from .support.chat_server import ChatServer
from .support.default_answers import default_answer

SCENARIO = """
name: talk
description: Somebody asks
synthetic_user: {persona: Somebody, initial_query: Hello, max_turns: 1}
evaluation: {correctness_criteria: [The agent answers]}
"""
FAILING = SCENARIO.replace("talk", "failing").replace("]}\n", "], efficiency: {max_llm_tokens: 1}}\n")
OWN_TEST = """
import pytest

def test_own(convoprobe, request):
    result = convoprobe.run("scenarios/talk.yaml::talk")
    settings, target = request.node.settings, request.node.target
    models = [settings.judge, settings.synthetic_user]
    print("printed", [value.get_secret_value() for value in settings.judge.extra_headers.values()])
    raise RuntimeError(f"it breaks with {settings!r} {target!s} {models} {settings.judge.extra_instructions}")
"""
CONFTEST = """
from pathlib import Path
from pytest_convoprobe.settings.loading import load_settings

def pytest_convoprobe_settings(item, scenario, settings):
    item.settings = settings
    item.target = load_settings(Path(__file__).parent).settings.target
"""


def is_text(annotation: Any) -> bool:
    """Whether a value of this type may be or contain text that somebody chooses."""
    if typing.get_origin(annotation) is Literal:
        return False
    return annotation in (str, SecretStr, Any) or any(map(is_text, typing.get_args(annotation)))


SIDE_REQUESTS = ("start", "finish")


@dataclass
class Planting:
    """Settings with a variable in each text; `canaries` are the variables' values."""

    servers: Mapping[str, str]
    canaries: dict[str, str] = field(default_factory=dict)

    def section(
        self, model: type[BaseModel], prefix: str, leave: frozenset[str] = frozenset()
    ) -> dict[str, Any]:
        names = [
            name
            for name in known_fields(model)
            if (is_text(model.model_fields[name].annotation) or name in SIDE_REQUESTS)
            and name not in (*PUBLIC_FIELDS, *leave)
        ]
        return {name: self._value(name, f"{prefix}_{name}") for name in names}

    def canary(self, name: str) -> str:
        """A new variable. Its value has letters of both cases, a sign that URLs escape, and no plain word."""
        self.canaries[name.upper()] = f"Canary-{name}-7q~Zx"
        return f"${{{name.upper()}}}"

    def _value(self, name: str, path: str) -> Any:
        canary, more = self.canary(path), lambda ending: self.canary(f"{path}_{ending}")
        shapes: dict[str, Callable[[], Any]] = {
            "api_base": lambda: f"http://{self.servers['llm']}/{canary}/v1",
            "url": lambda: f"http://{self.servers['agent']}/chat?code={canary}&page={more('page')}",
            "extra_headers": lambda: {"X-Team": canary},
            "headers": lambda: {"X-Team": canary, "Authorization": f"Bearer {more('token')}"},
            "extra_params": lambda: {"extra_body": {"note": [canary, more("user")]}},
            "body": lambda: {"message": "{{ message }}", "of": [canary], "half": f"a {more('half')}"},
            "text": lambda: f"text || '{canary}'",
            "tool_calls": lambda: f"tools || '{canary}'",
            "usage": lambda: f'usage || counts."{canary}"',
            "ended": lambda: f"ended || what == '{canary}'",
            "error": lambda: f'oops."{canary}"',
            "carry": lambda: {"last": f"version || '{canary}'"},
            "start": lambda: {
                "url": f"http://{self.servers['agent']}/new?code={canary}",
                "headers": {"X-Start": more("header")},
                "body": {"of": [more("body")]},
            },
            "finish": lambda: {"url": f"/end?code={canary}", "headers": {"X-Finish": more("header")}},
            "version": lambda: {"path": f"version || '{canary}'"},
            "mcp_servers": lambda: {
                "shop": {
                    "command": sys.executable,
                    "args": [plain_mcp_server.__file__, "--token", canary],
                    "env": {"NOTE": more("env")},
                }
            },
        }
        return shapes[name]() if name in shapes else canary


def echo(request: Request) -> dict[str, Any]:
    """All that came in, in the forms in which frameworks hand it back."""
    whole = f"{request.path} {dict(request.headers)} {request.body.decode()}"
    words = [word for word in request.headers.values() if "anary" in word]
    encoded = [base64.b64encode(f"user:{word}".encode()).decode() for word in words]
    forms = [whole, whole.upper(), whole.lower(), quote(whole), escape(whole), json.dumps(whole), *encoded]
    lines = [word[:9] + "\n" + word[9:] for word in words]
    return {
        "text": " ".join([*forms, *lines]),
        "tools": [{"name": "look", "arguments": {"q": whole}, "result": forms}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1},
        "ended": False,
        "version": "1",
    }


def talkative(body: dict[str, Any]) -> Any:
    """A model that repeats its whole request, but for the roles whose answers have a form."""
    wanted = default_answer(body)
    return (
        f"I was told {json.dumps(body)}"
        if isinstance(wanted, str) and wanted.startswith("Answer")
        else wanted
    )


@pytest.fixture
def servers() -> Iterator[tuple[ChatServer, AgentServer]]:
    with ChatServer(talkative) as llm, AgentServer(echo) as agent:
        yield llm, agent


def project(folder: Path, planting: Planting, target: type[TargetSection]) -> None:
    leave = frozenset(("api_key", "api_base")) if target is ModelTarget else frozenset()
    sections = {
        name: {"model": "openai/fake", "max_attempts": 1, **planting.section(ModelSettings, name)}
        for name in ("llm", "judge")
    }
    sections["target"] = {"type": target.type_name(), **planting.section(target, "target", leave)}
    if target is ModelTarget:
        sections["target"]["model"] = "openai/fake"
    (folder / "convoprobe.yaml").write_text(yaml.safe_dump({**sections, "run": {"replay": "record"}}))
    (folder / "scenarios").mkdir()
    (folder / "scenarios" / "talk.yaml").write_text(f"{SCENARIO}---\n{FAILING}")
    (folder / "test_own.py").write_text(OWN_TEST)
    (folder / "conftest.py").write_text(CONFTEST)


REPORTS = (
    "-rA", "-l", "--log-level=DEBUG", "-o", "log_cli=true", "--junitxml=junit.xml", "--html=other.html",
    "--convoprobe-html=page.html",
)  # fmt: skip


COMMANDS = (
    "show latest", "show latest talk -v", "report --json", "report --md", "report --junit", "check", "runs",
    "validate scenarios",
)  # fmt: skip


@pytest.mark.parametrize("target", [HttpTarget, ModelTarget])
def test_no_canary_comes_out(target, servers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    llm, agent = servers
    places = {"llm": llm.base_url.split("/")[2], "agent": agent.url.split("/")[2]}
    planting = Planting(places)
    project(tmp_path, planting, target)
    env = {**os.environ, **planting.canaries, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    before = set(tmp_path.rglob("*"))
    plugins = [
        word
        for name in ("convoprobe", "pytest_html.plugin", "pytest_metadata.plugin")
        for word in ("-p", name)
    ]
    words = ("pytest", *plugins, "scenarios/talk.yaml", "test_own.py", *REPORTS)
    run, doctor = (
        warm_process.run(*one, cwd=tmp_path, env=env) for one in (words, ("pytest_convoprobe.cli", "doctor"))
    )
    assert "2 failed, 1 passed" in run.stdout, run.stdout[-3000:]
    texts = {"pytest": run.stdout + run.stderr, "doctor": doctor.stdout + doctor.stderr}
    monkeypatch.chdir(tmp_path)
    for name, value in planting.canaries.items():
        monkeypatch.setenv(name, value)
    for command in COMMANDS:
        texts[command] = CliRunner().invoke(main, command.split()).output
    loaded = load_settings(tmp_path)
    texts["settings"] = f"{show(loaded)} {masked(loaded)} {loaded!r} {loaded.layers}"
    made = {path for path in tmp_path.rglob("*") if path.is_file()} - before
    assert {"junit.xml", "other.html", "page.html", "run.json"} <= {path.name for path in made}
    assert any("_recordings" in path.parts for path in made)
    texts |= {str(path): path.read_text(errors="replace") for path in made if path.suffix != ".pyc"}
    leaks = [(name, place) for name, value in planting.canaries.items() for place in leaking(value, texts)]
    assert leaks == []
    sent = repr([(one.headers, one.body, one.path) for one in llm.requests])
    sent += repr([(one.headers, one.body, one.path) for one in agent.requests])
    unsent = {
        name for name, value in planting.canaries.items() if value not in sent and not_basic(value, sent)
    }
    assert unsent <= NOT_SENT, unsent - NOT_SENT


READING = ("TEXT", "TOOL_CALLS", "USAGE", "ENDED", "VERSION", "ERROR", "CARRY")
STARTING = ("MCP_SERVERS", "MCP_SERVERS_ENV", "GREETING_CUE")
NOT_SENT = {f"TARGET_{name}" for name in (*READING, *STARTING)}
"""They say how an answer is read, or how a server or an agent that speaks first is started."""


def not_basic(value: str, sent: str) -> bool:
    return base64.b64encode(f"user:{value}".encode()).decode() not in sent


def leaking(value: str, texts: Mapping[str, str]) -> Iterator[str]:
    forms = {
        value,
        quote(value),
        json.dumps(value)[1:-1],
        base64.b64encode(f"user:{value}".encode()).decode(),
    }
    for place, text in texts.items():
        found = [
            form
            for form in forms
            if form.lower() in text.lower() or form.lower() in text.replace("\n", "").lower()
        ]
        if found:
            at = text.lower().find(found[0].lower())
            yield f"{place}: …{text[max(0, at - 80) : at + 80]}…"


def test_every_section_is_planted_or_declared_public() -> None:
    assert set(known_fields(Settings)) == {
        "llm",
        "judge",
        "synthetic_user",
        "target",
        "targets",  # each of them is a `target`
        "run",
        "gate",
        "results",
    }
    texts = {name for name, one in PythonTarget.model_fields.items() if is_text(one.annotation)}
    assert texts - {"greeting_cue"} <= PUBLIC_FIELDS  # nothing to plant: names of code, and words to an agent
