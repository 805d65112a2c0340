"""Tables of sweeps on a GPU: the fastest case of each kernel at each size, beside contenders and copies.

    python benchmarks/limits.py RUN... > FILE

A row is a dtype and a size; `NAME us` is the median of that kernel's fastest right case. `/ours` is that time divided
by the time of the fastest kernel that is no contender (docs/contenders.md) and no ceiling. GB/s and `% of a copy` are
those of this kernel; the copy is the driver's of 1 GiB, measured when the sweep opened the GPU. The cases of our
kernels stand below the table, with the least median of their cases whose loads do not stream, or stream, if the
fastest case is of the other sort.
"""

from __future__ import annotations

import argparse
import sys

import pandas as pd
from sweeps import stop

import runner

BY = ["dtype", "shape"]
CHOSEN = ["block", "unroll", "stream", "blocks", "tile_rows", "tile_cols"]


def fastest(table: pd.DataFrame) -> pd.DataFrame:
    """The fastest right case of each kernel, in the order of sizes; `ours` says whether it is ours.

    A size at which no kernel of ours is right has nothing to compare with, and is left out.
    """
    right = table[(table["status"] == "ok") & (table["finish"] == "device")]
    shape = [_shape(row) for row in right.to_dict("records")]
    ours = right["block"].notna() & ~right["ceiling"].astype(bool)
    cases = right.assign(shape=shape, ours=ours).sort_values(["dtype", "size", "median_us"], kind="stable")
    first = cases.drop_duplicates([*BY, "kernel"])
    if "stream" in cases:  # the next row of the same kernel is its fastest with the other kind of load
        kinds = cases.drop_duplicates([*BY, "kernel", "stream"])
        first = first.assign(other_us=kinds.groupby([*BY, "kernel"])["median_us"].shift(-1))
    return first[first.groupby(BY)["ours"].transform("any")]


def _shape(row: dict[str, object]) -> str:
    if not pd.isna(row.get("rows")):
        return f"{row['rows']:.0f}x{row['cols']:.0f}"
    size = int(row["size"])
    return f"2^{size.bit_length() - 1}" if size.bit_count() == 1 else str(size)


def page(cases: pd.DataFrame) -> str:
    """The table for people, and the cases of our kernels."""
    wide = cases.pivot_table(index=BY, columns="kernel", values="median_us", sort=False)
    best = cases[cases["ours"]].drop_duplicates(BY).set_index(BY)
    table = wide.add_suffix(" us").round(2)
    for other in cases[~cases["ours"]]["kernel"].unique():
        table[f"{other}/ours"] = (wide[other] / best["median_us"]).round(3)
    table["GB/s"] = best["gbps"].round(0).astype(int)
    table["% of a copy"] = best["percent_copy"].round(1)
    return table.to_string(na_rep="-") + "\n\n" + "\n".join(map(_said, cases[cases["ours"]].to_dict("records")))


def _said(row: dict[str, object]) -> str:
    chosen = " ".join(f"{name}={_text(row[name])}" for name in CHOSEN if not pd.isna(row.get(name)))
    other = row.get("other_us")
    also = "" if pd.isna(other) else f"; with stream={1 - row['stream']:.0f} {other:.2f} us"
    return f"{row['dtype']} {row['shape']}: {row['kernel']} {chosen}{also}"


def _text(value: object) -> str:
    return f"{value:.0f}" if isinstance(value, float) else str(value)


def main() -> int:
    """Print a table for each run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", metavar="RUN", help="the folder of a sweep")
    for path in parser.parse_args().runs:
        try:
            run = runner.open(path)
        except runner.UsageError as e:
            stop(str(e))
        cases = fastest(run.table)
        if not cases["ours"].any():
            stop(f"{path}: no case of a kernel of ours was right and measured")
        (device,) = run.environment["devices"].values()
        versions = ", ".join(f"{name} {version}" for name, version in device["versions"].items())
        print(
            f"{device['name']}; {versions}; L2 holds {device['asked'].get('l2_lines', 'dirty')} lines before a launch"
        )
        print("", page(cases), "", sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
