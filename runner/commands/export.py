"""`python -m runner.export --format t4 FOLDER`: write a run as a T4 file, for Kernel Tuner and other tuners."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runner.cli import Parser, run_command

if TYPE_CHECKING:
    from runner.importer.t4_format import Result
    from runner.record.folder import RunFolder


def main(arguments: Sequence[str] | None = None) -> int:
    """Export a run; returns the exit status."""
    parser = Parser("export", "Write a run's results in a format that other tools read.")
    parser.add_argument("folder", help="a run's folder, such as outputs/DATE/TIME-WHAT, or `latest`")
    parser.add_argument(
        "--format",
        choices=("t4",),
        default="t4",
        help="the format; t4: the results format of Kernel Tuner and other tuners",
    )
    parser.add_argument("--to", type=Path, metavar="FILE", help="FILE.json or FILE.json.gz; default: stdout")
    given = parser.parse_args(arguments)
    return run_command(lambda: _export(given.folder, given.to))


def _export(name: str, to: Path | None) -> int:
    from runner.importer import t4_format  # noqa: PLC0415  (Ctrl-C is quiet from the start)
    from runner.record import runs  # noqa: PLC0415  (Ctrl-C is quiet from the start)
    from runner.record.folder import RunFolder  # noqa: PLC0415

    folder = RunFolder(runs.one(name))
    with runs.reading(name):
        known = runs.environment(folder.path)
        rows = _rows(folder)
        devices = [entry.get("name") for entry in runs.section(known, "devices").values() if isinstance(entry, dict)]
        about = {"timeunit": "ms", "device": rows[0]["device"], "names": devices, "runner": known.get("runner")}
        text = t4_format.written(_results(folder, rows), about)
    if to is None:
        sys.stdout.write(text)
    else:
        t4_format.write(to, text)
        sys.stderr.write(f"Written: {to}\n")
    return 0


def _rows(folder: RunFolder) -> list[dict[str, Any]]:
    """Collect the rows of the finished cases.

    Raises:
        UsageError: No case is finished, or the run has several devices.
    """
    from runner.errors import UsageError  # noqa: PLC0415
    from runner.record import runs, stored_rows  # noqa: PLC0415

    rows = [row for row in stored_rows.collect(folder) if row["status"] != "not_run"]
    if not rows and (origin := runs.environment(folder.path).get("imported")):
        raise UsageError(f"{folder.path}: this run was imported from {origin}; use that file instead")
    if not rows:
        raise UsageError(f"{folder.path}: no case of this run is finished")
    if len({row["device"] for row in rows}) > 1:
        raise UsageError(f"{folder.path}: the run has several devices; a T4 file has one time per configuration")
    return rows


def _results(folder: RunFolder, rows: Sequence[Mapping[str, Any]]) -> Iterator[Result]:
    """Convert rows to T4 results. With several kernels, add the key `kernel`, and `NONE` for missing keys."""
    import numpy as np  # noqa: PLC0415

    from runner.errors import UsageError  # noqa: PLC0415
    from runner.importer.t4_format import NONE, Result  # noqa: PLC0415
    from runner.kernel import metrics  # noqa: PLC0415
    from runner.record import samples  # noqa: PLC0415
    from runner.statistics import unthrottled  # noqa: PLC0415

    parameters = {row["job"]: (folder.record(row["job"]) or {})["parameters"] for row in rows}
    names = dict.fromkeys(name for own in parameters.values() for name in own)
    several = len({row["kernel"] for row in rows}) > 1
    written = set()
    for row in rows:
        own = parameters[row["job"]]
        taken = samples.read(folder, folder.samples(str(row["case"]), int(row["job"])))
        times = np.zeros(0) if taken is None or row["status"] != "ok" else unthrottled(taken)["us"]
        configuration = ({"kernel": row["kernel"]} if several else {}) | {name: own.get(name, NONE) for name in names}
        if (key := tuple(configuration.values())) in written:
            raise UsageError(
                f"{folder.path}: several cases have the same parameters as {row['kernel']}, job {row['job']}; a T4 "
                "file has one time per configuration"
            )
        written.add(key)
        yield Result(configuration, row["status"], times, metrics.median_us(row))


if __name__ == "__main__":
    sys.exit(main())
