"""Compares our stencils, each at its fastest, with copies of the same bytes, in one run on a GPU.

    python benchmarks/stencil.py --choose --out DIR
    python benchmarks/stencil.py [--chosen FILE] [--sizes 20,24,26,28] [--dtypes float32] [--rounds 5] [--samples 30]

All from and to the same memory, behind the same flush of L2, between the same events, in turn. The outputs are
checked on the GPU, before and after, against the same sum in double precision by PyTorch. Inputs are within -1 and 1,
and an output may differ by 16 times its dtype's epsilon: six consecutive roundings may make 6 times that, and the sum
in double precision, where float64 is checked, as much again. Each kernel has one configuration a size; --choose times
all candidates in this process, writes the fastest to DIR/stencil-chosen.csv, and measures it again.

`the copy` is the faster of ours, copyVector, and the driver's; `%` is its time in percent of a stencil's. Needs a
GPU, PyCUDA, PyTorch, CuPy and nvcc.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from copies import against_copy, copies
from our_kernels import candidates, choice, ours, quickest, read_choices, told
from side_by_side import alternate, gpu, progress, tried
from tables import EXPONENTS, head, keep, medians, number, one_of, options, row, say, several, text

from runner.device.config import DeviceConfig
from runner.device.kinds import compiler_for
from runner.kernel.case import Case

NAME = "stencil"
KERNELS = ("stencil1dVector", "stencil1dShfl", "stencil1dConstant", "stencil1dRestrict")
SPACE = {"block": (128, 256, 512), "blocks": (1056, 2112, 4224, 2**24)}
DTYPES = ("float32", "float64")
BY = ("dtype", "size")
COEFFICIENTS = (4 / 5, -1 / 5, 4 / 105, -1 / 280)  # of the distances 1 to 4
EPSILONS = 16


def derivative(x: Any) -> Any:
    """The sum of coefficient[k] * (x[i + k] - x[i - k]) in double precision; there are zeros around x."""
    import torch  # noqa: PLC0415  (only where there is a GPU)

    kind = np.float32 if x.dtype == torch.float32 else np.float64
    reach, n = len(COEFFICIENTS), len(x)
    padded = torch.nn.functional.pad(x.double(), (reach, reach))
    total = torch.zeros(n, dtype=torch.float64, device=x.device)
    for k, coefficient in enumerate(COEFFICIENTS, 1):
        total += float(kind(coefficient)) * (padded[reach + k :][:n] - padded[reach - k :][:n])
    return total


def measure(
    device: Any, cases: dict[str, Case], given: argparse.Namespace, dtype: str, exponent: int
) -> tuple[list[dict[str, object]], list[dict[str, object]]]:
    """One size: the rows, and what was chosen of the kernels that have no case yet."""
    import torch  # noqa: PLC0415

    size = 2**exponent
    compiler = compiler_for(DeviceConfig(kind="cuda"), device.info)
    torch.manual_seed(0)
    x = torch.rand(size, dtype=getattr(torch, dtype), device="cuda") * 2 - 1
    out, expected = torch.empty_like(x), derivative(x)
    bound = EPSILONS * torch.finfo(x.dtype).eps

    def wrong() -> str:
        most = float((out.double() - expected).abs().max())
        return "" if most <= bound else f"an output differs by {most:g}, more than {bound:g}"  # NaN does, too

    fixed, chosen, contenders = {"dtype": dtype, "size": size}, [], []
    for kernel in KERNELS:
        if (case := cases.get(kernel)) is None:
            tries = candidates((kernel,), SPACE, **fixed)
            progress(f"choosing: {kernel}, {dtype}, 2^{exponent}, of {len(tries)}")
            case, median_us = quickest(device, compiler, tries, {"in": x, "out": out}, wrong)
            chosen.append(told(case, SPACE, median_us, **fixed))
        contenders.append(tried(kernel, partial(ours, device, compiler, case, {"in": x, "out": out}, wrong, kernel)))
    progress(f"measuring: {dtype}, 2^{exponent}")
    contenders += copies(device, compiler, x, out)
    taken = alternate(contenders, device, given.rounds, given.samples)
    rows = [row(c, t, **fixed, bytes=2 * x.nbytes) for c, t in zip(contenders, taken, strict=True)]
    return rows, chosen


def of_choices(choices: pd.DataFrame, dtype: str, exponent: int) -> dict[str, Case]:
    """The case of each kernel for a size."""
    fixed, size = {"dtype": dtype, "size": 2**exponent}, str(2**exponent)
    return {k: choice(choices, SPACE, fixed, dtype=dtype, size=size, kernel=k) for k in KERNELS}


def page(frame: pd.DataFrame) -> str:
    """The table for people: a line for each size."""
    wide, percent = medians(frame, BY), medians(frame, BY, "percent_copy")
    table = pd.DataFrame({f"{name} us": wide[name] for name in wide})
    for kernel in KERNELS:
        table[f"{kernel} %"] = percent[kernel]
    return text(table)


def main() -> int:
    """Take turns, and show."""
    parser = options(__doc__, NAME)
    parser.add_argument("--sizes", type=several(number(EXPONENTS)), default="20,24,26,28", help="exponents of 2")
    parser.add_argument("--dtypes", type=several(one_of(DTYPES)), default=",".join(DTYPES))
    given = parser.parse_args()
    tasks, cases = list(itertools.product(given.dtypes, given.sizes)), {}
    if not given.choose:
        choices = read_choices(given.chosen, (*BY, *SPACE), KERNELS)
        cases = {task: of_choices(choices, *task) for task in tasks}
    with gpu() as device:
        results = [measure(device, cases.get(task, {}), given, *task) for task in tasks]
        print(head(device, given.rounds, given.samples))
        info = device.info
    frame = against_copy(pd.DataFrame([line for rows, _ in results for line in rows]), BY, info.peak_gbps)
    keep(frame, given.out, NAME)
    if given.choose:
        keep(pd.DataFrame([line for _, chosen in results for line in chosen]), given.out, f"{NAME}-chosen")
    print("", page(frame), "", sep="\n")
    say(frame, BY, KERNELS, info.details["flush_us"])
    return 0


if __name__ == "__main__":
    sys.exit(main())
