from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convoprobe.conversation.guard import fault, says_goodbye
from pytest_convoprobe.conversation.port import Status, UserMessage
from pytest_convoprobe.transcript import Reply, Turn

from .ordinary_messages import ORDINARY

OPENING = "Hi, I need to know about my delivery"
TURNS = (Turn(1, OPENING, Reply("Which order is it?")),)

ASSISTANT_TALK = (
    "How can I help you today?",
    "Hello! How can I assist you today?",
    "Hi there, how may I help you?",
    "Sure! How can I help you with your order?",
    "How may I be of service?",
    "“How can I help you today?”",
    '"How can I help you today?"',
    "**How can I help you today?**",
    "I see. How can I assist you further?",
    "What can I do for you today?",
    "Hello. What can I help you with?",
    "Is there anything else I can help you with?",
    "Great! Is there anything else I can do for you today?",
    "I'm here to help you.",
    "I\u2019m here to help!",
    "I'd be happy to help you with that.",
    "I would be glad to assist you with your order!",
    "Please let me know if you need any further assistance.",
    "If you need any more help, feel free to ask.",
    "If you need further assistance, don't hesitate to reach out!",
    "Thank you for contacting us.",
    "Could you please provide your order number?",
    "May I have your booking reference?",
    "Please provide me with your order number.",
    "As an AI language model, I cannot track parcels.",
    "As an AI, I don't have feelings.",
    "As a large language model, I'm unable to do that.",
    "I'm just an AI, and so I can't know.",
    "I am an AI assistant.",
    "Hello! I am your virtual assistant.",
)
OUT_OF_ROLE = (
    "Okay, I should respond as the user now.",
    "We need to reply as the frustrated customer.",
    "I am a simulated user.",
)
THOUGHTS = (
    "<think>They want the number.</think> It's 4711.",
    "</think>It's 4711.",
    "<thinking>\nHmm\n</thinking>\nYes.",
    "Thought: they ask for the number.\nIt's 4711.",
    "**Reasoning:** the number is known.\n\nIt's 4711.",
    "<|im_start|>It's 4711.",
)
LABELS = (
    "User: It's order number 4711.",
    "**User:** I'd like my money back.",
    "It's 4711.\nAssistant: Thank you, let me look.",
    "Assistant: which order?",
)
PROTOCOL = (
    '{"message": "It is 4711", "status": "continue"}',
    'It is 4711 {"message": "It is 4711", "status": "done"}',
    '{"message": "It is 4711"}',
    "<reply>It is 4711</reply>",
    'status "done"',
    '"status": "gave_up"',
    "status: done",
)
SIGNS = (
    "DONE",
    "Thanks, that's all. DONE",
    "Thanks, that's all.DONE",
    "[STOP]",
    "Thanks! [DONE]",
    "###STOP###",
    "Thanks a lot ###STOP###",
    "Thanks.\nSTOP",
    "Thanks <done/>",
    "I'm leaving. gave_up",
    "Never mind. (status: gave_up)",
)
FAULTY = ASSISTANT_TALK + OUT_OF_ROLE + THOUGHTS + LABELS + PROTOCOL + SIGNS


def found(text: str, turns: tuple[Turn, ...] = TURNS, status: Status = Status.CONTINUE) -> str | None:
    return fault(UserMessage(text, status), turns)


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_messages_pass(text: str) -> None:
    assert found(text) is None


@given(st.lists(st.sampled_from([text for text in ORDINARY if text[-1] in ".!?"]), min_size=1, max_size=4))
def test_ordinary_sentences_pass_in_any_company(sentences: list[str]) -> None:
    assert found(" ".join(sentences)) is None


@given(st.sampled_from(ORDINARY), st.sampled_from(list(Status)))
def test_ordinary_messages_pass_with_every_status_after_the_first_turn(text: str, status: Status) -> None:
    assert found(text, status=status) is None


@pytest.mark.parametrize("text", ASSISTANT_TALK)
def test_a_user_that_talks_as_the_assistant(text: str) -> None:
    assert (found(text) or "").startswith("it talks as the assistant (")


@pytest.mark.parametrize("text", OUT_OF_ROLE)
def test_a_user_that_talks_about_its_role(text: str) -> None:
    assert (found(text) or "").startswith("it steps out of the person's role (")


@pytest.mark.parametrize("text", THOUGHTS)
def test_leaked_thoughts(text: str) -> None:
    assert (found(text) or "").startswith("it shows thoughts that nobody would send (")


@pytest.mark.parametrize("text", LABELS)
def test_labels_of_the_speaker(text: str) -> None:
    assert found(text) is not None


@pytest.mark.parametrize("text", PROTOCOL)
def test_the_shape_of_the_answer_inside_the_message(text: str) -> None:
    assert found(text) is not None


@pytest.mark.parametrize("text", SIGNS)
def test_a_sign_for_the_end_in_the_text(text: str) -> None:
    assert '"status" is the place for that' in (found(text) or "")


@given(
    st.sampled_from(ASSISTANT_TALK + OUT_OF_ROLE),
    st.sampled_from([text for text in ORDINARY if text[-1] in ".!?" and '"' not in text and "'" not in text]),
)
def test_assistant_talk_is_found_behind_ordinary_talk(bad: str, ordinary: str) -> None:
    sentence = bad.strip('"\u201c\u201d')
    assert found(f"{ordinary}\n{sentence}") is not None


@given(st.sampled_from(FAULTY), st.sampled_from(["", " ", "\n", "\t\n "]), st.sampled_from(["", " ", "\n\n"]))
def test_blanks_around_hide_no_fault(text: str, before: str, after: str) -> None:
    assert found(before + text + after) is not None


@pytest.mark.parametrize("text", ["", "  ", "\n\t\n"])
def test_an_empty_message(text: str) -> None:
    assert found(text) == "it is empty"


@pytest.mark.parametrize(
    "text", [OPENING, OPENING.upper() + "!!", "  hi I need\nto know about my delivery…"], ids=str.strip
)
def test_the_opening_word_for_word(text: str) -> None:
    assert found(text) == "it repeats the first message word for word"


def test_a_reworded_opening_passes() -> None:
    assert found("I asked about my delivery.") is None


@pytest.mark.parametrize("status", [Status.DONE, Status.GAVE_UP])
def test_the_signal_on_the_first_turn(status: Status) -> None:
    assert found("Hello", (), status) == "it ends the conversation before it has begun"


def test_a_simulated_first_message_passes() -> None:
    assert found("Hello", ()) is None


LONG = "I really don't know what the number is that you want from me."


def turns_with(last_question: str) -> tuple[Turn, ...]:
    return (*TURNS, Turn(2, LONG, Reply(last_question)))


def test_a_long_message_twice_running() -> None:
    assert found(LONG, turns_with("And your name?")) == "it repeats the message before it word for word"


def test_the_same_answer_to_the_same_question_passes() -> None:
    assert found(LONG, turns_with("which order is it")) is None


def test_a_short_message_twice_running_passes() -> None:
    turns = (*TURNS, Turn(2, "I don't know.", Reply("And your name?")))
    assert found("I don't know.", turns) is None


def test_long_messages_are_shortened_in_the_fault() -> None:
    assert "more characters)" in (found("As an AI, I cannot " + "really " * 50) or "")


@pytest.mark.parametrize(
    "text", ["Bye!", "Thanks, bye", "You too, have a great day!", "Thank you so much. Goodbye.", "Take care!"]
)
def test_farewells(text: str) -> None:
    assert says_goodbye(text)


@pytest.mark.parametrize(
    "text", ["Thanks!", "Have you seen it?", "Bye the way, where is it?", "Good day for a trip?", "ok", ""]
)
def test_no_farewells(text: str) -> None:
    assert not says_goodbye(text)


@given(st.text(max_size=400))
def test_any_text_is_looked_at_without_a_crash(text: str) -> None:
    answer = found(text)
    assert answer is None or answer.startswith("it ")
