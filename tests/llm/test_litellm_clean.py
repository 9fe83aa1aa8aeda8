"""What LiteLLM leaves behind in a process: nothing that the host would notice."""

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


def test_calls_and_failures_print_nothing_and_warn_of_nothing(chat_server: ChatServer) -> None:
    script = """
        async def main():
            asyncio.get_running_loop().slow_callback_duration = 60
            llm = LiteLLM()
            for model in ("openai/fake", "hosted_vllm/fake", "nonsense"):
                try:
                    await llm.complete(request(model=settings(api_base=base, model=model, temperature=0.5)))
                except LLMError:
                    pass
            await talk(llm)
        asyncio.run(main())
    """
    assert output(chat_server, script, *STRICT) == ""


def test_a_broken_installation_is_said_so(chat_server: ChatServer) -> None:
    script = """
        sys.modules["litellm"] = None
        try:
            asyncio.run(talk(LiteLLM()))
        except LLMError as error:
            print(error)
    """
    assert output(chat_server, script).startswith("LiteLLM cannot be imported, and live calls need it: ")


def test_a_filter_that_comes_later_does_not_break_the_first_call(chat_server: ChatServer) -> None:
    script = """
        llm = LiteLLM()
        llm.preload()
        llm._module.result()
        warnings.simplefilter("error")
        print(asyncio.run(talk(llm))[0].text)
    """
    assert output(chat_server, script).strip() == "Answer 1 to: hello"


def test_filters_that_change_during_the_import_do_not_break_it(chat_server: ChatServer) -> None:
    script = """
        class Host:
            imports = 0

            def find_spec(self, name, path=None, target=None):
                self.imports += name == "litellm"
                if self.imports == 1:
                    warnings.simplefilter("error")

        host = Host()
        sys.meta_path.insert(0, host)
        print(asyncio.run(talk(LiteLLM()))[0].text, host.imports)
    """
    assert output(chat_server, script).strip() == "Answer 1 to: hello 2"


FAULTS = ["401", "429", "500", "garbage", "html", "no_choices", "close"]


def test_faults_print_nothing() -> None:
    script = """
        async def main():
            asyncio.get_running_loop().slow_callback_duration = 60
            llm = LiteLLM()
            for _ in range(7):
                try:
                    await llm.complete(request(model=settings(api_base=base)))
                except LLMError as error:
                    print(type(error).__name__)
            await talk(llm)
        asyncio.run(main())
    """
    with ChatServer(faults=FAULTS) as server:
        assert output(server, script, *STRICT).split() == ["LLMRejected", *["LLMUnavailable"] * 6]


def test_calls_that_are_given_up_leave_no_warning() -> None:
    script = """
        async def main():
            asyncio.get_running_loop().slow_callback_duration = 60
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
        asyncio.run(main())
    """
    with ChatServer(faults=[None, *["hang"] * 30]) as server:
        assert output(server, script, *STRICT) == ""


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
    preloaded = "litellm" in sys.modules
    asyncio.run(talk(llm))
    print(json.dumps({
        "imported_before": imported,
        "preloaded": preloaded,
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


def test_the_process_stays_as_it_was(report: dict[str, Any]) -> None:
    assert (report["state_kept"], report["new_filters"], report["logs"]) == (True, [], False)


def test_nobody_is_called_but_the_provider(report: dict[str, Any]) -> None:
    assert report["called"]
    assert [address for address in report["called"] if "127.0.0.1" not in address] == []


def test_no_thread_is_left(report: dict[str, Any]) -> None:
    assert report["threads"] == ["MainThread"]


def test_what_was_imported_is_not_looked_through_as_if_it_were_new(chat_server: ChatServer) -> None:
    script = """
        llm = LiteLLM()
        llm.preload()
        llm._module.result()
        young = sum(len(gc.get_objects(generation)) for generation in (0, 1))
        print(young < 100_000, gc.get_freeze_count())
    """
    assert output(chat_server, script).strip() == "True 0"


def test_what_the_host_has_frozen_stays_so(chat_server: ChatServer) -> None:
    script = """
        gc.freeze()
        asyncio.run(talk(LiteLLM()))
        print(gc.get_freeze_count() > 0)
    """
    assert output(chat_server, script).strip() == "True"


def test_variables_and_a_host_that_collects_by_hand_are_respected(chat_server: ChatServer) -> None:
    script = """
        gc.disable()
        os.environ["LITELLM_MODE"] = "DEV"
        asyncio.run(talk(LiteLLM()))
        print(gc.isenabled(), os.environ["LITELLM_MODE"], "LITELLM_LOCAL_MODEL_COST_MAP" in os.environ)
    """
    assert output(chat_server, script).strip() == "False DEV False"


def test_a_host_that_uses_litellm_keeps_its_logging(chat_server: ChatServer) -> None:
    script = """
        os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
        import litellm
        before = logging.getLogger("LiteLLM").handlers[:]
        asyncio.run(talk(LiteLLM()))
        print(bool(before), logging.getLogger("LiteLLM").handlers == before)
    """
    assert output(chat_server, script).strip() == "True True"


def test_debug_logging_of_the_host_shows_no_message_and_no_key(chat_server: ChatServer) -> None:
    script = """
        logging.basicConfig(level=logging.DEBUG, stream=sys.stdout)
        asyncio.run(talk(LiteLLM()))
    """
    done = run(chat_server, script)
    assert "sk-very-secret" not in done.stdout + done.stderr
    assert "LiteLLM" not in done.stdout
