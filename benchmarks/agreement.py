"""Compares our cold median of six kernels with nvbench and Nsight Compute, in one run.

    python benchmarks/agreement.py [--out TABLE.csv]

All launch the same binaries with the same inputs. Ours is the `default` timing protocol, round after round. nvbench's
is its cold GPU time (its Python package cuda-bench, on our stream): launches behind a blocking kernel, L2 flushed by
a write, as ours is. Nsight Compute's is gpu__time_duration with `--clock-control none`: the kernel alone, without the
events around it. It measures once the launches of our protocol, flush included (`--cache-control none`), and once
with its own flush, which leaves nothing in L2 to be written back.

Needs a GPU, PyCUDA, nvcc, ncu and cuda-bench.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from our_kernels import case_of
from sweeps import write_table

from runner.device.config import DeviceConfig
from runner.device.kinds import compiler_for, open_device
from runner.jobs.settings import TimingConfig
from runner.kernel.case import Case
from runner.stages.profile import counters
from runner.stages.profile.watched import OUTPUT
from runner.statistics import Summary, summarize, unthrottled
from runner.sweep.run_case import run_case
from runner.sweep.trial import contents, poison, upload
from runner.sweep.worker import Task

GPU = DeviceConfig(kind="cuda")
LAUNCHES = 7  # of each case under ncu; the first one is left out
METRIC = "gpu__time_duration.sum"

CASES: tuple[tuple[str, dict[str, str]], ...] = (
    ("reduceShflUnroll", {"size": "256Ki", "block": "128", "unroll": "4"}),
    ("stencil1dConstant", {"size": "1Mi"}),
    ("reduceShflUnroll", {"size": "16Mi", "block": "256", "unroll": "8"}),
    ("transposeSmemPad", {"size": "8192x4096", "block": "32x8"}),
    ("reduceSmem", {"size": "64Mi", "block": "256"}),
    ("reduceShfl", {"size": "192Mi", "block": "256"}),
)


@dataclass(frozen=True)
class Compared:
    """One kernel, three ways.

    Attributes:
        label: Of the case.
        ours_us: Our median.
        half_us: Half of its 95 % interval.
        nvbench_us: Median of nvbench's cold samples.
        ncu_us: Median of the GPU's own times, behind our flush.
        ncu_clean_us: The same, behind Nsight Compute's own flush.
    """

    label: str
    ours_us: float
    half_us: float
    nvbench_us: float
    ncu_us: float
    ncu_clean_us: float


def cases() -> list[Case]:
    """What is compared."""
    return [case_of(name, requested) for name, requested in CASES]


def ours(device: Any, compiler: Any, case: Case) -> Summary:
    """Checked and measured as in a sweep, all rounds."""
    protocol = TimingConfig().protocol("cuda")
    samples = []
    for _ in range(protocol.rounds):
        task = Task(case, case.source(), compiler.compile(case.source()), protocol, 60.0)
        outcome = run_case(device, task, lambda _: None)
        if outcome.measured is None:
            raise SystemExit(f"{case.label}: {outcome.status}: {outcome.reason}")
        samples.append(unthrottled(outcome.measured.samples)["us"])
    return summarize(np.concatenate(samples))


class _Stream:
    """Our stream, as nvbench takes it."""

    def __init__(self, handle: int) -> None:
        self._handle = handle

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self._handle


def nvbench(device: Any, compiler: Any, chosen: list[Case]) -> list[float]:
    """Nvbench's cold GPU times, microseconds, in the order of the cases."""
    from cuda import bench  # noqa: PLC0415  (only here)
    from cuda.bench.results import BenchmarkResult  # noqa: PLC0415

    with ExitStack() as stack, tempfile.TemporaryDirectory() as folder:
        for number, case in enumerate(chosen):
            program = device.load(case.source(), compiler.compile(case.source()))
            launch, arrays = upload(device, program, case, contents(case), stack)
            poison(case, arrays)
            queue = device.queue_function(launch)

            def benchmark(state: Any, queue: Any = queue) -> None:
                state.set_stream(_Stream(device.stream.handle))
                state.exec(lambda _: queue(), batched=False)

            benchmark.__name__ = f"case{number}"
            bench.register(benchmark)
        out = Path(folder) / "nvbench.json"
        bench.run_all_benchmarks(["nvbench", "--jsonbin", str(out), "--quiet"])
        found = BenchmarkResult.from_json(out)
        return [
            1e6 * float(next(iter(found[f"case{n}"].centers(statistics.median).values()))) for n in range(len(chosen))
        ]


def launch_all() -> None:
    """Launch every case a few times: the process that ncu looks into."""
    from pycuda import driver  # noqa: PLC0415  (only where there is a GPU)

    device = open_device(GPU)
    compiler = compiler_for(GPU, device.info)
    for case in cases():
        with ExitStack() as stack:
            program = device.load(case.source(), compiler.compile(case.source()))
            launch, arrays = upload(device, program, case, contents(case), stack)
            poison(case, arrays)
            driver.start_profiler()
            device.sample([launch] * LAUNCHES, 60.0, lambda _: None, lambda _: None)
            driver.stop_profiler()
    device.close()


def by_ncu(chosen: list[Case], caches: str) -> list[float]:
    """The GPU's own times, microseconds, in the order of the cases; `caches`: whether ncu flushes them, all or none."""
    names = [case.source().plain_function for case in chosen for _ in range(LAUNCHES)]
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "ncu.csv"
        words = [word.replace(OUTPUT, str(log)) for word in counters.command([METRIC], caches)]
        words += ["--kernel-name", f"regex:^({'|'.join(sorted(set(names)))})$", sys.executable, __file__, "--launch"]
        subprocess.run(words, check=True, stdout=sys.stderr)
        counted = counters.read(log.read_text(encoding="utf-8"), [METRIC])
    if [launch.kernel for launch in counted] != names:
        raise SystemExit(f"ncu counted {len(counted)} launches, not {len(names)}")
    times = [launch.values[METRIC] / 1000 for launch in counted]
    return [statistics.median(times[n + 1 : n + LAUNCHES]) for n in range(0, len(times), LAUNCHES)]


def main() -> int:
    """Measure three ways, and show the differences."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="the table to write")
    parser.add_argument("--launch", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.launch:
        launch_all()
        return 0
    chosen = cases()
    device = open_device(GPU)
    compiler = compiler_for(GPU, device.info)
    mine = [ours(device, compiler, case) for case in chosen]
    theirs = nvbench(device, compiler, chosen)
    device.close()
    own, clean = by_ncu(chosen, "none"), by_ncu(chosen, "all")
    rows = [
        Compared(case.label, m.median, (m.ci_high - m.ci_low) / 2, *others)
        for case, m, *others in zip(chosen, mine, theirs, own, clean, strict=True)
    ]
    _show(rows, device.info.name, device.info.details)
    head = ["case", "ours_us", "half_interval_us", "nvbench_us", "ncu_us", "ncu_clean_us"]
    write_table(given.out, head, [[r.label, *(f"{time:.3f}" for time in astuple(r)[1:])] for r in rows])
    return 0


def _show(rows: list[Compared], name: str, details: dict[str, Any]) -> None:
    floor = f"an empty kernel {details['empty_kernel_us']:.2f} us, two events alone {details['event_pair_us']:.2f} us"
    print(f"{name}. The floor of our method: {floor}, tick {details['event_tick_us']:.3f} us\n")
    heads = ("ours, us", "+-", "nvbench", "ours / nvbench", "ncu", "ours / ncu", "ours - ncu", "ncu, clean L2")
    print("".join(f"{head:>15}" for head in heads))
    for r in rows:
        numbers = (f"{r.ours_us:.2f}", f"{r.half_us:.2f}", f"{r.nvbench_us:.2f}", f"{r.ours_us / r.nvbench_us:.4f}")
        counted = (f"{r.ncu_us:.2f}", f"{r.ours_us / r.ncu_us:.4f}", f"{r.ours_us - r.ncu_us:.2f} us")
        print("".join(f"{n:>15}" for n in (*numbers, *counted, f"{r.ncu_clean_us:.2f}")) + f"   {r.label}")


if __name__ == "__main__":
    sys.exit(main())
