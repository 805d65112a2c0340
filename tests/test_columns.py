"""The table of columns, and what follows from it."""

import csv
import subprocess
import sys

from support import ROOT

from runner.columns import BY_NAME, COLUMNS, RESERVED, table_names
from runner.compose import schema
from runner.record import stored_rows
from runner.record.folder import RunFolder
from runner.record.run import read
from runner.report.tables import all_cases


def test_the_table_in_the_documentation_is_current():
    """docs/results.md has the columns as they are, each with its meaning."""
    command = [sys.executable, str(ROOT / "tools" / "columns_table.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_each_column_has_a_name_of_its_own_and_a_meaning():
    """No two columns share a name."""
    assert len(BY_NAME) == len(COLUMNS)
    assert all(column.meaning.endswith(".") for column in COLUMNS)


def test_own_parameters_follow_the_common_ones():
    """The columns that kernels declare stand between dtype and seed, in the order of the vocabulary."""
    names = stored_rows.names([{"kernel": "a", "stride": 1, "pad": 2}, {"kernel": "b", "another": 3}])
    at = names.index("dtype")
    assert names[at : at + 5] == ["dtype", "pad", "another", "stride", "seed"]
    assert table_names([])[:4] == ["case", "kernel", "block", "block_x"]


def test_no_parameter_is_called_like_a_result():
    """A kernel may declare the common parameters, and no other column."""
    assert {"status", "rows", "case", "emulated", "timing"} <= RESERVED
    assert {"size", "block", "width", "mask", "unroll", "dtype"}.isdisjoint(RESERVED)


def test_no_parameter_is_called_like_a_key_of_the_configuration():
    """A kernel that declared one ended every command in a traceback, as a key cannot be registered twice."""
    assert set(schema.KEYS) <= RESERVED


def test_what_is_written_is_read(tmp_path):
    """Each type survives the CSV: large integers stay whole, masks keep their zeros, real numbers their digits."""
    known = {"case": "c", "kernel": "k", "status": "ok", "device": "cuda"}
    row = {**known, "mask": "0x0000ffff", "size": 2**62, "gbps": 1 / 3, "job": 3, "pad": 7}
    stored_rows.write(RunFolder(tmp_path), [row, {**row, "size": None, "job": 4}])
    with (tmp_path / "results.csv").open(encoding="utf-8") as stream:
        assert next(csv.DictReader(stream))["size"] == str(2**62)
    run = read(tmp_path)
    assert {name: run.frame.loc[0, name] for name in row} == row
    assert str(run.frame["size"].dtype) == str(run.frame["job"].dtype) == str(run.frame["operations"].dtype) == "Int64"


def test_the_reports_columns_are_those_of_the_table(tmp_path):
    """Every column that the report shows is there as soon as a row has it."""
    given = {"kernel": "k", "status": "ok", "device": "cuda"}
    values = {"text": "word", "integer": 5, "real": 1.5, "flag": True}
    rows = [
        {column.name: values[column.type] for column in COLUMNS} | given | {"block": n, "registers": n} for n in "12"
    ]
    stored_rows.write(RunFolder(tmp_path), rows)
    found = all_cases(read(tmp_path), {})
    assert {"median_us", "ci_low_us to ci_high_us", "gbps", "registers"} <= set(found.columns)
    assert found.on_request
    assert found.columns.index("gbps") < found.columns.index(found.on_request) <= found.columns.index("registers")
