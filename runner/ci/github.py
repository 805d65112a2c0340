"""Commands of a GitHub workflow that annotate lines, and the summary of its job.

https://docs.github.com/actions/reference/workflows-and-actions/workflow-commands
"""

from __future__ import annotations

import os
from pathlib import Path

from runner.ci.results import Finding, Level, Results
from runner.display.text import count, one_line
from runner.errors import UsageError
from runner.files import named_file

SUMMARY = "GITHUB_STEP_SUMMARY"  # names the file of the job's summary
MAX_MESSAGE = 2000  # characters
COMMANDS = {Level.ERROR: "error", Level.WARNING: "warning", Level.NOTE: "notice"}


def text(results: Results) -> str:
    """One command for each finding."""
    return "".join(f"{command(finding)}\n" for finding in results.findings)


def command(finding: Finding) -> str:
    """The command for a finding: `::error file=k.cu,line=12,title=race::MESSAGE`."""
    main = finding.places[:1]
    pairs = [pair for place in main for pair in (("file", place.path), ("line", str(place.line or 1)))]
    properties = ",".join(f"{name}={_property(value)}" for name, value in [*pairs, ("title", finding.rule)])
    others = [str(place) for place in finding.places[1:]]
    more = f" (in {count(finding.cases, 'case')})" if finding.cases > 1 else ""
    see = f" See also {', '.join(others)}." if others else ""
    return f"::{COMMANDS[finding.level]} {properties}::{_data(one_line(finding.message, MAX_MESSAGE) + more + see)}"


def append_summary(results: Results) -> None:
    """Append the summary in Markdown to the job's summary, if the workflow has one.

    Raises:
        UsageError: The file cannot be written.
    """
    if not (name := os.environ.get(SUMMARY, "")):
        return
    try:
        named_file.append(Path(name), (results.markdown.rstrip("\n") + "\n\n").encode(errors="replace"))
    except OSError as e:
        raise UsageError(f"{SUMMARY}={name}: {e.strerror or e}") from None


def _data(value: str) -> str:
    return value.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(value: str) -> str:
    return _data(value).replace(":", "%3A").replace(",", "%2C")
