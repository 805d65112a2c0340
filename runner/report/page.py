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
from typing import Any

import jinja2
import yaml
from markupsafe import Markup, escape

from runner.device import cache
from runner.device.kinds import RECORDING, is_gpu, name_of
from runner.display.text import MEANINGS, count, described, limited, listed, one_line, plain
from runner.errors import UsageError
from runner.files import atomic, limited_yaml, named_file
from runner.kernel import yaml_form
from runner.record import ranking
from runner.record.folder import RunFolder
from runner.record.run import Run
from runner.record.runs import experiment, flat, overrides, section
from runner.report import annotated, answers, bottlenecks, checks, figures, findings, machine, searched, tables
from runner.report.figures.figure import Figure
from runner.report.missing import missing
from runner.report.renderers import Renderers

SECTIONS = ("search", "times", "shape", "baseline", "lanes", "why", "energy", "raw", "gpus")
"""Sections of the page that have figures."""

MAX_LINKS = 12
MAX_FILES = 4
MAX_REASON = 1500  # characters
MAX_SOURCES = 200_000  # characters of all source files in the page
MAX_SOURCES_READ = 64 * 2**20  # characters
MAX_VALUES = 12  # per macro

OVERHEADS = ("empty_kernel_us", "event_pair_us", "event_tick_us", "flush_us", "copy_gbps", "toolchain")
"""The overheads of timing, measured when the GPU was opened."""

_CODE = re.compile("`([^`\n]+)`")


@dataclass(frozen=True)
class CompiledKernel:
    """A kernel as it was compiled."""

    kernel: str
    defines: tuple[str, ...]
    """One `#define` line per macro, with the values of other cases in a comment. Empty if unknown."""
    files: dict[str, str]
    """Texts, possibly cut, of the source, the included files and the YAML, by path within sources/."""


def write(run: Run, verdict: findings.Verdict, to: Path | None = None, renderers: Renderers | None = None) -> Path:
    """Write the figures and the page of a run folder; with `to`, only the page, without links to the folder.

    `renderers` draw the figures while the rest of the page is made.

    Returns:
        The page's path.
    """
    ratios = ranking.ratios(run)
    chosen = figures.choose(run, ratios)
    drawing = figures.begin_drawing(chosen, renderers)
    context = _context(run, verdict, ratios, chosen)
    drawn = drawing()
    text = _render(context, drawn, files=to is None)
    if to is None:
        figures.write(run.path, drawn)
        run.folder.write(run.folder.report, text)
    else:
        named_file.write(to, atomic.encoded(text))
    return to or run.folder.report


def render(run: Run, verdict: findings.Verdict, live: tuple[str, str]) -> str:
    """Render the page of a running sweep, with charts, but without static figures and links to files.

    `live` is the state of the folder, and a sentence about it.
    """
    ratios = ranking.ratios(run)
    charts = [figure for figure in figures.choose(run, ratios) if figure.view]
    return _render(_context(run, verdict, ratios, charts), charts, live=live)


@functools.cache  # compiling a template takes as long as rendering it
def template(name: str, *packages: str) -> jinja2.Template:
    """Load a template from the packages' folders `template`. It escapes all text and strips control characters."""
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader([jinja2.PackageLoader(package, "template") for package in packages]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # Markup comes from macros, which have been cleaned already.
        finalize=lambda value: plain(value) if isinstance(value, str) and not isinstance(value, Markup) else value,
    )
    environment.filters["code"] = with_code
    return environment.get_template(name)


def _render(
    context: dict[str, Any], drawn: Sequence[Figure], *, files: bool = False, live: tuple[str, str] | None = None
) -> str:
    by_section = {name: [figure for figure in drawn if figure.section == name] for name in SECTIONS}
    return template("page.html", "runner.report").render(
        context | {"figures": by_section, "files": files, "live": live}
    )


def _context(
    run: Run, verdict: findings.Verdict, ratios: dict[int, ranking.Ratio], chosen: Sequence[Figure]
) -> dict[str, Any]:
    """The values of the page's template, without the figures, which may still be drawn."""
    sources, by, environment = compiled(run.path, run.kernels), run.criterion, run.environment
    texts = {kernel.kernel: kernel.files for kernel in sources}
    rankings, cases, marks = ranking.fastest(run), tables.all_cases(run, ratios), tables.anchors(run)
    views = [figure.view | {"stem": figure.stem} for figure in chosen if figure.view]
    return {
        "title": heading(run),
        "about": _about(run.folder, experiment(_command(run))),
        "verdict": verdict,
        "first": answers.first_screen(run),
        "marks": marks,
        "checked": [with_code(sentence) for sentence in checks.sentences(run)],
        "word": findings.LEVEL_NAMES[verdict.level],
        "host_times": tables.note_on_host_times(run),
        "measured": run.frame["median_us"].notna().any(),
        "compared": not (run.frame["device"] == RECORDING).all(),
        "problems": _problems(run, verdict, marks),
        "repeat": _repeat(run),
        "same": tables.same_in_all(run),
        "fastest": tables.fastest_cases(run, rankings),
        "fastest_heading": f"{'Fastest' if by.is_time else 'Best'} configuration per size"
        + ("" if by.is_time else f", by {by.label}"),
        "ranked": any(one.among > 1 for one in rankings),
        "search": searched.section(run),
        "ladder": bool(ranking.ladder(run)),
        "ratios": tables.best_against_best(run),
        "why": [(marks[row], words) for row, words in bottlenecks.sentences(run)],
        "means": tables.geometric_means(run, ratios),
        "cases": cases,
        "gpus": tables.gpu_table(run),
        "data": Markup(tables.embedded(run, cases.columns, views)),  # noqa: S704 - JSON without a `<`
        "libraries": _libraries() if views else "",
        "tips": tables.tips(run),
        "heads": tables.heads(run),
        "explained": MEANINGS,
        "configuration": configuration(run.folder),
        "overrides": overrides(_command(run)),
        "environment": list(flat(environment)),
        "compiled": sources,
        "listings": annotated.listings(run, texts),
        "machine": machine.codes(run, rankings, texts),
        "missing": missing(run),
        "method": _method(run.devices),
        "finishes": sorted({str(finish) for finish in run.frame["finish"]} - {""}),
    }


def with_code(sentence: str) -> Markup:
    """A sentence whose commands and code stand between backticks, as HTML."""
    parts = _CODE.split(plain(sentence))
    return Markup().join(Markup("<code>{}</code>").format(p) if n % 2 else escape(p) for n, p in enumerate(parts))


def _libraries() -> Markup:
    """The JavaScript libraries of the charts; see vendor/LICENSES.txt."""
    folder = Path(__file__).parent / "vendor"
    texts = [(folder / name).read_text("utf-8") for name in ("d3.min.js", "plot.min.js")]
    return Markup("\n".join(texts))  # noqa: S704 - our own files


def heading(run: Run) -> str:
    """The page's title: what was run, on which device, and on which day."""
    name = one_line(experiment(_command(run)), 40)
    kernels = [one_line(str(kernel), 40) for kernel in run.kernels]
    what = listed(kernels) if 0 < len(kernels) <= 3 else count(len(kernels), "kernel")
    kinds = sorted({str(kind) for kind in run.frame["device"]} - {""}, key=lambda kind: (not is_gpu(kind), kind))
    names = [name_of(kind, str(section(run.devices, kind).get("name") or "")) for kind in kinds]
    where = f" on {listed([one_line(str(name), 60) for name in names])}" if names else ""
    day = re.match(r"\d{4}-\d\d-\d\d", str(run.environment.get("started_utc")))
    return f"{name}{': ' * bool(name)}{what}{where}{f', {day[0]}' if day else ''}"


def _about(folder: RunFolder, name: str) -> list[str]:
    """The paragraphs of the comment at the top of an experiment's YAML."""
    file = folder.sources / "conf" / "experiment" / f"{name}.yaml"
    if file not in folder.files(folder.sources):
        return []
    comment = itertools.takewhile(lambda line: line.startswith("#"), folder.text(file).splitlines())
    lines = [line[1:].strip() for line in comment if not line.startswith("# @")]
    paragraphs = [" ".join(part) for has_text, part in itertools.groupby(lines, bool) if has_text]
    return [part for part in paragraphs if not part.startswith("python -m runner")]


def _problems(run: Run, verdict: findings.Verdict, marks: dict[int, str]) -> list[dict[str, Any]]:
    problems = []
    for problem in verdict.problems:
        reason = problem.reason.strip()
        if len(reason) > MAX_REASON:
            reason = f"{reason[:MAX_REASON]} … (cut here; results.csv has the rest)"
        problems.append({
            "status": problem.status.replace("_", " "),
            "failed": problem.failed,
            "count": count(len(problem.rows), "case"),
            "reason": reason or "no reason was recorded",
            "links": [(marks[row["row"]], described(row, run.varying)) for row in problem.rows[:MAX_LINKS]],
            "more": max(0, len(problem.rows) - MAX_LINKS),
        })  # fmt: skip
    return problems


def _repeat(run: Run) -> dict[str, str]:
    git, sources, name = section(run.environment, "git"), section(run.environment, "sources"), run.path.resolve().name
    state = {True: ", with uncommitted changes", False: ", no uncommitted changes"}.get(git.get("dirty", ""), "")
    if names := _names(sources.get("uncommitted")):
        state = f", with uncommitted changes in {names}"
    if names := _names(sources.get("unversioned")):
        state += f"; not under version control: {names}"
    repeatable = run.folder.has(run.folder.sources / "conf" / "config.yaml")
    folder = shlex.quote(name)  # commands find a run below outputs/ by the name of its folder
    return {
        "command": _command(run),
        "commit": str(git.get("commit") or "not recorded"),
        "state": state,
        "seed": ", ".join(str(seed) for seed in run.frame["seed"].dropna().unique()) or "not recorded",
        "folder": name,
        "again": f"python -m runner repeat {folder}" if repeatable else "",
        "rest": f"python -m runner resume {folder}" if repeatable and findings.incomplete(run) else "",
    }


def _names(names: Any) -> str:
    return listed(limited([one_line(str(name), 60) for name in names], MAX_FILES) if isinstance(names, list) else [])


def _method(devices: dict[str, Any]) -> list[tuple[str, str]]:
    entries: list[tuple[str, str]] = []
    for kind in devices:
        device = section(devices, kind)
        overheads = {name: device[name] for name in OVERHEADS if name in device}
        entries += flat({**section(device, "timing"), **overheads}, f"{kind}: ")
    return entries


def _command(run: Run) -> str:
    recorded = run.environment.get("command") or ""
    return " ".join(map(str, recorded)) if isinstance(recorded, list) else str(recorded)


def configuration(folder: RunFolder) -> tuple[int, str] | None:
    """Find the first job with a resolved configuration. Returns its number and the YAML; `None` if no job has one."""
    for job in folder.jobs():
        with suppress(OSError):
            return job, folder.text(folder.job(job) / ".hydra" / "config.yaml")
    return None


def compiled(path: Path, kernels: Iterable[str]) -> list[CompiledKernel]:
    """Collect the source files of kernels that the run folder has. Shared files are listed with the first kernel."""
    folder = RunFolder(path.resolve())  # resolves links above the folder
    sources, macros, remaining = _Sources(folder), _macros(folder), MAX_SOURCES
    collected, shown = [], set()
    for kernel in kernels:
        files = {}
        for file in sources.of_kernel(kernel):
            name = file.relative_to(folder.sources).as_posix()
            if name not in shown:
                shown.add(name)
                text = sources.text(file)
                files[name] = text[:remaining] + ("" if len(text) <= remaining else f"\n[cut here: see sources/{name}]")
                remaining = max(0, remaining - len(text))
        if files:
            collected.append(CompiledKernel(kernel, tuple(_defines(macros.get(kernel, {}))), files))
    return collected


class _Sources:
    """The sources in a run folder. No file outside sources/ is read, even if a YAML or an include names it."""

    def __init__(self, folder: RunFolder) -> None:
        self._folder, self._texts = folder, dict[Path, str]()
        self._files = dict.fromkeys(folder.files(folder.sources))
        self._by_stem = {path.stem: path for path in reversed(self._files) if path.suffix == ".cu"}

    def of_kernel(self, kernel: str) -> Iterator[Path]:
        """Yield a kernel's files: source, includes, YAML."""
        declaration = self._folder.sources / "conf" / "kernel" / f"{kernel}.yaml"
        for source in self._sources_of(kernel, declaration):
            yield source
            yield from cache.includes(self.text(source), [source.parent], self._files, self.text)
        if declaration in self._files:
            yield declaration

    def text(self, path: Path) -> str:
        """Read a file. The total size is limited, because a sparse file takes few bytes on disk."""
        if path not in self._texts:
            self._texts[path] = self._folder.text(path).removeprefix("\ufeff")
            if sum(map(len, self._texts.values())) > MAX_SOURCES_READ:
                raise UsageError(f"{self._folder.sources}: more than {MAX_SOURCES_READ:,} characters")
        return self._texts[path]

    def _sources_of(self, kernel: str, declaration: Path) -> list[Path]:
        """The source that the YAML names, else the first .cu file with the kernel's name; then those of launches."""
        try:
            content = limited_yaml.load_yaml(self.text(declaration)) if declaration in self._files else None
        except (ValueError, RecursionError, yaml.YAMLError):
            content = None
        keys = content if isinstance(content, dict) else {}
        own, *further = (
            Path(os.path.normpath(declaration.parent / name)) if isinstance(name, str) else None
            for name in (keys.get("source"), *yaml_form.further(keys.get("launches")))
        )
        found = [own if own in self._files else self._by_stem.get(kernel), *further]
        return [path for path in dict.fromkeys(found) if path in self._files]


def _macros(folder: RunFolder) -> dict[str, dict[str, dict[str, None]]]:
    """The values of each macro by kernel and macro name, in the order of the jobs."""
    macros: dict[str, dict[str, dict[str, None]]] = {}
    for job in folder.jobs():
        case = folder.json(folder.case(job))
        if isinstance(case, dict):
            for name, value in section(case, "macros").items():
                macros.setdefault(str(case.get("kernel")), {}).setdefault(name, {})[str(value)] = None
    return macros


def _defines(macros: dict[str, dict[str, None]]) -> Iterator[str]:
    for name, values in macros.items():
        first, *others = (one_line(value, 80) for value in values)
        also = f"  // also {', '.join(limited(others, MAX_VALUES))}" if others else ""
        yield f"#define {one_line(name, 80)} {first}{also}"
