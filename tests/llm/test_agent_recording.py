"""The agent's own model calls in a recording: what is stored, what comes back, what is left out."""

from __future__ import annotations

import asyncio
import json
import zlib
from base64 import b64encode
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_convoprobe.errors import RecordingUnusable, ReplayMiss
from pytest_convoprobe.llm.agent_replay import AgentModelCalls, AgentRequest
from pytest_convoprobe.llm.fake import FakeLLM
from pytest_convoprobe.llm.fingerprint import Fingerprint
from pytest_convoprobe.llm.port import LLMReply, Role
from pytest_convoprobe.llm.recorded_answer import RecordedAnswer
from pytest_convoprobe.llm.recording import Mode, Recording
from pytest_convoprobe.llm.recording_format import FormatError, RecordedCall, dumps, loads
from pytest_convoprobe.llm.replay import Replaying
from pytest_convoprobe.personal_patterns import BUILT_IN
from pytest_convoprobe.pseudonyms import Masking
from pytest_convoprobe.redaction import Redactor

from .protocols.bodies import chunk, sse

CHAT = "v1/chat/completions"
JSON = {"content-type": "application/json"}
SSE = {"content-type": "text/event-stream; charset=utf-8"}


def asked(text: str = "Where?", *, path: str = CHAT, turn: int = 1, **more: Any) -> AgentRequest:
    body = {"model": "gpt-x", "messages": [{"role": "user", "content": text}], **more}
    return AgentRequest("POST", path, json.dumps(body).encode(), turn)


def completion(text: str = "There.", **more: Any) -> bytes:
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    return json.dumps({"id": "chatcmpl-1", "model": "gpt-x", "choices": [choice], **more}).encode()


class Trial:
    """One trial of a scenario with its recording."""

    def __init__(self, path: Path, mode: Mode, redactor: Redactor | None = None, trial: int = 1) -> None:
        self.recording = Recording(path, today=lambda: date(2026, 11, 27))
        redactor = redactor or Redactor(environ={})
        self.calls = AgentModelCalls(self.recording, mode, redactor, trial)
        self._replaying = Replaying(FakeLLM(lambda _: ""), self.recording, mode, redactor, self.calls)

    def call(
        self,
        request: AgentRequest,
        live: bytes = b"",
        headers: dict[str, str] | None = None,
        status: int = 200,
    ) -> bytes:
        """The answer that the agent gets: the recorded one, or else `live`."""
        counted = self.calls.begin(request)
        found = self.calls.answer(counted)
        if found is not None:
            return found.body
        self.calls.keep(counted, RecordedAnswer(status, live, JSON if headers is None else headers, 0.25))
        return live

    def end(self, *, complete: bool = True) -> None:
        asyncio.run(self._replaying.finish(complete=complete))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "late-order.json"


def recorded(path: Path, *calls: tuple[AgentRequest, bytes], redactor: Redactor | None = None) -> None:
    trial = Trial(path, "record", redactor)
    for request, live in calls:
        trial.call(request, live)
    trial.end()


class TestBytes:
    BODIES = (
        b"",
        b"{}",
        b"null",
        completion(),
        completion("Grüße, \u2028 \U0001f600"),
        json.dumps({"a": "ü\ud800"}).encode(),
        json.dumps({"a": [1, 2.50, 1e5]}, indent=2).encode() + b"\n",
        b'{"a":1.50,"a":2}',
        b'{"a": 12345678901234567890123}',
        b"[" * 500 + b"]" * 500,
        sse(chunk({"content": "There."}, "stop"), done=True),
        sse(chunk({"content": "There."}, "stop"), done=True).replace(b"\n", b"\r\n"),
        b"\xef\xbb\xbfdata: {}\n\n",
        b"\xff\xfe\x00\x80",
        b"line\nline\r\nline\r",
        b"\x00\x01\x1f\x7f\xc2\x85",
    )

    @pytest.mark.parametrize("body", BODIES, ids=range(len(BODIES)))
    @pytest.mark.parametrize("headers", [JSON, SSE, {"content-type": "audio/mpeg"}, {}])
    def test_the_same_bytes_come_back(self, path: Path, body: bytes, headers: dict[str, str]) -> None:
        trial = Trial(path, "record")
        trial.call(asked(path="v1/other"), body, headers)
        trial.end()

        assert Trial(path, "only").call(asked(path="v1/other")) == body

    @given(body=st.binary() | st.text().map(str.encode), packed=st.booleans())
    def test_every_body_survives_the_file(self, body: bytes, *, packed: bool) -> None:
        answer = RecordedAnswer(200, body * 50 if packed else body, JSON, 0.5, packed)
        call = RecordedCall(1, Role.AGENT, 1, 1, Fingerprint("m"), answer=answer)

        (read,) = loads(dumps([call], recorded="2026-11-27")).calls
        assert read.answer is not None
        assert (read.answer.status, read.answer.body, read.answer.headers) == (200, answer.body, JSON)

    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        body=st.dictionaries(
            st.text(max_size=5), st.text(max_size=20) | st.integers() | st.floats(), max_size=5
        ).map(lambda data: json.dumps(data).encode())
        | st.lists(st.text(max_size=20), max_size=5).map(
            lambda lines: "\n".join(lines).encode("utf-8", "replace")
        )
    )
    def test_every_answer_without_a_secret_is_replayed_as_it_was(self, tmp_path: Path, body: bytes) -> None:
        calls = AgentModelCalls(Recording(tmp_path / "a.json"), "auto", Redactor(environ={}))
        counted = calls.begin(asked(path="v1/other"))
        for headers in (JSON, SSE):
            answer = RecordedAnswer(200, body, headers)
            assert calls._changed(answer, lambda text: text, masks=True) == body
            calls.keep(counted, answer)

    def test_status_and_headers_come_back_and_no_others(self, path: Path) -> None:
        trial = Trial(path, "record")
        trial.call(asked(), b'{"error": "no"}', {**JSON, "retry-after": "2", "set-cookie": "a=b"}, status=404)
        trial.end()

        calls = Trial(path, "only").calls
        answer = calls.answer(calls.begin(asked()))
        assert answer is not None
        assert (answer.status, answer.seconds) == (404, 0.25)
        assert answer.headers == {**JSON, "retry-after": "2"}
        assert "cookie" not in path.read_text()


class TestFile:
    def test_the_file_can_be_reviewed(self, path: Path) -> None:
        recorded(path, (asked(temperature=0), b'{"choices": [{"message": {"content": "There."}}]}'))

        assert json.loads(path.read_text()) == {
            "version": 2,
            "recorded": "2026-11-27",
            "models": {"agent": "gpt-x"},
            "calls": [
                {
                    "trial": 1,
                    "role": "agent",
                    "turn": 1,
                    "ordinal": 1,
                    "answer": {
                        "status": 200,
                        "headers": {"content-type": "application/json"},
                        "seconds": 0.25,
                        "json": {
                            "layout": "spaced",
                            "value": {"choices": [{"message": {"content": "There."}}]},
                        },
                    },
                    "request": {
                        "model": "gpt-x",
                        "parameters": {"temperature": 0, "path": "chat/completions"},
                        "messages": ["user dd85cea255b6655e"],
                    },
                    "digest": json.loads(path.read_text())["calls"][0]["digest"],
                }
            ],
            "digest": json.loads(path.read_text())["digest"],
        }

    def test_a_stream_is_stored_line_by_line(self, path: Path) -> None:
        trial = Trial(path, "record")
        trial.call(asked(stream=True), sse(chunk({"content": "There."}, "stop"), done=True), SSE)
        trial.end()

        assert json.loads(path.read_text())["calls"][0]["answer"]["text"][-3:] == ["data: [DONE]", "", ""]

    def test_vectors_are_packed(self, path: Path) -> None:
        vector = [number / 7919 for number in range(1536)]
        body = json.dumps({"object": "list", "data": [{"embedding": vector}], "model": "e"}).encode()
        recorded(path, (asked(path="v1/embeddings", input="a"), body))

        assert Trial(path, "only").call(asked(path="v1/embeddings", input="a")) == body
        assert path.stat().st_size < len(body) * 0.75

    def test_an_edited_answer_is_refused(self, path: Path) -> None:
        recorded(path, (asked(), completion("There.")))
        path.write_text(path.read_text().replace("There.", "Here."))

        with pytest.raises(RecordingUnusable, match="this call was edited"):
            Trial(path, "only").call(asked())

    def test_a_recording_without_an_agents_calls_stays_as_it_was(self) -> None:
        call = RecordedCall(1, Role.JUDGE, 0, 1, Fingerprint("m"), LLMReply("yes"))
        text = dumps([call], recorded="2026-11-27")

        assert json.loads(text)["version"] == 1
        assert "answer" not in text

    @pytest.mark.parametrize(
        ("answer", "words"),
        [
            ({"status": 99}, "status"),
            ({"status": 200, "headers": {"set-cookie": "a"}}, "no other headers"),
            ({"status": 200, "headers": {"content-type": "a\r\nset-cookie: b"}}, "no other headers"),
            ({"status": 200, "base64": "%%"}, "base64"),
            ({"status": 200, "packed": "aaaa"}, "zlib"),
            ({"status": 200, "seconds": -1}, "seconds"),
            ({"status": 200, "other": 1}, "other"),
            (None, "must have an `answer`"),
        ],
    )
    def test_an_answer_that_cannot_be_is_refused(self, answer: Any, words: str) -> None:
        call = {"trial": 1, "role": "agent", "turn": 1, "ordinal": 1, "request": {"model": "m"}}
        text = {
            "version": 2,
            "recorded": "2026-11-27",
            "models": {},
            "calls": [{**call, **({"answer": answer} if answer else {})}],
        }

        with pytest.raises(FormatError, match=words):
            loads(json.dumps(text))

    def test_a_small_text_does_not_unpack_to_gigabytes(self) -> None:
        bomb = b64encode(zlib.compress(b"0" * 70_000_000, 1)).decode()
        call = {
            "trial": 1,
            "role": "agent",
            "turn": 1,
            "ordinal": 1,
            "request": {"model": "m"},
            "answer": {"status": 200, "packed": bomb},
        }
        with pytest.raises(FormatError, match="whole answer"):
            loads(json.dumps({"version": 2, "recorded": "a", "models": {}, "calls": [call]}))


class TestModes:
    def test_only_gives_the_recorded_answer(self, path: Path) -> None:
        recorded(path, (asked(), completion("There.")))

        assert Trial(path, "only").call(asked()) == completion("There.")

    def test_off_neither_reads_nor_writes(self, path: Path) -> None:
        path.write_text("broken")
        trial = Trial(path, "off")

        assert trial.call(asked(), b"live") == b"live"
        trial.end()
        assert path.read_text() == "broken"

    def test_auto_records_what_is_new_and_drops_what_is_not_called(self, path: Path) -> None:
        recorded(path, (asked("a"), completion("1")), (asked("b"), completion("2")))
        trial = Trial(path, "auto")
        assert trial.call(asked("b", turn=2), completion("not used")) == completion("2")
        assert trial.call(asked("c", turn=2), completion("3")) == completion("3")
        trial.end()

        again = Trial(path, "only")
        assert again.call(asked("b", turn=2)) == completion("2")
        assert again.call(asked("c")) == completion("3")
        with pytest.raises(ReplayMiss):
            Trial(path, "only").call(asked("a"))

    def test_record_replaces_the_trial(self, path: Path) -> None:
        recorded(path, (asked("a"), completion("1")), (asked("b"), completion("2")))
        recorded(path, (asked("a"), completion("new")))

        assert [call.answer.body for call in Recording(path).calls if call.answer] == [completion("new")]

    def test_record_of_an_interrupted_trial_changes_nothing(self, path: Path) -> None:
        recorded(path, (asked("a"), completion("1")))
        trial = Trial(path, "record")
        trial.call(asked("a"), completion("2"))
        trial.end(complete=False)

        assert Trial(path, "only").call(asked("a")) == completion("1")

    def test_record_refuses_a_file_of_a_later_release_before_a_call_is_made(self, path: Path) -> None:
        path.write_text('{"version": 9}')
        calls = Trial(path, "record").calls

        with pytest.raises(RecordingUnusable, match="version 9"):
            calls.answer(calls.begin(asked()))

    def test_other_trials_and_other_roles_stay(self, path: Path) -> None:
        recording = Recording(path)
        recording.add(RecordedCall(1, Role.JUDGE, 0, 1, Fingerprint("m"), LLMReply("yes")))
        recording.add(RecordedCall(2, Role.JUDGE, 0, 1, Fingerprint("m"), LLMReply("no")))
        recording.save()
        trial = Trial(path, "auto", trial=2)
        trial.call(asked(), completion())
        trial.end(complete=False)

        found = [(call.trial, call.role) for call in Recording(path).calls]
        assert found == [(1, Role.JUDGE), (2, Role.AGENT), (2, Role.JUDGE)]

    def test_a_trial_has_its_own_answers(self, path: Path) -> None:
        recorded(path, (asked(), completion("1")))

        with pytest.raises(ReplayMiss, match="trial 2 was never recorded"):
            Trial(path, "only", trial=2).call(asked())


class TestEqualCalls:
    def test_the_nth_gets_the_nth_answer_whatever_the_turn(self, path: Path) -> None:
        recorded(
            path,
            (asked("again", turn=1), completion("1")),
            (asked("other", turn=1), completion("x")),
            (asked("again", turn=2), completion("2")),
            (asked("again", turn=2), completion("3")),
        )
        trial = Trial(path, "only")

        assert [trial.call(asked("again", turn=turn)) for turn in (1, 1, 3)] == [
            completion("1"),
            completion("2"),
            completion("3"),
        ]

    def test_more_than_were_recorded_are_a_miss(self, path: Path) -> None:
        recorded(path, (asked(), completion()))
        trial = Trial(path, "only")
        trial.call(asked())

        with pytest.raises(ReplayMiss, match="the same call is made twice now, recorded once"):
            trial.call(asked())

    def test_answers_that_come_in_another_order_belong_to_their_calls(self, path: Path) -> None:
        trial = Trial(path, "record")
        begun = [trial.calls.begin(asked("again")) for _ in range(3)]
        for number in (2, 0, 1):
            trial.calls.keep(begun[number], RecordedAnswer(200, completion(str(number)), JSON))
        trial.end()

        replayed = Trial(path, "only")
        assert [replayed.call(asked("again")) for _ in range(3)] == [
            completion(str(number)) for number in range(3)
        ]


class TestNotRecorded:
    @pytest.mark.parametrize("status", [401, 402, 403, 407, 408, 409, 425, 429, 500, 502, 503, 529])
    def test_failures_that_pass(self, path: Path, status: int) -> None:
        trial = Trial(path, "record")
        trial.call(asked(), b'{"error": {"message": "wait"}}', status=status)
        trial.call(asked(), completion("There."))
        trial.end()

        assert Trial(path, "only").call(asked()) == completion("There.")

    @pytest.mark.parametrize("status", [400, 404, 413, 422])
    def test_a_final_refusal_is_recorded(self, path: Path, status: int) -> None:
        trial = Trial(path, "record")
        trial.call(asked(), b'{"error": {"message": "no"}}', status=status)
        trial.end()

        calls = Trial(path, "only").calls
        answer = calls.answer(calls.begin(asked()))
        assert answer is not None
        assert answer.status == status

    @pytest.mark.parametrize(
        "body",
        [
            sse(chunk({"content": "The"})),
            sse(chunk({"content": "The"}), {"error": {"message": "overloaded"}}),
            b"<html>",
            b'{"error": {"message": "overloaded"}}',
            b"",
        ],
    )
    def test_an_answer_that_is_none(self, path: Path, body: bytes) -> None:
        trial = Trial(path, "record")
        trial.call(asked(), body, SSE if body.startswith(b"data") else JSON)
        trial.end()

        assert not path.exists()


class TestMisses:
    def missed(self, path: Path, request: AgentRequest) -> str:
        with pytest.raises(ReplayMiss) as caught:
            Trial(path, "only").call(request)
        return str(caught.value)

    def test_it_says_what_changed_and_how_to_record(self, path: Path) -> None:
        recorded(path, (asked("Where?"), completion()))
        said = self.missed(path, asked("When?", temperature=1, turn=2))

        assert said.startswith("no reply is recorded for a model call of the agent in turn 2:\n")
        assert "temperature is now 1, recorded without one" in said
        assert "message 1 (user) changed: the user's message, what a tool returned" in said
        assert "run the same with `run.replay: record`" in said

    @pytest.mark.parametrize(
        ("role", "words"),
        [
            ("system", "the system prompt changed: the agent's prompt"),
            ("tool", "what a tool of the agent returned"),
            ("assistant", "what the model said before"),
        ],
    )
    def test_it_says_where_the_text_comes_from(self, path: Path, role: str, words: str) -> None:
        def request(content: str) -> AgentRequest:
            return asked(messages=[{"role": role, "content": content}])

        recorded(path, (request("a"), completion()))
        assert words in self.missed(path, request("b"))

    def test_another_path_is_named(self, path: Path) -> None:
        recorded(path, (asked(), completion()))

        assert 'path is now "completions", recorded with "chat/completions"' in self.missed(
            path, asked(path="v1/completions")
        )

    def test_a_recording_without_the_agents_calls(self, path: Path) -> None:
        recording = Recording(path)
        recording.add(RecordedCall(1, Role.JUDGE, 0, 1, Fingerprint("m"), LLMReply("yes")))
        recording.save()

        said = self.missed(path, asked())
        assert "no model call of the agent is recorded in this trial" in said
        assert "recorded without `target.models`" in said

    def test_no_recording(self, path: Path) -> None:
        assert "this scenario was never recorded" in self.missed(path, asked())


class TestMasking:
    SECRET = "sk-s3cr3t-0123456789abcdef"

    @pytest.mark.parametrize("size", [1, 2, 5, 100])
    def test_a_secret_is_not_stored_however_a_stream_divides_it(self, path: Path, size: int) -> None:
        text = f"The key is {self.SECRET}."
        parts = [text[start : start + size] for start in range(0, len(text), size)]
        redactor = Redactor([self.SECRET], environ={})
        for number, body in enumerate(self.streams(parts)):
            trial = Trial(path.with_name(f"{number}.json"), "record", redactor)
            trial.call(asked(path=("v1/chat/completions", "v1/responses", "v1/messages")[number]), body, SSE)
            trial.end()
            stored = path.with_name(f"{number}.json").read_text()

            assert "The key is ****." in stored
            assert not any(piece in stored for piece in ("s3cr3t", "0123456789", "abcdef"))

    @staticmethod
    def streams(parts: Sequence[str]) -> tuple[bytes, ...]:
        block = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
        deltas = [
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": part}}
            for part in parts
        ]
        said = [{"type": "response.output_text.delta", "item_id": "m", "delta": part} for part in parts]
        whole = {"status": "completed", "output": [{"type": "message", "content": "".join(parts)}]}
        return (
            sse(*(chunk({"content": part}) for part in parts), chunk({}, "stop"), done=True),
            sse(*said, {"type": "response.completed", "response": whole}),
            sse({"type": "message_start"}, block, *deltas, {"type": "message_stop"}),
        )

    @pytest.mark.parametrize("size", [1, 3, 100])
    @pytest.mark.parametrize("kind", ["text/event-stream", "application/x-ndjson"])
    def test_a_secret_in_the_stream_of_another_protocol(self, path: Path, size: int, kind: str) -> None:
        text = f"The key is {self.SECRET}."
        parts = [text[start : start + size] for start in range(0, len(text), size)]
        events = [{"candidates": [{"content": {"parts": [{"text": part}]}}]} for part in parts]
        lines = "".join(json.dumps(event) + "\n" for event in events).encode()
        trial = Trial(path, "record", Redactor([self.SECRET], environ={}))
        trial.call(
            asked(path="v1/other"), lines if "ndjson" in kind else sse(*events), {"content-type": kind}
        )
        trial.end()

        assert "The key is ****." in path.read_text()
        assert not any(piece in path.read_text() for piece in ("s3cr3t", "0123456789"))

    def test_the_older_stream_of_completions(self, path: Path) -> None:
        events = [
            {"choices": [{"index": 0, "text": part}]}
            for part in ("The key is sk-s3cr", "3t-0123456789abcdef")
        ]
        trial = Trial(path, "record", Redactor([self.SECRET], environ={}))
        trial.call(asked(path="v1/completions"), sse(*events, done=True), SSE)
        trial.end()

        assert "The key is ****" in path.read_text()

    def test_a_masked_event_keeps_its_name_and_its_other_lines(self, path: Path) -> None:
        body = b': hello\nid: 7\r\nevent: x\r\ndata: {"type": "x",\r\ndata: "a": "%s"}\r\nretry: 9\r\n\r\n'
        trial = Trial(path, "record", Redactor([self.SECRET], environ={}))
        trial.call(asked(path="v1/other"), body % self.SECRET.encode(), SSE)
        trial.end()

        assert Trial(path, "only").call(asked(path="v1/other")) == (
            b': hello\nid: 7\r\nevent: x\r\ndata: {"type": "x", "a": "****"}\r\nretry: 9\r\n\r\n'
        )

    def test_a_secret_in_the_arguments_of_a_tool(self, path: Path) -> None:
        call = {"id": "c", "function": {"name": "a", "arguments": '{"password": "hunter2"}'}}
        message = {"role": "assistant", "tool_calls": [call]}
        body = json.dumps({"choices": [{"message": message, "finish_reason": "tool_calls"}]}).encode()
        block = {"type": "tool_use", "id": "t", "name": "a", "input": {"password": "hunter2"}}
        recorded(
            path,
            (asked(), body),
            (asked(path="v1/messages"), json.dumps({"content": [block]}).encode()),
        )

        assert "hunter2" not in path.read_text()
        assert path.read_text().count("****") == 2

    def test_chances_of_tokens_are_no_secrets(self, path: Path) -> None:
        chances = {"content": [{"token": "There", "logprob": -0.1}]}
        body = json.dumps({"choices": [{"message": {"content": "There"}, "logprobs": chances}]}).encode()
        recorded(path, (asked(), body))

        assert Trial(path, "only").call(asked()) == body

    @pytest.mark.parametrize("headers", [JSON, SSE])
    def test_personal_data_is_put_back(self, path: Path, headers: dict[str, str]) -> None:
        def redactor() -> Redactor:
            found = Masking((BUILT_IN["email"],)).redactor(Redactor(environ={}))
            found.meet("I am ann@example.com")
            return found

        parts = ["I write to ann@", "example.com and to bob@example.org."]
        streamed = sse(*(chunk({"content": part}) for part in parts), chunk({}, "stop"), done=True)
        body = streamed if headers is SSE else completion("".join(parts))
        trial = Trial(path, "record", redactor())
        trial.call(asked("ann@example.com"), body, headers)
        trial.end()
        assert "I write to [email 1] and to [email 2]." in path.read_text()
        assert "@" not in path.read_text().replace("@example.com and", "")

        replayed = Trial(path, "only", redactor()).call(asked("ann@example.com")).decode()
        assert "I write to ann@example.com and to [email 2]." in replayed

    def test_embeddings_are_not_taken_for_phone_numbers(self, path: Path) -> None:
        redactor = Masking((BUILT_IN["phone"],)).redactor(Redactor(environ={}))
        body = b'{"data": [{"embedding": "+49 30 1234567 AAAA"}], "model": "e"}'
        request = asked(path="v1/embeddings", input="a")
        recorded(path, (request, body), redactor=redactor)

        assert Trial(path, "only", redactor).call(request) == body

    def test_the_same_call_is_found_once_more_is_masked(self, path: Path) -> None:
        recorded(path, (asked("ann@example.com"), completion()))
        redactor = Masking((BUILT_IN["email"],)).redactor(Redactor(environ={}))

        assert Trial(path, "only", redactor).call(asked("ann@example.com")) == completion()


def test_an_answer_is_continued_by_its_id(path: Path) -> None:
    def response(identifier: str, text: str) -> bytes:
        item = {"type": "message", "content": [{"type": "output_text", "text": text}]}
        return json.dumps({"id": identifier, "status": "completed", "output": [item]}).encode()

    def conversation(trial: Trial, *identifiers: str) -> list[bytes]:
        got: list[bytes] = []
        for number, identifier in enumerate(identifiers):
            before = {"previous_response_id": json.loads(got[-1])["id"]} if got else {}
            request = asked("Yes" if number else "Where?", path="v1/responses", **before)
            got.append(trial.call(request, response(identifier, f"answer {number}")))
        return got

    trial = Trial(path, "record")
    first = conversation(trial, "resp_a", "resp_b", "resp_c")
    trial.end()

    assert conversation(Trial(path, "only"), "", "", "") == first


STORED = sorted((Path(__file__).parents[2] / "scenarios").rglob("_recordings*/**/*.json"))


@pytest.mark.parametrize("stored", STORED, ids=lambda path: path.stem)
def test_recordings_from_before_agents_calls_are_written_as_they_were(stored: Path) -> None:
    text = stored.read_text(encoding="utf-8")
    data = json.loads(text)
    contents = loads(text)
    again = dumps(contents.calls, recorded=data["recorded"], now=contents.now)

    # The oldest ones have no digests; they get them when something is recorded.
    expected = text if "digest" in data else json.dumps(_without_digests(json.loads(again)))
    assert (again if "digest" in data else json.dumps(data)) == expected


def _without_digests(data: Any) -> Any:
    if isinstance(data, dict):
        return {name: _without_digests(value) for name, value in data.items() if name != "digest"}
    return [_without_digests(item) for item in data] if isinstance(data, list) else data
