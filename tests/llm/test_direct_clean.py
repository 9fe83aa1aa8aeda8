"""What the direct lane does to a process: it imports nothing of LiteLLM, and leaves nothing behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

from tests.cli.live import project
from tests.support.chat_server import ChatServer

ROOT = Path(__file__).parents[2]
PRELUDE = """
import asyncio, json, os, sys, threading, warnings
from pytest_convoprobe.errors import LLMError
from pytest_convoprobe.llm.direct import Direct
from tests.llm.requests import request, settings

base = sys.argv[1]
"""
HEAVY = "litellm openai httpx httpx2 tiktoken tokenizers"


def output(server: ChatServer, script: str, *options: str) -> str:
    command = [sys.executable, *options, "-c", PRELUDE + textwrap.dedent(script), server.base_url]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


ALL_KINDS_OF_CALLS = """
    async def answered_and_refused(llm):
        for _ in range(8):
            try:
                await llm.complete(request(model=settings(api_base=base, temperature=0.5)))
                print("answered")
            except LLMError as error:
                print(type(error).__name__)

    async def given_up(llm):
        model = settings(api_base=base, timeout=0.05)
        calls = [asyncio.ensure_future(llm.complete(request(model=model))) for _ in range(30)]
        await asyncio.sleep(0)
        for call in calls[:10]:
            call.cancel()
        await asyncio.sleep(0.01)
        for call in calls[10:20]:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)

    async def main(calls):
        asyncio.get_running_loop().slow_callback_duration = 60
        llm = Direct()
        await calls(llm)
        await llm.aclose()

    for calls in (answered_and_refused, given_up):
        asyncio.run(main(calls))
    print(len(threading.enumerate()), [name for name in HEAVY.split() if name in sys.modules])
"""


def test_no_call_prints_or_warns_and_nothing_is_left() -> None:
    faults = [None, "401", "429", "500", "garbage", "html", "no_choices", "close", *["hang"] * 30]
    with ChatServer(faults=faults) as server:
        script = f"    HEAVY = {HEAVY!r}\n{ALL_KINDS_OF_CALLS}"
        lines = output(server, script, "-X", "dev", "-W", "error").splitlines()
    assert lines == ["answered", "LLMRejected", *["LLMUnavailable"] * 6, "1 []"]


def test_debug_logging_of_the_host_shows_nothing_of_a_call(chat_server: ChatServer) -> None:
    script = """
        import logging
        logging.basicConfig(level=logging.DEBUG, stream=sys.stdout)

        async def main():
            llm = Direct()
            await llm.complete(request(model=settings(api_base=base)))
            await llm.aclose()

        asyncio.run(main())
    """
    assert {line.split(":")[1] for line in output(chat_server, script).splitlines()} <= {"asyncio"}


def test_a_broken_installation_is_said_so(chat_server: ChatServer) -> None:
    script = """
        sys.modules["aiohttp"] = None
        try:
            asyncio.run(Direct().complete(request(model=settings(api_base=base))))
        except LLMError as error:
            print(error)
    """
    assert output(chat_server, script).startswith("aiohttp cannot be imported, and live calls need it: ")


SEEN = f"""
def pytest_unconfigure(config):
    import json, pathlib, sys
    found = [name for name in {HEAVY!r}.split() if name in sys.modules]
    pathlib.Path("seen.json").write_text(json.dumps(found))
"""


def test_a_run_of_models_that_are_called_directly_imports_nothing_of_litellm(tmp_path: Path) -> None:
    """With a limit on money, which needs prices, and with warnings as errors."""
    with ChatServer() as server:
        models = {"model": "openai/gpt-4o-mini", "api_base": server.base_url, "api_key": "k"}
        project(tmp_path, server.base_url, llm=models, run={"max_cost": 5})
        (tmp_path / "conftest.py").write_text(SEEN)
        command = [sys.executable, "-m", "pytest", "-q", "-W", "error", "-p", "convoprobe", "scenarios"]
        alone = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        done = subprocess.run(command, cwd=tmp_path, env=alone, capture_output=True, text=True, timeout=120)
    assert "1 passed" in done.stdout, done.stdout + done.stderr
    assert server.requests
    assert json.loads((tmp_path / "seen.json").read_text()) == []
