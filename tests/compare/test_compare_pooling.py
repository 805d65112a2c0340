"""One side of a comparison measured several times, `A1,A2 B1,B2`, and runs that rank their cases by a metric."""

import json
import re
import shutil

import compare_runs
import pytest
from compare_runs import STEADY, environment, failed, timed, write

from runner.record.ranking import fastest
from runner.record.run import read
from runner.report.findings import judge
from runner.report.page import write as write_page
from runner.report.tables import all_cases

GROWING = 0.02  # by which the device is slower after each sweep


@pytest.fixture
def abba(tmp_path):
    """Sweeps of ten cases in the order A1 B1 B2 A2 on a device that becomes slower by 2 % from each to the next.

    B changes the machine code of all kernels, and the time of the first one by the factor `of`.
    """

    def write_runs(of=1.0):
        for place, name in enumerate(["A1", "B1", "B2", "A2"]):
            slower = 1 + GROWING * place
            rows = [
                timed(n, 100 * slower * (of if n == 0 and name[0] == "B" else 1), binary=f"{name[0]}{n}")
                for n in range(10)
            ]
            write(tmp_path / name, rows)

    return write_runs


def test_a_steady_drift_cancels(compare, abba):
    """Two sweeps in sequence differ by the drift alone; measured A B B A, they are the same."""
    abba()
    assert "10 slower" in compare.folders("A1", "B1").out
    result = compare.folders("A1,A2", "B1,B2")
    assert (result.code, "0 faster, 0 slower" in result.out) == (0, True)


def test_a_change_is_found_beside_a_drift(compare, abba):
    """The kernel whose time doubled is found with its true ratio."""
    abba(2.0)
    result = compare.folders("A1,A2", "B1,B2")
    assert (result.code, "1 slower" in result.out, "2.00x slower" in result.out) == (1, True, True)


def test_runs_of_a_single_round_are_processes_of_their_own(compare, tmp_path):
    """Five sweeps of one round each on both sides count as five rounds in fresh processes: 1.5 % is found."""
    timing = {"timing": {"rounds": 1, "fresh_process": False}}
    for n, spread in enumerate(STEADY):
        write(tmp_path / f"A{n}", [timed(0, 100 * (1 + spread), (0.0,), binary="a")], given=environment(**timing))
        write(tmp_path / f"B{n}", [timed(0, 101.5 * (1 + spread), (0.0,), binary="b")], given=environment(**timing))
    sides = [",".join(f"{name}{n}" for n in range(5)) for name in "AB"]
    assert "1 slower" in compare.folders(*sides).out


MODELS = ("NVIDIA H100 4b1c2f0a", "NVIDIA H200 9d1c2f0a")


def test_each_model_of_gpu_is_compared_with_itself(compare, tmp_path):
    """Two sweeps measured a case on two models: on the second one it became slower, and no row is in doubt."""
    for name, slower in (("A", 1.0), ("B", 1.5)):
        rows = [timed(n, 100 * slower**n, binary=f"{name}{n}", case="abc", gpu=gpu) for n, gpu in enumerate(MODELS)]
        write(tmp_path / name, rows, further=("gpu",))
    said = compare.folders("A", "B").out
    assert "1 slower" in said
    assert "1 same" in said


def test_gpus_that_measured_all_cases_are_one_side(compare, tmp_path):
    """Both GPUs measured the case in both sweeps: their rounds count together."""
    given = environment() | {"launcher": {"replicate": True}}
    for name, slower in (("A", 1.0), ("B", 1.5)):
        gpus = [f"NVIDIA H200 GPU-{n}b1c2f0a-1111-2222-3333-444455556666" for n in range(2)]
        rows = [timed(n, (100 + n / 5) * slower, binary=name, case="abc", gpu=gpu) for n, gpu in enumerate(gpus)]
        write(tmp_path / name, rows, given=given, further=("gpu",))
    said = compare.folders("A", "B").out
    assert "1 slower" in said
    assert "1.50x slower" in said


STATES = {"ok": timed(0, 100, binary="b"), "failed": failed(0), "idle": failed(0, "not_run", "")}


@pytest.mark.parametrize("first", STATES)
@pytest.mark.parametrize("second", STATES)
def test_what_failed_in_any_run_of_a_side_failed(compare, tmp_path, first, second):
    """In a side's two runs, in either order, a failure outweighs a right case, which outweighs one that did not run."""
    write(tmp_path / "A", [timed(0, 100, binary="a")])
    for name, state in (("B1", first), ("B2", second)):
        write(tmp_path / name, [STATES[state]])
    word = "BROKEN" if "failed" in (first, second) else "not compared" if first == second == "idle" else "same"
    assert compare.folders("A", "B1,B2").words() == {"0": word}


def test_runs_of_another_device_are_no_one_side(compare, tmp_path):
    """Two GPUs are not one side, though the machine code is the same."""
    for name, device in (("A1", {}), ("A2", {"name": "NVIDIA H100"}), ("B", {})):
        write(tmp_path / name, [timed(0, 100, binary="a")], given=environment(**device))
    result = compare.folders("A1,A2", "B")
    assert (result.code, "cuda.name is NVIDIA H200 and NVIDIA H100" in result.err) == (2, True)


@pytest.mark.parametrize(
    ("sides", "words"),
    [
        (("A1,B1", "B2"), "B1 cannot be pooled with A1, as it does not repeat the same sweep"),
        (("A1,A1", "B1"), "named twice"),
        (("A1,B1", "B1"), "B1"),
        (("A1,A9", "B1"), "A9: there is no such folder"),
    ],
)
def test_sides_that_make_no_sense_are_refused(compare, abba, sides, words):
    """Runs of other machine code, a run on both sides, or a missing run: one sentence, and exit status 2."""
    abba()
    result = compare.folders(*sides)
    assert (result.code, words in result.err, result.err.count("\n")) == (2, True, 1)


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
    heads = re.findall(r'<th[^>]* data-name="(\w+)"', page)
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
