import csv
import dataclasses
import io
import json
import shutil
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "report"))  # folders written by hand are shared with its tests

import compare_runs

from runner.compare.__main__ import main


@dataclasses.dataclass(frozen=True)
class Result:
    """The result of a comparison: exit status, terminal, and the rows of its CSV."""

    code: int
    out: str
    err: str
    rows: list[dict[str, str]]

    def words(self) -> dict[str, str]:
        """The word of each case, by the case's number."""
        return {str(int(row["case"], 16)): row["word"] for row in self.rows}


@pytest.fixture
def compare(tmp_path, capsys, monkeypatch):
    """Write runs A, B, ... with the given rows, and compare them; options are those of the command."""
    monkeypatch.chdir(tmp_path)

    def call(*runs, options=(), **written):
        for name, rows in zip("ABCDEF", runs, strict=False):
            compare_runs.write(tmp_path / name, rows, **{k: v[name] for k, v in written.items() if name in v})
        return folders(*"ABCDEF"[: len(runs)], *options)

    def folders(*arguments):
        code = main([*arguments, "--csv", "result.csv"])
        out, err = capsys.readouterr()
        path = tmp_path / "result.csv"
        rows = list(csv.DictReader(io.StringIO(path.read_text("utf-8"), newline=""))) if path.exists() else []
        return Result(code, out, err, rows)

    def write(name, rows):
        shutil.rmtree(tmp_path / name, ignore_errors=True)
        compare_runs.write(tmp_path / name, rows)

    call.folders, call.write = folders, write
    call.rewrite = lambda name, given: (tmp_path / name / "environment.json").write_text(json.dumps(given), "utf-8")
    return call


@pytest.fixture
def page(compare, tmp_path):
    """Compare likewise, and return the text of the page."""

    def call(*runs, options=(), **written):
        compare(*runs, options=(*options, "--html", "result.html"), **written)
        return (tmp_path / "result.html").read_text("utf-8")

    return call
