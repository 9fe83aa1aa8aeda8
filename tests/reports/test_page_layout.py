"""How the pages look in a real browser: three widths, both themes, on paper, and without scripts."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_convoprobe.reports.html import write_comparison, write_html
from pytest_convoprobe.reports.html.anchors import anchor
from pytest_convoprobe.results.run_info import RunState

from .browser import Browser, click
from .pages import CONTRAST
from .pairs import run_pair
from .runs import CRASHED, FAILED, UNDECIDED, run_report, with_past
from .test_matrix import MATRIX

ONE = anchor(FAILED.result)
UNFOLDED = f"#open={ONE},{anchor(CRASHED.result)},{anchor(UNDECIDED.result)}"

WIDTHS = (420, 900, 1400)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The usual page, one with a matrix, and one of two runs."""
    folder = tmp_path_factory.mktemp("pages")
    found = {name: folder / f"{name}.html" for name in ("run", "matrix", "compare")}
    write_html(with_past(), found["run"])
    write_html(run_report(MATRIX), found["matrix"])
    write_comparison(run_pair(), found["compare"])
    return found


@pytest.mark.parametrize("name", ["run", "matrix", "compare"])
@pytest.mark.parametrize("height", [667, 900])
def test_the_first_failure_is_above_the_fold_of_a_phone(
    started: Browser, pages: dict[str, Path], name: str, height: int
) -> None:
    started.size(420, height)
    started.open(pages[name])
    bottom = started.run("return document.querySelector('.trial .what').getBoundingClientRect().bottom")
    assert bottom < height
    assert started.run("return scrollY") == 0


def test_a_warning_leaves_the_first_failure_above_the_fold(started: Browser, tmp_path: Path) -> None:
    notes = ("a torn last line in trials-gw1.jsonl was skipped",)
    write_html(run_report(notes=notes, info={"state": RunState.BROKEN_OFF}), tmp_path / "torn.html")
    started.size(420, 667)
    started.open(tmp_path / "torn.html")
    assert started.run("return document.querySelector('.trial strong').getBoundingClientRect().bottom") < 667


@pytest.mark.parametrize(("width", "seen"), [(420, False), (900, True), (1400, True)])
def test_figures_are_folded_on_a_phone_only(
    started: Browser, pages: dict[str, Path], width: int, seen: bool
) -> None:
    started.size(width)
    started.open(pages["run"])
    assert bool(started.texts(".tile .big")) is seen
    assert bool(started.texts(".overview > summary")) is not seen
    started.run("document.querySelector('.overview').open = true")
    assert started.texts(".tile .big") == ["71 %", "$0.3600"]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["run", "matrix", "compare"])
def test_texts_stand_out_and_nothing_is_wider_than_the_screen(
    started: Browser, pages: dict[str, Path], name: str, width: int, dark: bool
) -> None:
    started.size(width, dark=dark)
    started.open(pages[name], UNFOLDED)
    started.run("document.querySelectorAll('details').forEach(e => e.open = true)")
    click(started, ".quote")
    click(started, ".steps button")
    assert started.run(CONTRAST) == []
    assert started.run("return document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_painted_hits_stand_out(started: Browser, pages: dict[str, Path], dark: bool) -> None:
    """WCAG's contrast of 4.5 between a hit's text and its ground, which are no elements."""
    started.size(1400, dark=dark)
    started.open(pages["run"])
    for text, ground in (("--hit-text", "--hit"), ("--on", "--accent"), ("--mark-text", "--mark")):
        started.run(
            "const e = document.createElement('p'); e.className = 'probe'; e.textContent = arguments[0];"
            "const style = getComputedStyle(document.documentElement);"
            "e.style.color = style.getPropertyValue(arguments[0]);"
            "e.style.backgroundColor = style.getPropertyValue(arguments[1]);"
            "document.body.append(e)",
            text,
            ground,
        )
    assert [line for line in started.run(CONTRAST) if line.startswith("probe")] == []


def test_a_table_that_is_too_wide_scrolls_by_key_and_shows_it(
    started: Browser, pages: dict[str, Path]
) -> None:
    started.size(420)
    started.open(pages["matrix"])
    started.run("document.querySelector('.overview').open = true")
    box = "document.querySelector('.matrix .wide')"
    assert started.run(f"return {box}.scrollWidth > {box}.clientWidth")
    named = started.run(f"return [{box}.getAttribute('role'), {box}.getAttribute('aria-label')]")
    assert named == ["region", "Trials that passed, by scenario and target"]
    # Shadows at both sides, which the ground of the table hides where it ends.
    assert (
        started.run(f"return getComputedStyle({box}).backgroundAttachment") == "local, local, scroll, scroll"
    )
    started.run(f"{box}.focus()")
    started.press("\ue014" * 4)  # to the right
    started.until(f"{box}.scrollLeft > 0")


def test_the_edge_of_a_wide_table_is_painted(started: Browser, pages: dict[str, Path]) -> None:
    """The last pixels differ from the ground while there is more to the right, and no longer at the end."""
    started.size(420)
    started.open(pages["matrix"])
    started.run("document.querySelector('.overview').open = true")
    started.run("document.querySelector('.matrix .wide').scrollIntoView()")
    more = _edge(started)
    started.run("document.querySelector('.matrix .wide').scrollLeft = 9999")
    assert _edge(started) != more


def _edge(browser: Browser) -> object:
    """The pixels at the right edge of the table, as the browser encodes them."""
    box = browser.run(
        "const r = document.querySelector('.matrix .wide').getBoundingClientRect();"
        "return {x: r.right - 4 + scrollX, y: r.top + r.height / 2 + scrollY, width: 4, height: 4, scale: 1}"
    )
    return browser.driver.execute_cdp_cmd("Page.captureScreenshot", {"clip": box, "format": "png"})["data"]


def test_a_long_result_can_be_scrolled_by_key(started: Browser, pages: dict[str, Path]) -> None:
    started.open(pages["run"], f"#{anchor(CRASHED.result)}")
    assert started.run("return document.querySelector('.trace').tabIndex") == 0


@pytest.mark.parametrize("name", ["run", "compare"])
def test_can_be_read_without_scripts(started: Browser, pages: dict[str, Path], name: str) -> None:
    started.size(1280)
    started.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        started.open(pages[name], f"#{ONE}")
        click(started, f"[id='{ONE}'] > summary")
        said = started.texts(f"[id='{ONE}'] .said.agent .text")
        assert any(text.startswith("You're right, you have been with us") for text in said)
        assert f"#{ONE}" in started.run("return location.hash")
        assert started.texts("#filters") == []
        assert started.texts(".steps") == []
    finally:
        started.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("name", ["run", "matrix", "compare"])
def test_texts_stand_out_on_paper(started: Browser, pages: dict[str, Path], name: str, dark: bool) -> None:
    started.size(800)
    started.open(pages[name], UNFOLDED)
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    paper = {"media": "print", "features": [scheme]}
    started.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", paper)
    try:
        click(started, ".quote")
        assert started.run(CONTRAST) == []
    finally:
        started.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})


def test_paper_has_no_buttons_and_whole_tables(started: Browser, pages: dict[str, Path]) -> None:
    started.open(pages["matrix"], f"#{ONE}")
    started.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print", "features": []})
    try:
        assert started.texts("button") == []
        assert started.texts("#filters") == []
        assert started.run("return getComputedStyle(document.querySelector('.wide')).overflowX") == "visible"
        assert started.texts(".said.user .text") != []
    finally:
        started.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})


def test_everything_is_reached_by_tab(started: Browser, pages: dict[str, Path]) -> None:
    """From the first link of an unfolded trial to its last: none is left out, and each can be seen."""
    started.size(1280)
    started.open(pages["run"], f"#{ONE}")
    wanted = started.run(
        "return Array.from(document.querySelectorAll(arguments[0])).filter(e => e.checkVisibility()).length",
        f"#{ONE} :is(a, button, input, summary)",
    )
    started.run("document.querySelector(arguments[0]).focus()", f"#{ONE} > summary")
    reached = 1
    for _ in range(wanted + 20):
        started.press("\ue004")
        if not started.run("return document.activeElement.closest(arguments[0]) !== null", f"#{ONE}"):
            break
        assert started.run("return getComputedStyle(document.activeElement).outlineStyle") != "none"
        reached += started.run("return document.activeElement.matches('a, button, input, summary')")
    assert reached == wanted
