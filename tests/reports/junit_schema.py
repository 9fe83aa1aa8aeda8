"""The usual schema of JUnit XML, and the one addition to it that our documents need."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import xmlschema

_FILE = Path(__file__).with_name("junit-10.xsd")

USUAL = xmlschema.XMLSchema(str(_FILE))


def _with_properties_of_cases() -> xmlschema.XMLSchema:
    """The same, with `<properties>` in a `<testcase>` too.

    junit-10 has them in a `<testsuite>` only. pytest writes those of an item into its case, as its
    `record_property` does for any test, and so do we; what reads JUnit XML takes them or passes over them.
    """
    text = _FILE.read_text(encoding="utf-8")
    skipped = '<xs:element name="skipped" type="problem"/>'
    assert text.count(skipped) == 1
    return xmlschema.XMLSchema(text.replace(skipped, f'<xs:element ref="properties"/>{skipped}'))


WITH_PROPERTIES_OF_CASES = _with_properties_of_cases()


def without_properties_of_cases(text: str) -> ET.Element:
    """The root of a document less the addition."""
    root = ET.fromstring(text.encode("utf-8"))
    for case in root.iter("testcase"):
        for properties in case.findall("properties"):
            case.remove(properties)
    return root
