"""Counts what each step of the ladders does, by Nsight Compute: why one is faster than another.

    python tools/count_ladder.py docs/h200/ladder

Of the sweeps that lie in this folder, each kernel's fastest case at each size is launched once, under ncu: these are
the cases that tools/ladder_page.py shows. Writes counters.csv there, a row a case, under ncu's own names. Needs the GPU
that the sweeps were measured on, PyCUDA, nvcc and ncu. Exit status: 0, or 2 where nothing could be counted.
"""

from __future__ import annotations

import argparse
import csv
import io
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import generated  # noqa: E402  (the path must be there first)
import ncu  # noqa: E402
import shipped  # noqa: E402
from ladder.counters import FILE, METRICS  # noqa: E402
from ladder.files import Row  # noqa: E402
from ladder.steps import LADDERS, Sweep, read, shown, size_of  # noqa: E402

from runner import atomic  # noqa: E402
from runner.config import CONF  # noqa: E402
from runner.errors import RunnerError  # noqa: E402
from runner.kernel.case import Case  # noqa: E402
from runner.kernel.resolve import make  # noqa: E402


def main() -> int:
    """Compile, count, write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, help="where the sweeps are, and where counters.csv will be")
    parser.add_argument("--launch", action="store_true", help="only launch the cases: what runs under ncu")
    arguments = parser.parse_args()
    try:
        sweeps = read_all(arguments.folder)
        pairs = list(shown(sweeps, CONF))
        rows = [row for _, row in pairs]
        cases = [case_of(row) for row in rows]
        if arguments.launch:
            ncu.launch(cases)
            return 0
        generated.ready(arguments.folder / FILE)
        prepared = ncu.prepare(cases)
        for (sweep, row), binary in zip(pairs, prepared.binaries, strict=True):
            same(sweep, row, prepared.gpu, binary, arguments.folder)
        command = [sys.executable, __file__, str(arguments.folder), "--launch"]
        atomic.write_text(arguments.folder / FILE, table(rows, ncu.count(command, cases, METRICS)))
    except (OSError, ValueError, RunnerError) as e:
        print(f"nothing could be counted: {e}", file=sys.stderr)
        return 2
    print(f"{len(rows)} cases counted: {arguments.folder / FILE}")
    return 0


def read_all(folder: Path) -> dict[str, Sweep]:
    """The sweeps in the folder, by name.

    Raises:
        ValueError: if there is none, or one is torn; one sentence.
    """
    names = [name for ladder in LADDERS for name in ladder.sweeps if (folder / f"{name}.csv").is_file()]
    if not names:
        raise ValueError(f"{folder}: there are no sweeps; 'sh docs/ladder.sh {folder}' makes them")
    return {name: read(folder, name) for name in names}


def case_of(row: Row) -> Case:
    """The case of a row, as its kernel's YAML says it today.

    Raises:
        ValueError: if that cannot be launched, or is another one than was measured; one sentence.
    """
    kernel = shipped.kernel(row["kernel"])
    told = {name: text for name, text in row.items() if isinstance(text, str) and text}
    told["size"] = f"{row['rows']:.0f}x{row['cols']:.0f}" if row["rows"] else f"{row['size']:.0f}"
    requested = {p.name: told[p.name] for p in kernel.parameters if p.name in told}
    case = make(kernel, requested, int(row["seed"]))
    if case.excluded:
        raise ValueError(f"{case.label} was measured and cannot be run today: {case.excluded}")
    if case.id != row["case"]:
        raise ValueError(f"{case.label} was measured as case {row['case']} and is {case.id} today")
    return case


def same(sweep: Sweep, row: Row, gpu: str, binary: str, folder: Path) -> None:
    """Raise a ValueError, one sentence, if another GPU or other machine code was measured than would be counted."""
    mend = f"'sh docs/ladder.sh {folder} {sweep.name}' measures it anew"
    if sweep.device["name"] != gpu:
        raise ValueError(f"{sweep.name} was measured on an {sweep.device['name']}, and this is an {gpu}; {mend}")
    if row["binary"] != binary:
        code = f"its machine code was {row['binary']} and is {binary} now"
        raise ValueError(f"{row['kernel']} has changed since {sweep.name} was measured: {code}; {mend}")


def table(rows: Sequence[Row], counted: Sequence[ncu.Launched]) -> str:
    """The CSV: a line a case."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("case", "binary", "kernel", "size", *METRICS))
    for row, launched in zip(rows, counted, strict=True):
        numbers = (f"{ncu.number(launched, metric):.10g}" for metric in METRICS)
        writer.writerow((row["case"], row["binary"], row["kernel"], size_of(row), *numbers))
    return text.getvalue()


if __name__ == "__main__":
    raise SystemExit(main())
