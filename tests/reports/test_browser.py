"""The page in a real browser, as a reader uses it."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_convoprobe.errors import Blame
from pytest_convoprobe.judging.types import CheckResult, Severity, Suggestion, ToolSuggestions
from pytest_convoprobe.reports.html import write_html
from pytest_convoprobe.reports.html.anchors import anchor
from pytest_convoprobe.reports.run_report import RunReport
from pytest_convoprobe.result import Outcome
from pytest_convoprobe.results.run_info import Ci
from pytest_convoprobe.transcript import Reply, Termination, ToolCall, Transcript, Turn

from .browser import Browser, click
from .pages import CONTRAST, EVIL, INTRUSION
from .runs import BROKEN_OFF, CRASHED, FAILED, UNDECIDED, criterion, run_report, trial
from .test_wire_shown import TRIAL as WIRE_TRIAL

NAMES = ".trial strong"

# The first rows of the usual page.
ONE, TWO, THREE, FOUR = (anchor(one.result) for one in (FAILED, CRASHED, UNDECIDED, BROKEN_OFF))


def test_opens_with_what_needs_looking_at_first(browser: Browser, page: Path) -> None:
    assert browser.text("h1") == "5 of 7 passed, 2 errors"
    assert browser.texts(NAMES)[:2] == ["Refund after the return window", "Empty basket"]
    assert len(browser.texts(NAMES)) == 10
    assert browser.complaints() == []
    assert browser.requests() == [page.as_uri()]


def test_filters_by_outcome_and_keeps_it_in_the_address(browser: Browser) -> None:
    click(browser, "[name=outcome][value=error]")
    browser.until("document.getElementById('shown').textContent === '2 of 10'")
    assert browser.texts(NAMES) == ["Says which languages it speaks", "Order that nobody can find"]
    assert browser.run("return location.hash") == "#outcome=error"
    click(browser, "#filters [type=reset]")
    browser.until("document.getElementById('shown').textContent === '10'")
    assert browser.run("return location.hash") == ""


@pytest.mark.parametrize(
    ("fragment", "names"),
    [
        ("#blame=infrastructure", ["Order that nobody can find"]),
        ("#tag=policy", ["Refund after the return window"]),
        ("#newly=1", ["Refund after the return window", "Where is my parcel?"]),
        ("#text=BASKET", ["Empty basket"]),
        ("#text=It%27s+A-1043%2C+if", ["Order that nobody can find"]),
        ("#outcome=passed&text=nobody", []),
    ],
    ids=["blame", "tag", "new or fixed", "text in a name", "text in a conversation", "nothing"],
)
def test_an_address_brings_its_filters(started: Browser, page: Path, fragment: str, names: list[str]) -> None:
    started.open(page, fragment)
    assert started.texts(NAMES) == names
    assert bool(started.texts("#nothing")) is (not names)


def test_unfolds_by_keyboard(browser: Browser) -> None:
    browser.run(f"document.querySelector('#{ONE} > summary').focus()")
    browser.press("\ue007")  # Enter
    browser.until(f"document.querySelector('#{ONE} .verdict') !== null")
    assert f"open={ONE}" in browser.run("return location.hash")
    (lead,) = browser.texts(f"#{ONE} .lead")
    assert lead.startswith("3 reasons:prohibited tool issue_refund: expected no call, found 1 callf1 trig")
    assert browser.texts(f"#{ONE} .changes li")[0].startswith("new: it passed in run")
    assert browser.texts(f"#{ONE} .changes li")[1].startswith("target's system prompt changed since run")
    assert (
        browser.texts(f"#{ONE} .finding .ask")[0]
        == "f1 must not The agent promises a refund outside of the return window"
    )
    assert browser.texts(f"#{ONE} .said.user .text")[0] == "Hi! I'd like my money back for order A-1042."
    assert browser.texts(f"#{ONE} tfoot td")[-1] == "$0.0450"
    assert browser.complaints() == []


def test_a_quote_leads_to_its_turn_and_is_marked_there(started: Browser, page: Path) -> None:
    started.open(page, f"#open={ONE}")
    click(started, f"#{ONE} .quote", 0)
    assert started.run("return document.activeElement.id") == f"{ONE}-turn-4"
    assert started.texts(f"#{ONE} mark") == ["I have issued a refund of €39.90 to your card"]
    started.until(
        "(r => r.top >= 0 && r.bottom <= innerHeight)"
        f"(document.querySelector('#{ONE} mark').getBoundingClientRect())"
    )


def test_a_quote_with_an_ellipsis_marks_its_pieces(started: Browser, page: Path) -> None:
    started.open(page, f"#open={ONE}")
    click(started, f"#{ONE} .quote", 3)
    assert started.texts(f"#{ONE} mark") == ["Our return window is 30 days", "it closed on 1 November"]


def test_a_quote_from_a_tool_unfolds_it(started: Browser, page: Path) -> None:
    started.open(page, f"#open={ONE}")
    assert started.texts(f"#{ONE} .tool pre") == []
    click(started, f"#{ONE} .quote", 1)
    assert started.texts(f"#{ONE} mark") == ["permission denied: refund_window"]


def test_a_turn_leads_back_to_what_quotes_it(started: Browser, page: Path) -> None:
    started.open(page, f"#open={ONE}")
    click(started, f"#{ONE}-turn-4 .back")
    assert started.run("return document.activeElement.id") == f"{ONE}-f1"


def test_a_message_without_a_reply_is_shown(started: Browser, page: Path) -> None:
    started.open(page, f"#blame=infrastructure&open={FOUR}")
    assert started.texts(f"#{FOUR} .turn .text")[-2:] == ["It's A-1043, if that helps.", "No reply came."]


def test_a_slash_goes_to_the_search(browser: Browser) -> None:
    browser.run(f"document.querySelector('#{ONE} > summary').focus()")
    browser.press("/")
    assert browser.run("return document.activeElement.name") == "text"
    browser.press("parcel")
    browser.until("document.getElementById('shown').textContent === '1 of 10'")
    assert browser.texts(NAMES) == ["Where is my parcel?"]


@pytest.mark.parametrize(("width", "dark"), [(1280, True), (800, False), (400, True)])
def test_nothing_is_wider_than_the_screen(started: Browser, page: Path, width: int, dark: bool) -> None:
    started.size(width, dark=dark)
    started.open(page, f"#open={ONE},{TWO},{FOUR}")
    started.run("document.querySelectorAll('.tool, .about').forEach(e => e.open = true)")
    assert started.run("return document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_texts_stand_out_from_their_ground(started: Browser, page: Path, dark: bool) -> None:
    """WCAG's contrast of 4.5, for every element that has text of its own."""
    started.size(1280, dark=dark)
    started.open(page, f"#open={ONE},{TWO},{THREE}")
    click(started, f"#{ONE} .quote", 2)
    assert started.run(CONTRAST) == []


def hostile() -> RunReport:
    turn = Turn(1, EVIL, Reply(EVIL, (ToolCall(EVIL, {EVIL: [EVIL]}, EVIL), ToolCall("t", error=EVIL))))
    return run_report(
        [
            trial(
                EVIL,
                Outcome.FAILED,
                blame=Blame.AGENT,
                reason=EVIL,
                trace=EVIL,
                file=EVIL,
                target=EVIL,
                tags=(EVIL, "ok"),
                transcript=Transcript((turn,), Termination.TARGET_ERROR, pending=EVIL),
                criteria=(criterion(1, EVIL, False, EVIL, quote=EVIL, turn=1),),
                checks=(CheckResult(EVIL, False, EVIL, EVIL, 1),),
                suggestions=ToolSuggestions((Suggestion(EVIL, EVIL, EVIL, EVIL, Severity.LOW),), EVIL),
            )
        ],
        notes=(EVIL,),
        info={
            "id": EVIL,
            "ci": Ci(EVIL, "javascript:window.pwned=1"),
            "command": (EVIL,),
            "models": {"judge": EVIL},
            "versions": {EVIL: EVIL},
        },
    )


def test_hostile_content_does_nothing(started: Browser, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    write_html(hostile(), path)
    started.size(1280)
    only = anchor(hostile().results[0])
    started.open(path, f"#open={only}&text=pwned")
    started.run("document.querySelectorAll('details').forEach(e => e.open = true)")
    for selector in (".quote", ".jump", ".back", ".link", ".steps button", ".only input", "#next-hit"):
        click(started, f"#{only} {selector}" if selector[0] == "." else selector)
    click(started, "#filters [type=reset]")
    assert started.run("return window.pwned === undefined")
    made = "img, iframe, .trial script, [onload], [onerror], a:not([href^='#'])"
    assert started.run("return document.querySelectorAll(arguments[0]).length", made) == 0
    assert started.text(".said.agent .text").startswith("</script><script>window.pwned=1</script><img")
    assert started.text(".said.agent .text").endswith(r"{{ 7*7 }}${7*7}\u202egnp.exe\x1b[31m\ud800\x00")
    assert started.complaints() == []
    assert started.requests() == [path.as_uri()]


def test_the_policy_stops_what_would_get_in(browser: Browser) -> None:
    """Were a text ever put in as markup, it still could not act."""
    browser.run(INTRUSION)
    assert browser.run("return window.pwned === undefined")
    assert any("Content Security Policy" in line for line in browser.complaints())


def test_prints_without_what_is_for_the_screen(started: Browser, page: Path) -> None:
    started.open(page, f"#open={ONE}")
    started.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print", "features": []})
    assert started.texts("#filters") == []
    assert started.texts(f"#{ONE} .said.user .text") != []
    started.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})


def test_numbers_are_those_of_python(browser: Browser) -> None:
    for number in (0, 999, 1000, 1_234_567):
        assert browser.run(f"return parts.number({number})") == f"{number:,}"
    assert browser.run("return parts.someOf(1200, 3400)") == "1,200 of 3,400"
    assert browser.run("return parts.someOf(1200, 1200)") == "1,200"


def test_what_was_seen_on_the_wire_is_shown_in_its_turn(started: Browser, tmp_path: Path) -> None:
    path = tmp_path / "wire.html"
    write_html(run_report([WIRE_TRIAL]), path)
    started.open(path, f"#{anchor(WIRE_TRIAL.result)}")
    lines = started.texts("li.turn p.muted")
    assert lines[0].startswith(
        "4 calls of g\\x1b[2J ::error::x<script>, m (1 of them replayed), 1,200 + 25 tokens"
    )
    assert lines[1] == "call 3: failed, and no equal one was answered: status 503: busy <b>"
    assert "seen on the wire" in started.text("li.turn details.tool summary")
    assert started.complaints() == []
