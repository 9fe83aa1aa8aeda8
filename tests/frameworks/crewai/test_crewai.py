"""Crews and agents of CrewAI."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest

from pytest_convoprobe.errors import TargetStartError, TargetUnavailable
from pytest_convoprobe.targets.adapters.crewai import open_session
from pytest_convoprobe.targets.adapters.crewai import tools_of as crewai_tools_of
from pytest_convoprobe.targets.adapters.sessions import SessionOptions
from pytest_convoprobe.transcript import Usage
from tests.support.chat_server import ChatServer, Completion

from ..contract import Contract, said, talking
from ..documented import run_documented
from ..shop import Shop, call, model, only_for, text_of

only_for("crewai")

# Nothing of the tests goes to CrewAI's servers, and nobody is asked at the terminal.
os.environ |= {"CREWAI_DISABLE_TELEMETRY": "true", "CREWAI_TRACING_ENABLED": "false"}

from crewai import LLM, Agent, Crew, Process, Task  # noqa: E402
from crewai.events import crewai_event_bus  # noqa: E402
from crewai.events.types.tool_usage_events import ToolUsageStartedEvent  # noqa: E402
from crewai.tools import tool  # noqa: E402

_DESCRIPTION = "Answer the user.\nEarlier:\n{history}\nThe user says: {message}\n(end)"


def crew_model(body: dict[str, Any]) -> Completion:
    """The shop's model for the prompts that CrewAI makes of a task: what the user says is a part of them."""
    messages = [part for message in body["messages"] for part in _parts(message)]
    answer = model({**body, "messages": messages})
    calls = [(name, _asking(name, arguments)) for name, arguments in answer.tool_calls]
    return Completion(answer.text, tuple(calls))


def _asking(name: str, arguments: Any) -> Any:
    if name != "ask_question_to_coworker":
        return arguments
    return {"context": "none", "coworker": "expert", **arguments}


def _parts(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    text = text_of(message)
    found = re.search(r"Earlier:\n(.*)\nThe user says: (.*?)\n\(end\)", text, re.S)
    if message["role"] != "user" or found is None:
        yield dict(message)
        return
    yield from ({"role": "user", "content": said} for said in re.findall(r"^User: (.*)", found[1], re.M))
    yield {"role": "user", "content": found[2]}


def made(url: str, name: str, tools: list[Any], **more: Any) -> Agent:
    llm = LLM(model="gpt-4o", base_url=url, api_key="x", max_retries=0)
    about = {"role": name, "goal": "help", "backstory": f"You are {name}", "max_retry_limit": 0}
    return Agent(**about, llm=llm, tools=tools, **more)


def crew(agents: list[Agent], description: str = _DESCRIPTION) -> Crew:
    task = Task(description=description, expected_output="an answer", agent=agents[0])
    return Crew(agents=agents, tasks=[task], process=Process.sequential)


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer(crew_model, routine=False) as server:
        yield server


class TestCrewai(Contract):
    asks_expert: ClassVar[Mapping[str, str]] = {"tool": "ask_question_to_coworker", "parameter": "question"}
    lacks: ClassVar[Mapping[str, str]] = {
        "an_agent_that_hands_over": "a coworker works for the one that asks",
        "a_call_that_a_person_approves": "CrewAI asks at the terminal",
        "a_call_that_a_person_rejects": "CrewAI asks at the terminal",
    }

    def agent(self, url: str, shop: Shop) -> object:
        return crew([made(url, "helper", [tool(shop.lookup), tool(shop.weather), tool(shop.broken)])])

    def nesting(self, url: str, shop: Shop) -> Any:
        expert = made(url, "expert", [tool(shop.lookup)])
        return crew([made(url, "helper", [], allow_delegation=True), expert])

    @contextlib.contextmanager
    def own_tracing(self) -> Iterator[list[str]]:
        seen: list[str] = []

        @crewai_event_bus.on(ToolUsageStartedEvent)
        def started(source: Any, event: ToolUsageStartedEvent) -> None:
            seen.append(event.tool_name)

        try:
            yield seen
        finally:
            crewai_event_bus.off(ToolUsageStartedEvent, started)

    async def test_a_crew_without_a_placeholder_for_the_history(self, server: ChatServer, shop: Shop) -> None:
        server._function = None  # it then repeats the last message
        agent = crew([made(server.base_url, "helper", [])], "Answer the user: {topic}")
        await said(agent, "I am Ada.", "Who am {I}?")
        assert "Answer the user: I am Ada." in server.requests[0].prompt
        assert "Answer the user: Who am {I}?" in server.requests[1].prompt
        assert "User: I am Ada.\nAssistant: Answer" in server.requests[1].prompt

    async def test_a_single_agent(self, server: ChatServer, shop: Shop) -> None:
        agent = made(server.base_url, "helper", [tool(shop.lookup)])
        first, second = await said(agent, "hello", call("lookup", order="1"))
        assert "Task: hello" in first.text
        (found,) = second.tool_calls or ()
        assert (found.name, found.result, found.agent) == ("lookup", "1 is on its way", "helper")
        assert "hello" in second.text
        assert second.usage == Usage(20, 10)

    async def test_several_agents_one_after_another(self, server: ChatServer, shop: Shop) -> None:
        helper, expert = (made(server.base_url, name, [tool(shop.lookup)]) for name in ("helper", "expert"))
        tasks = [*crew([helper]).tasks, *crew([expert]).tasks]
        agent = Crew(agents=[helper, expert], tasks=tasks, process=Process.sequential)
        (reply,) = await said(agent, call("lookup", order="1"))
        assert [(found.name, found.agent) for found in reply.tool_calls or ()] == [
            ("lookup", "helper"),
            ("lookup", "expert"),
        ]
        assert reply.text.startswith("expert")
        assert reply.usage == Usage(40, 20)

    async def test_calls_that_the_model_writes_as_text(self, server: ChatServer, shop: Shop) -> None:
        class TextLLM(type(LLM(model="gpt-4o", api_key="x"))):  # type: ignore[misc]
            def supports_function_calling(self) -> bool:
                return False

        action = 'Thought: hm\nAction: {}\nAction Input: {{"order": "1"}}'
        texts = [action.format("lookup"), action.format("nothing"), "Thought: ok\nFinal Answer: done"]
        server._script = iter(map(Completion, texts))
        agent = made(server.base_url, "helper", [tool(shop.lookup)])
        agent.llm = TextLLM(model="gpt-4o", base_url=server.base_url, api_key="x", max_retries=0)
        (reply,) = await said(crew([agent]), "hello")
        found, unknown = reply.tool_calls or ()
        assert (found.name, found.arguments, found.result) == ("lookup", {"order": "1"}, "1 is on its way")
        assert (unknown.name, unknown.executed) == ("nothing", False)
        assert reply.text == "done"

    async def test_the_model_of_a_coworker_is_away(self, server: ChatServer, shop: Shop) -> None:
        server._script = iter([None, "500"])
        message = call("ask_question_to_coworker", question="hello")
        with pytest.raises(TargetUnavailable, match="the model of an agent that was asked did not answer"):
            await said(self.nesting(server.base_url, shop), message)

    @pytest.mark.parametrize(
        ("description", "words"),
        [
            ("Answer.", r"no place for the user's message: write `\{message\}`"),
            ("{a} {b}", r"It has `\{a\}`, `\{b\}`. Name one"),
            ("{message} {year}", r"needs more inputs: `\{year\}`. Give them .* by `target.context`"),
        ],
    )
    async def test_inputs_that_are_not_clear(self, server: ChatServer, description: str, words: str) -> None:
        with pytest.raises(TargetStartError, match=words):
            await said(crew([made(server.base_url, "helper", [])], description), "hello")

    async def test_its_context(self, server: ChatServer) -> None:
        agent = crew([made(server.base_url, "helper", [])], "In {year}: {message}")
        session = await open_session(agent, SessionOptions("c", context={"year": 1990}))
        try:
            await asyncio.to_thread(session.send, "hello")
        finally:
            session.aclose()
        assert "In 1990: hello" in server.requests[0].prompt

    async def test_a_manager_that_hands_out_the_work(self, server: ChatServer, shop: Shop) -> None:
        agent = self.nesting(server.base_url, shop)
        agent.process, agent.manager_agent = Process.hierarchical, made(server.base_url, "boss", [])
        agent.tasks[0].agent = None  # else it only asks that one
        message = call("ask_question_to_coworker", question=call("lookup", order="1"))
        (reply,) = await said(agent, message)
        outer, inner = reply.tool_calls or ()
        assert (outer.agent, inner.agent, inner.parent) == ("boss", "expert", outer.id)
        described = {spec.name for spec in crewai_tools_of(agent) or ()}
        assert described == {"lookup", "ask_question_to_coworker", "delegate_work_to_coworker"}

    async def test_nothing_stays_on_the_bus(self, server: ChatServer, shop: Shop) -> None:
        before = dict(crewai_event_bus._sync_handlers)
        async with talking(self.agent(server.base_url, shop)), talking(self.agent(server.base_url, shop)):
            assert crewai_event_bus._sync_handlers != before
        assert crewai_event_bus._sync_handlers == before


def test_what_the_page_shows_works(tmp_path: Path) -> None:
    with ChatServer() as server:
        said = run_documented("crewai", tmp_path, server.base_url)
    assert "1 passed" in said, said
