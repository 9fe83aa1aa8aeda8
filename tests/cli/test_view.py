"""`convoprobe view`: the stored runs as a site, over real HTTP and in a real browser."""

from __future__ import annotations

import http.client
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_convoprobe.cli.project import Project
from pytest_convoprobe.cli.site import Site
from pytest_convoprobe.cli.site_server import SiteServer
from pytest_convoprobe.reports.html.anchors import scenario_anchor
from tests.reports.browser import Browser, open_browser
from tests.reports.pages import EVIL

from .stored import failed, passed, store

REFUND = scenario_anchor("scenarios/refund.yaml::refund")


@pytest.fixture
def runs(folder: Path) -> list[str]:
    """Three runs, the oldest first."""
    return [
        store(folder, 1, [passed("refund"), passed("parcel")]),
        store(folder, 2, [failed("refund"), passed("parcel"), passed("parcel", trial=2)], commit="a" * 40),
        store(folder, 3, [failed("refund"), failed(EVIL)]),
    ]


@pytest.fixture
def site(folder: Path, runs: list[str]) -> Iterator[SiteServer]:
    with SiteServer(Site(Project.here())) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def ask(
    site: SiteServer, path: str, method: str = "GET", **headers: str
) -> tuple[int, str, http.client.HTTPMessage]:
    connection = http.client.HTTPConnection("127.0.0.1", site.server_address[1], timeout=30)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, headers=named)
    answer = connection.getresponse()
    body = answer.read().decode()
    connection.close()
    return answer.status, body, answer.headers


def test_each_kind_of_page(site: SiteServer, runs: list[str]) -> None:
    first, second, third = runs
    status, listed, headers = ask(site, "/")
    assert status == 200
    assert listed.index(f"/runs/{third}") < listed.index(f"/runs/{second}") < listed.index(f"/runs/{first}")
    assert f"/compare/{second}/{third}" in listed
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Cache-Control"] == "no-store"
    assert f"/runs/{second}/{REFUND}" in ask(site, "/trends")[1]
    whole, part = ask(site, f"/runs/{second}")[1], ask(site, f"/runs/{second}/{REFUND}")[1]
    assert f'id="{scenario_anchor("scenarios/parcel.yaml::parcel")}-trial-2"' in whole
    assert f'id="{REFUND}"' in part
    assert "parcel" not in part.partition("<main>")[2]
    assert "The whole run" in part
    assert "1 new failure" in ask(site, f"/compare/{first}/{second}")[1]
    chosen = ask(site, f"/?base={first}")[1]
    assert f"/compare/{first}/{third}" in chosen
    assert f"/compare/{first}/{first}" not in chosen


@pytest.mark.parametrize(
    "path",
    [
        "/runs/other",
        "/runs/../../etc/passwd",
        "/runs/%2e%2e%2f%2e%2e",
        "/nothing",
        "/compare/a",
        "/runs/{}/none",
    ],
)
def test_what_is_not_there(site: SiteServer, runs: list[str], path: str) -> None:
    status, body, _ = ask(site, path.format(runs[0]))
    assert status == 404
    assert "Not found" in body
    assert "<script>" not in ask(site, "/runs/<script>alert(1)</script>")[1]


def test_only_this_machines_browser_is_answered(site: SiteServer) -> None:
    port = site.server_address[1]
    for headers in (
        {"Host": f"evil.example:{port}"},
        {"Host": "127.0.0.1"},
        {"Host": f"127.0.0.1.evil.example:{port}"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
    ):
        status, body, _ = ask(site, "/", **headers)
        assert status == 403, headers
        assert "Stored runs" not in body
    assert ask(site, "/", Host=f"localhost:{port}")[0] == 200
    assert ask(site, "/", Sec_Fetch_Site="none")[0] == 200
    assert site.server_address[0] == "127.0.0.1"


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_it_is_only_read(site: SiteServer, method: str) -> None:
    assert ask(site, "/", method)[0] == 405
    status, body, headers = ask(site, "/", "HEAD")
    assert (status, body) == (200, "")
    assert int(headers["Content-Length"]) > 1000


def test_a_broken_run_is_no_end_of_the_site(site: SiteServer, folder: Path, runs: list[str]) -> None:
    for index in (folder / ".convoprobe/runs" / runs[0]).glob("*.jsonl"):
        index.write_bytes(b"\xff\xfe{not json\n" * 3)
    (folder / ".convoprobe/runs/half").mkdir()
    assert ask(site, f"/runs/{runs[0]}")[0] in (200, 404, 500)
    assert ask(site, "/")[0] == 200
    assert ask(site, f"/runs/{runs[1]}")[0] == 200


def test_no_runs_at_all(folder: Path) -> None:
    page = Site(Project.here()).page("/")
    assert (page.status, "There are no stored runs yet" in "".join(page.chunks)) == (200, True)


def test_the_command_serves_until_it_is_interrupted(folder: Path, runs: list[str]) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-m", "pytest_convoprobe.cli", "view"]
    with subprocess.Popen(command, cwd=folder, env=environment, stdout=-1, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().split()[0]
        assert url.startswith("http://127.0.0.1:")
        connection = http.client.HTTPConnection(url.removeprefix("http://").rstrip("/"), timeout=30)
        connection.request("GET", "/")
        assert connection.getresponse().status == 200
        connection.close()
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0


@pytest.fixture(scope="module")
def started() -> Iterator[Browser]:
    with open_browser() as browser:
        yield browser


def visit(browser: Browser, url: str) -> None:
    browser.driver.get("about:blank")
    browser.complaints()
    browser.driver.get(url)


def test_a_reader_gets_everywhere_by_links(started: Browser, site: SiteServer, runs: list[str]) -> None:
    started.size(1280)
    visit(started, site.url)
    started.run("document.querySelector('tbody a').click()")
    started.until("location.pathname.startsWith('/runs/')")
    assert started.texts("nav.site a") == ["All runs", "Trends"]
    started.run("document.querySelectorAll('nav.site a')[1].click()")
    started.until("location.pathname === '/trends'")
    started.run("document.querySelectorAll('details.scenario').forEach(e => e.open = true)")
    started.run(f"document.getElementById('{REFUND}').querySelector('tbody a').click()")
    started.until("location.pathname.split('/').length === 4")
    assert "The whole run" in started.texts("nav.site a")
    visit(started, f"{site.url}compare/{runs[0]}/{runs[1]}")
    started.run("document.querySelector('main details > summary').click()")
    started.until("document.querySelectorAll('.side').length >= 2")
    assert started.complaints() == []


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [420, 900, 1400])
def test_the_pages_of_the_site_fit(
    started: Browser, site: SiteServer, runs: list[str], width: int, dark: bool
) -> None:
    started.size(width, dark=dark)
    for path in ("", "trends", f"runs/{runs[2]}", f"compare/{runs[0]}/{runs[1]}"):
        visit(started, site.url + path)
        assert started.run("return document.documentElement.scrollWidth <= innerWidth"), path
        colors = "const s = getComputedStyle(document.body); return [s.color, s.backgroundColor]"
        assert len(set(started.run(colors))) == 2
        assert started.complaints() == [], path
