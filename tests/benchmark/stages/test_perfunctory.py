from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convoprobe.benchmark.stages.perfunctory import Perfunctory, perfunctory
from pytest_convoprobe.conversation.port import Status, UserMessage
from pytest_convoprobe.transcript import Reply, Turn

LONG = (
    "Honestly, nobody ever understands what happened yesterday between Morgan and their "
    "neighbours; everybody keeps telling different stories about the argument"
)
SEEDS = [f"m01_s001_v01/{number}/1" for number in range(40)]


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        ("So WHAT now?", "so what now"),
        ("Me too!!!", "me too"),
        ("Oh no...", "oh no"),
        ("No. Not me. ", "no. not me"),
        ("?", "?"),
        ("Is it OK :)", "is it ok :)"),
    ],
)
def test_small_letters_and_no_full_stop(text: str, typed: str) -> None:
    assert perfunctory(text, "seed") == typed


def test_the_same_on_every_machine() -> None:
    seen = perfunctory(LONG, "m01_s001_v01/1/3")
    assert seen == (
        "honetly, nobody ever understands whhat happened yesterday between morgan and their "
        "neighbours; everybody keeps telling different stories abot the argument"
    )


def test_some_words_are_mistyped_but_few() -> None:
    words = LONG.lower().split()
    wrong = [
        sum(a != b for a, b in zip(words, perfunctory(LONG, seed).split(), strict=True)) for seed in SEEDS
    ]
    assert 0 < sum(wrong) / len(wrong) < len(words) / 4
    assert len(set(wrong)) > 1


def test_the_first_letter_of_a_word_stays() -> None:
    initials = [word[0] for word in LONG.lower().split()]
    assert all([word[0] for word in perfunctory(LONG, seed).split()] == initials for seed in SEEDS)


def test_apostrophes_go_missing_now_and_then() -> None:
    typed = {perfunctory("I don't", seed) for seed in SEEDS}
    assert typed == {"i dont", "i don't"}


@pytest.mark.parametrize(
    "kept",
    [
        "https://Example.org/Wohnung?Q=Berlin",
        "www.Example.org",
        "Jane.Doe@Example.org",
        "1,204.50",
        "A113",
        "`getUserName`",
        "```\nRETURN Everything\n```",
        "README.md",
        "C:\\Users\\Jane",
        "Print(Everything)",
        "MAX_TURNS",
    ],
)
def test_code_addresses_and_numbers_stay(kept: str) -> None:
    text = f"Look at {kept} please everybody"
    assert all(kept in perfunctory(text, seed) for seed in SEEDS)


def test_indented_code_stays() -> None:
    text = "This fails:\n    Something.Wrong Everywhere Altogether\nHelp"
    assert all("\n    Something.Wrong Everywhere Altogether\n" in perfunctory(text, seed) for seed in SEEDS)


def test_scripts_without_capitals_stay() -> None:
    text = "\u6211\u4e0d\u77e5\u9053\u8be5\u9009\u54ea\u4e00\u4e2a"
    assert {perfunctory(text + "\u3002", seed) for seed in SEEDS} == {text}


@given(st.text(), st.text(max_size=5))
def test_any_text_keeps_its_digits_and_its_blanks_inside(text: str, seed: str) -> None:
    typed = perfunctory(text, seed)
    assert re.findall(r"\d", typed) == re.findall(r"\d", text)
    assert len(typed.split()) <= len(text.split())
    assert bool(typed.strip()) is bool(text.strip())


@given(
    st.lists(st.sampled_from(["Why", "https://X.org/Ab", "`Ab Cd`", "WhatEver", "12:30", "don't"])), st.text()
)
def test_what_is_technical_comes_through_in_order(parts: list[str], seed: str) -> None:
    technical = re.compile(r"https://X\.org/Ab|`Ab Cd`|12:30")
    text = " ".join(parts)
    assert technical.findall(perfunctory(text, seed)) == technical.findall(text)


class Echo:
    """A user that says given messages and keeps what it was shown of its own."""

    def __init__(self, *messages: UserMessage) -> None:
        self._messages = list(messages)
        self.own: list[list[str]] = []

    async def next_message(self, turns: Sequence[Turn]) -> UserMessage:
        self.own.append([turn.user for turn in turns])
        return self._messages.pop(0)


async def test_the_user_sees_what_it_meant_and_the_target_what_was_typed() -> None:
    user = Echo(UserMessage("I Don't Know."), UserMessage("Bye!", Status.DONE))
    hasty = Perfunctory(user, "m01_s001_v01/1")
    first = await hasty.next_message(())
    second = await hasty.next_message((Turn(1, first.text, Reply("Hm?")),))
    assert first.text in {"i dont know", "i don't know"}
    assert user.own == [[], ["I Don't Know."]]
    assert second == UserMessage("bye", Status.DONE)


async def test_turns_and_conversations_differ() -> None:
    async def typed(seed: str) -> list[str]:
        hasty = Perfunctory(Echo(*[UserMessage(LONG)] * 3), seed)
        turns: list[Turn] = []
        for number in (1, 2, 3):
            message = await hasty.next_message(turns)
            turns.append(Turn(number, message.text, Reply("Hm?")))
        return [turn.user for turn in turns]

    first = await typed("m01_s001_v01/1")
    assert first == await typed("m01_s001_v01/1")
    assert len(set(first)) > 1
    assert first != await typed("m01_s001_v01/2")
