"""What checks of replies find, and what they can't tell."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import pytest

from pytest_convoprobe.errors import Blame, MissingPackage, ScenarioError
from pytest_convoprobe.judging import patterns
from pytest_convoprobe.judging.checks import run_checks
from pytest_convoprobe.judging.review import against_agent
from pytest_convoprobe.judging.said_text import prose
from pytest_convoprobe.judging.spoken_language import spoken_in
from pytest_convoprobe.judging.types import CheckResult
from pytest_convoprobe.runs.rejudge import _BY_SCENARIO
from pytest_convoprobe.transcript import Origin, Reply, Termination, Transcript, Turn

from .support import evaluation, talk

SHIPPED = "Your coffee maker is shipped."
ORDER = '{"number": "A-1001", "price": 89.9, "items": [{"sku": "B-7"}]}'


def said(*replies: str | Reply, ended: Termination = Termination.USER_DONE) -> Transcript:
    return talk(*(("Hello", reply) for reply in replies), ended=ended)


def checked(check: dict[str, Any], *replies: str | Reply, **more: Any) -> CheckResult:
    (result,) = run_checks(evaluation(replies=[check]), said(*replies, **more))
    return result


@pytest.mark.parametrize(
    ("check", "reply"),
    [
        ({"contains": "coffee maker"}, SHIPPED),
        ({"contains": ["Your", "shipped"]}, SHIPPED),
        ({"contains": "COFFEE", "ignore_case": True}, SHIPPED),
        ({"contains": "STRASSE", "ignore_case": True}, "In der Straße"),
        ({"contains": "it's A-1001"}, "So it\u2019s A\u20111001."),
        ({"contains": '"Oslo"'}, "in \u201cOslo\u201d"),
        ({"contains": "54 €"}, "It is 54\u202f€"),
        ({"contains": "It is\u00a054 €"}, "It is\r\n54 €"),
        ({"contains": "caf\u00e9"}, "A cafe\u0301"),
        ({"contains": "password"}, "Your pass\u00adword, or pass\u200bword"),
        ({"not_contains": "PASSWORD"}, "Your password"),
        ({"not_contains": ["a b", "c"]}, "ab"),
        ({"matches": "^Your .* shipped"}, SHIPPED),
        ({"matches": "^your", "ignore_case": True}, SHIPPED),
        ({"matches": "(?m)^B$"}, "A\nB"),
        ({"matches": "isn\u2019t"}, "It isn't"),
        ({"matches": "A\u20111001"}, "So it is A-1001."),
        ({"matches": r"\u2011"}, "So it is A\u20111001."),
        ({"not_matches": "^shipped"}, SHIPPED),
        ({"equals": "You're welcome!"}, " You\u2019re \n welcome! "),
        ({"json": True}, "[]"),
        ({"json": {"number": "A-1001", "price": {"below": 90}, "items.0.sku": "B-7"}}, ORDER),
        ({"json": {"items": {"includes": [{"sku": "B-7"}]}}}, f"Here you are:\n```json\n{ORDER}\n```\nBye"),
        ({"json": {"0": 1}}, "```python\nprint()\n```\n~~~\n[1]\n~~~"),
        ({"language": "de"}, "Ihre Bestellung ist schon unterwegs und kommt am Montag an."),
        ({"language": ["de", "nl"]}, "Natuurlijk! Wat is uw bestelnummer?"),
        ({"language": {"one_of": ["en"], "among": ["en", "de"]}}, "Sure!"),
        ({"language": "ja"}, "ご注文A-1001は発送済みです。"),
        ({"language": "de"}, "Ihre Bestellung ist da:\n```\nthe order has been shipped to you today\n```"),
        ({"length": {"characters": {"at_most": 4}}}, " abc\u00e9 "),
        ({"length": {"words": {"at_least": 5, "at_most": 5}}}, SHIPPED),
        ({"length": {"words": {"at_most": 3}}}, "안녕하세요 주문하신 상품이"),
        ({"length": {"characters": {"at_most": 0}}}, ""),
    ],
)
def test_a_reply_that_fulfils_it(check: dict[str, Any], reply: str) -> None:
    result = checked({**check, "turn": 2}, "Sure, one moment please.", reply)
    assert result.holds, result.found
    assert result.turn == 2


@pytest.mark.parametrize(
    ("check", "reply", "found"),
    [
        ({"contains": ["Your", "Oslo"]}, SHIPPED, f'no "Oslo" in "{SHIPPED}"'),
        ({"contains": "your"}, SHIPPED, f'no "your" in "{SHIPPED}"'),
        ({"not_contains": ["x", "MAKER"], "ignore_case": True}, SHIPPED, f'"MAKER" in "{SHIPPED}"'),
        ({"not_contains": "pass word"}, "A pass\n  word", '"pass word" in "A pass word"'),
        ({"matches": "^shipped"}, SHIPPED, f'"{SHIPPED}"'),
        ({"not_matches": "SHIPPED", "ignore_case": True}, SHIPPED, f'"{SHIPPED}"'),
        ({"not_matches": "your\u2011coffee", "ignore_case": True}, "Your-coffee", '"Your-coffee"'),
        ({"not_matches": r"\u2019"}, "It\u2019s", '"It\u2019s"'),
        ({"equals": "Your"}, SHIPPED, f'"{SHIPPED}"'),
        ({"json": True}, "42", 'no mapping or list in JSON: "42"'),
        ({"json": True}, "{a: 1}", 'no mapping or list in JSON: "{a: 1}"'),
        ({"json": True}, "```\n{}\n```\n```\n[]\n```", "2 blocks of JSON: "),
        ({"json": {"price": {"above": 89.9}, "x": 1}}, ORDER, "price is 89.9 and x is missing"),
        ({"json": {"items.0.sku": "C"}}, ORDER, 'items.0.sku is "B-7"'),
        ({"language": "de"}, "Your order has been shipped and arrives on Monday.", 'English: "Your order'),
        (
            {"language": {"one_of": ["de"], "among": ["de", "en"]}},
            "Ваш заказ отправлен.",
            'another script: "',
        ),
        (
            {"length": {"characters": {"at_least": 30}, "words": {"at_most": 4}}},
            SHIPPED,
            "29 characters and 5 words",
        ),
        ({"contains": "x", "not_contains": "maker"}, SHIPPED, f'no "x" in "{SHIPPED}" and "maker" in'),
    ],
)
def test_a_reply_that_breaks_it_says_what_was_found(check: dict[str, Any], reply: str, found: str) -> None:
    result = checked({**check, "turn": "last"}, "Sure, one moment please.", reply)
    assert not result.holds
    assert result.found.startswith(found)
    assert result.turn == 2


@pytest.mark.parametrize(
    ("check", "replies", "holds", "turn", "found"),
    [
        ({"contains": "b"}, ["a", "b", "b"], True, 2, '"b"'),
        ({"contains": "b"}, ["a", "c"], False, None, 'none of 2; the last: no "b" in "c"'),
        ({"contains": "b"}, ["a"], False, 1, 'no "b" in "a"'),
        (
            {"contains": "b", "turn": "all"},
            ["b", "a", "a"],
            False,
            2,
            '1 of 3 like that; turn 2: no "b" in "a"',
        ),
        ({"contains": "b", "turn": "all"}, ["b", "b"], True, None, "2 of 2 like that"),
        ({"contains": "b", "turn": "last"}, ["b", "a"], False, 2, 'no "b" in "a"'),
        ({"contains": "b", "turn": 1}, ["b", "a"], True, 1, '"b"'),
        ({"contains": "b", "turn": [1, 3]}, ["b", "a", "b"], True, None, "2 of 2 like that"),
        (
            {"contains": "b", "turn": [1, 2]},
            ["b", "a", "b"],
            False,
            2,
            '1 of 2 like that; turn 2: no "b" in "a"',
        ),
        ({"not_contains": "b"}, ["a", "b"], False, 2, '1 of 2 like that; turn 2: "b" in "b"'),
        ({"not_contains": "b"}, ["a", ""], True, None, "2 of 2 like that"),
        ({"contains": "a", "not_contains": "b", "turn": "any"}, ["ab", "a"], True, 2, '"a"'),
        (
            {"contains": "a", "not_contains": "b", "turn": "any"},
            ["ab", "c"],
            False,
            None,
            "none of 2; the last: ",
        ),
        ({"length": {"words": {"at_most": 1}}}, ["a", "a b"], False, 2, "1 of 2 like that; turn 2: 2 words"),
    ],
)
def test_which_replies(
    check: dict[str, Any], replies: list[str], holds: bool, turn: int | None, found: str
) -> None:
    result = checked(check, *replies)
    assert (result.holds, result.turn) == (holds, turn)
    assert result.found.startswith(found)


@pytest.mark.parametrize(
    ("check", "name", "expected"),
    [
        ({"contains": ["a", "b"]}, 'a reply contains "a" and "b"', "at least 1 reply like that"),
        ({"not_contains": ["a", "b"]}, 'every reply doesn\'t contain "a" or "b"', "all 2 replies like that"),
        ({"matches": "a+", "turn": 1}, "the reply in turn 1 matches /a+/", "a reply like that"),
        (
            {"not_matches": "x", "turn": [1, 2]},
            "each reply in turns 1 and 2 doesn't match /x/",
            "all 2 replies like that",
        ),
        ({"equals": "b", "turn": "last"}, 'the last reply is "b"', "a reply like that"),
        (
            {"contains": "A", "ignore_case": True},
            'a reply contains "A" (ignoring case)',
            "at least 1 reply like that",
        ),
        (
            {"length": {"characters": {"at_least": 1, "at_most": 9}, "words": {"at_most": 1}}},
            "every reply has at least 1 character and at most 9 characters and at most 1 word",
            "all 2 replies like that",
        ),
    ],
)
def test_its_name_says_what_is_asked(check: dict[str, Any], name: str, expected: str) -> None:
    result = checked(check, "a", "b a")
    assert (result.name, result.expected) == (name, expected)
    assert _BY_SCENARIO.fullmatch(result.name), "a new judgement would keep it as one of the project's own"


def test_names_of_json_and_language() -> None:
    assert checked({"json": {"a.b": 1}}, "x").name == "a reply is JSON with a.b = 1"
    assert checked({"json": True}, "x").name == "a reply is JSON"
    german = "Ihre Bestellung ist schon unterwegs und kommt am Montag an."
    assert checked({"language": ["de", "nl"]}, german).name == "every reply is in German or Dutch"


def test_a_greeting_is_turn_0() -> None:
    greeting = Turn(0, "", Reply("Hello!"), Origin.SIMULATED)
    talked = said("Yes.")
    greeted = replace(talked, turns=(greeting, *talked.turns))
    checks = [{"contains": "Hello", "turn": 0}, {"contains": "Hello"}, {"not_contains": "Hello", "turn": 1}]
    results = run_checks(evaluation(replies=checks), greeted)
    assert [(one.holds, one.turn) for one in results] == [(True, 0), (True, 0), (True, 1)]


def undecided(check: dict[str, Any], *replies: str | Reply, **more: Any) -> ScenarioError:
    with pytest.raises(ScenarioError) as raised:
        run_checks(evaluation(replies=[check]), said(*replies, **more))
    assert raised.value.blame is Blame.SCENARIO
    return raised.value


def test_a_turn_that_never_took_place_is_not_the_agents_fault() -> None:
    text = str(undecided({"contains": "a", "turn": 3}, "a", "b"))
    assert 'evaluation.replies[0] (contains "a") cannot be checked: the conversation ended in turn 2' in text
    assert "so turn 3 never took place" in text
    assert "write `turn: last`" in text


def test_an_agent_that_ended_the_conversation_has_not_said_it() -> None:
    ended = Termination.AGENT_ENDED
    result = checked({"contains": "a", "turn": [1, 3]}, "a", "b", ended=ended)
    assert (result.holds, result.found) == (False, "no turn 3: the agent ended the conversation")
    undecided({"not_contains": "x", "turn": 3}, "a", "b", ended=ended)


@pytest.mark.parametrize(
    "check", [{"contains": "a"}, {"not_contains": "x"}, {"length": {"words": {"at_most": 9}}}]
)
def test_a_reply_that_was_cut_shows_nothing(check: dict[str, Any]) -> None:
    error = undecided(check, Reply("a … and so on", cut=("text",)))
    assert "the reply in turn 1 is longer than `run.max_text`" in str(error)
    assert error.remedies == ("run.max_text",)


def test_what_is_certain_counts_beside_a_reply_that_was_cut() -> None:
    cut = Reply("a … b", cut=("text",))
    assert checked({"contains": "good"}, cut, "good").holds
    assert not checked({"not_contains": "bad"}, cut, "bad").holds


def test_what_another_check_finds_counts_before_what_nobody_can_tell() -> None:
    asked = evaluation(replies=[{"contains": "x", "turn": 9}, {"contains": "y"}])
    (result,) = run_checks(asked, said("a"))
    assert not result.holds


def test_a_language_that_is_not_clear_is_an_error_with_advice() -> None:
    text = str(undecided({"language": "en"}, "Your order has been shipped and arrives on Monday.", "OK"))
    assert "the reply in turn 2 is too short, or too near to another language" in text
    assert "`language: {one_of: [de], among: [de, en]}`" in text


def test_a_wrong_language_counts_whatever_is_not_clear() -> None:
    assert not checked({"language": "en"}, "OK", "Ihre Bestellung ist schon unterwegs.").holds


def test_replies_without_words_are_passed_over_where_others_have_some() -> None:
    english = "Your order has been shipped and arrives on Monday."
    result = checked({"language": "en"}, "👍", english, "`pip install`", "A-1001: 42")
    assert (result.holds, result.found) == (True, "1 of 4 like that, and 3 in no language")
    assert "has no words" in str(undecided({"language": "en"}, "👍", "42"))
    assert "has no words" in str(undecided({"language": "en", "turn": "last"}, english, "42"))


def test_words_are_not_counted_where_nothing_separates_them() -> None:
    error = undecided({"length": {"words": {"at_most": 5}}}, "ご注文は発送済みです。")
    assert "Give its length in `characters`" in str(error)


def test_without_the_package_nothing_is_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lingua", None)
    with pytest.raises(MissingPackage, match=r"pip install 'pytest-convoprobe\[language\]'") as raised:
        checked({"language": "en"}, "Hello")
    assert raised.value.blame is Blame.INFRASTRUCTURE


def test_a_pattern_without_an_end_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "SECONDS", 0.05)
    with pytest.raises(ScenarioError, match="was looked for in a reply"):
        checked({"matches": "(a|aa|a?)+$"}, "a" * 40 + "!")


@pytest.mark.parametrize(
    ("check", "excusable"),
    [
        ({"contains": "b"}, True),
        ({"not_contains": "a"}, False),
        ({"not_matches": "a", "turn": "last"}, False),
        ({"not_matches": "a", "turn": 1}, False),
        ({"not_matches": "a", "turn": [1]}, False),
        ({"equals": "b", "turn": 1}, True),
    ],
)
def test_what_the_user_says_excuses_no_forbidden_words(check: dict[str, Any], excusable: bool) -> None:
    (against,) = against_agent([], [checked(check, "a")])
    assert against.excusable is excusable


def test_forbidden_words_in_several_turns_are_not_excused() -> None:
    (against,) = against_agent([], [checked({"not_contains": "a", "turn": [1, 2]}, "a", "b")])
    assert not against.excusable


SHORT = {
    "en": ["I'm happy to help. What is your order number?", "Your coffee maker arrives on Monday."],
    "de": ["Gerne! Wie lautet Ihre Bestellnummer?", "Die Erstattung von 54,00 € kommt in 3 Tagen."],
    "fr": ["Votre commande A-1001 est en route.", "Merci beaucoup."],
    "es": ["¡Claro! ¿Cuál es su número de pedido?", "Lo siento mucho."],
    "pt": ["O seu pedido A-1001 está a caminho.", "Obrigado"],
    "it": ["Il suo ordine A-1001 è in viaggio.", "Mi dispiace."],
    "sv": ["Din beställning A-1001 är på väg."],
    "pl": ["Przepraszam."],
    "uk": ["Ваше замовлення A-1001 відправлено."],
    "tr": ["Teşekkürler."],
    "ar": ["طلبك A-1001 في الطريق."],
    "zh": ["您的订单A-1001已发货。"],
    "ko": ["주문하신 상품이 배송되었습니다."],
}


@pytest.mark.parametrize("code", SHORT)
def test_short_replies_in_many_languages(code: str) -> None:
    for text in SHORT[code]:
        assert spoken_in(prose(text), [code]).as_wanted, text
        for other in {"en", "de", "es", "ru"} - {code}:
            assert not spoken_in(prose(text), [other]).as_wanted, (text, other)


@pytest.mark.parametrize(
    "text", ["OK", "Sure!", "Das tut mir leid.", "Selvfølgelig! Hva er ordrenummeret ditt?"]
)
def test_what_may_be_several_languages_is_in_none_for_certain(text: str) -> None:
    for code in ("en", "de", "da", "nb", "fr"):
        assert spoken_in(text, [code]).as_wanted is not True


def test_the_same_text_is_always_in_the_same_language() -> None:
    first = spoken_in("Vielen Dank für Ihre Nachricht.", ["de"])
    assert {spoken_in("Vielen Dank für Ihre Nachricht.", ["de"]) for _ in range(20)} == {first}
