"""Plants defects in ten float kernels and counts those that the check finds; correct variants must all pass.

    python benchmarks/planted_defects.py [--device cpu] [--sizes 2**24] [--jobs 8]
        [--only plantedSum,plantedMax] [--out docs/trust_defects.txt]

The kernels are in benchmarks/planted. Each defect is launched with 2^10, 2^16 and 2^20 elements (or `--sizes`), in
float32 and float64 (or `--dtypes`). Each correct variant computes in another order, contracts or not, corrects its
sums (Kahan), adds in double precision, or is as inexact as CUDA's functions may be. Exit status 1 if a defect is missed
or a correct variant refused. `--jobs` processes take a kernel each.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import repeat
from multiprocessing import get_context
from pathlib import Path

import yaml

from runner.device import Compiler, Device
from runner.device.kinds import compiler_for, open_device
from runner.kernel import from_yaml
from runner.kernel.case import Case
from runner.kernel.declaration import Kernel
from runner.kernel.resolve import make
from runner.settings import DeviceConfig, Protocol, TimingConfig
from runner.sweep.run_case import run_case
from runner.sweep.worker import Outcome, Task

FOLDER = Path(__file__).resolve().parent / "planted" / "kernel"
SIZES = (2**10, 2**16, 2**20)
DTYPES = ("float32", "float64")
SUMS = {1: "skips the first", 2: "skips the last", 3: "skips every 1000th", 4: "takes one twice", 5: "loses a lane"}
FAST = 5  # the variant of softmax that needs `fast_math: true`


@dataclass(frozen=True)
class Planted:
    """A kernel, its defects by number, and how many correct variants it has."""

    name: str
    defects: dict[int, str]
    variants: int


KERNELS = (
    Planted("plantedSum", SUMS, 13),
    Planted("plantedDot", SUMS, 15),
    Planted("plantedNorm", {k: SUMS[k] for k in (2, 3, 5)}, 14),
    Planted("plantedSaxpy", {2: SUMS[2], 3: SUMS[3], 6: "takes the neighbour's x"}, 8),
    Planted("plantedRelu", {6: "leaks below zero", 7: "one wrong lane", 8: "off by one in the tail"}, 8),
    Planted("plantedStencil", {6: "wrong halo", 7: "no halo between blocks", 8: "a constant off by 1e-5"}, 10),
    Planted("plantedTranspose", {6: "rounds towards zero", 7: "exchanges two lanes", 8: "a row as it was"}, 6),
    Planted("plantedPrefix", {2: SUMS[2], 6: "loses a carry", 7: "exclusive sums"}, 8),
    Planted("plantedSoftmax", {6: "skips a column", 7: "a coarse exp", 8: "one wrong sum"}, 10),
    Planted("plantedMax", {1: SUMS[1], 2: SUMS[2], 6: "no ring"}, 8),
)


@dataclass(frozen=True)
class Trial:
    """One case, and what should come out."""

    case: Case
    defect: str  # empty: the kernel is correct

    @property
    def label(self) -> str:
        """What was tried, for the table."""
        v = self.case.variables
        what = self.defect or f"variant {v['variant']}"
        return f"{self.case.kernel.name.removeprefix('planted'):10} {v['dtype']:8} {v['size']:>9}  {what}"


def read(name: str) -> Kernel:
    """One of the planted kernels."""
    path = FOLDER / f"{name}.yaml"
    return from_yaml.read(name, yaml.safe_load(path.read_text(encoding="utf-8")), path)


def trials(kernels: Sequence[Planted], sizes: Sequence[int], dtypes: Sequence[str] = DTYPES) -> Iterator[Trial]:
    """All defects, then all correct variants."""
    for planted in kernels:
        kernel = read(planted.name)
        fast = dataclasses.replace(kernel, fast_math=True)
        for size in sizes:
            for dtype in dtypes:
                common = {"size": size, "dtype": dtype}
                for number, words in planted.defects.items():
                    yield Trial(make(kernel, {**common, "defect": number}, 0), words)
                for variant in range(planted.variants):
                    inexact = kernel.name == "plantedSoftmax" and variant == FAST
                    if not (inexact and dtype == "float64"):  # there are no fast functions of doubles
                        yield Trial(make(fast if inexact else kernel, {**common, "variant": variant}, 0), "")


def run(trial: Trial, device: Device, compiler: Compiler) -> Outcome:
    """Compile, launch and check one case; it is timed once."""
    timing = dataclasses.asdict(TimingConfig(cpu_samples=3, warmup_ms=0.0).protocol("cpu"))
    once = Protocol(**{**timing, "min_samples": 1, "max_samples": 1})
    source = trial.case.source()
    return run_case(device, Task(trial.case, source, compiler.compile(source), once, 60.0), lambda _: None)


def failed(trial: Trial, outcome: Outcome) -> bool:
    """Whether the verdict is wrong."""
    return outcome.status != ("mismatch" if trial.defect else "ok")


def size(text: str) -> int:
    """A number of elements, such as 2**24."""
    base, _, exponent = text.partition("**")
    return int(base) ** int(exponent or 1)


def chosen(text: str) -> tuple[Planted, ...]:
    """The kernels of these names, separated by commas."""
    known = {k.name: k for k in KERNELS}
    if unknown := [n for n in text.split(",") if n not in known]:
        raise argparse.ArgumentTypeError(f"unknown: {', '.join(unknown)}; available: {', '.join(known)}")
    return tuple(known[n] for n in text.split(","))


def verdicts(kind: str, planted: Planted, sizes: Sequence[int], dtypes: Sequence[str]) -> list[tuple[Trial, Outcome]]:
    """What came of all trials of a kernel."""
    config = DeviceConfig(kind=kind)
    device = open_device(config)
    compiler = compiler_for(config, device.info)
    planned = list(trials([planted], sizes, dtypes))
    with ThreadPoolExecutor() as pool:
        list(pool.map(compiler.compile, {t.case.source(): None for t in planned}))
    done = [(trial, run(trial, device, compiler)) for trial in planned]
    device.close()
    return done


def told(trial: Trial, outcome: Outcome) -> str:
    """A line of the table."""
    further = "further inputs" if "wrong for exact ones" in outcome.reason else "own inputs"
    verdict = f"found by its {further}" if outcome.status == "mismatch" else outcome.status
    return f"{trial.label:60} {verdict}"


def main() -> None:
    """Run all trials and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--sizes", type=size, nargs="+", default=SIZES)
    parser.add_argument("--dtypes", choices=DTYPES, nargs="+", default=DTYPES)
    parser.add_argument("--only", type=chosen, default=KERNELS, metavar="NAME,...", help="these kernels only")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    done: list[tuple[Trial, Outcome]] = []
    with ProcessPoolExecutor(options.jobs, get_context("spawn")) as pool:
        common = (repeat(options.sizes), repeat(options.dtypes))
        parts = pool.map(verdicts, repeat(options.device), options.only, *common)
        for planted, part in zip(options.only, parts, strict=True):
            done += part
            print(f"{planted.name}: {len(part)} launches, {sum(failed(*p) for p in part)} wrong", file=sys.stderr)
    wrong = [(t, o) for t, o in done if failed(t, o)]
    missed, defects = sum(bool(t.defect) for t, _ in wrong), sum(bool(t.defect) for t, _ in done)
    different, variants = sum(len(k.defects) for k in options.only), sum(k.variants for k in options.only)
    found = f"{defects - missed} found, {missed} missed"
    head = [
        f"python {' '.join(sys.argv).partition(' --out')[0]}",
        f"{defects} launches of {different} defects in {len(options.only)} kernels: {found}.",
        f"{len(done) - defects} launches of {variants} correct variants: {len(wrong) - missed} refused.",
        "",
    ]
    errors = [f"{t.label}: {o.status} {o.reason}" for t, o in wrong]
    text = (
        "\n".join([*head, *(told(t, o) for t, o in done), *(["", "Wrong verdicts:", *errors] if errors else [])]) + "\n"
    )
    if options.out:
        options.out.write_text(text, encoding="utf-8")
    print("\n".join([*head, *errors]))
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
