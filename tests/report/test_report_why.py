"""Why cases take their time: the roofline, the stall reasons and the words on fast cases, from a folder written here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import report_runs as runs

from runner.device.cuda.ceilings import PRECISIONS
from runner.record.run import read
from runner.report import as_markdown, build
from runner.report.figures import choose
from runner.stages.profile import counters


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A profiled run of four kernels at two sizes."""
    return make(tmp_path_factory.mktemp("why") / "03-04-05-why")


def figure(folder, stem):
    """A figure of a run, not drawn."""
    return next(one for one in choose(read(folder), {}) if one.stem == stem)


def test_the_page_says_why_the_fast_cases_take_their_time(folder):
    """Each kernel's fastest case with its bound, both figures, and the counters among the columns on request."""
    page = build(folder).read_text()
    assert "memory-bound at 95 % of a copy" in page
    assert "compute-bound" in page
    assert {"roofline-float32.svg", "stalls.svg"} <= {file.name for file in (folder / "figures").iterdir()}
    assert "ncu_warps_percent" in page
    assert "latency-bound" in as_markdown(folder)


def test_a_point_of_the_roofline_is_below_what_can_be_reached(folder):
    """From declared operations and bytes; the roof is the copy's on the left, the multiply-adds' on the right."""
    rows = {row["case"]: row for row in figure(folder, "roofline-float32").rows()}
    assert len(rows) == 8
    stencil, powers = rows["00000001"], rows["00000007"]
    assert stencil["operations_per_byte"] == pytest.approx(17 / 8)
    assert stencil["reachable_gflops"] == pytest.approx(4270 * 17 / 8)
    assert (powers["reachable_gflops"], powers["from"]) == (61000, "declared")
    assert all(row["gflops"] <= row["reachable_gflops"] for row in rows.values())


def test_without_declared_operations_the_counted_ones_are_drawn(tmp_path):
    """Additions, multiplications and twice the multiply-adds, over the counted bytes of DRAM."""
    folder = make(tmp_path / "run", sizes=(24,))
    table = (folder / "results.csv").read_text().replace(str(17 * 2**24), "")
    (folder / "results.csv").write_text(table)
    record = json.loads((folder / "0" / "profile.json").read_text())
    record["ncu"]["metrics"] |= {"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum": 1e9}
    (folder / "0" / "profile.json").write_text(json.dumps(record))
    first = figure(folder, "roofline-float32").rows()[0]
    assert (first["from"], first["gflops"]) == ("counted", pytest.approx(2e9 / 33.5 / 1e3))


def test_the_bars_are_shares_of_the_time_of_warps(folder):
    """Of each case all states add up to one; the fastest of the largest size is on top."""
    rows = figure(folder, "stalls").rows()
    assert rows[0]["kernel"] == "stencil1dConstant"
    assert rows[0]["long_scoreboard"] == pytest.approx(14 / 24.1)


@pytest.mark.parametrize(
    "record",
    [
        [],
        {"ncu": 3},
        {"ncu": {"metrics": {"a": "b", "dram__bytes_read.sum": "x"}}, "roofline": {"ceilings": {"gbps": [1]}}},
    ],
)
def test_a_foreign_record_breaks_no_report(record, tmp_path):
    """The folder may come from anybody."""
    folder = make(tmp_path / "run", sizes=(24,))
    for number in range(4):
        (folder / str(number) / "profile.json").write_text(json.dumps(record))
    assert {one.stem for one in choose(read(folder), {})}.isdisjoint({"stalls", "roofline-float32"})
    as_markdown(folder)


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
