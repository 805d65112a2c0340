"""The page: everything a reader gets, in one file that opens anywhere and asks the network for nothing."""

from __future__ import annotations

import base64
import shlex
from pathlib import Path
from typing import Any

import pandas as pd

from runner import atomic, runs
from runner.report import cells, figures, folder, table, verdict
from runner.report.best import fastest
from runner.report.details import command, details
from runner.report.figures.figure import Drawn
from runner.report.html import template
from runner.report.ratio import ratios
from runner.report.ratio_table import baseline_ratios
from runner.report.text import EMULATED, count, described, listed, one_line
from runner.report.traffic import IN_TABLES

MOST_LINKS = 12
MOST_LETTERS = 1500
SECTIONS = ("times", "shape", "baseline", "lanes", "raw")
"""Sections of the page that have figures."""


def build(path: Path) -> Path:
    """Write the figures and the page of a run folder, and return the page's path."""
    frame = table.load(path)
    drawn = figures.draw_all(path, frame, ratios(frame))
    figures.write(path / "figures", drawn)
    page = template("page.html", "runner.report").render(_context(path, frame, drawn))
    target = path / "report.html"
    atomic.write(target, page.encode())
    return target


def _context(path: Path, frame: pd.DataFrame, drawn: list[Drawn]) -> dict[str, Any]:
    environment, judged, found, best = (
        runs.environment(path),
        verdict.judge(frame),
        ratios(frame),
        fastest(frame),
    )
    cases = cells.all_cases(frame, found)
    left = dict.fromkeys(cells.LEFT, "left")
    return {
        "title": _title(frame, environment),
        "verdict": judged,
        "word": verdict.WORDS[judged.level],
        "emulated": EMULATED if (frame["device"] == "cpu").any() else "",
        "problems": _problems(frame, judged),
        "repeat": _repeat(path, frame, environment),
        "same": cells.said_once(frame),
        "fastest": cells.fastest_cases(frame, best, found),
        "ranked": any(one.among > 1 for one in best),
        "level": any(one.ties.tied or one.ties.undecided for one in best),
        "figures": _by_section(drawn),
        "ratios": baseline_ratios(frame, found),
        "cases": cases,
        "traffic": IN_TABLES,
        "styled": left,
        "styled_cases": {**left, cases.first_further: f"{left.get(cases.first_further, '')} more".strip()},
        **details(path, frame, environment),
    }


def _title(frame: pd.DataFrame, environment: dict[str, Any]) -> str:
    kernels = [one_line(str(kernel), 40) for kernel in frame["kernel"].unique()]
    what = listed(kernels) if 0 < len(kernels) <= 3 else count(len(kernels), "kernel")
    name = folder.section(folder.section(environment, "devices"), "cuda").get("name")
    devices = {str(device) for device in frame["device"]} - {""}
    places = []
    if "cuda" in devices:
        places.append(one_line(str(name), 60) if name else "a CUDA device")
    if "cpu" in devices:
        places.append("the CPU device")
    return f"{what} on {listed(places)}" if places else what


def _problems(frame: pd.DataFrame, judged: verdict.Verdict) -> list[dict[str, Any]]:
    names, marks = table.varying(frame), cells.anchors(frame)
    rows = {row["row"]: row for row in table.records(frame)}
    return [
        {
            "status": problem.status.replace("_", " "),
            "failed": problem.failed,
            "count": count(len(problem.rows), "case"),
            "reason": _cut(problem.reason) or "no reason was recorded",
            "links": [(marks[n], described(rows[n], names)) for n in problem.rows[:MOST_LINKS]],
            "more": max(0, len(problem.rows) - MOST_LINKS),
        }
        for problem in judged.problems
    ]


def _cut(reason: str) -> str:
    cut = reason.strip()
    return cut if len(cut) <= MOST_LETTERS else f"{cut[:MOST_LETTERS]} … (cut here; results.csv has all of it)"


def _repeat(path: Path, frame: pd.DataFrame, environment: dict[str, Any]) -> dict[str, str]:
    git, name = folder.section(environment, "git"), path.resolve().name
    state = {True: ", with uncommitted changes", False: ", no uncommitted changes"}.get(git.get("dirty", ""), "")
    return {
        "command": command(environment),
        "commit": str(git.get("commit") or "not recorded"),
        "state": state,
        "seed": ", ".join(str(seed) for seed in frame["seed"].dropna().unique()) or "not recorded",
        "folder": name,
        "again": f"python -m runner.repeat {shlex.quote(f'outputs/.../{name}')}" if folder.repeatable(path) else "",
    }


def _by_section(drawn: list[Drawn]) -> dict[str, list[dict[str, Any]]]:
    """The figures of each section of the page."""
    found: dict[str, list[dict[str, Any]]] = {section: [] for section in SECTIONS}
    for one in drawn:
        data = base64.b64encode(one.svg).decode()
        found[one.section].append(
            {"stem": one.stem, "title": one.title, "caption": one.caption, "data": data, "endings": list(one.files)}
        )
    return found
