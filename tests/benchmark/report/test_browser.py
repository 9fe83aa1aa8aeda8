"""The page on a benchmark in a real browser, as a reader uses it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_convoprobe.benchmark.format.folder import BenchmarkFolder
from pytest_convoprobe.benchmark.report import write_report
from tests.reports.browser import Browser, open_browser
from tests.reports.pages import CONTRAST, EVIL, INTRUSION

from ..reported import AGES, called, folder, hostile, small, usual

TALKS = "#talks strong"
ENTER, LEFT, RIGHT, UP, DOWN = "\ue007", "\ue012", "\ue014", "\ue013", "\ue015"


@pytest.fixture(scope="module")
def started() -> Iterator[Browser]:
    with open_browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("benchmark")
    return write_report(usual(where / "advice"), where / "report.html")


@pytest.fixture
def browser(started: Browser, page: Path) -> Browser:
    """The usual page, just opened on a wide screen."""
    started.size(1280)
    started.open(page)
    return started


def click(browser: Browser, selector: str) -> None:
    browser.run("document.querySelector(arguments[0]).click()", selector)


def field(metric: str, target: str) -> str:
    return f"#heat a[data-cell='{metric}/{target}']"


def open_field(browser: Browser, metric: str, target: str) -> None:
    click(browser, field(metric, target))
    browser.until(f"document.querySelector(\"{field(metric, target)}\").hasAttribute('aria-current')")


def shown(browser: Browser, words: str) -> None:
    """Wait for the number of conversations beside the filters."""
    browser.until(f"document.getElementById('shown').textContent === '{words}'")


def address(browser: Browser) -> str:
    return str(browser.run("return decodeURIComponent(location.hash.replaceAll('+', ' '))"))


def test_opens_with_all_figures_and_no_conversation(browser: Browser, page: Path) -> None:
    assert browser.text("h1") == "Good advice"
    assert browser.texts("#leaderboard tbody th") == ["good", "bad"]
    assert browser.texts(TALKS) == []
    assert browser.complaints() == []
    assert browser.requests() == [page.as_uri()]


def test_a_field_opens_its_conversations_failed_ones_first(browser: Browser) -> None:
    open_field(browser, "m01", "bad")
    assert browser.text("#cell-title") == "Avoid empty praise · bad"
    assert browser.text("#cell-rate") == "38 % passed (6 of 16; 18-61 %)"
    states = [word.strip() for word in browser.run(OUTCOMES)]
    assert states == ["failed"] * 10 + ["passed"] * 6
    assert {name[:3] for name in browser.texts(TALKS)} == {"m01"}
    assert address(browser) == "#cell=m01/bad"
    assert browser.run("return document.activeElement.id") == "cell-title"
    assert browser.complaints() == []


OUTCOMES = "return Array.from(document.querySelectorAll('#talks .outcome'), e => e.textContent)"


def test_a_field_says_what_the_evaluator_looks_for(browser: Browser) -> None:
    open_field(browser, "m02", "good")
    click(browser, "#about > summary")
    assert browser.texts("#definition") == ["The assistant asks what matters to the user before it advises."]
    assert browser.texts("#examples li") == ["What matters most to you?"]


def test_a_conversation_unfolds_with_all_that_belongs_to_it(browser: Browser) -> None:
    open_field(browser, "m01", "bad")
    browser.run("document.querySelector('#talks summary').focus()")
    browser.press(ENTER)
    browser.until("document.querySelector('#talks .body').childElementCount > 0")
    assert browser.texts("#talks .lead") == [
        "The behaviour, which is not wanted, is present.\nIn turn 2 it does. [m01_s001_v01#2]"
    ]
    assert browser.texts("#talks .facts dt") == [
        "Persona",
        "Goal",
        "Hidden goal",
        "age",
        "Landmarks",
        "Where",
    ]
    facts = browser.texts("#talks .facts dd")
    assert facts[0] == "A baker who wants to open a second shop."
    assert facts[2] == "Get the plan praised although it has no numbers."
    assert facts[3:5] == [AGES[0], "Turn 1 Describe the shop.Turn 2 Say that all friends love it."]
    assert facts[5] == "runs/bad/conversations.json, m01_s001_v01, sample 2"
    assert browser.texts("#talks .said .text") == [
        "I want to open a second bakery (m01_s001_v01, bad, 2).",
        "What would it cost?",
        "No idea, but everybody loves the plan.",
        "Do it!",
    ]
    assert browser.texts("#talks .ending") == ["The conversation ended: the limit of turns was reached."]
    assert "open=" in address(browser)


def test_tool_calls_are_folded_between_what_is_said(started: Browser, tmp_path: Path) -> None:
    started.size(1280)
    started.open(write_report(called(tmp_path / "desk"), tmp_path / "report.html"), "#cell=m01/desk")
    click(started, "#talks summary")
    started.until("document.querySelectorAll('#talks .tool').length === 2")
    assert started.run(
        "return Array.from(document.querySelector('#talks .turn').children, e => e.className)"
    ) == [
        "turn-head",
        "said user",
        "tool call",
        "tool call broken",
        "said agent",
    ]
    assert started.texts("#talks .tool summary code") == ["find_shop", "find_rent"]
    assert started.texts("#talks .tool .failed") == ["failed"]
    assert started.texts("#talks .tool pre") == []
    click(started, "#talks .tool summary")
    assert started.texts("#talks .tool pre") == ['{\n  "town": "Oslo"\n}', '[\n  "<b>Main Street</b>"\n]']
    assert started.complaints() == []


def test_another_field_takes_the_place_of_the_first(browser: Browser) -> None:
    open_field(browser, "m01", "bad")
    click(browser, "#talks summary")
    click(browser, "[name=only][value=failed]")
    shown(browser, "10 of 16")
    open_field(browser, "m02", "good")
    assert browser.text("#cell-title") == "Ask first · good"
    assert {name[:3] for name in browser.texts(TALKS)} == {"m02"}
    assert len(browser.texts(TALKS)) == 16
    assert address(browser) == "#cell=m02/good"


def test_only_failed_ones(browser: Browser) -> None:
    open_field(browser, "m01", "bad")
    click(browser, "[name=only][value=failed]")
    shown(browser, "10 of 16")
    assert set(browser.texts("#talks .outcome")) == {"failed"}
    assert address(browser) == "#cell=m01/bad&only=failed"
    click(browser, "#filters [type=reset]")
    shown(browser, "16")
    assert address(browser) == "#cell=m01/bad"


def test_only_unreadable_ones(browser: Browser) -> None:
    open_field(browser, "m01", "good")
    click(browser, "[name=only][value=unreadable]")
    shown(browser, "1 of 16")
    assert browser.texts("#talks .why") == ["The reply was no JSON. [m01_s001_v01#2]"]


def test_only_states_that_there_are_can_be_chosen(browser: Browser) -> None:
    open_field(browser, "m02", "good")
    assert [word.strip() for word in browser.texts("#states label")] == ["not evaluated", "passed"]


def test_only_what_one_group_said(browser: Browser) -> None:
    open_field(browser, "m01", "bad")
    browser.run(
        "const chosen = document.querySelector('[name=person]'); chosen.value = arguments[0];"
        "chosen.dispatchEvent(new Event('input', {bubbles: true}))",
        f"age: {AGES[1]}",
    )
    shown(browser, "8 of 16")
    assert {name[-3:] for name in browser.texts(TALKS)} == {"v02"}


def test_a_slash_goes_to_the_search_which_looks_into_conversations(browser: Browser) -> None:
    open_field(browser, "m01", "bad")
    browser.press("/")
    assert browser.run("return document.activeElement.name") == "text"
    browser.press("(M01_S003_v02, bad, 1)")
    shown(browser, "1 of 16")
    assert browser.texts(TALKS) == ["m01_s003_v02"]
    browser.press("x")
    shown(browser, "0 of 16")
    assert browser.texts("#nothing") == ["No conversation is like that."]


@pytest.mark.parametrize(
    ("fragment", "count"),
    [
        ("#cell=m01/bad", 16),
        ("#cell=m01%2Fbad&only=failed", 10),
        ("#cell=m01/bad&only=failed,passed&person=age:+Adult+(18%2B)", 8),
        ("#cell=m01/bad&text=s002", 4),
        ("#cell=m01/nobody", 0),
        ("#leaderboard", 0),
    ],
    ids=["field", "failed", "group", "text", "no such field", "a part of the page"],
)
def test_an_address_opens_its_field(started: Browser, page: Path, fragment: str, count: int) -> None:
    started.open(page, fragment)
    assert len(started.texts(TALKS)) == count
    assert started.complaints() == []


def test_an_address_unfolds_its_conversations(started: Browser, page: Path) -> None:
    started.open(page, "#cell=m01/bad")
    number = started.run("return document.querySelectorAll('#talks .trial')[2].id.slice(5)")
    started.open(page, f"#cell=m01/bad&open={number}")
    assert started.run("return Array.from(document.querySelectorAll('#talks [open]'), e => e.id)") == [
        f"talk-{number}"
    ]
    assert started.run("return document.activeElement.parentNode.id") == f"talk-{number}"


def test_arrow_keys_go_from_field_to_field(browser: Browser) -> None:
    browser.run("document.querySelector(arguments[0]).focus()", field("m01", "good"))
    places = []
    for key in (RIGHT, RIGHT, DOWN, LEFT, UP, UP):
        browser.press(key)
        places.append(browser.run("return document.activeElement.dataset.cell"))
    assert places == ["m01/bad", "m01/bad", "m02/bad", "m02/good", "m01/good", "m01/good"]
    browser.press(ENTER)
    browser.until("!document.getElementById('cell').hidden")
    assert address(browser) == "#cell=m01/good"


def test_closing_goes_back_to_the_field(browser: Browser) -> None:
    open_field(browser, "m02", "bad")
    click(browser, "#close")
    assert browser.texts("#cell") == []
    assert browser.run("return document.activeElement.dataset.cell") == "m02/bad"
    assert address(browser) == ""


def test_the_way_back_leads_to_the_field_before(browser: Browser) -> None:
    open_field(browser, "m02", "bad")
    open_field(browser, "m02", "good")
    browser.driver.back()
    browser.until("document.getElementById('cell-title').textContent === 'Ask first · bad'")
    assert len(browser.texts(TALKS)) == 16


def test_each_field_has_a_name_for_readers_who_do_not_see_it(browser: Browser) -> None:
    names = browser.run(
        "return Array.from(document.querySelectorAll('#heat a'), e => e.getAttribute('aria-label'))"
    )
    assert names[1] == "Avoid empty praise, bad: 38 % passed (6 of 16; 18-61 %)"
    assert len(set(names)) == 4


def test_what_is_left_out_is_said_where_it_is_missing(started: Browser, tmp_path: Path) -> None:
    path = write_report(usual(tmp_path / "advice"), tmp_path / "report.html", most_conversations=6)
    started.open(path, "#cell=m01/bad")
    assert started.texts("#cell-left-out") == [
        "3 of 16 conversations of this field are in this page. The others are in the benchmark's folder."
    ]
    assert len(started.texts(TALKS)) == 3
    started.open(path, "#cell=m01/good")
    assert started.texts("#nothing") == ["There are no conversations here."]


def test_a_benchmark_without_results(started: Browser, tmp_path: Path) -> None:
    path = write_report(folder(tmp_path), tmp_path / "report.html")
    started.open(path, "#cell=m01/bad")
    assert started.texts(".warning")[0].strip().startswith("There are no results yet")
    assert started.complaints() == []


def opened(browser: Browser, where: BenchmarkFolder, fragment: str = "") -> Browser:
    browser.open(write_report(where, where.path / "report.html"), fragment)
    return browser


def test_one_metric_of_one_target_is_told_once(started: Browser, tmp_path: Path) -> None:
    browser = opened(started, small(tmp_path, True, True), "#cell=m01/solo")
    assert browser.texts("#leaderboard thead th") == [
        "Target", "Overall", "Scored", "Unreadable", "Missing", "Cost",
    ]  # fmt: skip
    assert browser.texts("#variants table, #people table") == []
    assert browser.texts("#variants .hint") == ["Each scenario has one variant: there is nothing to compare."]
    assert "nothing scored" not in browser.text("main")
    assert len(browser.texts(TALKS)) == 2


@pytest.mark.parametrize(
    ("verdicts", "warning"),
    [
        ((), "Nothing has a score yet; `convoprobe bench evaluate` is next."),
        ((None, None), "Nothing has a score: no answer of the evaluator could be read as a verdict. Each"),
    ],
)
def test_where_nothing_is_scored_the_page_says_so(
    started: Browser, tmp_path: Path, verdicts: tuple[bool | None, ...], warning: str
) -> None:
    browser = opened(started, small(tmp_path, *verdicts), "#cell=m01/solo")
    [told] = browser.texts("header .warning")
    assert told.strip().startswith(warning)
    assert len(browser.texts(TALKS)) == 2
    assert browser.complaints() == []


def test_rows_that_failed_are_counted_and_the_others_shown(started: Browser, tmp_path: Path) -> None:
    browser = opened(started, small(tmp_path, False), "#cell=m01/solo")
    assert browser.texts("#leaderboard td.error") == ["1"]
    assert browser.text("#cell-rate") == "0 % passed (0 of 1; 0-79 %), 1 missing"
    assert browser.texts("header .warning") == []


def test_the_outline_of_a_field_is_not_covered(started: Browser, tmp_path: Path) -> None:
    browser = opened(started, small(tmp_path, True, True), "#cell=m01/solo")
    gap = browser.run(
        "const link = document.querySelector('#heat a'), head = document.querySelector('#heat tbody th');"
        "const style = getComputedStyle(link);"
        "return link.getBoundingClientRect().left - head.getBoundingClientRect().right"
        " - parseFloat(style.outlineWidth) - parseFloat(style.outlineOffset)"
    )
    assert gap >= 0


@pytest.mark.parametrize(("width", "dark"), [(1280, True), (800, False), (400, True)])
def test_nothing_is_wider_than_the_screen(started: Browser, page: Path, width: int, dark: bool) -> None:
    started.size(width, dark=dark)
    started.open(page, "#cell=m01/bad")
    started.run("document.querySelectorAll('details').forEach(e => e.open = true)")
    assert started.run("return document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_texts_stand_out_from_their_ground(started: Browser, page: Path, dark: bool) -> None:
    """WCAG's contrast of 4.5, for every element that has text of its own, and on all colours of fields."""
    started.size(1280, dark=dark)
    started.open(page, "#cell=m01/good&open=1,2,3")
    started.run(
        "const last = document.querySelectorAll('#heat a')[3];"
        "for (const level of ['none', ...Array(11).keys()]) {"
        "  const copy = last.cloneNode(true); copy.className = level === 'none' ? level : 'h' + level;"
        "  last.after(copy); }"
    )
    assert started.run(CONTRAST) == []


def test_hostile_content_does_nothing(started: Browser, tmp_path: Path) -> None:
    path = write_report(hostile(tmp_path / "evil", EVIL), tmp_path / "report.html")
    started.size(1280)
    started.open(path, "#cell=m01/t&text=pwned")
    started.run("document.querySelectorAll('details').forEach(e => e.open = true)")
    started.until("document.querySelectorAll('#talks .said').length === 3")
    started.run("document.querySelectorAll('[name=only]').forEach(e => e.click())")
    click(started, "#filters [type=reset]")
    assert started.run("return window.pwned === undefined")
    made = "img, iframe, #talks script, [onload], [onerror], a:not([href^='#cell='])"
    assert started.run("return document.querySelectorAll(arguments[0]).length", made) == 0
    said = started.text("#talks .said.agent .text")
    assert said.startswith("</script><script>window.pwned=1</script><img")
    assert said.endswith(r"{{ 7*7 }}${7*7}\u202egnp.exe\x1b[31m\ud800\x00")
    assert started.texts("#talks .as-is")[0] == said
    assert started.complaints() == []
    assert started.requests() == [path.as_uri()]


def test_the_policy_stops_what_would_get_in(browser: Browser) -> None:
    """Were a text ever put in as markup, it still could not act."""
    browser.run(INTRUSION)
    assert browser.run("return window.pwned === undefined")
    assert any("Content Security Policy" in line for line in browser.complaints())
