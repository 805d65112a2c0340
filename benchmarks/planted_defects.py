"""Plants defects in kernels of all types and counts those that the check finds; correct variants must all be `ok`.

    python benchmarks/planted_defects.py [--device cpu] [--sizes 2**24] [--dtypes float16] [--jobs 8]
        [--only plantedSum,plantedMax] [--out docs/trust_defects.txt]

The kernels are in benchmarks/planted/kernel; benchmarks/planted/catalogue.py says which defects are planted in which
types, sizes and fills. A correct variant computes in another order, contracts or not, corrects its sums (Kahan), adds
in a wider type, rounds products to a half type, breaks ties differently, or is as inexact as CUDA's functions may be.
A defect is found if its case is not `ok`. Exit status 1 if a defect is missed or a correct variant refused.
`--sizes` replaces the sizes of the kernels that are tried in large arrays. `--jobs` processes take a part of the
catalogue each.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import repeat
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import yaml
from planted.catalogue import DTYPES, HALVES, KERNELS, LARGE, Fill, Planted

from runner.device import Compiler, Device
from runner.device.config import DeviceConfig
from runner.device.kinds import compiler_for, open_device
from runner.errors import CompileError
from runner.jobs.settings import Protocol, TimingConfig
from runner.kernel import from_yaml
from runner.kernel.case import Case
from runner.kernel.declaration import Kernel
from runner.kernel.resolve import make
from runner.sweep.run_case import run_case
from runner.sweep.worker import Outcome, Task

FOLDER = Path(__file__).resolve().parent / "planted" / "kernel"
FOUND = ("mismatch", "hazard", "unproven")  # statuses of a defect that the check found


@dataclass(frozen=True)
class Trial:
    """One case, and what should come out."""

    case: Case
    family: str
    fill: Fill
    defect: str  # empty: the kernel is correct

    @property
    def label(self) -> str:
        """What was tried, for the table."""
        v = self.case.variables
        what = self.defect or f"variant {v['variant']}"
        name = self.case.kernel.name.removeprefix("planted")
        return f"{name:10} {v['dtype']:8} {v['size']:>9}  {worded(self.fill):15}  {what}"


def worded(fill: Fill) -> str:
    """A fill as one word, such as `range -1 1`."""
    return fill if isinstance(fill, str) else " ".join(f"{kind} {a:g} {b:g}" for kind, (a, b) in fill.items())


def read(name: str, fill: Fill = "random", compute: str = "") -> Kernel:
    """One of the planted kernels, with another fill in place of `random`; `compute` is the YAML's key."""
    path = FOLDER / f"{name}.yaml"
    raw = yaml.safe_load(path.read_text(encoding="utf-8"))
    for argument in raw["arguments"]:
        if argument.get("fill") == "random":
            argument["fill"] = fill
    return from_yaml.read(name, {**raw, "compute": compute} if compute else raw, path)


def made(kernel: Kernel, values: Mapping[str, Any]) -> Case:
    """The case of these values. The check must not try others of `variant` and `defect`: they make other kernels."""
    fixed = {"variant": 0, "defect": 0, **values}
    parameters = [
        dataclasses.replace(p, allowed=(fixed[p.name],)) if p.name in ("variant", "defect") else p
        for p in kernel.parameters
    ]
    return make(dataclasses.replace(kernel, parameters=tuple(parameters)), fixed, 0)


def trials(kernels: Sequence[Planted], sizes: Sequence[int] = LARGE, dtypes: Sequence[str] = DTYPES) -> Iterator[Trial]:
    """All defects, then all correct variants, of each kernel, size, type and fill; `sizes` in place of `LARGE`."""
    for planted in kernels:
        for size in sizes if planted.sizes == LARGE else planted.sizes:
            for dtype in (d for d in planted.dtypes if d in dtypes):
                for fill in planted.fills:
                    yield from _planned(planted, size, dtype, fill)


def _planned(planted: Planted, size: int, dtype: str, fill: Fill) -> Iterator[Trial]:
    kernel, first = read(planted.name, fill), fill == planted.fills[0]
    common = {"size": size, "dtype": dtype}
    for number, words in planted.defects.items():
        if first or number in planted.everywhere:
            yield Trial(made(kernel, {**common, "defect": number}), planted.family, fill, words)
    halves = planted.halves if dtype in HALVES else ()
    for variant in (*range(planted.variants), *halves) if first else (0,):
        if variant not in planted.fast:
            yield Trial(made(kernel, {**common, "variant": variant}), planted.family, fill, "")
        elif dtype != "float64":  # there are no fast functions of doubles
            fast = dataclasses.replace(kernel, fast_math=True)
            yield Trial(made(fast, {**common, "variant": variant}), planted.family, fill, "")
    for variant, others in planted.computes.items() if first and dtype in HALVES else ():
        computing = read(planted.name, fill, compute="dtype")
        yield Trial(made(computing, {**common, **others, "variant": variant}), planted.family, fill, "")


def run(trial: Trial, device: Device, compiler: Compiler) -> Outcome:
    """Compile, launch and check one case; it is timed once."""
    timing = dataclasses.asdict(TimingConfig(cpu_samples=3, warmup_ms=0.0).protocol("cpu"))
    once = Protocol(**{**timing, "min_samples": 1, "max_samples": 1})
    source = trial.case.source()
    try:
        binary = compiler.compile(source)
    except CompileError as e:
        return Outcome(e.status, str(e))
    return run_case(device, Task(trial.case, source, binary, once, 60.0), lambda _: None)


def failed(trial: Trial, outcome: Outcome) -> bool:
    """Whether the verdict is wrong."""
    return outcome.status not in (FOUND if trial.defect else ("ok",))


def size(text: str) -> int:
    """A number of elements, such as 2**24."""
    base, _, exponent = text.partition("**")
    return int(int(base) ** int(exponent or 1))


def chosen(text: str) -> tuple[Planted, ...]:
    """The kernels of these names, separated by commas."""
    known = list(dict.fromkeys(k.name for k in KERNELS))
    if unknown := [n for n in text.split(",") if n not in known]:
        raise argparse.ArgumentTypeError(f"unknown: {', '.join(unknown)}; available: {', '.join(known)}")
    return tuple(k for k in KERNELS if k.name in text.split(","))


def verdicts(kind: str, planted: Planted, sizes: Sequence[int], dtypes: Sequence[str]) -> list[tuple[Trial, Outcome]]:
    """What came of all trials of a kernel."""
    config = DeviceConfig(kind=kind)
    device = open_device(config)
    compiler = compiler_for(config, device.info)
    planned = list(trials([planted], sizes, dtypes))
    with ThreadPoolExecutor() as pool:  # ahead, for `run`, which tells the errors
        wait([pool.submit(compiler.compile, source) for source in {t.case.source() for t in planned}])
    done = [(trial, run(trial, device, compiler)) for trial in planned]
    device.close()
    return done


def summary(done: Sequence[tuple[Trial, Outcome]]) -> list[str]:
    """How many defects were planted and found, and how many correct variants ran and were refused, by family and type.

    `unproven` are those among the found whose check has no power.
    """
    columns = ("planted", "found", "unproven", "missed", "right", "refused")
    counts: dict[tuple[str, str], Counter[str]] = {}
    for trial, outcome in done:
        count = counts.setdefault((trial.family, str(trial.case.variables["dtype"])), Counter())
        wrong = failed(trial, outcome)
        if trial.defect:
            count.update(["planted", "missed" if wrong else "found"])
            count.update(["unproven"] if outcome.status == "unproven" else [])
        else:
            count.update(["right", "refused"] if wrong else ["right"])
    order = {k.family: i for i, k in enumerate(KERNELS)}
    keys = sorted(counts, key=lambda key: (order[key[0]], DTYPES.index(key[1])))
    lines = [f"{f:12} {d:9}" + "".join(f"{counts[f, d][c]:9}" for c in columns) for f, d in keys]
    total: Counter[str] = sum(counts.values(), Counter())
    last = f"{'all':12} {'':9}" + "".join(f"{total[c]:9}" for c in columns)
    return [f"{'family':12} {'type':9}" + "".join(f"{c:>9}" for c in columns), *lines, last]


def head(done: Sequence[tuple[Trial, Outcome]]) -> list[str]:
    """The command, and how many launches of which kind were judged how."""
    names = {t.case.kernel.name for t, _ in done}
    planted, right = [(t, o) for t, o in done if t.defect], [(t, o) for t, o in done if not t.defect]
    missed, refused = (sum(failed(*p) for p in part) for part in (planted, right))
    unproven = sum(o.status == "unproven" for _, o in planted)
    different = len({(t.case.kernel.name, t.defect) for t, _ in planted})
    variants = len({(t.case.kernel.name, t.case.variables["variant"]) for t, _ in right})
    by_status = f"{len(planted) - missed} found ({unproven} of them unproven), {missed} missed"
    return [
        f"python {' '.join(sys.argv).partition(' --out')[0]}",
        f"{len(planted)} launches of {different} defects in {len(names)} kernels: {by_status}.",
        f"{len(right)} launches of {variants} correct variants: {refused} refused.",
        "",
    ]


def main() -> None:
    """Run all trials and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=("cpu", "checked", "cuda"), default="cpu")
    parser.add_argument("--sizes", type=size, nargs="+", default=LARGE)
    parser.add_argument("--dtypes", choices=DTYPES, nargs="+", default=DTYPES)
    parser.add_argument("--only", type=chosen, default=KERNELS, metavar="NAME,...", help="these kernels only")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    done: list[tuple[Trial, Outcome]] = []
    with ProcessPoolExecutor(options.jobs, get_context("spawn")) as pool:
        common = (repeat(tuple(options.sizes)), repeat(options.dtypes))
        parts = pool.map(verdicts, repeat(options.device), options.only, *common)
        for planted, part in zip(options.only, parts, strict=True):
            done += part
            print(f"{planted.name}: {len(part)} launches, {sum(failed(*p) for p in part)} wrong", file=sys.stderr)
    errors = [f"{t.label}: {o.status} {o.reason}" for t, o in done if failed(t, o)]
    listed = ["", "Wrong verdicts:", *errors] if errors else []
    table = "\n".join([*head(done), *summary(done), *listed]) + "\n"
    if options.out:
        options.out.write_text(table, encoding="utf-8")
    print(table, end="")
    sys.exit(bool(errors))


if __name__ == "__main__":
    main()
