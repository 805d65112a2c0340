import report_runs as runs
from drawing import chosen, sheet, table

from runner.display.text import size_of


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
