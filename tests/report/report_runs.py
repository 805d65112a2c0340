"""Run folders as the engine would leave them, with numbers that nobody measured."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

COLUMNS = (
    "case kernel block block_x block_y size rows cols width mask unroll dtype pad seed device status reason grid "
    "shared_dynamic value reference reference_us mismatches undefined_reads samples emulated_us median_us ci_low_us "
    "ci_high_us min_us q1_us q3_us bytes_read bytes_written gbps percent_peak percent_copy registers shared_bytes "
    "local_bytes compile_s finish family baseline launcher rounds round_spread_percent timer_limited host_bound throttled"
).split()

PEAK, COPY = 4800.0, 4200.0

# Kernel, unroll, baseline, share of the peak that it reaches on large arrays.
REDUCTIONS = (
    ("reduceGmem", "", "", 0.2),
    ("reduceSmem", "", "reduceGmem", 0.27),
    ("reduceGmemUnroll", 8, "reduceGmem", 0.48),
    ("reduceSmemUnroll", 8, "reduceSmem", 0.55),
    ("reduceShfl", "", "reduceSmem", 0.34),
    ("reduceShflUnroll", 8, "reduceSmemUnroll", 0.56),
)


def row(number: int = 0, **given: Any) -> dict[str, Any]:
    """A case that went well, but for what is given."""
    size = given.get("size", 2**24)
    block = given.get("block", 256)
    base = {
        "case": f"{number:08x}", "kernel": "reduceShfl", "block": block, "block_x": block, "block_y": 1,
        "size": size, "width": 32, "mask": "0xffffffff", "dtype": "int32", "seed": 0, "device": "cuda",
        "status": "ok", "grid": -(-size // int(str(block).split("x")[0])), "value": 2139353471,
        "reference": 2139353471, "reference_us": round(size * 0.00031, 4), "mismatches": 0, "undefined_reads": 0,
        "samples": 50, "registers": 16, "shared_bytes": 128, "local_bytes": 0, "compile_s": 0.42, "finish": "host",
        "family": "reduce", "launcher": "runner",
    }  # fmt: skip
    return {**base, **given}


def timing(median: float, size: int, *, peak: float = PEAK) -> dict[str, Any]:
    """The columns that follow from a median on a GPU."""
    gbps = size * 4 / median / 1000
    spread = {"ci_low_us": 0.99, "ci_high_us": 1.012, "min_us": 0.96, "q1_us": 0.975, "q3_us": 1.04}
    return {
        "median_us": f"{median:.6g}", **{name: f"{median * by:.6g}" for name, by in spread.items()},
        "bytes_read": size * 4, "bytes_written": 4, "gbps": f"{gbps:.6g}",
        "percent_peak": f"{100 * gbps / peak:.6g}", "percent_copy": f"{100 * gbps / COPY:.6g}",
    }  # fmt: skip


def failed(number: int, status: str, reason: str, **given: Any) -> dict[str, Any]:
    """A case without times."""
    return row(number, status=status, reason=reason, samples="", **given)


def sweep(sizes: tuple[int, ...] = (18, 20, 22, 24), blocks: tuple[int, ...] = (128, 256, 512)) -> list[dict[str, Any]]:
    """Six reductions by sizes by blocks on a GPU."""
    rows = []
    for kernel, unroll, baseline, share in REDUCTIONS:
        for exponent in sizes:
            for block in blocks:
                size = 2**exponent
                median = 2.6 + size * 4 / (PEAK * share * 1000) * {128: 1.07, 256: 1.0}.get(block, 1.02)
                rows.append(
                    row(len(rows), kernel=kernel, unroll=unroll, baseline=baseline, size=size, block=block)
                    | timing(median, size)
                )
    return rows


def emulated() -> list[dict[str, Any]]:
    """Six reductions of one size on the CPU device."""
    rows = []
    for number, (kernel, unroll, baseline, share) in enumerate(REDUCTIONS):
        median = 5200.0 / share
        given = {"kernel": kernel, "unroll": unroll, "baseline": baseline, "size": 2**16, "device": "cpu", "samples": 3}
        rows.append(row(number, **given, registers="", shared_bytes="", emulated_us=f"{median:.6g}"))
    return rows


def failures() -> list[dict[str, Any]]:
    """Every status once or more, beside cases that went well."""
    log = (
        'reduceTypo.cu(17): error: identifier "smen" is undefined\n      smen[tid] += smen[tid + stride];\n      ^\n'
        "1 error detected in the compilation of reduceTypo.cu."
    )
    good = sweep(sizes=(20, 24), blocks=(128, 256))[:12]
    hazard = "Threads 3 and 35 of block 0 write shared[3] without a barrier between them (line 24)."
    width = "width 64 is more than a warp has lanes (32)."
    rest = [
        failed(
            100, "mismatch", "3 of 65536 partial sums differ: [17] is 42, not 43.", kernel="reduceWrong", mismatches=3
        ),
        failed(101, "hazard", hazard, kernel="reduceRacy", device="cpu", size=2**20),
        *(failed(102 + n, "skipped", width, width=64, block=2**n) for n in range(5, 10)),
        failed(110, "compile_error", log, kernel="reduceTypo"),
        failed(111, "launch_error", "The device refused the launch: block 2048 is over the limit of 1024.", block=2048),
        failed(
            112, "crashed", "The worker process died (signal 11) while it launched the kernel.", kernel="reduceWild"
        ),
        failed(113, "timeout", "The kernel was still running after 10 s.", kernel="reduceForever"),
        failed(114, "out_of_memory", "The arrays need 160 GB; the device has 139 GB free.", size=2**35),
        failed(115, "not_run", "The sweep was interrupted before this case was reached.", size=2**26),
    ]
    return good + rest


ENVIRONMENT = {
    "command": "python -m runner -m kernel=reduceGmem,reduceSmem block=128,256,512 size=2**18,2**20,2**22,2**24",
    "git": {"commit": "0123456789abcdef0123456789abcdef01234567", "dirty": False},
    "devices": {
        "cuda": {"name": "NVIDIA H200", "arch": "sm_90", "peak_gbps": PEAK, "timing": {"samples": 50, "warmup_ms": 25}}
    },
    "python": "3.11.7",
    "packages": {"numpy": "2.4.6", "pycuda": "2026.1"},
    "started_utc": "2026-01-02T03:04:05Z",
}


def write(folder: Path, rows: list[dict[str, Any]], *, environment: Any = None, columns: Any = COLUMNS) -> Path:
    """A run folder with these rows."""
    (folder / "sources").mkdir(parents=True)
    with (folder / "results.csv").open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, columns, extrasaction="ignore", restval="")
        writer.writeheader()
        writer.writerows(rows)
    (folder / "environment.json").write_text(json.dumps(ENVIRONMENT if environment is None else environment), "utf-8")
    (folder / "sources" / "reduceShfl.cu").write_text("// a < b && c\n__global__ void reduceShfl() {}\n", "utf-8")
    return folder
