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
    """Whether PyCUDA is installed and there is a GPU of that number; it is not opened."""
    if importlib.util.find_spec("pycuda") is None:
        return False
    try:
        from runner.device.cuda.device import present  # noqa: PLC0415  (loading PyCUDA fails without a driver)
    except ImportError:
        return False
    return present(config.index)


def prepare(index: int) -> None:
    """Begin to open the GPU, beside the imports that come before `open_device`: the driver takes as long as they do."""
    threading.Thread(target=_retain, args=(index,), name="driver", daemon=True).start()


def _retain(index: int) -> None:
    """Make the primary context. What is wrong, `open_device` says."""
    with contextlib.suppress(OSError, AttributeError):  # there is no driver
        driver, gpu, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_int(), ctypes.c_void_p()
        if driver.cuInit(0) == 0 and driver.cuDeviceGet(ctypes.byref(gpu), index) == 0:
            driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), gpu)


def open_device(config: DeviceConfig) -> Device:
    """Open the GPU of that number."""
    if importlib.util.find_spec("pycuda") is None:
        raise DeviceUnavailable("device=cuda: PyCUDA is not installed; use pip install -e '.[cuda]', or use device=cpu")
    try:
        from runner.device.cuda.device import CudaDevice  # noqa: PLC0415  (loading PyCUDA fails without a driver)
    except ImportError as e:
        raise DeviceUnavailable(f"device=cuda: PyCUDA cannot be loaded: {e}; is the NVIDIA driver installed?") from e
    return CudaDevice(config.index)


def compiler_for(config: DeviceConfig, info: DeviceInfo, compiler: str) -> Compiler:
    """Nvcc, or NVRTC, which needs an extra."""
    from runner.device.cuda.compiler import CudaCompiler, Nvcc  # noqa: PLC0415  (only for an open device)
    from runner.device.cuda.nvrtc import Nvrtc  # noqa: PLC0415

    limits = config.compile_limits
    return CudaCompiler(info.arch, Nvrtc(limits) if compiler == "nvrtc" else Nvcc(config.nvcc_options, limits))


def refuses(info: DeviceInfo, wanted: Requirements) -> str:
    """A GPU refuses kernels for newer GPUs, and counterexamples, which are undefined on it."""
    if int(info.arch.removeprefix("sm_")) < wanted.min_arch:
        return f"{wanted.kernel} needs sm_{wanted.min_arch}, this GPU is {info.arch}"
    if wanted.hazard:
        return f"a counterexample, undefined on a GPU: {wanted.hazard}; device=cpu shows the hazard"
    return ""
