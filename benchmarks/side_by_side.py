"""Contenders that take turns on one GPU: what the benchmarks against libraries share.

All run in this process and queue on our device's stream. PyTorch holds the data; the others get its address. A sample
is taken as `CudaDevice.sample` takes it: flush L2, event, launch, event, wait. In each round every contender takes
its samples, in an order that is shuffled per round. Results are checked before the first round and after the last. A
contender that fails has the reason in its row and no times; the others go on.
"""

from __future__ import annotations

import ctypes
import functools
import gc
import importlib.util
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sweeps import stop

from runner.device.config import DeviceConfig
from runner.device.kinds import kind_of, open_device
from runner.errors import DeviceUnavailable

NATIVE = Path(__file__).resolve().parent / "native"
PACKAGES = {"pycuda": "PyCUDA", "torch": "PyTorch", "cupy": "CuPy"}
WARM_UP = 2  # launches before the samples of a round, as another contender's code was there before
LIMIT_S = 60.0  # for a launch


@dataclass(frozen=True)
class Contender:
    """One implementation of the task.

    Attributes:
        name: In the table.
        configuration: Its configuration in words.
        queue: Queues the work on the device's stream.
        check: Says what is wrong with the result; empty if nothing.
        output: A tensor to poison before the checked work; `None` if each call makes its own.
        holds: Keeps alive what the work needs.
        error: Why it cannot take part; empty if it can.
    """

    name: str
    configuration: str = ""
    queue: Callable[[], object] = lambda: None
    check: Callable[[], str] = lambda: ""
    output: Any = None
    holds: Any = None
    error: str = ""


@dataclass(frozen=True)
class Taken:
    """A contender's samples.

    Attributes:
        us: Microseconds of the work.
        enqueue_us: Those that the host took to queue it.
        error: Why there are none; empty if nothing went wrong.
    """

    us: NDArray[np.float64]
    enqueue_us: NDArray[np.float64]
    error: str = ""


def progress(message: str) -> None:
    """Show progress."""
    print(message, file=sys.stderr, flush=True)


def ready() -> None:
    """End with one sentence if a package, the GPU or nvcc is missing."""
    if missing := [name for package, name in PACKAGES.items() if importlib.util.find_spec(package) is None]:
        stop(f"{' and '.join(missing)} not installed: this benchmark needs {', '.join(PACKAGES.values())} and nvcc")
    if kind_of(DeviceConfig(kind="auto")) != "cuda":
        stop("there is no GPU that CUDA's driver can open: this benchmark needs one")
    from runner.device.cuda.compiler import find_nvcc  # noqa: PLC0415  (only where there is PyCUDA)

    if find_nvcc() is None:
        stop("nvcc is not on the PATH: this benchmark builds kernels with it")


@contextmanager
def gpu() -> Iterator[Any]:
    """Our device; PyTorch and CuPy also queue on its stream."""
    ready()
    try:
        device: Any = open_device(DeviceConfig(kind="cuda"))
    except DeviceUnavailable as e:
        stop(str(e))
    import cupy  # noqa: PLC0415  (only where there is a GPU; and after our device, whose context it is to use)
    import torch  # noqa: PLC0415

    try:
        torch.cuda.set_stream(torch.cuda.ExternalStream(device.stream.handle))
        cupy.cuda.ExternalStream(device.stream.handle).use()
        yield device
        device.stream.synchronize()
        torch.cuda.set_stream(torch.cuda.default_stream())
        cupy.cuda.Stream.null.use()
    finally:
        device.close()


def tried(name: str, made: Callable[[], Contender]) -> Contender:
    """A contender, or one with the reason why it cannot take part."""
    try:
        return made()
    except Exception as e:  # noqa: BLE001  (whatever it is: the others are to go on)
        return Contender(name, error=_said(e))


@functools.cache
def native(name: str, arch: str, folder: Path) -> ctypes.CDLL:
    """Build a C++ source with nvcc and load it.

    Args:
        name: Of a file in benchmarks/native, which has `extern "C"` functions.
        arch: What for, such as `sm_90`.
        folder: Where to put the shared object.
    """
    from runner.device.cuda.compiler import find_nvcc  # noqa: PLC0415  (only where there is PyCUDA)

    source, library = NATIVE / f"{name}.cu", folder / f"{name}.so"
    options = ["-shared", "-Xcompiler", "-fPIC", "-O3", "-std=c++17", f"-arch={arch}"]
    command = [str(find_nvcc()), *options, "-o", str(library)]
    done = subprocess.run([*command, str(source)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"nvcc cannot build {source.name}: {done.stderr[-500:]}")
    return ctypes.CDLL(str(library))


def alternate(
    contenders: Sequence[Contender], device: Any, rounds: int, samples: int, flush: Callable[[], object] | None = None
) -> list[Taken]:
    """Check each, let those that are right take turns, and check them again; returns their samples in the order given.

    Args:
        contenders: Who takes part.
        device: Ours.
        rounds: How often each has its turn.
        samples: Of each in a round.
        flush: What to queue before each sample; the device's own by default.
    """
    errors = [_wrong(c, device) for c in contenders]
    taken: list[list[tuple[NDArray[np.float64], NDArray[np.float64]]]] = [[] for _ in contenders]
    for number in range(rounds):
        order = [i for i, error in enumerate(errors) if not error]
        random.Random(number).shuffle(order)  # noqa: S311  (an order is no secret)
        for i in order:
            try:
                taken[i].append(sampled(device, contenders[i].queue, samples, flush))
            except Exception as e:  # noqa: BLE001  (as in `tried`)
                errors[i] = _said(e)
    for i, contender in enumerate(contenders):
        if not errors[i] and (wrong := _wrong(contender, device)):
            errors[i] = f"after the last round: {wrong}"
    return [_joined([] if error else parts, error) for parts, error in zip(taken, errors, strict=True)]


def _joined(parts: Sequence[tuple[NDArray[np.float64], NDArray[np.float64]]], error: str) -> Taken:
    us, enqueue = zip((np.empty(0), np.empty(0)), *parts, strict=True)
    return Taken(np.concatenate(us), np.concatenate(enqueue), error)


def _wrong(contender: Contender, device: Any) -> str:
    """Why its times do not count: its own error or a wrong result; empty if neither."""
    if contender.error:
        return contender.error
    try:
        if contender.output is not None:
            import torch  # noqa: PLC0415

            contender.output.view(torch.uint8).fill_(0xFF)
        contender.queue()
        device.stream.synchronize()
        return contender.check()
    except Exception as e:  # noqa: BLE001  (as in `tried`)
        return _said(e)


def sampled(
    device: Any, queue: Callable[[], object], count: int, flush: Callable[[], object] | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Microseconds of some work and of queueing it, taken as `CudaDevice.sample` takes them."""
    from pycuda import driver  # noqa: PLC0415  (only where there is a GPU)

    before, after, stream = driver.Event(), driver.Event(), device.stream
    flush = flush or device._flush  # noqa: SLF001  (the very flush of our own samples)
    us, enqueue = np.empty(WARM_UP + count), np.empty(WARM_UP + count)
    collected = gc.isenabled()
    gc.disable()
    try:
        for i in range(WARM_UP + count):
            flush()
            started = time.perf_counter_ns()
            before.record(stream)
            queue()
            enqueue[i] = (time.perf_counter_ns() - started) / 1000.0
            after.record(stream)
            device._wait(LIMIT_S)  # noqa: SLF001  (and their way of waiting)
            us[i] = before.time_till(after) * 1000.0
    finally:
        if collected:
            gc.enable()
    return us[WARM_UP:], enqueue[WARM_UP:]


def _said(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]
