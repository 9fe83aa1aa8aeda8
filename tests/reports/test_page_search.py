"""The search of the page in a real browser: hits are counted, marked and gone to."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from pytest_convoprobe.reports.html import write_html
from pytest_convoprobe.reports.html.anchors import anchor
from pytest_convoprobe.result import Outcome
from pytest_convoprobe.transcript import Reply, ToolCall, Transcript, Turn

from .browser import Browser, click
from .runs import FAILED, PASSING, criterion, run_report, trial

ONE = anchor(FAILED.result)
ENTER, SHIFT = "\ue007", "\ue008"

MARKED = """
const ranges = CSS.highlights.get(arguments[0]);
return ranges ? Array.from(ranges, range => range.toString()) : [];
"""
CURRENT_IN = """
const [range] = CSS.highlights.get('current-hit');
return range.startContainer.parentElement.closest(arguments[0])?.id ?? null;
"""
IN_VIEW = """
const [range] = CSS.highlights.get('current-hit');
const box = range.getBoundingClientRect();
return box.height > 0 && box.top >= 0 && box.bottom <= innerHeight;
"""


def look_for(browser: Browser, words: str) -> None:
    browser.run("document.querySelector('[name=text]').focus()")
    browser.press(words)
    browser.until("!document.querySelector('.hits').hidden")


def hits(browser: Browser) -> str:
    return browser.text("#hits")


@pytest.fixture
def talks(started: Browser, tmp_path: Path) -> Browser:
    """Two trials: in one the agent says what we look for, in the other a folded tool does."""
    path = tmp_path / "report.html"
    write_html(run_report([FAILED, PASSING[0]]), path)
    started.size(1280)
    started.open(path)
    return started


def test_hits_are_counted_before_anything_is_unfolded(talks: Browser) -> None:
    look_for(talks, "return window")
    assert hits(talks) == f"{talks.run(COUNT, 'return window')} hits"
    assert talks.run("return document.querySelectorAll('.trial[open]').length") == 0


COUNT = """
const words = arguments[0];
let count = 0;
for (const trial of trials.all) {
  const copy = trial.cloneNode(true);
  const source = copy.querySelector('noscript');
  if (source) copy.querySelector('.body').innerHTML = source.textContent;
  const texts = copy.querySelectorAll(':scope > summary :is(strong, .meta)');
  copy.querySelectorAll('[data-label]').forEach(e => e.remove());
  for (const part of [...texts, copy.querySelector('.body')])
    count += part.textContent.toLowerCase().split(words.toLowerCase()).length - 1;
}
return count;
"""
"""Counts in another way: by what a parser makes of each trial."""


@pytest.mark.parametrize("words", ["refund", "€39.90", "<", "look_up_order", "A-1042", "e", "that&"])
def test_the_count_is_that_of_the_texts(talks: Browser, words: str) -> None:
    talks.run("search.look(arguments[0], trials.all)", words)
    assert hits(talks).split()[0].replace(",", "") == str(talks.run(COUNT, words))
    talks.run("trials.all.forEach(trials.open); search.look(arguments[0], trials.all)", words)
    assert len(talks.run(MARKED, "hit")) == talks.run(COUNT, words)


def test_texts_that_look_like_words_of_the_page_are_hits(started: Browser, tmp_path: Path) -> None:
    """An attribute may have such a text too, as the title of a mark at a turn has the criterion's."""
    odd = '<b data-label>needle</b> " data-label needle > needle'
    asked = (criterion(1, odd, False, odd, quote=odd, turn=1),)
    talk = Transcript((Turn(1, odd, Reply(odd, (ToolCall(odd, {odd: odd}, error=odd),))),))
    one = trial(odd, Outcome.FAILED, transcript=talk, criteria=asked, checks=(), reason=odd)
    write_html(run_report([one]), tmp_path / "report.html")
    started.open(tmp_path / "report.html")
    started.run("search.look('needle', trials.all)")
    assert hits(started).split()[0] == str(started.run(COUNT, "needle"))
    started.run("trials.all.forEach(trials.open); search.repaint()")
    assert len(started.run(MARKED, "hit")) == started.run(COUNT, "needle") > 20


def test_words_of_the_page_are_no_hits(talks: Browser) -> None:
    """ "Turn", "Agent" and "Called with" stand in each conversation."""
    look_for(talks, "Called with the")
    assert hits(talks) == "1 hit"  # a criterion


def test_enter_goes_from_hit_to_hit_and_shift_enter_back(talks: Browser) -> None:
    look_for(talks, "delivered")
    total = int(hits(talks).split()[0])
    assert total > 3
    talks.press(ENTER)
    assert hits(talks) == f"1 of {total}"
    talks.press(ENTER)
    assert hits(talks) == f"2 of {total}"
    assert talks.run("return document.activeElement.name") == "text"
    talks.press(SHIFT + ENTER)
    talks.press(SHIFT + ENTER)
    assert hits(talks) == f"{total} of {total}"
    assert talks.run(MARKED, "current-hit") == ["delivered"]


def test_a_hit_in_a_folded_tool_is_unfolded_and_seen(talks: Browser) -> None:
    look_for(talks, "kettle-17")
    assert hits(talks) == "2 hits"
    talks.press(ENTER)
    assert talks.run(CURRENT_IN, ".trial") == ONE
    assert talks.run(CURRENT_IN, "details[open].tool") == f"{ONE}-turn-2-call-1"
    assert talks.run(IN_VIEW)
    talks.press(ENTER)
    assert talks.run(CURRENT_IN, ".trial") == anchor(PASSING[0].result)
    assert talks.run(IN_VIEW)
    assert talks.run(MARKED, "hit") == ["KETTLE-17", "KETTLE-17"]
    assert talks.complaints() == []


def test_enter_does_not_wait_for_a_pause_in_typing(talks: Browser) -> None:
    talks.run("document.querySelector('[name=text]').focus()")
    talks.press("kettle-17" + ENTER)
    assert hits(talks) == "1 of 2"
    talks.run("return new Promise(done => setTimeout(done, 400))")  # the pause comes after it
    assert hits(talks) == "1 of 2"


def test_where_a_line_ends_is_no_matter(talks: Browser) -> None:
    look_for(talks, "2 October. Our return")
    assert hits(talks) == "2 hits"
    talks.press(ENTER)
    assert talks.run(MARKED, "current-hit") == ["2 October.\n\nOur return"]


def test_n_and_p_go_on_where_nobody_types(talks: Browser) -> None:
    look_for(talks, "kettle-17")
    talks.run("document.querySelector('.trial > summary').focus()")
    talks.press("n")
    assert hits(talks) == "1 of 2"
    talks.press("n")
    assert hits(talks) == "2 of 2"
    talks.press("p")
    assert hits(talks) == "1 of 2"
    talks.run("document.querySelector('[name=text]').focus()")
    talks.press("n")
    talks.until("document.getElementById('hits').textContent === '0 hits'")  # it was typed


def test_a_hit_in_a_turn_that_is_hidden_shows_it(talks: Browser) -> None:
    talks.run("trials.go(arguments[0])", ONE)
    click(talks, f"#{ONE} .only input")
    assert talks.texts(f"#{ONE}-turn-1") == []
    look_for(talks, "May I ask what is wrong")
    talks.press(ENTER)
    assert talks.texts(f"#{ONE}-turn-1") != []
    assert talks.run("return document.querySelector('.only input').checked") is False


def test_a_quote_that_is_marked_hides_no_hit(talks: Browser) -> None:
    """The mark divides the text: a hit may begin before it and end in it."""
    talks.run("trials.go(arguments[0])", ONE)
    click(talks, f"#{ONE} .quote", 0)
    assert talks.texts(f"#{ONE} mark") == ["I have issued a refund of €39.90 to your card"]
    look_for(talks, "long time. I have issued a refund")
    assert talks.run(MARKED, "hit") == ["long time. I have issued a refund"]
    assert hits(talks) == "2 hits"  # in both trials


def test_filters_narrow_the_hits_down(talks: Browser) -> None:
    look_for(talks, "kettle-17")
    click(talks, "[name=outcome][value=passed]")
    talks.until("document.getElementById('hits').textContent === '1 hit'")


def test_an_address_with_words_marks_them(started: Browser, page: Path) -> None:
    started.open(page, f"#text=issued+a+refund&open={ONE}")
    assert "issued a refund" in started.run(MARKED, "hit")


def test_a_thousand_trials_are_searched_without_unfolding_one(started: Browser, tmp_path: Path) -> None:
    path = tmp_path / "large.html"
    said = Transcript((Turn(1, "Where is it?", Reply("In the shed, next to the spade.")),))
    last = trial("The last of all", transcript=said, criteria=(), checks=())
    many = [_numbered(number) for number in range(999)]
    write_html(run_report([*many, last]), path)
    started.open(path)
    look_for(started, "the spade")
    started.until("document.getElementById('hits').textContent === '1 hit'")
    assert started.text("#shown") == "1 of 1,000"
    started.press(ENTER)
    assert started.run(CURRENT_IN, ".turn") == f"{anchor(last.result)}-turn-1"
    assert started.run(IN_VIEW)
    # What is not looked at stays text.
    assert started.run("return document.querySelectorAll('.trial noscript').length") == 999


def _numbered(number: int):  # type: ignore[no-untyped-def]
    name = f"Parcel {number}"
    changed = dataclasses.replace(PASSING[0].result, name=name, scenario_id=f"scenarios/many.yaml::{name}")
    return dataclasses.replace(PASSING[0], result=changed)


def test_a_browser_that_cannot_paint_ranges_selects_the_hit(started: Browser, page: Path) -> None:
    without = {"source": "delete CSS.highlights; delete window.Highlight"}
    added = started.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", without)
    try:
        started.open(page)
        look_for(started, "KETTLE-17")
        started.press(ENTER)
        assert started.run("return String(getSelection())") == "KETTLE-17"
        assert started.complaints() == []
    finally:
        started.driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", added)
