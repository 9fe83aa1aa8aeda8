"""What is read of the requests of each protocol."""

from __future__ import annotations

import pytest

from pytest_convoprobe.llm.port import ToolRequest
from pytest_convoprobe.llm.protocols import ModelProtocol, ToolOutput, protocol_of, read_request

from .bodies import body

CALL = {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": '{"id": 7}'}}


@pytest.mark.parametrize(
    ("path", "protocol"),
    [
        ("chat/completions", ModelProtocol.CHAT),
        ("/v1/chat/completions", ModelProtocol.CHAT),
        ("openai/deployments/x/chat/completions", ModelProtocol.CHAT),
        ("v1/responses", ModelProtocol.RESPONSES),
        ("v1/embeddings/", ModelProtocol.EMBEDDINGS),
        ("v1/messages", ModelProtocol.MESSAGES),
        ("messages", ModelProtocol.MESSAGES),
        ("v1/messages/count_tokens", ModelProtocol.UNKNOWN),
        ("v1/threads/thread_1/messages", ModelProtocol.UNKNOWN),
        ("v1/responses/resp_1", ModelProtocol.UNKNOWN),
        ("v1/models", ModelProtocol.UNKNOWN),
        ("", ModelProtocol.UNKNOWN),
    ],
)
def test_the_protocol_follows_from_the_path(path: str, protocol: ModelProtocol) -> None:
    assert protocol_of(path) is protocol


def test_a_chat_has_its_messages_calls_and_results() -> None:
    read = read_request(
        "v1/chat/completions",
        body(
            {
                "model": "gpt-x",
                "temperature": 0,
                "stream": True,
                "tools": [{"type": "function", "function": {"name": "look"}}],
                "response_format": {"type": "json_schema", "json_schema": {"name": "a"}},
                "messages": [
                    {"role": "system", "content": "Be kind."},
                    {"role": "user", "content": [{"type": "text", "text": "Where is it?"}]},
                    {"role": "assistant", "content": None, "tool_calls": [CALL]},
                    {"role": "tool", "tool_call_id": "call_1", "content": "sent"},
                ],
            }
        ),
    )

    assert read.model == "gpt-x"
    assert read.stream
    assert read.parameters == {"temperature": 0}
    assert [message.role for message in read.messages] == ["system", "user", "assistant", "tool"]
    assert read.texts == ("Be kind.", "Where is it?", "sent")
    assert read.messages[2].tool_requests == (ToolRequest("call_1", "look", '{"id": 7}'),)
    assert read.tool_results == (ToolOutput("call_1", "sent"),)
    assert read.schema == {"name": "a"}
    assert len(read.tools) == 1


def test_the_older_calls_of_functions_are_read() -> None:
    read = read_request(
        "chat/completions",
        body(
            {
                "functions": [{"name": "look"}],
                "messages": [
                    {"role": "assistant", "function_call": {"name": "look", "arguments": "{}"}},
                    {"role": "function", "name": "look", "content": "sent"},
                ],
            }
        ),
    )

    assert read.messages[0].tool_requests == (ToolRequest("look", "look", "{}"),)
    assert read.tool_results == (ToolOutput("look", "sent"),)


def test_responses_have_items_instead_of_messages() -> None:
    read = read_request(
        "responses",
        body(
            {
                "model": "gpt-x",
                "instructions": "Be kind.",
                "previous_response_id": "resp_1",
                "text": {"format": {"type": "json_schema", "name": "a"}, "verbosity": "low"},
                "input": [
                    {"role": "user", "content": [{"type": "input_text", "text": "Where?"}]},
                    {
                        "type": "function_call",
                        "id": "fc_1",
                        "call_id": "c1",
                        "name": "look",
                        "arguments": "{}",
                    },
                    {"type": "function_call_output", "call_id": "c1", "output": "sent"},
                    {
                        "type": "function_call_output",
                        "call_id": "c2",
                        "output": [{"type": "input_text", "text": "late"}],
                    },
                ],
            }
        ),
    )

    assert read.texts == ("Be kind.", "Where?", "sent", "late")
    assert read.messages[2].tool_requests == (ToolRequest("c1", "look", "{}"),)
    assert read.tool_results == (ToolOutput("c1", "sent"), ToolOutput("c2", "late"))
    assert read.previous_id == "resp_1"
    assert read.schema["name"] == "a"
    assert read.parameters == {"text": {"verbosity": "low"}}


def test_a_text_alone_is_the_users_message() -> None:
    read = read_request("responses", body({"input": "Where?"}))

    assert [(one.role, one.content) for one in read.messages] == [("user", "Where?")]


def test_messages_have_blocks() -> None:
    read = read_request(
        "v1/messages",
        body(
            {
                "model": "claude-x",
                "max_tokens": 9,
                "system": [{"type": "text", "text": "Be kind."}],
                "messages": [
                    {"role": "user", "content": "Where?"},
                    {
                        "role": "assistant",
                        "content": [
                            {"type": "text", "text": "I look."},
                            {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"id": 7}},
                            {"type": "tool_use", "id": "toolu_2", "name": "look", "input": {}},
                        ],
                    },
                    {
                        "role": "user",
                        "content": [
                            {"type": "tool_result", "tool_use_id": "toolu_1", "content": "sent"},
                            {
                                "type": "tool_result",
                                "tool_use_id": "toolu_2",
                                "is_error": True,
                                "content": [{"type": "text", "text": "broken"}],
                            },
                        ],
                    },
                ],
            }
        ),
    )

    assert read.texts == ("Be kind.", "Where?", "I look.", "sent", "broken")
    assert read.messages[2].tool_requests[0] == ToolRequest("toolu_1", "look", '{"id": 7}')
    assert read.tool_results == (
        ToolOutput("toolu_1", "sent"),
        ToolOutput("toolu_2", "broken", is_error=True),
    )
    assert read.parameters == {"max_tokens": 9}


@pytest.mark.parametrize(
    ("given", "texts"),
    [("one", ("one",)), (["one", "two"], ("one", "two")), ([1, 2, 3], ()), ([[1, 2], [3]], ())],
)
def test_each_input_of_embeddings_is_a_message(given: object, texts: tuple[str, ...]) -> None:
    read = read_request("v1/embeddings", body({"model": "e", "input": given}))

    assert read.texts == texts
    assert len(read.messages) == (2 if isinstance(given, list) and given != [1, 2, 3] else 1)


def test_an_image_is_known_by_its_digest() -> None:
    def content(data: str) -> str:
        parts = [
            {"type": "text", "text": "See:"},
            {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}},
        ]
        return (
            read_request("chat/completions", body({"messages": [{"role": "user", "content": parts}]}))
            .messages[0]
            .content
        )

    assert content("AAAA").startswith("See:\n[image ")
    assert content("AAAA") != content("BBBB")
    assert "AAAA" not in content("AAAA")


def test_another_path_has_the_texts_of_its_body() -> None:
    read = read_request("v1/moderations", body({"model": "m", "input": ["a", {"b": "c"}]}))

    assert read.protocol is ModelProtocol.UNKNOWN
    assert read.texts == ("m", "a", "c")


@pytest.mark.parametrize("given", [b"{", b"\xff\xfe\x00", b"[" * 100_000, b'{"a":' * 300 + b"1" + b"}" * 300])
def test_what_cannot_be_read_says_so(given: bytes) -> None:
    read = read_request("chat/completions", given)

    assert read.unread
    assert read.messages[0].content.startswith("[body ")
