"""Choosing and opening a device, and the compiler that goes with it."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

from runner.device import Compiler, Device, DeviceInfo
from runner.errors import DeviceUnavailable
from runner.settings import DeviceConfig

if TYPE_CHECKING:
    from runner.device.cuda.compiler import Toolchain


def open_device(config: DeviceConfig) -> Device:
    """Open the device that is asked for; `auto` is a GPU where one can be opened, else the CPU device.

    Raises:
        DeviceUnavailable: with the reason, and what to do about it.
    """
    if config.kind == "cpu":
        return _cpu(config)
    try:
        return _cuda(config)
    except DeviceUnavailable:
        if config.kind == "cuda":
            raise
        return _cpu(config)


def kind_of(config: DeviceConfig) -> str:
    """Which kind of device would be opened, `cuda` or `cpu`, without opening it."""
    if config.kind != "auto":
        return config.kind
    if importlib.util.find_spec("pycuda") is None:
        return "cpu"
    try:
        from runner.device.cuda.device import present  # noqa: PLC0415  (loading PyCUDA fails without a driver)
    except ImportError:
        return "cpu"
    return "cuda" if present(config.index) else "cpu"


def compiler_for(config: DeviceConfig, info: DeviceInfo, compiler: str = "nvcc") -> Compiler:
    """The compiler for an open device; it runs in the parent process.

    Args:
        config: Of the device.
        info: Of the device, open.
        compiler: `nvcc` or `nvrtc`, for a GPU.

    Raises:
        DeviceUnavailable: if it is not installed.
    """
    if info.kind == "cpu":
        from runner.device.cpu import CpuCompiler  # noqa: PLC0415  (not needed for a GPU)

        return CpuCompiler()
    from runner.device.cuda.compiler import CudaCompiler  # noqa: PLC0415  (nor is this without one)

    return CudaCompiler(info.arch, _toolchain(config, compiler))


def _toolchain(config: DeviceConfig, compiler: str) -> Toolchain:
    if compiler == "nvrtc":
        from runner.device.cuda.nvrtc import Nvrtc  # noqa: PLC0415  (an extra)

        return Nvrtc()
    from runner.device.cuda.nvcc import Nvcc  # noqa: PLC0415  (PyCUDA is needed only where a GPU is used)

    return Nvcc(config.nvcc_options)


def _cuda(config: DeviceConfig) -> Device:
    if importlib.util.find_spec("pycuda") is None:
        raise DeviceUnavailable("device=cuda: PyCUDA is not installed; install the extra 'cuda', or use device=cpu")
    try:
        from runner.device.cuda.device import CudaDevice  # noqa: PLC0415  (loading PyCUDA fails without a driver)
    except ImportError as e:
        raise DeviceUnavailable(f"device=cuda: PyCUDA cannot be loaded: {e}; is the NVIDIA driver installed?") from e
    return CudaDevice(config.index)


def _cpu(config: DeviceConfig) -> Device:
    from runner.device.cpu import CpuDevice  # noqa: PLC0415  (not needed for a GPU)

    return CpuDevice(threads=config.threads)
