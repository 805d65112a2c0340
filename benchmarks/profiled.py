"""What `profile` counts beside an earlier table and beside the addresses, and what it adds to a sweep.

python benchmarks/profiled.py --out docs/h200/profile.txt  # needs a GPU, ncu and compute-sanitizer; two minutes
python benchmarks/profiled.py --page outputs/X             # only the counters of a run's fastest cases, as a table
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from sweeps import ROOT

from runner.display.text import absent, described, size_of
from runner.kernel.lanes import WARP
from runner.record.run import read
from runner.stages.profile import counters

EARLIER = ROOT / "docs" / "h200" / "steps" / "counters.txt"
SECTION = "> Transposes: float32, 4096x4096"
EXECUTED = "smsp__inst_executed.sum"
SWEEP = ["experiment=ladder_transpose", "block=32x8,256", "pad=1", "device=cuda", "timing=quick"]
WAYS = [
    "profile=none",
    f"profile=roofline profile.metrics=[default,{EXECUTED}]",
    "profile=sanitizer profile.cases=fastest",
]
ADDRESSES = {
    "sectors": ("ncu_{}_sectors", "global_{}_sectors"),
    "wavefronts": ("ncu_{}_wavefronts", "shared_{}_wavefronts"),
}
CLOSE = 0.01  # of the value

WAITS = {
    "memory": ("long_scoreboard", "lg_throttle"),
    "shared memory": ("short_scoreboard", "mio_throttle"),
    "barrier": ("barrier",),
    "fence": ("membar",),
    "stores": ("drain",),
    "instructions": ("no_instruction", "branch_resolving", "imc_miss"),
    "arithmetic": ("math_pipe_throttle", "wait"),
}
"""What a warp waits for, by Nsight Compute's stall reasons."""


def fastest(folder: Path) -> list[dict[str, Any]]:
    """Each kernel's fastest case at each size of a run, with its metrics."""
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    run = read(folder)
    for row in sorted(run.measured.rows, key=lambda row: float(row["median_us"])):
        rows.setdefault((str(row["kernel"]), size_of(row)), row)
    for row in rows.values():
        file = folder / str(row["job"]) / "profile.json"
        row["metrics"] = json.loads(file.read_text())[counters.NAME].get("metrics", {}) if file.exists() else {}
    return list(rows.values())


def page(folder: Path) -> list[list[str]]:
    """Registers, occupancy, instructions an element, accesses as load/store, and the waits of at least 5 %."""
    lines = [["kernel", "registers", "occupancy %", "instructions", "sectors", "wavefronts", "L1 hits %", "waits, %"]]
    for row in fastest(folder):
        shares = dict(counters.stalls(row["metrics"]))
        waits = {what: 100 * sum(shares.get(reason, 0.0) for reason in those) for what, those in WAITS.items()}
        executed = row["metrics"].get(EXECUTED, row["metrics"].get("smsp__inst_issued.sum", 0.0))
        lines.append([
            str(row["kernel"]), f"{row['registers']}", f"{row['occupancy_percent']:.0f}",
            f"{executed * WARP / int(row['size']):.1f}", *(_pair(row, name) for name, _ in ADDRESSES.values()),
            "" if absent(row["ncu_l1_hit_percent"]) else f"{row['ncu_l1_hit_percent']:.0f}",
            ", ".join(f"{what} {share:.0f}" for what, share in waits.items() if share >= 5),
        ])  # fmt: skip
    return lines


def against(lines: Sequence[Sequence[str]], earlier: str, section: str) -> Iterator[list[str]]:
    """Sectors, wavefronts and instructions of each kernel now, and in the earlier table."""
    yield ["kernel", "sectors", "then", "wavefronts", "then", "instructions", "then"]
    then = _section(earlier, section)
    head = lines[0]
    for line in lines[1:]:
        now, before = dict(zip(head, line, strict=True)), then.get(line[0], {})
        pairs = [(now[name], before.get(name, "?")) for name in ("sectors", "wavefronts", "instructions")]
        yield [line[0], *(value for pair in pairs for value in pair)]


def beside_addresses(folder: Path) -> Iterator[list[str]]:
    """In how many cases the hardware counts what the addresses say."""
    yield ["access", "cases", f"within {CLOSE:.0%}", "the others"]
    run = read(folder)
    rows = run.measured.rows
    for what, (counted, expected) in ADDRESSES.items():
        for kind in ("load", "store"):
            names = counted.format(kind), expected.format(kind)
            pairs = [(row, *(row[name] for name in names)) for row in rows if not any(absent(row[n]) for n in names)]
            other = [(row, a, b) for row, a, b in pairs if abs(a - b) > CLOSE * b]
            words = [f"{described(row, run.varying)}: {a:.4g}, not {b:.4g}" for row, a, b in other[:3]]
            yield [f"{what} per {kind}", str(len(pairs)), str(len(pairs) - len(other)), "; ".join(words) or "-"]


def ceilings(folder: Path) -> Iterator[list[str]]:
    """What was measured, what the data sheet says."""
    yield ["ceiling", "measured", "theoretical", "share, %"]
    found = json.loads((folder / "0" / "profile.json").read_text())["roofline"]["ceilings"]
    pairs = {"DRAM, GB/s": found["gbps"]} | {
        f"{name}, 10^9/s": {word: values.get(name) for word, values in found["gflops"].items()}
        for name in found["gflops"]["measured"]
    }
    for name, pair in pairs.items():
        theory = pair.get("theoretical")
        share = f"{100 * pair['measured'] / theory:.1f}" if theory else "-"
        yield [name, f"{pair['measured']:,.0f}", f"{theory:,.0f}" if theory else "-", share]


def swept(way: str, folder: Path) -> float:
    """Seconds of a whole sweep, report included."""
    words = [sys.executable, "-m", "runner", "-m", *SWEEP, *way.split(), f"hydra.sweep.dir={folder}", "--quiet"]
    started = time.monotonic()
    subprocess.run(words, check=False, cwd=ROOT, stdout=sys.stderr)
    return time.monotonic() - started


def aligned(lines: Sequence[Sequence[str]]) -> str:
    """Lines of equal columns."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)


def measure(work: Path) -> str:
    """Sweep without a profile and with each, and compare."""
    swept("profile=none", work / "warm")  # fills the compiler's cache
    seconds = {way: swept(way, work / str(number)) for number, way in enumerate(WAYS)}
    cases = int((pd.read_csv(work / "0" / "results.csv")["status"] == "ok").sum())
    counted = work / "1"
    gpu = json.loads((counted / "environment.json").read_text())["devices"]["cuda"]["name"]
    times = [["whole sweep", "s"], *([way.replace(f",{EXECUTED}", ",..."), f"{s:.1f}"] for way, s in seconds.items())]
    then = "Counters of each kernel's fastest case, and those of steps/counters.txt (then, out of more paddings):"
    parts = {
        f"A sweep of {cases} transposes of 4096x4096 float32 on an {gpu}, without a profile and with:": times,
        then: list(against(page(counted), EARLIER.read_text(), SECTION)),
        "Counted by the hardware, and from the addresses on the CPU (lines.csv):": list(beside_addresses(counted)),
        "Ceilings:": list(ceilings(counted)),
    }
    return "\n\n".join(f"{head}\n\n{aligned(lines)}" for head, lines in parts.items()) + "\n"


def _section(text: str, section: str) -> dict[str, dict[str, str]]:
    """The cells of a part of a page, by kernel: columns begin where their heads do."""
    _, _, rest = text.partition(f"{section}\n")
    head, *lines = rest.partition("\n\n")[0].splitlines()
    starts = [found.start() for found in re.finditer(r"(?:(?<=  )|^)\S", head)]
    bounds = list(zip(starts, [*starts[1:], None], strict=True))
    names = [head[a:b].strip() for a, b in bounds]
    return {line.split()[0]: dict(zip(names, (line[a:b].strip() for a, b in bounds), strict=True)) for line in lines}


def _pair(row: dict[str, Any], name: str) -> str:
    values = [row[name.format(kind)] for kind in ("load", "store")]
    return "" if all(map(absent, values)) else "/".join("-" if absent(value) else f"{value:.3g}" for value in values)


def main() -> int:
    """Measure, or show a run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", type=Path, help="a run folder that was profiled")
    parser.add_argument("--work", type=Path, default=ROOT / "outputs" / "profiled", help="for the sweeps")
    parser.add_argument("--out", type=Path, help="the table to write")
    given = parser.parse_args()
    text = f"{aligned(page(given.page))}\n" if given.page else measure(given.work)
    sys.stdout.write(text)
    if given.out:
        given.out.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
