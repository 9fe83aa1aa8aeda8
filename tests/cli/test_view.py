"""`convoprobe view`: the stored runs as a site, over real HTTP and in a real browser."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_convoprobe.cli.project import Project
from pytest_convoprobe.cli.site import Site
from pytest_convoprobe.cli.site_server import SiteServer
from pytest_convoprobe.reports.html.anchors import scenario_anchor
from tests.reports.browser import Browser, open_browser
from tests.reports.pages import EVIL

from .conftest import Convoprobe
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


def test_one_run_that_cannot_be_read_hides_no_other(site: SiteServer, folder: Path, runs: list[str]) -> None:
    stored = folder / ".convoprobe/runs"
    for name in ("trials-main.jsonl", "index-main.jsonl"):
        (stored / runs[0] / name).unlink()
        (stored / runs[0] / name).mkdir()
    about = json.loads((stored / runs[1] / "run.json").read_text())
    for path in ("/", "/trends", f"/runs/{runs[2]}"):
        status, body, _ = ask(site, path)
        assert (status, runs[2] in body) == (200, True), path
    assert f"{runs[0]} cannot be read: " in ask(site, "/trends")[1]
    assert f"{runs[0]} cannot be read: " in ask(site, f"/runs/{runs[2]}")[1]
    # Without the numbers in its description, the list needs the trials too.
    (stored / runs[0] / "run.json").write_text(json.dumps({**about, "id": runs[0], "counts": {}}))
    for counts in ({"passed": "many"}, {"passed": None}, [1]):
        (stored / runs[1] / "run.json").write_text(json.dumps({**about, "counts": counts}))
        status, body, _ = ask(site, "/")
        assert (status, f"/runs/{runs[2]}" in body, "cannot be read: " in body) == (200, True, True)


def said_by(site: SiteServer, data: bytes) -> bytes:
    """What the server says to these bytes."""
    with socket.create_connection(site.server_address[:2], timeout=30) as connection:
        connection.sendall(data)
        return b"".join(iter(lambda: connection.recv(1 << 16), b""))


def test_browsers_that_hang_up_are_no_news(site: SiteServer, capfd: pytest.CaptureFixture[str]) -> None:
    host = f"Host: 127.0.0.1:{site.server_address[1]}\r\n".encode()
    for data in (b"GET / HTTP/1.1\r\n" + host + b"\r\n", b"GET /", b""):
        with socket.create_connection(site.server_address[:2]) as connection:
            # The other side is reset, and not only closed.
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.sendall(data)
    assert ask(site, "/")[0] == 200
    time.sleep(0.2)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("data", "answer"),
    [
        (b"GET / HTTP/1.0\r\nHOST\r\n\r\n", b"HTTP/1.1 200"),
        (b"GET / HTTP/1.1\r\nHost: LocalHost:PORT\r\nConnection: close\r\n\r\n", b"HTTP/1.1 200"),
        (b"GET http://[x/ HTTP/1.1\r\nHOST\r\nConnection: close\r\n\r\n", b"HTTP/1.1 404"),
        (b"GET / HTTP/1.1\r\nHost: [::1]:PORT\r\n\r\n", b"HTTP/1.1 403"),
        (b"GET / HTTP/1.1\r\nHost: localhost:PORT@evil.example\r\n\r\n", b"HTTP/1.1 403"),
        (b"GET / HTTP/1.1\r\nHOST\r\nX: " + b"x" * 70_000 + b"\r\n\r\n", b"HTTP/1.1 431"),
        (b"\x16\x03\x01 \x00 nothing \xff\r\n\r\n", b"HTTP/1.1 400"),
    ],
)
def test_odd_requests(site: SiteServer, data: bytes, answer: bytes) -> None:
    port = str(site.server_address[1]).encode()
    said = said_by(site, data.replace(b"HOST", b"Host: localhost:PORT").replace(b"PORT", port))
    assert said.startswith(answer) or (answer.endswith(b"400") and b"Error code: 400" in said)
    assert ask(site, "/")[0] == 200


def test_a_body_is_no_further_request(site: SiteServer) -> None:
    host = f"Host: 127.0.0.1:{site.server_address[1]}\r\n".encode()
    smuggled = b"GET /smuggled HTTP/1.1\r\n" + host + b"\r\n"
    length = f"Content-Length: {len(smuggled)}\r\n\r\n".encode()
    said = said_by(site, b"GET /trends HTTP/1.1\r\n" + host + length + smuggled)
    assert (said.count(b"HTTP/1.1 "), b"smuggled" in said) == (1, False)


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
def test_browsers_leave_the_usual_port_out(
    site: SiteServer, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    port = site.server_address[1]
    assert ask(site, "/", Host=name)[0] == 403
    monkeypatch.setattr("pytest_convoprobe.cli.site_server._USUAL_PORT", port)  # 80 is not ours to take
    assert ask(site, "/", Host=name, Origin=f"http://{name}")[0] == 200
    assert ask(site, "/", Host=f"{name}:{port}")[0] == 200
    assert ask(site, "/", Host="evil.example")[0] == 403


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


def test_a_port_that_is_taken(site: SiteServer, convoprobe: Convoprobe) -> None:
    result = convoprobe("view", "--port", str(site.server_address[1]))
    assert result.exit_code != 0
    assert f"port {site.server_address[1]} can't be used: " in result.output


def test_no_name_service_is_asked(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def asked(*_: object) -> str:
        raise AssertionError("it may take seconds to answer")

    monkeypatch.setattr(socket, "getfqdn", asked)
    with SiteServer(Site(Project.here())) as server:
        assert server.url == f"http://127.0.0.1:{server.server_port}/"


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
