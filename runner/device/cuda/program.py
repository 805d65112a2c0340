"""Kernels on a GPU, their arrays and their launches."""

from __future__ import annotations

import contextlib
import copy
import functools
import math
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pycuda import driver

from runner.device import Array, Inside, Launch, MemoryProgram, Program, Resources, Role, Value, elf
from runner.device.cuda.driver_calls import DriverFunction, DriverModule
from runner.device.cuda.guard import Guard
from runner.errors import LaunchError

GUARD_BYTES = 512  # on either side; a multiple of the driver's alignment of 256 bytes
VARIABLES = (".nv.global", ".nv.constant3")  # the sections of __device__ and __constant__ variables


class CudaProgram:
    """A kernel's function, with the module that it keeps loaded."""

    others: tuple[Program, ...] = ()

    def __init__(
        self, cubin: bytes, functions: Sequence[str], stream: driver.Stream, *, cooperative: bool = False
    ) -> None:
        self.stream = stream
        self.cubin, self._functions = cubin, functions
        self.name = elf.kernel_symbol(cubin, functions[0], 0)
        self.module = driver.module_from_buffer(cubin)
        self.function = self.module.get_function(self.name)
        self.cooperative = DriverFunction(DriverModule(cubin), self.name) if cooperative else None
        self.prepared: tuple[Any, ...] | None = None
        self.hint = ""  # for the message if a launch of it fails
        self._variables: list[tuple[int, driver.DeviceAllocation, int]] | None = None  # address, first content, bytes

    def queue(self, launch: Launch) -> Callable[[], None]:
        """Prepare the kernel; the returned function queues the launch."""
        return queue_function(launch, self.stream)

    def sibling(self, function: str) -> CudaProgram:
        """Another function of the same module."""
        other = copy.copy(self)
        other.prepared = None
        other.name = elf.kernel_symbol(self.cubin, function, self._functions.index(function))
        try:
            other.function = self.module.get_function(other.name)
        except driver.LogicError:
            raise LaunchError(f"the program has no __global__ function '{function}'") from None
        other.cooperative = self.cooperative and DriverFunction(self.cooperative.module, other.name)
        return other

    @property
    def resources(self) -> Resources:
        """Registers and memory, from the driver."""
        f = self.function
        return Resources(f.num_regs, f.shared_size_bytes, f.local_size_bytes)

    def reset(self) -> None:
        """Restore `__device__` and `__constant__` variables to their content at the first call."""
        if self._variables is None:
            self._variables = []
            for address, size in self._globals():
                self._variables.append((address, driver.mem_alloc(size), size))
                driver.memcpy_dtod(self._variables[-1][1], address, size)
        for address, first, size in self._variables:
            driver.memcpy_dtod(address, first, size)

    def save(self, pointer: int) -> None:
        """Save the content of the variable at `pointer` for `reset`."""
        for address, first, size in self._variables or ():
            if address == int(pointer):
                driver.memcpy_dtod(first, address, size)

    def variable(self, name: str) -> tuple[int, int]:
        """Address and size of a variable in the launched module. Raises driver.Error or LaunchError if missing."""
        if self.cooperative:
            return self.cooperative.module.variable(name)
        address, size = self.module.get_global(name)
        return int(address), int(size)

    def address_of(self, name: str, nbytes: int) -> int:
        """The address of a `__constant__` or `__device__` variable. Raises LaunchError if it has fewer bytes."""
        try:
            address, size = self.variable(elf.linked_name(self.cubin, name))
        except (driver.Error, LaunchError):
            raise LaunchError(f"the kernel has no __constant__ or __device__ variable '{name}'") from None
        if size < nbytes:  # the rest keeps its initializer
            raise LaunchError(f"constant '{name}' has {size} bytes, the experiment sets {nbytes}")
        return address

    def _globals(self) -> Iterator[tuple[int, int]]:
        for variable in elf.variables(self.cubin):
            if variable.section.startswith(VARIABLES):
                with contextlib.suppress(driver.Error, LaunchError):
                    yield self.variable(variable.name)


class Inputs:
    """A cache of initial contents on the GPU, as copying from there is far faster than from the host.

    It holds arrays that are read-only on the host. Kernels get copies, never the cached content.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._contents: OrderedDict[int, tuple[NDArray[Any], driver.DeviceAllocation]] = OrderedDict()

    def find(self, value: NDArray[Any]) -> driver.DeviceAllocation | None:
        """The content on the GPU, uploaded at the first call; `None` if it is not cached."""
        if value.flags.writeable or not 0 < value.nbytes <= self._max_bytes:
            return None
        if id(value) in self._contents:
            self._contents.move_to_end(id(value))
            return self._contents[id(value)][1]
        while self._contents and sum(v.nbytes for v, _ in self._contents.values()) + value.nbytes > self._max_bytes:
            self._contents.popitem(last=False)
        memory = driver.mem_alloc(value.nbytes)
        driver.memcpy_htod(memory, value)
        self._contents[id(value)] = value, memory  # holding the value keeps its id unique
        return memory

    def forget(self) -> bool:
        """Empty the cache; returns whether it had any content."""
        had_content = bool(self._contents)
        self._contents.clear()
        return had_content

    def forget_if_spoilt(self) -> bool:
        """Empty the cache if a kernel's out-of-bounds writes changed any content; returns whether one did."""
        for value, memory in self._contents.values():
            content = np.empty_like(value)
            driver.memcpy_dtoh(content, memory)
            if not np.array_equal(content.view(np.uint8), value.view(np.uint8)):
                return self.forget()
        return False


class CudaArray(Array):
    """An array in the GPU's memory between guard bytes, uploaded or copied from `inputs`."""

    def __init__(
        self,
        value: NDArray[Any],
        role: Role,
        offset: int,
        lead: int,
        stream: driver.Stream,
        guard: Guard,
        inputs: Inputs | None,
    ) -> None:
        self.role, self._guard = role, guard
        self.host = np.ascontiguousarray(value)
        self._stream = stream
        self._start = GUARD_BYTES + offset * value.itemsize  # of the content
        self._end = self._start + value.nbytes
        first = inputs.find(value) if inputs and role in (Role.IN, Role.INOUT) else None
        self._memory = driver.mem_alloc(self._end + GUARD_BYTES)
        self.begin = self._content = int(self._memory) + self._start
        self.pointer = self._content + lead * value.itemsize  # what the kernel gets
        driver.memset_d8(int(self._memory), role.guard_byte, self._start)
        driver.memset_d8(int(self._memory) + self._end, role.guard_byte, GUARD_BYTES)
        if first is None and value.nbytes:
            driver.memcpy_htod(self._content, self.host)
            if role is Role.INOUT:
                first = driver.mem_alloc(value.nbytes)
                driver.memcpy_dtod(first, self._content, value.nbytes)
        elif first is not None:
            driver.memcpy_dtod(self._content, first, value.nbytes)
        self._first = first if role is Role.INOUT else None

    def read(self) -> NDArray[Any]:
        """Copy the content back."""
        result = np.empty_like(self.host)
        if result.nbytes:
            driver.memcpy_dtoh(result, self._content)
        return result

    def fill_bytes(self, value: int) -> None:
        """Queue the setting of every byte on the stream."""
        if self.host.nbytes:
            driver.memset_d8_async(self._content, value, self.host.nbytes, self._stream)

    def restore(self) -> None:
        """Queue a copy of the initial content on the stream."""
        if self._first is not None:
            driver.memcpy_dtod_async(self._content, self._first, self.host.nbytes, self._stream)

    def digest(self) -> int:
        """A hash of the whole content and of the guard bytes."""
        return self._guard.digest(int(self._memory), self._end + GUARD_BYTES)

    def overrun(self) -> str:
        """Where the kernel wrote outside the array; guard bytes show writes up to `GUARD_BYTES` bytes away."""
        for where, start, size in (("before its start", 0, self._start), ("beyond its end", self._end, GUARD_BYTES)):
            guard = np.empty(size, np.uint8)
            driver.memcpy_dtoh(guard, int(self._memory) + start)
            if (guard != self.role.guard_byte).any():
                return where
        return ""

    def free(self) -> None:
        """Free the memory; the last user of the initial content frees that, too."""
        self._memory.free()
        self._first = None


class Variable(CudaArray):
    """A `__device__` array of a program that the kernel writes, without guard bytes."""

    def __init__(self, pointer: int, value: NDArray[Any], role: Role, stream: driver.Stream, guard: Guard) -> None:
        self.role, self._stream, self._guard = role, stream, guard
        self.pointer = self.begin = self._content = pointer
        self.host = np.ascontiguousarray(value)
        driver.memcpy_htod(pointer, self.host)

    def restore(self) -> None:
        """Restore the initial content when the stream is idle."""
        self._stream.synchronize()
        driver.memcpy_htod(self.pointer, self.host)

    def digest(self) -> int:
        """A hash of the content."""
        return self._guard.digest(self.pointer, self.host.nbytes)

    def overrun(self) -> str:
        """Always empty: the compiler decides what surrounds a variable."""
        return ""

    def free(self) -> None:
        """Do nothing, as the module owns the memory."""


class StreamMemory(MemoryProgram):
    """Memsets and copies, queued on the stream as cudaMemsetAsync and cudaMemcpyAsync queue them."""

    def __init__(self, stream: driver.Stream) -> None:
        self._stream = stream

    def queue(self, launch: Launch) -> Callable[[], None]:
        """What queues the memset or the copy."""
        arguments: Any = launch.arguments  # arrays with `begin`, of this device or of the one of exact arrays
        array, given, size = arguments
        nbytes = int(size)
        if not nbytes:
            return lambda: None
        if isinstance(given, Value):
            memsets = {1: driver.memset_d8_async, 2: driver.memset_d16_async, 4: driver.memset_d32_async}
            unit, pattern = len(given.content), int.from_bytes(given.content, sys.byteorder)
            return functools.partial(memsets[unit], array.begin, pattern, nbytes // unit, self._stream)
        return functools.partial(driver.memcpy_dtod_async, array.begin, given.begin, nbytes, self._stream)


def queue_function(launch: Launch, stream: driver.Stream) -> Callable[[], None]:
    """Prepare the kernel, which takes longer than queueing it; the returned function queues the launch."""
    program = _own(launch)
    threads, allowed = math.prod(launch.block), program.function.max_threads_per_block
    if threads > allowed:
        bounds = "its __launch_bounds__, or the registers of the GPU"
        raise LaunchError(f"a block of {threads} threads, but the kernel's blocks have at most {allowed}: {bounds}")
    types, values = _packed(launch.arguments)
    if program.prepared != (types, launch.shared, launch.cache):
        program.function.prepare(list(types))
        if launch.cache.isdecimal():
            carveout = driver.function_attribute.PREFERRED_SHARED_MEMORY_CARVEOUT
            program.function.set_attribute(carveout, int(launch.cache))
        else:
            program.function.set_cache_config(getattr(driver.func_cache, f"PREFER_{launch.cache.upper()}"))
        attribute = driver.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES
        if launch.shared > program.function.get_attribute(attribute):
            program.function.set_attribute(attribute, launch.shared)  # above 48 KiB a kernel must opt in
        program.prepared = (types, launch.shared, launch.cache)
    if program.cooperative:
        return program.cooperative.queue_function(launch, stream.handle, program.function.arg_format, values)
    queue = program.function.prepared_async_call
    return functools.partial(queue, launch.grid, launch.block, stream, *values, shared_size=launch.shared)


def _own(launch: Launch) -> CudaProgram:
    program = launch.program
    assert isinstance(program, CudaProgram)  # noqa: S101  (launches are made from what this device loaded)
    return program


def _packed(arguments: Sequence[Any]) -> tuple[tuple[Any, ...], list[Any]]:
    """The `struct` formats and values of the arguments; numbers align themselves, structures get explicit padding."""
    types: list[Any] = []
    values: list[Any] = []
    end = 0
    for a in arguments:
        value: Any
        size = alignment = 8
        if isinstance(a, Value):
            value, size, alignment = a.content, len(a.content), a.alignment
        elif isinstance(a, np.generic):
            size = alignment = a.dtype.itemsize
            # PyCUDA packs by `struct`, which lacks the types of ml_dtypes: integers with the same bits.
            value = a if size > 2 else a.view(np.uint16 if size == 2 else np.uint8)
        else:
            value = a.array.begin + a.offset if isinstance(a, Inside) else a.pointer  # type: ignore[attr-defined]
        begin = -(-end // alignment) * alignment
        types.append(f"{begin - end}x{size}s" if isinstance(a, Value) else getattr(value, "dtype", "P"))
        values.append(value)
        end = begin + size
    return tuple(types), values


def active_blocks(launch: Launch) -> int:
    """The occupancy: blocks of the launch per multiprocessor.

    PyCUDA does not expose a function's handle, so the cubin is loaded a second time. Raises LaunchError if that fails.
    """
    launch = launch.kernel
    program = _own(launch)
    if program.cooperative:
        return program.cooperative.active_blocks(launch)
    loaded = DriverModule(program.cubin)
    try:
        return DriverFunction(loaded, program.name).active_blocks(launch)
    finally:
        loaded.close()
