"""The action of this repository, used by a workflow of another one."""

from __future__ import annotations

import shutil
import socket
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.workflow_runner import Job

from .conftest import CAREFUL, CARELESS, Repository
from .test_files import ACTION, ROOT

BY_REPOSITORY = "OWNER/pytest-convoprobe/.github/actions/scenarios"
BY_PATH = "./.github/actions/scenarios"

# An agent behind HTTP, with what Python has: it passes the message on to the model of the gateway.
SERVICE = """\
import http.server, json, os, sys
from agent import Agent

class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        agent = Agent()
        agent.messages += asked["messages"][:-1]
        body = json.dumps({"reply": agent.send(asked["messages"][-1]["content"])}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

print("serving for", sys.argv[2], flush=True)
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""

PYTHON = "type: python\n  object: agent.py:Agent"
HTTP = """type: http
  url: http://127.0.0.1:PORT/
  body: {messages: "{{ messages }}"}
  text: reply"""


@pytest.fixture
def hub(repository: Repository) -> Repository:
    repository.hub.actions[BY_REPOSITORY] = ACTION.parent
    repository.commit("Say more", "more")
    return repository


def workflow(folder: Path, uses: str, inputs: dict[str, str]) -> Path:
    """A workflow with one job, whose outputs are those of the action."""
    step: dict[str, Any] = {"id": "scenarios", "uses": f"{uses}@main", "with": inputs}
    names = ("status", "whole", "page", "junit")
    outputs = {name: f"${{{{ steps.scenarios.outputs.{name} }}}}" for name in names}
    key = {"OPENAI_API_KEY": "${{ secrets.OPENAI_API_KEY }}"}
    job = {"env": key, "outputs": outputs, "steps": [{"uses": "actions/checkout@v4"}, step]}
    file = folder / "workflow.yml"
    file.write_text(yaml.safe_dump({"jobs": {"one": job}}))
    return file


def run(hub: Repository, where: Path, branch: str = "more", uses: str = BY_REPOSITORY, **inputs: str) -> Job:
    """Run the action; the names of inputs have `_` for the hyphen."""
    given = {name.replace("_", "-"): value for name, value in inputs.items()}
    return hub.pull_request(branch, workflow=workflow(where, uses, given))["one"]


def test_the_documented_workflow(hub: Repository) -> None:
    file = ROOT / "docs/examples/scenarios-action.yml"
    jobs = hub.pull_request("more", workflow=file)
    assert {name: job.result for name, job in jobs.items()} == {"replay": "success", "live": "success"}
    assert "gate (confirm): green" in jobs["live"].text
    forked = hub.pull_request("more", workflow=file, fork=True)
    assert {name: job.result for name, job in forked.items()} == {"replay": "success", "live": "skipped"}


def test_it_replays_by_default_and_says_how_it_ended(hub: Repository, tmp_path: Path) -> None:
    job = run(hub, tmp_path)
    assert job.result == "success", job.text
    assert "spent: nothing" in job.text
    assert (job.outputs["status"], job.outputs["whole"]) == ("0", "true")
    assert Path(job.outputs["page"]).is_file()
    assert Path(job.outputs["junit"]).is_file()
    kept = hub.hub.folder / "artifacts/scenarios"
    assert sorted(path.name for path in kept.iterdir()) == ["runs", "scenarios.html", "scenarios.xml"]


def test_a_red_run_is_red_and_keeps_its_reports(hub: Repository, tmp_path: Path) -> None:
    hub.commit("Be generous", "generous", agent_DOT_py=hub.agent().replace(CAREFUL, CARELESS))
    job = run(hub, tmp_path, "generous", replay="off", keep_runs="true")
    assert job.result == "failure"
    assert (job.outputs["status"], job.outputs["whole"]) == ("1", "true")
    assert (hub.hub.folder / "artifacts/scenarios/scenarios.html").is_file()
    assert len(list((hub.hub.folder / "cache").iterdir())) == 1


def test_a_run_that_never_began_is_no_verdict(hub: Repository, tmp_path: Path) -> None:
    job = run(hub, tmp_path, args="--no-such-option")
    assert job.result == "failure"
    assert (job.outputs["status"], job.outputs["whole"]) == ("4", "")


def test_it_installs_the_commit_that_it_is_of(hub: Repository, tmp_path: Path) -> None:
    run(hub, tmp_path)
    own = hub.pip[1].removeprefix("install ")
    assert hub.pip[0] == "install -r requirements.txt"
    assert (Path(own) / "pyproject.toml").samefile(ROOT / "pyproject.toml")


def test_copied_into_a_project_it_installs_the_latest_release(hub: Repository, tmp_path: Path) -> None:
    copied = tmp_path / "project/.github/actions/scenarios"
    shutil.copytree(ACTION.parent, copied)
    hub.hub.actions[BY_PATH] = copied
    assert run(hub, tmp_path, uses=BY_PATH).result == "success"
    assert hub.pip[1] == "install pytest-convoprobe"


def test_what_is_installed_can_be_named(hub: Repository, tmp_path: Path) -> None:
    wanted = "pytest-convoprobe @ git+https://git.example/a/b@1234"
    assert run(hub, tmp_path, install="pip install . && pip install x", convoprobe=wanted).result == "success"
    assert hub.pip == ["install .", "install x", f"install {wanted}"]


def test_options_are_words_as_in_a_shell(hub: Repository, tmp_path: Path) -> None:
    job = run(hub, tmp_path, args="-k 'Refund and window' -v", paths='scenarios/ "scenarios/refund.yaml"')
    assert job.result == "success", job.text
    assert "1 passed" in job.text
    assert run(hub, tmp_path, args="-k 'Refund and not window'").outputs["status"] == "5"


def test_a_quote_that_is_never_closed_runs_nothing(hub: Repository, tmp_path: Path) -> None:
    job = run(hub, tmp_path, args="-k 'Refund")
    assert job.result == "failure"
    assert "No closing quotation" in job.text
    assert job.outputs["status"] == ""


INPUTS = ("paths", "replay", "max_cost", "baseline", "args", "min_scenarios", "convoprobe")
HOSTILE = ("$(touch {0}) `touch {0}` ; touch {0} # \ntouch {0}", '"; touch {0}; "')


@pytest.mark.parametrize("name", INPUTS)
@pytest.mark.parametrize("value", HOSTILE)
def test_no_input_is_run_as_a_script(hub: Repository, tmp_path: Path, name: str, value: str) -> None:
    trace = tmp_path / "trace"
    run(hub, tmp_path, **{name: value.format(trace)})
    assert not trace.exists()


def test_a_service_is_started_and_its_calls_are_seen(hub: Repository, tmp_path: Path) -> None:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    settings = (hub.origin / "convoprobe.yaml").read_text()
    service = settings.replace(PYTHON, HTTP.replace("PORT", str(port)))
    assert service != settings
    hub.commit("Serve", "serve", convoprobe_DOT_yaml=service, service_DOT_py=SERVICE)
    command, url = f"exec python service.py {port} 'two words'", f"http://127.0.0.1:{port}/"
    job = run(hub, tmp_path, "serve", service=command, service_url=url, replay="off")
    assert job.result == "success", job.text
    assert "serving for two words" in (hub.hub.folder / "artifacts/scenarios/service.log").read_text()


def test_a_service_that_does_not_start_says_why(hub: Repository, tmp_path: Path) -> None:
    inputs = {"service": "echo '::error::no such database'; exit 3", "service_url": "http://127.0.0.1:1/"}
    job = run(hub, tmp_path, **inputs)
    assert job.result == "failure"
    # As text, and not as a command to GitHub.
    assert "\n| ::error::no such database\n" in job.text
    assert job.outputs["status"] == ""


def test_a_project_in_a_folder_of_the_repository(hub: Repository, tmp_path: Path) -> None:
    hub.git("checkout", "-q", "-b", "deep")
    (hub.origin / "shop").mkdir()
    for name in ("agent.py", "convoprobe.yaml", "requirements.txt", "scenarios"):
        hub.git("mv", name, f"shop/{name}")
    hub.git("commit", "-q", "-m", "Move")
    hub.git("checkout", "-q", "main")
    job = run(hub, tmp_path, "deep", folder="shop")
    assert job.result == "success", job.text
