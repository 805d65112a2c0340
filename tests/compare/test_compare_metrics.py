"""Runs that rank their cases by a metric: in the report, and compared with each other."""

import json
import re
import shutil

import compare_runs
import pytest
from compare_runs import timed

from runner.record.ranking import fastest
from runner.record.run import read
from runner.report.findings import judge
from runner.report.page import write as write_page
from runner.report.tables import all_cases

OPERATIONS = {"value": "operations / median_us / 1000.0", "unit": "GFLOP/s", "better": "higher"}
ABOVE_90 = {"value": "median_us - offset", "unit": "us", "better": "lower"}


@pytest.fixture
def ranked_by(tmp_path):
    """Write a run A with these rows, ranked by one of the metrics, and give its folder."""

    def call(rank_by, rows, name="A", **metrics):
        shutil.rmtree(tmp_path / name, ignore_errors=True)
        compare_runs.write(tmp_path / name, rows, further=("operations", *metrics))
        kernels = {row["kernel"] for row in rows}
        cases = [{"case": r["case"], "job": r["job"], "device": "cuda", "constants": {"offset": 90}} for r in rows]
        plan = {"jobs": len(rows), "cases": cases, "rank_by": rank_by, "metrics": dict.fromkeys(kernels, metrics)}
        (tmp_path / name / "plan.json").write_text(json.dumps(plan))
        return tmp_path / name

    return call


def test_the_best_is_that_of_the_metric(ranked_by):
    """The slower of two cases has more operations a second, and is the best; one without the metric is not ranked."""
    rows = [
        timed(0, 100, operations=10**6, gflops=10, block=64),
        timed(1, 120, operations=2 * 10**6, gflops=16.7, block=128),
        timed(2, 50, block=256),
    ]
    folder = ranked_by("gflops", rows, gflops=OPERATIONS)
    (best,) = fastest(read(folder))
    assert (best.fastest["block"], best.among, best.tied) == ("128", 2, ())
    assert "Best gflops at 2^20: reduceShfl, block 128 (120 µs, 16.7 GFLOP/s" in judge(read(folder)).headline
    (by_time,) = fastest(read(ranked_by("median_us", rows, "B", gflops=OPERATIONS)))
    assert by_time.fastest["block"] == "256"


def test_the_metric_is_an_axis_and_a_column_of_the_report(ranked_by):
    """What a run ranks its cases by is what its figures show against a parameter; the table has every metric."""
    rows = [timed(n, 100 + n, operations=10**6, gflops=10 - n / 10, above=10 + n, block=32 << n) for n in range(5)]
    folder = ranked_by("gflops", rows, gflops=OPERATIONS, above=ABOVE_90)
    page = write_page(read(folder), judge(read(folder))).read_text()
    assert "<h2>Best configuration per size, by gflops (higher is better)</h2>" in page
    assert "gflops (GFLOP/s, more is better)" in (folder / "figures" / "gflops-by-block.svg").read_text()
    heads = re.findall(r"<th[^>]*>\s*([\w ]+)", page)
    assert {"gflops", "above"} <= set(heads)
    ranked_by("above", rows, "B", gflops=OPERATIONS, above=ABOVE_90)
    write_page(read(folder.parent / "B"), judge(read(folder.parent / "B")))
    assert "above (us, less is better)" in (folder.parent / "B" / "figures" / "above-by-block.svg").read_text()


@pytest.mark.parametrize(
    ("us", "half", "by_time", "by_metric"),
    [
        (100.05, 0.0, (1, 0), (0, 1)), (100.8, 0.0, (0, 1), (0, 1)), (102.0, 0.0, (0, 0), (0, 0)),
        (102.0, 3.0, (0, 1), (0, 1)),
    ],
    ids=["a tie of times", "noise between identical cases", "another time", "wide intervals"],
)  # fmt: skip
def test_the_rule_sees_the_samples_through_the_metric(ranked_by, us, half, by_time, by_metric):
    """1 % of the time is 10 % of what lies above 90 us, and so is its noise: what is a tie of times may be undecided."""
    rows = [
        timed(n, median, block=block) | {"ci_low_us": median - half, "ci_high_us": median + half}
        for n, (median, block) in enumerate([(100.0, 64), (us, 128)])
    ]
    for name, rank_by, wanted in (("A", "above", by_metric), ("B", "median_us", by_time)):
        (best,) = fastest(read(ranked_by(rank_by, rows, name, above=ABOVE_90)))
        assert (best.fastest["block"], len(best.tied), len(best.undecided)) == ("64", *wanted)


def test_a_comparison_is_of_the_baselines_metric(ranked_by, compare):
    """What is the same time is worse in the metric of both; the change is that of the metric."""
    steady = (-0.0002, -0.0001, 0.0, 0.0001, 0.0002)
    for name, us in (("A", 100.0), ("B", 100.5)):
        ranked_by("above", [timed(0, us, steady)], name, above=ABOVE_90)
    result = compare.folders("A", "B")
    assert (result.words(), result.code) == ({"0": "slower"}, 1)
    assert float(result.rows[0]["change_percent"]) == pytest.approx(5.0, abs=0.1)
    assert "Compared by above (lower is better)" in result.out
    assert "10 to 10.5 us" in result.out
    ranked_by("median_us", [timed(0, 100.0, steady)], "C", above=ABOVE_90)
    assert compare.folders("C", "B").words() == {"0": "same"}


@pytest.mark.parametrize("plan", [None, '{"cases": 3}', '{"rank_by": "nothing"}', '{"metrics": [1]}'])
def test_a_table_without_its_plan_has_its_metrics_as_numbers(ranked_by, plan):
    """A missing or damaged plan keeps nobody from reading the results; the time ranks then."""
    folder = ranked_by("above", [timed(0, 100.0, above=10.25), timed(1, 110.0, above=20.5)], above=ABOVE_90)
    (folder / "plan.json").unlink()
    if plan:
        (folder / "plan.json").write_text(plan)
    run = read(folder)
    assert run.frame["above"].tolist() == [10.25, 20.5]
    assert run.criterion.is_time
    assert all_cases(run, {}).lines
