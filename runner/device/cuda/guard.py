"""Guards against kernels that keep state between timed launches: hashes outputs, overwrites shared and local memory.

The kernels are in guard.cu. Their PTX is tracked in guard.ptx, which the driver compiles without nvcc.
"""

from __future__ import annotations

import contextlib
import functools
import secrets
from pathlib import Path
from typing import Any

import numpy as np
from pycuda import driver

from runner.device.cuda.driver_calls import call
from runner.errors import LaunchError

THREADS = 256
BLOCKS_PER_MULTIPROCESSOR = 8
FRAMES = (64, 512, 4096)  # bytes of a thread's local memory that guard.cu clears; of more, the first 4096


class Guard:
    """Guard kernels on one GPU's stream. The hash has a secret key, so that a kernel cannot construct a collision."""

    def __init__(self, gpu: driver.Device, stream: driver.Stream) -> None:
        get, names = gpu.get_attribute, driver.device_attribute
        self._stream, self._key = stream, np.uint64(secrets.randbits(64))
        self._blocks = get(names.MULTIPROCESSOR_COUNT)  # one for each
        self._shared = get(names.MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)
        self._full = self._blocks * (get(names.MAX_THREADS_PER_MULTIPROCESSOR) // THREADS)  # blocks that fill the GPU

    @functools.cached_property
    def _kernels(self) -> dict[str, Any]:
        module = driver.module_from_buffer(Path(__file__).with_name("guard.ptx").read_bytes() + b"\0")
        arguments = {"hash_words": "PQQP", "hash_bytes": "PQQP", "clear_shared": "I"}
        arguments |= {f"clear_local_{size}": "P" for size in FRAMES}
        kernels = {name: module.get_function(name) for name in arguments}
        for name, kernel in kernels.items():
            kernel.prepare(arguments[name])
        limit = driver.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES
        kernels["clear_shared"].set_attribute(limit, self._shared)
        return kernels

    @functools.cached_property
    def _result(self) -> driver.DeviceAllocation:
        return driver.mem_alloc(8)

    def digest(self, pointer: int, nbytes: int) -> int:
        """Hash `nbytes` bytes of device memory starting at `pointer`; synchronizes with the stream."""
        if not nbytes:
            return 0
        unit, name = (1, "hash_bytes") if (pointer | nbytes) % 4 else (4, "hash_words")
        driver.memset_d32_async(self._result, 0, 2, self._stream)
        self._hash(name, pointer, nbytes // unit)
        digest = np.empty(1, np.uint64)
        driver.memcpy_dtoh(digest, self._result)
        return int(digest[0])

    def read(self, pointer: int, words: int) -> None:
        """Queue a kernel that reads device memory once; `words` of 4 bytes."""
        self._hash("hash_words", pointer, words)

    def _hash(self, name: str, pointer: int, count: int) -> None:
        blocks = min(BLOCKS_PER_MULTIPROCESSOR * self._blocks, -(-count // THREADS))
        self._kernels[name].prepared_async_call(
            (blocks, 1), (THREADS, 1, 1), self._stream, pointer, count, self._key, int(self._result)
        )

    def overwrite_shared_and_local(self, local_bytes: int) -> None:
        """Queue kernels that overwrite shared memory, and `local_bytes` of each thread's local memory (see `FRAMES`).

        Before that, reset persisting L2 lines to normal: lines that a launch read with the hint `evict_last` survive
        the usual flush of L2.
        """
        with contextlib.suppress(LaunchError):  # a GPU without persisting L2 lines
            call("cuCtxResetPersistingL2Cache")
        self._kernels["clear_shared"].prepared_async_call(
            (self._blocks, 1), (1024, 1, 1), self._stream, self._shared, shared_size=self._shared
        )
        if local_bytes:
            frame = next((size for size in FRAMES if size >= local_bytes), FRAMES[-1])
            driver.memset_d32_async(self._result, 0, 1, self._stream)
            self._kernels[f"clear_local_{frame}"].prepared_async_call(
                (self._full, 1), (THREADS, 1, 1), self._stream, int(self._result)
            )
