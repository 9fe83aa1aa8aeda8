from __future__ import annotations

import json
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from pytest_convoprobe.cli.starters import KINDS, installed_from
from tests.support import warm_process

from .conftest import Convoprobe

FILES = [
    "convoprobe.yaml",
    "agent.py",
    "scenarios/refund.yaml",
    "requirements.txt",
    ".github/workflows/scenarios.yml",
    ".gitignore",
]


def run_pytest(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "OPENAI_API_KEY": "sk-test-0123456789abcdef"}
    return warm_process.run("pytest", "-p", "convoprobe", *arguments, cwd=folder, env=environment)


@pytest.mark.parametrize("kind", KINDS)
def test_the_project_is_valid_and_collected(folder: Path, convoprobe: Convoprobe, kind: str) -> None:
    result = convoprobe("init", "--kind", kind)
    assert result.exit_code == 0
    files = [KINDS[kind].agent if name == "agent.py" else name for name in FILES]
    for name in files:
        assert f"  wrote       {name}" in result.output
        assert (folder / name).is_file()
    assert convoprobe("validate", ".").exit_code == 0
    collected = run_pytest(folder, "--collect-only", "-q")
    assert "scenarios/refund.yaml::Refund after the return window" in collected.stdout
    assert collected.returncode == 0
    settings = yaml.safe_load((folder / "convoprobe.yaml").read_text())
    assert settings["target"].get("models") or settings["target"]["type"] == "model"


@pytest.mark.parametrize("kind", KINDS)
def test_settings_name_what_the_command_speaks_of(folder: Path, convoprobe: Convoprobe, kind: str) -> None:
    (folder / KINDS[kind].agent).write_text("mine")
    output = convoprobe("init", "--kind", kind).output
    assert f"Name your agent in convoprobe.yaml: it says `{KINDS[kind].named}` now." in output
    assert f" {KINDS[kind].named}\n" in (folder / "convoprobe.yaml").read_text()


@pytest.mark.parametrize("kind", KINDS)
def test_the_model_and_its_address_are_in_all_files(folder: Path, convoprobe: Convoprobe, kind: str) -> None:
    convoprobe("init", "--kind", kind, "--model", "qwen2.5:7b", "--api-base", "http://localhost:11434/v1/")
    texts = "".join(path.read_text() for path in folder.rglob("*") if path.is_file())
    assert "gpt-4o-mini" not in texts
    assert "api.openai.com" not in texts
    settings = yaml.safe_load((folder / "convoprobe.yaml").read_text())
    assert settings["llm"]["model"] == "openai/qwen2.5:7b"
    assert settings["llm"]["api_base"] == "http://localhost:11434/v1"


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--model", 'x"\nfoo: bar'),
        ("--model", "a b"),
        ("--api-base", "localhost"),
        ("--api-base", "http://a b"),
    ],
)
def test_a_value_that_could_break_a_file_is_refused(
    folder: Path, convoprobe: Convoprobe, option: str, value: str
) -> None:
    result = convoprobe("init", option, value)
    assert result.exit_code == 2
    assert f"Invalid value for '{option}'" in result.output
    assert [path.name for path in folder.iterdir()] == ["pytest.ini"]


@pytest.mark.parametrize(
    ("file", "text", "kind"),
    [
        ("requirements.txt", "httpx\nlanggraph>=1  # agents\nfastapi\n", "langgraph"),
        ("requirements.txt", "fastapi[standard]\nopenai\n", "fastapi"),
        ("pyproject.toml", '[project]\nname = "x"\ndependencies = ["mcp>=1.30"]\n', "mcp"),
        ("requirements.txt", "OpenAI==3\n", "openai"),
        ("requirements.txt", "# no fastapi here\nmy-openai-thing\n", "python"),
    ],
)
def test_the_kind_is_what_the_requirements_say(
    folder: Path, convoprobe: Convoprobe, file: str, text: str, kind: str
) -> None:
    (folder / file).write_text(text)
    result = convoprobe("init")
    assert (f"kind {kind}, because of {file} (--kind names another)" in result.output) == (kind != "python")
    assert (folder / KINDS[kind].agent).is_file()
    assert (folder / file).read_text() == text


def test_packages_that_are_missing_are_a_step(
    folder: Path, convoprobe: Convoprobe, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(KINDS, "openai", replace(KINDS["openai"], imports=("no_such_module",)))
    output = convoprobe("init", "--kind", "openai").output
    assert "\n  pip install -r requirements.txt                not installed yet: no_such_module\n" in output
    (folder / "requirements.txt").write_text("mine")
    assert "\n  pip install openai  " in convoprobe("init", "--kind", "openai").output
    assert json.loads(convoprobe("init", "--kind", "openai", "--json").stdout)["missing"] == [
        "no_such_module"
    ]


def test_nothing_is_missing_for_plain_python(convoprobe: Convoprobe) -> None:
    assert "pip install" not in convoprobe("init").output


def test_a_package_is_installed_as_one(folder: Path, convoprobe: Convoprobe) -> None:
    (folder / "pyproject.toml").write_text('[project]\nname = "x"\n')
    assert "requirements.txt" not in convoprobe("init").output
    workflow = (folder / ".github/workflows/scenarios.yml").read_text()
    assert workflow.count('pip install . "$CONVOPROBE"') == 3
    assert "requirements.txt" not in workflow


def test_a_service_is_started_in_each_job(folder: Path, convoprobe: Convoprobe) -> None:
    convoprobe("init", "--kind", "fastapi")
    jobs = yaml.safe_load((folder / ".github/workflows/scenarios.yml").read_text())["jobs"]
    for job in jobs.values():
        scripts = [step.get("run", "") for step in job["steps"]]
        (start,) = [number for number, text in enumerate(scripts) if "convoprobe gateway -- uvicorn" in text]
        (talk,) = [number for number, text in enumerate(scripts) if "pytest scenarios/" in text]
        assert start < talk


def test_its_workflow_does_not_rely_on_the_exit_status_of_pytest_alone(
    folder: Path, convoprobe: Convoprobe
) -> None:
    convoprobe("init")
    workflow = (folder / ".github/workflows/scenarios.yml").read_text()
    assert workflow.count("run: convoprobe check latest --commit HEAD --allow-failures\n") == 2
    assert (
        workflow.count('run: convoprobe check latest --commit HEAD --since "$BEGAN" --allow-failures\n') == 1
    )


def test_it_says_what_is_next(folder: Path, convoprobe: Convoprobe) -> None:
    output = convoprobe("init", "my agent").output
    for step in ("cd 'my agent'", "export OPENAI_API_KEY=", "convoprobe doctor", "pytest scenarios/"):
        assert f"\n  {step}" in output


@pytest.mark.parametrize("name", FILES)
def test_nothing_is_overwritten(folder: Path, convoprobe: Convoprobe, name: str) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("mine")
    result = convoprobe("init")
    assert f"  left alone  {name}: it is there already" in result.output
    assert (folder / name).read_text() == "mine"
    assert result.output.count("  wrote  ") == len(FILES) - 1


def test_a_dangling_link_is_not_followed(folder: Path, convoprobe: Convoprobe) -> None:
    (folder / "agent.py").symlink_to(folder / "elsewhere.py")
    assert "left alone  agent.py" in convoprobe("init").output
    assert not (folder / "elsewhere.py").exists()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pyproject.toml", "[tool.convoprobe.run]\nconcurrency = 2\n"),
        (".convoprobe.yaml", "run: {concurrency: 2}\n"),
        ("mcprobe.yaml", "llm: {model: x}\n"),
    ],
)
def test_settings_in_another_file_stay_the_only_ones(
    folder: Path, convoprobe: Convoprobe, name: str, text: str
) -> None:
    (folder / name).write_text(text)
    result = convoprobe("init")
    assert f"  left alone  {name}: it has settings already" in result.output
    assert not (folder / "convoprobe.yaml").exists()


def test_a_folder_within_another_project_becomes_a_root_of_its_own(
    folder: Path, convoprobe: Convoprobe
) -> None:
    assert "wrote       demo/pytest.ini" in convoprobe("init", "demo").output
    done = run_pytest(folder / "demo", "--collect-only", "scenarios")
    assert f"rootdir: {folder / 'demo'}" in done.stdout


def test_json(folder: Path, convoprobe: Convoprobe) -> None:
    (folder / "agent.py").write_text("mine")
    found = json.loads(convoprobe("init", "--json").stdout)
    assert found["kind"] == "python"
    assert found["left_alone"] == ["agent.py"]
    assert found["written"] == [name for name in FILES if name != "agent.py"]
    assert found["missing"] == []


def test_a_folder_that_cannot_be_made(folder: Path, convoprobe: Convoprobe) -> None:
    (folder / "scenarios").write_text("a file")
    result = convoprobe("init")
    assert result.exit_code == 3
    assert "Error: cannot write" in result.output


@pytest.mark.parametrize(
    ("origin", "wanted"),
    [
        (
            {"url": "https://git.example/a/x", "vcs_info": {"vcs": "git", "commit_id": "12ab"}},
            "pytest-convoprobe @ git+https://git.example/a/x@12ab",
        ),
        ({"url": "file:///home/me/x", "vcs_info": {"vcs": "git", "commit_id": "12ab"}}, "pytest-convoprobe"),
        (
            {"url": "https://me:key@git.example/x", "vcs_info": {"vcs": "git", "commit_id": "12ab"}},
            "pytest-convoprobe",
        ),
        ({"url": "file:///home/me/x", "dir_info": {"editable": True}}, "pytest-convoprobe"),
        (None, "pytest-convoprobe"),
    ],
    ids=["git", "of this machine", "with a key", "editable", "from an index"],
)
def test_the_workflow_installs_what_is_installed_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, origin: dict[str, object] | None, wanted: str
) -> None:
    """As pip notes it for a package that it has from elsewhere than an index."""
    info = tmp_path / "pytest_convoprobe-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: pytest-convoprobe\nVersion: 0.1.0\n")
    if origin is not None:
        (info / "direct_url.json").write_text(json.dumps(origin))
    monkeypatch.syspath_prepend(tmp_path)
    assert installed_from() == wanted


def test_a_workflow_in_a_folder_of_a_repository_has_to_be_moved(folder: Path, convoprobe: Convoprobe) -> None:
    """GitHub doesn't see it there, and says nothing."""
    (folder / ".git").mkdir()
    output = convoprobe("init", "services/bot").output
    assert f"only in {folder / '.github/workflows'}: move scenarios.yml there.\n" in output
    assert "Put services/bot/ before each path in it" in output
    assert "add: defaults: {run: {working-directory: services/bot}}\n" in output
    assert "GitHub reads" not in convoprobe("init", "services/bot").output
    assert "GitHub reads" not in convoprobe("init").output


@pytest.mark.parametrize(
    ("file", "text", "lacking"),
    [
        ("requirements.txt", "flask\n", "fastapi openai uvicorn"),
        ("requirements.txt", "uvicorn[standard]>=0.30\nOpenAI\n", "fastapi"),
        ("pyproject.toml", '[project]\nname = "x"\ndependencies = ["fastapi", "openai>2"]\n', "uvicorn"),
        ("requirements.txt", "fastapi\nuvicorn\nopenai\n", ""),
        ("README.md", "", ""),
    ],
)
def test_what_the_example_needs_in_ci_has_to_be_required(
    folder: Path, convoprobe: Convoprobe, file: str, text: str, lacking: str
) -> None:
    (folder / file).write_text(text)
    output = convoprobe("init", "--kind", "fastapi").output
    assert (f"Add to it: {lacking}\n" in output) == bool(lacking)
    assert ("CI installs" in output) == bool(lacking)


def test_an_agent_of_ones_own_has_not_the_mistake_of_the_example(
    folder: Path, convoprobe: Convoprobe
) -> None:
    (folder / "agent.py").write_text("mine")
    output = convoprobe("init").output
    assert "scenarios/refund.yaml is about the shop of the example: change it, or delete it." in output
    assert re.search(r"^  convoprobe new +a scenario for your agent", output, re.MULTILINE)
    assert "red: the agent has a mistake" not in output


def test_what_a_step_is_for_stands_in_one_column(folder: Path, convoprobe: Convoprobe) -> None:
    steps = convoprobe("init", "--kind", "fastapi").output.partition("Next\n")[2].splitlines()
    reasons = [re.search(r"(?<=\S) +(?=(any text|in another|see whether|red:))", step) for step in steps]
    assert len({found.end() for found in reasons if found}) == 1
    assert all(found and len(found[0]) for found in reasons[-3:])


PACKAGE = '[project]\nname = "shop"\nversion = "1"\n'
SETUPTOOLS = '[build-system]\nrequires = ["setuptools"]\nbuild-backend = "setuptools.build_meta"\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (PACKAGE, True),
        (PACKAGE + SETUPTOOLS, True),
        (PACKAGE + SETUPTOOLS.replace("setuptools.build_meta", "hatchling.build"), False),
        (PACKAGE + '[tool.setuptools]\npackages = ["shop"]\n', False),
        ("[tool.black]\n", False),
    ],
)
def test_setuptools_has_to_know_its_packages(
    folder: Path, convoprobe: Convoprobe, text: str, said: bool
) -> None:
    (folder / "pyproject.toml").write_text(text)
    for name in ("shop", "tests"):
        (folder / name).mkdir()
        (folder / name / "__init__.py").touch()
    output = convoprobe("init").output
    assert ('\n[tool.setuptools.packages.find]\ninclude = ["shop*"]\n' in output) == said
    assert ("setuptools can't tell" in output) == said
