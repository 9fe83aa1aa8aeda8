"""Records the example of docs/how-to/agents-that-call-models.md anew: `python -m tests.gateway.record_demo`.

A provider and a judge on loopback take the places of OpenAI's models.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.support.chat_server import ChatServer, Completion
from tests.support.default_answers import default_answer
from tests.support.model_server import ModelRequest, ModelServer

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "models"
RECORDINGS = Path("scenarios", "_recordings")
PROVIDER = "https://api.openai.com/v1"


def answer(request: ModelRequest) -> Completion:
    """What a model would say to the customers of the example."""
    last = request.lines[-1]
    if last.role == "tool":
        words = f"Your order A-1042 is {last.text}."
        return Completion(words, prompt_tokens=161, completion_tokens=17)
    if "A-1042" in last.text:
        call = ("order_status", {"order": "A-1042"})
        return Completion(None, (call,), prompt_tokens=118, completion_tokens=18)
    return Completion("You're welcome. Enjoy your shoes!", prompt_tokens=187, completion_tokens=9)


def judged(body: dict[str, Any]) -> str:
    """What a judge would say."""
    said = json.loads(str(default_answer(body)))
    for one in said.values():
        if "finding" in one:
            one["finding"] = "The assistant says in turn 1 that the order is shipped."
        else:
            never = "The assistant never says that the order is shipped."
            one.update(about="agent", shows="presence", opposite=never)
    return json.dumps(said)


def copied(folder: Path) -> None:
    """The example in a folder of its own, with its recordings."""
    shutil.copytree(EXAMPLE, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "pytest.ini").write_text("[pytest]\n")


def main() -> None:
    """Record in a copy, and take over what was recorded."""
    with (
        tempfile.TemporaryDirectory() as name,
        ModelServer(answer) as models,
        ChatServer(judged, routine=False) as judge,
    ):
        folder = Path(name)
        copied(folder)
        settings = folder / "convoprobe.yaml"
        text = settings.read_text().replace("api_key:", f"api_base: {judge.base_url}\n  api_key:")
        settings.write_text(text.replace(PROVIDER, f"{models.url}/v1"))
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--convoprobe-replay=record"]
        environment = {**os.environ, "OPENAI_API_KEY": "sk-of-nobody"}
        subprocess.run([*command, "scenarios"], cwd=folder, env=environment, check=True)
        shutil.rmtree(EXAMPLE / RECORDINGS, ignore_errors=True)
        shutil.copytree(folder / RECORDINGS, EXAMPLE / RECORDINGS)


if __name__ == "__main__":
    main()
