"""A run folder with what `profile` adds, with numbers that nobody measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import report_runs as runs

from runner.device.cuda.ceilings import PRECISIONS
from runner.stages.profile import counters

# Kernel, its time at 2^24, bytes of DRAM traffic a declared byte, operations an element, longest waits.
KERNELS = (
    ("stencil1dConstant", 33.5, 1.02, 17, {"long_scoreboard": 14.0, "wait": 4.0, "not_selected": 2.0, "barrier": 3.1}),
    ("stencil1dShfl", 61.0, 1.05, 17, {"short_scoreboard": 22.0, "wait": 6.0, "mio_throttle": 4.0, "barrier": 1.1}),
    ("stencil1dGmem", 120.0, 2.4, 17, {"long_scoreboard": 41.0, "lg_throttle": 12.0, "wait": 2.0, "imc_miss": 1.0}),
    ("powers", 190.0, 1.0, 640, {"math_pipe_throttle": 3.0, "not_selected": 5.0, "wait": 1.2, "dispatch_stall": 0.4}),
)
CEILINGS = {
    "gbps": {"measured": 4270.0, "theoretical": 4814.0},
    "gflops": {
        "measured": dict.fromkeys(PRECISIONS, 61000.0),
        "theoretical": dict.fromkeys(PRECISIONS, 66900.0),
    },
    "clock_mhz": 1980.0,
}


def values(us: float, moved: float, waits: dict[str, float]) -> dict[str, float]:
    """The metrics of a case."""
    found = dict.fromkeys(counters.metrics([counters.DEFAULT], operations=True), 0.0)
    found |= {counters.STALL.format(reason): cycles for reason, cycles in {**waits, "selected": 1.0}.items()}
    bound = 100 * moved / us / 1e3 / 4814
    return found | {
        "dram__bytes_read.sum": moved / 2, "dram__bytes_write.sum": moved / 2,
        "dram__throughput.avg.pct_of_peak_sustained_elapsed": bound,
        "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed": bound,
        "sm__throughput.avg.pct_of_peak_sustained_elapsed": 91.0 if "math_pipe_throttle" in waits else 31.0,
        "sm__warps_active.avg.pct_of_peak_sustained_active": 42.0, counters.TIME: us * 1e3,
        counters.BUSY.format("fma"): 88.0 if "math_pipe_throttle" in waits else 9.0,
    }  # fmt: skip


def make(folder: Path, *, sizes: tuple[int, ...] = (22, 24)) -> Path:
    """The folder."""
    rows: list[dict[str, Any]] = []
    records = []
    for kernel, us, traffic, operations, waits in KERNELS:
        for exponent in sizes:
            size = 2**exponent
            median, moved = us * size / 2**24, 8 * size * traffic
            given = {"kernel": kernel, "size": size, "dtype": "float32", "family": "stencil", "job": len(rows)}
            found = values(median, moved, waits)
            timing = runs.timing(median, 2 * size) | {"bytes_read": 4 * size, "bytes_written": 4 * size}
            further = {"operations": operations * size, "gflops": operations * size / median / 1e3, "waves": 8.0}
            row = runs.row(len(rows), **given) | timing | further | counters.columns(found)
            rows.append(row | {"gpu": "NVIDIA H200 GPU-4b1c2f0a-1111-2222-3333-444455556666"})
            records.append({"ncu": {"metrics": found, "launches": []}, "roofline": {"ceilings": CEILINGS}})
    runs.write(folder, rows, columns=list(dict.fromkeys([*runs.COLUMNS, *(name for row in rows for name in row)])))
    (folder / "plan.json").write_text(json.dumps({"ways": [{"profile": {"roofline": True}}], "cases": []}))
    for number, record in enumerate(records):
        (folder / str(number)).mkdir()
        (folder / str(number) / "profile.json").write_text(json.dumps(record))
    return folder
