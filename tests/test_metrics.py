"""The table of columns, and those of a user's own: declared in a kernel's YAML and in an experiment."""

import csv
import json
import re
import subprocess
import sys

import pytest
from outcomes import rows as table
from support import ROOT, case_of, read_kernel

from runner.columns import BY_NAME, COLUMNS, RESERVED, STATUSES, table_names
from runner.compose import schema
from runner.errors import CaseError, UsageError
from runner.kernel.metrics import merged, read, require_rankable
from runner.record import run as reader
from runner.record import stored_rows
from runner.record.folder import RunFolder
from runner.record.ranking import IDLE, fastest
from runner.report.tables import all_cases

OWN = ROOT / "tests" / "kernels" / "own"
SWEEP = ("--config-dir", OWN, "experiment=mine", "kernel=axpy")


def test_metrics_are_columns_of_a_sweep(runner):
    """A kernel's metrics, an experiment's, and gflops by itself have the values that their expressions say."""
    done = runner(*SWEEP, "device=cpu")
    assert done.code == 0, done.err
    rows = table(done.folder)
    assert len(rows) == 4
    for row in rows:
        number = {name: float(row[name]) for name in ("intensity", "used", "reads")}
        blocks = -(-1000 // int(row["block"]))
        assert number == pytest.approx({"intensity": 2 / 12, "used": 1000 / (blocks * int(row["block"])), "reads": 8})
        assert row["gflops"] == row["scaled"] == "", "they are made of times, and the CPU device has none"
    assert "squares" not in rows[0]  # made from another kernel's parameter
    run = reader.read(done.folder)
    assert [str(run.frame[name].dtype) for name in ("gflops", "scaled")] == ["float64", "float64"]
    assert "scaled" not in run.own_parameters
    assert fastest(run) == []  # on the CPU device
    page = (done.folder / "report.html").read_text()
    heads = set(re.findall(r"<th[^>]*>\s*([\w ]+)", page))
    assert {"used", "kernel"} <= heads
    assert "scaled" not in heads  # made of times

    (done.folder / "2" / "result.json").unlink()
    before = [row["case"] for row in rows]
    resumed = runner(str(done.folder), module="runner.resume")
    assert resumed.code == 0, resumed.err
    rows = table(done.folder)
    assert [row["case"] for row in rows] == before
    assert all(row["used"] and row["intensity"] for row in rows)
    assert json.loads((done.folder / "plan.json").read_text())["rank_by"] == "scaled"


@pytest.mark.gpu
def test_a_metric_ranks_the_cases_of_a_gpu(runner):
    """The best case is that of the metric, and a comparison of two runs is of the metric, too."""
    first, second = (runner(*SWEEP, "size=4Mi", "device=cuda", f"hydra.sweep.dir={name}") for name in "ab")
    assert (first.code, second.code) == (0, 0), first.err + second.err
    assert "Best scaled" in first.out
    (best,) = fastest(reader.read(first.directory / "a"))
    assert best.fastest["scaled"] == max(float(row["scaled"]) for row in table(first.directory / "a"))
    compared = runner("a", "b", "--csv", "c.csv", module="runner.compare")
    assert "Compared by scaled (higher is better)" in compared.out


@pytest.mark.parametrize(
    ("metrics", "sentence"),
    [
        ({"x": "opertions / median_us"}, "names 'opertions', which is neither a parameter nor a column; did you mean operations?"),
        ({"x": "median_us / y", "y": "x"}, "'x' is defined by itself"),
        ({"x": "os.abort()"}, "calls an unknown function"),
        ({"x": {"valu": 1}}, "'valu' is not a valid key; allowed: better, unit, value"),
        ({"x": {"value": 1, "better": "more"}}, "better: expected lower or higher, not 'more'"),
        ({"x": ""}, "expected an expression, such as operations / median_us / 1e3"),
        ({"median_us": "1"}, "'median_us' is already the name of a parameter, a column or a key"),
        ({"block": "1"}, "'block' is already the name of a parameter"),
        ({"stride": "1"}, "'stride' is already the name of a parameter"),
        ({"A b": "1"}, "'A b' is not a valid name"),
        ("gflops", "expected metrics by name"),
    ],
)  # fmt: skip
def test_a_wrong_metric_is_one_sentence(metrics, sentence):
    """It names the metric, what is wrong with it, and what is there."""
    with pytest.raises(UsageError) as raised:
        read(metrics, "mine.yaml: metrics", {"block", "size"}, others={"stride"})
    assert sentence in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("rank_by", "sentence"),
    [
        ("speed", "has no such metric; available: median_us, gbps, percent_peak, percent_copy, gflops, a, b"),
        ("a", "does not say which values are better"),
        ("b", "does not depend on times"),
        ("gflops", "rank_by=gflops: mine declares no operations, so it has no such rate"),
        ("percent_peak", "rank_by=percent_peak: mine declares no bytes, so it has no such rate"),
    ],
)
def test_only_what_is_better_lower_or_higher_ranks(rank_by, sentence):
    """A metric that ranks says so, and is made of times, which the statistics are about."""
    metrics = read({"a": "median_us", "b": {"value": "bytes_read", "better": "lower"}}, "metrics", ())
    with pytest.raises(UsageError, match=sentence):
        require_rankable(rank_by, metrics, "mine", ())


def test_a_metric_is_empty_where_something_is_missing():
    """Without operations, after a division by zero, or of a row without times there is no number."""
    kernel = read_kernel(OWN / "kernel" / "axpy.yaml")
    given = {"a": "operations / missing", "b": "1 / (median_us - 5)", "c": "log(size - 1000)", "d": "median_us / 2"}
    names = case_of(kernel).variables
    metrics = merged((), given, names, {"missing"})
    row = {"median_us": 5.0, "operations": 10, **names}
    assert {m.name: m(row) for m in metrics} == {"b": None, "c": None, "d": 2.5}
    assert {m.name: m(names) for m in metrics} == {"b": None, "c": None, "d": None}


def test_the_table_in_the_documentation_is_current():
    """docs/results.md has the columns as they are, each with a name of its own and its meaning."""
    command = [sys.executable, str(ROOT / "tools" / "reference_tables.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert len(BY_NAME) == len(COLUMNS)
    assert all(column.meaning.endswith(".") for column in COLUMNS)


def statuses(kind):
    """Those of a class of errors and of all classes below it."""
    return {kind.status}.union(*map(statuses, kind.__subclasses__()))


def test_every_status_has_a_meaning():
    """Those of errors, of checked outputs, and of cases that were never launched; and no other."""
    checked = {"ok", "mismatch", "unproven", "implausible"}
    assert set(STATUSES) == statuses(CaseError) | checked | {*IDLE}


def test_own_parameters_follow_the_common_ones():
    """The columns that kernels declare stand between dtype and seed, in the order of the vocabulary."""
    names = stored_rows.names([{"kernel": "a", "stride": 1, "pad": 2}, {"kernel": "b", "another": 3}])
    at = names.index("dtype")
    assert names[at : at + 5] == ["dtype", "pad", "another", "stride", "seed"]
    assert table_names([])[:4] == ["case", "kernel", "block", "block_x"]


def test_no_parameter_is_called_like_a_result_or_a_key_of_the_configuration():
    """A kernel may declare the common parameters, and no other column; nor a key, which cannot be registered twice."""
    assert {"status", "rows", "case", "emulated", "timing", *schema.KEYS} <= RESERVED
    assert {"size", "block", "width", "mask", "unroll", "dtype"}.isdisjoint(RESERVED)


def test_what_is_written_is_read(tmp_path):
    """Each type survives the CSV: large integers stay whole, masks keep their zeros, real numbers their digits."""
    known = {"case": "c", "kernel": "k", "status": "ok", "device": "cuda"}
    row = {**known, "mask": "0x0000ffff", "size": 2**62, "gbps": 1 / 3, "job": 3, "pad": 7}
    stored_rows.write(RunFolder(tmp_path), [row, {**row, "size": None, "job": 4}])
    with (tmp_path / "results.csv").open(encoding="utf-8") as stream:
        assert next(csv.DictReader(stream))["size"] == str(2**62)
    run = reader.read(tmp_path)
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
    found = all_cases(reader.read(tmp_path), {})
    assert {"median_us", "ci_low_us to ci_high_us", "gbps", "registers"} <= set(found.columns)
    assert found.on_request
    assert found.columns.index("gbps") < found.columns.index(found.on_request) <= found.columns.index("registers")
