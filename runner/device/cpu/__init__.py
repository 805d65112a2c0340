"""The CPU device: unmodified `.cu` kernels with CUDA's exact thread model, on the host (see docs/cpu-device.md)."""

from runner.device.cpu.build import CpuCompiler
from runner.device.cpu.device import CpuDevice

__all__ = ["CpuCompiler", "CpuDevice"]
