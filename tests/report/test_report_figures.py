import itertools
import xml.etree.ElementTree as ET

import pytest
import report_runs as runs
from drawing import chosen, drawn, sheet, table, words
from shuffle_rows import COLUMNS, butterfly

from runner.display.text import size_of
from runner.report import build


def stems(folder):
    """The names of the figures that are chosen."""
    return [one.stem for one in chosen(folder)]


def test_a_gpu_sweep_shows_bandwidth_time_and_block(run_folder):
    """Bandwidth and time against size, the blocks at the largest size, then the shape, then the baseline."""
    assert [(one.stem, one.section) for one in chosen(run_folder(runs.sweep()))] == [
        ("bandwidth-by-size", "times"),
        ("time-by-size", "times"),
        ("bandwidth-by-block", "times"),
        ("heatmap-block-by-size", "shape"),
        ("speedup-by-size", "baseline"),
    ]


def test_emulated_times_have_no_figure(run_folder):
    """A sweep of the CPU device has lane pictures only, and beside a GPU's times its own are not drawn."""
    shuffles = [{**row, "device": "cpu"} for row in butterfly()]
    emulated = [{**row, "device": "cpu"} for row in runs.sweep()]
    assert stems(run_folder([*emulated, *shuffles], "cpu", columns=COLUMNS)) == ["lanes-shflXor"]
    both = run_folder([*emulated, *runs.sweep()], "both")
    assert stems(both) == stems(run_folder(runs.sweep(), "gpu"))
    assert all({row["device"] for row in one.rows()} == {"cuda"} for one in chosen(both))


def test_nothing_to_show(run_folder):
    """A single case, failures alone, and no cases at all have no figure."""
    assert stems(run_folder([runs.row() | runs.timing(9, 2**24)], "single")) == []
    assert stems(run_folder([runs.failed(0, "crashed", "x")], "crashed")) == []
    assert stems(run_folder([], "empty")) == []


def test_one_kernel_by_one_parameter(run_folder):
    """A sweep of one further parameter is shown against it, in the order of its values."""
    folder = run_folder([runs.row(n, width=2**n) | runs.timing(9 - n, 2**24) for n in range(6)])
    (plot,) = chosen(folder)
    assert (plot.stem, plot.x, len(plot.rows())) == ("bandwidth-by-width", "width", 6)


def test_dtypes_and_families_are_never_mixed(run_folder):
    """Each dtype has its panel, each family its figures."""
    rows = [
        runs.row(n, dtype=dtype, size=size, family=family) | runs.timing(9, size)
        for n, (dtype, size, family) in enumerate(
            itertools.product(("int32", "float32"), (2**20, 2**22), ("reduce", "scan"))
        )
    ]
    plots = chosen(run_folder(rows))
    assert [plot.stem for plot in plots] == [
        "bandwidth-by-size-cuda-reduce", "time-by-size-cuda-reduce",
        "bandwidth-by-size-cuda-scan", "time-by-size-cuda-scan",
    ]  # fmt: skip
    for plot in plots:
        assert [panel.title for panel in plot.panels] == ["dtype int32", "dtype float32"]
        assert all(len({(row["dtype"], row["family"]) for row in panel.rows}) == 1 for panel in plot.panels)


def test_further_parameters_become_panels(run_folder):
    """Each value of unroll has its panel, and a kernel without unroll is in all of them."""
    rows = [
        runs.row(kernel=kernel, unroll=unroll, size=size) | runs.timing(9, size)
        for kernel, unrolls in (("plain", ("",)), ("unrolled", (2, 4)))
        for unroll in unrolls
        for size in (2**20, 2**22)
    ]
    plot = chosen(run_folder(rows))[0]
    assert [panel.title for panel in plot.panels] == ["unroll 2", "unroll 4"]
    assert all({row["kernel"] for row in panel.rows} == {"plain", "unrolled"} for panel in plot.panels)
    assert {"plain", "unrolled", "unroll 2", "unroll 4"} <= set(words(plot))


def test_every_kernel_has_a_look_of_its_own(run_folder):
    """Fourteen lines differ in colour, marker or dash, and the legend names each in the order of their ends."""
    sizes = (2**20, 2**24)
    rows = [runs.row(kernel=f"k{n:02}", size=size) | runs.timing(9 + n, size) for n in range(14) for size in sizes]
    figure = sheet(chosen(run_folder(rows))[0])
    lines = [line for line in figure.axes[0].lines if line.get_label().startswith("k")]
    assert len({(line.get_color(), line.get_marker(), line.get_linestyle()) for line in lines}) == 14
    named = [text.get_text() for text in figure.legends[0].get_texts()]
    assert [name for name in named if name.startswith("k")] == [f"k{n:02}" for n in range(14)]


def test_a_ceiling_is_called_one(run_folder):
    """A kernel that does less than the others stands in the legend as a ceiling."""
    rows = [runs.row(n, kernel="many", block=64 << n) | runs.timing(9 + n, 2**24) for n in range(3)]
    rows.append(runs.row(4, kernel="copy", block=256, ceiling="True") | runs.timing(6, 2**24))
    plot = next(
        plot for plot in chosen(run_folder(rows, columns=[*runs.COLUMNS, "ceiling"])) if "by-block" in plot.stem
    )
    assert "copy (ceiling)" in words(plot)


def test_the_bandwidth_figure_has_sizes_limits_and_the_fastest_block(run_folder):
    """The peak and the bandwidth of a copy, ticks at the sizes; a point is the fastest of the blocks, and the caption says so."""
    plot = chosen(run_folder(runs.sweep()))[0]
    assert {row["block"] for row in plot.rows()} == {"256"}
    assert "the best block" in plot.caption
    told = words(plot)
    assert {"peak 4,800 GB/s", "copy 4,200 GB/s", "2^18", "2^20", "2^22", "2^24"} <= set(told)
    assert "2^19" not in told


def test_figures_are_well_formed_whatever_the_names(run_folder):
    """Dollars, angle brackets, foreign letters and control characters are drawn or replaced, never obeyed."""
    names = ["$x^2$", "<script>&amp;", "커널", "a\u202eb\x07c--", "n" * 300]
    rows = [runs.row(kernel=name, size=size) | runs.timing(9, size) for name in names for size in (2**20, 2**22)]
    rows += [{**row, "kernel": names[1]} for row in butterfly()]
    found = drawn(run_folder(rows, columns=COLUMNS))
    for one in found.values():
        assert ET.fromstring(one.files["svg"]).tag.endswith("svg")
    assert len(found) == 3
    assert {"$x^2$", "커널"} <= set(words(found["bandwidth-by-size"].files["svg"]))


@pytest.mark.parametrize(
    ("given", "stem", "names"),
    [
        (
            [{"kernel": k, "block": b} for k, b in itertools.product(("reduceShfl", "reduceSmem"), ("128", "256"))],
            "time-by-kernel",
            {"reduceShfl, block 128", "reduceSmem, block 256"},
        ),
        ([{"dtype": d} for d in ("int32", "int64", "float32")], "time-by-dtype", {"reduceShfl, float32"}),
        (
            [
                {"size": 2**22, "rows": r, "cols": 2**22 // r, "block": b, "block_x": "", "block_y": ""}
                for r, b in itertools.product((4096, 1024), ("32x8", "16x16"))
            ],
            "bandwidth-by-block",
            {"16x16", "32x8", "Bandwidth by block at 4096x1024"},
        ),
    ],
)
def test_one_size_shows_what_differs(run_folder, given, stem, names):
    """Few values have a bar each, named by what tells it apart; so have dtypes; blocks of two sides keep their names."""
    folder = run_folder([runs.row(n, **own) | runs.timing(9 + n, 2**24) for n, own in enumerate(given)])
    (plot,) = chosen(folder)
    assert plot.stem == stem
    assert names <= set(words(plot))


def test_every_figure_is_there_three_times(run_folder):
    """SVG, PNG and CSV of each, those of an earlier report gone, and files that are not the report's kept.

    The CSV has the numbers of the points, and a bar's speed-up.
    """
    folder = run_folder(runs.sweep())
    (folder / "figures").mkdir()
    for name in ("time-by-width.svg", "time-by-width.csv", "statuses.svg", "lanes-shflUp.png", "mine.png", "notes.txt"):
        (folder / "figures" / name).write_text("old")
    build(folder)
    found = sorted(path.name for path in (folder / "figures").iterdir())
    made = [f"{stem}.{ending}" for stem in stems(folder) for ending in ("svg", "png", "csv")]
    assert found == sorted([*made, "mine.png", "notes.txt"])
    rows = table(chosen(folder)[0])
    assert (len(rows), rows[0]["kernel"], rows[0]["block"]) == (6 * 4, "reduceGmem", "256")
    assert {"size", "median_us", "q1_us", "q3_us", "gbps", "percent_peak"} <= set(rows[0])
    assert "rows" not in rows[0]  # it is empty
    bars = chosen(run_folder(runs.sweep(sizes=(24,), blocks=(256,)), "bars"))[0]
    speedups = {row["kernel"]: (row["speedup"][:4], row["baseline"]) for row in table(bars)}
    assert (speedups["reduceSmem"], speedups["reduceGmem"]) == (("1.33", "reduceGmem"), ("", ""))


def test_figures_of_240_cases_leave_room_for_the_page(run_folder):
    """All figures of a large sweep together stay small enough for a page below 1 MB, which holds them as base64."""
    found = drawn(run_folder(runs.sweep(sizes=tuple(range(14, 30, 2)), blocks=(64, 128, 256, 512, 1024))))
    assert sum(len(one.files["svg"]) for one in found.values()) * 4 / 3 < 700_000


def test_energy_is_drawn_against_time(run_folder):
    """A run with joules has a panel for each size of several cases, with every case; others have none."""
    rows = runs.sweep()
    columns = [*runs.COLUMNS, "ceiling", "joules", "joules_ci", "energy_us", "energy_w"]
    for number, row in enumerate(rows):
        us, watts = float(row["median_us"]), 200 + 10 * (number % 7)
        row |= {"energy_us": us, "energy_w": watts, "joules": watts * us * 1e-6, "joules_ci": us * 1e-6}
        row["ceiling"] = number % 2 == 0  # has its energy, too
    (figure,) = [one for one in chosen(run_folder(rows, columns=columns)) if one.stem == "energy"]
    assert sorted(row["case"] for row in figure.rows()) == sorted(row["case"] for _, of in figure.panels for row in of)
    assert len(figure.panels) == min(6, len({row["size"] for row in rows}))
    found = words(figure)
    assert {"300 W", "energy of a launch (J)"} <= set(found)


def test_options_of_a_compiler_are_named_without_dashes(run_folder):
    """On an axis and over panels they are told apart though they are long."""
    given = ["none", "--use_fast_math", "-Xptxas=-dlcm=cg --fmad=false", "-Xptxas=-dlcm=ca"]
    rows = [runs.row(n, compile_options=one) | runs.timing(9 + n, 2**24) for n, one in enumerate(given)]
    (plot,) = chosen(run_folder(rows, columns=[*runs.COLUMNS[:11], "compile_options", *runs.COLUMNS[11:]]))
    assert plot.stem == "bandwidth-by-compile_options"
    assert {"none", "use_fast_math", "dlcm=cg fmad=false", "dlcm=ca"} <= set(words(plot))


def speedups(folder):
    """The figures of speed-ups of a folder."""
    return chosen(folder, "baseline")


def test_a_panel_a_kernel_against_the_size(run_folder):
    """Each kernel that has a baseline has its panel, named after both, with a point a size."""
    (plot,) = speedups(run_folder(runs.sweep()))
    assert plot.stem == "speedup-by-size"
    assert [(panel.title, panel.baseline) for panel in plot.panels][:2] == [
        ("reduceGmemUnroll", "reduceGmem"),
        ("reduceSmem", "reduceGmem"),
    ]
    assert "reduceGmem" not in [panel.kernel for panel in plot.panels]  # it is nobody's but its own baseline
    assert [size_of(point.fastest[0]) for point in plot.panels[0].points] == ["2^18", "2^20", "2^22", "2^24"]
    last = plot.panels[0].points[-1]
    assert len(last.pairs) == 3
    assert round(last.fastest[1].times, 2) == 2.29


def test_the_figure_has_a_line_at_one_and_a_logarithmic_axis(run_folder):
    """All panels share one logarithmic axis with a line at 1x, and the last mean stands in digits beside it."""
    (plot,) = speedups(run_folder(runs.sweep()))
    figure = sheet(plot)
    assert len(figure.axes) == 5
    assert len({axes.get_ylim() for axes in figure.axes}) == 1
    for axes, panel in zip(figure.axes, plot.panels, strict=True):
        assert axes.get_yscale() == "log"
        assert any(list(line.get_ydata()) == [1, 1] for line in axes.lines)
        assert [text.get_text() for text in axes.texts] == [f"{panel.points[-1].fastest[1].times:.2f}x"]


def test_without_ratios_there_is_none(run_folder):
    """No baseline, a baseline that was not run, one that failed, the CPU device, and a single size have no figure."""
    assert speedups(run_folder([runs.row() | runs.timing(9, 2**24)], "none")) == []
    alone = [row for row in runs.sweep() if row["kernel"] == "reduceSmem"]
    assert speedups(run_folder(alone, "alone")) == []
    failed = [row | {"status": "mismatch"} if row["kernel"] == "reduceGmem" else row for row in runs.sweep()]
    found = speedups(run_folder(failed, "failed"))
    assert all(panel.baseline != "reduceGmem" for plot in found for panel in plot.panels)
    assert speedups(run_folder(runs.emulated(), "cpu")) == []
    assert speedups(run_folder(runs.sweep(sizes=(24,)), "size")) == []


def test_unlike_finishes_are_said(run_folder):
    """A kernel that leaves the whole result is told apart from a baseline that leaves the rest to the host."""
    rows = [row | {"finish": "device"} if row["kernel"] == "reduceShfl" else row for row in runs.sweep()]
    (plot,) = speedups(run_folder(rows))
    assert ("reduceShfl (finish device)", "reduceSmem (finish host)") in [(p.title, p.baseline) for p in plot.panels]


def test_too_many_kernels_are_named(run_folder):
    """Twelve panels are drawn; the notes name the rest."""
    rows = runs.sweep(sizes=(20, 24), blocks=(256,))[:2]
    for n in range(14):
        rows += [row | {"kernel": f"k{n}", "baseline": "reduceGmem"} for row in rows[:2]]
    (plot,) = speedups(run_folder(rows))
    assert len(plot.panels) == 12
    assert "Not drawn: k12 and k13; the table has them." in plot.caption


def test_the_table_has_a_row_a_ratio(run_folder):
    """The CSV has each case's ratio with its range, and best against best first."""
    rows = table(speedups(run_folder(runs.sweep()))[0])
    assert len(rows) == 5 * 4 * (3 + 1)
    assert (rows[0]["kernel"], rows[0]["baseline"], rows[0]["block"]) == ("reduceGmemUnroll", "reduceGmem", "256")
    assert [row["compared"] for row in rows[:4]] == ["best against best", *["equal parameters"] * 3]
    assert float(rows[0]["speedup_low"]) < float(rows[0]["speedup"]) < float(rows[0]["speedup_high"])
