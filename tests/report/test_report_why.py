"""Why cases take their time: the roofline, the stall reasons and the words on fast cases, from a folder written here."""

import json

import profiled_run
import pytest

from runner.record.run import read
from runner.report import as_markdown, build
from runner.report.figures import choose


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A profiled run of four kernels at two sizes."""
    return profiled_run.make(tmp_path_factory.mktemp("why") / "03-04-05-why")


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
    folder = profiled_run.make(tmp_path / "run", sizes=(24,))
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
    folder = profiled_run.make(tmp_path / "run", sizes=(24,))
    for number in range(4):
        (folder / str(number) / "profile.json").write_text(json.dumps(record))
    assert {one.stem for one in choose(read(folder), {})}.isdisjoint({"stalls", "roofline-float32"})
    as_markdown(folder)
