"""Opens a GPU.

SourceModule's work is split between two processes: the parent compiles (`compiler`), and the worker, which owns the
context, loads the cubin by `module_from_buffer` (`device`). Importing this module needs neither PyCUDA nor a driver.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import threading
from typing import TYPE_CHECKING

from runner.device import Compiler, Device, DeviceInfo, Requirements
from runner.errors import DeviceUnavailable

if TYPE_CHECKING:
    from runner.device.config import DeviceConfig


def is_present(config: DeviceConfig) -> bool:
    """Whether PyCUDA is installed and the configured GPU exists."""
    if importlib.util.find_spec("pycuda") is None:
        return False
    try:
        from runner.device.cuda.device import present  # noqa: PLC0415  (loading PyCUDA fails without a driver)
    except ImportError:
        return False
    return present(config.index)


def start_opening(index: int) -> None:
    """Start to open the GPU in a thread, concurrently with the imports before `open_device`, which take as long."""
    threading.Thread(target=_retain, args=(index,), name="driver", daemon=True).start()


def start_compiler(compiler: str) -> None:
    """Start NVRTC's process; nvcc needs nothing."""
    if compiler == "nvrtc":
        from runner.device.cuda import nvrtc  # noqa: PLC0415  (nvcc needs no process)

        nvrtc.start_ahead()


def _retain(index: int) -> None:
    """Create the primary context; errors are left to `open_device`."""
    with contextlib.suppress(OSError, AttributeError):  # no driver
        driver, gpu, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_int(), ctypes.c_void_p()
        if driver.cuInit(0) == 0 and driver.cuDeviceGet(ctypes.byref(gpu), index) == 0:
            driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), gpu)


def open_device(config: DeviceConfig) -> Device:
    """Open the configured GPU."""
    if importlib.util.find_spec("pycuda") is None:
        raise DeviceUnavailable(
            "device=cuda: PyCUDA is not installed; use pip install 'kernel-runner[cuda]', or use device=cpu"
        )
    try:
        from runner.device.cuda.device import CudaDevice  # noqa: PLC0415  (loading PyCUDA fails without a driver)
    except ImportError as e:
        raise DeviceUnavailable(f"device=cuda: PyCUDA cannot be loaded: {e}; is the NVIDIA driver installed?") from e
    return CudaDevice(config.index, config.l2_lines)


def compiler_for(config: DeviceConfig, info: DeviceInfo, compiler: str) -> Compiler:
    """Nvcc, or NVRTC, which needs an extra."""
    from runner.device.cuda.compiler import CudaCompiler, Nvcc  # noqa: PLC0415  (only for an open device)
    from runner.device.cuda.nvrtc import Nvrtc  # noqa: PLC0415

    limits = config.compile_limits
    toolchain = Nvrtc(limits) if compiler == "nvrtc" else Nvcc(config.nvcc_options, limits)
    return CudaCompiler(info.arch, toolchain, limits=limits)


def refuses(info: DeviceInfo, requirements: Requirements) -> str:
    """A GPU refuses kernels for newer architectures, and cases that break CUDA's rules on purpose."""
    if int(info.arch.removeprefix("sm_")) < requirements.min_arch:
        return f"{requirements.kernel} needs sm_{requirements.min_arch}, this GPU is {info.arch}"
    if requirements.hazard:
        return f"a counterexample, undefined on a GPU: {requirements.hazard}; device=cpu shows the hazard"
    return ""
