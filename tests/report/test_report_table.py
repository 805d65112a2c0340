"""How results.csv is read, and the report's ranking: the shared rule, and simulations of how often it is wrong."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import report_runs as runs

from runner.errors import UsageError
from runner.record.frame import NOT_REACHED
from runner.record.noise import DeviceNoise, read_device_noise
from runner.record.ranking import noise, rank
from runner.record.run import read
from runner.statistics import ASSUMED, Spread


def test_text_stays_text_and_numbers_become_numbers(run_folder):
    """A sum keeps its digits, a kernel called nan its name, a mask its zeros, and a missing integer stays missing."""
    given = runs.row(kernel="nan", value="9223372036854775807", mask="0x0000ffff", median_us="1.5", rows="")
    run = read(run_folder([given]))
    assert run.frame.loc[0, ["kernel", "value", "mask"]].tolist() == ["nan", "9223372036854775807", "0x0000ffff"]
    assert run.frame["median_us"].tolist() == [1.5]
    assert run.frame["rows"].dtype == "Int64"
    assert run.frame["rows"].isna().all()


@pytest.mark.parametrize("cell", ["", "nan", "inf", "-inf", "fast"])
def test_what_is_no_time_is_missing(run_folder, cell):
    """Empty, infinite and unreadable times are all no times."""
    assert read(run_folder([runs.row(median_us=cell)])).frame["median_us"].isna().all()


def test_two_columns_are_enough(run_folder):
    """A table of only kernel and status loads, with every other column there and empty."""
    run = read(run_folder([runs.row()], columns=["kernel", "status"]))
    assert run.frame.loc[0, "reason"] == ""
    assert pd.isna(run.frame.loc[0, "gbps"])


def test_parameters_that_kernels_declare_are_found_by_their_place(run_folder):
    """An unknown column ahead of the seed is a parameter; one behind it is a measurement."""
    rows = [runs.row(n, pad=n, hot_median_us=n) for n in (0, 1)]
    run = read(run_folder(rows, columns=[*runs.COLUMNS, "hot_median_us"]))
    assert run.varying == ["kernel", "pad"]
    assert run.frame["pad"].dtype == "Int64"


def test_constants_are_those_with_one_value(run_folder):
    """What is the same in all cases, or in all that have it, is told apart; what no case has is not told."""
    run = read(run_folder(runs.sweep()))
    assert run.constant == ["width", "mask", "dtype", "seed", "device"]
    assert run.where_read == ["unroll"]
    assert run.varying == ["kernel", "size", "block"]


def test_planned_cases_without_a_row_are_not_run(run_folder):
    """An interrupted run still tells what it did not reach."""
    folder = run_folder([runs.row(1)])
    planned = [{"case": f"{n:08x}", "kernel": "reduceShfl", "parameters": {"block": 64, "mask": 15}} for n in (1, 2)]
    (folder / "plan.json").write_text(json.dumps({"cases": planned}))
    last = read(folder).frame.iloc[-1]
    assert (last["status"], last["reason"], last["block"]) == ("not_run", NOT_REACHED, "64")
    assert last["mask"] == "0x0000000f"
    assert read(folder).varying == ["kernel", "block", "mask"]
    assert read(folder).where_read == ["size", "width"]
    assert "dtype" in read(folder).constant


@pytest.mark.parametrize("plan", ["", "[]", '{"cases": 3}', '{"cases": [{}]}'])
def test_a_torn_plan_hides_no_results(run_folder, plan):
    """A plan that cannot be read is left out."""
    folder = run_folder([runs.row()])
    (folder / "plan.json").write_text(plan)
    assert len(read(folder).frame) == 1


def test_a_path_that_is_no_run_is_a_mistake(tmp_path):
    """Each way of being no run folder has its own sentence."""
    with pytest.raises(UsageError, match="no such folder"):
        read(tmp_path / "missing")
    with pytest.raises(UsageError, match=r"no results\.csv"):
        read(tmp_path)
    (tmp_path / "results.csv").write_bytes(b"")
    with pytest.raises(UsageError, match="cannot be read"):
        read(tmp_path)
    (tmp_path / "results.csv").write_text("a,b\n1,2\n")
    with pytest.raises(UsageError, match="column kernel is missing"):
        read(tmp_path)


DAMAGE = {
    "cut in the header": (lambda text: text[:40], "line 1: the row is cut off"),
    "cut in a row": (lambda text: text[: text.rindex(",ok,") + 4], "line 3: the row is cut off"),
    "cut in a cell": (lambda text: text[: text.rindex(",") + 2], "line 3: the row is cut off"),
    "a foreign line": (lambda text: text + "garbage,1,2\n", "line 4: the row is cut off"),
    "a longer line": (lambda text: text.replace("\n", ",7\n").replace(",7", "", 1), "line 2: the row has"),
    "a row twice": (lambda text: text + text.splitlines(keepends=True)[-1], "line 4: this row is a duplicate"),
    "no status": (lambda text: text.replace(",ok,", ",,", 1), "line 2: the status is empty"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_table_is_refused(run_folder, damage):
    """No case is made of what is left of a table: the sentence says which line is wrong, and what rebuilds it."""
    change, words = DAMAGE[damage]
    rows = [runs.row(n, job=n) for n in (1, 2)]
    folder = run_folder(rows, columns=[*runs.COLUMNS, "job"])
    (folder / "1").mkdir()
    table = folder / "results.csv"
    table.write_text(change(table.read_text().replace("\r\n", "\n")))
    with pytest.raises(UsageError, match=rf"results\.csv, {words}.*`python -m runner report \S+` rebuilds the table"):
        read(folder)


CALIBRATED = {"points": [{"median_us": 25.0, "alike_percent": 0.15}, {"median_us": 250.0, "alike_percent": 0.1}]}
QUIET = DeviceNoise(alike=((100.0, 0.0),), spread=Spread(0.0, 100))


def case(number, median, half=0.0, rounds=5, spread=np.nan):
    """A row with a median, half of its interval, and what the rounds gave."""
    return {
        "row": number, "median_us": median, "ci_low_us": median - half, "ci_high_us": median + half,
        "rounds": rounds, "round_spread_percent": spread,
    }  # fmt: skip


def ranked(rows, known=QUIET):
    """The numbers of the fastest, the tied and the undecided rows."""
    found = rank(rows, known)
    return found.fastest["row"], *([row["row"] for row in part] for part in (found.tied, found.undecided))


def test_the_fastest_is_found_and_less_than_one_percent_is_a_tie():
    """The order of the rows does not matter, and tied cases come fastest first."""
    rows = [case(0, 100.8), case(1, 130.0), case(2, 100.0), case(3, 100.4), case(4, 101.2)]
    assert ranked(rows) == (2, [3, 0], [])
    assert rank(rows, QUIET).margin == pytest.approx(0.01)
    assert ranked([case(7, 5.0)]) == (7, [], [])


@pytest.mark.parametrize(
    ("half", "known"),
    [
        (3.0, QUIET),
        (0.0, replace(QUIET, alike=((100.0, 1.5),))),
        (0.0, replace(QUIET, spread=Spread(0.03, 100))),
        (0.0, replace(QUIET, tick_us=1.6)),
    ],
)
def test_noise_of_any_kind_keeps_a_case_from_being_slower(half, known):
    """Wide intervals, noise between identical cases or between rounds, and a coarse timer each hide 2.5 %."""
    assert ranked([case(0, 100.0), case(1, 102.5)]) == (0, [], [])
    fastest, tied, undecided = ranked([case(0, 100.0, half), case(1, 102.5, half)], known)
    assert (fastest, tied + undecided) == (0, [1])


def test_few_rounds_need_a_larger_difference():
    """1.5 % are slower with five rounds, and tied with three."""
    assert ranked([case(0, 100.0), case(1, 101.5)]) == (0, [], [])
    assert ranked([case(0, 100.0, rounds=3), case(1, 101.5, rounds=3)]) == (0, [1], [])


def test_the_spread_of_rounds_is_pooled_over_the_cases():
    """A case with more rounds weighs more, and a case of one round does not count."""
    rows = [case(0, 100.0, rounds=3, spread=1.0), case(1, 50.0, rounds=5, spread=2.0), case(2, 70.0, rounds=1)]
    found = noise(rows, {"noise": CALIBRATED, "event_tick_us": 0.032})
    assert found == DeviceNoise(((25.0, 0.15), (250.0, 0.1)), (), 0.032, Spread(pytest.approx(np.sqrt(3e-4)), 6))


@pytest.mark.parametrize(
    "points",
    [
        None, 5, "x", [{"median_us": 5}], [{"median_us": "?", "alike_percent": 1}], [{"median_us": 0, "alike_percent": 1}],
        [{"median_us": 10**400, "alike_percent": 1}], [{"median_us": 5, "alike_percent": 1e300}],
    ],
)  # fmt: skip
def test_an_uncalibrated_device_is_assumed_to_be_noisy(points):
    """Where nobody measured the noise, or its file is spoilt, that of a quiet GPU is assumed."""
    found = read_device_noise({"noise": {"points": points}}) if points else read_device_noise({})
    assert found == DeviceNoise()
    assert found.at(10.0).alike == ASSUMED
    assert noise([case(0, 100.0)], {}).spread.deviation == ASSUMED


def test_the_noise_of_the_nearest_time_counts():
    """Short kernels are noisier than long ones: the calibration of the most similar time holds."""
    found = read_device_noise({"noise": CALIBRATED})
    assert [found.at(us).alike for us in (1.0, 70.0, 90.0, 9000.0)] == pytest.approx([0.0015, 0.0015, 0.001, 0.001])


def sweeps(random, true, *, rounds, between=0.003, alike=0.0015, count=300):
    """Simulated sweeps of cases with these true times on a GPU like an H200, each as rows."""
    for _ in range(count):
        times = true * np.exp(random.normal(0, between, (rounds, len(true))) + random.normal(0, alike, len(true)))
        means = times.mean(axis=0)
        spreads = 100 * times.std(axis=0, ddof=1) / means if rounds > 1 else np.full(len(true), np.nan)
        yield [case(n, m, 0.001 * m, rounds, s) for n, (m, s) in enumerate(zip(means, spreads, strict=True))]


def slower(rows):
    """The numbers of the cases that are called slower than the fastest."""
    fastest, tied, undecided = ranked(rows, noise(rows, {"noise": CALIBRATED}))
    return {row["row"] for row in rows} - {fastest, *tied, *undecided}


@pytest.mark.parametrize("rounds", [1, 3, 5])
@pytest.mark.parametrize("cases", [2, 20])
def test_identical_cases_are_seldom_called_slower(rounds, cases):
    """In less than 5 of 100 sweeps any of the identical cases is called slower, though the fastest was chosen by luck."""
    true = np.full(cases, 25.0)
    assert np.mean([bool(slower(rows)) for rows in sweeps(np.random.default_rng(1), true, rounds=rounds)]) < 0.05


@pytest.mark.parametrize("rounds", [1, 3, 5])
def test_three_percent_slower_are_found(rounds):
    """Beside nineteen identical cases, one that takes 3 % longer is called slower in more than 90 of 100 sweeps."""
    true = 25.0 * np.array([1.0] * 19 + [1.03])
    found = [slower(rows) for rows in sweeps(np.random.default_rng(2), true, rounds=rounds)]
    assert np.mean([19 in numbers for numbers in found]) > 0.9


def test_noisy_rounds_do_not_make_cases_slower():
    """Where rounds differ by 2 %, identical cases are not called slower."""
    true = np.full(20, 25.0)
    found = [slower(rows) for rows in sweeps(np.random.default_rng(3), true, rounds=3, between=0.02)]
    assert np.mean([bool(numbers) for numbers in found]) < 0.05


def test_repeated_sweeps_seldom_contradict_each_other():
    """Hardly ever does one sweep call a case slower that another sweep ties with the fastest."""
    true = 25.0 * (1.0 + np.array([0.0, 0.001, 0.003, 0.006, 0.009, 0.013, 0.02, 0.035, 0.1, 0.2]))
    found = []
    for rows in sweeps(np.random.default_rng(7), true, rounds=3, count=100):
        fastest, tied, undecided = ranked(rows, noise(rows, {"noise": CALIBRATED}))
        found.append(({fastest, *tied}, set(range(len(true))) - {fastest, *tied, *undecided}))
    contradictions = [bool(tied & slow) for tied, _ in found for _, slow in found]
    assert np.mean(contradictions) < 0.05
    assert all({0, 1} & tied for tied, _ in found)
    assert all(slow >= {8, 9} for _, slow in found)
