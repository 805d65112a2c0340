"""The results of `runner judge` for a CI system, from a run and its verdict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from runner import __version__
from runner.ci.places import Sources, repository
from runner.ci.results import CaseResult, Finding, Level, Outcome, Results, merged, time_of
from runner.device.kinds import CHECKED
from runner.display.text import absent, one_line
from runner.record.ranking import IDLE
from runner.record.run import Run

Case = Mapping[str, Any]

NOT_FASTER = frozenset(("tied", "slower"))
"""Words of a comparison with the baseline that fail a case, as they fail `runner judge`."""

MAX_REASON = 2000  # characters


def results(run: Run, content: Mapping[str, Any], markdown: str, root: Path | None = None) -> Results:
    """The results of a judged run.

    Args:
        run: The run.
        content: That of its verdict.json.
        markdown: The summary for people.
        root: The folder to which paths are relative; by default the repository's.
    """
    sources = Sources(run.folder, root or repository())
    pairs = list(zip(run.rows, content["cases"], strict=True))
    cases = tuple(_case(case) for _, case in pairs)
    findings = merged(finding for row, case in pairs for finding in _findings(run, row, case, sources))
    return Results("judge", __version__, cases, findings, markdown)


def label(case: Case) -> str:
    """The parameters and the device of a case, which is its name among the cases of its kernel."""
    values = " ".join(f"{name}={value}" for name, value in case["parameters"].items())
    return f"{values} device={case['device']}"


def against(case: Case) -> str:
    """How a case compares with its baseline, in words; empty without a baseline."""
    pair = case.get("against")
    if not pair:
        return ""
    return (
        f"{pair['speedup']:.3f} times the speed of {pair['kernel']} ({pair['low']:.3f} to {pair['high']:.3f}), "
        f"{pair['word']}"
    )


def _case(case: Case) -> CaseResult:
    outcome, kind, reason = Outcome.PASSED, "", one_line(str(case["reason"] or ""), MAX_REASON)
    if case["status"] in IDLE:
        outcome = Outcome.SKIPPED
    elif case["status"] != "ok":
        outcome, kind = Outcome.FAILED, str(case["status"])
    elif (case.get("against") or {}).get("word") in NOT_FASTER:
        outcome, kind, reason = Outcome.FAILED, "not_faster", against(case)
    us, column = time_of(case)
    remark = against(case) if outcome is Outcome.PASSED else ""
    return CaseResult(str(case["kernel"]), label(case), outcome, kind, reason, remark, us, column)


def _findings(run: Run, row: Mapping[str, Any], case: Case, sources: Sources) -> Iterator[Finding]:
    kernel, status = str(case["kernel"]), str(case["status"])
    if status in IDLE:
        return
    recorded = list(_recorded(run, row, sources))
    yield from recorded
    if status not in ("ok", "hazard") or (status == "hazard" and not recorded):
        message = one_line(f"{kernel} {label(case)}: {status.replace('_', ' ')}: {case['reason']}", MAX_REASON)
        places = sources.places(str(case["reason"]), kernel) if status != "mismatch" else ()
        yield Finding(status, Level.ERROR, message, places or sources.kernel(kernel))
    elif status == "ok" and (case.get("against") or {}).get("word") in NOT_FASTER:
        yield Finding("not_faster", Level.WARNING, f"{kernel} {label(case)}: {against(case)}", sources.kernel(kernel))


def _recorded(run: Run, row: Mapping[str, Any], sources: Sources) -> Iterator[Finding]:
    """The findings of hazards.json; those of other content are ignored."""
    content = None if absent(row["job"]) else run.folder.json(run.folder.hazards(int(row["job"])))
    for entry in content if isinstance(content, list) else ():
        if not isinstance(entry, dict) or not isinstance(entry.get("text"), str):
            continue
        lines = " ".join(str(entry.get(name) or "") for name in ("line", "other_line"))
        kernel = str(row["kernel"])
        places = sources.places(lines, kernel) or sources.places(entry["text"], kernel) or sources.kernel(kernel)
        # Stores of one value without order are a note, unless the user asked for the checked device.
        is_note = entry.get("same_value") is True and row["device"] != CHECKED
        level = Level.NOTE if is_note else Level.ERROR
        yield Finding(str(entry.get("kind") or "hazard"), level, one_line(entry["text"], MAX_REASON), places)
