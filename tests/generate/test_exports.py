"""Exports of real conversations in the shapes in which programs write them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_convoprobe.generate.exported import read_export


def said(user: str, agent: str | None, *calls: str) -> list[dict[str, Any]]:
    """The messages of one turn; `agent` is None where no reply came."""
    asked: list[dict[str, Any]] = [{"role": "user", "content": user}]
    for number, name in enumerate(calls):
        call = {"id": f"c{number}", "type": "function", "function": {"name": name, "arguments": "{}"}}
        asked.append({"role": "assistant", "content": None, "tool_calls": [call]})
        asked.append({"role": "tool", "tool_call_id": f"c{number}", "content": "done"})
    return asked if agent is None else [*asked, {"role": "assistant", "content": agent}]


ONE, TWO = said("One?", "1"), said("Two?", "2")


def found_in(tmp_path: Path, content: str | bytes) -> list[list[tuple[str, str]]]:
    """What user and agent say in the conversations of a file."""
    file = tmp_path / "export.json"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return [
        [(turn.user, turn.reply.text) for turn in one.transcript.turns]
        for one in read_export(file).conversations
    ]


LINE_BREAKS = "One\u2028two\x85three"


@pytest.mark.parametrize(
    ("content", "turns"),
    [
        # JSON may have these line breaks inside a text.
        ("\n".join(json.dumps(said(LINE_BREAKS, "1"), ensure_ascii=False) for _ in "ab"), [LINE_BREAKS] * 2),
        (json.dumps(ONE).encode("utf-16"), ["One?"]),
        (b"\xef\xbb\xbf" + json.dumps(ONE).encode(), ["One?"]),
        ("\r\n".join(json.dumps(message) for message in ONE), ["One?"]),
    ],
    ids=["line breaks", "UTF-16", "BOM", "a message a line"],
)
def test_files_as_programs_write_them(tmp_path: Path, content: str | bytes, turns: list[str]) -> None:
    assert found_in(tmp_path, content) == [[(user, "1")] for user in turns]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\x1f\x8b\x08rest", "it is compressed"),
        (b"PK\x03\x04rest", "it is compressed"),
        (b"id,input,output\n1,Hi,Hello\n", "it is not JSON"),
        (b'["a", "b"]', "no message of a user was found"),
        (b"5", "no message of a user was found"),
        (b'[[["user"]]]', "no message of a user was found"),
        (b"[" * 100_000 + b"]" * 100_000, "it is not JSON"),
    ],
    ids=["gzip", "zip", "CSV", "texts", "number", "lists", "deep"],
)
def test_files_that_are_no_exports(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        found_in(tmp_path, content)


def human(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "human", "content": text, "additional_kwargs": {}, **more}


AI = {"type": "ai", "content": "1", "id": "run-1"}


@pytest.mark.parametrize(
    "value",
    [
        # The answer is a plain text, or under a name.
        {"id": "t", "input": [ONE[0]], "output": "1"},
        {"id": "t", "input": {"messages": [ONE[0]]}, "output": {"response": "1", "sources": []}},
        {"id": "t", "input": [ONE[0]], "output": {"content": "1"}},
        {"messages": [ONE[0]], "choices": [{"message": ONE[1]}]},
        {"messages": [ONE[0]], "response": {"choices": [{"message": ONE[1]}]}},
        {"id": "t", "inputs": {"question": "One?", "language": "en"}, "outputs": {"answer": "1"}},
        # LangGraph repeats what was asked, with an id that it gave.
        {"inputs": {"messages": [human("One?")]}, "outputs": {"messages": [human("One?", id="m"), AI]}},
        {"inputs": {"messages": [["user", "One?"]]}, "outputs": {"messages": [human("One?"), AI]}},
        {
            "inputs": {"messages": [{"type": "human", "data": {"content": "One?"}}]},
            "outputs": {"output": {"type": "ai", "data": {"content": "1"}}},
        },
        {"id": "t", "input": '{"question": "One?"}', "output": '{"answer": "1"}'},
        # JSON inside of JSON, other spellings, texts of OpenAI's Assistants.
        {"input": json.dumps(json.dumps([ONE[0]])), "output": json.dumps(json.dumps(ONE[1]))},
        {"messages": json.dumps(ONE)},
        [{"role": "User", "content": "One?"}, {"role": "Assistant", "content": "1"}],
        [{**one, "content": [{"type": "text", "text": {"value": one["content"]}}]} for one in ONE],
        [{"role": "user", "content": {"text": "One?"}}, ONE[1]],
    ],
)
def test_shapes_of_exports(tmp_path: Path, value: Any) -> None:
    assert found_in(tmp_path, json.dumps(value)) == [[("One?", "1")]]


def test_a_picture_is_no_silence(tmp_path: Path) -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    talk = [{"role": "user", "content": [{"type": "text", "text": "See"}, picture]}, ONE[1]]
    alone = [{"role": "user", "content": [picture]}, ONE[1]]
    users = ["See\n[image_url]", "[image_url]"]
    assert found_in(tmp_path, json.dumps([talk, alone])) == [[(user, "1")] for user in users]


@pytest.mark.parametrize("text", ["[" * 50_000, "{not json}", '"quoted"'], ids=["deep", "broken", "quoted"])
def test_text_that_looks_like_json(tmp_path: Path, text: str) -> None:
    assert found_in(tmp_path, json.dumps({"input": text, "output": "1"})) == [[(text, "1")]]


def test_users_who_say_the_same_again(tmp_path: Path) -> None:
    """Each trace of the session has one turn. The API gives the newest first."""
    texts = ["Hi", "yes", "yes", "Hi"]
    traces = [
        {"id": f"t{place}", "sessionId": "s", "createdAt": 17_000 + place, "input": text, "output": "1"}
        for place, text in enumerate(texts)
    ]
    assert found_in(tmp_path, json.dumps(traces[::-1])) == [[(text, "1") for text in texts]]


def test_an_agent_that_remembers_is_only_given_what_is_new(tmp_path: Path) -> None:
    """LangGraph with a checkpointer: its answer has all that was said."""
    thread = {"extra": {"metadata": {"thread_id": "thread"}}}
    before, now = [human("One?"), AI], [human("Two?"), {**AI, "content": "2"}]
    traces = [
        {"id": "b", "inputs": {"messages": [TWO[0]]}, "outputs": {"messages": [*before, *now]}, **thread},
        {"id": "a", "inputs": {"messages": [ONE[0]]}, "outputs": {"messages": before}, **thread},
    ]
    for order in (traces, traces[::-1]):
        assert found_in(tmp_path, json.dumps(order)) == [[("One?", "1"), ("Two?", "2")]]


def step(kind: str, asked: list[Any], answer: str) -> dict[str, Any]:
    return {
        "id": kind,
        "trace_id": "t",
        "run_type": "llm",
        "parent_run_id": "root",
        "inputs": {"messages": [asked]},
        "outputs": {"generations": [[{"message": {"role": "assistant", "content": answer}}]]},
    }


ROOT = {"id": "root", "trace_id": "t", "inputs": {"input": "One?"}, "outputs": {"output": "1"}}
SUB_AGENT = step("sub", [*said("Find it", "Where?"), *said("Here", "Which?"), *said("All", None)], "found")
TITLE = step("title", [{"role": "system", "content": "Find a title"}, ONE[0]], "A number")
PROMPT = step("rag", [{"role": "user", "content": "Context: … Question: One?"}], "1")
CALLS = step("llm", said("One?", None, "count"), "1")


@pytest.mark.parametrize("inner", [[SUB_AGENT], [TITLE], [PROMPT], [SUB_AGENT, TITLE, PROMPT]])
def test_what_agents_say_to_each_other_is_not_judged(tmp_path: Path, inner: list[Any]) -> None:
    assert found_in(tmp_path, json.dumps([ROOT, *inner])) == [[("One?", "1")]]
    observed = [{"type": "GENERATION", "input": one["inputs"]["messages"][0], "output": "x"} for one in inner]
    trace = {"trace": {"id": "t", "input": "One?", "output": "1"}, "observations": observed}
    assert found_in(tmp_path, json.dumps(trace)) == [[("One?", "1")]]


def test_the_step_with_the_calls_of_the_trace_is_taken(tmp_path: Path) -> None:
    file = tmp_path / "export.json"
    file.write_text(json.dumps([ROOT, SUB_AGENT, CALLS, TITLE]))
    (one,) = read_export(file).conversations
    assert [call.name for _, call in one.transcript.tool_calls] == ["count"]
    assert [(turn.user, turn.reply.text) for turn in one.transcript.turns] == [("One?", "1")]


def test_ids_may_be_numbers(tmp_path: Path) -> None:
    file = tmp_path / "export.json"
    file.write_text(json.dumps([{"id": 17, "messages": ONE}, {"id": 18, "messages": TWO}]))
    assert [one.id for one in read_export(file).conversations] == ["17", "18"]
