"""Compares sums by our reducePacked and reduceFlagged with CUB, CuPy and PyTorch, in one run on a GPU.

    python benchmarks/reduction.py --choose --out DIR
    python benchmarks/reduction.py [--chosen FILE] [--sizes 16,20,24] [--dtypes int32] [--rounds 5] [--samples 30]
        [--clean]

Everybody leaves the complete sum on the GPU, of the same data, behind the same flush of L2, between the same events,
in turn. Each is checked, before and after, against the sum on the host: integers exactly, modulo 2^32; floats, of
numbers from 0 to 1, to one in a million. Sizes are powers of two and arrays are aligned. Ours is one configuration a
size, the fastest of KERNELS and SPACE below in a sweep of `python -m runner` (--choose writes it to
DIR/reduction-chosen.csv), measured again here. The peers have their defaults. CUB is DeviceReduce::Sum, built by
nvcc, with its temporary storage allocated beforehand. CuPy is `cupy.sum(x, dtype=x.dtype)` with its default
accelerators (the page's head lists them), without `out`, which would cost it a copy. PyTorch is `torch.sum(x, dim=0,
dtype=x.dtype, out=y)`.

The flush is a memset, which leaves L2 full of changed lines. They must be written back while a kernel reads, unless
it leaves them where they are, as streaming loads (our stream=1) partly do. With --clean the flush's memory is read
once behind the memset, so that L2 holds unchanged lines; reduction-clean.csv has the result. The sweeps that choose
have the plain flush.

`read only` reads everything and adds nothing up, by plain and by streaming loads; the page shows the faster one. It
is a floor at large sizes only, as its tiles of 64 KiB leave most of the GPU idle at small ones. `limit` is the least
possible time in percent of ours: an empty kernel's, plus the bytes at the best bandwidth of `read only` at the
largest size. Needs a GPU, PyCUDA, PyTorch, CuPy and nvcc.
"""

from __future__ import annotations

import argparse
import ctypes
import itertools
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from our_kernels import choice, ours, read_choices, swept_results, winners
from side_by_side import alternate, gpu, native, progress, ready, tried
from sums import (
    EMPTY,
    READS,
    accelerators,
    clean_flush,
    cub,
    cub_version,
    empty_kernel,
    numbers,
    of_cupy,
    of_torch,
    read_only,
    right,
)
from tables import EXPONENTS, head, keep, medians, number, one_of, options, row, same_task, say, several, text

from runner.device.config import DeviceConfig
from runner.device.kinds import compiler_for
from runner.kernel.case import Case

NAME = "reduction"
KERNELS = {"int32": "reducePacked", "float32": "reduceFlagged"}
NAMES = ("block", "unroll", "stream", "blocks")  # the parameters that are chosen
SPACE = ("block=256,512,1024", "unroll=2,4,8", "stream=0,1", "blocks=2048,2**24", "fill=random")
BY = ("dtype", "size")
ALONE = 30  # such a size has a sweep of its own: its input leaves the host no room to remember another
OURS = "ours"
PEERS = ("CUB", "CuPy", "torch")


def choose(dtypes: Sequence[str], exponents: Sequence[int]) -> pd.DataFrame:
    """The quickest configuration of each size, by sweeps of our program."""
    found = []
    for dtype in dtypes:
        groups = [[e for e in exponents if e < ALONE], *([e] for e in exponents if e >= ALONE)]
        for group in filter(None, groups):
            sizes = ",".join(f"2**{e}" for e in group)
            progress(f"sweep: {KERNELS[dtype]} dtype={dtype} size={sizes}")
            results = swept_results(f"kernel={KERNELS[dtype]}", f"dtype={dtype}", f"size={sizes}", *SPACE)
            found.append(winners(results, BY, NAMES))
    return pd.concat(found, ignore_index=True)


def measure(
    device: Any,
    build: Callable[[], ctypes.CDLL],
    cases: dict[tuple[str, int], Case],
    given: argparse.Namespace,
    dtype: str,
) -> Iterator[dict[str, object]]:
    """All sizes of a dtype: the smaller ones are the beginning of the largest."""
    import torch  # noqa: PLC0415

    host = numbers(dtype, 2 ** max(given.sizes))
    everything = torch.from_numpy(host).cuda()
    compiler = compiler_for(DeviceConfig(kind="cuda"), device.info)
    flush = clean_flush(device, compiler) if given.clean else None
    for exponent in given.sizes:
        size = 2**exponent
        progress(f"measuring: {dtype}, 2^{exponent}")
        x, wrong, case = everything[:size], right(host[:size]), cases[dtype, exponent]
        y = torch.zeros(1, dtype=x.dtype, device="cuda")
        contenders = [
            tried(OURS, partial(ours, device, compiler, case, {"in": x, "out": y}, partial(_result, wrong, y))),
            tried("CUB", partial(cub, build, device, x, wrong)),
            tried("CuPy", partial(of_cupy, x, wrong)),
            tried("torch", partial(of_torch, x, wrong)),
            *(tried(name, partial(read_only, device, compiler, name, x)) for name in READS),
            tried(EMPTY, partial(empty_kernel, device)),
        ]
        everybodys = alternate(contenders, device, given.rounds, given.samples, flush)
        for contender, taken in zip(contenders, everybodys, strict=True):
            read = 0 if contender.name == EMPTY else x.nbytes
            yield {**row(contender, taken, dtype=dtype, size=size), "bytes": read}


def _result(wrong: Callable[[Any], str], y: Any) -> str:
    return wrong(y.item())


def of_choice(choices: pd.DataFrame, dtype: str, exponent: int) -> Case:
    """Our case for a size."""
    size = 2**exponent
    return choice(choices, NAMES, {"dtype": dtype, "size": size}, dtype=dtype, size=str(size))


def told(frame: pd.DataFrame, peak_gbps: float | None) -> pd.DataFrame:
    """The rows, with what follows from the times of their task; `limit_percent` as the docstring above has it."""
    time, empty = frame["median_us"], same_task(frame, BY, EMPTY)
    gbps = frame["bytes"] / time / 1e3
    percent = gbps / peak_gbps * 100 if peak_gbps else np.nan
    told = frame.assign(ratio_to_ours=time / same_task(frame, BY, OURS), gbps=gbps, percent_peak=percent)
    reading = frame[frame["contender"].isin(READS)]
    largest = reading[reading["bytes"] == reading["bytes"].max()]
    bytes_a_us = (largest["bytes"] / (largest["median_us"] - empty[largest.index])).max()
    limit = (empty + frame["bytes"] / bytes_a_us) / time * 100
    return told.assign(read_gbps=bytes_a_us / 1e3, limit_percent=limit)


def page(frame: pd.DataFrame) -> str:
    """The table for people: a line for each size."""
    wide = medians(frame, BY)
    of_ours = frame[frame["contender"] == OURS].set_index(list(BY))
    table = pd.DataFrame({"ours us": wide[OURS]})
    for peer in PEERS:
        table[f"{peer} us"] = wide[peer]
    for peer in PEERS:
        table[f"{peer}/ours"] = wide[peer] / wide[OURS]
    table["GB/s"], table["% peak"] = of_ours["gbps"], of_ours["percent_peak"]
    table["read only us"], table["empty us"] = wide[list(READS)].min(axis=1), wide[EMPTY]
    table["limit %"] = of_ours["limit_percent"]
    table.index = pd.MultiIndex.from_tuples([(d, f"2^{int(s).bit_length() - 1}") for d, s in table.index], names=BY)
    return text(table)


def main() -> int:
    """Choose if asked to, take turns, and show."""
    parser = options(__doc__, NAME)
    sizes = several(number(EXPONENTS))
    parser.add_argument("--sizes", type=sizes, default="16,18,20,22,24,26,28,30", help="exponents of 2")
    parser.add_argument("--dtypes", type=several(one_of(list(KERNELS))), default=",".join(KERNELS))
    parser.add_argument("--clean", action="store_true", help="let L2 hold unchanged lines, in reduction-clean.csv")
    given = parser.parse_args()
    if given.choose:
        ready()
        choices = choose(given.dtypes, given.sizes)
        keep(choices, given.out, f"{NAME}-chosen")
    else:
        choices = read_choices(given.chosen, (*BY, *NAMES), KERNELS.values())
    cases = {task: of_choice(choices, *task) for task in itertools.product(given.dtypes, given.sizes)}
    with gpu() as device, tempfile.TemporaryDirectory() as folder:
        build = partial(native, "cub_sum", device.info.arch, Path(folder))
        rows = [r for dtype in given.dtypes for r in measure(device, build, cases, given, dtype)]
        frame = told(pd.DataFrame(rows), device.info.peak_gbps)
        keep(frame, given.out, f"{NAME}-clean" if given.clean else NAME)
        further = (cub_version(build), accelerators())
        print(head(device, given.rounds, given.samples, *further, clean=given.clean))
        flush_us = device.info.details["flush_us"]
    print(f"best bandwidth of read only, at the largest size: {frame['read_gbps'].iloc[0]:.0f} GB/s")
    print("", page(frame), "", sep="\n")
    say(frame, BY, (OURS,), flush_us)
    return 0


if __name__ == "__main__":
    sys.exit(main())
