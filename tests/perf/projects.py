"""The projects that are measured: folders with generated scenarios or tests."""

from __future__ import annotations

from pathlib import Path

SCENARIO = """\
name: Conversation number {number}
description: Three turns about the weather in a city that has to be asked for.

synthetic_user:
  persona: |
    A busy professional who needs quick weather information but tends to
    give incomplete details at first. Moderately patient.
  initial_query: What is the weather like, number {number}?
  max_turns: 3
  clarification_behavior:
    known_facts:
      - I am asking about San Francisco
      - I need the forecast for tomorrow
      - I prefer Fahrenheit
    unknown_facts:
      - The exact postal code
    traits:
      patience: medium
      verbosity: concise
      expertise: novice

evaluation:
  correctness_criteria:
    - The assistant answers the question
    - The assistant is polite
  failure_criteria:
    - The assistant assumes a location without asking
  tool_usage:
    optional_tools:
      - geocode_location
  efficiency:
    max_conversation_turns: 6

tags:
  - weather
  - load
"""

SETTINGS = """\
llm:
  model: openai/gpt-4o-mini
  client: {client}
  api_base: {url}
  api_key: not-a-secret-at-all
target:
  type: model
  system_prompt: You are a friendly assistant.
"""


MODULES_FILE = "litellm_modules.txt"

# The workers of xdist write it too: the most of any process counts.
COUNT_MODULES = f"""\
import pathlib, sys
def pytest_unconfigure():
    count = sum(name.partition(".")[0] == "litellm" for name in sys.modules)
    path = pathlib.Path({MODULES_FILE!r})
    before = int(path.read_text()) if path.exists() else 0
    path.write_text(str(max(count, before)))
"""


def scenarios(folder: Path, count: int, url: str = "http://127.0.0.1:9/v1", client: str = "auto") -> Path:
    """A project with `count` scenario files of three turns and a `model` target at `url`.

    `client` is the lane of its calls. Each process of a run leaves the number of LiteLLM's modules in a file.
    """
    (folder / "scenarios").mkdir(parents=True)
    for number in range(count):
        (folder / "scenarios" / f"s{number:05}.yaml").write_text(SCENARIO.format(number=number))
    (folder / "convoprobe.yaml").write_text(SETTINGS.format(url=url, client=client))
    (folder / "conftest.py").write_text(COUNT_MODULES)
    (folder / "pytest.ini").write_text("[pytest]\n")
    return folder


def plain_tests(folder: Path, count: int) -> Path:
    """A project without scenarios: `count` small tests in ten modules; none leaves files to clear away."""
    folder.mkdir(parents=True)
    for module in range(10):
        tests = "\n\n".join(
            f"def test_{n}(capsys):\n    assert sum(range(20000)) == 199990000" for n in range(count // 10)
        )
        (folder / f"test_m{module}.py").write_text(tests + "\n")
    (folder / "pytest.ini").write_text("[pytest]\n")
    return folder


def with_other_yaml(folder: Path) -> Path:
    """The same with YAML files that are not scenarios; each run leaves its weight in a file."""
    plain_tests(folder, 10)
    for name in (".pre-commit-config.yaml", "mkdocs.yml", "docker/compose.yaml"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("a: 1\n")
    (folder / "conftest.py").write_text(WEIGH)
    return folder


WEIGH = """\
import pathlib, re, sys
def pytest_unconfigure():
    kilobytes = re.search("VmHWM:\\\\s+([0-9]+)", pathlib.Path("/proc/self/status").read_text())[1]
    pathlib.Path("weight.txt").write_text(f"{len(sys.modules)} {kilobytes}")
"""
