"""Shared by the benchmarks against libraries: their options, the head of the page, one line a contender."""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import re
from collections.abc import Callable, Hashable, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pandas as pd
from side_by_side import Contender, Taken
from sweeps import ROOT, stop

DISTRIBUTIONS = ("torch", "cupy", "pycuda", "numpy")
KEPT = ROOT / "benchmarks" / "chosen"


MOST = 10_000  # rounds, and samples
EXPONENTS = range(14, 31)
MOST_ELEMENTS = 2 ** EXPONENTS[-1]


class Options(argparse.ArgumentParser):
    """A parser whose errors are one sentence."""

    def error(self, message: str) -> NoReturn:
        """End with the option, its value and what is allowed."""
        of_option = message.removeprefix("argument ")
        stop(message if of_option == message else of_option.replace(": ", " ", 1))


def number(allowed: range) -> Callable[[str], int]:
    """A parser of whole numbers."""

    def read(text: str) -> int:
        if re.fullmatch("[0-9]{1,9}", text) and int(text) in allowed:
            return int(text)
        expected = f"a whole number from {allowed[0]} to {allowed[-1]} is expected"
        raise argparse.ArgumentTypeError(f"{text!r}: {expected}")

    return read


def one_of(names: Sequence[str]) -> Callable[[str], str]:
    """A parser of names."""

    def read(text: str) -> str:
        if text in names:
            return text
        raise argparse.ArgumentTypeError(f"{text!r}: {' or '.join(names)} is expected")

    return read


def shape(text: str) -> str:
    """A matrix' shape, without leading zeros."""
    if found := re.fullmatch("0*([1-9][0-9]{0,9})x0*([1-9][0-9]{0,9})", text):
        rows, cols = map(int, found.groups())
        if rows * cols <= MOST_ELEMENTS:
            return f"{rows}x{cols}"
    expected = f"ROWSxCOLUMNS is expected, such as 4096x4095, of 1 to {MOST_ELEMENTS} elements"
    raise argparse.ArgumentTypeError(f"{text!r}: {expected}")


def several(one: Callable[[str], Hashable]) -> Callable[[str], list[Hashable]]:
    """A parser of comma-separated lists without repetition."""
    return lambda text: list(dict.fromkeys(one(part.strip()) for part in text.split(",")))


def folder(text: str) -> Path:
    """A folder that can be written to, checked before anything is measured."""
    path = Path(text)
    there = next(p for p in (path, *path.absolute().parents) if p.exists())
    if there.is_dir() and os.access(there, os.W_OK):
        return path
    raise argparse.ArgumentTypeError(f"{text!r}: a folder that can be written to is expected")


def options(page: str | None, name: str) -> argparse.ArgumentParser:
    """The options of all these benchmarks.

    Args:
        page: The script's docstring.
        name: Of its files.
    """
    parser = Options(description=page, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=number(range(1, MOST + 1)), default=5)
    samples = number(range(1, MOST + 1))
    parser.add_argument("--samples", type=samples, default=30, help="of each contender in each round")
    parser.add_argument("--out", type=folder, help=f"a folder for {name}.csv, and with --choose for {name}-chosen.csv")
    parser.add_argument("--choose", action="store_true", help="find our quickest configurations first")
    parser.add_argument("--chosen", type=Path, default=KEPT / f"{name}.csv", help="those found before")
    return parser


def row(contender: Contender, taken: Taken, **keys: object) -> dict[str, object]:
    """A contender's line: quartiles and the time to queue the work, in microseconds."""
    q1, median, q3 = np.percentile(taken.us, [25, 50, 75]) if len(taken.us) else (np.nan,) * 3
    return {
        **keys,
        "contender": contender.name,
        "configuration": contender.configuration,
        "median_us": median,
        "q1_us": q1,
        "q3_us": q3,
        "samples": len(taken.us),
        "enqueue_us": np.median(taken.enqueue_us) if len(taken.us) else np.nan,
        "error": taken.error,
    }


def medians(frame: pd.DataFrame, by: Sequence[str], what: str = "median_us") -> pd.DataFrame:
    """Medians, or another column: a line for each task and a column for each contender, both in the rows' order."""
    wide = frame.pivot(index=list(by), columns="contender", values=what)  # noqa: PD010  (pivot_table leaves out who has no time)
    return wide.reindex(index=_index(frame, by), columns=list(dict.fromkeys(frame["contender"])))


def _index(frame: pd.DataFrame, by: Sequence[str]) -> pd.Index | pd.MultiIndex:
    tasks = frame[list(by)].drop_duplicates()
    return pd.MultiIndex.from_frame(tasks) if len(by) > 1 else pd.Index(tasks[by[0]], name=by[0])


def same_task(frame: pd.DataFrame, by: Sequence[str], contender: str) -> pd.Series:
    """For each row the median of one contender at the same task."""
    of_one = frame[frame["contender"] == contender].set_index(list(by))["median_us"]
    return pd.Series(frame.set_index(list(by)).index.map(of_one).to_numpy(float), frame.index)


def head(device: Any, rounds: int, samples: int, *further: str, clean: bool = False) -> str:
    """The GPU, versions and method; `clean` says that the flush's memory was read afterwards."""
    info = device.info
    details = info.details
    versions = [*(f"{n} {v}" for n, v in info.versions.items()), *further]
    packages = [f"{n} {v}" for n in DISTRIBUTIONS if (v := _version(n))]
    floor = f"an empty kernel {details['empty_kernel_us']:.2f} us, two events alone {details['event_pair_us']:.2f} us"
    unchanged = ", whose memory is then read once: L2 holds unchanged lines"
    flushed = unchanged if clean else ": it leaves L2 full of changed lines"
    return "\n".join(
        (
            f"{info.name}, theoretical peak {info.peak_gbps or float('nan'):.0f} GB/s; {', '.join(versions)}",
            ", ".join(packages),
            f"{rounds} rounds of {samples} samples each, in turn; medians in us. Floor of the method: {floor};",
            f"the flush before each sample takes {details['flush_us']:.1f} us, within which the work is queued.",
            f"The flush is a memset{flushed}",
        )
    )


def _version(package: str) -> str:
    """The installed version; of CuPy, whose name says for which CUDA it is, of any."""
    names = {d.metadata["Name"]: d.version for d in importlib.metadata.distributions() if d.metadata["Name"]}
    return next((v for n, v in sorted(names.items()) if n == package or n.startswith(f"{package}-cuda")), "")


def text(table: pd.DataFrame) -> str:
    """A table for people."""
    forms = {c: "{:.3f}" if "/ours" in c else "{:.0f}" if c == "GB/s" else "{:.2f}" for c in table}
    return table.to_string(formatters={c: form.format for c, form in forms.items()}, na_rep="-", sparsify=False)


def say(frame: pd.DataFrame, by: Sequence[str], chosen: Sequence[str], flush_us: float) -> None:
    """Print configurations, failures, and whose queueing took longer than the flush, so that its times include it."""
    for line in frame.to_dict("records"):
        who = f"{line['contender']}, {' '.join(str(line[b]) for b in by)}"
        if line["contender"] in chosen:
            print(f"{who}: {line['configuration']}")
        if line["error"]:
            print(f"{who}: error: {line['error']}")
        elif line["enqueue_us"] > flush_us:
            print(f"{who}: the host took {line['enqueue_us']:.0f} us to queue it, longer than the flush")


def keep(frame: pd.DataFrame, out: Path | None, name: str) -> None:
    """Write a table into the given folder."""
    if out:
        out.mkdir(parents=True, exist_ok=True)
        frame.to_csv(out / f"{name}.csv", index=False, float_format="%.3f", lineterminator="\n")
