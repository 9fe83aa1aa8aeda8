"""A real browser for the tests of the page: headless Chromium, or Chrome where that is what there is.

Tests that need it are skipped where there is none, unless CONVOPROBE_BROWSER is `required`.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_SWITCHES = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def found() -> tuple[str, str] | None:
    """The browser and its driver."""
    browser = next(filter(None, map(shutil.which, _BROWSERS)), None)
    folder = os.environ.get("CHROMEWEBDRIVER")
    driver = shutil.which("chromedriver", path=folder) if folder else shutil.which("chromedriver")
    return (browser, driver) if browser and driver else None


@contextmanager
def open_browser() -> Iterator[Browser]:
    """A browser with a profile of its own; skips the test if there is none."""
    programs = found()
    if programs is None and os.environ.get("CONVOPROBE_BROWSER") != "required":
        pytest.skip("no Chromium with its driver")
    assert programs is not None, "install chromium and chromium-driver: the tests of the page need them"
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = programs[0]
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        for switch in (*_SWITCHES, f"--user-data-dir={profile}", "--window-size=1280,900"):
            options.add_argument(switch)
        driver = webdriver.Chrome(options=options, service=Service(programs[1]))
        try:
            yield Browser(driver)
        finally:
            driver.quit()


class Browser:
    """What the tests do with a page."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def open(self, page: Path, fragment: str = "") -> None:
        """Load the page afresh; what was logged before is forgotten."""
        self.driver.get("about:blank")
        for log in ("browser", "performance"):
            self.driver.get_log(log)
        self.driver.get(page.as_uri() + fragment)

    def size(self, width: int, height: int = 900, *, dark: bool = False) -> None:
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})

    def run(self, script: str, *values: Any) -> Any:
        return self.driver.execute_script(script, *values)

    def text(self, selector: str) -> str:
        """What is to be read there."""
        return str(self.run("return document.querySelector(arguments[0]).textContent", selector))

    def texts(self, selector: str) -> list[str]:
        """The visible ones among what the selector finds."""
        script = (
            "return Array.from(document.querySelectorAll(arguments[0]))"
            ".filter(e => e.checkVisibility()).map(e => e.textContent)"
        )
        return list(self.run(script, selector))

    def press(self, *keys: str) -> None:
        """Keys to whatever has the focus."""
        self.driver.switch_to.active_element.send_keys(*keys)

    def until(self, script: str) -> None:
        """Wait until a script gives something true."""
        from selenium.webdriver.support.wait import WebDriverWait

        WebDriverWait(self.driver, 20, 0.05).until(lambda driver: driver.execute_script(f"return {script}"))

    def complaints(self) -> list[str]:
        """What the browser's console said since the page was opened."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self) -> list[str]:
        """The addresses that were asked for since the page was opened."""
        messages = [json.loads(one["message"])["message"] for one in self.driver.get_log("performance")]
        sent = [one["params"] for one in messages if one["method"] == "Network.requestWillBeSent"]
        return [one["request"]["url"] for one in sent]


def click(browser: Browser, selector: str, place: int = 0) -> None:
    """Click what the selector finds, or another one of them."""
    browser.run("document.querySelectorAll(arguments[0])[arguments[1]].click()", selector, place)


def in_view(browser: Browser, selector: str) -> bool:
    """Whether the whole of its first line is on the screen."""
    script = (
        "const r = document.querySelector(arguments[0]).getClientRects()[0];"
        "return r.top >= 0 && r.top + 20 <= innerHeight"
    )
    return bool(browser.run(script, selector))
