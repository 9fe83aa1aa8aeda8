from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from pydantic import SecretStr

from pytest_convoprobe.llm.port import ToolSpec
from pytest_convoprobe.redaction import Redactor
from pytest_convoprobe.results import fingerprints as prints_module
from pytest_convoprobe.results.fingerprints import Prints, changes, take_prints
from pytest_convoprobe.scenario.loading import parse_scenarios
from pytest_convoprobe.settings.model_settings import ModelSettings
from pytest_convoprobe.settings.models import RunSettings, ScenarioSettings
from pytest_convoprobe.targets.port import Description

TEXT = """\
name: {name}
description: It greets.
tags: [{tag}]
synthetic_user: {{persona: Somebody, initial_query: Hello}}
evaluation:
  correctness_criteria: [{criterion}]
"""


WORDS = {"name": "n", "tag": "t", "criterion": "It greets"}


def taken(
    text: str = "",
    *,
    judge: dict[str, Any] | None = None,
    user: dict[str, Any] | None = None,
    target: Description | None = None,
    secrets: tuple[str, ...] = (),
    **words: str,
) -> Prints:
    filled = text or TEXT.format(**{**WORDS, **words})
    (loaded,) = parse_scenarios(filled, "somewhere.yaml")
    settings = ScenarioSettings(
        judge=ModelSettings(**(judge or {})),
        synthetic_user=ModelSettings(**(user or {})),
        run=RunSettings(),
    )
    return take_prints(loaded.scenario, settings, target or Description(), Redactor(secrets, environ={}))


def test_the_same_is_the_same() -> None:
    assert taken() == taken()
    assert len(taken().scenario or "") == 16


@pytest.mark.parametrize("words", [{"name": "another"}, {"tag": "smoke"}])
def test_what_a_scenario_is_called_changes_nothing(words: dict[str, str]) -> None:
    assert taken(**words) == taken()


def test_what_the_agent_is_given_changes_the_scenario() -> None:
    anna, bert = (
        taken(f"{TEXT.format(**WORDS)}metadata: {{customer: {name}}}\n") for name in ("anna", "bert")
    )
    assert changes(anna, bert) == ("scenario",)
    assert changes(taken(), anna) == ("scenario",)


def test_a_scenario_without_metadata_keeps_the_print_that_it_always_had() -> None:
    assert taken().scenario == taken(f"{TEXT.format(**WORDS)}metadata: {{}}\n").scenario == "803423ee77be5017"


def test_conditions_on_null_have_prints_of_their_own() -> None:
    """`equals: null` keeps the one that it always had."""
    facts = "  tool_usage: {{tool_call_criteria: [{{tool: t, assertions: [{{args: {{a: {}}}}}]}}]}}\n"
    forms = ("null", "{equals: null}", "{not_equals: null}", "{not_contains: null}")
    prints = [taken(TEXT.format(**WORDS) + facts.format(form)).scenario for form in forms]
    assert prints[0] == prints[1]
    assert len({*prints}) == 3


def test_how_and_where_a_scenario_is_written_changes_nothing() -> None:
    other = """
# A comment
evaluation: {correctness_criteria: ["It greets"]}
description: "It greets."
name: n
synthetic_user:
  initial_query: Hello
  persona: Somebody
  max_turns: 10
"""
    assert taken(other) == taken()


def test_another_criterion_changes_the_scenario_only() -> None:
    assert changes(taken(), taken(criterion="It sings")) == ("scenario",)


@pytest.mark.parametrize(
    "settings",
    [
        {"temperature": 0.5},
        {"extra_instructions": "Be strict"},
        {"extra_params": {"seed": 1}},
    ],
)
@pytest.mark.parametrize(("role", "whose"), [("judge", "judge's"), ("user", "synthetic user's")])
def test_settings_of_our_roles_are_named(role: str, whose: str, settings: dict[str, Any]) -> None:
    before, after = taken(), taken(**{role: settings})
    assert before.prompts != after.prompts
    assert changes(before, after) == (f"{whose} settings",)


@pytest.mark.parametrize(("role", "whose"), [("judge", "judge's"), ("user", "synthetic user's")])
def test_another_model_is_named_with_both_sides(role: str, whose: str) -> None:
    before, after = taken(**{role: {"model": "openai/x"}}), taken(**{role: {"model": "openai/y"}})
    assert changes(before, after) == (f"{whose} model openai/x → openai/y",)


def test_what_an_earlier_release_stored_has_fewer_words() -> None:
    now = taken(judge={"model": "openai/y"})
    old = Prints(now.scenario, "another", now.target_prompt, now.target_tools)
    assert changes(old, now) == ("prompts",)
    assert replace(now, judge=None, own_prompts=None) == now


@pytest.mark.parametrize(
    "settings",
    [
        {"api_key": SecretStr("sk-another")},
        {"api_base": "http://elsewhere"},
        {"timeout": 3.0},
        {"max_attempts": 2},
        {"client": "litellm"},
        {"extra_headers": {"X-Team": SecretStr("a")}},
        {"input_cost_per_token": 0.1},
    ],
)
def test_how_a_model_is_reached_changes_nothing(settings: dict[str, Any]) -> None:
    assert taken(judge=settings, user=settings) == taken()


def test_a_prompt_of_this_package_changes_the_prompts(monkeypatch: pytest.MonkeyPatch) -> None:
    before = taken()
    monkeypatch.setattr(prints_module, "_own_prompts", lambda: "another")
    assert changes(before, taken()) == ("prompts",)


def test_a_target_that_tells_nothing_has_no_prints() -> None:
    assert (taken().target_prompt, taken().target_tools) == (None, None)


def test_what_the_target_tells_is_told_apart() -> None:
    tool = ToolSpec("price", "The price", {"type": "object", "properties": {"item": {"type": "string"}}})
    wider = ToolSpec("price", "The price", {"type": "object", "properties": {"item": {"type": "integer"}}})
    first = taken(target=Description("Be kind", (tool,)))
    assert changes(first, taken(target=Description("Be kind", (tool,)))) == ()
    assert changes(first, taken(target=Description("Be rude", (tool,)))) == ("target's system prompt",)
    assert changes(first, taken(target=Description("Be kind", (wider,)))) == ("target's tools",)
    assert changes(first, taken(target=Description("Be kind", ()))) == ("target's tools",)


def test_a_new_secret_is_no_change() -> None:
    before = taken(target=Description("The key is old-key-12345"), secrets=("old-key-12345",))
    after = taken(target=Description("The key is new-key-98765"), secrets=("new-key-98765",))
    assert before == after


def test_what_is_not_known_is_not_called_a_change() -> None:
    assert changes(Prints("a"), Prints("a", "b")) == ()
    assert changes(Prints("a", "b"), Prints("c")) == ("scenario",)


def test_keys_of_another_version_are_ignored() -> None:
    assert Prints.from_json({"scenario": "a", "weather": "b"}) == Prints("a")
    assert Prints.from_json(None) == Prints()
    assert Prints.from_json(Prints("a", "b", "c", "d").to_json()) == Prints("a", "b", "c", "d")


def _evaluated(more: str = "", args: str = "{amount: 5}") -> str | None:
    usage = f"tool_usage: {{tool_call_criteria: [{{tool: pay, assertions: [{{args: {args}}}]}}]}}"
    text = TEXT.format(name="n", tag="t", criterion="It greets")
    return taken(f"{text}  {usage}\n{more}").scenario


def test_checks_of_replies_and_conditions_are_part_of_a_scenario() -> None:
    assert _evaluated("  replies: []\n") == _evaluated()
    assert _evaluated(args="{amount: {n: 5}}") == _evaluated(args="{amount: {includes: {n: 5}}}")
    others = [
        _evaluated("  replies: [{contains: a}]\n"),
        _evaluated("  replies: [{contains: a, turn: all}]\n"),
        _evaluated("  replies: [{json: {a: 1}}]\n"),
        _evaluated("  replies: [{language: de}]\n"),
        _evaluated(args="{amount: {at_least: 5}}"),
        _evaluated(args="{amount: {n: 5}}"),
        _evaluated(args="{amount: {not_equals: 5}}"),
    ]
    assert len({_evaluated(), *others}) == 1 + len(others)


def test_the_print_of_a_scenario_with_older_conditions_is_the_one_of_earlier_releases() -> None:
    args = '{id: A-1, place.city: {contains: Oslo}, note: {matches: "^a", equals: null}}'
    assert _evaluated(args=args) == "dab88f0576ec08dc"
