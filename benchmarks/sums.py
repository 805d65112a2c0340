"""The contenders of benchmarks/reduction.py beside ours, and the check of their sums."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from our_kernels import Held, held
from side_by_side import Contender

from runner.device import Launch, Role, Source

FLOATS_WITHIN = 1e-6  # of the sum
READ_BLOCK, READ_VECTORS = 512, 8
READ_TILE = 16 * READ_BLOCK * READ_VECTORS  # bytes that a block of it reads
EMPTY = "empty kernel"
READS = {"read only": False, "read only, streaming": True}  # whether its loads are streaming ones


def numbers(dtype: str, count: int) -> NDArray[Any]:
    """The data: integers over their whole range, floats from 0 to 1."""
    random = np.random.default_rng(0)
    if dtype == "float32":
        return random.random(count, np.float32)
    return random.integers(-(2**31), 2**31, count, np.int32)


def right(host: NDArray[Any]) -> Callable[[Any], str]:
    """What says of a sum whether it is wrong."""
    if host.dtype == np.int32:
        exact = int(host.sum(dtype=np.int64))
        return lambda got: "" if (int(got) - exact) % 2**32 == 0 else f"{int(got)} is not the sum {exact} modulo 2^32"
    real = float(host.sum(dtype=np.float64))
    return lambda got: "" if abs(float(got) - real) <= FLOATS_WITHIN * real else f"{float(got)} is not the sum {real}"


def empty_kernel(device: Any) -> Contender:
    """A kernel that does nothing."""
    from pycuda import driver  # noqa: PLC0415  (only where there is a GPU)

    from runner.device.cuda.describe import EMPTY as PTX  # noqa: PLC0415

    module = driver.module_from_buffer(PTX)
    function = module.get_function("empty")
    function.prepare([])
    queue = partial(function.prepared_async_call, (1, 1), (1, 1, 1), device.stream)
    return Contender(EMPTY, queue=queue, holds=module)


def read_only(device: Any, compiler: Any, name: str, x: Any) -> Contender:
    """What reads all vectors; sizes are multiples of its tile."""
    if x.nbytes % READ_TILE:
        raise ValueError(f"{x.numel()} elements are no whole tiles")
    launch = _reading(device, compiler, held(x, Role.IN), x.nbytes // READ_TILE, streaming=READS[name])
    words = f"block={READ_BLOCK} vectors={READ_VECTORS} stream={READS[name]:d}"
    return Contender(name, words, device.queue_function(launch), holds=launch)


def _reading(device: Any, compiler: Any, memory: Held, tiles: int, *, streaming: bool) -> Launch:
    import torch  # noqa: PLC0415

    path = Path(__file__).resolve().parent / "kernels" / "readOnly.cu"
    macros = (("BLOCK", str(READ_BLOCK)), ("VECTORS", str(READ_VECTORS)), ("STREAM", f"{streaming:d}"))
    source = Source(path, path.read_text(encoding="utf-8"), "readOnly", macros)
    program = device.load(source, compiler.compile(source))
    out = held(torch.zeros(16, dtype=torch.uint8, device="cuda"), Role.OUT)
    return Launch(program, (tiles, 1, 1), (READ_BLOCK, 1, 1), 0, (memory, out))


@dataclass(frozen=True)
class CleanFlush:
    """The device's flush, whose memory is then read once: L2 holds it unchanged, and nothing is to be written back.

    Attributes:
        device: Ours.
        read: Queues the reading.
        launch: What must live as long as that is used.
    """

    device: Any
    read: Callable[[], object]
    launch: Launch

    def __call__(self) -> None:
        """Queue both."""
        self.device._flush()  # noqa: SLF001  (the very flush of our own samples)
        self.read()


def clean_flush(device: Any, compiler: Any) -> CleanFlush:
    """Read by plain loads, which stay in L2; what is behind the last whole tile is not read."""
    memory = Held(int(device._flush_memory), Role.IN)  # noqa: SLF001  (there is no other way to it)
    tiles = device._flush_words * 4 // READ_TILE  # noqa: SLF001
    launch = _reading(device, compiler, memory, tiles, streaming=False)
    return CleanFlush(device, device.queue_function(launch), launch)


def cub(build: Callable[[], ctypes.CDLL], device: Any, x: Any, wrong: Callable[[Any], str]) -> Contender:
    """CUB's DeviceReduce::Sum."""
    import torch  # noqa: PLC0415

    call = build()[f"cub_sum_{str(x.dtype).removeprefix('torch.')}"]
    pointer = ctypes.c_void_p
    call.argtypes = [pointer, ctypes.POINTER(ctypes.c_size_t), pointer, pointer, ctypes.c_int, pointer]
    call.errcheck = _refuse
    y, size = torch.zeros(1, dtype=x.dtype, device="cuda"), ctypes.c_size_t()
    rest = (ctypes.byref(size), x.data_ptr(), y.data_ptr(), x.numel(), device.stream.handle)
    call(None, *rest)  # says how much it needs
    temporary = torch.empty(size.value, dtype=torch.uint8, device="cuda")
    queue = partial(call, temporary.data_ptr(), *rest)
    return Contender("CUB", "DeviceReduce::Sum", queue, lambda: wrong(y.item()), y, (x, temporary, size))


def _refuse(status: int, *_: object) -> int:
    if status:
        raise RuntimeError(f"CUDA's error {status}")
    return status


def of_cupy(x: Any, wrong: Callable[[Any], str]) -> Contender:
    """CuPy's sum, each into an array of its own from CuPy's pool."""
    import cupy  # noqa: PLC0415

    mine, last = cupy.asarray(x), []

    def queue() -> None:
        last[:] = [cupy.sum(mine, dtype=mine.dtype)]

    return Contender("CuPy", "sum", queue, lambda: wrong(last[0].item()))


def of_torch(x: Any, wrong: Callable[[Any], str]) -> Contender:
    """PyTorch's sum."""
    import torch  # noqa: PLC0415

    y = torch.zeros(1, dtype=x.dtype, device="cuda")
    queue = partial(torch.sum, x, dim=0, dtype=x.dtype, out=y.reshape(()))
    return Contender("torch", "sum", queue, lambda: wrong(y.item()), y)


def cub_version(build: Callable[[], ctypes.CDLL]) -> str:
    """CUB's version, as its headers tell it."""
    try:
        version = build().cub_version()
    except (OSError, RuntimeError):
        return "CUB not built"
    return f"CUB {version // 100000}.{version // 100 % 1000}.{version % 100}"


def accelerators() -> str:
    """What CuPy's sums are made by."""
    import cupy  # noqa: PLC0415  (only where there is a GPU)

    names = {1: "CUB", 2: "cuTENSOR"}
    found = [names.get(int(a), str(a)) for a in cupy._core.get_routine_accelerators()]  # noqa: SLF001  (no public way)
    return f"CuPy's accelerators: {', '.join(found) or 'none'}"
