"""Which model calls of an agent's are the same call, and which are not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convoprobe.errors import SettingsError
from pytest_convoprobe.llm.agent_fingerprint import AgentFingerprints
from pytest_convoprobe.llm.fingerprint import Fingerprint, differences
from pytest_convoprobe.redaction import Redactor
from pytest_convoprobe.settings.volatile_parts import VolatileParts

CHAT, RESPONSES, MESSAGES = "v1/chat/completions", "v1/responses", "v1/messages"


def print_of(
    data: Any, path: str = CHAT, said: tuple[str, ...] = (), volatile: VolatileParts | None = None
) -> Fingerprint:
    body = data if isinstance(data, bytes) else json.dumps(data).encode()
    return AgentFingerprints(Redactor(environ={}), volatile).of("POST", path, body, said)


def chat(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"model": "gpt-x", "messages": list(messages), **more}


def user(content: Any = "Where?") -> dict[str, Any]:
    return {"role": "user", "content": content}


def system(content: str) -> dict[str, Any]:
    return {"role": "system", "content": content}


def called(identifier: str = "call_1", arguments: str = '{"id": 7}', **more: Any) -> dict[str, Any]:
    function = {"name": "look", "arguments": arguments}
    return {
        "role": "assistant",
        "tool_calls": [{"id": identifier, "type": "function", "function": function}],
        **more,
    }


def tool(content: str = "sent", identifier: str = "call_1") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": identifier, "content": content}


def blocks(*content: dict[str, Any]) -> dict[str, Any]:
    return {"model": "c", "messages": [{"role": "user", "content": list(content)}]}


def items(*given: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"model": "gpt-x", "input": list(given), **more}


SAME: list[tuple[str, Any, Any]] = [
    (CHAT, chat(user()), {"messages": [{"content": "Where?", "role": "user"}], "model": "gpt-x"}),
    (CHAT, chat(user()), chat(user(), user="u1", metadata={"trace": "a"}, store=True, service_tier="auto")),
    (CHAT, chat(user(), stream=True), chat(user(), stream=True, stream_options={"include_usage": True})),
    (CHAT, chat(user()), chat(user(), stream=False, tools=[], stop=None, tool_choice=None)),
    (CHAT, chat(user(), temperature=1), chat(user(), temperature=1.0)),
    (CHAT, chat(user()), chat(user([{"type": "text", "text": "Where?"}]))),
    (CHAT, chat(user(), called(content=None), tool()), chat(user(), called(content=""), tool())),
    (
        CHAT,
        chat(user(), called("call_a8Zk"), tool(identifier="call_a8Zk")),
        chat(user(), called("c2"), tool(identifier="c2")),
    ),
    (CHAT, chat(called(refusal=None, annotations=[], audio=None, function_call=None)), chat(called())),
    (CHAT, chat(called(arguments='{"id":7}')), chat(called(arguments='{ "id": 7 }'))),
    (
        CHAT,
        chat(system("Today is 2026-11-29, 05:59:20.")),
        chat(system("Today is 2027-01-02, 17:00:01.")),
    ),
    (
        CHAT,
        chat(system("Now: 2026-11-29T05:59:20.123456+00:00")),
        chat(system("Now: 2027-01-02T17:00:01.5Z")),
    ),
    (CHAT, chat(user("at 1767225600")), chat(user("at 1767225600123"))),
    (CHAT, chat(tool('{"at": 1767225600.25}')), chat(tool('{"at": 1867225600}'))),
    (
        CHAT,
        chat(user("thread 550e8400-e29b-41d4-a716-446655440000")),
        chat(user("thread 123e4567-e89b-12d3-a456-426614174000")),
    ),
    (
        # The model's words come from the recording, and quote an id of that run.
        CHAT,
        chat(
            system("thread 550e8400-e29b-41d4-a716-446655440000"),
            called(content="of thread 550e8400-e29b-41d4-a716-446655440000"),
        ),
        chat(
            system("thread 123e4567-e89b-12d3-a456-426614174000"),
            called(content="of thread 550e8400-e29b-41d4-a716-446655440000"),
        ),
    ),
    (CHAT, chat(tool("see call_AbC123xyz4567")), chat(tool("see call_ZZZ123xyz4567"))),
    (
        CHAT,
        chat({"role": "assistant", "tool_calls": [{"id": "a"}, {"id": "b"}]}, tool("1", "a"), tool("2", "b")),
        chat({"role": "assistant", "tool_calls": [{"id": "x"}, {"id": "y"}]}, tool("2", "y"), tool("1", "x")),
    ),
    (
        CHAT,
        chat(user(), tools=[{"function": {"name": "a"}}, {"function": {"name": "b"}}]),
        chat(user(), tools=[{"function": {"name": "b"}}, {"function": {"name": "a", "strict": None}}]),
    ),
    (
        CHAT,
        chat(user(), tools=[{"function": {"name": "a", "parameters": {"title": "A", "type": "object"}}}]),
        chat(user(), tools=[{"function": {"name": "a", "parameters": {"type": "object"}}}]),
    ),
    (RESPONSES, {"model": "m", "input": "Where?"}, {"model": "m", "input": [user()]}),
    (
        RESPONSES,
        items(user(), {"type": "message", "id": "msg_1", "status": "completed", **system("a")}),
        items({"type": "message", **user()}, system("a")),
    ),
    (
        RESPONSES,
        items({"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "a", "arguments": "{}"}),
        items(
            {"type": "function_call", "call_id": "c9", "name": "a", "arguments": "{ }", "status": "completed"}
        ),
    ),
    (
        MESSAGES,
        blocks({"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}),
        {"model": "c", "messages": [{"role": "user", "content": "a"}]},
    ),
    (
        MESSAGES,
        blocks({"type": "tool_result", "tool_use_id": "toolu_1", "content": "a", "is_error": False}),
        blocks({"type": "tool_result", "tool_use_id": "toolu_2", "content": [{"type": "text", "text": "a"}]}),
    ),
    ("v1/embeddings", {"model": "e", "input": "a"}, {"input": ["a"], "model": "e", "user": "u"}),
]

DIFFERENT: list[tuple[str, Any, Any]] = [
    (CHAT, chat(user("Where?")), chat(user("When?"))),
    (CHAT, chat(user()), {**chat(user()), "model": "gpt-y"}),
    (CHAT, chat(user()), chat(user(), temperature=0.5)),
    (CHAT, chat(user()), chat(user(), stream=True)),
    (CHAT, chat(user()), chat(user(), temperature=0)),
    (CHAT, chat(user()), chat(user(), parallel_tool_calls=False)),
    (CHAT, chat(user(), seed=0), chat(user(), seed=False)),
    (CHAT, chat(user()), chat(user(), max_tokens=5)),
    (CHAT, chat(user()), chat(user(), an_unknown_parameter=1)),
    (CHAT, chat(user()), chat(user(), user())),
    (CHAT, chat(user(), system("a")), chat(system("a"), user())),
    (CHAT, chat(user("a")), chat({"role": "assistant", "content": "a"})),
    (CHAT, chat(called(arguments='{"id": 7}')), chat(called(arguments='{"id": 8}'))),
    (CHAT, chat(called(arguments='{"id": null}')), chat(called(arguments="{}"))),
    (CHAT, chat(called(arguments='{"id": "7"}')), chat(called(arguments='{"id": 7}'))),
    (CHAT, chat(called(arguments='{"on": "2026-11-29"}')), chat(called(arguments='{"on": "2026-11-30"}'))),
    (CHAT, chat(user(), called(), tool("sent")), chat(user(), called(), tool("lost"))),
    (
        CHAT,
        chat(tool("1", "a"), tool("2", "b"), tool("3", "a")),
        chat(tool("1", "a"), tool("2", "b"), tool("3", "b")),
    ),
    (CHAT, chat(user("we open at 10:30")), chat(user("we open at 11:30"))),
    (CHAT, chat(user("order 12345678")), chat(user("order 12345679"))),
    (CHAT, chat(user("version 1.2.3")), chat(user("version 1.2.4"))),
    (
        # Of two orders, the other one is meant.
        CHAT,
        chat(
            tool("550e8400-e29b-41d4-a716-446655440000, 123e4567-e89b-12d3-a456-426614174000"),
            user("the order 550e8400-e29b-41d4-a716-446655440000"),
        ),
        chat(
            tool("550e8400-e29b-41d4-a716-446655440000, 123e4567-e89b-12d3-a456-426614174000"),
            user("the order 123e4567-e89b-12d3-a456-426614174000"),
        ),
    ),
    (
        CHAT,
        chat(user([{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}])),
        chat(user([{"type": "image_url", "image_url": {"url": "data:image/png;base64,BBBB"}}])),
    ),
    (
        CHAT,
        chat(user(), tools=[{"function": {"name": "a"}}]),
        chat(user(), tools=[{"function": {"name": "b"}}]),
    ),
    (
        CHAT,
        chat(
            user(),
            tools=[{"function": {"name": "a", "parameters": {"properties": {"id": {"type": "string"}}}}}],
        ),
        chat(
            user(),
            tools=[{"function": {"name": "a", "parameters": {"properties": {"no": {"type": "string"}}}}}],
        ),
    ),
    (
        CHAT,
        chat(user(), response_format={"type": "json_schema", "json_schema": {"name": "a"}}),
        chat(user(), response_format={"type": "json_object"}),
    ),
    (RESPONSES, items(user(), previous_response_id="resp_1"), items(user())),
    (RESPONSES, items(user(), prompt={"id": "pmpt_1"}), items(user(), prompt={"id": "pmpt_2"})),
    (RESPONSES, items(user(), instructions="a"), items(user(), instructions="b")),
    (RESPONSES, items(user(), reasoning={"effort": "low"}), items(user(), reasoning={"effort": "high"})),
    (
        MESSAGES,
        blocks({"type": "tool_result", "tool_use_id": "t", "content": "a", "is_error": True}),
        blocks({"type": "tool_result", "tool_use_id": "t", "content": "a"}),
    ),
    (
        MESSAGES,
        blocks({"type": "tool_use", "id": "t", "name": "a", "input": {"x": None}}),
        blocks({"type": "tool_use", "id": "t", "name": "a", "input": {}}),
    ),
    ("v1/embeddings", {"model": "e", "input": "a"}, {"model": "e", "input": "b"}),
    ("v1/embeddings", {"model": "e", "input": [[1], [2]]}, {"model": "e", "input": [[2], [1]]}),
    (
        "v1/embeddings",
        {"model": "e", "input": [str(number) for number in range(50)]},
        {"model": "e", "input": [str(number) for number in range(49)] + ["x"]},
    ),
    ("v1/moderations", {"id": "order-1"}, {"id": "order-2"}),
    ("v1/moderations", {"a": None}, {}),
    (CHAT, b"{ no", b"{ yes"),
]


@pytest.mark.parametrize(("path", "one", "other"), SAME)
def test_what_says_the_same_is_the_same_call(path: str, one: Any, other: Any) -> None:
    first, second = print_of(one, path), print_of(other, path)

    assert differences(first, second) == ()
    assert first.digest == second.digest


@pytest.mark.parametrize(("path", "one", "other"), DIFFERENT)
def test_what_asks_for_something_else_is_another_call(path: str, one: Any, other: Any) -> None:
    assert print_of(one, path).digest != print_of(other, path).digest
    assert differences(print_of(one, path), print_of(other, path))


@pytest.mark.parametrize(
    ("path", "other", "same"),
    [
        ("chat/completions", "v1/chat/completions", True),
        ("/v1/chat/completions", "v1/chat/completions/", True),
        ("openai/deployments/a/chat/completions", "chat/completions", False),
        ("v1/completions", "v1/chat/completions", False),
    ],
)
def test_the_path_counts_and_its_version_does_not(path: str, other: str, *, same: bool) -> None:
    assert (print_of(chat(user()), path).digest == print_of(chat(user()), other).digest) is same


def test_the_method_counts() -> None:
    prints = AgentFingerprints(Redactor(environ={}))

    assert prints.of("GET", "v1/models", b"") != prints.of("POST", "v1/models", b"")


def test_a_date_that_the_user_says_counts_and_a_clock_beside_it_does_not() -> None:
    def asked(clock: str, message: str) -> Fingerprint:
        return print_of(chat(user(f"It is {clock}. The user says: {message}")), said=(message,))

    on_monday = "A table for 2026-03-02 at 19:30:00"
    assert asked("2026-02-01", on_monday) == asked("2026-07-01", on_monday)
    assert asked("2026-02-01", on_monday) != asked("2026-02-01", "A table for 2026-03-03 at 19:30:00")


def test_an_order_that_the_user_names_counts() -> None:
    def asked(order: str) -> Fingerprint:
        return print_of(chat(user(f"Cancel {order}")), said=(f"Cancel {order}",))

    assert asked("550e8400-e29b-41d4-a716-446655440000") != asked("123e4567-e89b-12d3-a456-426614174000")


def test_a_form_with_a_file_has_a_random_boundary() -> None:
    def form(boundary: str, data: str) -> bytes:
        return f"--{boundary}\r\nContent-Disposition: form-data\r\n\r\n{data}\r\n--{boundary}--\r\n".encode()

    path = "v1/audio/transcriptions"
    assert print_of(form("abcdef123456", "x"), path) == print_of(form("fedcba654321", "x"), path)
    assert print_of(form("abcdef123456", "x"), path) != print_of(form("abcdef123456", "y"), path)


def test_an_answer_is_continued_whatever_its_id_is() -> None:
    def continued(first: str, identifier: str) -> str:
        prints = AgentFingerprints(Redactor(environ={}))
        begun = prints.of("POST", RESPONSES, json.dumps(items(user(first))).encode())
        prints.answered(identifier, begun)
        more = items(user("Yes"), previous_response_id=identifier)
        return prints.of("POST", RESPONSES, json.dumps(more).encode()).digest

    assert continued("Where?", "resp_1") == continued("Where?", "resp_2")
    assert continued("Where?", "resp_1") != continued("When?", "resp_1")


def test_an_answer_that_a_path_names_is_known_by_its_call() -> None:
    def polled(first: str, identifier: str) -> str:
        prints = AgentFingerprints(Redactor(environ={}))
        prints.answered(identifier, prints.of("POST", RESPONSES, json.dumps(items(user(first))).encode()))
        return prints.of("GET", f"v1/responses/{identifier}", b"").digest

    assert polled("Where?", "resp_1") == polled("Where?", "resp_2")
    assert polled("Where?", "resp_1") != polled("When?", "resp_1")


def test_secrets_are_masked_before_anything_is_compared() -> None:
    prints = AgentFingerprints(Redactor(["s3cr3t-of-mine"], environ={}))
    own, masked = (
        json.dumps(chat(user(f"key {key}"), top=key)).encode() for key in ("s3cr3t-of-mine", "****")
    )

    assert prints.of("POST", CHAT, own) == prints.of("POST", CHAT, masked)
    assert "s3cr3t" not in repr(prints.of("POST", CHAT, own))
    elsewhere = prints.of("POST", "v1/s3cr3t-of-mine/chat/completions", b'{"model": "s3cr3t-of-mine"}')
    assert "s3cr3t" not in repr(elsewhere)


def test_a_long_parameter_is_known_by_its_digest() -> None:
    found = print_of(chat(user(), logit_bias={str(number): 1 for number in range(500)})).parameters

    assert found["logit_bias"].startswith("digest ")


@pytest.mark.parametrize(
    ("fields", "one", "other"),
    [
        (["run_id"], {"run_id": "a"}, {"run_id": "b"}),
        (["extra.trace.id"], {"extra": {"trace": {"id": 1}}}, {"extra": {"trace": {"id": 2}}}),
        (["messages.*.name"], {}, {"messages": [{**user(), "name": "u7"}]}),
        (["*.trace"], {"a": {"trace": 1}}, {"a": {"trace": 2}}),
    ],
)
def test_named_fields_make_no_difference(
    fields: list[str], one: dict[str, Any], other: dict[str, Any]
) -> None:
    volatile = VolatileParts(fields=tuple(fields))
    first, second = {**chat(user()), **one}, {**chat(user()), **other}

    assert print_of(first, volatile=volatile) == print_of(second, volatile=volatile)
    assert print_of(first) != print_of(second)


def test_named_texts_make_no_difference_anywhere() -> None:
    volatile = VolatileParts(texts=(r"req-\d+",))

    def asked(number: int) -> dict[str, Any]:
        return chat(
            system(f"req-{number}"), called(arguments=f'{{"of": "req-{number}"}}'), tool(f"req-{number}")
        )

    assert print_of(asked(1), volatile=volatile) == print_of(asked(22), volatile=volatile)
    assert print_of(asked(1)) != print_of(asked(22))


def test_an_expression_without_an_end_is_an_error_of_the_settings() -> None:
    with pytest.raises(SettingsError, match=r"model_volatile\.texts.*without an end"):
        print_of(chat(user("a" * 60)), volatile=VolatileParts(texts=("(a|a)+$b",)))


@pytest.mark.parametrize("field", ["messages", "model", "", "a..b", " ", "a b", "*"])
def test_a_field_without_which_all_calls_are_equal_is_refused(field: str) -> None:
    with pytest.raises(ValueError, match=r"must be the names|what the agent asks for|at least 1"):
        VolatileParts(fields=(field,))


@pytest.mark.parametrize("expression", ["(", "", "a*", ".*"])
def test_an_expression_that_cannot_be_used_is_refused(expression: str) -> None:
    with pytest.raises(ValueError, match=r"regular expression|no text|at least 1"):
        VolatileParts(texts=(expression,))


@given(st.binary() | st.text().map(lambda text: json.dumps(chat(user(text))).encode("utf-8")))
def test_every_body_has_a_fingerprint(body: bytes) -> None:
    assert print_of(body) == print_of(body)


def test_the_digest_is_the_same_in_every_process() -> None:
    code = (
        "from tests.llm.test_agent_fingerprint import *\n"
        "print(*[print_of(one, path).digest for path, one, _ in SAME + DIFFERENT])"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
        ).stdout
        for seed in ("1", "2")
    }

    assert len(found) == 1
    assert print_of(chat(user(), temperature=0)).digest == "5b93b2169fedd5ce"
