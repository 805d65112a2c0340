"""Compares our fastest transpose of float32 matrices with cuBLAS, PyTorch, CuPy and copies of the same bytes, on a GPU.

    python benchmarks/transpose.py --choose --out DIR
    python benchmarks/transpose.py [--chosen FILE] [--shapes 4096x4096,4097x4095] [--rounds 5] [--samples 30]

All in one run, from and to the same memory, behind the same flush of L2, between the same events, in turn. Each
transpose is checked on the GPU against PyTorch's, before and after. Ours is one configuration a shape; --choose times
all candidates in this process, writes the fastest to DIR/transpose-chosen.csv, and measures it again. cuBLAS is
`sgeam` with CuPy's handle, PyTorch `out.copy_(x.t())`, CuPy `copyto(out, x.T)`.

`the copy` is the faster of ours, copyVector, and the driver's; `%` is its time in percent of a transpose's. `tensor
copies (tried)` is benchmarks/native/transpose_tensor.cu, by the bulk tensor copies of sm_90, which needs multiples of
4. Needs a GPU, PyCUDA, PyTorch, CuPy and nvcc.
"""

from __future__ import annotations

import argparse
import ctypes
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from copies import against_copy, copies
from our_kernels import candidates, choice, ours, quickest, read_choices, told
from side_by_side import Contender, alternate, gpu, native, progress, tried
from tables import head, keep, medians, options, row, same_task, say, several, text
from tables import shape as one_shape

from runner.device.config import DeviceConfig
from runner.device.kinds import compiler_for
from runner.kernel.case import Case

NAME = "transpose"
KERNELS = ("transposeTile", "transposeSwizzle", "transposeVector", "transposeShifted")
SPACE = {"block": (128, 256, 512), "tile_rows": (32, 64, 128), "tile_cols": (32, 64, 128)}
SHAPES = "4096x4096,8192x8192,16384x16384,4097x4095,16381x16363,1000x100003"
BY = ("shape",)
OURS, TENSOR = "ours", "tensor copies (tried)"
PEERS = ("cuBLAS geam", "torch", "CuPy", TENSOR)


def by_cublas(x: Any, out: Any, wrong: Callable[[], str]) -> Contender:
    """Call cuBLAS' sgeam: 1 x^T + 0 x. It takes a matrix by columns: ours, by rows, is its transpose, of `cols` rows.

    The second matrix is not used; it is the first one's memory, as 0 times whatever else is there might not be 0.
    """
    from cupy.cuda.device import get_cublas_handle  # noqa: PLC0415  (only where there is a GPU)
    from cupy_backends.cuda.libs import cublas  # noqa: PLC0415

    rows, cols = x.shape
    handle, one, zero = get_cublas_handle(), np.ones(1, np.float32), np.zeros(1, np.float32)
    cublas.setPointerMode(handle, cublas.CUBLAS_POINTER_MODE_HOST)
    first = (handle, cublas.CUBLAS_OP_T, cublas.CUBLAS_OP_N, rows, cols, one.ctypes.data, x.data_ptr(), cols)
    then = (zero.ctypes.data, x.data_ptr(), rows, out.data_ptr(), rows)
    return Contender(PEERS[0], "sgeam", partial(cublas.sgeam, *first, *then), wrong, out, (x, one, zero))


def by_cupy(x: Any, out: Any, wrong: Callable[[], str]) -> Contender:
    """CuPy's copy of a transposed view."""
    import cupy  # noqa: PLC0415

    source, target = cupy.asarray(x), cupy.asarray(out)
    return Contender("CuPy", "copyto(out, x.T)", partial(cupy.copyto, target, source.T), wrong, out, x)


def by_tensor_copies(
    build: Callable[[], ctypes.CDLL], device: Any, x: Any, out: Any, wrong: Callable[[], str]
) -> Contender:
    """Bulk tensor copies into shared memory."""
    rows, cols = x.shape
    if rows % 4 or cols % 4:
        raise ValueError("rows and columns that are multiples of 4 are needed")
    library, pointer = build(), ctypes.c_void_p
    library.prepare.argtypes, library.launch.argtypes = [pointer, pointer, ctypes.c_int, ctypes.c_int], [pointer]
    if status := library.prepare(x.data_ptr(), out.data_ptr(), rows, cols):
        raise RuntimeError(f"CUDA's error {status} as the tensor is described")

    def queue() -> None:
        if status := library.launch(device.stream.handle):
            raise RuntimeError(f"CUDA's error {status}")

    return Contender(TENSOR, "tile of 64x64, 256 threads", queue, wrong, out, x)


def fixed(shape: str) -> dict[str, object]:
    """What is not chosen."""
    return {"size": shape, "dtype": "float32"}


def measure(
    device: Any, build: Callable[[], ctypes.CDLL], case: Case | None, given: argparse.Namespace, shape: str
) -> tuple[list[dict[str, object]], dict[str, object] | None]:
    """One shape: the rows, and what was chosen if there was no case yet."""
    import torch  # noqa: PLC0415  (only where there is a GPU)

    rows, cols = map(int, shape.split("x"))
    compiler = compiler_for(DeviceConfig(kind="cuda"), device.info)
    torch.manual_seed(0)
    x = torch.rand((rows, cols), dtype=torch.float32, device="cuda")
    out = torch.empty((cols, rows), dtype=torch.float32, device="cuda")
    tensors, chosen = {"in": x, "out": out}, None

    def wrong() -> str:
        return "" if torch.equal(out, x.t()) else "it is not the transpose"

    if case is None:
        cases = candidates(KERNELS, SPACE, **fixed(shape))
        progress(f"choosing: {shape}, of {len(cases)}")
        case, median_us = quickest(device, compiler, cases, tensors, wrong)
        chosen = told(case, SPACE, median_us, shape=shape)
    progress(f"measuring: {shape}")
    contenders = [
        tried(OURS, partial(ours, device, compiler, case, tensors, wrong)),
        tried(PEERS[0], partial(by_cublas, x, out, wrong)),
        Contender("torch", "out.copy_(x.t())", partial(out.copy_, x.t()), wrong, out),
        tried("CuPy", partial(by_cupy, x, out, wrong)),
        tried(TENSOR, partial(by_tensor_copies, build, device, x, out, wrong)),
        *copies(device, compiler, x, out),
    ]
    taken = alternate(contenders, device, given.rounds, given.samples)
    moved = {"shape": shape, "bytes": 2 * x.nbytes}
    return [row(c, t, **moved) for c, t in zip(contenders, taken, strict=True)], chosen


def page(frame: pd.DataFrame) -> str:
    """The table for people: a line for each shape."""
    wide, of_ours = medians(frame, BY), frame[frame["contender"] == OURS].set_index("shape")
    table = pd.DataFrame({f"{name} us": wide[name] for name in wide})
    for peer in PEERS:
        table[f"{peer}/ours"] = wide[peer] / wide[OURS]
    table["% of the copy"], table["GB/s"] = of_ours["percent_copy"], of_ours["gbps"]
    return text(table)


def main() -> int:
    """Take turns, and show."""
    parser = options(__doc__, NAME)
    parser.add_argument("--shapes", type=several(one_shape), default=SHAPES)
    given = parser.parse_args()
    cases: dict[str, Case] = {}
    if not given.choose:
        choices = read_choices(given.chosen, (*BY, *SPACE), KERNELS)
        cases = {shape: choice(choices, SPACE, fixed(shape), shape=shape) for shape in given.shapes}
    with gpu() as device, tempfile.TemporaryDirectory() as folder:
        build = partial(native, "transpose_tensor", device.info.arch, Path(folder))
        results = [measure(device, build, cases.get(shape), given, shape) for shape in given.shapes]
        print(head(device, given.rounds, given.samples))
        info = device.info
    frame = against_copy(pd.DataFrame([line for rows, _ in results for line in rows]), BY, info.peak_gbps)
    frame["ratio_to_ours"] = frame["median_us"] / same_task(frame, BY, OURS)
    keep(frame, given.out, NAME)
    if given.choose:
        keep(pd.DataFrame([chosen for _, chosen in results]), given.out, f"{NAME}-chosen")
    print("", page(frame), "", sep="\n")
    say(frame, BY, (OURS,), info.details["flush_us"])
    return 0


if __name__ == "__main__":
    sys.exit(main())
