"""Runs what the page of a framework shows, as a project of a stranger's, with the plug-in in a process."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples" / "frameworks"

_MODELS = "llm: {model: openai/fake, api_key: k, api_base: %s}\n"
_SCENARIO = """\
name: Where is it?
description: A customer asks where an order is.
synthetic_user:
  persona: A customer.
  initial_query: 'call order_status {"order": "7"}'
  max_turns: 1
evaluation:
  correctness_criteria: [The agent says where the order is.]
  tool_usage:
    required_tools: [order_status]
"""


def run_documented(name: str, folder: Path, url: str) -> str:
    """What pytest prints for the example `name`, whose models are at `url`. It has under 15 lines."""
    code = (EXAMPLES / f"{name}.py").read_text()
    assert len(code.splitlines()) < 15
    shutil.copy(EXAMPLES / f"{name}.py", folder / "agent.py")
    target = (EXAMPLES / f"{name}.yaml").read_text()
    (folder / "convoprobe.yaml").write_text(target + _MODELS % url)
    (folder / "order.yaml").write_text(_SCENARIO)
    variables = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": url}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rA", "order.yaml"],
        cwd=folder,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=600,
    )
    return done.stdout + done.stderr
