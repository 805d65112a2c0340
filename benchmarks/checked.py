"""Measures the checked CPU device, and holds it against compute-sanitizer and Nsight Compute on a GPU.

    python benchmarks/checked.py cost [--out docs/checked.txt]
    python benchmarks/checked.py gpu [--work outputs/checked] [--parts sanitizers,lines] [--out docs/h200/checked.txt]

`cost` needs no GPU: the time of a launch on the checked device beside the plain CPU device, and the memory.

`gpu` needs a GPU, PyCUDA, nvcc, compute-sanitizer and ncu. `sanitizers` launches every kernel of tests/kernels/races,
and the counterexamples that come with the project, once under each of compute-sanitizer's tools; each tool has one
process for all kernels. Kernels that may never end have a process each, under synccheck. `lines` counts the accesses of
each line of every kernel that comes with the project under one ncu, and compares sectors and wavefronts with lines.csv
of a sweep on the CPU device. What the tools print is kept in the folder `--work`; `--read` writes the tables from it
without a GPU.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import pickle
import re
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from launched import AGAIN, Job
from nvidia_tools import Counted, Key, instruction_lines, sass_counters, source_counters

from runner.device import Launch, Order, Role, Source
from runner.device.config import DeviceConfig
from runner.device.kinds import compiler_for, open_device
from runner.errors import CompileError, Hazard, RunnerError
from runner.kernel.case import Case
from runner.kernel.inputs import contents
from runner.kernel.resolve import make
from runner.stages.profile.sanitizer import Record, parse_sanitizer_log
from runner.sweep.trial import poison, upload

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "tools"), str(HERE.parent / "tests")]

import planted_races  # noqa: E402
import shipped  # noqa: E402

SIZE, BLOCK = 1 << 20, 256


def environment() -> dict[str, str]:
    """Ours, with this checkout importable."""
    paths = [str(HERE.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


ROUNDS = 7
# Kernels whose cost on the checked device is told beside that on the plain one.
LAUNCHES = {
    "matmulTile": {"size": "192x192", "inner": "192"},
    "transposeTile": {"size": "1024x1024"},
    "stencil1dShfl": {"size": "524288"},
    "reduceSmem": {"size": "65536"},
}
TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
COUNTEREXAMPLES = ("barrierDivergent", "maskNamesAbsent", "maskWithoutCaller")
PATIENCE_S = 150  # for a tool and all kernels
HANGING_S = 30  # for one that may never end
RESTARTS = 4  # of the process under a tool, after faults that spoil the GPU
WITH_LINES = DeviceConfig(kind="cuda", nvcc_options=["-lineinfo"])
TOLERANCE = 0.01


def say(text: str) -> None:
    """Show progress."""
    print(text, file=sys.stderr, flush=True)


def columns(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Rows as padded columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


# --- cost


def nanoseconds(kind: str, kernel: str, shared: int) -> float:
    """The median CPU time of a launch per element of a reduction of 2^20 integers, on one OS thread."""
    config = DeviceConfig(kind=kind, threads=1)
    device = open_device(config)
    path = HERE / "kernels" / "cpu_device.cu"
    source = Source(path, path.read_text(), kernel)
    program = device.load(source, compiler_for(config, device.info).compile(source))
    numbers = device.place("in", np.ones(SIZE, np.int32), Role.IN)
    total = device.place("out", np.zeros(1, np.int32), Role.INOUT)
    launch = Launch(program, (SIZE // BLOCK, 1, 1), (BLOCK, 1, 1), shared, (numbers, total, np.int32(SIZE)))
    times = []
    for _ in range(ROUNDS):
        total.restore()
        started = time.process_time()  # of one thread; so other processes do not count
        device.launch(launch, 60.0)
        times.append(time.process_time() - started)
    if total.read()[0] != SIZE:
        sys.exit(f"{kernel} on device={kind} gave {total.read()[0]}, expected {SIZE}")
    device.close()
    return statistics.median(times) / SIZE * 1e9


def words(parameters: Mapping[str, str]) -> str:
    """Parameters as on a command line."""
    return " ".join(f"{key}={value}" for key, value in parameters.items())


def launched(name: str, parameters: dict[str, str]) -> tuple[float, float]:
    """The least user time of a launch on the plain and on the checked CPU device in turns, one OS thread, in ms."""
    case = make(shipped.kernel(name), parameters, 0)
    launches: dict[str, tuple[Any, Launch]] = {}
    times: dict[str, list[float]] = {"cpu": [], "checked": []}
    with ExitStack() as stack:
        for kind in times:
            config = DeviceConfig(kind=kind, threads=1)
            device = open_device(config)
            program = device.load(case.source(), compiler_for(config, device.info).compile(case.source()))
            launches[kind] = device, upload(device, program, case, contents(case), stack)[0]
        for _ in range(ROUNDS):
            for kind, (device, launch) in launches.items():
                started = resource.getrusage(resource.RUSAGE_SELF).ru_utime
                device.launch(launch, 60.0)
                times[kind].append(1e3 * (resource.getrusage(resource.RUSAGE_SELF).ru_utime - started))
    return min(times["cpu"]), min(times["checked"])


def peak_mib(kind: str, mib: int) -> float:
    """The largest resident memory of a process that adds two arrays of so many MiB into a third, in MiB."""
    command = [sys.executable, str(Path(__file__).resolve()), "peak", "--kind", kind, "--mib", str(mib)]
    own = environment()
    return float(subprocess.run(command, env=own, capture_output=True, text=True, check=True).stdout)


def peak(kind: str, mib: int) -> None:
    """Print the memory of this process after a launch that touches all of three arrays."""
    config = DeviceConfig(kind=kind, threads=1)
    device = open_device(config)
    path = HERE / "kernels" / "cpu_device.cu"
    source = Source(path, path.read_text(), "plainThreads")
    program = device.load(source, compiler_for(config, device.info).compile(source))
    size = mib * 2**18
    host = np.ones(size, np.float32)
    arrays = [device.place(n, host, r) for n, r in (("left", Role.IN), ("right", Role.IN), ("floats", Role.OUT))]
    launch = Launch(program, (size // BLOCK, 1, 1), (BLOCK, 1, 1), 0, (*arrays, np.int32(size)))
    device.launch(launch, 600.0)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def cost() -> list[str]:
    """The table of times and memory."""
    rows = [("CPU time of a launch on one OS thread, 2^20 elements, block 256", "cpu", "checked", "ratio")]
    for title, kernel, shared in (
        ("reduction by shuffles, ns an element", "reduceByShuffle", 0),
        ("reduction in shared memory, ns an element", "reduceByShared", 4 * BLOCK),
    ):
        plain, checked = (nanoseconds(kind, kernel, shared) for kind in ("cpu", "checked"))
        rows.append((title, f"{plain:.0f}", f"{checked:.0f}", f"{checked / plain:.1f}"))
    for name, parameters in LAUNCHES.items():
        plain, checked = launched(name, parameters)
        rows.append((f"{name} {words(parameters)}, ms", f"{plain:.1f}", f"{checked:.1f}", f"{checked / plain:.1f}"))
    small, large = 16, 64
    further = [(peak_mib(kind, large) - peak_mib(kind, small)) / (3 * (large - small)) for kind in ("cpu", "checked")]
    rows.append(("memory, bytes a byte of the arrays", *(f"{value:.1f}" for value in further), ""))
    return [f"python benchmarks/checked.py cost, {platform_line()}", "", *columns(rows)]


def platform_line() -> str:
    """The processor."""
    device = open_device(DeviceConfig(kind="cpu", threads=1))
    name = device.info.name
    device.close()
    return name


# --- gpu: what both find


def planted_cases() -> dict[str, tuple[planted_races.PlantedRace | None, Case]]:
    """All kernels of tests/kernels/races and the counterexamples, by name."""
    found: dict[str, tuple[planted_races.PlantedRace | None, Case]] = {}
    planted = planted_races.planted()
    cases = planted_races.cases(planted)
    found |= {one.name: (one, cases[one.name]) for one in planted}
    for name in COUNTEREXAMPLES:
        found[name] = None, make(shipped.kernel(name), {}, 0)
    return found


def may_hang(planted: planted_races.PlantedRace | None) -> bool:
    """Whether a kernel breaks a rule of barriers, so that it may never end on a GPU."""
    return planted is None or any(mark.startswith("BARRIER") for mark in planted.lines)


@dataclass(frozen=True)
class Ours:
    """What the checked device says of a kernel: sentences, lines, and the seconds of all its launches."""

    words: tuple[str, ...]
    lines: tuple[str, ...]
    seconds: float


def ours(cases: Mapping[str, Case]) -> dict[str, Ours]:
    """Each case on the checked device, in each of its orders."""
    config = DeviceConfig(kind="checked")
    device = open_device(config)
    compiler = compiler_for(config, device.info)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        binaries = dict(zip(cases, pool.map(lambda case: compiler.compile(case.source()), cases.values()), strict=True))
    found = {}
    for name, case in cases.items():
        words: dict[str, None] = {}
        lines: dict[str, None] = {}
        seconds = 0.0
        program = device.load(case.source(), binaries[name])
        with ExitStack() as stack:
            launch, arrays = upload(device, program, case, contents(case), stack)
            for order in Order:
                poison(case, arrays)
                started = time.perf_counter()
                try:
                    device.launch(replace(launch, order=order), 60.0)
                except Hazard as e:
                    for finding in e.findings:
                        words[finding.kind] = None
                        lines[
                            "/".join(
                                dict.fromkeys(x.rpartition(":")[2] for x in (finding.line, finding.other_line) if x)
                            )
                        ] = None
                    if not e.findings:
                        words["barrier" if re.search("barrier|deadlock|mask", str(e)) else "fault"] = None
                        lines.update(dict.fromkeys(re.findall(r"\.cu:(\d+)", str(e))[:1]))
                except RunnerError as e:
                    words[type(e).__name__] = None
                seconds += time.perf_counter() - started
        found[name] = Ours(tuple(words), tuple(lines), seconds)
    device.close()
    return found


def compile_all(cases: Iterable[Case]) -> list[Job]:
    """The cases with their cubins, compiled with line numbers; one that nvcc refuses is left out, and told."""
    device = open_device(WITH_LINES)
    compiler = compiler_for(WITH_LINES, device.info, "nvcc")
    device.close()

    def compiled(case: Case) -> Job | None:
        try:
            return Job(case, compiler.compile(case.source()))
        except CompileError as e:
            say(f"{case.kernel.name}: {e}")
            return None

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return [job for job in pool.map(compiled, cases) if job]


def under(prefix: Callable[[Path], list[str]], jobs: Sequence[Job], base: Path, limit_s: float) -> float:
    """Launch jobs in a process under a tool, and again after a fault; its output goes to BASE.0.txt and so on.

    Returns the seconds of all processes.

    Args:
        prefix: The tool's command line for one output file.
        jobs: What to launch, in this order.
        base: Beginning of the names of all files; BASE.jsonl has a line for each launch.
        limit_s: For each of the processes.
    """
    packed, log = base.with_suffix(".pickle"), base.with_suffix(".jsonl")
    packed.write_bytes(pickle.dumps(list(jobs)))
    log.unlink(missing_ok=True)
    own = environment()
    started = time.perf_counter()
    for attempt in range(RESTARTS):
        out = base.with_suffix(f".{attempt}.txt")
        command = [*prefix(out), sys.executable, str(HERE / "launched.py"), str(packed), str(log)]
        with out.with_suffix(".process").open("w") as printed:
            code = ended(command, own, printed, limit_s)
        if code is None:
            break
        launched = len(log.read_text().splitlines()) if log.exists() else 0
        if launched >= len(jobs) or (code != AGAIN and not launched):
            break
    return time.perf_counter() - started


def ended(command: Sequence[str], own: Mapping[str, str], printed: TextIO, limit_s: float) -> int | None:
    """The exit status of a command; `None` if it took too long. Nothing that it started stays behind."""
    process = subprocess.Popen(command, env=own, stdout=printed, stderr=subprocess.STDOUT, start_new_session=True)
    try:
        return process.wait(limit_s)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        printed.write(f"\nended after {limit_s:g} s\n")
        return None


def sanitizer(tool: str) -> Callable[[Path], list[str]]:
    """compute-sanitizer's command line; an error ends a kernel, not the process."""
    options = f"--tool {tool} --error-exitcode 0 --destroy-on-device-error kernel".split()
    options += "--print-limit 100000 --show-backtrace no".split()
    if tool == "initcheck":
        options += ["--check-api-memory-access", "no"]
    return lambda out: ["compute-sanitizer", *options, "--log-file", str(out)]


def watch(work: Path) -> None:
    """Launch all under each tool; files only."""
    cases = planted_cases()
    jobs = {job.case.kernel.name: job for job in compile_all(case for _, case in cases.values())}
    hanging = [name for name, (planted, _) in cases.items() if may_hang(planted) and name in jobs]
    # Faults that spoil the GPU for the process come last.
    spoils = [name for name, (planted, _) in cases.items() if planted and "MISALIGNED" in planted.lines]
    first = [name for name in jobs if name not in hanging and name not in spoils]
    several = [jobs[name] for name in (*first, *(s for s in spoils if s in jobs))]
    seconds = {"none": under(lambda _: [], several, work / "none", PATIENCE_S)}
    for tool in TOOLS:
        say(f"{tool}: {len(several)} kernels")
        seconds[tool] = under(sanitizer(tool), several, work / tool, PATIENCE_S)

    def alone(name: str) -> None:
        under(sanitizer("synccheck"), [jobs[name]], work / f"synccheck-{name}", HANGING_S)

    with ThreadPoolExecutor(len(hanging) or 1) as pool:
        list(pool.map(alone, hanging))
    (work / "seconds.json").write_text(json.dumps(seconds))


def said_by(
    tool: str, work: Path, kernels: Sequence[str]
) -> tuple[dict[str, list[Record]], dict[str, float], set[str]]:
    """What a tool said of each kernel, the seconds of its launch, and which kernels were launched at all."""
    said: dict[str, list[Record]] = {}
    seconds: dict[str, float] = {}
    launched: set[str] = set()
    for log in sorted(work.glob(f"{tool}*.jsonl")):
        for line in log.read_text().splitlines():
            record = json.loads(line)
            launched.add(record["kernel"])
            seconds[record["kernel"]] = record["seconds"]
    for text in sorted(work.glob(f"{tool}*.[0-9].txt")):
        launched |= {name for name in kernels if text.name.startswith(f"{tool}-{name}.")}
        for record in parse_sanitizer_log(text.read_text(errors="replace"), kernels):
            said.setdefault(record.kernel, []).append(record)
    return said, seconds, launched


def sanitizer_table(work: Path) -> list[str]:
    """What the checked device and each tool say of each kernel, and the time of both."""
    cases = planted_cases()
    mine = ours({name: case for name, (_, case) in cases.items()})
    tools = {tool: said_by(tool, work, list(cases)) for tool in TOOLS}
    rows = [("kernel", "planted", "checked device", *TOOLS)]
    found = dict.fromkeys(("checked", *TOOLS), 0)
    false = dict.fromkeys(("checked", *TOOLS), 0)
    bugs = correct = 0
    for name, (planted, _) in cases.items():
        is_bug = planted is None or planted.verdict != "ok"
        bugs, correct = bugs + is_bug, correct + (not is_bug)
        cells = [_cell(mine[name].words, mine[name].lines)]
        for tool, (said, _, launched) in tools.items():
            records = said.get(name, [])
            lines = dict.fromkeys("/".join(map(str, r.lines)) for r in records if r.lines)
            cells.append(_cell(("yes",), tuple(lines)) if records else "-" if name in launched else "not launched")
            (found if is_bug else false)[tool] += bool(records)
        (found if is_bug else false)["checked"] += bool(mine[name].words)
        if is_bug or any(cell not in ("-", "not launched") for cell in cells):
            marks = (
                "counterexample" if planted is None else " ".join(sorted({m.split()[0].lower() for m in planted.lines}))
            )
            rows.append((name, marks if is_bug else "(correct)", *cells))
    shares = [
        ("", "checked", *TOOLS),
        (f"of {bugs} broken kernels found", *(str(found[t]) for t in ("checked", *TOOLS))),
        (f"of {correct} correct kernels accused", *(str(false[t]) for t in ("checked", *TOOLS))),
    ]
    return [*columns(shares), "", *_times(work, mine, tools), "", *columns(rows)]


def _cell(words: tuple[str, ...], lines: tuple[str, ...]) -> str:
    shown = " ".join(lines[:3]) + (" ..." if len(lines) > 3 else "")
    return f"{','.join(words)} {shown}".strip() or "-"


def _times(work: Path, mine: Mapping[str, Ours], tools: Mapping[str, Any]) -> Iterator[str]:
    """The seconds of each tool's process, and the median of a launch."""
    whole = json.loads((work / "seconds.json").read_text())
    plain = said_by("none", work, [])[1]
    rows = [("", "all launches, s", "median launch, ms")]
    checked = [one.seconds for one in mine.values()]
    rows.append(("checked device, three orders", f"{sum(checked):.1f}", f"{statistics.median(checked) * 1e3:.1f}"))
    for tool, taken in (("none", plain), *((tool, tools[tool][1]) for tool in TOOLS)):
        launches = list(taken.values())
        median = f"{statistics.median(launches) * 1e3:.2f}" if launches else "-"
        rows.append((f"GPU, {'no tool' if tool == 'none' else tool}", f"{whole.get(tool, 0):.1f}", median))
    return columns(rows)


# --- gpu: what a line costs


def count_lines(work: Path) -> None:
    """Count the lines of every kernel that comes with the project under one ncu, and sweep them on the CPU device."""
    cases = [make(kernel, {}, 0) for kernel in shipped.kernels().values()]
    cases = [case for case in cases if not case.excluded and case.kernel.name not in COUNTEREXAMPLES]
    jobs = compile_all(cases)
    report = work / "lines.ncu-rep"
    options = "--section SourceCounters --import-source yes --clock-control none -f --source-folders".split()
    options.append(str(HERE.parent / "kernels"))
    names = sorted(
        {
            f.rpartition(":")[2]
            for job in jobs
            for f in (one.function or job.case.source().plain_function for one in job.case.launches)
        }
    )
    only = ["--kernel-name", f"regex:^({'|'.join(names)})$"]
    say(f"ncu: {len(jobs)} kernels")
    under(lambda _: ["ncu", *options, *only, "-o", str(report.with_suffix(""))], jobs, work / "ncu", PATIENCE_S)
    for view in ("cuda,sass", "sass"):
        command = ["ncu", "--import", str(report), "--page", "source", "--csv", "--print-source", view]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        (work / f"lines-{view.replace(',', '-')}.csv").write_text(done.stdout or done.stderr)
    for job in jobs if shutil.which("nvdisasm") else ():  # in case that ncu does not find the sources
        command = ["nvdisasm", "-g", "-c", str(job.binary.path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        (work / f"{job.case.kernel.name}.nvdisasm").write_text(done.stdout or done.stderr)
    say("the CPU device: lines.csv")
    with tempfile.TemporaryDirectory() as folder:
        chosen = ",".join(case.kernel.name for case in cases)
        command = [sys.executable, "-m", "runner", "-m", f"kernel={chosen}", "device=cpu", "timing=quick", "lines=true"]
        own = environment()
        swept = [*command, f"hydra.sweep.dir={folder}/sweep"]
        done = subprocess.run(swept, env=own, cwd=folder, capture_output=True, text=True, timeout=600, check=False)
        (work / "sweep.txt").write_text(done.stdout + done.stderr)
        lines = Path(folder) / "sweep" / "lines.csv"
        if lines.exists():
            (work / "lines.csv").write_bytes(lines.read_bytes())


def our_lines(path: Path) -> dict[Key, Mapping[str, str]]:
    """The rows of lines.csv that are accesses to global or shared memory."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["memory"] in ("global", "shared")]
    return {(r["kernel"], r["file"], int(r["line"]), r["memory"], r["kind"]): r for r in rows}


def close(a: float, b: float) -> bool:
    """Whether two ratios agree to 1 %."""
    return abs(a - b) <= TOLERANCE * max(abs(a), abs(b))


def compared(key: Key, row: Mapping[str, str] | None, counted: Counted | None) -> tuple[str, ...]:
    """A line of the table: units a request and lanes, ours and ncu's, and the verdict."""
    unit = "sectors" if key[3] == "global" else "wavefronts"
    name = key[0], f"{key[1]}:{key[2]}", f"{key[3]} {key[4]}"
    if row is None:
        if counted is None or not counted.requests:
            return (*name, "-", "-", "", "", "not executed")
        return (*name, "-", f"{counted.units / counted.requests:.2f}", "", "", "only ncu")
    ours_units, ours_lanes = float(row[unit] or 0), float(row["lanes"] or 0)
    if counted is None or not counted.requests:
        return (*name, f"{ours_units:.2f}", "-", f"{ours_lanes:.1f}", "", "only ours")
    theirs, lanes = counted.units / counted.requests, counted.lanes / counted.requests
    verdict = "different"
    if close(ours_units, theirs):
        verdict = "equal"
    elif ours_lanes and lanes and close(ours_units / ours_lanes, theirs / lanes):
        verdict = "equal a lane"  # ncu counts requests of warps of which all lanes are predicated off
    return (*name, f"{ours_units:.2f}", f"{theirs:.2f}", f"{ours_lanes:.1f}", f"{lanes:.1f}", verdict)


def line_table(work: Path) -> list[str]:
    """Each line's units a request beside ncu's."""
    try:
        counted = source_counters((work / "lines-cuda-sass.csv").read_text(errors="replace"))
    except ValueError as e:
        say(f"ncu's source lines: {e}; using nvdisasm's")
        there = {k: v for path in work.glob("*.nvdisasm") for k, v in instruction_lines(path.read_text()).items()}
        counted = sass_counters((work / "lines-sass.csv").read_text(errors="replace"), there)
    mine = our_lines(work / "lines.csv")
    heads = ("kernel", "line", "access", "ours", "ncu", "lanes", "ncu", "")
    rows = [compared(key, mine.get(key), counted.get(key)) for key in sorted({*mine, *counted})]
    verdicts = [row[-1] for row in rows]
    counts = ", ".join(f"{verdicts.count(v)} {v}" for v in dict.fromkeys(sorted(verdicts)))
    about = (
        "Sectors a request of global memory, wavefronts a request of shared memory, averages of all requests of a line."
    )
    return [f"{len(rows)} lines with accesses: {counts}", about, "", *columns([heads, *rows])]


def gpu(work: Path, parts: Sequence[str], *, read: bool) -> list[str]:
    """Launch and count, unless that is done; then the tables."""
    work.mkdir(parents=True, exist_ok=True)
    done: dict[str, Callable[[Path], None]] = {"sanitizers": watch, "lines": count_lines}
    for part in () if read else parts:
        started = time.perf_counter()
        try:
            done[part](work)
        except (OSError, subprocess.SubprocessError) as e:
            say(f"{part}: {type(e).__name__}: {e}")
        say(f"{part}: {time.perf_counter() - started:.0f} s")
    text = ["python benchmarks/checked.py gpu"]
    tables: dict[str, Callable[[Path], list[str]]] = {"sanitizers": sanitizer_table, "lines": line_table}
    for part in parts:
        try:
            text += ["", f"> {part}", *tables[part](work)]
        except (OSError, ValueError, KeyError) as e:
            text += ["", f"> {part}", f"No table: {type(e).__name__}: {e}"]
    return text


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("cost", "gpu", "peak"), metavar="cost|gpu")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--work", type=Path, default=Path("outputs/checked"))
    parser.add_argument("--parts", type=lambda text: text.split(","), default=["sanitizers", "lines"])
    parser.add_argument("--read", action="store_true", help="only read what is in --work")
    parser.add_argument("--kind", help=argparse.SUPPRESS)
    parser.add_argument("--mib", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.what == "peak":
        peak(options.kind, options.mib)
        return
    try:
        lines = cost() if options.what == "cost" else gpu(options.work, options.parts, read=options.read)
    except RunnerError as e:
        sys.exit(str(e))
    text = "\n".join(lines) + "\n"
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(text, encoding="utf-8")
    print(text, end="")


if __name__ == "__main__":
    main()
