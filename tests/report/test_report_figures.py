import csv
import io
import itertools
import os
import subprocess
import sys
import xml.etree.ElementTree as ET

import numpy as np
import pytest
import report_runs as runs
from matplotlib.image import imread

from runner.report import build
from runner.report.figures.choose import choose
from runner.report.figures.compact import compact
from runner.report.figures.drawing import draw
from runner.report.figures.labels import apart
from runner.report.figures.saving import saved
from runner.report.figures.style import BACKGROUND, strokes
from runner.report.figures.time_picture import ceiling
from runner.report.figures.time_picture import draw as draw_times
from runner.report.ratio import ratios
from runner.report.table import load


def stems(folder):
    """The names of the figures that are chosen."""
    return [plot.stem for plot in choose(load(folder))]


def test_a_gpu_sweep_shows_bandwidth_time_and_block(run_folder):
    """Bandwidth and time against size, the blocks at the largest size, then the shape, then the baseline."""
    plots = choose(load(run_folder(runs.sweep())))
    assert [(plot.stem, plot.place) for plot in plots] == [
        ("bandwidth-by-size", "times"),
        ("time-by-size", "times"),
        ("bandwidth-by-block", "times"),
        ("heatmap-block-by-size", "shape"),
        ("speedup-by-size", "baseline"),
    ]


def test_one_size_shows_bars(run_folder):
    """Kernels at one size are bars; a CPU device's run is no different, but for its name."""
    frame = load(run_folder(runs.emulated()))
    (plot,) = choose(frame)
    assert (plot.stem, plot.kind, plot.emulated) == ("time-by-kernel", "bars", True)
    assert plot.title.startswith("Emulated time")
    assert "says nothing about a GPU" in plot.notes


def test_nothing_to_show(run_folder):
    """A single case, failures alone, and no cases at all have no figure."""
    assert stems(run_folder([runs.row() | runs.timing(9, 2**24)], "single")) == []
    assert stems(run_folder([runs.failed(0, "crashed", "x")], "crashed")) == []
    assert stems(run_folder([], "empty")) == []


def test_one_kernel_by_one_parameter(run_folder):
    """A sweep of one further parameter is shown against it, in the order of its values."""
    rows = [runs.row(n, width=2**n) | runs.timing(9 - n, 2**24) for n in range(6)]
    (plot,) = choose(load(run_folder(rows)))
    assert (plot.stem, plot.x, len(plot.panels[0].rows)) == ("bandwidth-by-width", "width", 6)


def test_dtypes_and_devices_are_never_mixed(run_folder):
    """Each dtype has its panel, each device and family its figures."""
    rows = []
    for dtype in ("int32", "float32"):
        for size in (2**20, 2**22):
            rows.append(runs.row(len(rows), dtype=dtype, size=size) | runs.timing(9, size))
            cpu = {"device": "cpu", "median_us": 900}
            rows.append(runs.row(len(rows), dtype=dtype, size=size) | cpu)
    plots = choose(load(run_folder(rows)))
    assert [plot.stem for plot in plots] == [
        "bandwidth-by-size-cuda-reduce", "time-by-size-cuda-reduce", "time-by-size-cpu-reduce",
    ]  # fmt: skip
    for plot in plots:
        assert [panel.title for panel in plot.panels] == ["dtype int32", "dtype float32"]
        assert all(len({(row["dtype"], row["device"]) for row in panel.rows}) == 1 for panel in plot.panels)


def test_further_parameters_become_panels(run_folder):
    """Each value of unroll has its panel, and a kernel without unroll is in all of them."""
    rows = [
        runs.row(kernel=kernel, unroll=unroll, size=size) | runs.timing(9, size)
        for kernel, unrolls in (("plain", ("",)), ("unrolled", (2, 4)))
        for unroll in unrolls
        for size in (2**20, 2**22)
    ]
    plot = choose(load(run_folder(rows)))[0]
    assert [panel.title for panel in plot.panels] == ["unroll 2", "unroll 4"]
    assert all({row["kernel"] for row in panel.rows} == {"plain", "unrolled"} for panel in plot.panels)


def test_the_fastest_block_is_shown_and_said(run_folder):
    """Where blocks do not have panels, a point is the fastest of them and the notes say so."""
    plot = choose(load(run_folder(runs.sweep())))[0]
    assert {row["block"] for row in plot.panels[0].rows} == {"256"}
    assert "Each point: the fastest block." in plot.notes


def test_too_many_lines_leave_the_fastest_in_colour(run_folder):
    """Beyond ten kernels the slower ones are thin and grey, all keep their names, and the notes say so."""
    sizes = (2**20, 2**24)
    rows = [runs.row(kernel=f"k{n:02}", size=size) | runs.timing(9 + n, size) for n in range(14) for size in sizes]
    frame = load(run_folder(rows))
    plot = choose(frame)[0]
    assert plot.pale == ("k10", "k11", "k12", "k13")
    assert "Thin and grey: all but the 10 fastest." in plot.notes
    looks = strokes([f"k{n:02}" for n in range(14)])
    lines = [line for line in draw_times(plot, looks, {}).axes[0].lines if len(line.get_xdata()) == 2]
    assert [line.get_color() for line in lines[:4]] == [BACKGROUND.colour] * 4  # below the others
    svg = draw(plot, looks, {}).svg
    assert all(f"<!-- k{n:02} -->".encode() in svg for n in range(14))


def test_the_limits_are_drawn(run_folder):
    """The bandwidth figure has the lines of the peak and of the copy."""
    frame = load(run_folder(runs.sweep()))
    plot = choose(frame)[0]
    assert round(ceiling(plot.panels[0].rows, "percent_peak")) == runs.PEAK
    svg = draw(plot, strokes(list(frame["kernel"].unique())), {}).svg
    assert b"peak 4,800 GB/s" in svg
    assert b"copy 4,200 GB/s" in svg


def test_figures_are_well_formed_whatever_the_names(run_folder):
    """Dollars, angle brackets, foreign letters and control characters are drawn or replaced, never obeyed."""
    names = ["$x^2$", "<script>&amp;", "커널", "a\u202eb\x07c--", "n" * 300]
    rows = [runs.row(kernel=name, size=size) | runs.timing(9, size) for name in names for size in (2**20, 2**22)]
    folder = run_folder(rows)
    build(folder)
    for path in (folder / "figures").glob("*.svg"):
        assert ET.fromstring(path.read_bytes()).tag.endswith("svg")  # noqa: S314 - we wrote it
    assert len(list((folder / "figures").glob("*.svg"))) == 2


def test_labels_keep_their_distance():
    """Labels are a gap apart, in the order of their lines, and within the axes."""
    placed = apart([0.5, 0.51, 0.5, 0.99, 0.98, 0.0], 0.1)
    ordered = sorted(placed)
    assert all(upper - lower > 0.0999 for lower, upper in itertools.pairwise(ordered))
    assert ordered[0] >= 0
    assert ordered[-1] <= 1.0001
    assert apart([0.2, 0.8], 0.1) == [0.2, 0.8]


def test_few_values_get_a_bar_each(run_folder):
    """Where no parameter has more than three values, every case has its bar, named by what tells it apart."""
    cases = itertools.product(("reduceShfl", "reduceSmem"), ("128", "256"))
    rows = [runs.row(n, kernel=k, block=b) | runs.timing(9 + n, 2**24) for n, (k, b) in enumerate(cases)]
    folder = run_folder(rows)
    build(folder)
    assert stems(folder) == ["time-by-kernel"]
    text = (folder / "figures" / "time-by-kernel.svg").read_text()
    assert all(f"{k}, block {b}" in text for k in ("reduceShfl", "reduceSmem") for b in (128, 256))


def test_several_dtypes_of_one_kernel_are_bars(run_folder):
    """Element types are compared by a bar each, as there is nothing between them for a line to join."""
    dtypes = ("int32", "int64", "float32", "float64")
    folder = run_folder([runs.row(n, dtype=d) | runs.timing(9 + n, 2**24) for n, d in enumerate(dtypes)])
    build(folder)
    assert stems(folder) == ["time-by-dtype"]
    text = (folder / "figures" / "time-by-dtype.svg").read_text()
    assert "reduceShfl, float64" in text


def test_blocks_of_two_sides_and_shapes(run_folder):
    """Sizes of two sides and blocks of two sides are drawn under their own names."""
    shapes = [(rows, cols, block) for rows, cols in ((4096, 1024), (1024, 4096)) for block in ("32x8", "16x16")]
    rows = [
        runs.row(n, size=r * c, rows=r, cols=c, block=block, block_x="", block_y="") | runs.timing(9 + n, r * c)
        for n, (r, c, block) in enumerate(shapes)
    ]
    folder = run_folder(rows)
    build(folder)
    assert stems(folder) == ["bandwidth-by-block"]


def test_every_figure_is_there_three_times(run_folder):
    """SVG, PNG and CSV of each, and no others; the CSV has the numbers of the points, with units in their names."""
    folder = run_folder(runs.sweep())
    build(folder)
    found = sorted(path.name for path in (folder / "figures").iterdir())
    assert found == sorted(f"{stem}.{ending}" for stem in stems(folder) for ending in ("svg", "png", "csv"))
    with (folder / "figures" / "bandwidth-by-size.csv").open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 6 * 4
    assert rows[0]["kernel"] == "reduceGmem"
    assert rows[0]["block"] == "256"
    assert {"size", "median_us", "q1_us", "q3_us", "gbps", "percent_peak"} <= set(rows[0])
    assert "rows" not in rows[0]  # nothing is in it
    first = next(row for row in runs.sweep() if row["block"] == 256)
    assert float(rows[0]["gbps"]) == float(first["gbps"])


def test_bars_have_their_speedup_in_the_table(run_folder):
    """What a bar's label says stands in its CSV, too."""
    folder = run_folder(runs.sweep(sizes=(24,), blocks=(256,)))
    build(folder)
    with (folder / "figures" / "time-by-kernel.csv").open(encoding="utf-8") as stream:
        found = {row["kernel"]: row for row in csv.DictReader(stream)}
    assert round(float(found["reduceSmem"]["speedup"]), 2) == 1.33
    assert (found["reduceSmem"]["baseline"], found["reduceGmem"]["speedup"]) == ("reduceGmem", "")


def test_figures_of_an_earlier_report_go(run_folder):
    """What a report no longer makes does not stay beside it; what is not the report's own does."""
    folder = run_folder(runs.sweep())
    (folder / "figures").mkdir()
    for name in ("time-by-width.svg", "time-by-width.csv", "lanes-shflUp.png", "mine.png", "notes.txt"):
        (folder / "figures" / name).write_text("old")
    build(folder)
    left = {path.stem for path in (folder / "figures").iterdir()}
    assert left == {*stems(folder), "mine", "notes"}


def test_the_same_results_give_the_same_bytes_in_any_process(run_folder):
    """Another process with another seed for its hashes draws every figure alike."""
    folder = run_folder(runs.sweep())
    build(folder)
    before = {path.name: path.read_bytes() for path in (folder / "figures").iterdir()}
    command = [
        sys.executable,
        "-c",
        f"from pathlib import Path; from runner.report import build; build(Path({str(folder)!r}))",
    ]
    subprocess.run(command, check=True, env={**os.environ, "PYTHONHASHSEED": "7"})
    assert before == {path.name: path.read_bytes() for path in (folder / "figures").iterdir()}


def test_figures_of_256_cases_leave_room_for_the_page(run_folder):
    """All figures of a large sweep together stay small enough for a page below 1 MB, which holds them as base64."""
    frame = load(run_folder(runs.sweep(sizes=tuple(range(14, 30, 2)), blocks=(64, 128, 256, 512, 1024))))
    looks = strokes(list(frame["kernel"].unique()))
    sizes = [len(draw(plot, looks, ratios(frame)).svg) for plot in choose(frame)]
    assert len(frame) == 240
    assert sum(sizes) * 4 / 3 < 400_000


@pytest.mark.browser
def test_a_smaller_svg_looks_the_same(run_folder, open_page, tmp_path):
    """What makes a figure's file small moves no pixel of it visibly."""
    plot = choose(load(run_folder(runs.sweep())))[0]
    looks = strokes([name for name, *_ in runs.REDUCTIONS])
    svg = saved(lambda: draw_times(plot, looks, {}))[0]
    small = compact(svg)
    assert len(small) < 0.55 * len(svg)
    seen = []
    for name, content in (("whole", svg), ("small", small)):
        (tmp_path / f"{name}.svg").write_bytes(content)
        seen.append(imread(io.BytesIO(open_page(tmp_path / f"{name}.svg").screenshot())))
    assert seen[0].std() > 0.05  # something is drawn
    assert np.abs(seen[0] - seen[1]).mean() < 0.0004  # letters on a grid six times as coarse are beyond it


def test_a_text_stays_as_it_is_in_a_smaller_svg():
    """Numbers, quotes and control characters in a name are nobody's coordinates, and break no file."""
    text = '<svg xmlns="http://www.w3.org/2000/svg"><!-- a d="L" 1.23456 #i -->\n<!-- \x07 --></svg>'
    assert b'<!-- a d="L" 1.23456 #i -->' in compact(text.encode())
    assert "\x07" not in compact(text.encode()).decode()


def test_emulated_times_are_labelled_in_every_figure(run_folder):
    """Whatever figure shows a time of the CPU device says so in its title and in its notes."""
    rows = [
        runs.row(n, block=block, size=size, device="cpu", median_us=9 + n, kernel=kernel)
        for n, (kernel, block, size) in enumerate(itertools.product("ab", (64, 128, 256), (2**10, 2**12)))
    ]
    plots = choose(load(run_folder(rows)))
    assert {plot.place for plot in plots} == {"times", "shape"}
    for plot in plots:
        assert plot.emulated
        assert plot.title.startswith("Emulated")
        assert plot.notes.startswith("Emulated time on the CPU device — says nothing about a GPU.")
