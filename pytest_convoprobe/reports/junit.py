"""A stored run as JUnit XML, in the shape that Jenkins' schema (junit-10) describes and CI systems read.

Cases have properties, which that schema lacks: the same ones that pytest's own `--junitxml` has of scenarios.
"""

from __future__ import annotations

import shlex
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import PurePosixPath

from ..llm.ledger import Spending
from ..result import Outcome, ScenarioResult, figures
from ..results.run_info import RunInfo
from ..text import one_line, visible
from .decisions import figures_of, sentence
from .failure import headline, render_failure
from .money import by_roles
from .paste_command import stored_words
from .run_report import RunReport

_WIDTH = 100
_ELEMENTS = {Outcome.FAILED: "failure", Outcome.ERROR: "error", Outcome.SKIPPED: "skipped"}
_COUNTS = {"failures": Outcome.FAILED, "errors": Outcome.ERROR, "skipped": Outcome.SKIPPED}


def junit(report: RunReport) -> str:
    """The run as an XML document: a suite for each scenario file, a case for each trial."""
    by_file: dict[str, list[ScenarioResult]] = {}
    for result in report.results:
        by_file.setdefault(result.file, []).append(result)
    total = sum(by_roles(report.spenders, replayed=False).values(), Spending())
    root = ET.Element("testsuites", {"name": "convoprobe", **_numbers(report, report.results)})
    root.attrib.pop("skipped")  # suites have it, their root has not
    # CI systems compare reports by position; runs finish their scenarios in any order.
    for file, results in sorted(by_file.items()):
        root.append(_suite(report, total, file, results))
    ET.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _numbers(report: RunReport, results: Sequence[ScenarioResult]) -> dict[str, str]:
    counts = Counter(_outcome(report, result) for result in results)
    return {
        "tests": str(len(results)),
        **{name: str(counts[outcome]) for name, outcome in _COUNTS.items()},
        "time": _seconds(sum(result.duration for result in results)),
    }


def _outcome(report: RunReport, result: ScenarioResult) -> Outcome:
    """As pytest has it: what failed as expected is skipped, for JUnit knows nothing in between."""
    return Outcome.SKIPPED if report.is_excused(result) else result.outcome


def _suite(report: RunReport, total: Spending, file: str, results: Sequence[ScenarioResult]) -> ET.Element:
    info, began = report.info, datetime.fromtimestamp(report.info.started, timezone.utc)
    suite = ET.Element(
        "testsuite",
        {
            "name": visible(file) or "convoprobe",
            **_numbers(report, results),
            "timestamp": began.strftime("%Y-%m-%dT%H:%M:%S"),
            "id": visible(info.id),
        },
    )
    suite.append(_properties_of_run(info, total))
    suite.extend(_case(report, result) for result in results)
    return suite


def _properties_of_run(info: RunInfo, total: Spending) -> ET.Element:
    """Where a case came from: the run, what all of it cost, the commit, the models."""
    cost = "" if total.cost is None else f"{round(total.cost, 6):g}"
    known = {"run": info.id, "commit": info.commit or "", "cost": cost, "tokens": str(total.usage.total)}
    known.update({f"model.{role}": model for role, model in info.models.items()})
    return _properties({f"convoprobe.{name}": value for name, value in known.items() if value})


def _properties(known: Mapping[str, object]) -> ET.Element:
    properties = ET.Element("properties")
    for name, value in known.items():
        ET.SubElement(properties, "property", {"name": name, "value": visible(str(value))})
    return properties


def _case(report: RunReport, result: ScenarioResult) -> ET.Element:
    name = visible(one_line(result.name))
    case = ET.Element(
        "testcase",
        {
            "classname": _class(result.file),
            "name": f"{name} [trial {result.trial}]" if result.trial > 1 else name,
            "file": visible(result.file),
            "line": str(result.line),
            "time": _seconds(result.duration),
        },
    )
    decision, outcome = report.decision(result), _outcome(report, result)
    known = {**figures(result), **(figures_of(decision) if decision else {})}
    case.append(_properties({f"convoprobe_{name}": value for name, value in known.items()}))
    if outcome in _ELEMENTS:
        case.append(_why(result, outcome, sentence(decision) if decision else ""))
    return case


def _why(result: ScenarioResult, outcome: Outcome, decided: str) -> ET.Element:
    """The first reason as the message, and the whole report as the text."""
    message = f"{headline(result)} ({visible(decided)})" if decided else headline(result)
    why = ET.Element(_ELEMENTS[outcome], {"message": message})
    if outcome is not Outcome.SKIPPED:
        why.attrib["type"] = result.blame.value if result.blame else result.outcome.value
        why.text = "\n" + _text(result) + "\n"
    return why


def _text(result: ScenarioResult) -> str:
    command = shlex.join(stored_words(result))
    return visible(
        render_failure(
            result, verbosity=1, width=_WIDTH, rerun_command=command, ascii_only=False, color=False
        )
    )


def _class(file: str) -> str:
    """`scenarios/refunds.yaml` as `scenarios.refunds`, as pytest names it."""
    path = PurePosixPath(visible(file).replace("\\", "/"))
    return ".".join(_parts(path.with_suffix("").parts if path.name else ())) or "convoprobe"


def _parts(parts: Iterable[str]) -> list[str]:
    return [part for part in parts if part not in ("/", ".", "..")]


def _seconds(value: float) -> str:
    """Three digits, as other writers have them; JUnit knows no infinity."""
    # Jenkins rejects the whole file for one time that is no number.
    return f"{value:.3f}" if 0 <= value < float("inf") else "0.000"
