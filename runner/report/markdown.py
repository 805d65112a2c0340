"""The summary of a run for a pull request, as Markdown. The same folder gives the same text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from runner.report import cells, findings
from runner.report.page import heading
from runner.report.table import load, records, varying
from runner.report.text import count, described, one_line
from runner.runs import environment, section

MOST_PROBLEMS, MOST_LETTERS = 20, 800


def summary(folder: Path) -> str:
    """The verdict, the fastest case of each size, the failures and the environment."""
    frame, known = load(folder), environment(folder)
    verdict = findings.judge(frame)
    rows, names = {row["row"]: row for row in records(frame)}, varying(frame)
    blocks = [
        [f"### {_text(heading(frame, known))}"],
        [f"**{findings.WORDS[verdict.level]}:** {_text(verdict.headline)}"],
        [f"- {_text(sentence)}" for sentence in (*verdict.further, *verdict.cautions)],
    ]
    best = findings.fastest(frame)
    if any(one.among > 1 for one in best):
        blocks.append(list(_table(cells.fastest_cases(frame, best))))
    told = []
    for problem in verdict.problems[:MOST_PROBLEMS]:
        first = described(rows[problem.rows[0]], names)
        whose = first if len(problem.rows) == 1 else f"{count(len(problem.rows), 'case')}, such as {first}"
        reason = one_line(problem.reason, MOST_LETTERS) or "no reason was recorded"
        told.append(f"- **{_text(problem.status.replace('_', ' '))}**: {_text(whose)}: {_text(reason)}")
    more = len(verdict.problems) - MOST_PROBLEMS
    blocks += [[*told, *([f"- and {count(more, 'more reason')}"] if more > 0 else [])], [_text(_environment(known))]]
    return "\n\n".join("\n".join(lines) for lines in blocks if lines) + "\n"


def _table(table: cells.Table) -> Iterator[str]:
    yield _line(table.columns)
    yield _line("---" if "left" in table.styles.get(name, "") else "---:" for name in table.columns)
    yield from (_line(cell.text for cell in line.cells) for line in table.lines)


def _line(words: Iterable[str]) -> str:
    return f"| {' | '.join(word if set(word) <= set('-:') else _text(word) for word in words)} |"


def _environment(known: dict[str, Any]) -> str:
    """Device, driver, toolkit, runner and commit, as far as they were recorded."""
    devices, git = section(known, "devices"), section(known, "git")
    words = []
    for kind in devices:
        device = section(devices, kind)
        driver = [f"driver {device['nvidia_driver']}"] if device.get("nvidia_driver") else []
        nvcc = re.search(r"\bV(\d[\d.]*)", str(device.get("toolchain")))
        words.append(", ".join([str(device.get("name", kind)), *driver, *([f"nvcc {nvcc[1]}"] if nvcc else [])]))
    words += [f"runner {known['runner']}"] if known.get("runner") else []
    changed = " with uncommitted changes" if git.get("dirty") is True else ""
    words += [f"commit {str(git['commit'])[:12]}{changed}"] if git.get("commit") else []
    return one_line(f"Environment: {'; '.join(words) or 'not recorded'}.", 1000)


def _text(words: str) -> str:
    """The text with the special characters of Markdown and HTML escaped."""
    return re.sub(r"([\\`*<>|\[\]])", r"\\\1", one_line(words, 4000))
