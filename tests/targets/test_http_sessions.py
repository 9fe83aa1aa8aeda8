"""Services that keep a session: opened by a request, continued by what answers say, ended by a request."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import SecretStr

from pytest_convoprobe.errors import Blame, ScenarioError, SettingsError, TargetStartError, TargetUnavailable
from pytest_convoprobe.settings.http_settings import HttpTarget
from pytest_convoprobe.targets.http import HttpAgent
from pytest_convoprobe.targets.port import ConversationContext, ToolFaults
from pytest_convoprobe.transcript import Reply, ToolCall, Usage
from tests.support.agent_server import AgentServer, Answer, Request, sse, streamed

START = {"url": "/threads", "body": {"user": "{{ metadata.user }}"}, "keep": {"thread": "data.id"}}


class Service:
    """Talks with a service in one conversation, and has its requests."""

    def __init__(self, context: ConversationContext) -> None:
        self.context = context
        self.requests: list[Request] = []

    async def __call__(
        self, answer: Callable[[Request], Any], *messages: str, path: str = "/chat", **settings: Any
    ) -> list[Reply]:
        with AgentServer(answer) as server:
            target = HttpAgent(HttpTarget(url=f"{server.url}{path}", **settings))
            conversation = await target.start(self.context)
            try:
                return [await conversation.send(message) for message in messages]
            finally:
                await conversation.aclose()
                await target.aclose()
                self.requests = server.requests


@pytest.fixture
def service(context: Callable[..., ConversationContext]) -> Service:
    return Service(ConversationContext(**{**vars(context()), "metadata": {"user": "u-7"}}))


def threads(request: Request) -> Any:
    if request.path == "/threads":
        return {"data": {"id": "t-1"}}
    return {"text": f"{request.method} {request.path}"}


async def test_a_session_is_opened_once_and_ended_once(service: Service) -> None:
    finish = {"url": "/threads/{{ session.thread }}", "method": "delete"}
    headers = {"X-Key": SecretStr("secret-key-1"), "X-Thread": SecretStr("{{ session.thread }}")}
    path = "/threads/{{ session.thread }}/messages"
    replies = await service(
        threads, "a", "b", path=path, start=START, finish=finish, headers=headers, body={"m": "{{ message }}"}
    )
    assert [reply.text for reply in replies] == ["POST /threads/t-1/messages"] * 2
    first, *middle, last = service.requests
    assert (first.method, first.path, first.json) == ("POST", "/threads", {"user": "u-7"})
    assert len(middle) == 2
    assert (last.method, last.path, last.body) == ("DELETE", "/threads/t-1", b"")
    # The same service gets the same headers, as far as they are known.
    assert [request.headers["x-key"] for request in service.requests] == ["secret-key-1"] * 4
    assert [request.headers.get("x-thread") for request in service.requests] == [None, "t-1", "t-1", None]


async def test_the_time_that_opening_takes_is_no_part_of_the_turn(service: Service) -> None:
    first, second = await service(threads, "a", "b", start=START)
    assert first.startup > 0
    assert second.startup == 0


async def test_without_names_the_whole_answer_is_the_session(service: Service) -> None:
    def answer(request: Request) -> Any:
        return {"id": "s-9"} if request.path == "/new" else {"text": request.json["s"]}

    (reply,) = await service(answer, "a", start={"url": "/new"}, body={"s": "{{ session.id }}"})
    assert reply.text == "s-9"


async def test_what_answers_say_is_in_the_next_request(service: Service) -> None:
    def answer(request: Request) -> Any:
        number = request.json.get("n", 0) + 1
        return {"text": "hi", "meta": {"n": number, "open": number == 1 and "yes"}}

    body = {"n": "{{ session.n }}", "open": "{{ session.open }}", "list": ["{{ session.n }}"]}
    carry = {"n": "meta.n", "open": "meta.open"}
    await service(answer, "a", "b", "c", body=body, carry=carry)
    # What isn't known yet is left out, and what an answer takes back (`false`) is gone again.
    assert [request.json for request in service.requests] == [
        {"list": []},
        {"n": 1, "open": "yes", "list": [1]},
        {"n": 2, "list": [2]},
    ]


async def test_what_a_stream_says_is_carried_too(service: Service) -> None:
    events = sse({"id": "r-1"}, {"text": "a"}, {"id": "r-2"})
    body = {"previous": "{{ session.last }}"}
    await service(lambda _: streamed(events), "a", "b", stream="sse", body=body, carry={"last": "id"})
    assert [request.json for request in service.requests] == [{}, {"previous": "r-2"}]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Answer(b"no", status=503), "/threads: status 503: Service Unavailable"),
        ({"data": {}}, "`start.keep.thread: data.id` finds nothing in the answer"),
    ],
)
async def test_a_session_that_cannot_be_opened_is_an_error(service: Service, answer: Any, words: str) -> None:
    with pytest.raises(TargetUnavailable) as caught:
        await service(lambda _: answer, "a", start=START, finish={"url": "/end"})
    assert words in str(caught.value)


async def test_a_conversation_that_breaks_off_is_ended_too(service: Service) -> None:
    def answer(request: Request) -> Any:
        return threads(request) if request.path != "/chat" else Answer(b"", status=500)

    finish = {"url": "/threads/{{ session.thread }}/end", "body": {"turns": "{{ history | length }}"}}
    with pytest.raises(TargetUnavailable):
        await service(answer, "a", start=START, finish=finish)
    assert (service.requests[-1].path, service.requests[-1].json) == ("/threads/t-1/end", {"turns": 0})


async def test_an_end_that_fails_is_a_warning(service: Service, caplog: pytest.LogCaptureFixture) -> None:
    def answer(request: Request) -> Any:
        return Answer(b"", status=500) if request.path == "/end" else {"text": "hi"}

    with caplog.at_level(logging.WARNING):
        (reply,) = await service(answer, "a", finish={"url": "/end"})
    assert reply.text == "hi"
    assert "/end: status 500: Internal Server Error" in caplog.text


async def test_a_conversation_without_a_message_has_no_end(service: Service) -> None:
    await service(threads, start=START, finish={"url": "/end"})
    assert service.requests == []


async def test_the_version_is_asked_within_a_session() -> None:
    def answer(request: Request) -> Any:
        return {"data": {"id": "t-1"}} if request.path == "/threads" else {"text": "hi", "v": "7"}

    with AgentServer(answer) as server:
        settings = HttpTarget(
            url=f"{server.url}/{{{{ session.thread }}}}", version="v", start=START, finish={"url": "/end"}
        )
        target = HttpAgent(settings)
        assert await target.version() == "7"
        await target.aclose()
        assert [request.path for request in server.requests] == ["/threads", "/t-1", "/end"]


# Endpoints that return all that was said


async def test_only_new_tool_calls_of_a_whole_history_count(service: Service) -> None:
    calls = [{"name": "f", "arguments": {"n": number}} for number in range(3)]
    shown = iter([calls[:1], calls[:1], calls])
    replies = await service(
        lambda _: {"text": "hi", "calls": next(shown)}, "a", "b", "c",
        tool_calls="calls", history_in_answer=True,
    )  # fmt: skip
    assert [[call.arguments["n"] for call in reply.tool_calls or ()] for reply in replies] == [
        [0],
        [],
        [1, 2],
    ]


async def test_calls_with_ids_may_come_in_any_order(service: Service) -> None:
    one, two = {"name": "f", "id": "1", "arguments": {}}, {"name": "g", "id": "2", "arguments": {}}
    shown = iter([[one], [two, one]])
    _, second = await service(
        lambda _: {"text": "hi", "calls": next(shown)}, "a", "b", tool_calls="calls", history_in_answer=True
    )
    assert [call.name for call in second.tool_calls or ()] == ["g"]


async def test_services_may_number_the_calls_of_each_turn_from_one(service: Service) -> None:
    one, two = {"name": "f", "id": "1", "arguments": {}}, {"name": "pay", "id": "1", "arguments": {}}
    shown = iter([[one], [one, two], [one, two, two]])
    replies = await service(
        lambda _: {"text": "hi", "calls": next(shown)}, "a", "b", "c",
        tool_calls="calls", history_in_answer=True,
    )  # fmt: skip
    assert [[call.name for call in reply.tool_calls or ()] for reply in replies] == [["f"], ["pay"], ["pay"]]


async def test_a_history_that_does_not_go_on_is_an_error(service: Service) -> None:
    shown = iter([[{"name": "f"}], [{"name": "g"}]])
    with pytest.raises(TargetUnavailable, match="don't begin with those of the last"):
        await service(
            lambda _: {"text": "", "calls": next(shown)}, "a", "b", tool_calls="calls", history_in_answer=True
        )


CHAT_CALL = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"n": 1}'}}
LANGCHAIN_CALL = {"id": "c1", "name": "find", "args": {"n": 1}, "type": "tool_call"}
LISTS: dict[str, list[dict[str, Any]]] = {
    "chat": [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": None, "tool_calls": [CHAT_CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": "found"},
        {"role": "assistant", "content": "Yes.", "usage_metadata": {"input_tokens": 3, "output_tokens": 4}},
    ],
    "responses": [
        {"type": "function_call", "call_id": "c1", "name": "find", "arguments": '{"n": 1}'},
        {"type": "function_call_output", "call_id": "c1", "output": "found"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Yes."}]},
    ],
    "langchain": [
        {"type": "human", "content": "hi"},
        {"type": "ai", "content": "", "tool_calls": [LANGCHAIN_CALL]},
        {"type": "tool", "tool_call_id": "c1", "content": "found", "status": "success"},
        {"type": "ai", "content": "Yes.", "tool_calls": []},
    ],
}


@pytest.mark.parametrize("form", LISTS)
async def test_results_of_tools_are_found_by_the_id_of_their_call(service: Service, form: str) -> None:
    (reply,) = await service(
        lambda _: {"a": {"messages": LISTS[form]}}, "hi", text="a.messages", tool_calls="a.messages"
    )  # fmt: skip
    assert (reply.text, reply.tool_calls) == ("Yes.", (ToolCall("find", {"n": 1}, "found"),))


async def test_a_list_of_langchains_calls_is_not_a_list_of_messages(service: Service) -> None:
    (reply,) = await service(lambda _: {"text": "hi", "calls": [LANGCHAIN_CALL]}, "hi", tool_calls="calls")
    assert reply.tool_calls == (ToolCall("find", {"n": 1}),)


async def test_a_whole_thread_is_read_from_where_the_last_answer_ended(service: Service) -> None:
    later = [{"type": "human", "content": "and?"}, {"type": "ai", "content": "No.", "tool_calls": []}]
    shown = iter([LISTS["langchain"], [*LISTS["langchain"], *later]])
    _, second = await service(
        lambda _: {"m": next(shown)}, "hi", "and?", text="m", tool_calls="m", history_in_answer=True
    )
    assert (second.text, second.tool_calls) == ("No.", ())


async def test_messages_may_have_the_tokens(service: Service) -> None:
    (reply,) = await service(lambda _: {"m": LISTS["chat"][3:]}, "hi", text="m", usage="m")
    assert reply.usage == Usage(3, 4)


# What can't work, and what is shown of it


async def test_an_error_shows_the_address_that_was_asked(service: Service) -> None:
    path = "/u/{{ metadata.user }}/{{ message }}?key=hidden-42&q={{ message | urlencode }}"
    with pytest.raises(TargetUnavailable) as caught:
        await service(lambda _: Answer(b"", status=404), "hello", path=path.replace("{{ message }}?", "x?"))
    first = str(caught.value).splitlines()[0]
    assert first.endswith("/u/u-7/x?key=****&q=hello: status 404: Not Found")


async def test_a_key_that_the_service_gives_out_is_not_shown(service: Service) -> None:
    def answer(request: Request) -> Any:
        if request.path == "/new":
            return {"token": "given-key-42"}
        return Answer(f"bad {request.headers['authorization']}, {request.headers['authorization'][7:]}", 401)

    headers = {"Authorization": SecretStr("Bearer {{ session.token }}")}
    with pytest.raises(TargetUnavailable) as caught:
        await service(answer, "a", start={"url": "/new"}, headers=headers)
    assert "bad " in str(caught.value)
    assert "given-key-42" not in str(caught.value)


async def test_faults_cannot_be_injected_into_a_service(service: Service) -> None:
    class NoFaults:
        async def around(self, tool: str, call: Any, *, call_id: str = "") -> Any: ...

        def around_sync(self, tool: str, call: Any, *, call_id: str = "") -> Any: ...

    faults: ToolFaults = NoFaults()
    service.context = ConversationContext(**{**vars(service.context), "faults": faults})
    with pytest.raises(TargetStartError, match="no faults can be injected into the tools of"):
        await service(threads, "a")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"body": {"c": "{{ metadata.customer }}"}}, "the scenario's `metadata` has no `customer`"),
        ({"body": {"c": "for {{ metadata.customer.id }}"}}, "the scenario's `metadata` has no `customer`"),
        ({"body": {"c": "{{ metadata.order.id }}"}}, "the scenario's `metadata.order` has no `id`"),
        ({"body": {"c": "{{ metadata.all[0].id }}"}}, r"the scenario's `metadata.all\[0\]` has no `id`"),
        ({"headers": {"X-C": SecretStr("{{ metadata.customer }}")}}, "`metadata` has no `customer`"),
        ({"start": {"url": "/{{ metadata.customer }}"}}, "`metadata` has no `customer`"),
    ],
)
async def test_what_a_scenario_lacks_is_named_and_blamed_on_it(
    service: Service, settings: dict[str, Any], said: str
) -> None:
    given = {"order": {"number": 7}, "all": [{"number": 8}], "place": "Berlin"}
    service.context = ConversationContext(**{**vars(service.context), "metadata": given})
    with pytest.raises(ScenarioError, match=said) as caught:
        await service(threads, "a", **settings)
    assert caught.value.blame is Blame.SCENARIO


async def test_metadata_comes_as_it_is(service: Service) -> None:
    given = {"order": {"number": 7}, "all": [{"number": 8}], "place": "Berlin"}
    service.context = ConversationContext(**{**vars(service.context), "metadata": given})
    body = {
        "all": "{{ metadata }}",
        "place": "{{ metadata.place }}",
        "none": "{{ metadata.x | default('-') }}",
    }
    await service(threads, "a", body=body)
    sent = service.requests[-1].json
    assert sent == {"all": given, "place": "Berlin", "none": "-"}


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (
            {"body": {"a": "{{ session.x }}"}},
            "target.body.a: the template uses `session`, but neither",
        ),
        (
            {"body": {"a": "{{ session.thred }}"}, "start": START},
            "target.body.a: `session` has no `thred`; `start.keep` or `carry` gives it `thread`",
        ),
        (
            {"carry": {"x": "x"}, "url": "http://h/{{ session.x }}"},
            "target.url: this can't be filled in",
        ),
        ({"start": {"url": "nowhere"}}, "target.start.url: this is not a URL"),
        ({"start": {"url": "/x", "body": "{{ mesage }}"}}, "target.start.body: the template uses `mesage`"),
        ({"start": {"url": "/x", "keep": {"a": "b["}}}, "target.start.keep.a: `b[` is not a JMESPath"),
        ({"finish": {"url": "/{{ session.x }}"}}, "target.finish.url: the template uses `session`"),
    ],
)
def test_sessions_that_cannot_work(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(SettingsError) as caught:
        HttpAgent(HttpTarget(**{"url": "http://host/chat", **settings}))
    assert words in str(caught.value)


async def test_secret_headers_are_not_sent_to_another_host(service: Service) -> None:
    with AgentServer(lambda _: {"id": "1"}) as other:
        start = {"url": f"{other.url}/new", "headers": {"X-Own": SecretStr("own-key-12")}}
        await service(threads, "a", start=start, headers={"X-Key": SecretStr("secret-key-1")})
        (request,) = other.requests
    assert "x-key" not in request.headers
    assert request.headers["x-own"] == "own-key-12"
