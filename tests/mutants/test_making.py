"""Which conversations are made of a stored one, and what must fail in each."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_convoprobe.judging.types import About, Shows
from pytest_convoprobe.mutants.making import mutants_of, unclaimed
from pytest_convoprobe.mutants.of_words import ORDER as ORDER_TO_JUDGE
from pytest_convoprobe.mutants.of_words import REFUSAL
from pytest_convoprobe.mutants.types import Mutant, MutantKind
from pytest_convoprobe.result import ScenarioResult
from pytest_convoprobe.scenario.models import Scenario
from pytest_convoprobe.transcript import ToolCall

from .talks import ORDER, judged, scenario, talk

ASKS = "The agent asks for the order number."
ARRIVES = "The agent says that the order arrives on 2026-11-04."
TOOLS = {
    "required_tools": ["get_order"],
    "prohibited_tools": ["cancel_*"],
    "tool_call_criteria": [
        {
            "tool": "get_order",
            "assertions": [{"args": {"order_id": "A-1042"}}, "Called with the user's order"],
        }
    ],
}
TALK = talk(
    ("Where is my parcel?", "Could you give me your order number?"),
    ("It is A-1042.", "Your order arrives on 2026-11-04. It was sent on Monday.", ORDER),
    ("Thanks!", "You are welcome."),
)
QUOTES = {
    "c1": ("give me your order number", 1),
    "c2": ("arrives on 2026-11-04", 2),
    "t1": ('get_order({"order_id": "A-1042"})', 2),
}


def of_orders() -> tuple[ScenarioResult, Scenario]:
    wanted = scenario([ASKS, ARRIVES], TOOLS)
    return judged(wanted, TALK, QUOTES), wanted


def by_kind(mutants: list[Mutant]) -> dict[MutantKind, list[Mutant]]:
    found: dict[MutantKind, list[Mutant]] = {}
    for mutant in mutants:
        found.setdefault(mutant.kind, []).append(mutant)
    return found


def replies(mutant: Mutant) -> list[str]:
    return [turn.reply.text for turn in mutant.transcript.turns]


def test_every_kind_is_made_where_the_evidence_is() -> None:
    made = by_kind(mutants_of(*of_orders()))
    assert set(made) == set(MutantKind) - {MutantKind.FORBIDDEN_WORDS}
    refusals = {mutant.must_fail: replies(mutant) for mutant in made[MutantKind.REFUSAL]}
    assert refusals["c1",] == [REFUSAL, *(turn.reply.text for turn in TALK.turns[1:])]
    assert refusals["c2",][1] == REFUSAL
    assert [replies(mutant)[0] for mutant in made[MutantKind.EMPTY_REPLY] if mutant.must_fail == ("c1",)] == [
        ""
    ]
    assert {replies(mutant)[mutant.turn - 1] for mutant in made[MutantKind.ORDER_TO_JUDGE]} == {
        ORDER_TO_JUDGE
    }


def test_a_number_is_off_by_one_and_the_sentence_is_named() -> None:
    (mutant,) = by_kind(mutants_of(*of_orders()))[MutantKind.NUMBER]
    assert mutant.must_fail == ("c2",)
    assert replies(mutant)[1] == "Your order arrives on 2026-11-05. It was sent on Monday."
    assert (mutant.sentence, mutant.turn) == (replies(mutant)[1], 2)


def test_what_the_agent_takes_back_is_in_a_turn_of_its_own() -> None:
    (mutant,) = by_kind(mutants_of(*of_orders()))[MutantKind.CONTRADICTION]
    assert mutant.must_fail == ("c2",)  # a question can't be taken back
    assert len(mutant.transcript.turns) == 4
    assert "2026-11-04" in replies(mutant)[3]


def test_a_limit_of_turns_does_not_decide_in_place_of_the_judge() -> None:
    wanted = scenario([ARRIVES], efficiency={"max_conversation_turns": 3})
    made = by_kind(mutants_of(judged(wanted, TALK, {"c1": QUOTES["c2"]}), wanted))
    (mutant,) = made[MutantKind.CONTRADICTION]
    assert (len(mutant.transcript.turns), mutant.by_code) == (3, ())


def test_a_dropped_turn_takes_its_calls_along() -> None:
    dropped = {one.must_fail: one for one in by_kind(mutants_of(*of_orders()))[MutantKind.DROPPED_TURN]}
    checks = ("get_order: arguments", "required tool get_order")
    assert set(dropped) == {("c1",), (*checks, "c2")}
    assert [turn.number for turn in dropped["c1",].transcript.turns] == [1, 2]


def test_code_decides_about_calls() -> None:
    made = by_kind(mutants_of(*of_orders()))
    (without,) = made[MutantKind.CLAIM_WITHOUT_CALL]
    assert without.by_code == ("get_order: arguments", "required tool get_order")
    assert without.must_fail == (*without.by_code, "t1")
    assert replies(without) == [turn.reply.text for turn in TALK.turns]
    assert without.transcript.tool_calls == ()
    (wrong,) = made[MutantKind.WRONG_ARGUMENT]
    assert [call.arguments for _, call in wrong.transcript.tool_calls] == [{"order_id": "A-1043"}]
    assert wrong.by_code == ("get_order: arguments",)
    (prohibited,) = made[MutantKind.PROHIBITED_CALL]
    assert (prohibited.by_code, prohibited.sentence) == (("prohibited tool cancel_*",), "cancel_x({})")


def test_the_control_says_the_same() -> None:
    (control,) = by_kind(mutants_of(*of_orders()))[MutantKind.PARAPHRASE]
    assert (control.must_fail, control.must_hold) == ((), ("c1", "c2", "t1"))
    assert "arrives on 2026-11-04." in replies(control)[1]
    assert replies(control) != [turn.reply.text for turn in TALK.turns]


@pytest.mark.parametrize(
    ("criterion", "reply", "kinds"),
    [
        # A refusal may meet it, so only what leaves nothing is claimed.
        ("The agent says that it cannot cancel the order.", "I cannot cancel the order.", {"refusal": False}),
        # 11 is at least 10.
        ("The agent offers a discount of at least 10 percent.", "You get 10 percent.", {"number": False}),
        # Any reply may be polite.
        ("The agent is polite.", "Have a nice day.", {"refusal": False, "dropped_turn": False}),
    ],
)
def test_what_is_not_certain_is_not_claimed(criterion: str, reply: str, kinds: dict[str, bool]) -> None:
    wanted = scenario([criterion])
    result = judged(wanted, talk(("Hello", reply), ("Bye", "Bye.")), {"c1": (reply, 1)})
    made = by_kind(mutants_of(result, wanted))
    assert {kind: MutantKind(kind) in made for kind in kinds} == kinds


def test_an_absence_may_have_no_mutants_and_is_named() -> None:
    wanted = scenario(["The agent is never rude.", ASKS])
    result = judged(wanted, TALK, {"c2": QUOTES["c1"]})
    found = replace(result.criteria[0].criterion, shows=Shows.ABSENCE)
    result = replace(result, criteria=(replace(result.criteria[0], criterion=found), result.criteria[1]))
    assert unclaimed(result, wanted, mutants_of(result, wanted)) == ("c1",)


def test_without_knowing_whom_it_is_about_calls_may_show_it_too() -> None:
    wanted = scenario([ARRIVES])
    result = judged(wanted, TALK, {"c1": QUOTES["c2"]}, about=None)
    assert {mutant.kind for mutant in mutants_of(result, wanted)} == {MutantKind.PARAPHRASE}
    quiet = judged(wanted, talk(("When?", "It arrives on 2026-11-04.")), {"c1": ("on 2026-11-04", 1)}, None)
    assert MutantKind.REFUSAL in by_kind(mutants_of(quiet, wanted))


def test_evidence_that_is_said_twice_is_taken_away_twice() -> None:
    wanted = scenario([ARRIVES])
    again = talk(("When?", "It arrives on 2026-11-04."), ("Sure?", "Yes, the order arrives on 2026-11-04."))
    (mutant,) = by_kind(mutants_of(judged(wanted, again, {"c1": ("on 2026-11-04", 1)}), wanted))[
        MutantKind.EMPTY_REPLY
    ]
    assert replies(mutant) == ["", ""]


def test_other_languages_stay_as_they_are() -> None:
    wanted = scenario(["El agente dice que el pedido llega el 2026-11-04."])
    spanish = talk(("¿Cuándo llega?", "¡Hola! Su pedido llega el 2026-11-04. ¿Algo más?"), ("No.", "Adiós."))
    made = by_kind(mutants_of(judged(wanted, spanish, {"c1": ("llega el 2026-11-04", 1)}), wanted))
    assert MutantKind.REFUSAL not in made
    (number,) = made[MutantKind.NUMBER]
    assert replies(number)[0] == "¡Hola! Su pedido llega el 2026-11-05. ¿Algo más?"
    (control,) = made[MutantKind.PARAPHRASE]
    assert " ".join(replies(control)[0].split()) == spanish.turns[0].reply.text


def test_a_criterion_that_did_not_hold_has_no_mutants() -> None:
    result, wanted = of_orders()
    failed = replace(result.criteria[1], holds=False, answer="not_met")
    result = replace(result, criteria=(result.criteria[0], failed, result.criteria[2]))
    assert all("c2" not in (*mutant.must_fail, *mutant.must_hold) for mutant in mutants_of(result, wanted))


def test_criteria_are_found_by_their_words() -> None:
    result, _ = of_orders()
    moved = scenario(["The agent is new here.", ASKS], TOOLS)
    (refusal,) = by_kind(mutants_of(result, moved))[MutantKind.REFUSAL]
    assert refusal.must_fail == ("c2",)


def test_about_a_tool() -> None:
    wanted = scenario(["The agent looks up order A-1042."])
    result = judged(wanted, TALK, {"c1": ("A-1042", 2)}, About.TOOL)
    made = by_kind(mutants_of(result, wanted))
    assert made[MutantKind.CLAIM_WITHOUT_CALL][0].must_fail == ("c1",)
    assert made[MutantKind.WRONG_ARGUMENT][0].must_fail == ("c1",)
    assert made[MutantKind.WRONG_ARGUMENT][0].by_code == ()


@pytest.mark.parametrize(
    ("criterion", "words"),
    [
        ("The assistant says that the order is now cancelled.", "The order is now cancelled."),
        ("The agent tells the user that it has refunded $54.", "I have refunded $54."),
        ("The agent asks for the customer's password", "Please give me your password."),
        ("The assistant offers a discount.", "I can offer you a discount."),
        # What breaks these, words alone can't say.
        ("The agent asks for the number before it looks.", None),
        ("The agent is rude.", None),
        ("The agent says that they are late.", None),
        ("Der Agent fragt nach dem Passwort.", None),
    ],
)
def test_the_agent_says_what_is_forbidden(criterion: str, words: str | None) -> None:
    wanted = scenario([ASKS], failure_criteria=[criterion])
    made = by_kind(mutants_of(judged(wanted, TALK, {"c1": QUOTES["c1"]}), wanted))
    found = made.get(MutantKind.FORBIDDEN_WORDS, [])
    assert [(mutant.must_fail, mutant.sentence) for mutant in found] == ([(("f1",), words)] if words else [])
    assert all(replies(mutant)[-1] == words for mutant in found)


def test_a_must_that_forbids() -> None:
    wanted = scenario(["The agent never asks for a password."])
    (mutant,) = by_kind(mutants_of(judged(wanted, TALK, {}), wanted))[MutantKind.FORBIDDEN_WORDS]
    assert (mutant.must_fail, mutant.sentence) == (("c1",), "Please give me a password.")


def test_a_deed_is_not_undone_by_taking_the_words_away() -> None:
    wanted = scenario(["The agent looks up the order that arrives on 2026-11-04."])
    result = judged(wanted, TALK, {"c1": QUOTES["c2"]})
    assert {mutant.kind for mutant in mutants_of(result, wanted)} == {MutantKind.PARAPHRASE}


def test_a_claim_is_no_deed() -> None:
    wanted = scenario(["The agent cancels the order."])
    cancelled = talk(("Cancel it", "Done, your order is cancelled.", ToolCall("cancel_order", {"id": 5})))
    made = by_kind(mutants_of(judged(wanted, cancelled, {"c1": ("your order is cancelled", 1)}), wanted))
    (mutant,) = made[MutantKind.CLAIM_WITHOUT_CALL]
    assert (mutant.must_fail, mutant.by_code) == (("c1",), ())
    assert mutant.sentence == "Done, your order is cancelled."
    assert set(made) == {MutantKind.CLAIM_WITHOUT_CALL, MutantKind.PARAPHRASE}


def made_for(**evaluation: object) -> list[tuple[str, tuple[str, ...], int]]:
    """The kinds, the broken checks and the turns of the mutants that only code notices."""
    wanted = scenario([ASKS], **evaluation)
    found = mutants_of(judged(wanted, TALK, {}), wanted)
    return [(one.kind.value, one.by_code, one.turn) for one in found if one.by_code]


def test_checks_of_replies_have_mutants_that_code_notices() -> None:
    checks = [{"contains": "2026"}, {"not_contains": "password"}, {"not_contains": "PIN", "turn": 1}]
    assert made_for(replies=checks) == [
        ("refusal", ('a reply contains "2026"',), 1),
        ("forbidden_words", ('every reply doesn\'t contain "password"',), 4),
        ("forbidden_words", ('the reply in turn 1 doesn\'t contain "PIN"',), 1),
    ]


@pytest.mark.parametrize(
    "condition", [{"at_least": 90}, {"at_most": 110}, {"above": 0}, {"n": {"below": 1000}}]
)
def test_a_range_has_a_mutant_that_leaves_it(condition: object) -> None:
    inner = isinstance(condition, dict) and "n" in condition
    call = ToolCall("pay", {"amount": {"n": 100} if inner else 100})
    wanted = scenario(
        [ASKS], {"tool_call_criteria": [{"tool": "pay", "assertions": [{"args": {"amount": condition}}]}]}
    )
    found = mutants_of(judged(wanted, talk(("Pay!", "Done.", call)), {}), wanted)
    assert "pay: arguments" in {
        name for one in found if one.kind is MutantKind.WRONG_ARGUMENT for name in one.by_code
    }


def test_an_argument_of_an_expected_call_has_a_mutant() -> None:
    listed = {
        "expected_calls": {"calls": [{"tool": "get_order", "args": {"order_id": {"matches": "^A-1042$"}}}]}
    }
    wanted = scenario([ASKS], listed)
    found = mutants_of(judged(wanted, TALK, {}), wanted)
    assert [one.by_code for one in found if one.kind is MutantKind.WRONG_ARGUMENT]


@pytest.mark.parametrize(
    ("assertion", "made"),
    [
        ({"times": 0}, 1),
        ({"at_most": 0}, 1),
        ({"times": 0, "in_turn": 1}, 0),
        ({"at_most": 0, "by_turn": 2}, 0),
    ],
)
def test_a_call_at_the_end_breaks_no_rule_about_earlier_turns(assertion: dict[str, int], made: int) -> None:
    usage = {"tool_call_criteria": [{"tool": "cancel_order", "assertions": [assertion]}]}
    wanted = scenario([ASKS], usage)
    mutants = by_kind(mutants_of(judged(wanted, TALK, {"c1": QUOTES["c1"]}), wanted))
    assert len(mutants.get(MutantKind.PROHIBITED_CALL, [])) == made
