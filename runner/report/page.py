"""The page of a run: one self-contained file that needs no network."""

from __future__ import annotations

import base64
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2
import pandas as pd
from markupsafe import Markup

from runner import atomic, runs
from runner.device.kinds import is_emulated, label
from runner.report import cells, folder, table, verdict
from runner.report.ranking import Ratio, ratios
from runner.report.text import EMULATED, HEADS_EXPLAINED, count, described, listed, one_line, plain

if TYPE_CHECKING:
    from runner.report.figures.figure import Drawn

SECTIONS = ("times", "shape", "baseline", "lanes", "raw")
"""Sections of the page that have figures."""

MOST_LINKS = 12
MOST_LETTERS = 1500

OVERHEADS = ("empty_kernel_us", "event_pair_us", "event_tick_us", "flush_us", "copy_gbps", "toolchain")
"""The overheads of timing, measured when the GPU was opened."""


def write(path: Path) -> Path:
    """Write the figures and the page of a run folder, and return the page's path."""
    from runner.report import figures  # noqa: PLC0415 - `template` must not load matplotlib

    frame = table.load(path)
    found = ratios(frame)
    drawn = figures.draw_all(path, frame, found)
    figures.write(path / "figures", drawn)
    target = path / "report.html"
    page = template("page.html", "runner.report").render(_context(path, frame, found, drawn))
    atomic.write(target, page.encode())
    return target


def template(name: str, *packages: str) -> jinja2.Template:
    """A page's template. All text that enters it is escaped and stripped of control characters.

    Args:
        name: The name of its file.
        packages: Packages whose folder `template` is searched, in this order, for the template and its parts.
    """
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader([jinja2.PackageLoader(package, "template") for package in packages]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_harmless,
    )
    return environment.get_template(name)


def _harmless(value: Any) -> Any:
    # Markup is the text of a macro, which has been cleaned already.
    return plain(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _context(path: Path, frame: pd.DataFrame, found: dict[int, Ratio], drawn: Sequence[Drawn]) -> dict[str, Any]:
    environment, judged, best = runs.environment(path), verdict.judge(frame), verdict.fastest(frame)
    steps = cells.ladder_steps(frame)
    recorded = folder.command(environment)
    return {
        "title": _title(frame, environment),
        "verdict": judged,
        "word": verdict.WORDS[judged.level],
        "emulated": EMULATED if frame["emulated"].any() else "",
        "measured": not frame["emulated"].all(),
        "problems": _problems(frame, judged),
        "repeat": _repeat(path, frame, environment),
        "same": cells.same_in_all(frame),
        "fastest": cells.fastest_cases(frame, best, found),
        "ranked": any(one.among > 1 for one in best),
        "figures": _by_section(drawn),
        "ladder": bool(steps.lines),
        "ratios": steps if steps.lines else cells.baseline_ratios(frame, found),
        "cases": cells.all_cases(frame, found),
        "tips": cells.TIPS,
        "explained": HEADS_EXPLAINED,
        "configuration": folder.configuration(path),
        "overrides": folder.overrides(recorded),
        "environment": list(folder.flat(environment)),
        "compiled": folder.compiled(path, [str(kernel) for kernel in frame["kernel"].unique()]),
        "method": _method(environment),
        "finishes": sorted({str(finish) for finish in frame["finish"]} - {""}),
    }


def _title(frame: pd.DataFrame, environment: dict[str, Any]) -> str:
    kernels = [one_line(str(kernel), 40) for kernel in frame["kernel"].unique()]
    what = listed(kernels) if 0 < len(kernels) <= 3 else count(len(kernels), "kernel")
    devices = folder.section(environment, "devices")
    kinds = sorted({str(kind) for kind in frame["device"]} - {""}, key=is_emulated)
    names = [label(k) if is_emulated(k) else folder.section(devices, k).get("name") or label(k) for k in kinds]
    return f"{what} on {listed([one_line(str(name), 60) for name in names])}" if names else what


def _problems(frame: pd.DataFrame, judged: verdict.Verdict) -> list[dict[str, Any]]:
    names, marks = table.varying(frame), cells.anchors(frame)
    rows = {row["row"]: row for row in table.records(frame)} if judged.problems else {}
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
    return cut if len(cut) <= MOST_LETTERS else f"{cut[:MOST_LETTERS]} … (cut here; results.csv has the rest)"


def _repeat(path: Path, frame: pd.DataFrame, environment: dict[str, Any]) -> dict[str, str]:
    git, name = folder.section(environment, "git"), path.resolve().name
    state = {True: ", with uncommitted changes", False: ", no uncommitted changes"}.get(git.get("dirty", ""), "")
    return {
        "command": folder.command(environment),
        "commit": str(git.get("commit") or "not recorded"),
        "state": state,
        "seed": ", ".join(str(seed) for seed in frame["seed"].dropna().unique()) or "not recorded",
        "folder": name,
        "again": f"python -m runner.repeat {shlex.quote(f'outputs/.../{name}')}" if folder.repeatable(path) else "",
    }


def _method(environment: dict[str, Any]) -> list[tuple[str, str]]:
    """How the launches of each device were timed."""
    devices = folder.section(environment, "devices")
    found = []
    for kind in devices:
        known = folder.section(devices, kind)
        overheads = {name: known[name] for name in OVERHEADS if name in known}
        found += list(folder.flat({**folder.section(known, "timing"), **overheads}, f"{kind}: "))
    return found


def _by_section(drawn: Sequence[Drawn]) -> dict[str, list[dict[str, Any]]]:
    """The figures of each section of the page."""
    found: dict[str, list[dict[str, Any]]] = {section: [] for section in SECTIONS}
    for one in drawn:
        data = base64.b64encode(one.svg).decode()
        found[one.section].append(
            {"stem": one.stem, "title": one.title, "caption": one.caption, "data": data, "endings": list(one.files)}
        )
    return found
