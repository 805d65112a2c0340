"""JUnit XML: a test suite with a test case for each case of a run.

`time` is the median time of one launch in seconds; the property `time` says from which column it is.
"""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

from runner.ci.results import CaseResult, Outcome, Results

MAX_TEXT = 4000  # characters of a reason
# XML 1.0 has no way to write other control characters.
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def text(results: Results) -> str:
    """The file's text."""
    numbers = {
        "tests": str(len(results.cases)),
        "failures": str(results.number(Outcome.FAILED)),
        "errors": "0",
        "skipped": str(results.number(Outcome.SKIPPED)),
        "time": _seconds(sum(case.seconds for case in results.cases)),
    }
    name = f"runner {results.command}"
    root = ET.Element("testsuites", {"name": name, **numbers})
    suite = ET.SubElement(root, "testsuite", {"name": name, **numbers})
    for case in results.cases:
        _add(suite, case)
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _add(suite: ET.Element, case: CaseResult) -> None:
    named = {"classname": case.kernel, "name": case.name or case.kernel, "time": _seconds(case.seconds)}
    element = ET.SubElement(suite, "testcase", {key: _clean(value) for key, value in named.items()})
    if case.timed_as:
        properties = ET.SubElement(element, "properties")
        ET.SubElement(properties, "property", {"name": "time", "value": case.timed_as})
    if case.outcome is Outcome.FAILED:
        reason = _clean(case.reason)
        ET.SubElement(element, "failure", {"type": _clean(case.kind), "message": reason[:MAX_TEXT]}).text = reason
    elif case.outcome is Outcome.SKIPPED:
        ET.SubElement(element, "skipped", {"message": _clean(case.reason)[:MAX_TEXT]})
    if case.remark:
        ET.SubElement(element, "system-out").text = _clean(case.remark)


def _seconds(value: float) -> str:
    return f"{value:.9f}"


def _clean(words: str) -> str:
    return _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", words)
