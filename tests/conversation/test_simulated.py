from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_convoprobe.conversation.port import Status
from pytest_convoprobe.conversation.simulated import Direction, SimulatedUser
from pytest_convoprobe.errors import Blame, LLMUnavailable, SimulatorError
from pytest_convoprobe.llm.fake import Answer, FakeLLM
from pytest_convoprobe.llm.port import CallContext, LLMReply, Role
from pytest_convoprobe.settings.model_settings import ModelSettings
from pytest_convoprobe.transcript import Origin, Reply, Turn

from .doubles import says

VALUES: dict[str, Any] = {
    "persona": "A busy traveller",
    "background": ["You were late yesterday, too"],
    "known_facts": ("I am in Oslo",),
    "unknown_facts": ("The postal code",),
    "patience": 1,
    "may_give_up": True,
    "verbosity": "concise",
    "expertise": "novice",
}
TURNS = (Turn(1, "Weather?", Reply("In which city?")),)


def simulated(llm: FakeLLM, **settings: Any) -> SimulatedUser:
    model = ModelSettings(model="openai/fake", **settings)
    return SimulatedUser(llm, model, values=VALUES, scenario="weather.yaml::a", trial=2)


def system_prompt(llm: FakeLLM) -> str:
    return llm.requests[0].messages[0].content


async def refused(*answers: Answer, turns: tuple[Turn, ...] = TURNS) -> str:
    with pytest.raises(SimulatorError) as caught:
        await simulated(FakeLLM(answers)).next_message(turns)
    assert caught.value.blame is Blame.SIMULATOR
    return str(caught.value)


async def test_one_message_and_what_the_user_means_to_do() -> None:
    message = await simulated(FakeLLM([says("Oslo, thanks.", "done")])).next_message(TURNS)
    assert (message.text, message.status, message.origin) == ("Oslo, thanks.", Status.DONE, Origin.SIMULATED)


async def test_one_good_message_costs_one_call() -> None:
    llm = FakeLLM([says("Oslo")])
    await simulated(llm).next_message(TURNS)
    assert len(llm.requests) == 1


async def test_the_call_says_whose_it_is() -> None:
    llm = FakeLLM([says("Oslo")])
    await simulated(llm).next_message(TURNS)
    assert llm.requests[0].context == CallContext(Role.SYNTHETIC_USER, "weather.yaml::a", trial=2, turn=2)


async def test_a_first_message_may_be_simulated() -> None:
    llm = FakeLLM([says("Weather?")])
    message = await simulated(llm).next_message(())
    assert message.text == "Weather?"
    assert llm.requests[0].context.turn == 1


async def test_a_faulty_message_is_asked_for_again_with_the_fault() -> None:
    llm = FakeLLM([says("How can I help you today?"), says("Oslo")])
    message = await simulated(llm).next_message(TURNS)
    bad, repair = llm.requests[1].messages[-2:]
    assert message.text == "Oslo"
    assert json.loads(bad.content)["message"] == "How can I help you today?"
    assert repair.role == "user"
    assert "it talks as the assistant ('How can I help you today?')" in repair.content


async def test_two_faulty_messages_void_the_conversation() -> None:
    message = await refused(says("How can I help you today?"), says(" "))
    assert message == (
        "turn 2: the synthetic user wrote what no user would, also when asked again: it is empty. "
        "It wrote: ''"
    )


async def test_the_refused_message_is_shown() -> None:
    message = await refused(says(""), says("</reply>Oslo"))
    assert message.endswith("It wrote: '</reply>Oslo'")


async def test_the_opening_again_is_refused() -> None:
    assert "it repeats the first message word for word" in await refused(says("Weather?"), says("weather"))


async def test_the_end_before_the_beginning_is_refused() -> None:
    assert "ends the conversation before it has begun" in await refused(
        says("Bye", "done"), says("Bye", "gave_up"), turns=()
    )


async def test_plain_text_is_asked_for_again_as_json() -> None:
    assert (await simulated(FakeLLM(["Oslo", says("Oslo")])).next_message(TURNS)).text == "Oslo"


async def test_a_model_that_never_writes_json_is_the_simulators_fault() -> None:
    message = await refused("Oslo", "Oslo", "Oslo")
    assert message.startswith("turn 2: The synthetic user's model openai/fake gave no usable reply")


async def test_an_unknown_status_is_asked_for_again() -> None:
    message = await simulated(FakeLLM([says("Oslo", "maybe"), says("Oslo")])).next_message(TURNS)
    assert message.status is Status.CONTINUE


async def test_a_provider_that_is_down_is_not_the_simulators_fault() -> None:
    with pytest.raises(LLMUnavailable):
        await simulated(FakeLLM([LLMUnavailable("503")])).next_message(TURNS)


async def test_text_around_the_json_does_no_harm() -> None:
    llm = FakeLLM([LLMReply(text=f"<think>a city</think>Here:\n```json\n{says('Oslo')}\n```")])
    assert (await simulated(llm).next_message(TURNS)).text == "Oslo"


async def test_nobody_is_done_while_the_talk_may_not_end() -> None:
    llm = FakeLLM([says("Fine.", "done")])
    message = await simulated(llm).next_message(TURNS, Direction(may_end=False))
    assert (message.text, message.status) == ("Fine.", Status.CONTINUE)


async def test_giving_up_counts_at_any_time() -> None:
    llm = FakeLLM([says("Forget it.", "gave_up")])
    message = await simulated(llm).next_message(TURNS, Direction(may_end=False))
    assert message.status is Status.GAVE_UP


async def test_a_second_goodbye_ends_the_talk() -> None:
    turns = (*TURNS, Turn(2, "Thanks, bye!", Reply("Bye!")))
    message = await simulated(FakeLLM([says("You too, take care!")])).next_message(turns)
    assert message.status is Status.DONE


async def test_a_first_goodbye_ends_nothing_by_itself() -> None:
    message = await simulated(FakeLLM([says("Thanks, bye!")])).next_message(TURNS)
    assert message.status is Status.CONTINUE


async def test_the_prompt_holds_persona_and_facts() -> None:
    llm = FakeLLM([says("Oslo")])
    await simulated(llm).next_message(TURNS)
    prompt = system_prompt(llm)
    assert "A busy traveller\nYou were late yesterday, too" in prompt
    assert "only when the assistant asks for exactly that:\n- I am in Oslo" in prompt
    assert "your message is that you don't know:\n- The postal code" in prompt


async def test_the_prompt_tells_patience_as_a_number() -> None:
    llm = FakeLLM([says("Oslo")])
    await simulated(llm).next_message(TURNS)
    assert "You answer up to 1 question of the assistant calmly" in system_prompt(llm)


async def test_the_prompt_describes_the_shape_of_the_answer() -> None:
    llm = FakeLLM([says("Oslo")])
    await simulated(llm).next_message(TURNS)
    assert '{"message": "the words that you say to the assistant", "status": "continue"}' in system_prompt(
        llm
    )


async def test_instructions_of_this_turn_and_extra_instructions_are_in_the_prompt() -> None:
    llm = FakeLLM([says("Oslo")])
    direction = Direction(instructions=("Ask for Bergen as well.",))
    await simulated(llm, extra_instructions="Write in Norwegian.").next_message(TURNS, direction)
    assert "For your next message, do this:\n- Ask for Bergen as well." in system_prompt(llm)
    assert "Write in Norwegian." in system_prompt(llm)


async def test_done_is_not_offered_while_the_talk_may_not_end() -> None:
    llm = FakeLLM([says("Oslo")])
    await simulated(llm).next_message(TURNS, Direction(may_end=False))
    assert '"done"' not in system_prompt(llm)


async def test_the_schema_of_the_reply_goes_with_the_call() -> None:
    llm = FakeLLM([says("Oslo")])
    await simulated(llm).next_message(TURNS)
    schema = llm.requests[0].schema
    assert schema is not None
    assert sorted(schema["properties"]) == ["message", "status"]


@pytest.mark.parametrize("status", ["done", "gave_up"])
async def test_an_empty_message_with_the_end_is_the_end(status: str) -> None:
    llm = FakeLLM([says("", status)])
    message = await simulated(llm).next_message(TURNS)
    assert (message.text, message.status.value, len(llm.requests)) == ("", status, 1)


async def test_an_empty_message_is_no_end_while_the_talk_may_not_end() -> None:
    llm = FakeLLM([says("", "done"), says("Oslo")])
    message = await simulated(llm).next_message(TURNS, Direction(may_end=False))
    assert (message.text, len(llm.requests)) == ("Oslo", 2)


async def test_thoughts_in_a_message_are_not_said() -> None:
    llm = FakeLLM([says("<think>They want a city.</think>Oslo")])
    assert (await simulated(llm).next_message(TURNS)).text == "Oslo"
    assert len(llm.requests) == 1


@pytest.mark.parametrize("text", ["\u200b", "\u2060 ", "\ufeff\n", "\u3164"])
async def test_invisible_characters_are_an_empty_message(text: str) -> None:
    message = await simulated(FakeLLM([says(text, "done")])).next_message(TURNS)
    assert (message.text, message.status) == ("", Status.DONE)


@pytest.mark.parametrize("reply", ['{"status": "done"}', '{"message": null, "status": "gave_up"}'])
async def test_a_missing_message_with_the_end_is_an_empty_one(reply: str) -> None:
    llm = FakeLLM([reply])
    message = await simulated(llm).next_message(TURNS)
    assert (message.text, len(llm.requests)) == ("", 1)
