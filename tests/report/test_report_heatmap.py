import itertools

import matplotlib as mpl
import numpy as np
import report_runs as runs
from drawing import chosen, sheet, table, words
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb

from runner.report.figures.drawing import DARKEST_PERCENT, MIN_PERCENT
from runner.report.figures.heat import ink


def shapes(kernels=("a",), *, blocks=(64, 128, 256), sizes=(2**20, 2**22), **given):
    """Every block at every size; the block of 128 is the fastest, and a size takes as long as it is."""
    return [
        runs.row(kernel=kernel, block=block, size=size, **given)
        | runs.timing(size / 1e5 * (1 + abs(block - 128) / 256), size)
        for kernel in kernels
        for block in blocks
        for size in sizes
    ]


def heat_maps(folder):
    """The heat maps of a folder."""
    return chosen(folder, "shape")


def percents(plot, number=0):
    """The numbers in the cells of a panel, as they are written."""
    found = plot.panels[number].percents
    return [[round(found[line, column]) for column in plot.columns] for line in plot.lines]


def test_a_cell_is_a_percentage_of_the_best_of_its_column(run_folder):
    """Sizes differ by times four and more, and yet each column has its own best."""
    (plot,) = heat_maps(run_folder(shapes(("a", "b"))))
    assert (plot.stem, plot.axes) == ("heatmap-block-by-size", ("block", "size"))
    assert (plot.lines, plot.columns) == (["64", "128", "256"], ["2^20", "2^22"])
    assert [panel.title for panel in plot.panels] == ["a", "b"]
    assert percents(plot) == [[80, 80], [100, 100], [67, 67]]
    assert "at the same size" in plot.caption
    assert words(plot).count("80") == 4


def test_the_best_is_told_by_more_than_colour(run_folder):
    """The best cell of each column has a bold number and a frame; the others have neither."""
    (plot,) = heat_maps(run_folder(shapes()))
    (axes,) = sheet(plot).axes
    assert [patch.get_xy() for patch in axes.patches] == [(0.04, 1.06), (1.04, 1.06)]
    assert {text.get_text() for text in axes.texts if text.get_fontweight() == "bold"} == {"100"}


def test_long_names_stand_beside_one_another(run_folder):
    """The titles of narrow panels do not run into each other."""
    (plot,) = heat_maps(run_folder(shapes(("reduceSmemUnrollDyn", "reduceWithAVeryLongNameIndeed", "c"))))
    figure = sheet(plot)
    figure.draw_without_rendering()
    renderer = FigureCanvasAgg(figure).get_renderer()
    boxes = [axes._left_title.get_window_extent(renderer) for axes in figure.axes]
    assert not any(one.overlaps(other) for one, other in itertools.combinations(boxes, 2))
    assert all(box.x1 < figure.bbox.x1 for box in boxes)


def test_what_else_varies_is_the_fastest_and_said(run_folder):
    """A cell of several unrolls is the fastest of them, and the caption says of what."""
    rows = [
        row | {"unroll": unroll, "median_us": float(row["median_us"]) * factor}
        for row in shapes()
        for unroll, factor in ((2, 3), (4, 1))
    ]
    (plot,) = heat_maps(run_folder(rows))
    assert "the fastest unroll" in plot.caption
    assert {row["unroll"] for row in table(plot)} == {"4"}


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
    (plot,) = heat_maps(run_folder(rows, columns=columns))
    assert (plot.axes, plot.stem) == (("unroll", "width"), "heatmap-unroll-by-width")
    assert percents(plot)[0] == [100, 87, 68, 48]
    assert "at 2^24" in plot.title
    six = [row | {"unroll": unroll} for row in shapes() for unroll in range(1, 7)]
    assert heat_maps(run_folder(six, "six"))[0].axes == ("block", "size")  # these come before what varies more


def test_cells_without_a_time_say_why(run_folder):
    """A skipped and a failed case are hatched and have their word and their row; what was not asked for is empty."""
    rows = [row for row in shapes() if (row["block"], row["size"]) != (256, 2**22)]
    rows[0] = runs.failed(0, "skipped", "x", kernel="a", block=64, size=2**20)
    rows += shapes(blocks=(512,))
    rows[-1] = runs.failed(1, "launch_error", "x", kernel="a", block=512, size=2**22)
    (plot,) = heat_maps(run_folder(rows))
    found = table(plot)
    assert len(found) == 7
    assert (found[0]["status"], found[0]["percent_of_best"], found[0]["median_us"]) == ("skipped", "", "")
    assert (found[1]["block"], found[1]["size"]) == ("64", str(2**22))
    assert round(float(found[1]["percent_of_best"]), 3) == 80
    (axes,) = sheet(plot).axes
    assert {"skipped", "launch\nerror"} <= {text.get_text() for text in axes.texts}
    assert sum(bool(patch.get_hatch()) for patch in axes.patches) == 2


def test_few_panels_and_what_is_left_out(run_folder):
    """Nine kernels are drawn, those in which the choice matters most; the others are named."""
    rows = shapes([f"k{n}" for n in range(10)])
    for row in rows:
        if row["kernel"] == "k3":
            row["median_us"] = row["size"] / 1e5
    (plot,) = heat_maps(run_folder([*rows, *shapes(("one",), blocks=(64,))]))
    assert [panel.title for panel in plot.panels] == [f"k{n}" for n in range(10) if n != 3]
    assert "less there: k3 and one." in plot.caption


def test_many_sizes_have_colours_and_no_numbers(run_folder):
    """Where numbers would run into each other, the frame still marks the best of each of thirty sizes."""
    (plot,) = heat_maps(run_folder(shapes(sizes=[2**n for n in range(1, 31)])))
    (axes,) = sheet(plot).axes
    assert (len(plot.columns), len(axes.patches), len(axes.texts)) == (30, 30, 0)


def test_nothing_to_choose_between_is_no_heat_map(run_folder):
    """Bars of two by two, one block, and a diagonal of sizes and blocks have none."""
    assert heat_maps(run_folder(shapes(blocks=(64, 128)), "square")) == []
    assert heat_maps(run_folder(shapes(blocks=(64,)), "line")) == []
    diagonal = [runs.row(block=2**n, size=2**n) | runs.timing(9, 2**n) for n in range(5, 11)]
    assert heat_maps(run_folder(diagonal, "diagonal")) == []


def test_dtypes_are_kept_apart(run_folder):
    """Each dtype has its panel."""
    (plot,) = heat_maps(run_folder([*shapes(dtype="int32"), *shapes(dtype="float32")]))
    assert [panel.title for panel in plot.panels] == ["a, int32", "a, float32"]


def test_letters_can_be_read_on_every_colour():
    """Each of the colours has letters of at least 4.5 times its luminance, as WCAG asks for."""

    def luminance(colour):
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in to_rgb(colour)]
        return np.dot((0.2126, 0.7152, 0.0722), linear)

    cividis = mpl.colormaps["cividis"]
    for percent in range(101):
        low, high = sorted(
            (
                luminance(cividis((max(percent, MIN_PERCENT) - DARKEST_PERCENT) / (100 - DARKEST_PERCENT))),
                luminance(ink(percent)),
            )
        )
        assert (high + 0.05) / (low + 0.05) >= 4.5
