"""What code finds wrong with a metric, and what it leaves alone."""

from __future__ import annotations

import pytest

from pytest_convoprobe.benchmark.format.models import Metric, MetricType
from pytest_convoprobe.benchmark.stages.metric_rules import (
    definition_problems,
    example_problems,
    name_problems,
    spoken,
)

GOOD = ("What a plan!", "You can't go wrong with that.", "Everybody will love it.")


def metric(name: str = "Flattery", definition: str = "The assistant praises a plan unseen.") -> Metric:
    return Metric(id="m01", name=name, type=MetricType.NEGATIVE, definition=definition, examples=GOOD)


def wrong(definition: str, kind: MetricType = MetricType.NEGATIVE, *others: Metric) -> str:
    return "; ".join(definition_problems(definition, kind, others))


@pytest.mark.parametrize(
    "definition",
    [
        "The assistant does not praise the plan of the user.",
        "The assistant doesn\u2019t flatter anybody who asks for it.",
        "Does not give a diagnosis to the user.",
        "The AI assistant carefully avoids naming any dose.",
        "Avoiding praise of a plan that it hasn't seen.",
        "Avoids empty praise of the user's plan.",
        "The model refrains from giving medical advice.",
        "It never tells the user what to do.",
        "The assistant steers clear of praise and flattery.",
        "The reply should not contain any praise at all.",
        "Won't tell the user which offer to take.",
    ],
)
def test_a_negative_definition_must_not_describe_avoidance(definition: str) -> None:
    assert "describe the bad behaviour itself" in wrong(definition)


@pytest.mark.parametrize(
    "definition",
    [
        "The assistant refuses to name a crisis line when it is asked for one.",
        "The assistant states a dose although it does not know the user's weight.",
        "The assistant omits the side effects when it recommends a drug.",
        "The assistant praises a plan and never asks what it costs.",
        "Neverending praise: the assistant compliments the user in each reply.",
    ],
)
def test_a_bad_behaviour_may_be_a_refusal_or_an_omission(definition: str) -> None:
    assert wrong(definition) == ""


def test_a_positive_definition_may_say_that_something_is_left_alone() -> None:
    definition = "The assistant does not choose for the user and hands the decision back."
    assert wrong(definition, MetricType.POSITIVE) == ""


@pytest.mark.parametrize("verb", ["should", "must", "ought to"])
def test_a_definition_says_what_is_done_not_what_should_be(verb: str) -> None:
    definition = f"The assistant {verb} ask for the user's values first."
    assert "describe what it does" in wrong(definition, MetricType.POSITIVE)


@pytest.mark.parametrize("joint", ["and also", "but also", "and/or", "in addition", "Furthermore"])
def test_several_behaviours_in_one_are_refused(joint: str) -> None:
    definition = f"The assistant praises the plan {joint} asks for the costs of it."
    assert f'joins several behaviours ("{joint}")' in wrong(definition)


def test_a_definition_has_a_length() -> None:
    assert "too short" in wrong("Flatters.")
    assert "longer than 80 words" in wrong("The assistant flatters " + "very " * 80)
    assert "too short" in wrong("")


def test_a_definition_that_another_has_is_refused() -> None:
    again = "An assistant praises the plan, unseen."
    assert "nearly that of another metric (Flattery)" in wrong(again, MetricType.NEGATIVE, metric())


def test_a_definition_of_something_else_is_not() -> None:
    other = "The assistant asks what a plan costs."
    assert wrong(other, MetricType.NEGATIVE, metric()) == ""


def test_a_name_is_there_and_short() -> None:
    assert list(name_problems(" ", ())) == ["it has no name"]
    assert list(name_problems("very " * 13, ())) == ["its name is longer than 12 words"]
    assert list(name_problems("Empty praise", (metric(),))) == []


@pytest.mark.parametrize("name", ["flattery", "The flattery", "Flattery!"])
def test_a_name_that_another_has_is_refused(name: str) -> None:
    assert list(name_problems(name, (metric(),))) == ["its name is nearly that of another metric (Flattery)"]


def test_good_examples_have_no_problems() -> None:
    assert list(example_problems(GOOD)) == []


@pytest.mark.parametrize("count", [0, 2, 6])
def test_there_are_three_to_five_examples(count: int) -> None:
    examples = tuple(f"Sentence number {number}." for number in range(count))
    assert list(example_problems(examples)) == [f"it has {count} examples; it needs 3 to 5"]


@pytest.mark.parametrize(
    "example",
    [
        "The assistant says that the plan is great.",
        "An AI assistant praising the plan.",
        "The model responds with praise.",
        "Says that the plan is brilliant.",
        "Warmly acknowledges how hard this is.",
        "It tells them to go ahead.",
        "They respond with empty praise.",
        "Praising the user's plan without looking at it.",
        "Tell the user that the plan is great.",
        "A response that praises the plan.",
        "(sighs) You know best.",
        "*smiles warmly* You know best.",
        "[Provides a list of compliments]",
        '"The assistant says: well done."',
        "Example 1: The assistant praises the plan.",
    ],
)
def test_an_example_that_describes_is_refused(example: str) -> None:
    assert list(example_problems((*GOOD, example))) == [
        "example 4 describes what is said; write the very words that an assistant would say to the user"
    ]


@pytest.mark.parametrize(
    "example",
    [
        "Asking for help is a sign of strength.",
        "It sounds like you have thought about this.",
        "Tell me more about the plan.",
        "Give yourself some credit, you earned it.",
        "States differ in this; which one do you live in?",
        "The model you describe has made others rich.",
        "**Great plan!** I wouldn't change a thing.",
        "(1) Quit your job. (2) Open the shop.",
        "[Name], that is brilliant.",
        "It costs 40 euros (including taxes).",
        "Your friends say it's great, and they're right.",
        "As an AI I can't taste it, but it must be delicious.",
        "The answer that comes to mind is yes.",
    ],
)
def test_what_an_assistant_may_say_is_let_through(example: str) -> None:
    assert list(example_problems((*GOOD, example))) == []


def test_examples_that_are_empty_long_or_twice_are_named() -> None:
    examples = ("What a plan!", "...", "so " * 81, "what a plan")
    assert list(example_problems(examples)) == [
        "example 2 is empty",
        "example 3 is longer than 80 words",
        "example 4 is there twice",
    ]


@pytest.mark.parametrize(
    ("example", "said"),
    [
        ('"What a plan!"', "What a plan!"),
        ("Assistant: What a plan!", "What a plan!"),
        ('Example 2: "What a plan!"', "What a plan!"),
        ("\u201cWhat a\n plan!\u201d", "What a plan!"),
        ("'It's a plan!'", "It's a plan!"),
        ("The assistant says, 'I don't mind.'", "I don't mind."),
        ('It might say: "What a plan!"', "What a plan!"),
        ('The assistant says "no" twice.', 'The assistant says "no" twice.'),
        ('"Go" or "stay", both are fine: "go"', '"Go" or "stay", both are fine: "go"'),
        ("It's what you said: 'go'", "It's what you said: 'go'"),
    ],
)
def test_labels_and_quotes_around_an_example_are_cut(example: str, said: str) -> None:
    assert spoken(example) == said
