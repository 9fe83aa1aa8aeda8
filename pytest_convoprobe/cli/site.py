"""The stored runs as a small site: which page an address has. It knows no HTTP, and writes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from html import escape
from urllib.parse import parse_qs, unquote, urlsplit

from ..errors import ResultsError
from ..reports.html import (
    ListedRun,
    SiteLinks,
    comparison_chunks,
    html_chunks,
    run_list_chunks,
    trends_chunks,
)
from ..reports.html.anchors import anchor, scenario_anchor
from ..reports.run_pair import read_run_pair
from ..reports.run_report import read_report
from ..results.history import trends
from ..results.run_gate import suite_of
from ..results.store import RunRef, StoredRun
from ..results.tool_schemas import ToolSchemas
from ..text import harmless
from .project import Project

LINKS = SiteLinks(
    home="/",
    run="/runs/{run}",
    comparison="/compare/{base}/{head}",
    trends="/trends",
    conversation="/runs/{run}/{anchor}",
)
_SHOWN = 100
_WINDOW = 20


@dataclass(frozen=True)
class SitePage:
    """A page, piece by piece, and the status that HTTP has for it."""

    status: int
    chunks: Iterable[str]


class Site:
    """The pages of a project's stored runs. What is on the disk is read for each request."""

    def __init__(self, project: Project) -> None:
        self._project = project

    def page(self, address: str) -> SitePage:
        """The page of an address, such as `/runs/20261129T101500Z-00003f`."""
        try:
            parts = urlsplit(address)
        except ValueError as error:  # such as `http://[x/`
            return SitePage(404, _plain("Not found", f"{address}: {error}"))
        words = [unquote(part) for part in parts.path.split("/") if part]
        try:
            return SitePage(200, self._chunks(words, parse_qs(parts.query)))
        except (ResultsError, _NoSuchPage) as error:
            return SitePage(404, _plain("Not found", str(error)))

    def _chunks(self, words: list[str], query: dict[str, list[str]]) -> Iterable[str]:
        if not words:
            return self._list(query)
        if words == ["trends"]:
            return self._trends()
        if words[0] == "runs" and len(words) in (2, 3):
            return self._run(*words[1:])
        if words[0] == "compare" and len(words) == 3:
            return self._comparison(*words[1:])
        raise _NoSuchPage(f"this site has no page /{'/'.join(words)}")

    def _list(self, query: dict[str, list[str]]) -> Iterator[str]:
        runs = self._project.runs()
        base = next((run.id for run in runs if [run.id] == query.get("base")), "")
        shown = runs if "all" in query or base else runs[:_SHOWN]
        more = "/?all=yes" if len(shown) < len(runs) else ""
        return run_list_chunks([_listed(run) for run in shown], LINKS, base=base, more=more)

    def _trends(self) -> Iterator[str]:
        runs, notes = self._project.runs(), list[str]()
        rows = [row for run in runs for row in run.rows(notes)]
        explain = ToolSchemas(run.path for run in runs).explain
        return trends_chunks(trends(rows, _WINDOW, explain), LINKS, notes)

    def _run(self, run: str, wanted: str = "") -> Iterator[str]:
        report = read_report(self._open(run), self._project.runs())
        if not wanted:
            return html_chunks(report, LINKS)
        # The anchor of a scenario's first trial is the scenario's too: then all of its trials are meant.
        found = tuple(
            one
            for one in report.trials
            if wanted in (scenario_anchor(one.result.scenario_id), anchor(one.result))
        )
        if not found:
            raise _NoSuchPage(f"the run {run} has no conversation {wanted}")
        return html_chunks(replace(report, trials=found), LINKS, is_part=True)

    def _comparison(self, base: str, head: str) -> Iterator[str]:
        return comparison_chunks(read_run_pair(self._open(base), self._open(head)), LINKS)

    def _open(self, run: str) -> StoredRun:
        """The run of an id. Other names, such as a folder's or a commit's, are not for a browser."""
        found = next((one for one in self._project.runs() if one.id == run), None)
        if found is None:
            raise _NoSuchPage(f"there is no stored run {run}")
        return found.open()


class _NoSuchPage(Exception):
    """An address that has no page."""


def _listed(run: RunRef) -> ListedRun:
    try:
        opened = run.open()
        suite = suite_of(opened)
        return ListedRun(run.info, run.info.counts or opened.counts, suite.word.value if suite else "")
    except (ResultsError, OSError) as error:
        return ListedRun(run.info, run.info.counts, problem=str(error))


def _plain(title: str, text: str) -> list[str]:
    """A page for what went wrong: nothing in it but words."""
    words = escape(harmless(text))
    return [f'<!doctype html><html lang="en"><title>{title}</title><h1>{title}</h1><p>{words}</p>', _BACK]


_BACK = '<p><a href="/">All runs</a></p>'


def broken(text: str) -> SitePage:
    """The page for what could not be read."""
    return SitePage(500, _plain("This page could not be made", text))
