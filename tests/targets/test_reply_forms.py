"""The forms of answers: what each is read as, and what is refused."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from pydantic import BaseModel

from pytest_convoprobe.targets.reply_forms import ReplyReader, as_reply
from pytest_convoprobe.transcript import PendingRequest, Reply, ToolCall, Usage

from .test_reply_parts import ANYTHING


class Answer(BaseModel):
    output: str


@pytest.mark.parametrize(
    "value",
    [
        "hi",
        {"text": "hi"},
        {"role": "assistant", "content": "hi"},
        {"content": [{"type": "text", "text": "h"}, {"type": "image"}, "i"]},
        SimpleNamespace(text="hi"),
        SimpleNamespace(content="hi"),
        SimpleNamespace(final_output="hi"),
        SimpleNamespace(text=lambda: "a method", output="hi"),
        Answer(output="hi"),
        Reply("hi", tool_calls=None),
    ],
    ids=lambda value: type(value).__name__,
)
def test_shapes_of_an_answer(value: object) -> None:
    assert as_reply(value) == Reply("hi", tool_calls=None, usage=None)


def test_tool_calls_and_usage_come_along() -> None:
    value = {"text": "hi", "tool_calls": [{"name": "f"}], "usage": {"input_tokens": 3, "output_tokens": 4}}
    assert as_reply(value) == Reply("hi", (ToolCall("f"),), Usage(3, 4))


def test_an_empty_list_of_tool_calls_says_that_there_were_none() -> None:
    assert as_reply({"text": "", "tool_calls": []}).tool_calls == ()


def test_a_message_that_only_calls_tools_has_an_empty_text() -> None:
    assert as_reply({"content": None, "tool_calls": [{"name": "f"}]}).text == ""


def test_tool_calls_of_a_reply_may_be_of_any_shape() -> None:
    assert as_reply(Reply("", [("f", {"a": 1}, 2)])).tool_calls == (ToolCall("f", {"a": 1}, 2),)  # type: ignore[arg-type]


@pytest.mark.parametrize("calls", ["f", {"name": "f"}, 3])
def test_tool_calls_that_are_no_list_are_an_error(calls: object) -> None:
    with pytest.raises(ValueError, match="`tool_calls` has to be a list"):
        as_reply({"text": "", "tool_calls": calls})


# Structured output


class Forecast(BaseModel):
    answer: str
    places: list[str] = []


@dataclasses.dataclass
class Booking:
    room: int


@pytest.mark.parametrize(
    ("value", "data"),
    [
        ({"answer": "good", "citations": []}, {"answer": "good", "citations": []}),
        (Forecast(answer="grün", places=["Oslo"]), {"answer": "grün", "places": ["Oslo"]}),
        (Booking(7), {"room": 7}),
        (SimpleNamespace(output=Forecast(answer="good")), {"answer": "good", "places": []}),
        ({"output": {"room": 7}, "tool_calls": None}, {"room": 7}),
        ({"message": "hi"}, {"message": "hi"}),
        ({}, {}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_structured_output_is_json_and_says_nothing_about_tools(value: object, data: Any) -> None:
    reply = as_reply(value)
    assert (json.loads(reply.text), reply.tool_calls) == (data, None)


def test_structured_output_can_be_read_as_it_was_written() -> None:
    assert as_reply({"answer": "grün"}).text == '{"answer": "grün"}'


# Tuples


@pytest.mark.parametrize(
    ("value", "reply"),
    [
        (("good", [{"name": "t", "arguments": {}}]), Reply("good", (ToolCall("t"),))),
        (("good", []), Reply("good", ())),
        (("good", None), Reply("good", None)),
        (
            ("good", [("t", {"a": 1}, 2)], {"input_tokens": 3, "output_tokens": 0}),
            Reply("good", (ToolCall("t", {"a": 1}, 2),), Usage(3)),
        ),
    ],
)
def test_a_text_with_its_tool_calls(value: object, reply: Reply) -> None:
    assert as_reply(value) == reply


# Messages


def call(name: str = "find", identity: str = "1", arguments: str = '{"n": 1}') -> dict[str, Any]:
    return {"id": identity, "type": "function", "function": {"name": name, "arguments": arguments}}


def says(content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **more}


def asks(content: str = "hello") -> dict[str, Any]:
    return {"role": "user", "content": content}


def result(content: Any, identity: str = "1") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": identity, "content": content}


FOUND = ToolCall("find", {"n": 1}, "blue")
TURN = [says("I look.", tool_calls=[call()]), result("blue"), says("It is blue.")]


@pytest.mark.parametrize(
    "messages",
    [TURN, [asks("earlier"), says("no"), asks(), *TURN], [{"role": "system", "content": "x"}, asks(), *TURN]],
)
@pytest.mark.parametrize("state", [False, True])
def test_the_messages_of_this_turn_with_calls_and_results(messages: list[Any], state: bool) -> None:
    reply = as_reply({"messages": messages} if state else messages)
    assert reply == Reply("I look.\n\nIt is blue.", (FOUND,))


def test_only_new_messages_count_of_a_list_that_grows_without_the_users() -> None:
    reader = ReplyReader()
    assert reader.read(TURN).tool_calls == (FOUND,)
    assert reader.read([*TURN, says("Bye")]) == Reply("Bye", ())
    assert reader.read([says("Bye again")]) == Reply("Bye again", ())


def test_results_belong_to_calls_by_id_whatever_their_order() -> None:
    calls = [call("one", "a", "{}"), call("two", "b", "{}"), call("two", "c", "{}")]
    messages = [
        says(None, tool_calls=calls),
        result("C", "c"),
        result("A", "a"),
        result("B", "b"),
        says("ok"),
    ]
    assert as_reply(messages).tool_calls == (
        ToolCall("one", {}, "A"),
        ToolCall("two", {}, "B"),
        ToolCall("two", {}, "C"),
    )


@pytest.mark.parametrize(
    ("messages", "calls"),
    [
        ([says("hi")], None),  # a final message may hide the calls before it
        ([asks(), says("hi")], None),  # a chat history may leave calls out
        ([says("hi", tool_calls=None)], None),
        ([asks(), says("hi", tool_calls=None)], ()),
        ([says("hi", tool_calls=[])], ()),
        ([asks(), *TURN, asks(), says("hi")], ()),
    ],
)
def test_no_calls_are_reported_only_by_who_reports_calls(messages: list[Any], calls: Any) -> None:
    assert as_reply(messages) == Reply("hi", calls)


def test_a_list_that_says_nothing_about_calls_says_how_to() -> None:
    assert "Return the messages with `tool_calls: []`" in as_reply([asks(), says("hi")]).gaps["tool_calls"]
    assert not as_reply([asks(), says("hi", tool_calls=[])]).gaps


def test_who_has_reported_calls_reports_their_absence() -> None:
    reader = ReplyReader()
    replies = [reader.read(TURN), reader.read([says("hi")])]
    assert [reply.tool_calls for reply in replies] == [(FOUND,), ()]


class AIMessage(SimpleNamespace):
    """As LangChain's: told by its shape, so nothing needs to be installed."""

    type = "ai"


class ToolMessage(SimpleNamespace):
    type = "tool"


class HumanMessage(SimpleNamespace):
    type = "human"


LANGCHAIN = [
    HumanMessage(content="hello"),
    AIMessage(content="", tool_calls=[{"name": "find", "args": {"n": 1}, "id": "1"}], usage_metadata=None),
    ToolMessage(content="blue", tool_call_id="1", status="success"),
    AIMessage(content=[{"type": "text", "text": "It is blue."}], tool_calls=[]),
]
ANTHROPIC = [
    asks(),
    says(
        [
            {"type": "thinking", "thinking": "hm"},
            {"type": "tool_use", "id": "1", "name": "find", "input": {"n": 1}},
        ]
    ),
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "blue"}]},
    says([{"type": "text", "text": "It is blue."}]),
]
RESPONSES = [
    {"type": "reasoning", "id": "r", "summary": []},
    {"type": "function_call", "id": "f", "call_id": "1", "name": "find", "arguments": '{"n": 1}'},
    {"type": "function_call_output", "call_id": "1", "output": "blue"},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "It is blue."}]},
]
OLDER = [
    says(None, function_call={"name": "find", "arguments": '{"n": 1}'}),
    {"role": "function", "name": "find", "content": "blue"},
    says("It is blue."),
]


@pytest.mark.parametrize(
    "value",
    [
        {"messages": LANGCHAIN},
        SimpleNamespace(messages=LANGCHAIN),
        ANTHROPIC,
        RESPONSES,
        SimpleNamespace(output=RESPONSES, output_text="It is blue."),
        OLDER,
        (says(None, tool_calls=[call()]), result([{"type": "text", "text": "blue"}]), says("It is blue.")),
    ],
    ids=["langchain", "object", "anthropic", "responses", "response", "older", "tuple"],
)
def test_other_forms_of_messages(value: object) -> None:
    assert as_reply(value) == Reply("It is blue.", (FOUND,))


def test_a_result_in_a_message_of_its_own_is_reported() -> None:
    for messages in (TURN, LANGCHAIN, ANTHROPIC, RESPONSES, OLDER):
        (found,) = as_reply(messages).tool_calls or ()
        assert found.unreported == ()
    (alone,) = as_reply([says(None, tool_calls=[call()]), says("It is blue.")]).tool_calls or ()
    assert alone.unreported == ("result",)


@pytest.mark.parametrize(
    "failed",
    [
        ToolMessage(content="no stock", tool_call_id="1", status="error"),
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "1", "content": "no stock", "is_error": True}],
        },
    ],
    ids=["langchain", "anthropic"],
)
def test_a_result_that_is_an_error(failed: object) -> None:
    reply = as_reply([says(None, tool_calls=[call()]), failed, says("Sorry")])
    assert reply.tool_calls == (ToolCall("find", {"n": 1}, error="no stock"),)


def test_a_complaint_about_torn_arguments_is_not_a_result() -> None:
    torn = {"id": "1", "type": "function", "function": {"name": "find", "arguments": '{"n": '}}
    reply = as_reply([says(None, tool_calls=[torn]), result("Error: invalid JSON"), says("Found.")])
    assert [(one.executed, one.result) for one in reply.tool_calls or ()] == [(False, "Error: invalid JSON")]


def test_invalid_calls_of_langchain_are_attempts() -> None:
    invalid = [{"name": "find", "args": '{"n": ', "id": "1", "error": "not JSON"}]
    reply = as_reply([says("", tool_calls=[], invalid_tool_calls=invalid), says("Found.")])
    assert [(one.name, one.executed) for one in reply.tool_calls or ()] == [("find", False)]


def test_calls_at_the_end_were_asked_for_and_not_carried_out() -> None:
    earlier, pending = call(), call("pay", "2", "{}")
    found = as_reply([says(None, tool_calls=[earlier]), result("blue"), says(None, tool_calls=[pending])])
    assert found.tool_calls == (FOUND, ToolCall("pay", {}, executed=False))
    said = as_reply([says("Paid.", tool_calls=[pending])])
    assert said.tool_calls == (ToolCall("pay", {}),)


def test_tokens_of_all_messages_or_none() -> None:
    spent = [{"input_tokens": 3, "output_tokens": 1}, {"input_tokens": 5, "output_tokens": 2}]
    messages = [
        AIMessage(content=text, usage_metadata=usage) for text, usage in zip("ab", spent, strict=True)
    ]
    assert as_reply({"messages": messages}).usage == Usage(8, 3)
    assert as_reply({"messages": [*messages, AIMessage(content="c")]}).usage is None


def test_pairs_of_role_and_text() -> None:
    assert as_reply([("user", "hello"), ("assistant", "hi")]).text == "hi"


@pytest.mark.parametrize("content", [[{"type": "text", "text": "h"}, {"type": "image"}, "i"], "hi"])
def test_content_in_parts(content: Any) -> None:
    assert as_reply([says(content)]).text == "hi"
    assert as_reply({"choices": [{"message": says(content)}]}).text == "hi"


def test_content_blocks_alone() -> None:
    blocks = [{"type": "text", "text": "hi"}, {"type": "reasoning", "text": "no"}]
    assert as_reply(blocks) == Reply("hi", None)


# Completions


USAGE = {"prompt_tokens": 3, "completion_tokens": 4}


@pytest.mark.parametrize(
    ("message", "reply"),
    [
        (says("hi"), Reply("hi", None, Usage(3, 4))),
        (says("hi", tool_calls=None), Reply("hi", None, Usage(3, 4))),
        (
            says(None, tool_calls=[call()]),
            Reply("", (ToolCall("find", {"n": 1}, executed=False),), Usage(3, 4)),
        ),
        (says(None, refusal="I can't"), Reply("I can't", None, Usage(3, 4))),
    ],
)
def test_a_completion_as_mapping_or_object(message: dict[str, Any], reply: Reply) -> None:
    assert as_reply({"choices": [{"message": message}], "usage": USAGE}) == reply
    choice = SimpleNamespace(message=SimpleNamespace(**message))
    assert as_reply(SimpleNamespace(choices=[choice], usage=SimpleNamespace(**USAGE))) == reply


def test_a_completion_with_the_library_of_openai() -> None:
    from openai.types.chat import ChatCompletion

    completion = ChatCompletion.model_validate(
        {
            "id": "x",
            "created": 0,
            "model": "m",
            "object": "chat.completion",
            "choices": [{"index": 0, "finish_reason": "stop", "message": says("hi")}],
            "usage": {**USAGE, "total_tokens": 7},
        }
    )
    assert as_reply(completion) == Reply("hi", None, Usage(3, 4))
    assert as_reply([asks(), completion.choices[0].message]) == Reply("hi", ())


def test_an_answer_of_ollama_has_the_message_alone() -> None:
    assert as_reply({"model": "m", "message": says("hi")}) == Reply("hi", None)


# What is refused


@pytest.mark.parametrize("ended", ["true", 1, 0, "", []])
@pytest.mark.parametrize("answer", [{"text": "bye"}, {"messages": [says("bye")]}, {"content": ["bye"]}])
def test_what_says_neither_true_nor_false_of_the_end(answer: dict[str, Any], ended: object) -> None:
    with pytest.raises(ValueError, match="`ended` has to be true or false, not a"):
        as_reply({**answer, "ended": ended})


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "it returned None"),
        (object(), "it returned an object"),
        ([], "it returned an empty list"),
        (["a", "b"], "it returned a list whose first item is a str"),
        ([Booking(1)], "it returned a list whose first item is a Booking"),
        (("a", "b"), "it returned a tuple"),
        (("a", [], None, 1), "it returned a tuple"),
        ({"messages": []}, "it returned a mapping with the keys 'messages'"),
        ({"messages": ["hi"]}, "its `messages` can't be read, as a str is not a message"),
        ({"messages": [says("hi"), {"role": "bot"}]}, "as a mapping with the keys 'role' is not a message"),
        ({"text": None}, "it returned a mapping with the keys 'text'"),
        (Forecast, "ModelMetaclass"),
        (3.5, "it returned a float"),
    ],
)
def test_anything_else_is_named_beside_the_accepted_forms(value: object, words: str) -> None:
    with pytest.raises(ValueError, match="`messages`, or structured output") as caught:
        as_reply(value)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    "messages", [[asks()], [says("old"), asks()], [asks(), result("x")], [{"role": "system", "content": "x"}]]
)
def test_messages_without_a_new_one_of_the_assistant(messages: list[Any]) -> None:
    with pytest.raises(ValueError, match="none with the role `assistant` after the user's last one"):
        as_reply(messages)


@given(ANYTHING)
def test_an_answer_is_a_reply_or_a_value_error(value: object) -> None:
    with contextlib.suppress(ValueError):
        assert isinstance(as_reply(value).text, str)


# Thoughts


@pytest.mark.parametrize(
    "value",
    [
        "<think>psst</think>Hi",
        {"content": "Hi", "reasoning_content": "psst"},
        Reply("Hi", tool_calls=None, thoughts="psst"),
        SimpleNamespace(text="Hi", thoughts="psst"),
        [says("Hi", reasoning_content="psst")],
        {"choices": [{"message": says("Hi", reasoning_content="psst")}]},
    ],
)
def test_thoughts_are_kept_apart(value: object) -> None:
    reply = as_reply(value)
    assert (reply.text, reply.thoughts) == ("Hi", "psst")


def test_content_blocks_of_thoughts_are_not_said() -> None:
    blocks = [{"type": "thinking", "thinking": "psst"}, {"type": "text", "text": "Hi"}]
    assert as_reply({"content": blocks}).text == "Hi"
    assert as_reply({"content": [{"type": "reasoning", "text": "psst"}, *blocks]}).text == "Hi"


@pytest.mark.parametrize(
    "value", ["hello", {"text": "hello"}, Reply("hello"), SimpleNamespace(content="hello")]
)
def test_an_answer_that_does_not_mention_tool_calls_does_not_report_them(value: object) -> None:
    assert as_reply(value).tool_calls is None


def test_requests_to_a_person_in_the_forms_of_an_answer() -> None:
    asked = PendingRequest("7", tool="refund", arguments={"sum": 3})
    forms = (
        Reply("Wait.", pending=(asked,)),
        Reply("Wait.", pending=asked),  # type: ignore[arg-type]
        {"text": "Wait.", "pending": {"id": 7, "tool": "refund", "arguments": {"sum": 3}}},
        Reply("Wait.", pending=[{"id": 7, "tool": "refund", "arguments": '{"sum": 3}'}]),  # type: ignore[arg-type]
        {"text": "Wait.", "pending": [{"id": "7", "kind": "approval", "tool": "refund", "args": {"sum": 3}}]},
        {"messages": [asks(), says("Wait.")], "pending": [asked]},
    )
    assert [as_reply(form).pending for form in forms] == [(asked,)] * len(forms)
    only = as_reply({"pending": [{"kind": "question", "question": "Which?", "choices": ["a", 2]}]})
    assert only == Reply("", pending=(PendingRequest("1", "question", "Which?", choices=("a", "2")),))


def test_a_field_of_this_name_may_be_something_else() -> None:
    for other in (3, True, ["a task"], [{"id": 1, "text": "a task"}], {"a": 1}):
        assert as_reply({"text": "Hi", "pending": other}) == Reply("Hi")


@pytest.mark.parametrize("wrong", ["refund", {"kind": "order", "tool": "x"}, {}])
def test_a_request_in_a_reply_that_cannot_be_read_is_an_error(wrong: object) -> None:
    with pytest.raises(ValueError, match=r"pending|kind"):
        as_reply(Reply("Wait.", pending=[wrong]))  # type: ignore[list-item, arg-type]


@pytest.mark.parametrize("wrong", ["May I?", True, {"1": {"tool": "refund"}}])
def test_what_is_not_a_list_of_requests_in_a_reply_is_an_error(wrong: Any) -> None:
    with pytest.raises(ValueError, match="`pending` has"):
        as_reply(Reply("Wait.", pending=wrong))
    with pytest.raises(ValueError, match="`pending` has"):
        as_reply({"text": "Wait.", "pending": [{"tool": "refund"}, wrong]})


def test_numbers_are_ids_too() -> None:
    inner = {"name": "find", "id": 2, "parent": 1, "agent": "shop"}
    (call,) = as_reply({"text": "Hi", "tool_calls": [inner]}).tool_calls or ()
    assert (call.id, call.parent, call.agent) == ("2", "1", "shop")


def test_a_time_of_starting_that_is_none_counts_for_nothing() -> None:
    found = [as_reply({"text": "Hi", "startup": value}).startup for value in (2, -1, math.nan, "soon", True)]
    assert found == [2.0, 0.0, 0.0, 0.0, 0.0]
