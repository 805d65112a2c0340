"""Plants defects in ten float kernels and counts those that the check finds; correct variants must all pass.

    python benchmarks/planted_defects.py [--device cpu] [--large] [--out docs/trust_defects.txt]

The kernels are in benchmarks/planted. Each defect is launched with 2^10, 2^16 and 2^20 elements (`--large`: 2^24 as
well), in float32 and float64. Each correct variant computes in another order, contracts or not, corrects its sums
(Kahan), adds in double precision, or is as inexact as CUDA's functions may be. Exit status 1 if a defect is missed or
a correct variant refused.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
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
LARGE = 2**24
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
    Planted("plantedSum", SUMS, 6),
    Planted("plantedDot", SUMS, 6),
    Planted("plantedNorm", {k: SUMS[k] for k in (2, 3, 5)}, 6),
    Planted("plantedSaxpy", {2: SUMS[2], 3: SUMS[3], 6: "takes the neighbour's x"}, 4),
    Planted("plantedRelu", {6: "leaks below zero", 7: "one wrong lane", 8: "off by one in the tail"}, 4),
    Planted("plantedStencil", {6: "wrong halo", 7: "no halo between blocks", 8: "a constant off by 1e-5"}, 4),
    Planted("plantedTranspose", {6: "rounds towards zero", 7: "exchanges two lanes", 8: "a row as it was"}, 3),
    Planted("plantedPrefix", {2: SUMS[2], 6: "loses a carry", 7: "exclusive sums"}, 4),
    Planted("plantedSoftmax", {6: "skips a column", 7: "a coarse exp", 8: "one wrong sum"}, 6),
    Planted("plantedMax", {1: SUMS[1], 2: SUMS[2], 6: "no ring"}, 3),
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


def main() -> None:
    """Run all trials and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--large", action="store_true", help="2^24 elements as well")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    config = DeviceConfig(kind=options.device)
    device = open_device(config)
    compiler = compiler_for(config, device.info)
    planned = list(trials(KERNELS, (*SIZES, LARGE) if options.large else SIZES))
    with ThreadPoolExecutor() as pool:
        list(pool.map(compiler.compile, {t.case.source(): None for t in planned}))
    lines, wrong = [], []
    for trial in planned:
        outcome = run(trial, device, compiler)
        further = "further inputs" if "wrong for exact ones" in outcome.reason else "own inputs"
        verdict = f"found by its {further}" if outcome.status == "mismatch" else outcome.status
        lines.append(f"{trial.label:60} {verdict}")
        wrong += [f"{trial.label}: {outcome.status} {outcome.reason}"] if failed(trial, outcome) else []
        if sys.stderr.isatty():
            print(f"\r{len(lines)} of {len(planned)}", end="", file=sys.stderr)
    device.close()
    defects = [t for t in planned if t.defect]
    missed = sum(bool(t.defect) and any(w.startswith(f"{t.label}:") for w in wrong) for t in planned)
    planted, variants = sum(len(k.defects) for k in KERNELS), sum(k.variants for k in KERNELS)
    found, refused = len(defects) - missed, len(wrong) - missed
    head = [
        f"python benchmarks/planted_defects.py --device {options.device}{' --large' if options.large else ''}",
        f"{len(defects)} launches of {planted} defects in {len(KERNELS)} kernels: {found} found, {missed} missed.",
        f"{len(planned) - len(defects)} launches of {variants} correct variants: {refused} refused.",
        "",
    ]
    text = "\n".join([*head, *lines, *(["", "Wrong verdicts:", *wrong] if wrong else [])]) + "\n"
    if options.out:
        options.out.write_text(text, encoding="utf-8")
    print("\n".join([*head, *wrong]))
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
