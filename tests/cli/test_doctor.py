from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.scenario.examples import MINIMAL
from tests.support.agent_server import AgentServer
from tests.support.chat_server import ChatServer
from tests.support.model_server import ModelServer

from .conftest import Convoprobe
from .live import KEY, project


def test_all_is_well(folder: Path, convoprobe: Convoprobe, chat_server: ChatServer) -> None:
    project(folder, chat_server.base_url)
    result = convoprobe("doctor")
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    assert lines[0] == "✓ settings: convoprobe.yaml"
    assert lines[1].startswith(
        "✓ judge and synthetic user: openai/fake (key from llm section, convoprobe.yaml:"
    )
    assert lines[2].startswith("✓ target: agent.py:Agent answers: I heard 1 messages, the last was: Hello")
    assert lines[3] == f"✓ results: runs are stored in {Path('.convoprobe')}"
    assert len(chat_server.requests) == 1
    assert not (folder / ".convoprobe").exists()


def test_two_models_get_a_call_each(folder: Path, convoprobe: Convoprobe, chat_server: ChatServer) -> None:
    project(folder, chat_server.base_url, judge={"model": "openai/strict"})
    output = convoprobe("doctor").output
    assert "✓ judge: openai/strict" in output
    assert "✓ synthetic user: openai/fake" in output
    assert sorted(request.body["model"] for request in chat_server.requests) == ["fake", "strict"]


def test_each_model_of_a_panel_gets_a_call(
    folder: Path, convoprobe: Convoprobe, chat_server: ChatServer
) -> None:
    project(folder, chat_server.base_url, judge={"panel": ["openai/second", "antropic/third"]})
    result = convoprobe("doctor")
    assert result.exit_code == 1
    assert "✓ judge and synthetic user: openai/fake" in result.output
    assert "✓ judge's panel: openai/second (key from" in result.output
    assert "✗ judge's panel: judge.panel: `antropic/third`: `antropic` is not a provider" in result.output
    assert sorted(request.body["model"] for request in chat_server.requests) == ["fake", "second"]


def test_a_judge_by_log_odds_is_asked_for_probabilities(
    folder: Path, convoprobe: Convoprobe, chat_server: ChatServer
) -> None:
    project(folder, chat_server.base_url, judge={"method": "log_odds"})
    result = convoprobe("doctor")
    assert result.exit_code == 1
    assert (
        "openai/fake doesn't report how likely its words are (logprobs), which judge.method:" in result.output
    )


def test_a_key_that_is_refused(folder: Path, convoprobe: Convoprobe) -> None:
    with ChatServer(faults=["401"] * 9) as server:
        project(folder, server.base_url)
        result = convoprobe("doctor")
    assert result.exit_code == 1
    assert "✗ judge and synthetic user: openai/fake refuses the API key (status 401)" in result.output
    assert "    Set api_key in the settings to ${A_VARIABLE}" in result.output
    assert KEY not in result.output


def test_a_model_that_gives_no_json(folder: Path, convoprobe: Convoprobe) -> None:
    with ChatServer(["So be it."] * 9) as server:
        project(folder, server.base_url)
        result = convoprobe("doctor")
    assert result.exit_code == 1
    assert "    Try structured_output: text" in result.output


@pytest.mark.parametrize(
    ("refuses", "words"),
    [((), "; it takes JSON schemas"), (("response_format",), "; it refuses JSON schemas, so")],
)
def test_whether_schemas_are_taken_is_shown(
    folder: Path, convoprobe: Convoprobe, refuses: tuple[str, ...], words: str
) -> None:
    with ChatServer(['{"word": "ready"}'], refuses=refuses) as server:
        project(folder, server.base_url)
        assert words in convoprobe("doctor").output


def test_a_server_that_is_away(folder: Path, convoprobe: Convoprobe) -> None:
    project(folder, "http://127.0.0.1:9/v1")
    result = convoprobe("doctor")
    assert result.exit_code == 1
    assert (
        "✗ judge and synthetic user: no connection to openai/fake at http://127.0.0.1:9/v1" in result.output
    )
    assert "    Look whether the server runs" in result.output


def test_a_variable_that_is_missing(folder: Path, convoprobe: Convoprobe) -> None:
    convoprobe("init")
    result = convoprobe("doctor")
    assert result.exit_code == 1
    assert "✗ judge and synthetic user: not called: convoprobe.yaml:7:" in result.output
    assert "the environment variable OPENAI_API_KEY is not set" in result.output
    assert "give a default: ${NAME:-default}" in result.output  # not masked, as `KEY:-default` would be
    # The agent that `init` writes calls a model, and needs the same variable.
    assert "✗ target: the target raised KeyError: 'OPENAI_API_KEY'" in result.output


def test_a_variable_that_no_scenario_needs(folder: Path, convoprobe: Convoprobe) -> None:
    (folder / "agent.py").write_text("def answer(message):\n    return message\n")
    target = "target: {type: python, object: 'agent.py:answer'}\n"
    (folder / "convoprobe.yaml").write_text(target + "llm: {model: openai/a, api_key: '${NO_SUCH_KEY}'}\n")
    (folder / "scenarios").mkdir()
    user = "synthetic_user: {persona: p, initial_query: q, max_turns: 1}\n"
    alone = f"name: A\ndescription: d\n{user}evaluation: {{replies: [{{contains: q}}]}}\n"
    (folder / "scenarios/a.yaml").write_text(alone)
    result = convoprobe("doctor")
    assert result.exit_code == 0, result.output
    assert "- judge: none needed: all checks of the scenarios are by code" in result.output
    (folder / "scenarios/a.yaml").write_text(
        alone.replace("replies: [{contains: q}]", "correctness_criteria: [x]")
    )
    result = convoprobe("doctor")
    assert result.exit_code == 1
    assert "✗ judge: not called: convoprobe.yaml:2:" in result.output


def test_settings_that_make_no_sense(folder: Path, convoprobe: Convoprobe) -> None:
    (folder / "convoprobe.yaml").write_text("llm: {modle: openai/x}\n")
    result = convoprobe("doctor")
    assert result.exit_code == 1
    assert result.output.startswith("✗ settings: convoprobe.yaml:1:7: llm.modle: unknown key")


@pytest.mark.parametrize(
    ("agent", "words"),
    [
        ("def Agent(message):\n    raise ValueError('no stock')\n", "ValueError: no stock"),
        ("import nothing_of_that_name\n", "nothing_of_that_name"),
        ("", "Agent"),
    ],
)
def test_a_target_that_does_not_work(
    folder: Path, convoprobe: Convoprobe, chat_server: ChatServer, agent: str, words: str
) -> None:
    project(folder, chat_server.base_url)
    (folder / "agent.py").write_text(agent)
    result = convoprobe("doctor")
    assert result.exit_code == 1
    assert words in result.output.split("✗ target: ")[1]


def test_a_target_in_conftest_is_not_tried(
    folder: Path, convoprobe: Convoprobe, chat_server: ChatServer
) -> None:
    project(folder, chat_server.base_url, target=None)
    assert (
        "✗ target: convoprobe does not know what to test: no target is named. Name it"
        in convoprobe("doctor").output
    )
    (folder / "conftest.py").write_text("def convoprobe_target(): ...")
    result = convoprobe("doctor")
    assert result.exit_code == 0
    assert "- target: a fixture in conftest.py, not tried" in result.output


def test_a_fixture_beside_the_settings_is_named(
    folder: Path, convoprobe: Convoprobe, chat_server: ChatServer
) -> None:
    project(folder, chat_server.base_url)
    (folder / "conftest.py").write_text("def other(convoprobe_target): ...")
    assert "takes precedence" not in convoprobe("doctor").output
    (folder / "scenarios").mkdir(exist_ok=True)
    (folder / "scenarios" / "conftest.py").write_text("def convoprobe_target(): ...")
    result = convoprobe("doctor")
    assert result.exit_code == 0
    place = Path("scenarios", "conftest.py")
    assert f"- target: a fixture in {place} takes precedence for the scenarios below it" in result.output


def test_offline_nothing_is_called(folder: Path, convoprobe: Convoprobe) -> None:
    project(folder, "http://127.0.0.1:9/v1")
    result = convoprobe("doctor", "--offline")
    assert result.exit_code == 0
    assert "- target: agent.py:Agent, not called" in result.output


def test_a_target_that_says_a_secret(folder: Path, convoprobe: Convoprobe, chat_server: ChatServer) -> None:
    project(folder, chat_server.base_url)
    (folder / "agent.py").write_text(f"def Agent(message):\n    return 'my key is {KEY}'\n")
    assert KEY not in convoprobe("doctor").output
    assert KEY not in convoprobe("doctor", "--json").output


def test_json(folder: Path, convoprobe: Convoprobe, chat_server: ChatServer) -> None:
    project(folder, chat_server.base_url)
    found = json.loads(convoprobe("doctor", "--json").stdout)
    assert [(one["what"], one["works"]) for one in found] == [
        ("settings", True),
        ("judge and synthetic user", True),
        ("target", True),
        ("results", True),
    ]


def test_each_project_of_a_repository_is_looked_at(folder: Path, convoprobe: Convoprobe) -> None:
    for name in ("bank", "shop"):
        (folder / name / "scenarios").mkdir(parents=True)
        (folder / name / "scenarios" / "a.yaml").write_text(MINIMAL)
        (folder / name / "agent.py").write_text("def reply(message): return message")
    settings = "llm: {{model: {}, api_key: some-key}}\ntarget: {{type: python, object: 'agent.py:reply'}}\n"
    (folder / "bank" / "convoprobe.yaml").write_text(settings.format("openai/bank"))
    (folder / "shop" / "convoprobe.yaml").write_text(settings.format("no-such-model"))
    result = convoprobe("doctor", "--offline")
    assert result.exit_code == 1
    lines = result.output.splitlines()
    assert [line for line in lines if " settings: " in line] == [
        f"✓ settings: {Path('bank/convoprobe.yaml')}",
        f"✓ settings: {Path('shop/convoprobe.yaml')}",
    ]
    assert "✗ judge and synthetic user: judge.model: `no-such-model` names no provider" in result.output
    assert result.output.count("- target: agent.py:reply, not called") == 2


def test_a_model_of_a_scenario_s_own_config(folder: Path, convoprobe: Convoprobe) -> None:
    project(folder, "http://127.0.0.1:9/v1")
    (folder / "scenarios").mkdir(exist_ok=True)
    own = "config: {judge: {model: my-local}, synthetic_user: {temperature: 0.5}}\n"
    (folder / "scenarios" / "a.yaml").write_text(MINIMAL + own)
    result = convoprobe("doctor", "--offline")
    assert result.exit_code == 1
    assert "✗ scenario: scenarios/a.yaml:1: config.judge.model: `my-local` names no provider" in result.output
    assert result.output.count("✗") == 1
    (folder / "scenarios" / "a.yaml").write_text(f"skip: true\n{MINIMAL}{own}")
    assert convoprobe("doctor", "--offline").exit_code == 0


def test_runs_that_are_not_stored(folder: Path, convoprobe: Convoprobe) -> None:
    (folder / "mcprobe.yaml").write_text("results: {save: false}\n")
    assert "- results: runs are not stored: results.save is false" in convoprobe("doctor", "--offline").output


def test_the_version_of_a_service_is_shown(
    folder: Path, convoprobe: Convoprobe, chat_server: ChatServer
) -> None:
    with AgentServer(lambda request: {"text": "Hi.", "v": "1.2"}) as server:
        target = {"type": "http", "url": f"{server.url}/chat", "version": "v"}
        project(folder, chat_server.base_url, target=target)
        assert "answers: Hi. [" in (output := convoprobe("doctor").output)
        assert ", version 1.2 (" in output
        settings = folder / "convoprobe.yaml"
        settings.write_text(settings.read_text().replace("version: v", "version: build"))
        result = convoprobe("doctor")
    assert result.exit_code == 1
    assert "`version` finds nothing in the answer (build), not a version" in result.output


CALLS_A_MODEL = """
import json, urllib.request

class Agent:
    def __init__(self, context):
        self.url = context.model_url

    def send(self, message):
        asked = {"model": "m", "messages": [{"role": "user", "content": "anything"}]}
        request = urllib.request.Request(
            f"{self.url}/chat/completions", json.dumps(asked).encode(), {"content-type": "application/json"}
        )
        with urllib.request.urlopen(request) as got:
            return json.load(got)["choices"][0]["message"]["content"]
"""


def test_an_agent_that_calls_models_does_so_by_a_gateway(
    folder: Path, convoprobe: Convoprobe, chat_server: ChatServer
) -> None:
    with ModelServer() as provider:
        target = {"type": "python", "object": "agent.py:Agent", "models": {"openai": f"{provider.url}/v1"}}
        project(folder, chat_server.base_url, target=target)
        (folder / "agent.py").write_text(CALLS_A_MODEL)
        result = convoprobe("doctor")
        assert len(provider.requests) == 1
    assert result.exit_code == 0, result.output
    assert "1 call of models seen (`target.models`), where what it doesn't report is read" in " ".join(
        result.output.split()
    )


def test_an_agent_that_calls_no_model_by_its_gateway_gets_advice(
    folder: Path, convoprobe: Convoprobe, chat_server: ChatServer
) -> None:
    with AgentServer(lambda request: {"text": "Hi."}) as server:
        models = {"openai": "http://127.0.0.1:9/v1"}
        project(folder, chat_server.base_url, target={"type": "http", "url": server.url, "models": models})
        result = convoprobe("doctor")
    shown = " ".join(result.output.split())
    assert "0 calls of models seen (`target.models`): if it calls models, start it by `convoprobe" in shown


def test_a_package_that_a_check_needs(
    folder: Path, convoprobe: Convoprobe, chat_server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    project(folder, chat_server.base_url)
    (folder / "scenarios").mkdir(exist_ok=True)
    (folder / "scenarios" / "language.yaml").write_text(MINIMAL + "  replies: [{language: en}]\n")
    assert convoprobe("doctor", "--offline").exit_code == 0
    monkeypatch.setitem(sys.modules, "lingua", None)
    result = convoprobe("doctor", "--offline")
    assert result.exit_code == 1
    assert "✗ scenario: `language` in evaluation.replies needs the package" in result.output
    assert "pip install 'pytest-convoprobe[language]'" in result.output


CUSTOMER_AGENT = """\
class Agent:
    def __init__(self, customer):
        self.customer = customer

    def send(self, message):
        return f"Hello {self.customer}"


def make(*, context):
    return Agent(context.metadata["customer"])
"""


def test_an_agent_gets_the_metadata_of_the_projects_scenarios(
    folder: Path, convoprobe: Convoprobe, chat_server: ChatServer
) -> None:
    file = project(folder, chat_server.base_url, target={"type": "python", "object": "agent.py:make"})
    (folder / "agent.py").write_text(CUSTOMER_AGENT)
    result = convoprobe("doctor")
    assert "KeyError: 'customer'" in result.output
    file.write_text(file.read_text() + "metadata: {customer: c-17}\n")
    (folder / "scenarios" / "another.yaml").write_text(
        file.read_text().replace("Talk", "Another").replace("{customer: c-17}", "{plan: gold}")
    )
    (folder / "scenarios" / "broken.yaml").write_text("name: [")
    result = convoprobe("doctor")
    assert "✓ target: agent.py:make answers: Hello c-17" in result.output
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize("metadata", ["{customer: c-17}", "{plan: gold}"])
def test_looking_for_tools_starts_the_agent_with_metadata(
    folder: Path, convoprobe: Convoprobe, chat_server: ChatServer, metadata: str
) -> None:
    file = project(folder, chat_server.base_url, target={"type": "python", "object": "agent.py:make"})
    (folder / "agent.py").write_text(CUSTOMER_AGENT)
    file.write_text(f"{file.read_text()}metadata: {metadata}\n")
    result = convoprobe("validate", "scenarios", "--with-target")
    assert ("KeyError: 'customer'" in result.output) == ("customer" not in metadata)
    assert ("the target doesn't say which tools it has" in result.output) == ("customer" in metadata)
