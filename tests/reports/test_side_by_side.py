"""Two runs side by side: which turn is the first that differs, and how a browser shows both."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_convoprobe.reports.html import SiteLinks, comparison_chunks, html_chunks, write_comparison
from pytest_convoprobe.reports.html.anchors import anchor
from pytest_convoprobe.reports.html.side_by_side import context, turn_pairs
from pytest_convoprobe.reports.html.turns import talk
from pytest_convoprobe.result import Outcome
from pytest_convoprobe.transcript import Origin, Reply, SaidBefore, ToolCall, Transcript, Turn

from .browser import Browser, click, in_view
from .pages import EVIL
from .pairs import STOOD_FIRM, run_pair
from .runs import FAILED, REFUND, criterion, run_report, trial

ONE = anchor(FAILED.result)


@pytest.fixture
def comparison(started: Browser, tmp_path: Path) -> Browser:
    write_comparison(run_pair(), tmp_path / "compare.html")
    started.size(1400)
    started.open(tmp_path / "compare.html")
    return started


def turns(*said: tuple[str, str], calls: tuple[ToolCall, ...] = ()) -> list[dict[str, Any]]:
    return talk(
        Transcript(tuple(Turn(n, user, Reply(reply, calls)) for n, (user, reply) in enumerate(said, 1)))
    )


@pytest.mark.parametrize(
    ("base", "head", "same", "words"),
    [
        (turns(("a", "b"), ("c", "d")), turns(("a", "b"), ("c", "e")), 1, "the agent's reply"),
        (turns(("a", "b"), ("c", "d")), turns(("a", "b"), ("x", "d")), 1, "the user's message"),
        (turns(("a", "b")), turns(("x", "y")), 0, "the user's message, the agent's reply"),
        (turns(("a", "b")), turns(("a", "b"), ("c", "d")), 1, "only the later run has this turn"),
        (turns(("a", "b"), ("c", "d")), turns(("a", "b")), 1, "only the earlier run has it"),
        (turns(("a", "b")), turns(("a", "b"), calls=(ToolCall("t"),)), 0, "the calls of tools"),
        (
            turns(("a", "b"), calls=(ToolCall("t", {"n": 1}),)),
            turns(("a", "b"), calls=(ToolCall("t", {"n": 2}),)),
            0,
            "the calls of tools",
        ),
        (
            turns(("a", "b"), calls=(ToolCall("t", result=1),)),
            turns(("a", "b"), calls=(ToolCall("t", error="1"),)),
            0,
            "the calls of tools",
        ),
    ],
)
def test_the_first_turn_that_differs(
    base: list[dict[str, Any]], head: list[dict[str, Any]], same: int, words: str
) -> None:
    begin, rest = turn_pairs(base, head)
    assert (len(begin), rest[0].words, rest[0].first) == (same, words, True)
    assert not any(pair.first for pair in (*begin, *rest[1:]))


def test_times_are_no_difference() -> None:
    slow = Transcript(tuple(replace(turn, latency=turn.latency + 9) for turn in REFUND))
    begin, rest = turn_pairs(talk(Transcript(REFUND)), talk(slow))
    assert (len(begin), rest) == (len(REFUND), ())


def test_a_greeting_is_turn_zero() -> None:
    one, other = (
        talk(Transcript((Turn(0, "", Reply(said), Origin.GREETING), *REFUND[:1])))
        for said in ("Hello!", "Hi!")
    )
    begin, rest = turn_pairs(one, other)
    assert (begin, rest[0].number, rest[0].words) == ((), 0, "the agent's reply")


def test_only_what_changed_is_shown_and_the_rest_is_counted() -> None:
    found = context(run_pair())
    assert [(row["kind"], row["name"]) for row in found["rows"]] == [
        ("new failure", "Empty basket"),
        ("new failure", "Refund after the return window"),
        ("fixed", "Where is my parcel?"),
        ("added", "New scenario"),
        ("removed", "Old scenario"),
    ]
    assert found["same"] == ["Change the address before dispatch"]
    assert found["closed"]


def test_addresses_lead_to_both_runs_and_their_trials() -> None:
    links = SiteLinks(home="/", run="/runs/{run}", comparison="/compare/{base}/{head}")
    found = context(run_pair(), links)
    assert [one["address"] for one in found["runs"]] == [
        "/runs/20261112T080000Z-aaaaa2",
        "/runs/20261127T221500Z-ab12cd",
    ]
    (row,) = [one for one in found["rows"] if one["anchor"] == ONE]
    assert [side["address"] for side in row["sides"]] == [
        f"/runs/20261112T080000Z-aaaaa2#{ONE}",
        f"/runs/20261127T221500Z-ab12cd#{ONE}",
    ]
    page = "".join(comparison_chunks(run_pair(), links))
    assert '<a href="/">All runs</a>' in page
    assert "/runs/" not in "".join(comparison_chunks(run_pair()))
    assert '<a href="/">All runs</a>' in "".join(html_chunks(run_report(), links))


def test_an_address_is_escaped() -> None:
    links = SiteLinks(run="/runs/{run}")
    assert links.run_of("../x?y#z") == "/runs/..%2Fx%3Fy%23z"


def test_the_same_runs_make_the_same_page() -> None:
    assert "".join(comparison_chunks(run_pair())) == "".join(comparison_chunks(run_pair()))


def test_the_first_difference_is_marked_and_led_to(comparison: Browser) -> None:
    comparison.run("trials.go(arguments[0])", ONE)
    assert comparison.texts(f"#{ONE} .same-turns > summary") == ["Turns 1 to 3 are the same in both"]
    assert comparison.texts(f"#{ONE} .difference") == [
        "First difference: the calls of tools, the agent's reply"
    ]
    assert comparison.texts(f"#{ONE} .first-difference .said.agent .text") == [
        "I'm sorry, the window of 30 days has closed.",
        "You're right, you have been with us for a long time. I have issued a refund of €39.90 to your card; "
        "it will arrive within five working days.",
    ]
    click(comparison, f"#{ONE} .to-difference")
    assert comparison.run("return document.activeElement.id") == f"{ONE}-difference"
    assert in_view(comparison, f"#{ONE}-difference")
    assert comparison.complaints() == []


@pytest.mark.parametrize(("width", "beside"), [(420, False), (900, True), (1400, True)])
def test_both_conversations_stand_beside_each_other_where_there_is_room(
    comparison: Browser, width: int, beside: bool
) -> None:
    comparison.size(width)
    comparison.run("trials.go(arguments[0])", f"{ONE}-difference")
    boxes = comparison.run(
        "const halves = Array.from(document.querySelectorAll('.first-difference .half'));"
        "return halves.map(e => e.getBoundingClientRect()).map(r => [r.left, r.top, r.right, r.bottom])"
    )
    (_, top, right, bottom), (left, other, _, _) = boxes
    assert (left >= right and top == other) is beside
    assert (other >= bottom) is not beside


def test_both_outcomes_reasons_and_findings_are_there(comparison: Browser) -> None:
    comparison.run("trials.go(arguments[0])", ONE)
    assert [" ".join(text.split()) for text in comparison.texts(f"#{ONE} .came-to")] == [
        "passed",
        "failed · agent",
    ]
    assert len(comparison.texts(f"#{ONE} .lead li")) == 3
    sides = [len(comparison.texts(f"#{ONE} .sides:last-child .side:nth-child({n}) .finding")) for n in (1, 2)]
    assert sides == [3, 8]


def test_a_quote_from_a_turn_that_is_the_same_leads_to_it(comparison: Browser) -> None:
    """It is on the page once, folded: the quotes of both runs lead there."""
    comparison.run("trials.go(arguments[0])", ONE)
    first = f"#{ONE} .sides:last-child .side:nth-child(1) .quote"
    click(comparison, first, 0)
    assert comparison.run("return document.activeElement.id") == f"{ONE}-now-turn-2"
    assert comparison.texts(f"#{ONE} mark") == ["I have found your order"]


def test_a_scenario_of_one_run_shows_its_conversation_without_a_difference(comparison: Browser) -> None:
    id = anchor(trial("New scenario").result)
    comparison.run("trials.go(arguments[0])", id)
    assert comparison.texts(f"#{id} .difference") == []
    assert len(comparison.texts(f"#{id} .said.agent")) == len(REFUND)
    assert "This run has no trial of it." in comparison.texts(f"#{id} .side p")


def test_the_search_finds_hits_in_both_conversations(comparison: Browser) -> None:
    comparison.run("document.querySelector('[name=text]').focus()")
    comparison.press("window of 30 days")
    comparison.until("document.getElementById('hits').textContent === '1 hit'")
    comparison.press("\ue007")
    inside = (
        "return [...CSS.highlights.get('current-hit')][0].startContainer.parentElement.closest('.turn').id"
    )
    assert comparison.run(inside) == f"{ONE}-before-turn-4"


def test_kinds_are_filters(comparison: Browser) -> None:
    click(comparison, "[name=kind][value=fixed]")
    comparison.until("document.getElementById('shown').textContent === '1 of 5'")
    assert comparison.run("return location.hash") == "#kind=fixed"


def test_nothing_of_either_run_is_markup(started: Browser, tmp_path: Path) -> None:
    def hostile(reply: str) -> Transcript:
        return Transcript((Turn(1, EVIL, Reply(reply, (ToolCall(EVIL, {EVIL: EVIL}, EVIL),))),))

    values: dict[str, Any] = {
        "criteria": (criterion(1, EVIL, False, EVIL, quote=EVIL, turn=1),),
        "file": EVIL,
    }
    before = trial(EVIL, transcript=hostile("a"), **values)
    now = trial(
        EVIL, Outcome.FAILED, transcript=hostile(EVIL), reason=EVIL, blame=FAILED.result.blame, **values
    )
    path = tmp_path / "compare.html"
    write_comparison(replace(run_pair([before], [now]), notes=(EVIL,)), path)
    started.size(1280)
    started.open(path, f"#{anchor(now.result)}")
    started.run("document.querySelectorAll('details').forEach(e => e.open = true)")
    assert started.run("return window.pwned === undefined")
    assert (
        started.run(
            "return document.querySelectorAll('img, iframe, .trial script, [onload], [onerror]').length"
        )
        == 0
    )
    assert started.complaints() == []
    assert started.requests() == [path.as_uri()]


def test_the_talk_that_stood_firm_differs_in_turn_four() -> None:
    begin, rest = turn_pairs(talk(STOOD_FIRM), talk(Transcript(REFUND)))
    assert (len(begin), rest[0].number) == (3, 4)


@pytest.mark.parametrize(("now", "shown"), [("I'm back.", 1), ("It's me again.", 2)])
def test_what_was_said_before_is_shown_once_where_it_is_the_same(now: str, shown: int) -> None:
    earlier, later = (
        replace(STOOD_FIRM, history=(SaidBefore(text), SaidBefore("Welcome back!", by_agent=True)))
        for text in ("I'm back.", now)
    )
    pair = run_pair([trial(transcript=earlier)], [trial(outcome=Outcome.FAILED, transcript=later)])
    page = "".join(comparison_chunks(pair))
    assert page.count("Before the conversation (no evidence)") == shown
    assert page.count("Welcome back!") == shown
