"""SARIF 2.1.0, the format of static analysis results, which GitHub's code scanning and editors read.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

from __future__ import annotations

import hashlib
import json
from typing import Any
from urllib.parse import quote

from runner.ci.results import RULES, Finding, Place, Results
from runner.display.text import count

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
ROOT = "%SRCROOT%"  # SARIF's usual name for the repository's folder
FINGERPRINT = "runner/v1"


def text(results: Results) -> str:
    """The file's text."""
    rules = list(dict.fromkeys(finding.rule for finding in results.findings))
    driver = {
        "name": "runner",
        "semanticVersion": results.version,
        "rules": [{"id": rule, "shortDescription": {"text": RULES.get(rule, RULES["hazard"])}} for rule in rules],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {ROOT: {"description": {"text": "The root of the repository."}}},
        "results": [_result(finding, rules.index(finding.rule)) for finding in results.findings],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _result(finding: Finding, index: int) -> dict[str, Any]:
    main, others = finding.places[:1], finding.places[1:]
    more = f" (in {count(finding.cases, 'case')})" if finding.cases > 1 else ""
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": index,
        "level": finding.level.value,
        "message": {"text": finding.message + more},
        "locations": [_location(place) for place in main],
        "partialFingerprints": {FINGERPRINT: _fingerprint(finding)},
    }
    if others:
        result["relatedLocations"] = [{"id": n, **_location(place)} for n, place in enumerate(others, 1)]
    return result


def _location(place: Place) -> dict[str, Any]:
    region = {"region": {"startLine": place.line}} if place.line else {}
    return {
        "physicalLocation": {
            "artifactLocation": {"uri": quote(place.path, errors="surrogateescape"), "uriBaseId": ROOT},
            **region,
        }
    }


def _fingerprint(finding: Finding) -> str:
    """Identifies a finding in later runs: numbers of its message, such as those of a thread, do not matter."""
    where = [str(place) for place in finding.places] or [finding.message]
    return hashlib.sha256("\n".join([finding.rule, *where]).encode(errors="replace")).hexdigest()[:16]
