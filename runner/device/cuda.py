"""NVIDIA GPUs, through PyCUDA. PyCUDA stops here.

A module is made by SourceModule's two halves: `pycuda.compiler.compile`, ahead of time and on several threads of the
parent, and `module_from_buffer`, in the worker that owns the context.
"""

from __future__ import annotations

import contextlib
import itertools
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pycuda import compiler as pycuda_compiler
from pycuda import driver

from runner import atomic
from runner.device import Binary, DeviceInfo, Findings, Launch, Resources, Role, Source, cache
from runner.errors import CompileError, DeviceUnavailable, LaunchError, LaunchTimeout, OutOfMemory

FLUSHED_L2 = 4  # the flush writes that many times the L2 cache, so that the launch behind it need not wait for Python
LEAST_FLUSH = 64 << 20
COPY_BYTES = 1 << 28  # for the copy bandwidth: far larger than any L2
NO_DEFAULT_OPTIONS: tuple[str, ...] = ()


class CudaCompiler:
    """nvcc, by PyCUDA's own call of it, behind a cache that parallel writers share."""

    def __init__(self, arch: str, options: Sequence[str] = NO_DEFAULT_OPTIONS, cache_dir: Path | None = None) -> None:
        """Choose the architecture, such as `sm_90`, and further options for nvcc."""
        self._arch = arch
        self._options = tuple(options)
        self._folder = cache_dir or cache.default_folder("cuda")
        self._nvcc: tuple[str, str] | None = None

    def compile(self, source: Source) -> Binary:
        """Compile, or find the cubin of an earlier time.

        Raises:
            CompileError: with nvcc's message at the kernel's own lines.
        """
        started = time.perf_counter()
        nvcc, version = self._find_nvcc()
        folders = (source.path.parent, *source.include_dirs)
        text = f'{source.defines()}#line 1 "{source.path.name}"\n{source.text}'
        included = [p.read_text(encoding="utf-8", errors="replace") for p in cache.includes(source.text, folders)]
        name = cache.key(text, *included, *self._options, *map(str, folders[1:]), self._arch, version)
        path = self._folder / f"{name}.cubin"
        cached = path.is_file()
        if not cached:
            atomic.write(path, self._run(nvcc, source, text, folders))
        return Binary(path, cache.digest(path), time.perf_counter() - started, cached)

    def _run(self, nvcc: str, source: Source, text: str, folders: Sequence[Path]) -> bytes:
        try:
            cubin: bytes = pycuda_compiler.compile(
                text,
                nvcc=nvcc,
                options=list(self._options),
                no_extern_c=True,  # templates and C++ includes stay possible; kernels say extern "C" themselves
                arch=self._arch,
                cache_dir=False,
                include_dirs=[str(f) for f in folders],
            )
        except driver.CompileError as e:
            log = f"{e.stdout or ''}{e.stderr or ''}".strip()
            raise CompileError(f"{source.path.name}: {_first_error(log)}", log) from None
        return cubin

    def _find_nvcc(self) -> tuple[str, str]:
        if self._nvcc is None:
            nvcc = shutil.which("nvcc")
            if nvcc is None:
                raise CompileError("nvcc is not on the PATH; install the CUDA toolkit, or use device=cpu")
            self._nvcc = nvcc, pycuda_compiler.get_nvcc_version(nvcc)
        return self._nvcc


class CudaProgram:
    """A kernel's function, and the module it keeps alive."""

    def __init__(self, cubin: bytes, function: str) -> None:
        self.module = driver.module_from_buffer(cubin)
        self.function = self.module.get_function(function)
        self.prepared: tuple[Any, ...] | None = None

    @property
    def resources(self) -> Resources:
        """As the driver tells them."""
        f = self.function
        return Resources(f.num_regs, f.shared_size_bytes, f.local_size_bytes)


class CudaArray:
    """An array in the GPU's memory; `inout` arrays keep a second copy of what they held at first."""

    def __init__(self, value: NDArray[Any], role: Role, offset: int, stream: driver.Stream) -> None:
        self._role = role
        self._host = np.ascontiguousarray(value)
        self._stream = stream
        self._lead = offset * value.itemsize
        self._memory = driver.mem_alloc(max(self._lead + value.nbytes, 1))
        self._first = None
        self.pointer = int(self._memory) + self._lead
        if value.nbytes:
            driver.memcpy_htod(self.pointer, self._host)
        if role is Role.INOUT and value.nbytes:
            self._first = driver.mem_alloc(value.nbytes)
            driver.memcpy_dtod(self._first, self.pointer, value.nbytes)

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
        """Queue a copy of the first content; nothing waits for it but the stream."""
        if self._first is not None:
            driver.memcpy_dtod_async(self.pointer, self._first, self._host.nbytes, self._stream)

    def free(self) -> None:
        """Give the memory back."""
        self._memory.free()
        if self._first is not None:
            self._first.free()


class CudaDevice:
    """One GPU, by its primary context, which is pushed here and popped in `close`."""

    def __init__(self, index: int = 0) -> None:
        """Open the GPU.

        Raises:
            DeviceUnavailable: if there is none of that number.
        """
        try:
            driver.init()
            count = driver.Device.count()
            if not 0 <= index < count:
                raise DeviceUnavailable(f"device.index={index}: there are {count} GPUs, numbered from 0")
            self._gpu = driver.Device(index)
            self._context = self._gpu.retain_primary_context()
            self._context.push()
        except driver.Error as e:
            raise DeviceUnavailable(f"device=cuda: the GPU cannot be opened: {e}") from None
        self._usable = True
        self._stream = driver.Stream()
        self._info = self._describe()
        self._flush_words = max(FLUSHED_L2 * self._info.l2_bytes, LEAST_FLUSH) // 4
        self._flush = driver.mem_alloc(self._flush_words * 4)

    @property
    def info(self) -> DeviceInfo:
        """What is known of the GPU."""
        return self._info

    @property
    def usable(self) -> bool:
        """Whether the context took no fault; after one, every call in this process fails."""
        return self._usable

    def load(self, source: Source, binary: Binary) -> CudaProgram:
        """Make the kernel ready to launch."""
        try:
            return CudaProgram(binary.path.read_bytes(), source.function)
        except driver.Error as e:
            raise LaunchError(f"{source.path.name}: the kernel {source.function} cannot be loaded: {e}") from None

    def set_constant(self, program: CudaProgram, name: str, value: NDArray[Any]) -> None:
        """Write a `__constant__` or `__device__` array."""
        try:
            pointer, size = program.module.get_global(name)
        except driver.Error:
            raise LaunchError(f"the kernel has no __constant__ or __device__ variable '{name}'") from None
        if size != value.nbytes:
            raise LaunchError(f"'{name}' has {size} bytes in the kernel, {value.nbytes} in the experiment")
        driver.memcpy_htod(pointer, np.ascontiguousarray(value))

    def place(self, name: str, value: NDArray[Any], role: Role, offset: int = 0) -> CudaArray:
        """Copy an array to the GPU."""
        try:
            return CudaArray(value, role, offset, self._stream)
        except driver.MemoryError:
            raise OutOfMemory(f"'{name}' ({value.nbytes} bytes) does not fit into the GPU's memory") from None
        except driver.Error as e:
            self._usable = False
            raise LaunchError(f"'{name}' cannot be placed: {e}") from None

    def launch(self, launch: Launch, time_limit: float) -> Findings:
        """Launch once and wait for the end; a kernel that does not end costs the process."""
        try:
            self._queue(launch)
            self._wait(time_limit)
        except driver.Error as e:
            raise self._failed(e) from None
        return Findings()

    def sample(self, launch: Launch, count: int, time_limit: float) -> NDArray[np.float64]:
        """Time launches one by one: restored, flushed, between two events, with nothing waited for in between."""
        restored = launch.arrays(Role.INOUT)
        events = [(driver.Event(), driver.Event()) for _ in range(count)]
        try:
            for before, after in events:
                for array in restored:
                    array.restore()
                driver.memset_d32_async(int(self._flush), 0, self._flush_words, self._stream)
                before.record(self._stream)
                self._queue(launch)
                after.record(self._stream)
            self._wait(time_limit)
        except driver.Error as e:
            raise self._failed(e) from None
        return np.array([before.time_till(after) * 1000.0 for before, after in events])

    def close(self) -> None:
        """Give the flush buffer back and pop the context; one that is still pushed at exit aborts the process."""
        if self._usable:
            self._flush.free()
        with contextlib.suppress(driver.Error):
            self._context.pop()

    def _queue(self, launch: Launch) -> None:
        program = launch.program
        assert isinstance(program, CudaProgram)  # noqa: S101  (a launch is made of what this device gave)
        types = tuple(a.dtype if isinstance(a, np.generic) else "P" for a in launch.arguments)
        if program.prepared != (types, launch.shared):
            self._prepare(program, types, launch.shared)
        values = [a if isinstance(a, np.generic) else a.pointer for a in launch.arguments]  # type: ignore[attr-defined]
        program.function.prepared_async_call(
            launch.grid, launch.block, self._stream, *values, shared_size=launch.shared
        )

    def _prepare(self, program: CudaProgram, types: tuple[Any, ...], shared: int) -> None:
        program.function.prepare(list(types))
        attribute = driver.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES
        if shared > program.function.get_attribute(attribute):
            program.function.set_attribute(attribute, shared)  # above 48 KiB a kernel must be told
        program.prepared = (types, shared)

    def _wait(self, time_limit: float) -> None:
        """Wait for the stream by asking, so that a kernel without an end can be given up."""
        deadline = time.monotonic() + time_limit
        pause = 0.0
        while not self._stream.is_done():
            if time.monotonic() > deadline:
                self._usable = False
                raise LaunchTimeout(f"still running after {time_limit:g} s")
            time.sleep(pause)
            pause = min(pause + 0.0001, 0.005)
        self._stream.synchronize()

    def _failed(self, error: Exception) -> LaunchError:
        self._usable = False
        if isinstance(error, driver.MemoryError):
            return OutOfMemory(f"the launch does not fit into the GPU's memory: {error}")
        return LaunchError(f"the GPU refused the launch or faulted in it: {error}")

    def _describe(self) -> DeviceInfo:
        gpu, attribute = self._gpu, driver.device_attribute
        get = gpu.get_attribute
        major, minor = gpu.compute_capability()
        # Double data rate: two transfers a clock (CUDA C++ Best Practices Guide, "Theoretical Bandwidth Calculation").
        clock_khz, bus_bits = get(attribute.MEMORY_CLOCK_RATE), get(attribute.GLOBAL_MEMORY_BUS_WIDTH)
        peak = 2 * clock_khz * 1e3 * bus_bits / 8 / 1e9
        driver_version = driver.get_driver_version()
        details = {
            "multiprocessors": get(attribute.MULTIPROCESSOR_COUNT),
            "clock_mhz": get(attribute.CLOCK_RATE) / 1000,
            "memory_clock_mhz": clock_khz / 1000,
            "memory_bus_bits": bus_bits,
            "ecc": bool(get(attribute.ECC_ENABLED)),
            "copy_gbps": self._copy_gbps(),
        }
        versions = {
            "cuda_driver": f"{driver_version // 1000}.{driver_version % 1000 // 10}",
            "cuda_headers": ".".join(map(str, driver.get_version())),
            **_nvidia_driver(),
            **_toolkit(),
        }
        return DeviceInfo(
            kind="cuda",
            name=gpu.name(),
            arch=f"sm_{major}{minor}",
            peak_gbps=peak or None,  # integrated GPUs report no memory clock
            l2_bytes=get(attribute.L2_CACHE_SIZE),
            shared_limit=get(attribute.MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
            memory_bytes=gpu.total_memory(),
            versions=versions,
            details=details,
        )

    def _copy_gbps(self) -> float | None:
        """Read + write bandwidth of a device-to-device copy: the median of ten."""
        try:
            source, target = driver.mem_alloc(COPY_BYTES), driver.mem_alloc(COPY_BYTES)
        except driver.MemoryError:
            return None
        events = [driver.Event() for _ in range(12)]
        for event in events:
            driver.memcpy_dtod_async(target, source, COPY_BYTES, self._stream)
            event.record(self._stream)
        self._stream.synchronize()
        times = [a.time_till(b) for a, b in itertools.pairwise(events[1:])]
        source.free()
        target.free()
        return 2 * COPY_BYTES / float(np.median(times)) / 1e6


def _first_error(log: str) -> str:
    return next(
        (line.strip() for line in log.splitlines() if "error" in line), log.splitlines()[0] if log else "nvcc failed"
    )


def _nvidia_driver() -> dict[str, str]:
    try:
        import pynvml  # noqa: PLC0415  (a help, not a need)

        pynvml.nvmlInit()
        return {"nvidia_driver": str(pynvml.nvmlSystemGetDriverVersion())}
    except Exception:  # noqa: BLE001  (NVML is not everywhere where CUDA is, and raises classes of its own)
        return {}


def _toolkit() -> dict[str, str]:
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        return {}
    lines = pycuda_compiler.get_nvcc_version(nvcc).splitlines()
    return {"nvcc": next((line.strip() for line in lines if "release" in line), lines[0] if lines else "")}
