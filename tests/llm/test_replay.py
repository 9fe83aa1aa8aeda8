from __future__ import annotations

import asyncio
import subprocess
import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convoprobe.errors import LLMUnavailable, RecordingUnusable, ReplayMiss
from pytest_convoprobe.llm.fake import FakeLLM
from pytest_convoprobe.llm.fingerprint import Fingerprints, differences
from pytest_convoprobe.llm.port import (
    CallContext,
    LLMReply,
    LLMRequest,
    Message,
    Role,
    ToolRequest,
    ToolSpec,
)
from pytest_convoprobe.llm.recording import Mode, Recording
from pytest_convoprobe.llm.replay import Replaying
from pytest_convoprobe.redaction import Expanded, Redactor
from pytest_convoprobe.settings.model_settings import ModelSettings
from pytest_convoprobe.transcript import Usage

SCENARIO = "scenarios/orders.yaml::Late order"
MODEL = ModelSettings(model="openai/small", temperature=0.0)
NOBODY_KNOWS = Redactor(environ={})


def request(
    *messages: Message | str,
    role: Role = Role.SYNTHETIC_USER,
    turn: int = 2,
    trial: int = 1,
    model: ModelSettings = MODEL,
    **rest: Any,
) -> LLMRequest:
    said = tuple(Message("user", one) if isinstance(one, str) else one for one in messages or ("Hi?",))
    return LLMRequest(model, said, CallContext(role, SCENARIO, trial, turn), **rest)


PERSONA = "the user's persona, facts or instructions, run.now, or this release's prompt"


def never(_: LLMRequest) -> LLMReply:
    raise AssertionError("a live call was made")


@dataclass
class Bench:
    """One recording on disk, and trials over it."""

    path: Path
    redactor: Redactor = NOBODY_KNOWS

    def trial(self, mode: Mode, answer: Any = never) -> tuple[Replaying, FakeLLM]:
        live = FakeLLM(answer)
        return Replaying(live, Recording.open(self.path), mode, self.redactor), live

    async def record(self, calls: dict[LLMRequest, Any] | list[tuple[LLMRequest, Any]]) -> None:
        pairs = calls if isinstance(calls, list) else list(calls.items())
        replaying, _ = self.trial("record", [answer for _, answer in pairs])
        for one, _ in pairs:
            await replaying.complete(one)
        await replaying.finish(complete=True)

    async def miss(self, one: LLMRequest) -> str:
        replaying, _ = self.trial("only")
        with pytest.raises(ReplayMiss) as caught:
            await replaying.complete(one)
        return str(caught.value)

    @property
    def texts(self) -> list[str]:
        return [call.reply.text for call in Recording.open(self.path).calls]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path / "_recordings" / "orders" / "late-order.json")


class TestOff:
    async def test_passes_through_and_records_nothing(self, bench: Bench) -> None:
        replaying, live = bench.trial("off", ["live"])
        assert (await replaying.complete(request())).text == "live"
        await replaying.finish(complete=True)
        assert live.requests == [request()]
        assert not bench.path.exists()

    async def test_never_looks_at_a_recording(self, bench: Bench) -> None:
        bench.path.parent.mkdir(parents=True)
        bench.path.write_text("torn")
        replaying, _ = bench.trial("off", ["live"])
        assert (await replaying.complete(request())).text == "live"

    async def test_aclose_closes_the_live_models(self, bench: Bench) -> None:
        replaying, live = bench.trial("off")
        await replaying.aclose()
        assert live.closed


class TestOnly:
    async def test_gives_back_the_whole_reply_and_spends_nothing(self, bench: Bench) -> None:
        reply = LLMReply(
            "yes", (ToolRequest("x", "find", "{}"),), Usage(7, 2), 0.25, "tool_calls", attempts=3
        )
        await bench.record([(request(), reply)])
        replaying, _ = bench.trial("only")
        assert await replaying.complete(request()) == replace(
            reply, tool_requests=(ToolRequest("call_2_1_1", "find", "{}"),), attempts=0, replayed=True
        )

    async def test_writes_nothing(self, bench: Bench) -> None:
        await bench.record([(request(), "yes"), (request(turn=3), "unused")])
        before = bench.path.read_bytes()
        replaying, _ = bench.trial("only")
        await replaying.complete(request())
        await replaying.finish(complete=True)
        assert bench.path.read_bytes() == before

    async def test_replays_again_and_again(self, bench: Bench) -> None:
        await bench.record([(request(), "yes")])
        for _ in range(2):
            replaying, _live = bench.trial("only")
            assert (await replaying.complete(request())).text == "yes"

    async def test_asked_again_in_one_turn_gets_the_later_reply(self, bench: Bench) -> None:
        await bench.record([(request(), "first"), (request(), "second")])
        replaying, _ = bench.trial("only")
        assert [(await replaying.complete(request())).text for _ in range(2)] == ["first", "second"]

    async def test_the_order_of_different_calls_does_not_matter(self, bench: Bench) -> None:
        asked = [request(f"question {number}") for number in range(6)]
        await bench.record([(one, f"answer {number}") for number, one in enumerate(asked)])
        replaying, _ = bench.trial("only")
        replies = await asyncio.gather(*(replaying.complete(one) for one in reversed(asked)))
        assert [reply.text for reply in replies] == [f"answer {number}" for number in range(5, -1, -1)]

    async def test_each_trial_has_its_own_replies(self, bench: Bench) -> None:
        await bench.record([(request(trial=1), "one")])
        await bench.record([(request(trial=2), "two")])
        for trial, text in ((1, "one"), (2, "two")):
            replaying, _ = bench.trial("only")
            assert (await replaying.complete(request(trial=trial))).text == text

    async def test_an_unusable_file_is_its_own_error(self, bench: Bench) -> None:
        bench.path.parent.mkdir(parents=True)
        bench.path.write_text('{"version": 1, "calls"')
        with pytest.raises(RecordingUnusable, match="it is not whole JSON"):
            await bench.trial("only")[0].complete(request())


class TestMiss:
    async def test_whole_message(self, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(bench.path.parents[2])
        await bench.record([(request(Message("system", "Be brief."), "Hi"), "yes")])
        assert await bench.miss(request(Message("system", "Be kind."), "Hi")) == textwrap.dedent(
            f"""\
            no reply is recorded for the synthetic user's call in turn 2:
              - the system prompt changed: {PERSONA}.
            The recording is {Path("_recordings/orders/late-order.json")}. \
To record it again, run the same with `run.replay: record`."""
        )

    @pytest.mark.parametrize(
        ("now", "expected"),
        [
            (request("a", "b", "changed"), "message 3 (user) changed: the agent's reply"),
            (request("a", "b"), "the number of messages is now 2, recorded with 3"),
            (request("v", "w", "x"), "message 1 (user) changed: the agent's reply"),
            (
                request("a", "b", "c", model=MODEL.model_copy(update={"model": "openai/large"})),
                "the model is now openai/large, recorded with openai/small",
            ),
            (
                request("a", "b", "c", model=MODEL.model_copy(update={"model": None})),
                "the model is not set now, recorded with openai/small",
            ),
            (
                request("a", "b", "c", model=MODEL.model_copy(update={"temperature": 0.7})),
                "temperature is now 0.7, recorded with 0.0",
            ),
            (request("a", "b", "c", max_tokens=900), "max_tokens is now 900, recorded without one"),
            (
                request("a", "b", "c", model=MODEL.model_copy(update={"reasoning": "high"})),
                'reasoning is now "high", recorded without one',
            ),
            (
                request("a", "b", "c", model=MODEL.model_copy(update={"extra_params": {"top_p": 0.9}})),
                "top_p is now 0.9, recorded without one",
            ),
            (
                request("a", "b", "c", schema={"type": "object"}),
                "there is a reply schema now, recorded without",
            ),
            (
                request("a", "b", "c", tools=(ToolSpec("find", "Finds.", {}),)),
                "there are tools now, recorded without",
            ),
            (
                request("a", "b", "c", turn=4),
                "this turn was never recorded (recorded for the synthetic user: turn 2)",
            ),
            (request("a", "b", "c", trial=3), "trial 3 was never recorded"),
            (request("a", "b", "c", role=Role.JUDGE, turn=0), "the judge was never recorded"),
        ],
    )
    async def test_says_what_changed(self, bench: Bench, now: LLMRequest, expected: str) -> None:
        await bench.record([(request("a", "b", "c"), "yes")])
        lines = (await bench.miss(now)).splitlines()
        assert f"  - {expected}" in [line.removesuffix(".") for line in lines]

    @pytest.mark.parametrize(
        ("then", "now", "expected"),
        [
            (
                request(Message("system", "S"), "a", "b"),
                request("a", "b"),
                ["there is no system prompt now, recorded with one"],
            ),
            (
                request("a", "b"),
                request(Message("system", "S"), "a", "b"),
                ["there is a system prompt now, recorded without"],
            ),
            (
                request("a", "b"),
                request(Message("system", "S"), "a", "changed", "c"),
                [
                    "there is a system prompt now, recorded without",
                    "message 3 (user) changed: the agent's reply",
                    "the number of messages beside the system prompt is now 3, recorded with 2",
                ],
            ),
            (
                request("a", Message("assistant", "b")),
                request("a", "b"),
                ["message 2 is now of the role user, recorded with assistant"],
            ),
            (
                request("a", Message("system", "b")),
                request("a", Message("system", "c")),
                [f"message 2 (system) changed: {PERSONA}"],
            ),
            (
                request(schema={"type": "object"}, tools=(ToolSpec("find", "Finds.", {}),)),
                request(),
                [
                    "there are no tools now, recorded with some",
                    "there is no reply schema now, recorded with one",
                ],
            ),
            (
                request(schema={"type": "object"}, tools=(ToolSpec("find", "Finds.", {}),)),
                request(schema={"type": "array"}, tools=(ToolSpec("seek", "Finds.", {}),)),
                ["the tools changed", "the reply schema changed"],
            ),
            (
                request(model=MODEL.model_copy(update={"extra_params": {"top_k": 1, "n": True}})),
                request(model=MODEL.model_copy(update={"extra_params": {"top_k": 1.0}})),
                ["n is not set now, recorded with true", "top_k is now 1.0, recorded with 1"],
            ),
            (
                request(model=MODEL.model_copy(update={"model": None})),
                request(),
                ["the model is now openai/small, recorded without one"],
            ),
        ],
    )
    async def test_says_what_came_what_went_and_what_changed(
        self, bench: Bench, then: LLMRequest, now: LLMRequest, expected: list[str]
    ) -> None:
        await bench.record([(then, "yes")])
        lines = (await bench.miss(now)).splitlines()[1:-1]
        assert lines == [*(f"  - {reason}" for reason in expected[:-1]), f"  - {expected[-1]}."]

    @pytest.mark.parametrize(
        ("role", "expected"),
        [
            (
                Role.JUDGE,
                "what the agent said or reported of its tools, "
                "the scenario's description and criteria, or run.now",
            ),
            (Role.TARGET, "the user's message"),
        ],
    )
    async def test_says_where_a_message_comes_from(self, bench: Bench, role: Role, expected: str) -> None:
        await bench.record([(request("a", role=role), "yes")])
        assert f"  - message 1 (user) changed: {expected}.\n" in await bench.miss(request("b", role=role))

    async def test_is_no_fault_of_the_infrastructure(self, bench: Bench) -> None:
        with pytest.raises(ReplayMiss) as caught:
            await bench.trial("only")[0].complete(request())
        assert (caught.value.blame.value, RecordingUnusable.blame.value) == ("recording", "recording")

    async def test_without_any_recording(self, bench: Bench) -> None:
        assert "  - this scenario was never recorded.\n" in await bench.miss(request())

    async def test_names_the_role_and_the_trial(self, bench: Bench) -> None:
        message = await bench.miss(request(role=Role.JUDGE, turn=0, trial=2))
        assert "no reply is recorded for the judge's call (trial 2):" in message

    async def test_one_call_more_than_was_recorded(self, bench: Bench) -> None:
        await bench.record([(request(), "yes")])
        replaying, _ = bench.trial("only")
        await replaying.complete(request())
        with pytest.raises(ReplayMiss, match="the same call is made twice now, recorded once"):
            await replaying.complete(request())

    async def test_a_further_question_is_not_compared_with_those_that_were_answered(
        self, bench: Bench
    ) -> None:
        await bench.record([(request("a"), "yes")])
        replaying, _ = bench.trial("only")
        await replaying.complete(request("a"))
        with pytest.raises(ReplayMiss, match="it is one call more than were recorded"):
            await replaying.complete(request("b", "c"))

    async def test_compares_with_the_nearest_call_of_the_turn(self, bench: Bench) -> None:
        await bench.record([(request("a", "b", "c"), "yes"), (request("a", "b", "c", "d", "e"), "no")])
        assert "  - message 5 (user) changed: " in await bench.miss(request("a", "b", "c", "d", "changed"))

    async def test_many_changed_messages_are_counted(self, bench: Bench) -> None:
        await bench.record([(request(*"abcdef"), "yes")])
        message = await bench.miss(request(*"uvwxyz"))
        assert (
            "  - message 3 (user) changed: the agent's reply\n  - and 3 more messages changed.\n" in message
        )


_SAME = {
    "api_base": {"api_base": "http://localhost:1/v1"},
    "api_key": {"api_key": "sk-other"},
    "timeout": {"timeout": 5.0},
    "max_attempts": {"max_attempts": 1},
    "extra_headers": {"extra_headers": {"X-Trace": "1"}},
    "prices": {"input_cost_per_token": 0.1, "output_cost_per_token": 0.2},
    "volatile extra parameters": {"extra_params": {"api_version": "2026-01", "aws_region_name": "eu"}},
}


class TestSameCall:
    @pytest.mark.parametrize("update", _SAME.values(), ids=_SAME.keys())
    async def test_where_and_how_it_is_called_does_not_matter(
        self, bench: Bench, update: dict[str, Any]
    ) -> None:
        await bench.record([(request(), "yes")])
        other = request(model=ModelSettings.model_validate({**MODEL.model_dump(), **update}))
        replaying, _ = bench.trial("only")
        assert (await replaying.complete(other)).text == "yes"

    async def test_generated_ids_of_tool_calls_do_not_matter(self, bench: Bench) -> None:
        await bench.record([(_after_two_tools("call_9f", "call_3c"), "yes")])
        replaying, _ = bench.trial("only")
        assert (await replaying.complete(_after_two_tools("x1", "x2"))).text == "yes"

    async def test_which_result_belongs_to_which_tool_call_does_matter(self, bench: Bench) -> None:
        await bench.record([(_after_two_tools("a", "b"), "yes")])
        crossed = _after_two_tools("a", "b")
        first, second = crossed.messages[-2:]
        swapped = (replace(first, tool_call_id="b"), replace(second, tool_call_id="a"))
        assert "message 3 (tool) changed" in await bench.miss(
            replace(crossed, messages=(*crossed.messages[:-2], *swapped))
        )

    @pytest.mark.parametrize(
        ("then", "now"),
        [
            ({"type": "object", "title": "Answer"}, {"type": "object", "title": "Reply"}),
            ({"description": "a\n    b"}, {"description": "a b"}),
            ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ],
    )
    async def test_the_wording_of_a_generated_schema_does_not_matter(
        self, bench: Bench, then: dict[str, Any], now: dict[str, Any]
    ) -> None:
        await bench.record([(request(schema=then), "yes")])
        replaying, _ = bench.trial("only")
        assert (await replaying.complete(request(schema=now))).text == "yes"

    async def test_a_property_called_title_does_matter(self, bench: Bench) -> None:
        then = request(schema={"properties": {"title": {"type": "string"}}})
        await bench.record([(then, "yes")])
        now = request(schema={"properties": {"title": {"type": "integer"}}})
        assert "the reply schema changed" in await bench.miss(now)

    @given(st.lists(st.text(), min_size=1), st.integers(0, 10), st.text())
    def test_any_other_word_in_any_message_is_another_call(
        self, words: list[str], place: int, other: str
    ) -> None:
        place %= len(words)
        changed = [*words[:place], other, *words[place + 1 :]]
        fingerprints = Fingerprints(NOBODY_KNOWS)
        now, then = fingerprints.of(request(*changed)), fingerprints.of(request(*words))
        assert (now.digest == then.digest) == (changed == words) == (differences(now, then) == ())


def _after_two_tools(first: str, second: str) -> LLMRequest:
    asked = (ToolRequest(first, "find", '{"n": 1}'), ToolRequest(second, "find", '{"n": 2}'))
    return request(
        "Hi",
        Message("assistant", "", asked),
        Message("tool", "found 1", tool_call_id=first),
        Message("tool", "found 2", tool_call_id=second),
    )


class TestRecord:
    async def test_always_calls_live_and_replaces(self, bench: Bench) -> None:
        await bench.record([(request(), "old"), (request(turn=3), "no longer said")])
        await bench.record([(request(), "new")])
        assert bench.texts == ["new"]

    async def test_the_other_trials_stay(self, bench: Bench) -> None:
        await bench.record([(request(trial=1), "one")])
        await bench.record([(request(trial=2), "two")])
        await bench.record([(request(trial=1), "one again")])
        assert bench.texts == ["one again", "two"]

    async def test_the_live_reply_is_handed_on_as_it_came(self, bench: Bench) -> None:
        reply = LLMReply("live", attempts=2)
        replaying, _ = bench.trial("record", [reply])
        assert await replaying.complete(request()) is reply

    async def test_a_trial_that_breaks_off_leaves_the_recording_as_it_was(self, bench: Bench) -> None:
        await bench.record([(request(), "good"), (request(turn=3), "good too")])
        before = bench.path.read_bytes()
        replaying, _ = bench.trial("record", ["new", LLMUnavailable("gone")])
        await replaying.complete(request())
        with pytest.raises(LLMUnavailable):
            await replaying.complete(request(turn=3))
        await replaying.finish(complete=False)
        assert bench.path.read_bytes() == before

    async def test_a_broken_file_is_replaced(self, bench: Bench) -> None:
        bench.path.parent.mkdir(parents=True)
        bench.path.write_text("torn")
        await bench.record([(request(), "new")])
        assert bench.texts == ["new"]

    async def test_a_file_of_a_later_version_is_refused_before_anything_is_spent(self, bench: Bench) -> None:
        bench.path.parent.mkdir(parents=True)
        bench.path.write_text('{"version": 99}')
        replaying, live = bench.trial("record", ["new"])
        with pytest.raises(RecordingUnusable, match=r"Update pytest-convoprobe"):
            await replaying.complete(request())
        assert live.requests == []

    async def test_the_same_run_gives_the_same_file(self, bench: Bench) -> None:
        calls = [(request("a"), "1"), (request("b"), "2"), (request(turn=3), "3")]
        await bench.record(calls)
        before = bench.path.read_bytes()
        await bench.record(calls)
        assert bench.path.read_bytes() == before


class TestAuto:
    async def test_replays_what_is_recorded_and_records_the_rest(self, bench: Bench) -> None:
        await bench.record([(request(), "recorded")])
        replaying, live = bench.trial("auto", ["live"])
        replies = [await replaying.complete(request(turn=turn)) for turn in (2, 3)]
        await replaying.finish(complete=True)
        assert [(reply.text, reply.replayed) for reply in replies] == [("recorded", True), ("live", False)]
        assert live.requests == [request(turn=3)]
        assert bench.texts == ["recorded", "live"]

    async def test_what_was_not_used_is_dropped_when_something_was_added(self, bench: Bench) -> None:
        await bench.record(
            [(request("old"), "old"), (request(turn=3), "kept"), (request(trial=1, turn=4), "old")]
        )
        replaying, _ = bench.trial("auto", ["new"])
        await replaying.complete(request("new"))
        await replaying.complete(request(turn=3))
        await replaying.finish(complete=True)
        assert bench.texts == ["new", "kept"]

    async def test_a_broken_file_is_an_error_before_anything_is_spent_and_made_anew_once_deleted(
        self, bench: Bench
    ) -> None:
        bench.path.parent.mkdir(parents=True)
        bench.path.write_text("<<<<<<< ours")
        replaying, live = bench.trial("auto", ["new"])
        with pytest.raises(RecordingUnusable, match=r"late-order\.json.*or delete it"):
            await replaying.complete(request())
        assert live.requests == []
        assert bench.path.read_text() == "<<<<<<< ours"
        bench.path.unlink()
        replaying, _ = bench.trial("auto", ["new"])
        await replaying.complete(request())
        await replaying.finish(complete=True)
        assert bench.texts == ["new"]

    async def test_a_full_replay_writes_nothing(self, bench: Bench) -> None:
        await bench.record([(request(), "used"), (request(turn=3), "not used this time")])
        before = bench.path.read_bytes()
        replaying, _ = bench.trial("auto")
        await replaying.complete(request())
        await replaying.finish(complete=True)
        assert bench.path.read_bytes() == before

    async def test_what_a_broken_off_trial_recorded_is_kept_beside_the_old(self, bench: Bench) -> None:
        await bench.record([(request(), "old"), (request(turn=4), "old, not reached")])
        replaying, _ = bench.trial("auto", ["new"])
        await replaying.complete(request())
        await replaying.complete(request(turn=3))
        await replaying.finish(complete=False)
        assert bench.texts == ["old", "new", "old, not reached"]

    async def test_a_failed_call_is_not_recorded(self, bench: Bench) -> None:
        replaying, _ = bench.trial("auto", [LLMUnavailable("gone"), "second"])
        with pytest.raises(LLMUnavailable):
            await replaying.complete(request())
        assert (await replaying.complete(request(turn=3))).text == "second"
        await replaying.finish(complete=True)
        assert bench.texts == ["second"]

    async def test_calls_keep_the_order_in_which_they_were_made(self, bench: Bench) -> None:
        await bench.record([(request("b"), "b"), (request("old"), "old")])
        replaying, _ = bench.trial("auto", ["a", "c"])
        for text in "abc":
            await replaying.complete(request(text))
        await replaying.finish(complete=True)
        assert bench.texts == ["a", "b", "c"]

    async def test_replies_that_arrive_out_of_order_are_recorded_in_the_order_of_the_calls(
        self, bench: Bench
    ) -> None:
        second_is_done = asyncio.Event()

        async def answer(one: LLMRequest) -> str:
            text = one.messages[0].content
            await (second_is_done.wait() if text == "first" else asyncio.sleep(0))
            second_is_done.set()
            return text

        replaying, _ = bench.trial("auto", answer)
        await asyncio.gather(*(replaying.complete(request(text)) for text in ("first", "second")))
        await replaying.finish(complete=True)
        assert bench.texts == ["first", "second"]


class TestSecrets:
    SECRET = "zq81-topsecret-77"

    @pytest.fixture
    def knowing(self, bench: Bench) -> Bench:
        return Bench(bench.path, Redactor([self.SECRET], environ={}))

    @pytest.mark.parametrize(
        "reply",
        [
            lambda secret: LLMReply(f"My key is {secret}."),
            lambda secret: LLMReply("", (ToolRequest("1", "login", f'{{"with": "{secret}"}}'),)),
        ],
    )
    async def test_no_secret_reaches_the_file(self, knowing: Bench, reply: Callable[[str], LLMReply]) -> None:
        model = MODEL.model_copy(update={"extra_params": {"note": self.SECRET, "session_token": "abc"}})
        await knowing.record([(request(self.SECRET, model=model), reply(self.SECRET))])
        written = knowing.path.read_text("utf-8")
        assert self.SECRET not in written
        assert '"abc"' not in written

    async def test_a_conversation_that_went_on_with_the_secret_is_still_replayed(
        self, bench: Bench, knowing: Bench
    ) -> None:
        said = f"My key is {self.SECRET}."
        await knowing.record([(request("Your key?"), said), (request("Your key?", said, turn=3), "thanks")])
        replaying, _ = bench.trial("only")
        first = await replaying.complete(request("Your key?"))
        assert (await replaying.complete(request("Your key?", first.text, turn=3))).text == "thanks"


def test_a_replay_imports_no_litellm_and_opens_no_connection(tmp_path: Path) -> None:
    code = f"""
    import asyncio, socket, sys
    from pathlib import Path
    from pytest_convoprobe.llm.port import CallContext, LLMReply, LLMRequest, Message, Role
    from pytest_convoprobe.llm.recording import Recording
    from pytest_convoprobe.llm.replay import Replaying
    from pytest_convoprobe.settings.model_settings import ModelSettings

    class Live:
        async def complete(self, request):
            return LLMReply("hello")

    request = LLMRequest(ModelSettings(model="m"), (Message("user", "Hi"),), CallContext(Role.JUDGE))

    async def trial(mode, live):
        replaying = Replaying(live, Recording.open(Path({str(tmp_path / "a.json")!r})), mode)
        reply = await replaying.complete(request)
        await replaying.finish(complete=True)
        return reply

    asyncio.run(trial("record", Live()))
    sys.addaudithook(lambda event, args: event == "socket.connect" and sys.exit("connected"))
    print(asyncio.run(trial("only", None)).text, "litellm" in sys.modules, "httpx" in sys.modules)
    """
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.stdout, done.stderr) == ("hello False False\n", "")


async def test_a_recording_replays_that_was_made_when_variables_were_no_secrets(tmp_path: Path) -> None:
    told = request("You speak for Rosebud Hotel", "Hi?")
    await Bench(tmp_path / "r.json").record([(told, "Hello from Rosebud Hotel")])
    now = Bench(tmp_path / "r.json", Redactor([Expanded("Rosebud Hotel")], environ={}))
    replaying, _ = now.trial("only")
    assert (await replaying.complete(told)).text == "Hello from Rosebud Hotel"
