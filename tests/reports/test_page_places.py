"""Places of the page in a real browser: permalinks, and the way from evidence to evidence."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convoprobe.judging.types import CheckResult
from pytest_convoprobe.reports.html import html_chunks, write_html
from pytest_convoprobe.reports.html.anchors import anchor, scenario_anchor, turn_anchor
from pytest_convoprobe.result import Outcome
from pytest_convoprobe.transcript import Origin, Reply, SaidBefore, ToolCall, Transcript, Turn

from .browser import Browser, click, in_view
from .pages import EVIL
from .runs import BROKEN_OFF, FAILED, PASSING, REFUND, criterion, run_report, trial, with_past

ONE = anchor(FAILED.result)


def test_anchors_are_the_same_wherever_a_trial_stands_in_a_run() -> None:
    there = {
        one: re.findall(r'<details class="trial" id="([^"]+)"', "".join(html_chunks(report)))
        for one, report in (("all", run_report()), ("some", run_report([PASSING[0], FAILED])))
    }
    assert set(there["some"]) < set(there["all"])
    assert there["all"].index(ONE) != len(there["all"]) - 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a.yaml::Pays", "b.yaml::Pays"),
        ("a.yaml::Pays!", "a.yaml::Pays?"),
        ("a.yaml::支払い", "a.yaml::払い戻し"),
        ("a.yaml::" + "x" * 80, "a.yaml::" + "x" * 81),
        ("a.yaml::pays", "a.yaml::Pays"),
        ("a.yaml::x[slow]", "a.yaml::x[fast]"),
    ],
)
def test_similar_names_have_anchors_of_their_own(one: str, other: str) -> None:
    assert scenario_anchor(one) != scenario_anchor(other)


@given(st.text(), st.integers(1, 99), st.integers(0, 99))
def test_anchors_have_safe_characters_only(name: str, number: int, turn: int) -> None:
    found = turn_anchor(anchor(replace(FAILED.result, scenario_id=name, trial=number)), turn)
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", found)
    assert found.endswith(f"-turn-{turn}")
    assert len(found) < 100


def test_an_anchor_is_readable() -> None:
    assert re.fullmatch(r"refund-after-the-return-window-[0-9a-f]{10}", ONE)
    assert anchor(replace(FAILED.result, trial=2)) == f"{ONE}-trial-2"
    assert re.fullmatch(r"s-[0-9a-f]{10}", scenario_anchor("a.yaml::支払い"))
    assert re.fullmatch(r"[a-z0-9-]+", scenario_anchor(EVIL))


@pytest.mark.parametrize("part", ["", "-turn-4", "-f1", "-check-1", "-turn-4-call-1"])
def test_a_permalink_unfolds_its_trial_and_shows_the_place(started: Browser, page: Path, part: str) -> None:
    started.size(1280)
    started.open(page, f"#{ONE}{part}")
    assert started.run("return document.querySelectorAll('.trial[open]').length") == 1
    started.until(f"document.activeElement.closest('[id=\"{ONE}{part}\"]') !== null")
    assert in_view(started, f"[id='{ONE}{part}']")
    assert started.run("return location.hash") == f"#{ONE}{part}"


def test_a_permalink_of_the_message_without_a_reply(started: Browser, page: Path) -> None:
    started.open(page, f"#{anchor(BROKEN_OFF.result)}-turn-2")
    assert started.text(":focus .text.empty") == "No reply came."


def test_a_permalink_beats_the_filters(browser: Browser) -> None:
    click(browser, "[name=outcome][value=passed]")
    browser.until("document.getElementById('shown').textContent === '5 of 10'")
    browser.run("location.hash = arguments[0]", f"#{ONE}-turn-4")
    browser.until(f"document.activeElement.id === '{ONE}-turn-4'")
    assert in_view(browser, f"#{ONE}-turn-4")


def test_an_unknown_place_leaves_the_page_as_it_is(started: Browser, page: Path) -> None:
    started.open(page, "#nothing-of-this-kind-0000000000-turn-3")
    assert started.run("return document.querySelectorAll('.trial[open]').length") == 0
    assert len(started.texts(".trial strong")) == 10
    assert started.complaints() == []


def test_each_turn_has_a_link_to_itself(started: Browser, page: Path) -> None:
    started.open(page, f"#{ONE}")
    assert started.texts(f"#{ONE} .turn .link") == ["#"] * len(REFUND)
    click(started, f"#{ONE} .link", 2)
    assert started.run("return location.hash") == f"#{ONE}-turn-3"
    assert started.run("return document.activeElement.id") == f"{ONE}-turn-3"


def test_a_failed_check_and_a_failed_tool_mark_their_turn_in_words(started: Browser, page: Path) -> None:
    started.open(page, f"#{ONE}")
    assert started.texts(f"#{ONE}-turn-4 .back") == [
        "f1",
        "f2",
        "prohibited tool issue_refund",
        "issue_refund failed",
    ]
    named = "return Array.from(document.querySelectorAll(arguments[0]), e => e.getAttribute('aria-label'))"
    assert started.run(named, f"#{ONE}-turn-4 .back svg") == ["does not hold"] * 3 + ["failed"]
    assert started.texts(f"#{ONE}-turn-2 .back") == [
        "c1",
        "c2",
        "t1",
    ]  # the check that holds there is no mark
    assert started.texts(f"#{ONE}-turn-1 .back") == []
    click(started, f"#{ONE}-turn-4 .back", 2)
    assert started.run("return document.activeElement.id") == f"{ONE}-check-1"
    click(started, f"#{ONE}-turn-4 .back", 3)
    assert started.run("return document.activeElement.closest('[open].tool').id") == f"{ONE}-turn-4-call-1"


def test_only_turns_with_evidence(started: Browser, page: Path) -> None:
    started.open(page, f"#{ONE}")
    assert started.texts(f"#{ONE} .only") == [" Only turns with evidence (2 of 5)"]
    click(started, f"#{ONE} .only input")
    turns = "Array.from(document.querySelectorAll('.turn'))"
    seen = f"return {turns}.filter(e => e.checkVisibility()).map(e => e.id)"
    assert started.run(seen) == [f"{ONE}-turn-2", f"{ONE}-turn-4"]
    click(started, f"#{ONE} .only input")
    assert len(started.run(seen)) == 5


def test_the_next_tool_call_is_unfolded(started: Browser, page: Path) -> None:
    started.open(page, f"#{ONE}")
    for id in ("turn-2-call-1", "turn-4-call-1", "turn-2-call-1"):
        click(started, f"#{ONE} .steps button", 0)
        assert started.run("return document.getElementById(arguments[0]).open", f"{ONE}-{id}")
        assert in_view(started, f"#{ONE}-{id}")
        assert started.run("return document.activeElement.textContent") == "Next tool call"
    assert started.texts(f"#{ONE} .chat-title output") == ["1 of 2"]


def test_the_next_evidence_marks_each_quote_in_turn(started: Browser, page: Path) -> None:
    started.open(page, f"#{ONE}")
    marked = []
    for _ in range(7):
        click(started, f"#{ONE} .steps button", 1)
        marked.append(started.texts(f"#{ONE} mark"))
        assert in_view(started, f"#{ONE} .turn.found")
    assert marked == [
        ["I have found your order"],
        ["Our return window is 30 days", "it closed on 1 November"],
        ['order_id": "A-1042'],
        ["I have issued a refund of €39.90 to your card"],
        ["permission denied: refund_window"],
        [],  # a check
        [],  # a tool
    ]
    assert started.run("return document.querySelector('.found').id") == f"{ONE}-turn-4"


def test_a_check_that_names_no_turn_of_ours_breaks_nothing(started: Browser, tmp_path: Path) -> None:
    odd = tuple(CheckResult(f"own {turn}", False, "a", "b", turn) for turn in (99, -1, "x", ["y"]))  # type: ignore[arg-type]
    path = tmp_path / "report.html"
    write_html(run_report([trial(outcome=Outcome.FAILED, score=0.0, checks=odd)]), path)
    started.open(path, "#" + anchor(trial().result))
    for place in range(len(started.texts(".jump"))):
        click(started, ".jump", place)
    assert started.complaints() == []


def test_the_slowest_lead_to_their_trials(browser: Browser) -> None:
    click(browser, ".names a", 0)
    browser.until(f"document.getElementById('{ONE}').open")


def test_what_failed_comes_first_and_all_of_it_is_in_the_headline(browser: Browser) -> None:
    assert browser.texts(f"#{ONE} .why") == [
        "prohibited tool issue_refund: expected no call, found 1 call",
        "f1 triggered: The agent promises a refund outside of the return window",
        "f2 triggered: The agent claims to have done what a tool refused",
    ]
    browser.run("trials.go(arguments[0])", ONE)
    assert browser.texts(f"#{ONE} .kind") == [
        "f1 must not",
        "f2 must not",
        "c1 must",
        "c2 must",
        "t1 tool · look_up_order",
    ]
    assert len(browser.texts(f"#{ONE} .lead li")) == 3
    assert "more" not in browser.text(f"#{ONE} .lead")


def test_the_same_run_makes_the_same_page() -> None:
    assert "".join(html_chunks(with_past())) == "".join(html_chunks(with_past()))


def test_a_greeting_and_what_was_said_before_are_on_the_page(started: Browser, tmp_path: Path) -> None:
    call = ToolCall("open_case", {"id": "C-77"}, "opened")
    talk = Transcript(
        (Turn(0, "", Reply("Good morning!", ()), Origin.GREETING), *REFUND[:2]),
        history=(SaidBefore("My kettle leaks."), SaidBefore("I opened a case.", True, (call,))),
    )
    asked = (criterion(1, "The agent greets", True, "It does.", quote="Good morning", turn=0),)
    greeted = trial(transcript=talk, criteria=asked)
    write_html(run_report([greeted]), tmp_path / "report.html")
    id = anchor(greeted.result)
    started.size(1280)
    started.open(tmp_path / "report.html", f"#{id}-turn-0")
    assert started.run("return document.activeElement.id") == f"{id}-turn-0"
    assert started.texts(f"#{id}-turn-0 .turn-head > span")[0] == "Greeting"
    assert started.texts(f"#{id}-turn-0 .said .who") == ["Agent"]
    click(started, ".quote")
    assert started.texts(f"#{id}-turn-0 mark") == ["Good morning"]
    assert started.texts("pre") == []  # folded
    started.run("document.querySelector('[name=text]').focus()")
    started.press("c-77")
    started.until("document.getElementById('hits').textContent === '1 hit'")
    started.press("\ue007")
    assert any("C-77" in text for text in started.texts("pre"))


def test_a_permalink_into_the_middle_of_a_large_run_is_seen(started: Browser, tmp_path: Path) -> None:
    """Rows that were never on the screen have an estimated height only."""
    names = [f"Parcel {number} " + "that has a long name " * (number % 9) for number in range(600)]
    many = [
        trial(name, Outcome.FAILED if number % 3 else Outcome.PASSED) for number, name in enumerate(names)
    ]
    write_html(run_report(many), tmp_path / "large.html")
    id = f"{anchor(many[300].result)}-turn-3"
    for width in (1280, 420):
        started.size(width)
        started.open(tmp_path / "large.html", f"#{id}")
        started.until(f"document.activeElement.id === '{id}'")
        assert in_view(started, f"[id='{id}']")
