import json

import pandas as pd
import pytest
import report_runs as runs

from runner.errors import UsageError
from runner.record.frame import NOT_REACHED
from runner.record.run import read


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
    with pytest.raises(UsageError, match=rf"results\.csv, {words}.*`python -m runner\.report \S+` rebuilds the table"):
        read(folder)
