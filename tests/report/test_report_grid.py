import re

import report_runs as runs
from shuffle_rows import COLUMNS

from runner.report import build
from runner.report.figures.status_grid import grid_plots
from runner.report.table import load

REASON = "{}.cu:21: lane 16 calls __shfl_down_sync with a mask that does not name it\nand more"


def hazards():
    """Three kernels that break a rule, each beside its repaired form."""
    rows = []
    for kernel in ("barrierDivergent", "maskWithoutCaller", "maskNamesAbsent"):
        rows.append(runs.failed(len(rows), "hazard", REASON.format(kernel), kernel=kernel, repaired=0, device="cpu"))
        rows.append(runs.row(len(rows), kernel=kernel, repaired=1, device="cpu", median_us=6))
    return rows


def test_kernels_stand_down_and_what_varies_across(run_folder):
    """The counterexamples are a grid of three by two, a word in each cell, and the reasons' first lines below."""
    (plot,) = grid_plots(load(run_folder(hazards(), columns=COLUMNS)))
    assert plot.down == ("barrierDivergent", "maskWithoutCaller", "maskNamesAbsent")
    assert (plot.across, plot.columns) == ("repaired", ("0", "1"))
    assert [[cell.words for cell in line] for line in plot.cells] == [["hazard", "ok"]] * 3
    assert [line[0].reason for line in plot.cells] == [1, 2, 3]
    assert plot.reasons[0] == "hazard: " + REASON.format("barrierDivergent").splitlines()[0]
    assert plot.notes == "6 cases: 3 ok and 3 hazard."


def test_the_words_are_in_the_figure_and_in_its_description(run_folder):
    """Statuses are written, not only tinted, and read to those who cannot see them."""
    folder = run_folder(hazards(), columns=COLUMNS)
    page = build(folder).read_text("utf-8")
    svg = (folder / "figures" / "statuses.svg").read_text("utf-8")
    assert svg.count("<!-- hazard (") == 3
    assert svg.count("<!-- ok -->") == 3
    assert re.search(r'alt="What became of the cases\. barrierDivergent, 0: hazard', page)


def test_what_is_too_wide_goes_down(run_folder):
    """Twenty combinations of two parameters are four rows of five."""
    rows = [
        runs.failed(0, "skipped", "too wide", block=block, width=width)
        for block in (32, 64, 128, 256)
        for width in (2, 4, 8, 16, 64)
    ]
    (plot,) = grid_plots(load(run_folder(rows, columns=COLUMNS)))
    assert (len(plot.down), plot.across, plot.columns) == (4, "width", ("2", "4", "8", "16", "64"))
    assert plot.down[0] == "reduceShfl, block 32"


def test_where_all_is_well_or_too_much_there_is_none(run_folder):
    """No grid for runs that are ok, for a single case, and for more than twelve columns and twenty rows hold."""
    assert grid_plots(load(run_folder(runs.sweep(), "good"))) == []
    assert grid_plots(load(run_folder([runs.failed(0, "hazard", "x")], "single"))) == []
    many = [runs.failed(n, "skipped", "x", size=2**20 + n, block=32 * (n + 1)) for n in range(30)]
    assert grid_plots(load(run_folder(many, "many"))) == []


def test_unlike_outcomes_of_one_cell_are_counted(run_folder):
    """Two rows of the same case and different statuses are both told."""
    rows = [runs.row(0), runs.failed(1, "timeout", "too long"), runs.failed(2, "timeout", "too long")]
    (plot,) = grid_plots(load(run_folder(rows, columns=COLUMNS)))
    assert plot.cells[0][0].words == "1 ok, 2 timeout"
    assert plot.cells[0][0].kind == "mixed"
