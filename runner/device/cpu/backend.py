"""Opens the CPU device (see docs/cpu-device.md)."""

from __future__ import annotations

import atexit
import contextlib
import threading
from typing import TYPE_CHECKING

from runner.device import Compiler, Device, DeviceInfo, Requirements
from runner.device.cpu.build import CpuCompiler
from runner.errors import CompileError

if TYPE_CHECKING:
    from runner.device.config import DeviceConfig


def is_present(config: DeviceConfig) -> bool:  # noqa: ARG001
    """Always true, as the host is the device."""
    return True


def start_compiler(compiler: str) -> None:  # noqa: ARG001
    """Compile the library of all kernels in a thread, if the cache lacks it. It is aborted when the program ends."""
    own = CpuCompiler()
    thread = threading.Thread(target=_build_library, args=(own,), name="library", daemon=True)

    def stop() -> None:
        own.stop()
        if thread.ident is not None:
            thread.join()

    atexit.register(stop)  # first, as it fails in a program that ends already, in which nothing must start
    thread.start()


def _build_library(compiler: CpuCompiler) -> None:
    # The compilation of the first kernel reports the error. A program that ends starts no more threads: RuntimeError.
    with contextlib.suppress(CompileError, OSError, RuntimeError):
        _ = compiler.library


def open_device(config: DeviceConfig) -> Device:
    """Open the CPU device with the configured number of threads."""
    from runner.device.cpu.device import CpuDevice  # noqa: PLC0415  (NumPy is slow to import; a compiler needs none)

    return CpuDevice(threads=config.threads)


def compiler_for(config: DeviceConfig, info: DeviceInfo, compiler: str) -> Compiler:  # noqa: ARG001
    """The host's C++ compiler. `compiler` is ignored, as it names a GPU's compiler."""
    return CpuCompiler(limits=config.compile_limits)


def refuses(info: DeviceInfo, requirements: Requirements) -> str:  # noqa: ARG001
    """The CPU device refuses kernels that need a GPU's hardware."""
    if requirements.gpu_only:
        return f"GPU only: {requirements.gpu_only}; use device=cuda"
    if requirements.cache != "none":
        return f"cache={requirements.cache}: the CPU device has no on-chip memory to divide up"
    return ""
