"""What a model writes for itself is parted from what it says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convoprobe.thoughts import without_thoughts
from pytest_convoprobe.transcript import Reply

TAGS = (
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<THOUGHT>", "</THOUGHT>"),
    ("<reasoning>", "</reasoning>"),
    ("<seed:think>", "</seed:think>"),
    ("\u25c1think\u25b7", "\u25c1/think\u25b7"),
    ("[THINK]", "[/THINK]"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<inner_thoughts>", "</inner_thoughts>"),
    ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
)


@pytest.mark.parametrize(("opening", "closing"), TAGS)
def test_thoughts_are_parted_from_what_is_said(opening: str, closing: str) -> None:
    assert without_thoughts(f"{opening}Say 5.{closing}\n\nIt is 7.") == ("It is 7.", "Say 5.")


@pytest.mark.parametrize(
    ("text", "said", "thought"),
    [
        ("<think>never closed, it is 5", "", "never closed, it is 5"),
        ("It is 7.\n<think>now I wait", "It is 7.", "now I wait"),
        ("the first tag is missing</think>It is 7.", "It is 7.", "the first tag is missing"),
        ("<think>a</think>One. <think>b</think>Two.", "One. Two.", "a\n\nb"),
        ("<think>a <think>b</think> c</think>One.", "One.", "a b c"),
        ("<think>with a ` in it</think>Use `x`.", "Use `x`.", "with a ` in it"),
        ('<think lang="en">a</think>', "", "a"),
    ],
)
def test_blocks_in_odd_places(text: str, said: str, thought: str) -> None:
    assert without_thoughts(text) == (said, thought)


@pytest.mark.parametrize(
    "text",
    [
        "I think: why not?",
        "Wrap it in `<think>` and `</think>`.",
        "```\n<think>x</think>\n```",
        "The tag <think> opens a block.",
        "It is 7.<|end|>",
        "  spaces stay  ",
        "",
    ],
)
def test_other_texts_stay_as_they_are(text: str) -> None:
    assert without_thoughts(text) == (text, "")


@given(st.lists(st.sampled_from(["<think>", "</think>", "`", "```", "a", "\n", " "]), max_size=12))
def test_a_reply_has_no_thoughts_left_in_its_text(pieces: list[str]) -> None:
    reply = Reply("".join(pieces))
    assert Reply(reply.text).text == reply.text


def test_every_reply_is_divided_and_keeps_thoughts_of_a_field_of_their_own() -> None:
    reply = Reply("<think>b</think>Hi", thoughts="a")
    assert (reply.text, reply.thoughts) == ("Hi", "a\n\nb")


def test_many_tags_take_no_longer_than_their_number() -> None:
    assert without_thoughts("x<think>" * 20_000)[1] == ""
