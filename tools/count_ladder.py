"""Counts what each step of the ladders does, by Nsight Compute: why one is faster than another.

    python tools/count_ladder.py docs/h200/ladder

Of the sweeps that lie in this folder, each kernel's fastest case at each size is launched once, under ncu: these are
the cases that tools/ladder_page.py shows. Writes counters.csv there, a row a case, under ncu's own names. Needs a GPU,
PyCUDA, nvcc and ncu. Exit status: 0, or 2 where nothing could be counted.
"""

from __future__ import annotations

import argparse
import csv
import io
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import ncu  # noqa: E402  (the path must be there first)
from ladder.counters import FILE, METRICS  # noqa: E402
from ladder.files import Row, of_yaml  # noqa: E402
from ladder.steps import LADDERS, defined, fastest, read, size_of  # noqa: E402

from runner import atomic  # noqa: E402
from runner.errors import RunnerError  # noqa: E402
from runner.kernel import from_yaml  # noqa: E402
from runner.kernel.case import Case  # noqa: E402
from runner.kernel.resolve import make  # noqa: E402


def main() -> int:
    """Compile, count, write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, help="where the sweeps are, and where counters.csv will be")
    parser.add_argument("--launch", action="store_true", help="only launch the cases: what runs under ncu")
    arguments = parser.parse_args()
    try:
        shown = list(rows(arguments.folder, ROOT / "conf"))
        cases = [case_of(row, ROOT / "conf") for _, row in shown]
        if arguments.launch:
            ncu.launch(cases)
            return 0
        ncu.prepare(cases)
        command = [sys.executable, __file__, str(arguments.folder), "--launch"]
        atomic.write_text(arguments.folder / FILE, table(shown, ncu.count(command, cases, METRICS)))
    except (OSError, ValueError, RunnerError) as e:
        print(f"nothing could be counted: {e}", file=sys.stderr)
        return 2
    print(f"{len(shown)} cases counted: {arguments.folder / FILE}")
    return 0


def rows(folder: Path, conf: Path) -> Iterator[tuple[str, Row]]:
    """What the page shows of each sweep in the folder, with the sweep's name.

    Raises:
        ValueError: if there is none, or one is torn; one sentence.
    """
    there = [(ladder, name) for ladder in LADDERS for name in ladder.sweeps if (folder / f"{name}.csv").is_file()]
    if not there:
        raise ValueError(f"{folder}: there are no sweeps; 'sh docs/ladder.sh {folder}' makes them")
    for ladder, name in there:
        yield from ((name, row) for row in fastest(read(folder, name), defined(ladder, conf)[0]))


def table(shown: Sequence[tuple[str, Row]], counted: Sequence[ncu.Launched]) -> str:
    """The CSV: a line a case."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("case", "sweep", "kernel", "size", *METRICS))
    for (sweep, row), launched in zip(shown, counted, strict=True):
        numbers = (f"{ncu.number(launched, metric):.10g}" for metric in METRICS)
        writer.writerow((row["case"], sweep, row["kernel"], size_of(row), *numbers))
    return text.getvalue()


def case_of(row: Row, conf: Path) -> Case:
    """The case of a row, as its kernel's YAML says it today.

    Raises:
        ValueError: if that is another one than was measured; one sentence.
    """
    path = conf / "kernel" / f"{row['kernel']}.yaml"
    kernel = from_yaml.read(path.stem, of_yaml(path), path)
    told = {name: text for name, text in row.items() if isinstance(text, str) and text}
    told["size"] = f"{row['rows']:.0f}x{row['cols']:.0f}" if row["rows"] else f"{row['size']:.0f}"
    requested = {p.name: told[p.name] for p in kernel.parameters if p.name in told}
    case = make(kernel, requested, int(row["seed"]))
    if case.id != row["case"]:
        changed = f"its case {row['case']} would be {case.id} today ({case.label})"
        raise ValueError(
            f"{row['kernel']} has changed since it was measured: {changed}; 'sh docs/ladder.sh' measures anew"
        )
    return case


if __name__ == "__main__":
    raise SystemExit(main())
