"""The page of a run: one self-contained file that needs no network.

Kernels are shown as they were compiled, from sources/ and the jobs' case.json. The page never shows files outside
sources/, even if an untrusted folder names them.
"""

from __future__ import annotations

import functools
import itertools
import os
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2
import yaml
from markupsafe import Markup

from runner.device import cache
from runner.device.kinds import RECORDING, is_gpu, name_of
from runner.display.text import HEADS_EXPLAINED, count, described, listed, one_line, plain
from runner.errors import UsageError
from runner.files import atomic, limited_yaml
from runner.record import ranking
from runner.record.folder import RunFolder
from runner.record.run import Run
from runner.record.runs import flat, section
from runner.report import annotated, bottlenecks, figures, findings, machine, searched, tables

if TYPE_CHECKING:
    from runner.report.figures.figure import Figure

SECTIONS = ("search", "times", "shape", "baseline", "lanes", "why", "energy", "raw", "gpus")
"""Sections of the page that have figures."""

MOST_LINKS = 12
MOST_FILES = 4
MOST_LETTERS = 1500
MOST_CHARACTERS = 200_000  # of all source files in the page
MOST_READ = 64 * 2**20  # characters of source files that are read
MOST_VALUES = 12  # per macro

OVERHEADS = ("empty_kernel_us", "event_pair_us", "event_tick_us", "flush_us", "copy_gbps", "toolchain")
"""The overheads of timing, measured when the GPU was opened."""


@dataclass(frozen=True)
class CompiledKernel:
    """A kernel as it was compiled."""

    kernel: str
    defines: tuple[str, ...]
    """One `#define` line per macro, with the values of other cases in a comment. Empty if unknown."""
    files: dict[str, str]
    """Texts, possibly cut, of the source, the included files and the YAML, by path within sources/."""


def write(run: Run, verdict: findings.Verdict, to: Path | None = None) -> Path:
    """Write the figures and the page of a run folder.

    Args:
        run: The run.
        verdict: The verdict on it.
        to: If given, write only the page, to this file, without links to the folder.

    Returns:
        The page's path.
    """
    ratios = ranking.ratios(run)
    drawn = figures.draw_all(run, ratios)
    if to is None:
        figures.write(run.path, drawn)
    context = _context(run, verdict, ratios, drawn) | {"files": to is None, "live": None}
    text = template("page.html", "runner.report").render(context)
    if to is None:
        run.folder.write(run.folder.report, text)
    else:
        atomic.write_text(to, text)
    return to or run.folder.report


def rendered(run: Run, verdict: findings.Verdict, live: tuple[str, str]) -> str:
    """Render the page of a running sweep, with charts, but without static figures and links to files.

    Args:
        run: The run.
        verdict: The verdict on it.
        live: The state of the folder, and a sentence about it.
    """
    ratios = ranking.ratios(run)
    drawn = [one for one in figures.choose(run, ratios) if one.view]
    context = _context(run, verdict, ratios, drawn) | {"files": False, "live": live}
    return template("page.html", "runner.report").render(context)


@functools.cache  # compiling a template takes as long as rendering it
def template(name: str, *packages: str) -> jinja2.Template:
    """Load a page's template. It escapes all text and strips control characters.

    Args:
        name: The template's file.
        packages: Packages whose folder `template` is searched, in order, for the template and its parts.
    """
    loaded = jinja2.Environment(
        loader=jinja2.ChoiceLoader([jinja2.PackageLoader(package, "template") for package in packages]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # Markup comes from macros, which have been cleaned already.
        finalize=lambda value: plain(value) if isinstance(value, str) and not isinstance(value, Markup) else value,
    )
    return loaded.get_template(name)


def _context(
    run: Run,
    verdict: findings.Verdict,
    ratios: dict[int, ranking.Ratio],
    drawn: Sequence[Figure],
) -> dict[str, Any]:
    sources = compiled(run.path, run.kernels)
    known, best, every = run.environment, ranking.fastest(run), tables.all_cases(run, ratios)
    by = run.criterion
    views = [one.view | {"stem": one.stem} for one in drawn if one.view]
    return {
        "title": heading(run),
        "about": _about(run.folder, _experiment(_command(known))),
        "verdict": verdict,
        "word": findings.WORDS[verdict.level],
        "host_times": tables.HOST_TIMES if run.has_host_times else "",
        "measured": run.frame["median_us"].notna().any(),
        "compared": not (run.frame["device"] == RECORDING).all(),
        "problems": _problems(run, verdict),
        "repeat": _repeat(run),
        "same": tables.same_in_all(run),
        "fastest": tables.fastest_cases(run, best),
        "fastest_heading": "Fastest configuration per size"
        if by.is_time
        else f"Best configuration per size, by {by.label}",
        "ranked": any(one.among > 1 for one in best),
        "figures": {name: [one for one in drawn if one.section == name] for name in SECTIONS},
        "search": searched.section(run),
        "ladder": bool(ranking.ladder(run)),
        "ratios": tables.best_against_best(run),
        "why": [(tables.anchors(run)[row], words) for row, words in bottlenecks.sentences(run)],
        "means": tables.geometric_means(run, ratios),
        "cases": every,
        "gpus": tables.of_gpus(run),
        "data": Markup(tables.embedded(run, every.columns, views)),  # noqa: S704 - JSON without a `<`
        "libraries": _libraries() if views else "",
        "tips": tables.tips(run),
        "explained": HEADS_EXPLAINED,
        "configuration": configuration(run.folder),
        "overrides": overrides(_command(known)),
        "environment": list(flat(known)),
        "compiled": sources,
        "listings": annotated.listings(run, {kernel.kernel: kernel.files for kernel in sources}),
        "machine": machine.codes(run, best, {kernel.kernel: kernel.files for kernel in sources}),
        "method": _method(known),
        "finishes": sorted({str(finish) for finish in run.frame["finish"]} - {""}),
    }


def _libraries() -> Markup:
    """The JavaScript libraries of the charts; see vendor/LICENSES.txt."""
    folder = Path(__file__).parent / "vendor"
    texts = [(folder / name).read_text("utf-8") for name in ("d3.min.js", "plot.min.js")]
    return Markup("\n".join(texts))  # noqa: S704 - our own files


def heading(run: Run) -> str:
    """The page's title: what was run, on which device, and on which day."""
    known = run.environment
    experiment = _experiment(_command(known))
    kernels = [one_line(str(kernel), 40) for kernel in run.kernels]
    what = listed(kernels) if 0 < len(kernels) <= 3 else count(len(kernels), "kernel")
    kinds = sorted({str(kind) for kind in run.frame["device"]} - {""}, key=is_gpu, reverse=True)
    names = [name_of(kind, str(section(run.devices, kind).get("name") or "")) for kind in kinds]
    where = f" on {listed([one_line(str(name), 60) for name in names])}" if names else ""
    day = re.match(r"\d{4}-\d\d-\d\d", str(known.get("started_utc")))
    return f"{one_line(experiment, 40)}{': ' * bool(experiment)}{what}{where}{f', {day[0]}' if day else ''}"


def _experiment(command: str) -> str:
    """The experiment that a command names; empty if it does not."""
    pairs = [word.lstrip("+").partition("=") for word in overrides(command)]
    named = [value for key, _, value in pairs if key == "experiment" and value not in ("", "null")]
    return named[-1] if named else ""


def _about(folder: RunFolder, experiment: str) -> list[str]:
    """The paragraphs of the comment at the top of an experiment's YAML."""
    file = folder.sources / "conf" / "experiment" / f"{experiment}.yaml"
    if file not in folder.files(folder.sources):
        return []
    lines = itertools.takewhile(lambda line: line.startswith("#"), folder.text(file).splitlines())
    said = [line[1:].strip() for line in lines if not line.startswith("# @")]
    parts = [" ".join(part) for blank, part in itertools.groupby(said, bool) if blank]
    return [part for part in parts if not part.startswith("python -m runner")]


def _problems(run: Run, verdict: findings.Verdict) -> list[dict[str, Any]]:
    names, marks = run.varying, tables.anchors(run)
    rows = {row["row"]: row for row in run.rows} if verdict.problems else {}
    return [
        {
            "status": problem.status.replace("_", " "),
            "failed": problem.failed,
            "count": count(len(problem.rows), "case"),
            "reason": _cut(problem.reason) or "no reason was recorded",
            "links": [(marks[n], described(rows[n], names)) for n in problem.rows[:MOST_LINKS]],
            "more": max(0, len(problem.rows) - MOST_LINKS),
        }
        for problem in verdict.problems
    ]


def _cut(reason: str) -> str:
    cut = reason.strip()
    return cut if len(cut) <= MOST_LETTERS else f"{cut[:MOST_LETTERS]} … (cut here; results.csv has the rest)"


def _repeat(run: Run) -> dict[str, str]:
    known, folder = run.environment, run.folder
    git, name = section(known, "git"), run.path.resolve().name
    state = {True: ", with uncommitted changes", False: ", no uncommitted changes"}.get(git.get("dirty", ""), "")
    own = section(known, "sources")
    if names := _names(own.get("uncommitted")):
        state = f", with uncommitted changes in {names}"
    if names := _names(own.get("unversioned")):
        state += f"; not under version control: {names}"
    repeatable, there = folder.has(folder.sources / "conf" / "config.yaml"), shlex.quote(f"outputs/.../{name}")
    return {
        "command": _command(known),
        "commit": str(git.get("commit") or "not recorded"),
        "state": state,
        "seed": ", ".join(str(seed) for seed in run.frame["seed"].dropna().unique()) or "not recorded",
        "folder": name,
        "again": f"python -m runner.repeat {there}" if repeatable else "",
        "rest": f"python -m runner.resume {there}" if repeatable and findings.incomplete(run) else "",
    }


def _names(found: Any) -> str:
    names = [one_line(str(name), 60) for name in found] if isinstance(found, list) else []
    return listed([*names[:MOST_FILES], *([f"{len(names) - MOST_FILES} more"] if len(names) > MOST_FILES else [])])


def _method(known: dict[str, Any]) -> list[tuple[str, str]]:
    devices = section(known, "devices")
    found = []
    for kind in devices:
        device = section(devices, kind)
        overheads = {name: device[name] for name in OVERHEADS if name in device}
        found += list(flat({**section(device, "timing"), **overheads}, f"{kind}: "))
    return found


def _command(known: dict[str, Any]) -> str:
    recorded = known.get("command") or ""
    return " ".join(map(str, recorded)) if isinstance(recorded, list) else str(recorded)


def overrides(command: str) -> list[str]:
    """Split a command into words, and return those after `python -m runner`."""
    try:
        words = shlex.split(command)
    except ValueError:  # an open quote
        return []
    return words[words.index("runner") + 1 :] if "runner" in words else []


def configuration(folder: RunFolder) -> tuple[int, str] | None:
    """Find the first job with a resolved configuration. Returns its number and the YAML; `None` if no job has one."""
    for job in folder.jobs():
        with suppress(OSError):
            return job, folder.text(folder.job(job) / ".hydra" / "config.yaml")
    return None


def compiled(path: Path, kernels: Iterable[str]) -> list[CompiledKernel]:
    """Collect the source files of kernels that the folder has. Shared files are listed with the first kernel.

    Args:
        path: The run folder.
        kernels: Names of kernels.
    """
    folder = RunFolder(path.resolve())  # resolves links above the folder
    kept, macros, left = _Sources(folder), _macros(folder), MOST_CHARACTERS
    found, shown = [], set()
    for kernel in kernels:
        files = {}
        for file in kept.of(kernel):
            name = file.relative_to(folder.sources).as_posix()
            if name not in shown:
                shown.add(name)
                text = kept.text(file)
                files[name] = text[:left] + ("" if len(text) <= left else f"\n[cut here: see sources/{name}]")
                left = max(0, left - len(text))
        if files:
            found.append(CompiledKernel(kernel, tuple(_defines(macros.get(kernel, {}))), files))
    return found


class _Sources:
    """The sources in a run folder. No file outside sources/ is read, even if a YAML or an include names it."""

    def __init__(self, folder: RunFolder) -> None:
        self._folder, self._read = folder, dict[Path, str]()
        self._files = dict.fromkeys(folder.files(folder.sources))
        self._named = {path.stem: path for path in reversed(self._files) if path.suffix == ".cu"}

    def of(self, kernel: str) -> Iterator[Path]:
        """Yield a kernel's files: source, includes, YAML."""
        declared = self._folder.sources / "conf" / "kernel" / f"{kernel}.yaml"
        if source := self._source(kernel, declared):
            yield source
            yield from cache.includes(self.text(source), [source.parent], self._files, self.text)
        if declared in self._files:
            yield declared

    def text(self, path: Path) -> str:
        """Read a file. The total size is limited, because a sparse file takes few bytes on disk.

        Raises:
            UsageError: All files together have more than `MOST_READ` characters.
        """
        if path not in self._read:
            self._read[path] = self._folder.text(path).removeprefix("\ufeff")
            if sum(map(len, self._read.values())) > MOST_READ:
                raise UsageError(f"{self._folder.sources}: more than {MOST_READ:,} characters")
        return self._read[path]

    def _source(self, kernel: str, declared: Path) -> Path | None:
        """The source that the YAML names, else the first .cu file with the kernel's name."""
        try:
            content = limited_yaml.load_yaml(self.text(declared)) if declared in self._files else None
        except (ValueError, RecursionError, yaml.YAMLError):
            content = None
        named = content.get("source") if isinstance(content, dict) else None
        path = Path(os.path.normpath(declared.parent / named)) if isinstance(named, str) else None
        return path if path in self._files else self._named.get(kernel)


def _macros(folder: RunFolder) -> dict[str, dict[str, dict[str, None]]]:
    """The values of each macro by kernel and macro name, in the order of the jobs."""
    found: dict[str, dict[str, dict[str, None]]] = {}
    for job in folder.jobs():
        case = folder.json(folder.case(job))
        if isinstance(case, dict):
            for name, value in section(case, "macros").items():
                found.setdefault(str(case.get("kernel")), {}).setdefault(name, {})[str(value)] = None
    return found


def _defines(macros: dict[str, dict[str, None]]) -> Iterator[str]:
    for name, values in macros.items():
        first, *others = (one_line(value, 80) for value in values)
        more = [f"{len(others) - MOST_VALUES} more"] if len(others) > MOST_VALUES else []
        also = f"  // also {', '.join(others[:MOST_VALUES] + more)}" if others else ""
        yield f"#define {one_line(name, 80)} {first}{also}"
