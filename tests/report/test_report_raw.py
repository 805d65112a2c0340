import tracemalloc

import numpy as np
import pytest
import report_runs as runs
from drawing import chosen, sheet, table
from matplotlib.patches import StepPatch

from runner.record.folder import RunFolder
from runner.report import build
from runner.statistics import SAMPLE

COLUMNS = [*runs.COLUMNS, "job"]


def samples(us, rounds=1, throttled=()):
    """Samples of rounds of equal length."""
    taken = np.zeros(len(us), SAMPLE)
    taken["us"], taken["round"] = us, 1 + np.arange(len(us)) * rounds // len(us)
    taken["throttled"][list(throttled)] = True
    return taken


def spread(percent, count=60):
    """Times about 10 µs whose quartiles are that far apart."""
    return 10 + 10 * percent / 100 * np.linspace(-1, 1, count)[np.arange(count) * 7 % count]


@pytest.fixture
def measured(run_folder):
    """Makes a folder of cases, each with its samples; the rows say what follows from them."""

    def make(taken, name="run", **given):
        rows = []
        for number, own in enumerate(taken):
            q1, median, q3 = np.percentile(own["us"], [25, 50, 75])
            medians = [np.median(own["us"][own["round"] == n]) for n in np.unique(own["round"])]
            between = 100 * np.std(medians, ddof=1) / np.mean(medians) if len(medians) > 1 else ""
            times = {
                "rounds": len(medians),
                "median_us": median,
                "q1_us": q1,
                "q3_us": q3,
                "round_spread_percent": between,
            }
            rows.append(runs.row(number, job=number, block=32 * (number + 1), **times, **given))
        folder = run_folder(rows, name, columns=COLUMNS)
        (folder / "samples").mkdir()
        for row, own in zip(rows, taken, strict=True):
            np.save(RunFolder(folder).samples(row["case"], row["job"]), own)
        return folder

    return make


def plots(folder):
    """The raw-sample figures of a folder."""
    return chosen(folder, "raw")


def test_only_a_large_spread_is_drawn(measured):
    """Quartiles 5 % apart are a large spread, 4 % are none; so are rounds that differ by 3 %, not those by 1 %."""
    steady = np.full(30, 10.0)
    between = [samples(np.concatenate([steady, steady * by]), 2) for by in (1.045, 1.012)]
    folder = measured([samples(spread(5.5)), samples(spread(3.9)), *between])
    found = plots(folder)
    assert [plot.stem for plot in found] == ["samples-00000002-2", "samples-00000000-0"]
    assert "rounds differ by 3.1 %" in found[0].caption
    assert "quartiles 5.5 % of the median apart" in found[1].caption


def test_the_worst_four_and_how_many_there_are(measured):
    """Of nine wide cases the four widest are drawn, the widest first, and each says of how many."""
    folder = measured([samples(spread(percent)) for percent in (6, 7, 8, 9, 10, 11, 12, 13, 14)])
    found = plots(folder)
    assert [int(plot.stem.rpartition("-")[2]) for plot in found] == [8, 7, 6, 5]
    assert "Number 1 of 9" in found[0].caption


def test_missing_torn_and_foreign_samples_are_left_out(measured):
    """A case whose file is missing, cut off, of another kind, too short or pickled has no figure and makes no error."""
    folder = measured([samples(spread(9)) for _ in range(7)] + [samples(spread(9, 9))])
    of = [RunFolder(folder).samples(f"{n:08x}", n) for n in range(8)]
    of[0].unlink()
    of[1].write_bytes(of[1].read_bytes()[:200])
    of[2].write_bytes(b"")
    np.save(of[3], np.zeros(40))
    np.save(of[4], np.array([{"a": 1}] * 40, dtype=object), allow_pickle=True)
    np.save(of[5], samples(np.full(40, np.nan)))
    assert [plot.stem for plot in plots(folder)] == ["samples-00000006-6"]


def test_a_case_named_like_a_path_is_left_out(run_folder):
    """No name in the table leads out of the folder."""
    given = {"median_us": 10, "q1_us": 9, "q3_us": 11}
    rows = [runs.row(job=0, **given) | {"case": "../../x"}, runs.row(job="../1", **given), runs.row(job="", **given)]
    folder = run_folder(rows, columns=COLUMNS)
    (folder / "samples").mkdir()
    np.save(folder.parent / "x-0.npy", samples(spread(9)))  # where that case's name would lead
    assert plots(folder) == []
    assert plots(run_folder([runs.row(**given)], "old")) == []  # of a table without jobs


def test_rounds_have_a_marker_and_a_number(measured):
    """Each round has its own colour and marker and its number above; a throttled sample is a cross."""
    us = spread(9, 90)
    folder = measured([samples(us, 3, throttled=(4, 5))])
    (plot,) = plots(folder)
    axes, histogram = sheet(plot).axes
    points = [line for line in axes.lines if line.get_linestyle() == "None" and len(line.get_xdata())]
    assert [(line.get_marker(), len(line.get_xdata())) for line in points] == [
        ("o", 28),
        ("s", 30),
        ("^", 30),
        ("x", 2),
    ]
    assert len({line.get_color() for line in points}) == 4
    assert [text.get_text() for text in axes.texts] == ["round 1", "round 2", "round 3"]
    assert "Crosses: 2 samples of a throttled GPU." in plot.caption
    assert "median 10.00 µs" in histogram.get_title()
    (bars,) = [patch for patch in histogram.patches if isinstance(patch, StepPatch)]
    assert bars.get_data().values.sum() == 90


def test_what_is_far_out_stands_at_the_edge(measured):
    """A sample of a hundred times the median does not flatten all others; it is a triangle at the edge, and told."""
    us = spread(9)
    us[30] = 1000
    folder = measured([samples(us)])
    (plot,) = plots(folder)
    axes, _ = sheet(plot).axes
    assert axes.get_ylim()[1] < 15
    (edge,) = [line for line in axes.lines if line.get_marker() == "^"]
    assert list(edge.get_ydata()) == [axes.get_ylim()[1]]
    assert "1 sample further up, the longest 1,000" in plot.caption


def test_thousands_of_samples_stay_a_small_file(measured):
    """Of many samples evenly picked ones are drawn, which is said; the CSV has all; the SVG stays below 60 KB."""
    taken = samples(spread(9, 5000), 10)
    folder = measured([taken])
    (plot,) = plots(folder)
    assert "250 of them" in plot.caption
    assert len(plot.picture()[0]) < 60_000
    rows = table(plot)
    assert len(rows) == 5000
    assert list(rows[0]) == ["sample", "round", "us", "enqueue_us", "throttled"]
    assert [float(row["us"]) for row in rows[:50]] == [float(f"{us:.9g}") for us in taken["us"][:50]]


def test_rows_of_samples_are_made_when_they_are_written(measured):
    """Choosing the figures of many samples, as a page of a running sweep does, does not make a row of each sample."""
    folder = measured([samples(spread(9, 50_000))])
    tracemalloc.start()
    try:
        plots(folder)
        assert tracemalloc.get_traced_memory()[1] < 10e6
    finally:
        tracemalloc.stop()


def test_emulated_samples_and_few_samples_have_no_figure(measured):
    """Samples of the CPU device are not drawn; fewer than ten of a GPU are no figure."""
    assert plots(measured([samples(spread(9))], "cpu", device="cpu")) == []
    assert [plot.stem for plot in plots(measured([samples(spread(9, 10)), samples(spread(9, 9))]))] == [
        "samples-00000000-0"
    ]


def test_the_report_has_them_beside_the_others(measured):
    """They are files like all figures."""
    folder = measured([samples(spread(9), 3), samples(spread(1), 3)])
    build(folder)
    names = sorted(path.name for path in (folder / "figures").glob("samples-*"))
    assert names == [f"samples-00000000-0.{ending}" for ending in ("csv", "png", "svg")]
