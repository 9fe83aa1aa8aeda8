from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import sqlite3
import subprocess
import sys
import textwrap
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_convoprobe.errors import Blame, TargetCrashed, TargetError, TargetStartError, TargetUnavailable
from pytest_convoprobe.targets.factory import as_target
from pytest_convoprobe.targets.given_objects import Use, owner_of
from pytest_convoprobe.targets.port import ConversationContext
from pytest_convoprobe.transcript import Reply, ToolCall

Talk = Callable[..., Any]


@pytest.fixture
def talk(context: Callable[..., ConversationContext]) -> Talk:
    """Has a conversation with whatever a user may give as a target; gives the replies."""

    async def talk(agent: object, *messages: str, use: Use = Use.MANY) -> list[Reply]:
        target = as_target(agent, use=use)
        conversation = await target.start(context())
        try:
            return [await conversation.send(message) for message in messages or ("hello",)]
        finally:
            await conversation.aclose()
            await target.aclose()

    return talk


def raising(error: BaseException) -> Callable[[str], str]:
    def agent(message: str) -> str:
        raise error

    return agent


def raising_async(error: BaseException) -> Callable[[str], Any]:
    async def agent(message: str) -> str:
        raise error

    return agent


# How it is called


async def test_one_parameter_is_the_message(talk: Talk) -> None:
    assert [reply.text for reply in await talk(lambda text: text.upper())] == ["HELLO"]


async def test_a_second_parameter_is_the_history(talk: Talk) -> None:
    seen: list[Any] = []

    def agent(message: str, earlier: list[dict[str, str]]) -> str:
        seen.append(earlier)
        return f"answer to {message}"

    await talk(agent, "one", "two")
    assert seen == [
        [],
        [{"role": "user", "content": "one"}, {"role": "assistant", "content": "answer to one"}],
    ]


@pytest.mark.parametrize(
    "agent",
    [
        lambda message, *, history: str(len(history)),
        lambda message, history=(): str(len(history)),
        lambda message, model="x", history=(): str(len(history)),
    ],
)
async def test_a_parameter_called_history_gets_it_by_name(talk: Talk, agent: object) -> None:
    assert [reply.text for reply in await talk(agent, "one", "two")] == ["0", "2"]


async def test_other_parameters_keep_their_defaults(talk: Talk) -> None:
    assert (await talk(lambda message, model="small": f"{model}: {message}"))[0].text == "small: hello"


async def test_changing_the_history_changes_nothing_for_the_next_turn(talk: Talk) -> None:
    def agent(message: str, history: list[dict[str, str]]) -> str:
        count = len(history)
        history.append({"role": "user", "content": "noise"})
        if count:
            history[0]["content"] = "changed"
        return f"{count} {history[0]['content']}"

    replies = await talk(agent, "one", "two", "three")
    assert [reply.text for reply in replies] == ["0 noise", "2 changed", "4 changed"]


async def test_too_many_parameters_are_an_error_that_shows_them(talk: Talk) -> None:
    with pytest.raises(TargetStartError, match=r"it takes \(a, b, c\), but is called with the message"):
        await talk(lambda a, b, c: "")


@pytest.mark.parametrize("agent", [lambda history: "", lambda history, message: ""])
async def test_the_history_cannot_come_first(talk: Talk, agent: object) -> None:
    with pytest.raises(TargetStartError, match="called with the message"):
        await talk(agent)


async def test_a_partial_takes_what_is_left(talk: Talk) -> None:
    def agent(style: str, message: str) -> str:
        return f"{style}: {message}"

    assert (await talk(functools.partial(agent, "polite")))[0].text == "polite: hello"


@pytest.mark.parametrize("name", ["send", "respond", "reply", "chat", "run"])
async def test_an_object_may_answer_by_a_method(talk: Talk, name: str) -> None:
    kind = type("Agent", (), {name: lambda self, message: f"{name} {message}"})
    assert (await talk(kind))[0].text == f"{name} hello"


async def test_an_object_without_such_a_method_is_an_error(talk: Talk) -> None:
    class Agent:
        def answer(self, message: str) -> str:
            return message

    with pytest.raises(TargetStartError, match="has none of `send`, `respond`, `reply`, `chat`, `run`"):
        await talk(Agent)


async def test_a_class_that_needs_arguments_is_an_error(talk: Talk) -> None:
    class Agent:
        def __init__(self, model: str) -> None: ...
        def send(self, message: str) -> str:
            return message

    with pytest.raises(TargetStartError, match="needs arguments: give a function without parameters"):
        await talk(Agent)


# Isolation


async def test_a_factory_is_called_for_each_conversation(talk: Talk) -> None:
    made = []

    def make() -> Callable[[str], str]:
        made.append(1)
        return str.upper

    await talk(make, "one", "two")
    await talk(make, "one")
    assert len(made) == 2


async def test_an_async_factory_is_awaited(talk: Talk) -> None:
    async def make() -> Callable[[str], str]:
        return str.upper

    assert (await talk(make))[0].text == "HELLO"


async def test_a_factory_that_makes_no_agent_is_an_error(talk: Talk) -> None:
    with pytest.raises(TargetStartError, match="could not be started: a str takes no messages"):
        await talk(lambda: "hello")


class Remembering:
    def __init__(self) -> None:
        self.heard: list[str] = []

    def respond(self, message: str) -> str:
        self.heard.append(message)
        return ",".join(self.heard)


def test_of_partials_and_decorated_functions_only_objects_own_a_state() -> None:
    agent = Remembering()
    assert owner_of(functools.partial(agent.respond)) is agent
    assert owner_of(functools.partial(functools.partial(agent.respond, "a"))) is agent
    cached = functools.lru_cache(str.upper)
    for plain in (Remembering, print, str.upper, lambda message: "", functools.partial(print, ""), cached):
        assert owner_of(plain) is None


@pytest.mark.parametrize("of", [lambda agent: agent, lambda agent: agent.respond], ids=["object", "method"])
async def test_the_object_given_for_ones_own_run_is_the_one_that_talks(talk: Talk, of: Any) -> None:
    agent = Remembering()
    await talk(of(agent), "a", "b", use=Use.ONE_BY_ONE)
    await talk(of(agent), "c", use=Use.ONE_BY_ONE)
    assert agent.heard == ["a", "b", "c"]


@pytest.mark.parametrize("of", [lambda agent: agent, lambda agent: agent.respond], ids=["object", "method"])
async def test_one_object_for_many_conversations_is_refused_with_the_remedy(talk: Talk, of: Any) -> None:
    with pytest.raises(TargetStartError, match=r"is one object.* Give a class, or a function"):
        await talk(of(Remembering()))


async def test_an_object_takes_part_in_one_conversation_at_a_time(
    context: Callable[..., ConversationContext],
) -> None:
    agent = Remembering()
    first, second = (as_target(agent, use=Use.ONE_BY_ONE) for _ in range(2))
    talking = await first.start(context())
    with pytest.raises(TargetStartError, match="is in another conversation"):
        await second.start(context())
    await talking.aclose()
    await (await second.start(context())).aclose()


async def test_scenarios_need_an_object_each(talk: Talk) -> None:
    agent = Remembering()
    await talk(agent, use=Use.ONCE)
    await talk(Remembering(), use=Use.ONCE)
    with pytest.raises(TargetStartError, match="has been in the conversation of an earlier scenario"):
        await talk(agent, use=Use.ONCE)


async def test_an_object_that_is_given_is_closed_by_its_owner(talk: Talk) -> None:
    class Agent(Remembering):
        closed = False

        def close(self) -> None:
            self.closed = True

    agent = Agent()
    await talk(agent, use=Use.ONE_BY_ONE)
    assert not agent.closed


async def test_all_calls_of_a_conversation_run_in_one_thread(talk: Talk) -> None:
    class Agent:
        def __init__(self) -> None:
            self.database = sqlite3.connect(":memory:")

        def send(self, message: str) -> str:
            return str(self.database.execute("select 41 + ?", [len(message)]).fetchone()[0])

        def close(self) -> None:
            self.database.close()

    assert [reply.text for reply in await talk(Agent, "x", "xx")] == ["42", "43"]


async def test_an_async_agent_is_made_on_the_loop(talk: Talk) -> None:
    class Agent:
        def __init__(self) -> None:
            self.loop = asyncio.get_running_loop()

        async def send(self, message: str) -> str:
            return str(self.loop is asyncio.get_running_loop())

    assert (await talk(Agent))[0].text == "True"


# Slow agents


async def test_one_blocked_target_stalls_no_other(talk: Talk) -> None:
    gate = threading.Event()

    def agent(message: str) -> str:
        if message == "block":
            gate.wait(30)
        return message

    blocked = asyncio.ensure_future(talk(agent, "block"))
    others = await asyncio.gather(*(talk(agent, str(number)) for number in range(20)))
    stalled = not blocked.done()
    gate.set()
    await blocked
    assert stalled
    assert [replies[0].text for replies in others] == [str(number) for number in range(20)]


async def test_closing_does_not_wait_for_a_call_that_hangs(
    context: Callable[..., ConversationContext],
) -> None:
    gate, closed = threading.Event(), threading.Event()

    class Agent:
        def send(self, message: str) -> str:
            gate.wait(30)
            return ""

        def close(self) -> None:
            closed.set()

    conversation = await as_target(Agent).start(context())
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(conversation.send("hello"), 0.05)
    await conversation.aclose()
    closed_while_it_ran = closed.is_set()
    gate.set()
    assert not closed_while_it_ran


def test_a_hanging_call_does_not_keep_the_interpreter(tmp_path: Path) -> None:
    script = tmp_path / "hang.py"
    script.write_text(
        textwrap.dedent(
            """
            import asyncio, threading
            from pytest_convoprobe.llm.fake import FakeLLM
            from pytest_convoprobe.targets.factory import as_target
            from pytest_convoprobe.targets.port import ConversationContext

            def agent(message):
                threading.Event().wait()

            async def main():
                conversation = await as_target(agent).start(ConversationContext("c", FakeLLM([])))
                try:
                    await asyncio.wait_for(conversation.send("hello"), 0.05)
                except asyncio.TimeoutError:
                    await conversation.aclose()
                    print("given up")

            asyncio.run(main())
            """
        )
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr, done.returncode) == ("given up\n", "", 0)


async def test_a_cancelled_conversation_ends_with_its_cancellation(talk: Talk) -> None:
    async def agent(message: str) -> str:
        await asyncio.Event().wait()
        return ""

    task = asyncio.ensure_future(talk(agent))
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


# What it answers


async def test_a_text_tells_no_tool_calls(talk: Talk) -> None:
    assert (await talk(lambda message: "hi"))[0] == Reply("hi", tool_calls=None)


async def test_a_reply_is_taken_as_it_is(talk: Talk) -> None:
    reply = Reply("hi", (ToolCall("look_up", {"id": 1}, {"found": True}),))
    assert (await talk(lambda message: reply))[0] == reply


async def test_streamed_texts_are_joined(talk: Talk) -> None:
    def agent(message: str) -> Iterator[str]:
        yield from ("It ", "is ", "sunny")

    assert (await talk(agent))[0].text == "It is sunny"


async def test_asynchronously_streamed_texts_are_joined(talk: Talk) -> None:
    async def agent(message: str) -> AsyncIterator[str]:
        for chunk in ("It ", "rains"):
            yield chunk

    assert (await talk(agent))[0].text == "It rains"


async def test_a_coroutine_from_a_plain_function_is_awaited(talk: Talk) -> None:
    async def later(message: str) -> str:
        return message * 2

    assert (await talk(lambda message: later(message)))[0].text == "hellohello"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (None, "it returned None: return a text, `Reply"),
        (42, "it returned an int"),
        (b"x", "it returned a bytes"),
        (object(), "it returned an object: return a text, `Reply"),
        ([], "it returned an empty list"),
        (Reply(None), "Reply: return a text"),  # type: ignore[arg-type]
    ],
)
async def test_another_form_is_the_fault_of_the_wiring(talk: Talk, answer: object, words: str) -> None:
    with pytest.raises(TargetStartError, match="answer can't be used") as caught:
        await talk(lambda message: answer)
    assert words in str(caught.value)
    assert caught.value.blame is Blame.INFRASTRUCTURE


async def test_it_is_in_a_later_turn_too(talk: Talk) -> None:
    answers = iter(["hi", None])
    with pytest.raises(TargetStartError, match="it returned None"):
        await talk(lambda message: next(answers), "one", "two")


async def test_a_growing_list_of_messages_gives_the_new_ones_in_each_turn(talk: Talk) -> None:
    class Agent:
        def __init__(self) -> None:
            self.messages: list[dict[str, Any]] = []

        def __call__(self, message: str) -> list[dict[str, Any]]:
            self.messages.append({"role": "user", "content": message})
            if message == "book":
                call = {"id": "1", "function": {"name": "book", "arguments": "{}"}}
                self.messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
                self.messages.append({"role": "tool", "tool_call_id": "1", "content": "done"})
            self.messages.append({"role": "assistant", "content": f"re: {message}"})
            return self.messages

    replies = await talk(Agent, "book", "thanks")
    assert replies == [Reply("re: book", (ToolCall("book", {}, "done"),)), Reply("re: thanks", ())]


async def test_a_stream_of_something_else_is_named(talk: Talk) -> None:
    def agent(message: str) -> Iterator[Any]:
        yield "x"
        yield {"delta": "y"}

    with pytest.raises(TargetStartError, match="it yielded a mapping with the keys 'delta': yield texts"):
        await talk(agent)


@pytest.mark.parametrize(
    "answer", [Reply("hi", ()), [{"role": "assistant", "content": "hi"}], {"text": "hi"}]
)
async def test_a_generator_may_yield_one_whole_answer(talk: Talk, answer: object) -> None:
    def agent(message: str) -> Iterator[Any]:
        yield answer

    async def later(message: str) -> Any:
        return agent(message)

    assert (await talk(agent))[0].text == (await talk(later))[0].text == "hi"


# Errors


@pytest.mark.parametrize("make", [raising, raising_async])
@pytest.mark.parametrize(
    "error",
    [
        KeyError("gizmo"),
        StopIteration(),
        SystemExit(3),
        asyncio.CancelledError(),
        pytest.fail.Exception("no"),
        type("Odd", (BaseException,), {})("odd"),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_whatever_the_agent_raises_is_a_crash(talk: Talk, make: Any, error: BaseException) -> None:
    if sys.version_info < (3, 11) and make is raising_async and isinstance(error, asyncio.CancelledError):
        pytest.skip("before Python 3.11 a task can't tell who cancelled it")
    with pytest.raises(TargetCrashed):
        await talk(make(error))


async def test_a_keyboard_interrupt_in_a_thread_is_a_crash(talk: Talk) -> None:
    with pytest.raises(TargetCrashed, match="KeyboardInterrupt"):
        await talk(raising(KeyboardInterrupt()))


async def test_a_crash_shows_the_users_own_lines(talk: Talk) -> None:
    def agent(message: str) -> str:
        return {"a": "b"}[message]

    with pytest.raises(TargetCrashed, match="the target raised KeyError: 'hello'") as caught:
        await talk(agent)
    lines = caught.value.trace.splitlines()
    assert "test_python.py" in lines[0]
    assert lines[1:] == ['    return {"a": "b"}[message]', "KeyError: 'hello'"]


@pytest.mark.parametrize("make", [raising, raising_async])
async def test_a_lost_connection_is_not_the_agents_fault(talk: Talk, make: Any) -> None:
    with pytest.raises(TargetUnavailable, match="ConnectionResetError: gone"):
        await talk(make(ConnectionResetError("gone")))


async def test_an_agent_may_say_itself_that_something_is_away(talk: Talk) -> None:
    with pytest.raises(TargetUnavailable, match=r"^the stock service is down$"):
        await talk(raising(TargetUnavailable("the stock service is down")))


async def test_a_subclass_of_our_error_is_taken_for_what_it_is(talk: Talk) -> None:
    class Down(TargetUnavailable):
        def __init__(self, code: int, reason: str) -> None:
            super().__init__(f"{code} {reason}")

    with pytest.raises(TargetUnavailable, match="7 down"):
        await talk(raising(Down(7, "down")))


async def test_an_agent_that_cannot_be_made_is_an_error_of_the_start(talk: Talk) -> None:
    class Agent:
        def __init__(self) -> None:
            raise RuntimeError("no model file")

        def send(self, message: str) -> str:
            return message

    with pytest.raises(TargetStartError, match="could not be started: RuntimeError: no model file") as caught:
        await talk(Agent)
    assert 'raise RuntimeError("no model file")' in caught.value.trace


async def test_an_answer_with_a_broken_property_is_a_crash(talk: Talk) -> None:
    class Answer:
        @property
        def text(self) -> str:
            raise RuntimeError("not ready")

    with pytest.raises(TargetCrashed, match="not ready"):
        await talk(lambda message: Answer())


# The end


@pytest.mark.parametrize("name", ["close", "aclose"])
async def test_an_agent_is_closed_at_the_end(talk: Talk, name: str) -> None:
    closed: list[object] = []

    class Agent:
        def send(self, message: str) -> str:
            return str(len(closed))

    setattr(Agent, name, lambda self: closed.append(self))
    assert (await talk(Agent))[0].text == "0"
    assert len(closed) == 1


async def test_an_async_close_is_awaited(talk: Talk) -> None:
    closed: list[object] = []

    class Agent:
        async def send(self, message: str) -> str:
            return message

        async def aclose(self) -> None:
            await asyncio.sleep(0)
            closed.append(self)

    await talk(Agent)
    assert len(closed) == 1


async def test_a_context_manager_is_entered_and_left(talk: Talk) -> None:
    events: list[str] = []

    @contextlib.contextmanager
    def make() -> Iterator[Callable[[str], str]]:
        events.append("enter")
        yield lambda message: events.append(message) or message  # type: ignore[func-returns-value]
        events.append("leave")

    await talk(make, "hello")
    assert events == ["enter", "hello", "leave"]


async def test_an_async_context_manager_is_entered_and_left(talk: Talk) -> None:
    events: list[str] = []

    @contextlib.asynccontextmanager
    async def make() -> AsyncIterator[Callable[[str], str]]:
        events.append("enter")
        yield str.upper
        events.append("leave")

    assert (await talk(make))[0].text == "HELLO"
    assert events == ["enter", "leave"]


async def test_a_context_manager_that_fails_to_open_is_not_left(talk: Talk) -> None:
    events: list[str] = []

    class Agent:
        def __enter__(self) -> None:
            raise RuntimeError("locked")

        def __exit__(self, *exception: object) -> None:
            events.append("leave")

        def send(self, message: str) -> str:
            return message

    with pytest.raises(TargetStartError, match="RuntimeError: locked"):
        await talk(Agent)
    assert events == []


async def test_an_agent_that_cannot_be_closed_is_logged(talk: Talk, caplog: pytest.LogCaptureFixture) -> None:
    class Agent:
        def send(self, message: str) -> str:
            return message

        def close(self) -> None:
            raise RuntimeError("stuck")

    with caplog.at_level(logging.WARNING):
        assert (await talk(Agent))[0].text == "hello"
    assert "could not be closed" in caplog.text
    assert "RuntimeError: stuck" in caplog.text


async def test_sys_exit_in_an_async_method_does_not_end_the_run(talk: Talk) -> None:
    class Agent:
        async def send(self, message: str) -> str:
            sys.exit("bye")

    with pytest.raises(TargetError, match="SystemExit: bye"):
        await talk(Agent)
