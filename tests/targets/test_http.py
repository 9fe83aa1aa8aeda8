from __future__ import annotations

import gzip
import json
import socket
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

import pytest
from pydantic import SecretStr, ValidationError

from pytest_convoprobe.errors import SettingsError, TargetUnavailable
from pytest_convoprobe.settings.models import HttpTarget
from pytest_convoprobe.start_time import read_time
from pytest_convoprobe.targets.http import HttpAgent
from pytest_convoprobe.targets.port import ConversationContext
from pytest_convoprobe.transcript import Reply, ToolCall, Usage
from tests.support.agent_server import AgentServer, Answer, Request

KEY = "key-1234567890abcdef"
KEYS = {"Authorization": SecretStr(KEY)}


@pytest.fixture
def talk(context: Callable[..., ConversationContext]) -> Callable[..., Any]:
    """Talks with a server that answers with `answer`; gives the replies and the requests it got."""

    async def talk(
        answer: Any, *messages: str, path: str = "/chat", **settings: Any
    ) -> tuple[list[Reply], list[Request]]:
        answering = answer if callable(answer) else lambda request: answer
        with AgentServer(answering) as server:
            target = HttpAgent(HttpTarget(url=f"{server.url}{path}", **settings))
            conversation = await target.start(context())
            try:
                replies = [await conversation.send(message) for message in messages or ("hello",)]
            finally:
                await conversation.aclose()
                await target.aclose()
            return replies, server.requests

    return talk


Talk = Callable[..., Any]


async def unavailable(talk: Talk, answer: Any, **settings: Any) -> str:
    with pytest.raises(TargetUnavailable) as caught:
        await talk(answer, **settings)
    return str(caught.value)


# The request


async def test_by_default_the_message_is_posted_as_json(talk: Talk) -> None:
    _, (request,) = await talk({"text": "hi"}, 'say "x"')
    assert (request.method, request.path) == ("POST", "/chat")
    assert request.headers["content-type"] == "application/json"
    assert request.json["message"] == 'say "x"'
    assert request.json["conversation_id"].startswith("c")


async def test_leaves_of_a_mapping_are_templates(talk: Talk) -> None:
    body = {"q": "<{{ message }}>", "n": 3, "deep": [{"id": "{{ conversation_id }}"}], "flag": True}
    _, (request,) = await talk({"text": "hi"}, body=body)
    sent = request.json
    assert (sent["q"], sent["n"], sent["flag"]) == ("<hello>", 3, True)
    assert sent["deep"][0]["id"].startswith("c")


async def test_templates_know_when_the_conversation_began(talk: Talk) -> None:
    _, (request,) = await talk({"text": "hi"}, body={"day": "{{ today }}", "at": "{{ now }}"})
    assert read_time(request.json["at"]).date().isoformat() == request.json["day"]


async def test_a_leaf_that_is_one_expression_keeps_its_type(talk: Talk) -> None:
    _, requests = await talk({"text": "hi"}, "one", "two", body={"messages": "{{ messages }}"})
    assert requests[1].json == {
        "messages": [
            {"role": "user", "content": "one"},
            {"role": "assistant", "content": "hi"},
            {"role": "user", "content": "two"},
        ]
    }


@pytest.mark.parametrize("message", ["123", "{{ 7 * 7 }}", "[1]", "true", '"; {% raw %}'])
async def test_a_message_is_never_code_nor_a_number(talk: Talk, message: str) -> None:
    _, (request,) = await talk({"text": "hi"}, message, body={"m": "{{ message }}"})
    assert request.json == {"m": message}


@pytest.mark.parametrize(
    "source", ["{# note #}{{ messages }}", "{{ messages }}{# note #}", "{{- messages -}} {# a #}{# b #}"]
)
async def test_a_comment_beside_an_expression_changes_nothing(talk: Talk, source: str) -> None:
    _, (request,) = await talk({"text": "hi"}, "one", body={"m": source})
    assert request.json == {"m": [{"role": "user", "content": "one"}]}


@pytest.mark.parametrize("braces", ["{{ 7*7 }}", "{% for x in messages %}", "{# gone #}", "}}{{ messages }}"])
async def test_braces_that_somebody_says_are_no_template(talk: Talk, braces: str) -> None:
    def parrot(request: Request) -> Any:
        return {"text": braces}

    body = {"m": "{{ message }}", "all": "{{ history }}", "text": "{{ message }}: {{ history | length }}"}
    path, headers = "/{{ message | urlencode }}", {"X-Said": SecretStr("{{ message | urlencode }}")}
    _, (_, second) = await talk(parrot, braces, braces, path=path, headers=headers, body=body)
    assert second.json == {
        "m": braces,
        "all": [{"role": "user", "content": braces}, {"role": "assistant", "content": braces}],
        "text": f"{braces}: 2",
    }
    assert unquote(second.path) == f"/{braces}"
    assert unquote(second.headers["x-said"]) == braces


async def test_a_text_is_a_template_of_the_whole_body(talk: Talk) -> None:
    body = '{"q": {{ message | tojson }}, "earlier": {{ history | length }}}'
    _, requests = await talk({"text": "hi"}, 'a "b"\n', "c", body=body)
    assert [request.json for request in requests] == [
        {"q": 'a "b"\n', "earlier": 0},
        {"q": "c", "earlier": 2},
    ]
    assert requests[0].headers["content-type"] == "application/json"


async def test_a_text_that_is_no_json_is_sent_as_text(talk: Talk) -> None:
    _, (request,) = await talk({"text": "hi"}, "grüß", body="{{ message }}")
    assert request.body.decode() == "grüß"
    assert request.headers["content-type"] == "text/plain; charset=utf-8"


async def test_a_content_type_of_ones_own_stays(talk: Talk) -> None:
    headers = {"Content-Type": SecretStr("application/x-www-form-urlencoded")}
    _, (request,) = await talk({"text": "hi"}, "a&b", body="q={{ message | urlencode }}", headers=headers)
    assert request.headers["content-type"] == "application/x-www-form-urlencoded"
    assert request.body == b"q=a%26b"


async def test_url_method_and_headers(talk: Talk) -> None:
    headers = {"Authorization": SecretStr(f"Bearer {KEY}"), "X-Talk": SecretStr("talk-{{ conversation_id }}")}
    _, (request,) = await talk(
        {"text": "hi"}, "a b&c", path="/ask?q={{ message | urlencode }}", method="get", headers=headers
    )
    assert (request.method, request.path, request.body) == ("GET", "/ask?q=a%20b%26c", b"")
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.headers["x-talk"].startswith("talk-c")


async def test_cookies_stay_within_their_conversation(context: Callable[..., ConversationContext]) -> None:
    def answer(request: Request) -> Answer:
        cookies = (("set-cookie", f"talk={request.json['conversation_id']}"),)
        return Answer(json.dumps({"text": request.headers.get("cookie", "none")}), headers=cookies)

    with AgentServer(answer) as server:
        target = HttpAgent(HttpTarget(url=server.url))
        contexts = [context(), context()]
        first, second = [await target.start(made) for made in contexts]
        said = [(await talk.send("x")).text for talk in (first, second, first, second)]
        await target.aclose()
    assert said == ["none", "none", f"talk={contexts[0].id}", f"talk={contexts[1].id}"]


# The answer


async def test_the_answer_is_picked_by_jmespath(talk: Talk) -> None:
    answer = {
        "choices": [
            {
                "message": {
                    "content": "hi",
                    "tool_calls": [{"function": {"name": "f", "arguments": '{"a": 1}'}}],
                }
            }
        ],
        "usage": {"prompt_tokens": 3, "completion_tokens": 4},
    }
    replies, _ = await talk(
        answer,
        text="choices[0].message.content",
        tool_calls="choices[0].message.tool_calls",
        usage="usage",
    )
    assert replies == [Reply("hi", (ToolCall("f", {"a": 1}),), Usage(3, 4))]


async def test_without_a_path_tool_calls_are_not_told(talk: Talk) -> None:
    replies, _ = await talk({"text": "hi", "tool_calls": [{"name": "f"}]})
    assert replies == [Reply("hi", None, None)]


@pytest.mark.parametrize(
    "answer",
    [
        {"text": "hi"},
        {"text": "hi", "calls": None},
        {"text": "hi", "answer": {"tools": [{"name": "delete"}]}},
    ],
)
async def test_a_path_that_finds_nothing_reports_nothing(talk: Talk, answer: Any) -> None:
    replies, _ = await talk(answer, tool_calls="calls", usage="usage")
    assert (replies[0].tool_calls, replies[0].usage) == (None, None)


async def test_an_empty_list_says_that_no_tool_was_called(talk: Talk) -> None:
    replies, _ = await talk({"text": "hi", "calls": []}, tool_calls="calls")
    assert replies[0].tool_calls == ()


async def test_a_service_may_leave_the_tool_calls_out_if_the_settings_say_so(talk: Talk) -> None:
    replies, _ = await talk({"text": "hi"}, tool_calls="calls", tool_calls_optional=True)
    assert replies[0].tool_calls == ()


@pytest.mark.parametrize(
    ("path", "calls"),
    [
        ("messages[].toolz[]", None),
        ("messages[].tools[]", ("f",)),
        ("messagez[].tools[]", None),
        ("messages[?role == 'tool'].tools[]", ("f",)),
        ("messages[?rolle == 'tool'].tools[]", None),
        ("messages[?role == 'nobody'].tools[]", ()),
        ("messages[-1].empty[].x", ()),
        ("messages[*].toolz | []", None),
        ("messages[].toolz[] || `[]`", ()),
        ("messages[].toolz[] || answer.toolz[]", None),
    ],
)
async def test_a_projection_over_what_is_not_there_reports_nothing(
    talk: Talk, path: str, calls: tuple[str, ...] | None
) -> None:
    answer = {"text": "hi", "messages": [{"role": "tool", "tools": [{"name": "f"}], "empty": []}]}
    replies, _ = await talk(answer, tool_calls=path)
    found = replies[0].tool_calls
    assert (None if found is None else tuple(call.name for call in found)) == calls


async def test_a_text_of_a_projection_without_a_match_is_an_error_and_not_silence(talk: Talk) -> None:
    error = await unavailable(talk, {"messages": [{"content": "hi"}]}, text="messages[].kontent")
    assert "`text: messages[].kontent` finds nothing in the answer" in error
    assert "`messages[0].content`" in error


async def test_parts_of_a_tool_call_that_are_not_there_are_not_reported(talk: Talk) -> None:
    answer = {"text": "hi", "calls": [{"name": "f", "argz": {"a": 1}}, {"name": "g", "arguments": {}}]}
    replies, _ = await talk(answer, tool_calls="calls")
    first, second = replies[0].tool_calls
    assert (first.unreported, second.unreported) == (("arguments", "result"), ("result",))


async def test_texts_of_a_list_are_joined(talk: Talk) -> None:
    replies, _ = await talk({"content": [{"text": "a"}, {"text": "b"}]}, text="content[].text")
    assert replies[0].text == "ab"


async def test_plain_text_is_an_answer_unless_a_path_is_set(talk: Talk) -> None:
    replies, _ = await talk("just text")
    assert replies[0].text == "just text"
    assert "the answer is not JSON (text/plain)" in await unavailable(talk, "just text", text="text")


async def test_an_empty_text_is_an_answer(talk: Talk) -> None:
    replies, _ = await talk({"text": ""})
    assert replies[0].text == ""


async def test_an_answer_in_latin1_is_read(talk: Talk) -> None:
    replies, _ = await talk(Answer("grüß".encode("latin-1"), content_type="text/plain; charset=latin-1"))
    assert replies[0].text == "grüß"


# What goes wrong


async def test_an_error_shows_status_and_the_first_of_the_body(talk: Talk) -> None:
    message = await unavailable(talk, Answer("out of order " * 100, status=503, content_type="text/plain"))
    first, second = message.splitlines()
    assert first.startswith("POST http://127.0.0.1:")
    assert first.endswith("/chat: status 503: Service Unavailable")
    assert second.startswith("    out of order out of order")
    assert 300 < len(second) < 400


@pytest.mark.parametrize("status", [400, 401, 404, 429, 500, 599])
async def test_every_status_but_2xx_is_an_error(talk: Talk, status: int) -> None:
    assert f"status {status}: " in await unavailable(talk, Answer('{"text": "hi"}', status=status))


async def test_a_redirect_is_not_followed_but_shown(talk: Talk) -> None:
    answer = Answer(status=307, headers=(("location", "https://elsewhere.example/chat"),))
    message = await unavailable(talk, answer)
    assert (
        "redirects are not followed: if https://elsewhere.example/chat is right, put it in `url`" in message
    )


async def test_what_may_be_secret_in_a_redirect_is_not_shown(talk: Talk) -> None:
    location = "//u:CANARY1@else.example:8443/a?c=CANARY2#CANARY3"
    message = await unavailable(talk, Answer(status=302, headers=(("location", location),)))
    assert "else.example:8443/a is right" in message
    assert "CANARY" not in message


async def test_secrets_that_the_service_echoes_are_masked(talk: Talk) -> None:
    headers = {"Authorization": SecretStr(f"Bearer {KEY}"), "X-Thing": SecretStr("quiet-word-77")}
    message = await unavailable(
        talk, lambda request: Answer(f"denied: {KEY}, {request.headers}", status=401), headers=headers
    )
    assert KEY not in message
    assert "quiet-word-77" not in message
    assert "denied: " in message


async def test_secrets_in_the_url_are_not_shown(talk: Talk) -> None:
    message = await unavailable(talk, Answer(status=500), path="/chat?code=hidden-word-42")
    assert "hidden-word-42" not in message


async def test_control_characters_are_made_visible(talk: Talk) -> None:
    assert "\\x1b[2J" in await unavailable(talk, Answer("\x1b[2J", status=500))


async def test_html_with_200_is_an_error(talk: Talk) -> None:
    message = await unavailable(talk, Answer("<html>login</html>", content_type="text/html"))
    assert "the answer is not JSON (text/html)" in message
    assert "    <html>login</html>" in message


@pytest.mark.parametrize(
    ("answer", "settings", "words"),
    [
        ({"reply": "hi"}, {}, "`text: text` finds nothing in the answer"),
        ({"text": None}, {}, "`text: text` finds nothing in the answer"),
        ({"text": {"a": 1}}, {}, "`text: text` finds an object in the answer, not a text"),
        ({"text": 3}, {}, "`text: text` finds a number"),
        ({"text": "", "calls": "f"}, {"tool_calls": "calls"}, "`tool_calls` finds a text"),
        ({"text": "", "calls": [{}]}, {"tool_calls": "calls"}, "a tool call has no name"),
        ({"text": "", "usage": 7}, {"usage": "usage"}, "`usage` finds a number"),
        ({"text": 3}, {"text": "length(text)"}, "a JMESPath doesn't fit the answer"),
    ],
)
async def test_an_unreadable_answer_is_an_error(talk: Talk, answer: Any, settings: Any, words: str) -> None:
    assert words in await unavailable(talk, answer, **settings)


async def test_an_empty_body_is_said_to_be_empty(talk: Talk) -> None:
    assert "(the body is empty)" in await unavailable(talk, Answer())


async def test_json_nested_too_deeply_is_an_error(talk: Talk) -> None:
    assert "status 200: " in await unavailable(talk, Answer("[" * 100_000))


async def test_a_huge_answer_is_given_up(talk: Talk) -> None:
    bomb = Answer(gzip.compress(b"x" * 40_000_000), headers=(("content-encoding", "gzip"),))
    message = await unavailable(talk, bomb)
    assert (
        ": the answer is larger than 32.0 MB, the most that is read with `run.max_text: 1000000`" in message
    )


async def test_a_long_reply_is_cut_and_says_so(talk: Talk) -> None:
    (reply,), _ = await talk({"text": "a" * 3_000_000 + "the end"})
    assert len(reply.text) <= 1_000_000
    assert reply.text.endswith("the end")
    assert reply.cut == ("text",)


async def test_a_number_that_python_refuses_to_read_is_kept_as_text(talk: Talk) -> None:
    call = f'{{"name": "t", "arguments": {{}}, "result": {"9" * 5000}}}'
    (reply,), _ = await talk(Answer(f'{{"text": "hi", "tools": [{call}]}}'), tool_calls="tools")
    assert (reply.tool_calls or ())[0].result == "9" * 5000


async def test_a_broken_encoding_is_an_error(talk: Talk) -> None:
    message = await unavailable(talk, Answer("no gzip", headers=(("content-encoding", "gzip"),)))
    assert "the request failed: DecodingError" in message


async def test_an_answer_that_does_not_come_is_an_error(talk: Talk) -> None:
    assert "no answer within 0.2 s" in await unavailable(talk, Answer(hang=True), timeout=0.2)


async def test_a_connection_that_is_closed_is_an_error(talk: Talk) -> None:
    assert "the request failed: RemoteProtocolError" in await unavailable(talk, Answer(drop=True))


async def test_a_server_that_is_not_there_is_an_error(context: Callable[..., ConversationContext]) -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        target = HttpAgent(HttpTarget(url=f"http://127.0.0.1:{bound.getsockname()[1]}/"))
        conversation = await target.start(context())
        with pytest.raises(
            TargetUnavailable, match=r"no connection; is the service running\? \(ConnectError"
        ):
            await conversation.send("hello")
    await target.aclose()


async def test_a_suite_that_forbids_sockets_is_told_what_to_allow(
    context: Callable[..., ConversationContext], monkeypatch: pytest.MonkeyPatch
) -> None:
    def blocked(*_: object, **__: object) -> None:
        raise RuntimeError("A test tried to use socket.getaddrinfo.")

    monkeypatch.setattr(socket, "getaddrinfo", blocked)
    target = HttpAgent(HttpTarget(url="http://localhost:1/"))
    conversation = await target.start(context())
    with pytest.raises(TargetUnavailable, match="pytest-socket's `--allow-hosts`"):
        await conversation.send("hello")
    await target.aclose()


# Settings that can't work


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"url": "localhost:8000"}, "target.url: this is not a URL"),
        ({"url": "ftp://host/x"}, "target.url: this is not a URL"),
        ({"url": "http://[x"}, "target.url: this is not a URL"),
        ({"url": "http://h/{{ message }}"}, "target.url: a message can't stand in a URL as it is"),
        ({"url": "http://h/{{ mesage }}"}, "target.url: the template uses `mesage`;"),
        ({"body": {"a": ["{{ message"]}}, "target.body.a[0]: the template can't be read"),
        ({"body": "{% if %}"}, "target.body: the template can't be read"),
        ({"body": {"q": "{{ conversation }}"}}, "did you mean `conversation_id`?"),
        ({"body": '{"q": "{{ message }}"}'}, "write `{{ message | tojson }}`, without quotes"),
        ({"body": "{{ message.__class__.__mro__ }}"}, "target.body: this can't be filled in: SecurityError"),
        ({"body": {"q": "{{ message.nothing }}"}}, "target.body: this can't be filled in: UndefinedError"),
        ({"body": {"q": object()}}, "target.body: this can't be filled in: TypeError"),
        ({"headers": {"X-Q": SecretStr("{{ message }}")}}, "target.headers.X-Q: a line break in a message"),
        ({"headers": {"X Q": SecretStr("v")}}, "`X Q` can't be the name of a header"),
        ({"text": "a["}, "target.text: `a[` is not a JMESPath expression"),
        ({"tool_calls": "a..b"}, "target.tool_calls: "),
    ],
)
def test_settings_that_cannot_work(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(SettingsError) as caught:
        HttpAgent(HttpTarget(**{"url": "http://host/chat", **settings}))
    assert words in str(caught.value)


def test_the_name_has_neither_password_nor_query() -> None:
    name = HttpAgent(HttpTarget(url="http://me:secret@host:8000/chat?key=secret", method="put")).name
    assert name == "PUT http://host:8000/chat"


@pytest.mark.parametrize(
    ("state", "path", "ended"),
    [
        (True, "closed", True),
        (False, "closed", False),
        ("closed", "closed == 'closed'", True),
        (None, "closed", False),
        (True, "missing", False),
    ],
)
async def test_the_service_may_end_the_conversation(talk: Talk, state: Any, path: str, ended: bool) -> None:
    replies, _ = await talk({"text": "Goodbye", "closed": state}, ended=path)
    assert replies[0].ended is ended


async def test_an_end_that_is_neither_true_nor_false_is_an_error(talk: Talk) -> None:
    words = await unavailable(talk, {"text": "hi", "closed": "false"}, ended="closed")
    assert "`ended` finds a text in the answer, not true or false" in words


# The version


async def version(answer: Any, source: Any, url: str = "", **settings: Any) -> tuple[str, list[Request]]:
    answering = answer if callable(answer) else lambda request: answer
    with AgentServer(answering) as server:
        where = {**source, "url": f"{server.url}{url}"} if url else source
        target = HttpAgent(HttpTarget(url=f"{server.url}/chat", version=where, **settings))
        try:
            return await target.version(), server.requests
        finally:
            await target.aclose()


async def test_the_version_is_in_the_answer_to_a_first_message() -> None:
    found, (request,) = await version({"text": "hi", "meta": {"v": 3}}, "meta.v")
    assert found == "3"
    assert (request.method, request.path, request.json["message"]) == ("POST", "/chat", "Hello")


async def test_the_version_is_in_a_header() -> None:
    answer = Answer('{"text": "hi"}', headers=(("X-Version", "1.2"),))
    assert (await version(answer, {"header": "x-version"}))[0] == "1.2"


async def test_the_version_is_asked_at_an_address_of_its_own() -> None:
    found, (request,) = await version({"v": "1.2"}, {"path": "v"}, "/version", headers=KEYS)
    assert found == "1.2"
    assert (request.method, request.path, request.headers["authorization"]) == ("GET", "/version", KEY)


async def test_the_text_of_that_answer_may_be_the_version() -> None:
    assert (await version(Answer("abc123\n"), {}, "/version"))[0] == "abc123"


async def test_another_host_is_asked_without_our_headers() -> None:
    with AgentServer(lambda request: Answer("7")) as other:
        target = HttpAgent(HttpTarget(url="http://127.0.0.1:9/", headers=KEYS, version={"url": other.url}))
        assert await target.version() == "7"
        await target.aclose()
        assert "authorization" not in other.requests[0].headers


@pytest.mark.parametrize(
    ("answer", "source", "words"),
    [
        ({"text": "hi"}, "meta.v", "`version` finds nothing in the answer (meta.v)"),
        ({"meta": {"v": True}}, "meta.v", "`version` finds a boolean in the answer"),
        ({"meta": {"v": {}}}, "meta.v", "`version` finds an object in the answer"),
        ({"text": "hi"}, {"header": "X-Version"}, "`version` finds nothing in the answer (header X-Version)"),
        (Answer("no", status=500), "v", "Internal Server Error"),
    ],
)
async def test_a_version_that_is_not_there_is_an_error(answer: Any, source: Any, words: str) -> None:
    with pytest.raises(TargetUnavailable) as caught:
        await version(answer, source)
    assert words in str(caught.value)


@pytest.mark.parametrize("source", [{}, {"path": "a", "header": "b"}, {"path": ""}, "", 3])
def test_a_version_has_one_place(source: Any) -> None:
    with pytest.raises(ValidationError):
        HttpTarget(url="http://h/", version=source)
