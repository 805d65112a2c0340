"""A kernel loaded on a GPU, and what queues a launch of it with all that can be done ahead done."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from pycuda import driver

from runner.device import Launch, Resources


class CudaProgram:
    """A kernel's function, and the module it keeps alive."""

    def __init__(self, cubin: bytes, function: str) -> None:
        self.cubin, self.name = cubin, function
        self.module = driver.module_from_buffer(cubin)
        self.function = self.module.get_function(function)
        self.prepared: tuple[Any, ...] | None = None

    @property
    def resources(self) -> Resources:
        """As the driver tells them."""
        f = self.function
        return Resources(f.num_regs, f.shared_size_bytes, f.local_size_bytes)


def queued(launch: Launch, stream: driver.Stream) -> Callable[[], None]:
    """What queues the launch on a stream; the function is prepared for it here, which takes longer than queueing."""
    program = own(launch)
    numbers = [_packable(a) if isinstance(a, np.generic) else a for a in launch.arguments]
    types = tuple(a.dtype if isinstance(a, np.generic) else "P" for a in numbers)
    if program.prepared != (types, launch.shared, launch.cache):
        _prepare(program, types, launch)
    values = [a if isinstance(a, np.generic) else a.pointer for a in numbers]  # type: ignore[attr-defined]
    call = program.function.prepared_async_call
    return functools.partial(call, launch.grid, launch.block, stream, *values, shared_size=launch.shared)


def _prepare(program: CudaProgram, types: tuple[Any, ...], launch: Launch) -> None:
    shared = launch.shared
    program.function.prepare(list(types))
    program.function.set_cache_config(getattr(driver.func_cache, f"PREFER_{launch.cache.upper()}"))
    attribute = driver.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES
    if shared > program.function.get_attribute(attribute):
        program.function.set_attribute(attribute, shared)  # above 48 KiB a kernel must be told
    program.prepared = (types, shared, launch.cache)


def own(launch: Launch) -> CudaProgram:
    """The program of a launch, which is one of ours."""
    program = launch.program
    assert isinstance(program, CudaProgram)  # noqa: S101  (a launch is made of what this device gave)
    return program


def _packable(number: np.generic) -> np.generic:
    """Half types by their bits: PyCUDA packs arguments with `struct`, which does not know bfloat16."""
    return number.view(np.uint16) if number.dtype.itemsize == 2 else number
