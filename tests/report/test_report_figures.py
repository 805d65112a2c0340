import itertools
import xml.etree.ElementTree as ET

import report_runs as runs

from runner.report import build
from runner.report.choose import choose
from runner.report.figures import ceiling, draw
from runner.report.labels import apart
from runner.report.style import strokes
from runner.report.table import load


def stems(folder):
    """The names of the figures that are chosen."""
    return [plot.stem for plot in choose(load(folder))]


def test_a_gpu_sweep_shows_bandwidth_time_and_block(run_folder):
    """Several sizes and blocks: both against size, and the blocks at the largest size."""
    assert stems(run_folder(runs.sweep())) == ["bandwidth-by-size", "time-by-size", "bandwidth-by-block"]


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
    assert [plot.stem for plot in plots][-1] == "time-by-size-cpu-reduce"
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
    assert len(list((folder / "figures").iterdir())) == 4


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
