"""A project whose models a loopback server stands in for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

KEY = "sk-test-0123456789abcdef"

AGENT = """\
class Agent:
    def __init__(self):
        self.heard = 0

    def __call__(self, message):
        self.heard += 1
        return f"I heard {self.heard} messages, the last was: {message}"
"""


def project(folder: Path, url: str, **settings: Any) -> Path:
    """Settings, an agent that counts, and one scenario of three turns; the path of the scenario."""
    told = {
        "llm": {"model": "openai/fake", "api_base": url, "api_key": KEY, "max_attempts": 1},
        "target": {"type": "python", "object": "agent.py:Agent"},
        **settings,
    }
    (folder / "convoprobe.yaml").write_text(yaml.safe_dump(told))
    (folder / "agent.py").write_text(AGENT)
    scenario = {
        "name": "Talk",
        "description": "A talk of three turns.",
        "synthetic_user": {
            "persona": "Somebody",
            "initial_query": "Hello, what about trains?",
            "max_turns": 3,
        },
        "evaluation": {"correctness_criteria": ["The agent counts", "The agent repeats"]},
        "tags": ["smoke"],
    }
    file = folder / "scenarios" / "talk.yaml"
    file.parent.mkdir()
    file.write_text(yaml.safe_dump(scenario))
    return file
