"""docs/h200/limits: what its README tells follows from the tables beside it."""

import csv
import re

import pytest
from support import ROOT

LIMITS = ROOT / "docs" / "h200" / "limits"
README = (LIMITS / "README.md").read_text(encoding="utf-8")
SUMS = {"int32": "int32, `reducePacked`", "float32": "float32, `reduceFlagged`"}


def medians(name, *keys):
    """Of a table, the medians by the keys and the contender."""
    with (LIMITS / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return {(*(row[k] for k in keys), row["contender"]): row for row in csv.DictReader(file)}


def ratio(rows, key, contender):
    """Its time over ours."""
    return float(rows[(*key, contender)]["median_us"]) / float(rows[(*key, "ours")]["median_us"])


def cells(head):
    """The cells of the table's row that begins so."""
    (line,) = [line for line in README.splitlines() if line.startswith(f"| {head} |")]
    return [cell.strip() for cell in line.split("|")[2:-1]]


def agree(told, exact):
    """Whether each number that is told is the exact one, rounded to as many places."""
    numbers = re.findall(r"\d+\.\d+", told)
    assert [f"{n:.{len(t.partition('.')[2])}f}" for t, n in zip(numbers, exact, strict=True)] == numbers


@pytest.mark.parametrize("dtype", SUMS)
def test_the_ratios_of_the_sums_are_those_of_the_tables(dtype):
    """CUB's time over ours, and in brackets the same where L2 is clean; never below 1."""
    usual, clean = medians("reduction", "dtype", "size"), medians("reduction-clean", "dtype", "size")
    for exponent, told in zip(range(16, 32, 2), cells(SUMS[dtype]), strict=True):
        key = (dtype, str(2**exponent))
        agree(told, [ratio(rows, key, "CUB") for rows in (usual, clean) if (*key, "CUB") in rows])
        assert ratio(usual, key, "CUB") >= 1


def test_the_ratios_of_the_transposes_are_those_of_the_table():
    """Of cuBLAS, PyTorch and CuPy over ours, and ours in percent of the copy, at each shape of the head."""
    rows = medians("transpose", "shape")
    for at, shape in enumerate(
        re.findall(r"\d+x\d+", next(line for line in README.splitlines() if "| 8192x8192 |" in line))
    ):
        agree(cells("time of cuBLAS geam over ours")[at], [ratio(rows, (shape,), "cuBLAS geam")])
        agree(cells("of PyTorch / CuPy over ours")[at], [ratio(rows, (shape,), name) for name in ("torch", "CuPy")])
        agree(cells("ours in percent of the copy")[at], [float(rows[shape, "ours"]["percent_copy"])])
