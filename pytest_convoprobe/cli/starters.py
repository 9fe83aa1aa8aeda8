"""The projects that `convoprobe init` writes, one for each kind of agent. Their files are in `starter`."""

from __future__ import annotations

import importlib.metadata
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib import resources
from importlib.util import find_spec
from pathlib import Path

from ..files import read_text

MODEL = "gpt-4o-mini"
API_BASE = "https://api.openai.com/v1"
SCENARIO = "scenarios/refund.yaml"
WORKFLOW = ".github/workflows/scenarios.yml"
_PACKAGE = "pytest-convoprobe"
_LISTS = (
    "requirements.txt",
    "requirements-dev.txt",
    "requirements.in",
    "pyproject.toml",
    "setup.cfg",
    "Pipfile",
)
_SERVICE_STEP = "      # A service of your own is started here.\n"


@dataclass(frozen=True)
class Kind:
    """A kind of agent, and its example.

    The settings name the file `agent` by the line `named`. `words` are packages that speak for this kind in a
    project's requirements. `imports` are the modules of others that the example needs.
    """

    name: str
    agent: str
    named: str
    words: tuple[str, ...]
    imports: tuple[str, ...]

    @property
    def missing(self) -> list[str]:
        """The modules that its example imports and that aren't installed here."""
        return [name for name in self.imports if find_spec(name) is None]


_LANGCHAIN = ("langgraph", "langchain")
_SERVICE = ("fastapi", "openai", "uvicorn")
#: In the order in which requirements are looked through: a service of FastAPI may call OpenAI too.
KINDS = {
    kind.name: kind
    for kind in (
        Kind(
            "langgraph", "agent.py", "object: agent.py:agent", _LANGCHAIN, ("langchain", "langchain_openai")
        ),
        Kind("fastapi", "agent.py", "url: http://127.0.0.1:8000/chat", ("fastapi",), _SERVICE),
        Kind("mcp", "server.py", "shop: python server.py", ("mcp", "fastmcp"), ("mcp",)),
        Kind("openai", "agent.py", "object: agent.py:Agent", ("openai",), ("openai",)),
        Kind("python", "agent.py", "object: agent.py:Agent", (), ("httpx",)),
    )
}


def kind_of(folder: Path) -> tuple[Kind, str]:
    """The kind of the project in a folder, and the file that says so; plain Python and "" where none does."""
    for kind in KINDS.values():
        for name in _LISTS:
            if any(_names(folder / name, word) for word in kind.words):
                return kind, name
    return KINDS["python"], ""


def _names(file: Path, package: str) -> bool:
    """Whether a list of requirements has this package, in whatever form."""
    with suppress(OSError):
        text = read_text(file, errors="replace")
        return re.search(rf"(?im)^[^#\n]*(?<![\w.-]){package}(?![\w.-])", text) is not None
    return False


def files_of(kind: Kind, folder: Path, model: str, api_base: str) -> dict[str, str]:
    """What is to be written into the folder: names and texts. `model` is called at `api_base`."""
    texts = dict(_texts(kind, folder))
    return {
        name: text.replace(MODEL, model).replace(API_BASE, api_base.rstrip("/"))
        for name, text in texts.items()
    }


def _texts(kind: Kind, folder: Path) -> Iterator[tuple[str, str]]:
    yield "convoprobe.yaml", _read("settings.yaml") + _read(f"{kind.name}/target.yaml")
    yield kind.agent, _read(f"{kind.name}/{kind.agent}")
    yield SCENARIO, _read("scenario.yaml")
    if not is_package(folder):
        yield "requirements.txt", _read(f"{kind.name}/requirements.txt")
    yield WORKFLOW, _workflow(kind, folder)
    yield ".gitignore", _read("gitignore")


def requirements_of(kind: Kind) -> list[str]:
    """What pip has to install for its example."""
    return _read(f"{kind.name}/requirements.txt").split()


def not_required(kind: Kind, folder: Path) -> list[str]:
    """What its example needs, without what the project's own requirements name."""
    lists = [folder / name for name in (*_LISTS, "setup.py")]
    return [
        requirement
        for requirement in requirements_of(kind)
        if not any(_names(file, re.split(r"[<>=!~]", requirement)[0]) for file in lists)
    ]


def is_package(folder: Path) -> bool:
    """Whether `pip install .` works in this folder."""
    with suppress(OSError):
        return (
            re.search(r"(?m)^\[project\]", read_text(folder / "pyproject.toml", errors="replace")) is not None
        )
    return (folder / "setup.py").exists()


def found_by_setuptools(folder: Path) -> list[str]:
    """The packages at the top that setuptools would find by itself, if there weren't a second folder.

    It takes any folder for a package, and refuses to choose. Empty if the project says what its packages are.
    """
    with suppress(OSError):
        text = read_text(folder / "pyproject.toml", errors="replace")
        backend = re.search(r"(?m)^build-backend\s*=\s*[\"'](.*)[\"']", text)
        other = backend is not None and not backend[1].startswith("setuptools")
        named = "[tool.setuptools" in text or (folder / "src").exists() or (folder / "setup.py").exists()
        if is_package(folder) and not other and not named:
            inits = sorted(folder.glob("*/__init__.py"))
            return [one.parent.name for one in inits if not re.match("(tests?|docs?)$", one.parent.name)]
    return []


def _workflow(kind: Kind, folder: Path) -> str:
    text = _read("workflow.yml")
    service = _read("fastapi/step.yml") if kind.name == "fastapi" else ""
    text = text.replace(_SERVICE_STEP, service)
    if is_package(folder):
        text = text.replace("pip install -r requirements.txt ", "pip install . ")
    return text.replace(f"CONVOPROBE: {_PACKAGE}\n", f"CONVOPROBE: {installed_from()}\n")


def installed_from() -> str:
    """What pip needs to install the release that is here: its name, and its address if it came from git."""
    try:
        text = importlib.metadata.distribution(_PACKAGE).read_text("direct_url.json")
    except importlib.metadata.PackageNotFoundError:
        return _PACKAGE
    origin = json.loads(text or "{}")
    vcs, url = origin.get("vcs_info", {}), str(origin.get("url", ""))
    if vcs.get("vcs") != "git" or not re.fullmatch(r"(https|ssh)://[\w./:+~-]+", url):
        return _PACKAGE
    return f"{_PACKAGE} @ git+{url}@{vcs['commit_id']}"


def _read(name: str) -> str:
    return (resources.files("pytest_convoprobe.cli") / "starter" / name).read_text(encoding="utf-8")
