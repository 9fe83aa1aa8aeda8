"""What LiteLLM leaves behind in a process: nothing that the host would notice.

Each process takes seconds to import it, so a process shows more than one thing, and the tests share it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from tests.support.chat_server import ChatServer

ROOT = Path(__file__).parents[2]

PRELUDE = """
import asyncio, gc, json, logging, os, sys, threading, warnings
from pytest_convoprobe.errors import LLMError
from pytest_convoprobe.llm.litellm_adapter import LiteLLM
from tests.llm.requests import request, settings

base = sys.argv[1]

async def talk(llm, calls=3, **fields):
    model = settings(api_base=base, **fields)
    replies = await asyncio.gather(*(llm.complete(request(model=model)) for _ in range(calls)))
    await llm.aclose()
    return replies

async def patient(calls):
    asyncio.get_running_loop().slow_callback_duration = 60
    return await calls
"""


def run(server: ChatServer, script: str, *options: str) -> subprocess.CompletedProcess[str]:
    code = PRELUDE + textwrap.dedent(script)
    command = [sys.executable, *options, "-c", code, server.base_url]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)


def output(server: ChatServer, script: str, *options: str) -> str:
    done = run(server, script, *options)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


STRICT = ("-X", "dev", "-W", "error")
FAULTS = ["401", "429", "500", "garbage", "html", "no_choices", "close"]

HOST = """
    class Host:
        imports = 0

        def find_spec(self, name, path=None, target=None):
            self.imports += name == "litellm"
            if self.imports == 1:
                warnings.simplefilter("error")

    gc.disable()
    os.environ["LITELLM_MODE"] = "DEV"
    host = Host()
    sys.meta_path.insert(0, host)
    llm = LiteLLM()
    llm.preload()
    llm._module.result()
    warnings.simplefilter("error")
    print(asyncio.run(patient(talk(llm)))[0].text, host.imports)
    print(gc.isenabled(), os.environ["LITELLM_MODE"], "LITELLM_LOCAL_MODEL_COST_MAP" in os.environ)
"""
"""It makes warnings errors during the import and again later, and collects garbage by hand."""

ALL_KINDS_OF_CALLS = """
    async def refused_or_answered():
        llm = LiteLLM()
        for model in ("openai/fake", "hosted_vllm/fake", "nonsense"):
            try:
                await llm.complete(request(model=settings(api_base=base, model=model, temperature=0.5)))
            except LLMError as error:
                print(model, type(error).__name__)
        await talk(llm)

    async def faults():
        llm = LiteLLM()
        for _ in range(7):
            try:
                await llm.complete(request(model=settings(api_base=base)))
            except LLMError as error:
                print(type(error).__name__)
        await talk(llm)

    async def given_up():
        llm = LiteLLM()
        await llm.complete(request(model=settings(api_base=base)))
        model = settings(api_base=base, timeout=0.05)
        calls = [asyncio.ensure_future(llm.complete(request(model=model))) for _ in range(30)]
        await asyncio.sleep(0)
        for call in calls[:10]:
            call.cancel()
        await asyncio.sleep(0.01)
        for call in calls[10:20]:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        await llm.aclose()

    for calls in (refused_or_answered, faults, given_up):
        asyncio.run(patient(calls()))
"""


def test_no_call_prints_or_warns_and_the_hosts_filters_variables_and_collection_are_respected() -> None:
    answered = [None] * (3 + 2 + 3)
    with ChatServer(faults=[*answered, *FAULTS, *[None] * (3 + 1), *["hang"] * 30]) as server:
        lines = output(server, HOST + ALL_KINDS_OF_CALLS, *STRICT).splitlines()
    assert lines[:2] == ["Answer 1 to: hello 2", "False DEV False"]
    assert " ".join(lines[2:]).split() == ["nonsense", *["LLMRejected"] * 2, *["LLMUnavailable"] * 6]


def test_a_broken_installation_is_said_so(chat_server: ChatServer) -> None:
    script = """
        sys.modules["litellm"] = None
        try:
            asyncio.run(talk(LiteLLM()))
        except LLMError as error:
            print(error)
    """
    assert output(chat_server, script).startswith("LiteLLM cannot be imported, and live calls need it: ")


REPORT = """
    called = set()

    def listen(event, args):
        if event == "socket.connect":
            called.add(str(args[1]))
        elif event == "socket.getaddrinfo":
            called.add(str(args[:2]))

    def state():
        return dict(os.environ), gc.isenabled(), logging.getLogger().handlers[:]

    import pytest_convoprobe.llm.stack
    sys.addaudithook(listen)
    asyncio.run(LiteLLM().aclose())
    before, filters, imported = state(), list(warnings.filters), "litellm" in sys.modules
    llm = LiteLLM()
    llm.preload()
    llm.preload()
    llm._module.result()
    young = sum(len(gc.get_objects(generation)) for generation in (0, 1))
    preloaded = "litellm" in sys.modules
    asyncio.run(talk(llm))
    print(json.dumps({
        "imported_before": imported,
        "preloaded": preloaded,
        "young_objects": young,
        "frozen_objects": gc.get_freeze_count(),
        "state_kept": state() == before,
        "new_filters": [f[1].pattern for f in warnings.filters if f not in filters and f[1]],
        "logs": logging.getLogger("LiteLLM").isEnabledFor(logging.CRITICAL),
        "called": sorted(called),
        "threads": [thread.name for thread in threading.enumerate() if not thread.daemon],
    }))
"""


@pytest.fixture(scope="module")
def report() -> dict[str, Any]:
    """What a process saw that closed an unused adapter, preloaded another, called with it and closed it."""
    with ChatServer() as server:
        return dict(json.loads(output(server, REPORT)))


def test_neither_loading_the_package_nor_closing_imports_it(report: dict[str, Any]) -> None:
    assert report["imported_before"] is False


def test_preloading_imports_it_without_a_call(report: dict[str, Any]) -> None:
    assert report["preloaded"] is True


def test_what_was_imported_is_not_looked_through_as_if_it_were_new(report: dict[str, Any]) -> None:
    assert report["young_objects"] < 100_000
    assert report["frozen_objects"] == 0


def test_the_process_stays_as_it_was(report: dict[str, Any]) -> None:
    assert (report["state_kept"], report["new_filters"], report["logs"]) == (True, [], False)


def test_nobody_is_called_but_the_provider(report: dict[str, Any]) -> None:
    assert report["called"]
    assert [address for address in report["called"] if "127.0.0.1" not in address] == []


def test_no_thread_is_left(report: dict[str, Any]) -> None:
    assert report["threads"] == ["MainThread"]


def test_debug_logging_and_frozen_objects_of_the_host_stay_so(chat_server: ChatServer) -> None:
    """The log shows no message and no key."""
    script = """
        logging.basicConfig(level=logging.DEBUG, stream=sys.stdout)
        gc.freeze()
        asyncio.run(talk(LiteLLM()))
        print("frozen:", gc.get_freeze_count() > 0)
    """
    done = run(chat_server, script)
    assert "sk-very-secret" not in done.stdout + done.stderr
    assert "LiteLLM" not in done.stdout
    assert "DEBUG:asyncio" in done.stdout
    assert "\nfrozen: True\n" in done.stdout


def test_a_host_that_uses_litellm_keeps_its_logging(chat_server: ChatServer) -> None:
    script = """
        os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
        import litellm
        before = logging.getLogger("LiteLLM").handlers[:]
        asyncio.run(talk(LiteLLM()))
        print(bool(before), logging.getLogger("LiteLLM").handlers == before)
    """
    assert output(chat_server, script).strip() == "True True"
