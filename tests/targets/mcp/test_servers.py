from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from pytest_convoprobe.errors import (
    Blame,
    ScenarioError,
    SettingsError,
    TargetStartError,
    TargetUnavailable,
)
from pytest_convoprobe.faults.spoiling import ToolFailed
from pytest_convoprobe.llm.fake import FakeLLM
from pytest_convoprobe.runs.preconditions import require_known_tools
from pytest_convoprobe.scenario.models import Scenario
from pytest_convoprobe.targets.port import ConversationContext
from pytest_convoprobe.transcript import PendingRequest
from tests.support.plain_mcp_server import SCHEMA

from .conftest import agent, asking, plain


def add(a: int) -> int:
    """A function of the same name."""
    return a


async def names(target: Any, context: Callable[..., ConversationContext]) -> list[str]:
    """What the tools are called, once a conversation has begun."""
    await (await target.start(context())).aclose()
    return [tool.name for tool in target.describe().tools]


async def test_the_model_gets_the_servers_own_schemas_and_results(calling: Any) -> None:
    target = agent({"shop": plain()})
    assert target.describe().tools is None
    async with calling(target) as call:
        made = await call("add", '{"a": 1, "b": 2}')
        failed = await call("fail")
        odd = await call("shop_find")
        unknown = await call("ad")
        torn = await call("add", "[")
    first = target.describe().tools[0]
    assert (first.name, first.description, first.parameters) == ("add", "Add two numbers.", SCHEMA)
    assert (made.name, made.arguments, made.result, made.error) == ("add", {"a": 1, "b": 2}, "3", None)
    assert (made.id, made.group) == ("id0", "")
    assert (failed.error, failed.executed, failed.id) == ("no such order", True, "id0-2")
    assert (odd.name, odd.result) == ("shop_find", "found")
    assert (unknown.executed, torn.executed) == (False, False)
    assert "there is no tool `ad`; the tools are: `add`, `count`" in (unknown.error or "")


async def test_names_that_clash_have_the_name_of_their_server_before_them(context: Any) -> None:
    two = {"shop": plain(allow=["add", "count"]), "bank": plain(allow=["count", "fail"])}
    assert await names(agent(two, [add]), context) == [
        "add", "shop__add", "shop__count", "bank__count", "fail",
    ]  # fmt: skip
    always = {"shop": plain(allow=["fail"], prefix=True)}
    assert await names(agent(always), context) == ["shop__fail"]
    never = {"shop": plain(allow=["add"], prefix=False)}
    with pytest.raises(TargetStartError, match="two tools are called `add`"):
        await names(agent(never, [add]), context)


async def test_tools_are_allowed_and_denied_by_name_and_pattern(context: Any) -> None:
    target = agent({"shop": plain(allow=["*i*", "add"], deny=["d*"])})
    assert await names(target, context) == ["add", "fail", "shop_find"]


@pytest.mark.parametrize("key", ["allow", "deny"])
async def test_a_name_that_is_no_tool_is_an_error_with_a_suggestion(key: str, context: Any) -> None:
    target = agent({"shop": plain(**{key: ["add", "shop.fnd"]})})
    with pytest.raises(SettingsError) as caught:
        await target.start(context())
    assert "the server has no tool `shop.fnd`; did you mean `shop.find`?" in str(caught.value)
    assert caught.value.problems[0].path == f"target.mcp_servers.shop.{key}[1]"
    assert not _descendants()


async def test_a_call_that_takes_too_long_is_an_error_of_the_tool(calling: Any) -> None:
    async with calling(agent({"shop": plain(timeout=0.2, allow=["hang", "add"])})) as call:
        hung = await call("hang")
        assert (hung.error, hung.executed) == ("no answer within 0.2 s", True)
        # This server has one thread, and waits for nothing: it answers the next call.
        assert (await call("add", '{"a": 1}')).result == "1"


async def test_a_server_that_dies_in_a_call_ends_the_conversation(calling: Any) -> None:
    target = agent({"shop": plain(env={"SHOP_KEY": "sesame"})})
    async with calling(target) as call:
        with pytest.raises(TargetUnavailable) as caught:
            await call("die")
        with pytest.raises(TargetUnavailable, match="`shop` ended with status 3"):
            await call("add", '{"a": 1}')
    assert caught.value.blame is Blame.INFRASTRUCTURE
    last = r"\::error::out of cheese, key sesame"
    assert str(caught.value) == f"the MCP server `shop` ended with status 3: {last}"
    # What a server writes is no command to the CI system that shows it.
    assert caught.value.trace.endswith(f"`shop`:\n    {last}")


@pytest.mark.parametrize(
    ("server", "said"),
    [
        (plain("silent", start_timeout=0.5), "didn't list its tools within 0.5 s"),
        (plain("dies"), r"ended with status 1 before it had listed its tools: no licence\x1b[31m"),
        (plain("chatty", "dies"), "that is not a message: Listening on stdio"),
        (plain("empty"), "lists no tools"),
        (plain("refuses"), "rror: Method not found"),
        ({"command": "no-such-program", "args": ["x"]}, "there is no program `no-such-program`"),
        ({"command": "./no-such-program --fast"}, "there is no program `./no-such-program`"),
        ({"url": "http://127.0.0.1:9/mcp"}, "closed its connection before it had listed its tools: "),
    ],
)
async def test_a_server_that_offers_nothing_is_a_start_error(
    server: dict[str, Any], said: str, context: Any
) -> None:
    with pytest.raises(TargetStartError) as caught:
        await agent({"shop": server}).start(context())
    assert said in str(caught.value)
    assert caught.value.blame is Blame.INFRASTRUCTURE
    assert not _descendants()


async def test_an_answer_that_is_not_a_message_is_mended_or_an_error_at_once(calling: Any) -> None:
    async with calling(agent({"shop": plain()})) as call:
        assert (await call("halved")).result == "fine ?"
        assert "has neither a `result` nor an `error`" in (await call("garbled")).error


async def test_each_conversation_has_its_own_process_or_all_share_one(calling: Any) -> None:
    own, shared = agent({"shop": plain()}), agent({"shop": plain(lifetime="session")})
    for target, expected in ((own, ["1", "1"]), (shared, ["1", "2"])):
        async with calling(target) as one, calling(target) as other:
            assert [(await call("count")).result for call in (one, other)] == expected
    assert len(_servers()) == 1
    async with calling(shared) as call:
        with pytest.raises(TargetUnavailable):
            await call("die")
    # The next conversation isn't to blame for that, nor does it suffer from it.
    async with calling(shared) as call:
        assert (await call("count")).result == "1"
    await shared.aclose()
    assert not _descendants()


async def test_conversations_at_once_have_a_server_each_and_share_a_failure(
    calling: Any, context: Any
) -> None:
    async def talk(target: Any) -> list[str]:
        async with calling(target) as call:
            return [(await call("count")).result for _ in range(3)]

    own = agent({"shop": plain()})
    assert await asyncio.gather(*(talk(own) for _ in range(6))) == [["1", "2", "3"]] * 6
    shared = agent({"shop": plain("dies", lifetime="session", prefix=True)})
    failed = await asyncio.gather(*(shared.start(context()) for _ in range(3)), return_exceptions=True)
    assert [type(one) for one in failed] == [TargetStartError] * 3
    assert not _descendants()


async def test_names_of_tools_in_a_scenario_are_compared_with_those_that_are_listed(context: Any) -> None:
    scenario = Scenario.model_validate(
        {
            "name": "n",
            "description": "d",
            "synthetic_user": {"persona": "p", "initial_query": "q"},
            "evaluation": {"correctness_criteria": ["c"], "tool_usage": {"prohibited_tools": ["fial"]}},
        }
    )
    target = agent({"shop": plain(prefix=True)})
    conversation = await target.start(context())
    await conversation.aclose()
    with pytest.raises(ScenarioError, match="the target has no tool `fial`; did you mean `shop__fail`"):
        await require_known_tools(scenario, target)


async def test_a_server_gets_no_variables_but_its_own(calling: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    async with calling(agent({"shop": plain(env={"SHOP_KEY": "sesame", "PORT": 80})})) as call:
        found = json.loads((await call("env")).result)
    assert (found["SHOP_KEY"], found["PORT"]) == ("sesame", "80")
    assert "PATH" in found
    assert "OPENAI_API_KEY" not in found


async def test_a_long_result_is_cut(context: Any) -> None:
    llm = FakeLLM([asking(("long", "{}")), "done"])
    conversation = await agent({"shop": plain()}).start(replace(context(llm), max_text=1000))
    (made,) = (await conversation.send("long?")).tool_calls or ()
    await conversation.aclose()
    assert len(made.result) <= 1000
    assert made.cut == ("result",)


async def test_a_command_line_and_a_folder(calling: Any, tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "server.py").write_text((Path(plain()["args"][1])).read_text())
    server = {"command": f"{sys.executable} -S server.py", "cwd": "below", "allow": ["add"]}
    async with calling(agent({"shop": server}, root=tmp_path)) as call:
        assert (await call("add", '{"a": 1}')).result == "1"


async def test_what_a_server_asks_for_is_recorded_and_declined(calling: Any) -> None:
    async with calling(agent({"shop": plain()})) as call:
        made = await call("ask")
        question, request = call.reply.pending
    assert json.loads(made.result) == [{"action": "decline"}, "refused"]
    assert question == PendingRequest(
        id="shop-1", kind="question", text="Which size?", tool="ask", answer="reject", reason=question.reason
    )
    assert (request.kind, request.answer) == ("approval", "reject")
    assert request.text == "the MCP server `shop` asks for a text of a model: Write a poem."


async def test_what_a_server_asks_for_is_answered_as_configured(calling: Any) -> None:
    server = plain(elicitation={"size": "M"}, sampling="model")
    async with calling(agent({"shop": server})) as call:
        form, written = json.loads((await call("ask")).result)
        question, request = call.reply.pending
        assert call.reply.usage.total == 15 + 2 + 2  # the text for the server is paid for, too
    assert form == {"action": "accept", "content": {"size": "M"}}
    assert written["content"] == {"type": "text", "text": "done"}
    assert (question.answer, request.answer) == ('{"size": "M"}', "approve")


class _Faults:
    """Injects an error into each second call, and counts."""

    calls: list[tuple[str, str]]

    def __init__(self) -> None:
        self.calls = []

    async def around(self, tool: str, call: Any, *, call_id: str = "") -> Any:
        self.calls.append((tool, call_id))
        if len(self.calls) == 2:
            raise ToolFailed("injected")
        return ["seen", await call()]

    def around_sync(self, tool: str, call: Any, *, call_id: str = "") -> Any:
        raise AssertionError


async def test_calls_go_through_the_faults(context: Any) -> None:
    faults = _Faults()
    llm = FakeLLM([asking(("add", '{"a": 1}')), asking(("add", "{}")), asking(("fail", "{}")), "done"])
    conversation = await agent({"shop": plain()}).start(replace(context(llm), faults=faults))
    calls = (await conversation.send("go")).tool_calls or ()
    await conversation.aclose()
    assert [(one.result, one.error) for one in calls] == [
        (["seen", "1"], None), (None, "injected"), (None, "no such order"),
    ]  # fmt: skip
    assert faults.calls == [("add", "id0"), ("add", "id0-2"), ("fail", "id0-3")]


async def test_nothing_is_left_of_a_server_that_will_not_end(calling: Any) -> None:
    async with calling(agent({"shop": plain("stays", "child")})) as call:
        assert (await call("count")).result == "1"
        while len(_servers()) < 2:
            await asyncio.sleep(0.01)
    assert not _descendants()


async def test_a_start_that_is_cancelled_leaves_nothing(context: Any) -> None:
    starting = asyncio.ensure_future(agent({"a": plain(), "b": plain("silent")}).start(context()))
    while not _servers():
        await asyncio.sleep(0.01)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert not _descendants()


def _descendants() -> list[str]:
    """The command lines of guards, servers and what they have left behind."""
    lines = [_line(one) for one in psutil.Process().children(recursive=True)]
    return [line for line in lines if "plain_mcp_server" in line or "left-behind" in line]


def _servers() -> list[str]:
    return [line for line in _descendants() if "guard.py" not in line]


def _line(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""
