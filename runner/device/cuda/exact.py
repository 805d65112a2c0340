"""A GPU for tools that watch launches: arrays as a program of its own would have them, and where a profiler looks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pycuda import driver

from runner.device import Role
from runner.device.cuda.device import CudaDevice


class ExactArray:
    """An allocation of exactly the array's size, without guards and with no content but what the host gives it."""

    def __init__(self, value: NDArray[Any], role: Role, offset: int, lead: int) -> None:
        self.role = role
        self._memory = driver.mem_alloc(max(1, value.nbytes + offset * value.itemsize))
        self.begin = int(self._memory) + offset * value.itemsize
        self.pointer = self.begin + lead * value.itemsize
        if value.nbytes and role in (Role.IN, Role.INOUT):
            driver.memcpy_htod(self.begin, np.ascontiguousarray(value))
        elif value.nbytes and role is Role.STATE:
            driver.memset_d8(self.begin, 0, value.nbytes)

    def free(self) -> None:
        """Give the memory back, if the GPU still works."""
        with suppress(driver.Error):
            self._memory.free()


class ExactDevice(CudaDevice):
    """A GPU with such arrays: memcheck sees the first access beyond one, initcheck what nobody wrote."""

    def _placed(self, value: NDArray[Any], role: Role, offset: int, lead: int) -> Any:
        return ExactArray(value, role, offset, lead)


def open_gpu(index: int, *, exact: bool) -> CudaDevice:
    """Open a GPU, with exact arrays or the usual ones."""
    return (ExactDevice if exact else CudaDevice)(index)


@contextmanager
def profiler() -> Iterator[None]:
    """What `ncu --profile-from-start off` looks at."""
    driver.start_profiler()
    try:
        yield
    finally:
        with suppress(driver.Error):  # after a fault
            driver.stop_profiler()
