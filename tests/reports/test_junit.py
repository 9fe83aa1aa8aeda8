from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convoprobe.errors import Blame
from pytest_convoprobe.plugin.talks import properties
from pytest_convoprobe.reports.junit import junit
from pytest_convoprobe.reports.run_report import RunReport
from pytest_convoprobe.result import Outcome

from .junit_schema import USUAL, WITH_PROPERTIES_OF_CASES, without_properties_of_cases
from .runs import PASSING, run_report, trial, with_past


def checked(report: RunReport) -> ET.Element:
    """The document's root, after the schema had its say."""
    text = junit(report)
    WITH_PROPERTIES_OF_CASES.validate(text)
    USUAL.validate(without_properties_of_cases(text))
    return ET.fromstring(text.encode("utf-8"))


def test_a_run_of_every_kind_of_trial_follows_the_schema() -> None:
    root = checked(with_past())
    assert root.attrib == {
        "name": "convoprobe",
        "tests": "10",
        "failures": "2",
        "errors": "2",
        "time": root.attrib["time"],
    }
    assert sum(int(suite.attrib["skipped"]) for suite in root) == 1


def test_a_failed_case_has_the_first_reason_and_the_whole_report() -> None:
    case = checked(with_past()).find(".//testcase[@name='Refund after the return window']")
    assert case is not None
    assert (case.attrib["classname"], case.attrib["file"], case.attrib["line"]) == (
        "scenarios.refunds",
        "scenarios/refunds.yaml",
        "12",
    )
    failure = case.find("failure")
    assert failure is not None
    assert failure.attrib["type"] == "agent"
    assert failure.attrib["message"].startswith("agent: prohibited tool issue_refund: expected no call")
    assert failure.text is not None
    assert "I have issued a refund of €39.90" in failure.text


def test_a_case_has_the_figures_that_pytest_would_give_it() -> None:
    report = with_past()
    cases = list(checked(report).iter("testcase"))
    found = {
        case.attrib["name"]: {one.attrib["name"]: one.attrib["value"] for one in case.iter("property")}
        for case in cases
    }
    for result in report.results:
        name = f"{result.name} [trial {result.trial}]" if result.trial > 1 else result.name
        assert found[name] == {name: str(value) for name, value in properties(result)}
    assert {"convoprobe_score", "convoprobe_cost", "convoprobe_tokens"} <= found["Where is my parcel?"].keys()


def test_infrastructure_is_an_error_and_no_failure() -> None:
    case = checked(with_past()).find(".//testcase[@name='Order that nobody can find']")
    assert case is not None
    error = case.find("error")
    assert error is not None
    assert (error.attrib["type"], case.find("failure")) == ("infrastructure", None)


def test_trials_are_cases_of_their_own() -> None:
    second = trial(PASSING[0].result.name, file="scenarios/orders.yaml", trial=2)
    names = [case.attrib["name"] for case in checked(run_report([PASSING[0], second])).iter("testcase")]
    assert names == ["Where is my parcel?", "Where is my parcel? [trial 2]"]


@pytest.mark.parametrize("file", ["", "/abs/ö/a.b.yaml", "..\\win\\a.yaml", "a"])
def test_odd_files(file: str) -> None:
    checked(run_report([trial(file=file)]))


@given(st.text(st.characters(codec=None)))
def test_no_text_breaks_the_document(text: str) -> None:
    evil = text + "]]>\x00\x1b\ufffe\ud800"
    case = trial(evil, Outcome.FAILED, blame=Blame.AGENT, reason=evil, trace=evil, target=evil)
    checked(run_report([case]))
