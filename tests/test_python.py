"""`import runner`: the page on Python, and runs as data frames. tests/test_python_sweeps.py has the sweeps."""

import contextlib
import re
import shlex

import pytest
from support import ROOT

import runner as face
from runner.columns import COLUMNS
from runner.errors import UsageError

TYPES = {"text": "string", "integer": "Int64", "real": "float64", "flag": "boolean"}


def test_the_page_is_true(runner, tmp_path, monkeypatch, capsys):
    """The commands and the Python of docs/python.md run in order; tables have the types of their columns, and notebooks show them."""
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    names = {}
    for found in re.finditer(r"^    python -m ([^\n]*)$|^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE):
        command, code = found.groups()
        if code:
            exec(code, names)  # noqa: S102
            continue
        module, *arguments = shlex.split(command)
        done = runner(*arguments, *(["device=cpu"] if module == "runner" else []), module=module)
        assert done.code == 0, done.err
    out = capsys.readouterr().out
    assert "4 of 4 cases match the CPU reference" in out
    assert "4 same" in out
    table, run, change = names["table"], names["run"], names["change"]
    assert [(c.name, str(table[c.name].dtype)) for c in COLUMNS] == [(c.name, TYPES[c.type]) for c in COLUMNS]
    assert len(names["launches"]) == table.samples[0] > 0
    assert names["launches"].us.median() == pytest.approx(table.emulated_us[0])
    assert run.samples(table["case"][0]).equals(names["launches"])
    assert run.best().empty  # on the CPU device
    assert (change.worse, list(change.table.word)) == (False, ["same"] * 4)
    shown = run._repr_html_()
    assert (shown.count("<tr>"), shown.count("<td>reduceSmem</td>")) == (5, 2)
    assert "<td>same</td>" in change._repr_html_()

    for wrong, sentence in (
        (lambda: run.samples("nothing"), "no case 'nothing'"),
        (lambda: run.samples(None), "expected a row of `table` or the id of a case, not NoneType"),
        (lambda: run.samples(table), "expected a row of `table` or the id of a case, not DataFrame"),
        (lambda: face.runs("outputs", 3), "expected a folder or a pattern, and words as text"),
        (lambda: face.runs(10**5000), r"runs\(int\): expected a folder or a pattern"),
        (lambda: face.open(10**5000), "open: expected a folder or a name such as 'latest', not int"),
        (
            lambda: face.open(ROOT / "tests" / "h200_sweep").best(by=["gbps"]),
            "by: expected the name of a column or a metric, not list",
        ),
        (
            lambda: face.open(ROOT / "tests" / "h200_sweep").compare(5),
            "compare: expected a run, a folder or a name, not int",
        ),
        (lambda: run.best(by="speed"), "rank_by=speed"),
        (lambda: face.open("latest~7"), "only 4 runs"),
        (lambda: face.open(tmp_path), "not a run folder"),
    ):
        with pytest.raises(UsageError, match=sentence):
            wrong()
    with contextlib.suppress(FileNotFoundError):
        (run.path / "samples" / f"{table['case'][0]}-0.npy").unlink()
    with pytest.raises(UsageError, match="no samples"):
        run.samples(table.iloc[0])


def test_the_best_are_those_of_the_report():
    """Of a run that was measured on a GPU, the best of each size are those that the report names."""
    run = face.open(ROOT / "tests" / "h200_sweep")
    best = run.best()
    assert len(best)
    assert (best.tied >= 0).all()
    for _, row in best.iterrows():
        peers = run.table[
            (run.table.status == "ok") & (run.table["size"] == row["size"]) & (run.table.family == row.family)
        ]
        peers = peers[(peers["dtype"] == row["dtype"]) & (peers.finish == row.finish)]
        assert row.median_us == peers.median_us.min()
    assert str(run.table.iloc[0].kernel) in run._repr_html_()
