"""The page: everything a reader gets, in one file that opens anywhere and asks the network for nothing."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd
from markupsafe import Markup

from runner import atomic
from runner.report import cells, folder, table, verdict
from runner.report.choose import choose
from runner.report.figures import Picture, draw
from runner.report.ratio import ratios
from runner.report.style import strokes
from runner.report.text import EMULATED, count, described, listed, one_line, plain, value_of
from runner.report.traffic import IN_TABLES

MOST_LINKS = 12
MOST_LETTERS = 1500


def build(path: Path) -> Path:
    """Write the figures and the page of a run folder, and return the page's path."""
    frame = table.load(path)
    found = ratios(frame)
    looks = strokes([str(kernel) for kernel in frame["kernel"].unique()])
    pictures = [draw(plot, looks, found) for plot in choose(frame)]
    for picture in pictures:
        atomic.write(path / "figures" / f"{picture.plot.stem}.svg", picture.svg)
        atomic.write(path / "figures" / f"{picture.plot.stem}.png", picture.png)
    page = _template().render(_context(path, frame, pictures))
    target = path / "report.html"
    atomic.write(target, page.encode())
    return target


def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("runner.report", "template"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finalize,
    )
    return environment.get_template("page.html")


def _finalize(value: Any) -> Any:
    """Every text that enters the page, made harmless to read; what a macro returns has been through here already."""
    return plain(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _context(path: Path, frame: pd.DataFrame, pictures: list[Picture]) -> dict[str, Any]:
    environment, judged, found, best = (
        folder.environment(path),
        verdict.judge(frame),
        ratios(frame),
        verdict.fastest(frame),
    )
    return {
        "title": _title(frame, environment),
        "run": path.resolve().name,
        "verdict": judged,
        "emulated": EMULATED if (frame["device"] == "cpu").any() else "",
        "problems": _problems(frame, judged),
        "repeat": _repeat(frame, environment),
        "constants": _constants(frame),
        "fastest": cells.fastest_cases(frame, best, found),
        "ranked": any(one.among > 1 for one in best),
        "level": any(one.ties.level or one.ties.unsure for one in best),
        "figures": [_figure(picture) for picture in pictures],
        "ratios": cells.baseline_ratios(frame, found),
        "cases": cells.all_cases(frame, found),
        "traffic": IN_TABLES,
        "styled": {name: _styles(name) for name in (*cells.LEFT, *cells.MINOR)},
        "environment": list(folder.flat(environment)),
        "method": _method(environment),
        "finishes": sorted({str(finish) for finish in frame["finish"]} - {""}),
        "sources": folder.sources(path),
    }


FLOOR = ("empty_kernel_us", "event_pair_us", "event_tick_us", "flush_us", "copy_gbps")
"""What the method itself takes, as measured when the GPU was opened."""


def _method(environment: dict[str, Any]) -> list[tuple[str, str]]:
    """How each device's launches were timed."""
    devices = folder.section(environment, "devices")
    told = []
    for kind in devices:
        known = folder.section(devices, kind)
        method = {name: known[name] for name in (*FLOOR, "toolchain") if name in known}
        told += list(folder.flat({**folder.section(known, "timing"), **method}, f"{kind}: "))
    return told


def _styles(name: str) -> str:
    return " ".join(word for word, names in (("left", cells.LEFT), ("minor", cells.MINOR)) if name in names)


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


def _constants(frame: pd.DataFrame) -> str:
    first = {name: frame[name][frame[name].notna() & (frame[name].astype(str) != "")] for name in table.constant(frame)}
    rows = {name: table.records(frame.loc[[column.index[0]]])[0] for name, column in first.items() if name != "kernel"}
    return ", ".join(f"{name} {one_line(value_of(name, row), 60)}" for name, row in rows.items())


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


def _repeat(frame: pd.DataFrame, environment: dict[str, Any]) -> dict[str, str]:
    git = folder.section(environment, "git")
    commit = str(git.get("commit") or "not recorded")
    state = {True: ", with uncommitted changes", False: ", no uncommitted changes"}.get(git.get("dirty", ""), "")
    command = environment.get("command") or ""
    return {
        "command": " ".join(map(str, command)) if isinstance(command, list) else str(command),
        "commit": commit,
        "state": state,
        "seed": ", ".join(str(seed) for seed in frame["seed"].dropna().unique()) or "not recorded",
    }


def _figure(picture: Picture) -> dict[str, str]:
    plot = picture.plot
    return {
        "stem": plot.stem,
        "title": plot.title,
        "alt": f"{plot.title}. {plot.reading}",
        "note": f"{EMULATED[0].upper()}{EMULATED[1:]}." if plot.emulated else "",
        "data": base64.b64encode(picture.svg).decode(),
    }
