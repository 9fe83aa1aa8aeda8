"""What pytest's own `--junitxml` makes of scenarios, against the usual schema."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest
import xmlschema

from tests.reports.junit_schema import USUAL, WITH_PROPERTIES_OF_CASES, without_properties_of_cases

from .suite import Suite


@pytest.fixture
def written(suite: Suite) -> str:
    """The document on a run that has every outcome."""
    suite.scenario("good")
    suite.scenario("bad", outcome="failed", reason="it was <rude> \x1b[31m& worse", score=0.5)
    suite.scenario("away", outcome="error", reason="provider down")
    suite.scenario("later", skip="not yet")
    suite.run("--junitxml=out.xml").assert_outcomes(passed=1, failed=1, errors=1, skipped=1)
    return (suite.path / "out.xml").read_text(encoding="utf-8")


def test_it_follows_the_schema_with_properties_of_cases(written: str) -> None:
    WITH_PROPERTIES_OF_CASES.validate(written)
    cases = {case.get("name"): case for case in ET.fromstring(written).iter("testcase")}
    names = {name: [one.get("name") for one in case.iter("property")] for name, case in cases.items()}
    assert names["bad"] == [f"convoprobe_{name}" for name in ("outcome", "score", "blame", "cost", "tokens")]
    assert names["later"] == []


def test_those_properties_are_all_that_the_usual_schema_lacks(written: str) -> None:
    errors = list(USUAL.iter_errors(written))
    assert errors
    assert all(isinstance(error, xmlschema.XMLSchemaChildrenValidationError) for error in errors)
    USUAL.validate(without_properties_of_cases(written))
