"""A GPU for compute-sanitizer and profilers: unguarded arrays of exactly their size, and the profiled range."""

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
    """An allocation of exactly the array's size, without guards; only the host initializes it."""

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
        """Free the memory, if the context is still usable."""
        with suppress(driver.Error):
            self._memory.free()


class ExactDevice(CudaDevice):
    """A GPU with exact arrays, so that memcheck and initcheck see out-of-bounds and uninitialized accesses."""

    def _upload(self, value: NDArray[Any], role: Role, offset: int, lead: int) -> Any:
        return ExactArray(value, role, offset, lead)


def open_gpu(index: int, *, exact: bool) -> CudaDevice:
    """Open a GPU, with exact arrays or the usual ones."""
    return (ExactDevice if exact else CudaDevice)(index)


@contextmanager
def profiler() -> Iterator[None]:
    """The range that `ncu --profile-from-start off` profiles."""
    driver.start_profiler()
    try:
        yield
    finally:
        with suppress(driver.Error):  # after a fault
            driver.stop_profiler()
