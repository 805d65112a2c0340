"""Arrays in a GPU's memory, between guard bytes, and inputs kept there for further cases."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pycuda import driver

from runner.device import Role

GUARD = 512  # bytes on either side; a multiple of the 256 to which the driver aligns memory
GUARDED = 0x5C


class Inputs:
    """Initial contents of arrays, kept on the GPU: copying from there is far faster than from the host.

    Only arrays that are read-only on the host are kept. Kernels get copies, never what is kept.
    """

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._kept: OrderedDict[int, tuple[NDArray[Any], driver.DeviceAllocation]] = OrderedDict()

    def find(self, value: NDArray[Any]) -> driver.DeviceAllocation | None:
        """The content on the GPU, uploaded if it is not there yet; `None` if it is not kept."""
        if value.flags.writeable or not 0 < value.nbytes <= self._most:
            return None
        if id(value) in self._kept:
            self._kept.move_to_end(id(value))
            return self._kept[id(value)][1]
        while self._kept and sum(v.nbytes for v, _ in self._kept.values()) + value.nbytes > self._most:
            self._kept.popitem(last=False)
        memory = driver.mem_alloc(value.nbytes)
        driver.memcpy_htod(memory, value)
        self._kept[id(value)] = value, memory  # holding the value keeps its id unique
        return memory

    def forget(self) -> bool:
        """Drop everything; return whether there was anything."""
        found = bool(self._kept)
        self._kept.clear()
        return found

    def forget_if_spoilt(self) -> bool:
        """Drop everything if a kernel, writing far outside its arrays, changed any of it; return whether one did."""
        for value, memory in self._kept.values():
            there = np.empty_like(value)
            driver.memcpy_dtoh(there, memory)
            if not np.array_equal(there.view(np.uint8), value.view(np.uint8)):
                return self.forget()
        return False


class CudaArray:
    """An array in the GPU's memory."""

    def __init__(
        self, value: NDArray[Any], role: Role, offset: int, stream: driver.Stream, inputs: Inputs | None
    ) -> None:
        """Upload an array, or copy it from `inputs`."""
        self._role = role
        self._host = np.ascontiguousarray(value)
        self._stream = stream
        lead = offset * value.itemsize
        self._end = GUARD + lead + value.nbytes
        first = inputs.find(value) if inputs and role in (Role.IN, Role.INOUT) else None
        self._memory = driver.mem_alloc(self._end + GUARD)
        self.pointer = int(self._memory) + GUARD + lead
        driver.memset_d8(int(self._memory), GUARDED, GUARD)
        driver.memset_d8(int(self._memory) + self._end, GUARDED, GUARD)
        if lead:
            driver.memset_d8(int(self._memory) + GUARD, 0, lead)
        if first is None and value.nbytes:
            driver.memcpy_htod(self.pointer, self._host)
            if role is Role.INOUT:
                first = driver.mem_alloc(value.nbytes)
                driver.memcpy_dtod(first, self.pointer, value.nbytes)
        elif first is not None:
            driver.memcpy_dtod(self.pointer, first, value.nbytes)
        self._first = first if role is Role.INOUT else None

    @property
    def role(self) -> Role:
        """What the kernel may do with it."""
        return self._role

    def read(self) -> NDArray[Any]:
        """Copy the content back."""
        result = np.empty_like(self._host)
        if result.nbytes:
            driver.memcpy_dtoh(result, self.pointer)
        return result

    def fill_bytes(self, value: int) -> None:
        """Set every byte."""
        if self._host.nbytes:
            driver.memset_d8(self.pointer, value, self._host.nbytes)

    def restore(self) -> None:
        """Queue a copy of the initial content on the stream."""
        if self._first is not None:
            driver.memcpy_dtod_async(self.pointer, self._first, self._host.nbytes, self._stream)

    def overrun(self) -> str:
        """Where the kernel wrote outside the array: the guard bytes show writes up to 512 bytes away."""
        guard = np.empty(GUARD, np.uint8)
        for where, start in (("before its start", 0), ("beyond its end", self._end)):
            driver.memcpy_dtoh(guard, int(self._memory) + start)
            if (guard != GUARDED).any():
                return where
        return ""

    def free(self) -> None:
        """Give the memory back; the initial content may be shared, and goes with its last user."""
        self._memory.free()
        self._first = None
