"""Interrupts sweeps in every way, resumes them, and counts what was lost: the table of docs/reliability.md.

    python benchmarks/reliability.py [--jobs 2] [--every 1] [--only WORD] [--out docs/reliability.txt]
    python benchmarks/reliability.py --long [--cases 5000] [--kills 6] [--out docs/reliability.txt]

A trial starts a sweep of 12 cases on the CPU device, disturbs it, and resumes it until it is complete. A row is lost if
it was finished before the disturbance and is not in the table in the end, with the time that was measured then. Tables
are equal if they have the same rows apart from times and from the hashes of binaries, which another compilation may
change. The disk that is full and the clock that jumps are the system's calls of C, replaced by LD_PRELOAD
(native/faults.c); read-only places are mounted so. With --long it sweeps many cases twice: undisturbed, and ended by
kill -9 and resumed several times. Each of the two writes its own section of the table. Exit status 1 if a trial fails.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pandas as pd
from sweeps import ROOT

PYTHON = [sys.executable, "-m"]
KERNELS = (
    "--config-dir",
    str(ROOT / "tests" / "kernels"),
    "kernel=saxpy,scaled",
    "device=cpu",
    "timing.cpu_samples=60",
)
QUICK = ("timing=quick", "lines=false", "device.threads=1", "--quiet")
SWEEP = (*KERNELS, "block=64,128,256", "size=64Ki,128Ki")
MEASURED = (
    "binary",
    "_us",
    "_s",
    "_percent",
    "gflops",
    "gbps",
    "samples",
    "checked_launches",
    "size_launches",
    "order_launches",
    "stop_reason",
    "note",
)
PATIENCE_S = 3600
ENDS = {0: "complete", 1: "a sentence, status 1", 2: "a sentence, status 2", 130: "interrupted, status 130"}


@dataclass
class Trial:
    """A place in which a sweep runs, and what became of it."""

    place: Path
    cache: Path  # of compiled kernels
    environment: dict[str, str] = field(default_factory=dict)
    said: str = ""
    ended: str = ""
    lost: int = 0
    complete: bool = False
    equal: bool = False

    @property
    def folder(self) -> Path:
        """The sweep's."""
        return self.place / "outputs" / "sweep"

    def start(self, *words: str, before: Sequence[str] = ()) -> subprocess.Popen[str]:
        """A command in a process group of its own."""
        paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        own = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(paths),
            "XDG_CACHE_HOME": str(self.cache),
            **self.environment,
        }
        with (self.place / "said").open("a", encoding="utf-8") as said:
            command = [*before, *PYTHON, "runner", *words]
            return subprocess.Popen(
                command, cwd=self.place, env=own, stdout=said, stderr=said, text=True, start_new_session=True
            )

    def sweep(self, *words: str, before: Sequence[str] = ()) -> subprocess.Popen[str]:
        """The sweep of a trial."""
        return self.start(*(words or SWEEP), f"hydra.sweep.dir={self.folder}", before=before)

    def finished(self) -> dict[int, float]:
        """The time of each finished row, by its job."""
        found = {}
        for path in self.folder.glob("*/result.json"):
            row = json.loads(path.read_text(encoding="utf-8"))
            if row["status"] == "ok":
                found[int(row["job"])] = float(row["median_us"])
        return found

    def settle(self, process: subprocess.Popen[str], reference: pd.DataFrame, *words: str) -> Trial:
        """Wait for the end, resume until the sweep is complete, and compare."""
        code = process.wait(PATIENCE_S)
        self.ended = ENDS.get(code, f"status {code}") if code >= 0 else f"ended by {signal.Signals(-code).name}"
        self.said = (self.place / "said").read_text(encoding="utf-8", errors="replace")
        if "Traceback" in self.said:
            self.ended = f"TRACEBACK: {self.said.strip().splitlines()[-1]}"
        self.environment = {}
        before = self.finished()
        if (self.folder / "plan.json").exists():
            self.start("resume", str(self.folder)).wait(PATIENCE_S)
        if not (self.folder / "results.csv").exists():  # nothing was planned yet: there is nothing to resume
            shutil.rmtree(self.folder, ignore_errors=True)
            self.sweep(*words).wait(PATIENCE_S)
        rows = table(self.folder)
        # A case whose worker or compiler was killed has a row that says so, which resuming does not replace.
        self.complete = len(rows) == len(reference) and set(rows["status"]) <= {"ok", "crashed", "compile_error"}
        done = unmeasured(rows[rows["status"] == "ok"]) if self.complete else rows
        self.equal = self.complete and done.equals(_of_jobs(unmeasured(reference), done))
        times = measured(rows)
        self.lost = sum(abs(times.get(job, -1.0) - us) > 1e-6 * us for job, us in before.items())
        return self


def table(folder: Path) -> pd.DataFrame:
    """results.csv as text; empty if it is missing."""
    with contextlib.suppress(OSError, ValueError):
        return pd.read_csv(folder / "results.csv", dtype=str, keep_default_na=False)
    return pd.DataFrame()


def measured(rows: pd.DataFrame) -> dict[int, float]:
    """The time of each row that has one, by its job."""
    return {int(j): float(us) for j, us in zip(rows["job"], rows["median_us"], strict=True) if us} if len(rows) else {}


def unmeasured(rows: pd.DataFrame) -> pd.DataFrame:
    """The columns that are the same each time, in the order of the jobs."""
    kept = [name for name in rows.columns if not name.endswith(MEASURED)]
    return rows[kept].sort_values("job", ignore_index=True)


def _of_jobs(rows: pd.DataFrame, others: pd.DataFrame) -> pd.DataFrame:
    """The rows of those jobs that another table has, too."""
    return rows[rows["job"].isin(set(others["job"]))].reset_index(drop=True)


def descendants(process: subprocess.Popen[str], words: str) -> list[int]:
    """The processes of a program's group whose command has these words."""
    found = subprocess.run(["pgrep", "-g", str(process.pid), "-f", words], capture_output=True, text=True, check=False)
    return [int(line) for line in found.stdout.split() if int(line) != process.pid]


@dataclass(frozen=True)
class Known:
    """An undisturbed sweep."""

    rows: pd.DataFrame
    seconds: float
    bytes: int  # that it writes
    cache: Path
    library: Path  # native/faults.c


def kill_program(share: float, t: Trial, known: Known) -> Trial:
    """End the program by kill -9 after a share of its time."""
    process = t.sweep()
    time.sleep(share * known.seconds)
    process.kill()
    return t.settle(process, known.rows)


def kill_worker(share: float, t: Trial, known: Known) -> Trial:
    """End its worker by kill -9: the case becomes a row `crashed`, which resume runs again."""
    process = t.sweep()
    time.sleep(share * known.seconds)
    for each in descendants(process, "run_case")[:1]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(each, signal.SIGKILL)
    return t.settle(process, known.rows)


def kill_compiler(share: float, t: Trial, known: Known) -> Trial:
    """End by kill -9 each compiler that runs at a moment, where nothing is compiled yet."""
    t.cache = t.place / "cold"
    process = t.sweep()
    deadline = time.monotonic() + known.seconds
    while process.poll() is None and not (found := descendants(process, "cc1plus|as |ld ")):
        if time.monotonic() > deadline:
            break
        time.sleep(0.005)
    time.sleep(share * 1.5)
    for each in descendants(process, "cc1plus|g\\+\\+|/as |/ld ") or found:
        with contextlib.suppress(ProcessLookupError):
            os.kill(each, signal.SIGKILL)
    return t.settle(process, known.rows)


def send(signals: str, whom: str, t: Trial, known: Known) -> Trial:
    """Signals to the program alone, or to all its processes as a terminal does."""
    process = t.sweep()
    time.sleep(0.7 * known.seconds)
    for name in signals.split():
        with contextlib.suppress(ProcessLookupError):
            (os.killpg if whom == "group" else os.kill)(process.pid, signal.Signals[f"SIG{name}"])
        time.sleep(0.3)
    return t.settle(process, known.rows)


def fill_disk(share: float, t: Trial, known: Known) -> Trial:
    """A disk that is full after a share of the bytes that a sweep writes; then there is room again."""
    t.environment = shim(t, FAULT_AFTER=str(int(share * known.bytes)))
    return t.settle(t.sweep(), known.rows)


def set_clock(jump: int, after: int, t: Trial, known: Known) -> Trial:
    """A clock that jumps while a sweep runs."""
    t.environment = shim(t, FAULT_CLOCK=str(jump), FAULT_CLOCK_AT=str(after))
    return t.settle(t.sweep(), known.rows)


def delete_cache(share: float, t: Trial, known: Known) -> Trial:
    """The cache of compiled kernels is deleted while a sweep runs."""
    t.cache = t.place / "cache"
    shutil.copytree(known.cache, t.cache)
    process = t.sweep()
    time.sleep(share * known.seconds)
    shutil.rmtree(t.cache, ignore_errors=True)
    return t.settle(process, known.rows)


def read_only(place: str, command: str, t: Trial, known: Known) -> Trial:
    """A place that cannot be written while a command runs."""
    t.cache = t.place / "cache"
    t.cache.mkdir()
    paths = {
        "outputs/": t.place / "outputs",
        "the cache": t.cache,
        "the run folder": t.folder,
        "TMPDIR": t.place / "tmp",
    }
    if place == "the run folder":
        t.sweep().wait(PATIENCE_S)
        shutil.rmtree(t.folder / "1")
    if place == "TMPDIR":
        t.environment = {"TMPDIR": str(paths[place])}
    paths[place].mkdir(exist_ok=True, parents=True)
    mounting = f'mount --bind {paths[place]} {paths[place]} && mount -o remount,bind,ro {paths[place]} && exec "$@"'
    before = ["unshare", "-rm", "sh", "-c", mounting, "sh"]
    process = t.sweep(before=before) if command == "sweep" else t.start(command, str(t.folder), before=before)
    return t.settle(process, known.rows)


def long_sweep(cases: int, kills: int, base: Path) -> tuple[Trial, list[str]]:
    """A sweep of many cases, killed and resumed several times; lines that compare it with an undisturbed one."""
    words = (*KERNELS[:2], "kernel=saxpy", "block=64", f"size=range(1,{cases + 1})", "device=cpu", *QUICK)
    whole, t = (Trial(base / name, base / "cache") for name in ("whole", "killed"))
    for each in (whole, t):
        each.place.mkdir()
    alone = Watched(whole.sweep(*words))
    if alone.until_end():
        raise SystemExit((whole.place / "said").read_text(encoding="utf-8"))
    kept: dict[int, float] = {}
    parts = [Watched(t.sweep(*words))]
    for n in range(1, kills + 1):
        while parts[-1].runs() and len(list(t.folder.glob("*/result.json"))) < n * cases / (kills + 1):
            time.sleep(0.5)
        parts[-1].process.kill()
        parts[-1].until_end()
        kept = {**t.finished(), **kept}
        print(f"killed with {len(kept):,} rows", flush=True)
        parts.append(Watched(t.start("resume", str(t.folder))))
    parts[-1].until_end()
    t.settle(parts[-1].process, table(whole.folder))
    times = measured(table(t.folder))
    t.lost += sum(abs(times.get(job, -1.0) - us) > 1e-6 * us for job, us in kept.items())
    t.ended = ", ".join([f"ended by SIGKILL ({kills})", t.ended])
    seconds, peak = sum(p.seconds for p in parts), max(p.peak_mb for p in parts)
    return t, [
        f"undisturbed: {alone.seconds:.0f} s, at most {alone.peak_mb} MB in a process",
        f"killed and resumed: {seconds:.0f} s, at most {peak} MB in a process",
    ]


class Watched:
    """A program whose time and memory are measured."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process, self.started, self.seconds, self.peak_mb = process, time.monotonic(), 0.0, 0

    def runs(self) -> bool:
        """Whether it has not ended; what its processes took so far is noted."""
        for pid in (self.process.pid, *descendants(self.process, ".")):
            with contextlib.suppress(OSError):
                status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
                peak = next((line.split()[1] for line in status.splitlines() if line.startswith("VmHWM")), "0")
                self.peak_mb = max(self.peak_mb, int(peak) * 1024 // 1_000_000)
        return self.process.poll() is None

    def until_end(self) -> int:
        """Wait for its end; gives its status."""
        while self.runs():
            time.sleep(0.5)
        self.seconds = time.monotonic() - self.started
        return self.process.returncode


def shim(t: Trial, **how: str) -> dict[str, str]:
    """The environment of a process whose system fails."""
    count = t.place / "count"
    count.write_bytes(bytes(8))
    return {
        "LD_PRELOAD": str(t.place / "faults.so"),
        "FAULT_BELOW": str(t.place / "outputs"),
        "FAULT_COUNT": str(count),
        **how,
    }


SIGNALS = [
    ("program", "INT"), ("group", "INT"), ("group", "INT INT"), ("program", "INT TERM"), ("program", "TERM"),
    ("group", "TERM"), ("program", "TERM TERM"), ("program", "HUP"), ("group", "HUP"), ("group", "HUP INT"),
    ("program", "QUIT"), ("program", "USR1"), ("group", "USR2"), ("program", "ALRM"), ("program", "PIPE"),
    ("program", "ABRT"), ("program", "SEGV"), ("program", "XCPU"), ("group", "STOP CONT"), ("group", "WINCH CHLD"),
]  # fmt: skip
READ_ONLY = [  # the place, and the command for which it is
    ("outputs/", "sweep"), ("the cache", "sweep"), ("TMPDIR", "sweep"), ("the run folder", "resume"),
    ("the run folder", "report"),
]  # fmt: skip
Run = Callable[[Trial, Known], Trial]


def shares(count: int, first: float = 0.02, last: float = 1.0) -> Iterator[float]:
    """Points from the beginning to the end."""
    return (first + (last - first) * n / max(1, count - 1) for n in range(count))


def trials() -> dict[str, list[Run]]:
    """Everything that is tried, by what it is called."""
    return {
        "kill -9 of the program": [partial(kill_program, s) for s in shares(60)],
        "kill -9 of the worker": [partial(kill_worker, s) for s in shares(25, 0.1)],
        "kill -9 of the compiler": [partial(kill_compiler, s) for s in shares(15, 0.0)],
        **{f"SIG{names.replace(' ', ', SIG')} to the {whom}": [partial(send, names, whom)] for whom, names in SIGNALS},
        "a disk that is full": [partial(fill_disk, s) for s in shares(20, 0.0, 0.98)],
        "a clock that is set back": [partial(set_clock, -j, a) for j in (60, 3600, 86400, 10**9) for a in (0, 2)],
        "a clock that is set forward": [partial(set_clock, j, 2) for j in (3600, 10**9)],
        **{f"{where} read-only for {command}": [partial(read_only, where, command)] for where, command in READ_ONLY},
        "the cache is deleted": [partial(delete_cache, s) for s in shares(10, 0.1, 0.9)],
    }  # fmt: skip


def undisturbed(base: Path) -> Known:
    """The sweep that the others are compared with; the second one, since the first has to compile."""
    library = base / "faults.so"
    source = ROOT / "benchmarks" / "native" / "faults.c"
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    for name in ("first", "second"):
        t = Trial(base / name, base / "cache")
        t.place.mkdir()
        shutil.copy(library, t.place)
        t.environment = shim(t)
        started = time.monotonic()
        if t.sweep().wait(PATIENCE_S):
            raise SystemExit((t.place / "said").read_text(encoding="utf-8"))
    seconds, count = time.monotonic() - started, int.from_bytes((t.place / "count").read_bytes(), "little")
    return Known(table(t.folder), seconds, count, base / "cache", library)


def tried(run: Run, known: Known, base: Path) -> Trial:
    """One trial in a place of its own."""
    place = Path(tempfile.mkdtemp(dir=base))
    (place / "outputs").mkdir()
    shutil.copy(known.library, place / "faults.so")
    try:
        return run(Trial(place, known.cache), known)
    finally:
        shutil.rmtree(place, ignore_errors=True)


HEAD = f"{'what was done':42} {'times':>5} {'rows lost':>9} {'completed':>9} {'equal':>5}  how the sweep itself ended"
LONG = "python benchmarks/reliability.py --long"  # with which its section begins


def line(what: str, done: Sequence[Trial]) -> tuple[str, bool]:
    """A line of the table, and whether everything in it is right."""
    ends = Counter(t.ended for t in done)
    came = ", ".join(f"{end}{f' ({n})' if len(ends) > 1 else ''}" for end, n in ends.most_common())
    lost, complete, equal = sum(t.lost for t in done), sum(t.complete for t in done), sum(t.equal for t in done)
    right = not lost and complete == equal == len(done) and "TRACEBACK" not in came
    return f"{what:42} {len(done):5} {lost:9} {complete:9} {equal:5}  {came}", right


def write(out: Path | None, lines: Sequence[str], *, long: bool) -> None:
    """Replace one of the two sections of the table."""
    if out is None:
        return
    before = out.read_text(encoding="utf-8") if out.exists() else ""
    short, _, rest = before.partition(LONG)
    own = "\n".join([" ".join(["python benchmarks/reliability.py", *sys.argv[1:]]), *lines, ""])
    sections = [short.strip() + "\n", own] if long else [own, *([f"{LONG}{rest}"] if rest else [])]
    out.write_text("\n".join(sections), encoding="utf-8")


def main() -> None:
    """Try everything, print the table, and write it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--long", action="store_true", help="only the sweep of many cases")
    parser.add_argument("--cases", type=int, default=5000, help="of the long sweep")
    parser.add_argument("--kills", type=int, default=6, help="of the long sweep")
    parser.add_argument("--jobs", type=int, default=2, help="trials at a time")
    parser.add_argument("--only", default="", metavar="WORD", help="only trials whose name has this word")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only every Nth moment")
    parser.add_argument("--out", type=Path, help="the table to write")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        raise SystemExit(int(not (_long if given.long else _short)(given, Path(name))))


def _long(given: argparse.Namespace, base: Path) -> bool:
    t, further = long_sweep(given.cases, given.kills, base)
    said, right = line(f"{given.cases:,} cases, killed {given.kills} times", [t])
    print("\n".join([HEAD, said, *further]))
    write(given.out, [HEAD, said, *further], long=True)
    return right


def _short(given: argparse.Namespace, base: Path) -> bool:
    lines, right = [HEAD], True
    with ThreadPoolExecutor(given.jobs) as pool:
        known = undisturbed(base)
        chosen = {what: runs for what, runs in trials().items() if given.only in what}
        futures = {
            what: [pool.submit(tried, run, known, base) for run in runs[:: given.every]]
            for what, runs in chosen.items()
        }
        print(HEAD, flush=True)
        for what, waiting in futures.items():
            said, fine = line(what, [future.result() for future in waiting])
            lines, right = [*lines, said], right and fine
            print(said, flush=True)
            write(given.out, lines, long=False)  # after each line: an hour is long
    return right


if __name__ == "__main__":
    main()
