import csv
import io
import itertools

import report_runs as runs
from matplotlib.backends.backend_agg import FigureCanvasAgg

from runner.report.figures.choose import choose
from runner.report.figures.drawing import draw
from runner.report.figures.heat_map import heat_plots
from runner.report.figures.heat_picture import _colour, _is_light
from runner.report.figures.heat_picture import draw as draw_heat
from runner.report.table import load


def shapes(kernels=("a",), *, blocks=(64, 128, 256), sizes=(2**20, 2**22), **given):
    """Every block at every size; the block of 128 is the fastest, and a size takes as long as it is."""
    return [
        runs.row(kernel=kernel, block=block, size=size, **given)
        | runs.timing(size / 1e5 * (1 + abs(block - 128) / 256), size)
        for kernel in kernels
        for block in blocks
        for size in sizes
    ]


def percents(panel):
    """The numbers in the cells, as they are written."""
    return [
        [None if cell is None or cell.percent is None else round(cell.percent) for cell in line] for line in panel.cells
    ]


def test_a_cell_is_a_percentage_of_the_best_of_its_column(run_folder):
    """Sizes differ by times four and more, and yet each column has its own best."""
    (plot,) = heat_plots(load(run_folder(shapes(("a", "b")))))
    assert (plot.stem, plot.place) == ("heatmap-block-by-size", "shape")
    assert (plot.down, plot.lines, plot.across, plot.columns) == (
        "block",
        ("64", "128", "256"),
        "size",
        ("2^20", "2^22"),
    )
    assert [panel.title for panel in plot.panels] == ["a", "b"]
    assert percents(plot.panels[0]) == [[80, 80], [100, 100], [67, 67]]
    assert [[cell.best for cell in line] for line in plot.panels[0].cells] == [[False] * 2, [True] * 2, [False] * 2]
    assert "percent of the speed of the kernel's fastest case at the same size" in plot.notes


def test_the_best_is_told_by_more_than_colour(run_folder):
    """The best cell's number is bold and has a frame; the others are neither."""
    (plot,) = heat_plots(load(run_folder(shapes())))
    figure = draw_heat(plot)
    frames = [patch for patch in figure.axes[0].patches if patch.get_facecolor()[3] == 0 and patch.get_linewidth() > 1]
    assert len(frames) == 1
    assert len(frames[0].get_path().to_polygons()) == 2  # one a column
    without = figure.axes[0].collections
    assert (
        sum(len(one.get_offsets()) for one in without) == 2 * 3 + 4 * 2 + 5 * 2 + 3
    )  # digits of the cells and of the key


def test_long_names_stand_beside_one_another(run_folder):
    """The titles of narrow panels do not run into each other."""
    (plot,) = heat_plots(load(run_folder(shapes(("reduceSmemUnrollDyn", "reduceWithAVeryLongNameIndeed", "c")))))
    figure = draw_heat(plot)
    titles = [text for text in figure.axes[0].texts if text.get_text() in [panel.title for panel in plot.panels]]
    boxes = [text.get_window_extent(FigureCanvasAgg(figure).get_renderer()) for text in titles]
    assert not any(one.overlaps(other) for one, other in itertools.combinations(boxes, 2))
    assert all(box.x1 < figure.bbox.x1 for box in boxes)


def test_what_else_varies_is_the_fastest_and_said(run_folder):
    """A cell of several unrolls is the fastest of them, and the notes say of what."""
    rows = [
        row | {"unroll": unroll, "median_us": float(row["median_us"]) * factor}
        for row in shapes()
        for unroll, factor in ((2, 3), (4, 1))
    ]
    (plot,) = heat_plots(load(run_folder(rows)))
    assert "Each cell: the fastest unroll." in plot.notes
    assert {cell.row["unroll"] for line in plot.panels[0].cells for cell in line} == {4}


def test_without_block_and_size_the_two_that_vary_most(run_folder):
    """Width and unroll at one size: the one with more values goes across, and the best is that of the kernel."""
    rows = [
        runs.row(width=width, unroll=unroll, fill=fill) | runs.timing(10 + width + unroll, 2**24)
        for width in (2, 4, 8, 16)
        for unroll in (1, 2, 4)
        for fill in ("ones", "rand")
    ]
    columns = list(runs.COLUMNS)
    columns.insert(columns.index("seed"), "fill")
    (plot,) = heat_plots(load(run_folder(rows, columns=columns)))
    assert (plot.down, plot.across, plot.stem) == ("unroll", "width", "heatmap-unroll-by-width")
    assert percents(plot.panels[0])[0] == [100, 87, 68, 48]
    assert plot.title == "Speed by unroll and width at 2^24, in percent of the best"
    assert "Each cell: the fastest fill." in plot.notes


def test_block_and_size_come_before_what_varies_more(run_folder):
    """Six unrolls do not take the place of three blocks."""
    rows = [row | {"unroll": unroll} for row in shapes() for unroll in range(1, 7)]
    (plot,) = heat_plots(load(run_folder(rows)))
    assert (plot.down, plot.across) == ("block", "size")


def test_cells_without_a_time_say_why(run_folder):
    """A skipped and a failed case are hatched and have their word; what was not asked for is empty."""
    rows = [row for row in shapes() if (row["block"], row["size"]) != (256, 2**22)]
    rows[0] = runs.failed(0, "skipped", "x", kernel="a", block=64, size=2**20)
    rows += shapes(blocks=(512,))
    rows[-1] = runs.failed(1, "launch_error", "x", kernel="a", block=512, size=2**22)
    (plot,) = heat_plots(load(run_folder(rows)))
    cells = plot.panels[0].cells
    assert (cells[0][0].words, cells[3][1].words, cells[2][1]) == ("skipped", "launch error", None)
    figure = draw_heat(plot)
    assert {"skipped", "launch\nerror", "no time"} <= {text.get_text() for text in figure.axes[0].texts}
    hatched = [patch for patch in figure.axes[0].patches if patch.get_hatch()]
    assert [len(patch.get_path().to_polygons()) for patch in hatched] == [2, 1]  # the cells, and the key


def test_few_panels_and_what_is_left_out(run_folder):
    """Nine kernels are drawn, those in which the choice matters most; the others are named."""
    rows = shapes([f"k{n}" for n in range(10)])
    for row in rows:
        if row["kernel"] == "k3":
            row["median_us"] = row["size"] / 1e5
    rows += shapes(("one",), blocks=(64,))
    (plot,) = heat_plots(load(run_folder(rows)))
    assert [panel.title for panel in plot.panels] == [f"k{n}" for n in range(10) if n != 3]
    assert "Left out, as the choice matters less there: k3." in plot.notes
    assert "Left out, as block and size do not both vary enough: one." in plot.notes


def test_many_values_are_thinned_and_it_is_said(run_folder):
    """Twenty sizes are twelve columns, the smallest and the largest among them."""
    (plot,) = heat_plots(load(run_folder(shapes(sizes=[2**n for n in range(8, 28)]))))
    assert (len(plot.columns), plot.columns[0], plot.columns[-1]) == (12, "256", "2^27")
    assert "Drawn: 12 of 20 values of size." in plot.notes


def test_nothing_to_choose_between_is_no_heat_map(run_folder):
    """Bars of two by two, one block, and a diagonal of sizes and blocks have none."""
    assert heat_plots(load(run_folder(shapes(blocks=(64, 128)), "square"))) == []
    assert heat_plots(load(run_folder(shapes(blocks=(64,)), "line"))) == []
    diagonal = [runs.row(block=2**n, size=2**n) | runs.timing(9, 2**n) for n in range(5, 11)]
    assert heat_plots(load(run_folder(diagonal, "diagonal"))) == []
    assert heat_plots(load(run_folder([], "empty"))) == []


def test_dtypes_and_devices_are_kept_apart(run_folder):
    """A panel a dtype, a figure a device; that of the CPU device is labelled."""
    rows = [*shapes(dtype="int32"), *shapes(dtype="float32"), *shapes(device="cpu")]
    plots = heat_plots(load(run_folder(rows)))
    assert [plot.stem for plot in plots] == ["heatmap-block-by-size-cuda", "heatmap-block-by-size-cpu"]
    assert [panel.title for panel in plots[0].panels] == ["a, int32", "a, float32"]
    assert (plots[0].emulated, plots[1].emulated) == (False, True)
    assert plots[1].title.startswith("Emulated speed")


def test_letters_can_be_read_on_every_colour():
    """Each of the colours has letters of at least 4.5 times its luminance, as WCAG asks for."""

    def luminance(colour):
        parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    for percent in range(101):
        colour = _colour(percent)
        letters = "#000000" if _is_light(colour) else "#ffffff"
        low, high = sorted((luminance(colour), luminance(letters)))
        assert (high + 0.05) / (low + 0.05) >= 4.5


def test_the_table_has_a_row_a_cell(run_folder):
    """The CSV has the percentage, the time behind it and the case, and for a failed one its status."""
    rows = shapes()
    rows[0] = runs.failed(0, "skipped", "x", kernel="a", block=64, size=2**20)
    plot = next(plot for plot in choose(load(run_folder(rows))) if plot.place == "shape")
    found = list(csv.DictReader(io.StringIO(draw(plot, {}, {}).csv.decode())))
    assert len(found) == 6
    assert (found[0]["status"], found[0]["percent_of_best"], found[0]["median_us"]) == ("skipped", "", "")
    assert (found[1]["block"], found[1]["size"], found[1]["percent_of_best"])[:2] == ("64", str(2**22))
    assert round(float(found[1]["percent_of_best"]), 3) == 80
